//! Allocation flags: what one attempt at the free lists may use.

use core::fmt;

bitflags::bitflags! {
    /// The modifiers of one allocation attempt (page_alloc.md §3.7). The watermark to test is the
    /// separate [`Mark`].
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct AllocFlags: u16 {
        /// Ignore watermarks.
        const NO_WATERMARKS = 0x4;
        /// The caller is an OOM victim: half of the mark is waived.
        const OOM = 0x8;
        /// The caller cannot wait.
        const NON_BLOCK = 0x10;
        /// `__GFP_HIGH`: half of the mark is waived.
        const MIN_RESERVE = 0x20;
        /// Keep to the cpuset's nodes.
        const CPUSET = 0x40;
        /// May take CMA pages.
        const CMA = 0x80;
        /// Do not mix migratetypes in a pageblock.
        const NOFRAGMENT = 0x100;
        /// May take and refill the high-order atomic reserve.
        const HIGHATOMIC = 0x200;
        /// May wake kswapd.
        const KSWAPD = 0x800;
    }
}

impl AllocFlags {
    /// The flags that give access to reserves (the set R of page_alloc.md §3.4).
    pub const RESERVES: Self =
        Self::NON_BLOCK.union(Self::MIN_RESERVE).union(Self::HIGHATOMIC).union(Self::OOM);
}

/// Which watermark an attempt is checked against; the discriminant is the kernel's index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Mark {
    /// WMARK_MIN.
    Min = 0,
    /// WMARK_LOW: the first attempt of every request.
    #[default]
    Low = 1,
    /// WMARK_HIGH.
    High = 2,
    /// WMARK_PROMO: only kswapd with memory tiering looks at it.
    Promo = 3,
}

impl Mark {
    /// All marks, ascending.
    pub const ALL: [Self; 4] = [Self::Min, Self::Low, Self::High, Self::Promo];

    /// The kernel's index.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in scripts and zoneinfo.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Low => "low",
            Self::High => "high",
            Self::Promo => "promo",
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
