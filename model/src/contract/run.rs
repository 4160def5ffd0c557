//! Allocators of runs of any length: pages by number, ranges of addresses, bytes of a heap.

use core::fmt;

/// Neighbouring units: frames, pages, addresses or bytes, as the allocator under test counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Run {
    /// The first unit.
    pub start: u64,
    /// How many.
    pub len: u64,
}

impl Run {
    /// `len` units from `start`.
    #[must_use]
    pub const fn new(start: u64, len: u64) -> Self {
        Self { start, len }
    }

    /// One past the last unit; the largest number if that is beyond it, since an allocator under
    /// test may answer anything.
    #[must_use]
    pub const fn end(self) -> u64 {
        self.start.saturating_add(self.len)
    }

    /// Whether the two have a unit in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        self.start < other.end() && other.start < self.end()
    }

    /// Whether every unit of `other` is one of these.
    #[must_use]
    pub const fn covers(self, other: Self) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}..{:#x}", self.start, self.end())
    }
}

/// An allocator of runs of any length and alignment. Heaps fit it too: a unit is then a byte, and
/// a place is an offset into the arena.
///
/// ```
/// use mmspec_model::contract::{Run, RunAllocator};
///
/// /// Never takes anything back.
/// struct Bump { next: u64, end: u64 }
///
/// impl RunAllocator for Bump {
///     fn allocate(&mut self, len: u64, align: u64) -> Option<u64> {
///         let start = self.next.next_multiple_of(align);
///         let end = start.checked_add(len).filter(|end| *end <= self.end)?;
///         self.next = end;
///         Some(start)
///     }
///     fn free(&mut self, _: Run, _: u64) {}
/// }
///
/// let mut bump = Bump { next: 3, end: 20 };
/// assert_eq!(bump.allocate(5, 8), Some(8));
/// assert_eq!(bump.allocate(8, 1), None);
/// ```
pub trait RunAllocator {
    /// Allocate `len` units (at least 1) that start at a multiple of `align`, a power of two;
    /// `None` if that can't be.
    fn allocate(&mut self, len: u64, align: u64) -> Option<u64>;

    /// Give back a run with the length that it has now and the alignment that it was asked for
    /// with; 1 if it was asked for at a fixed place.
    fn free(&mut self, run: Run, align: u64);
}

/// Capability: runs that are held can grow and shrink.
///
/// ```
/// use mmspec_model::contract::{Resize, Run};
///
/// /// Holds one run at 0.
/// struct Stack { capacity: u64 }
///
/// impl Resize for Stack {
///     fn resize(&mut self, run: Run, _align: u64, len: u64) -> Option<u64> {
///         (len <= self.capacity).then_some(run.start)
///     }
/// }
///
/// assert_eq!(Stack { capacity: 8 }.resize(Run::new(0, 4), 1, 6), Some(0));
/// assert_eq!(Stack { capacity: 8 }.resize(Run::new(0, 4), 1, 9), None);
/// ```
pub trait Resize {
    /// Give `run`, which was asked for with `align`, `len` units instead. The answer is where it
    /// starts now: an allocator that only works in place answers `run.start`. `None`: nothing has
    /// changed. A run that shrinks gives its tail back.
    fn resize(&mut self, run: Run, align: u64, len: u64) -> Option<u64>;
}

/// Capability: a run can be asked for at its place.
///
/// ```
/// use mmspec_model::contract::{FixedPlace, Run};
///
/// /// Frames 0 to 63, a bit each.
/// struct Bits(u64);
///
/// impl FixedPlace for Bits {
///     fn allocate_at(&mut self, run: Run) -> Option<u64> {
///         if run.len == 0 || run.end() > 64 {
///             return None;
///         }
///         let bits = u64::MAX >> (64 - run.len) << run.start;
///         (self.0 & bits == 0).then(|| self.0 |= bits).map(|()| run.start)
///     }
/// }
///
/// let mut bits = Bits(0b1000);
/// assert_eq!(bits.allocate_at(Run::new(4, 2)), Some(4));
/// assert_eq!(bits.allocate_at(Run::new(2, 2)), None);
/// ```
pub trait FixedPlace {
    /// Allocate exactly `run`; the answer is where it starts. `None`: it is not free.
    fn allocate_at(&mut self, run: Run) -> Option<u64>;
}
