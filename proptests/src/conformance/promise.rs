//! What an allocator promises.

use mmspec_model::laws::Level;
use mmspec_model::vocab::Order;

/// What a request takes of free memory. The laws of level *complete* need to know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// The next power of two of its length (of its alignment, if that is more), at a multiple of
    /// that.
    Buddy,
    /// Its length, at a multiple of its alignment.
    Exact,
    /// The allocator alone knows: headers, rounding, records in the arena. Nothing is then held to
    /// be possible, and counters need only leave room for what is held.
    Opaque,
}

/// The contract of one allocator of frames or runs.
///
/// ```
/// use mmspec_model::vocab::Order;
/// use mmspec_proptests::conformance::{Fit, Promise};
///
/// // Blocks of up to 2^10 frames; what touches is one region.
/// let buddy = Promise::complete(Order::of(10)).across_regions();
/// assert_eq!(buddy.largest, 1024);
/// // Runs of any length up to 64, nothing rounded.
/// let bitmap = Promise::complete(Order::of(6)).fit(Fit::Exact);
/// assert_eq!(bitmap.align, 64);
/// // Requests of up to 200 bytes from an arena of up to 1024 at multiples of 8.
/// let heap = Promise::heap(1024).largest(200).grain(8);
/// assert_eq!(heap.fit, Fit::Opaque);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// The levels that it keeps.
    pub levels: &'static [Level],
    /// The largest request that it serves, in units.
    pub largest: u64,
    /// The largest alignment that it is asked for.
    pub align: u64,
    /// What a request takes.
    pub fit: Fit,
    /// Runs may lie across two regions that touch.
    pub across_regions: bool,
    /// Most regions that it can be given.
    pub regions: usize,
    /// Most units in all regions together.
    pub units: u64,
    /// Fewest units in a region.
    pub least: u64,
    /// Regions start and end at multiples of this.
    pub grain: u64,
}

const CONSERVED: &[Level] = &[Level::Safe, Level::Conserved, Level::Contract];
const RETURNS: &[Level] = &[Level::Safe, Level::Conserved, Level::Returns];
const COMPLETE: &[Level] =
    &[Level::Safe, Level::Conserved, Level::Returns, Level::Complete, Level::Contract];

impl Promise {
    const fn new(max_order: Order, levels: &'static [Level]) -> Self {
        let largest = max_order.pages();
        Self {
            levels,
            largest,
            align: largest,
            fit: Fit::Buddy,
            across_regions: false,
            regions: 3,
            units: 160,
            least: 1,
            grain: 1,
        }
    }

    /// Managed, aligned, disjoint.
    #[must_use]
    pub const fn safe(max_order: Order) -> Self {
        Self::new(max_order, &[Level::Safe])
    }

    /// And free and held are together what is managed; requests above the largest are refused.
    #[must_use]
    pub const fn conserved(max_order: Order) -> Self {
        Self::new(max_order, CONSERVED)
    }

    /// Safe and conserved, and what comes back can be had again.
    #[must_use]
    pub const fn returns(max_order: Order) -> Self {
        Self::new(max_order, RETURNS)
    }

    /// All of these, and every request is served while there is room for it in one region.
    #[must_use]
    pub const fn complete(max_order: Order) -> Self {
        Self::new(max_order, COMPLETE)
    }

    /// A heap in an arena of up to `bytes` bytes: safe, and what comes back can be had again.
    #[must_use]
    pub const fn heap(bytes: u64) -> Self {
        Self {
            largest: bytes,
            align: 32,
            fit: Fit::Opaque,
            regions: 1,
            units: bytes,
            ..Self::new(Order::ZERO, RETURNS)
        }
    }

    /// Regions that touch are one.
    #[must_use]
    pub const fn across_regions(mut self) -> Self {
        self.across_regions = true;
        self
    }

    /// What a request takes.
    #[must_use]
    pub const fn fit(mut self, fit: Fit) -> Self {
        self.fit = fit;
        self
    }

    /// No request above `units`.
    #[must_use]
    pub const fn largest(mut self, units: u64) -> Self {
        self.largest = units;
        self
    }

    /// No alignment above `align`, a power of two.
    #[must_use]
    pub const fn align(mut self, align: u64) -> Self {
        self.align = align;
        self
    }

    /// At most this many regions.
    #[must_use]
    pub const fn regions(mut self, regions: usize) -> Self {
        self.regions = regions;
        self
    }

    /// At most this many units in all.
    #[must_use]
    pub const fn units(mut self, units: u64) -> Self {
        self.units = units;
        self
    }

    /// No region below this many units.
    #[must_use]
    pub const fn least(mut self, units: u64) -> Self {
        self.least = units;
        self
    }

    /// Regions start and end at multiples of `grain`.
    #[must_use]
    pub const fn grain(mut self, grain: u64) -> Self {
        self.grain = grain;
        self
    }
}

impl Fit {
    /// The length that a request takes, and the alignment that it gets.
    pub(super) const fn of(self, len: u64, align: u64) -> (u64, u64) {
        match self {
            Self::Buddy => {
                let block = len.next_power_of_two();
                let block = if block < align { align } else { block };
                (block, block)
            }
            Self::Exact | Self::Opaque => (len, align),
        }
    }
}
