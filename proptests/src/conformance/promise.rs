//! What an allocator promises.

use mmspec_model::laws::Level;
use mmspec_model::vocab::Order;

/// The contract of one allocator of frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// The largest order that it serves.
    pub max_order: Order,
    /// The levels that it keeps.
    pub levels: &'static [Level],
    /// Blocks may be made of frames of two regions that touch.
    pub across_regions: bool,
    /// Most regions that it can be given.
    pub regions: usize,
    /// Most frames.
    pub frames: u64,
}

impl Promise {
    const fn new(max_order: Order, levels: &'static [Level]) -> Self {
        Self { max_order, levels, across_regions: false, regions: 3, frames: 160 }
    }

    /// Managed, aligned, disjoint.
    #[must_use]
    pub const fn safe(max_order: Order) -> Self {
        Self::new(max_order, &[Level::Safe])
    }

    /// And what comes back can be had again.
    #[must_use]
    pub const fn returns(max_order: Order) -> Self {
        Self::new(max_order, &[Level::Safe, Level::Conserved, Level::Returns])
    }

    /// And every request is served while an aligned free run exists in one region; requests above
    /// the largest order are refused.
    #[must_use]
    pub const fn complete(max_order: Order) -> Self {
        Self::new(
            max_order,
            &[Level::Safe, Level::Conserved, Level::Returns, Level::Complete, Level::Contract],
        )
    }

    /// Regions that touch are one.
    #[must_use]
    pub const fn across_regions(mut self) -> Self {
        self.across_regions = true;
        self
    }

    /// At most this many regions.
    #[must_use]
    pub const fn with_regions(mut self, regions: usize) -> Self {
        self.regions = regions;
        self
    }
}
