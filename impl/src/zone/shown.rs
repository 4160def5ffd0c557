//! What a zone's lock shows to those who read without it.

use mmspec_model::vocab::{MigrateType, NR_PAGE_ORDERS};

/// The values that lock-free readers see; the lock's holder works on a copy and shows it when it
/// unlocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shown {
    /// NR_FREE_PAGES without the per-CPU diffs.
    pub(crate) free: i64,
    /// One bit for each non-empty list: 11 orders for each type but Isolate, see [`occupancy_bit`].
    pub(crate) occupancy: u64,
    pub(super) rare: RareShown,
    /// The rare part is not as readers see it.
    pub(super) rare_changed: bool,
}

/// The part of [`Shown`] that seldom changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct RareShown {
    /// NR_FREE_CMA_PAGES without the per-CPU diffs.
    pub(crate) free_cma: i64,
    /// Pages on HighAtomic lists.
    pub(crate) free_highatomic: u64,
    pub(crate) reserved_highatomic: u64,
    pub(crate) boost: u64,
    /// The HIGH mark without boost; it bounds the boost.
    pub(crate) high: u64,
    /// A fallback boosted for a caller that may wake kswapd: to be shown as a zone flag.
    pub(crate) boosted: bool,
    /// First scans pass over the zone's node (kswapd is awake, and there are other nodes): no quick
    /// check may let a request in.
    pub(crate) avoided: bool,
}

impl Shown {
    pub(super) const NEW: Self = Self {
        free: 0,
        occupancy: 0,
        rare: RareShown {
            free_cma: 0,
            free_highatomic: 0,
            reserved_highatomic: 0,
            boost: 0,
            high: 0,
            boosted: false,
            avoided: false,
        },
        rare_changed: false,
    };

    #[inline]
    pub(crate) fn rare(&self) -> &RareShown {
        &self.rare
    }

    /// The rare part, to be changed.
    #[inline]
    pub(crate) fn rare_mut(&mut self) -> &mut RareShown {
        self.rare_changed = true;
        &mut self.rare
    }

    /// Free pages above the HIGH mark that every request may use, whatever the rules say of the
    /// reserve; see [`super::Zone::has_plenty`].
    pub(super) fn room(&self) -> i64 {
        let rare = &self.rare;
        if rare.avoided {
            return i64::MIN / 2;
        }
        let reserve = rare.free_highatomic.max(rare.reserved_highatomic);
        self.free - rare.free_cma.max(0) - (reserve + rare.high + rare.boost) as i64
    }
}

/// The bit of [`Shown::occupancy`] for a list; the highest for those of Isolate, which nobody
/// searches.
pub(crate) const fn occupancy_bit(order: usize, migratetype: MigrateType) -> u64 {
    match migratetype {
        MigrateType::Isolate => 1 << 63,
        _ => 1 << (migratetype.index() * NR_PAGE_ORDERS + order),
    }
}
