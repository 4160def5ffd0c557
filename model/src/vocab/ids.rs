//! Page frame numbers, orders, and the ids of CPUs and zones.

use core::fmt;

/// A page frame number: physical address divided by the page size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pfn(pub u64);

impl Pfn {
    /// The frame `pages` further up.
    #[must_use]
    pub const fn add(self, pages: u64) -> Self {
        Self(self.0 + pages)
    }

    /// This frame as an index into a table that starts at frame 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether a block of `order` may start here.
    #[must_use]
    pub const fn is_aligned(self, order: Order) -> bool {
        self.0 & (order.pages() - 1) == 0
    }
}

impl fmt::Debug for Pfn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for Pfn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// A half-open range of page frames.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PfnRange {
    /// First frame.
    pub start: Pfn,
    /// One past the last frame.
    pub end: Pfn,
}

impl PfnRange {
    /// The range `start..end`, in frames.
    #[must_use]
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start: Pfn(start), end: Pfn(end) }
    }

    /// Number of frames.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.end.0.saturating_sub(self.start.0)
    }

    /// Whether the range holds no frame.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.end.0 <= self.start.0
    }

    /// Whether `pfn` lies in the range.
    #[must_use]
    pub const fn contains(&self, pfn: Pfn) -> bool {
        self.start.0 <= pfn.0 && pfn.0 < self.end.0
    }
}

/// Number of block orders in the default build: 0 to 10 (page_alloc.md §1.1).
pub const NR_PAGE_ORDERS: usize = 11;

/// The order of a block: it spans 2^order page frames. Never above [`Order::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Order(u8);

impl Order {
    /// A single page.
    pub const ZERO: Self = Self(0);
    /// MAX_PAGE_ORDER of the default build. A machine may be built with a smaller one.
    pub const MAX: Self = Self(10);
    /// PAGE_ALLOC_COSTLY_ORDER: orders above it are "costly"; per-CPU lists hold orders up to it.
    pub const COSTLY: Self = Self(3);

    /// The order `value`, or `None` above [`Order::MAX`].
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// As [`Order::new`], for values known to be in range.
    ///
    /// # Panics
    /// Above [`Order::MAX`].
    #[must_use]
    pub const fn of(value: u8) -> Self {
        match Self::new(value) {
            Some(order) => order,
            None => panic!("order above MAX_PAGE_ORDER"),
        }
    }

    /// The exponent.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The exponent as a table index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Number of page frames in a block of this order.
    #[must_use]
    pub const fn pages(self) -> u64 {
        1 << self.0
    }

    /// All orders from this one to `last`, ascending; empty if `last` is lower.
    pub fn up_to(self, last: Self) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (self.0..=last.0).map(Self)
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A CPU, numbered from 0. Always passed in: nothing here is thread-local.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CpuId(pub u16);

impl CpuId {
    /// The id as a table index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A zone: its position in the machine's list of populated zones of all nodes, ascending by
/// address. Not the kernel's zone index, which is the [`super::ZoneKind`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ZoneIdx(pub u8);

impl ZoneIdx {
    /// The id as a table index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
