//! A zone: the free lists behind the zone lock, and what is read without it.

use crate::{
    geometry::{Geometry, Tables},
    list::List,
    platform::{Lock, Platform, Word},
    vmstat::StatDiff,
};
use mmspec_model::vocab::{
    MigrateType, NR_MIGRATETYPES, NR_PAGE_ORDERS, NR_ZONES, NodeId, ZoneKind,
};

mod buddy;
mod compact;
mod fallback;
mod highatomic;
mod isolate;
mod pageblock;
mod rmqueue;
mod shown;
mod watermark;

pub(crate) use buddy::Placement;
pub(crate) use rmqueue::Mode;
pub(crate) use shown::{Shown, occupancy_bit};
pub(crate) use watermark::{Check, mult_frac};

/// Where the zone lies and what it holds. Fixed at start-up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ZoneInfo {
    pub(crate) node: NodeId,
    pub(crate) kind: ZoneKind,
    /// First frame and one past the last, as table indices.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Both are multiples of the largest block, so that no block reaches over them.
    pub(crate) whole: bool,
    pub(crate) present: u64,
    pub(crate) managed: u64,
    pub(crate) cma_pages: u64,
}

impl ZoneInfo {
    pub(crate) const VACANT: Self = Self {
        node: NodeId(0),
        kind: ZoneKind::Dma,
        start: 0,
        end: 0,
        whole: false,
        present: 0,
        managed: 0,
        cma_pages: 0,
    };

    #[inline]
    pub(crate) fn contains(&self, frame: u32) -> bool {
        self.start <= frame && frame < self.end
    }

    /// The same for a frame in the same largest block as one of the zone.
    #[inline(always)]
    fn contains_near(&self, frame: u32) -> bool {
        self.whole || self.contains(frame)
    }

    /// Whether the zone holds the whole of a run.
    pub(crate) fn contains_run(&self, start: u32, pages: u32) -> bool {
        self.contains(start) && pages <= self.end - start
    }
}

/// The free blocks of one order and type.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
pub(crate) struct FreeList {
    pub(crate) blocks: List,
    pub(crate) nr_free: u32,
    /// The number of its bit in [`Shown::occupancy`].
    bit: u32,
}

/// Room for the orders of a type: a power of two, so that a list is found without a product.
const ORDERS: usize = NR_PAGE_ORDERS.next_power_of_two();

/// What the zone lock guards.
#[derive(Clone, Debug)]
pub(crate) struct FreeLists {
    lists: [FreeList; NR_MIGRATETYPES * ORDERS],
    pub(crate) now: Shown,
    shown_free: i64,
    shown_occupancy: u64,
    /// Diffs beyond this are pushed.
    pub(crate) threshold: i64,
    /// NR_FREE_PAGES_BLOCKS, exact.
    pub(crate) free_pages_blocks: i64,
    pub(crate) nr_isolate: u64,
    pub(crate) boost_factor: u32,
    /// Events of operations that did not go through a per-CPU list: hand-outs, pages handed out,
    /// pages given back.
    pub(crate) allocs: u64,
    pub(crate) pgalloc: u64,
    pub(crate) pgfree: u64,
}

impl FreeLists {
    pub(crate) const EMPTY: Self = Self {
        lists: {
            let empty = FreeList { blocks: List::EMPTY, nr_free: 0, bit: 0 };
            let mut lists = [empty; NR_MIGRATETYPES * ORDERS];
            let mut at = 0;
            while at < lists.len() {
                let (of_type, order) = (MigrateType::ALL[at / ORDERS], at % ORDERS);
                if order < NR_PAGE_ORDERS {
                    lists[at].bit = occupancy_bit(order, of_type).trailing_zeros();
                }
                at += 1;
            }
            lists
        },
        now: Shown::NEW,
        shown_free: 0,
        shown_occupancy: 0,
        threshold: 0,
        free_pages_blocks: 0,
        nr_isolate: 0,
        boost_factor: 0,
        allocs: 0,
        pgalloc: 0,
        pgfree: 0,
    };

    #[inline]
    pub(crate) fn list(&self, order: u8, migratetype: MigrateType) -> &FreeList {
        &self.lists[migratetype.index() * ORDERS + usize::from(order) % ORDERS]
    }

    #[inline(always)]
    fn list_mut(&mut self, order: u8, migratetype: MigrateType) -> &mut FreeList {
        &mut self.lists[migratetype.index() * ORDERS + usize::from(order) % ORDERS]
    }

    /// Blocks of an order, of all types.
    pub(crate) fn blocks_of(&self, order: u8) -> u64 {
        MigrateType::ALL.map(|of_type| u64::from(self.list(order, of_type).nr_free)).iter().sum()
    }

    /// Blocks by order and type.
    pub(crate) fn nr_free(&self) -> [[u64; NR_MIGRATETYPES]; NR_PAGE_ORDERS] {
        core::array::from_fn(|order| {
            MigrateType::ALL.map(|of_type| u64::from(self.list(order as u8, of_type).nr_free))
        })
    }
}

/// Room for the kinds of zones: a power of two.
pub(crate) const RESERVES: usize = NR_ZONES.next_power_of_two();

/// What changes rarely, on lines of its own.
#[repr(align(128))]
pub(crate) struct Rare<W> {
    /// [`mmspec_model::vocab::ZoneFlags`] as bits.
    pub(crate) flags: W,
    /// MIN, LOW, HIGH, PROMO without boost.
    pub(crate) marks: [W; 4],
    pub(crate) boost: W,
    /// By kind; the rest is room that proves an index good.
    pub(crate) lowmem_reserve: [W; RESERVES],
    pub(crate) reserved_highatomic: W,
    pub(crate) kswapd_wakeups: W,
    /// The threshold of the per-CPU diffs, for updates without the zone lock.
    pub(crate) threshold: W,
    /// `percpu_drift_mark`.
    pub(crate) drift_mark: W,
    /// Pages that reclaim could free, as the embedder says.
    pub(crate) reclaimable: W,
}

/// What changes when a per-CPU diff is pushed or a list becomes empty or non-empty.
#[repr(align(128))]
pub(crate) struct Counters<W> {
    pub(crate) free: W,
    pub(crate) free_cma: W,
    pub(crate) free_highatomic: W,
    pub(crate) occupancy: W,
    /// [`Shown::room`], signed.
    pub(crate) room: W,
    /// NR_ALLOC_BATCH without the per-CPU diffs, signed; under a fair policy only.
    pub(crate) batch: W,
}

/// Keeps the lock's line away from those of the readers.
#[repr(align(128))]
struct OwnLine<T>(T);

/// One zone, as the embedder's storage holds it.
pub struct Zone<P: Platform> {
    pub(crate) info: ZoneInfo,
    pub(crate) rare: Rare<P::Word>,
    pub(crate) counters: Counters<P::Word>,
    lists: OwnLine<P::ZoneLock<FreeLists>>,
}

impl<P: Platform> Zone<P> {
    /// A zone without memory.
    #[must_use]
    pub fn new() -> Self {
        Self::of(ZoneInfo::VACANT)
    }

    /// A zone with nothing on its lists.
    pub(crate) fn of(info: ZoneInfo) -> Self {
        let word = || P::Word::new(0);
        Self {
            info,
            rare: Rare {
                flags: word(),
                marks: core::array::from_fn(|_| word()),
                boost: word(),
                lowmem_reserve: core::array::from_fn(|_| word()),
                reserved_highatomic: word(),
                kswapd_wakeups: word(),
                threshold: word(),
                drift_mark: word(),
                reclaimable: word(),
            },
            counters: Counters {
                free: word(),
                free_cma: word(),
                free_highatomic: word(),
                occupancy: word(),
                room: word(),
                batch: word(),
            },
            lists: OwnLine(P::ZoneLock::new(FreeLists::EMPTY)),
        }
    }

    /// A copy of a quiescent zone.
    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        let copy = |word: &P::Word| P::Word::new(word.load());
        Self {
            info: self.info,
            rare: Rare {
                flags: copy(&self.rare.flags),
                marks: core::array::from_fn(|at| copy(&self.rare.marks[at])),
                boost: copy(&self.rare.boost),
                lowmem_reserve: core::array::from_fn(|at| copy(&self.rare.lowmem_reserve[at])),
                reserved_highatomic: copy(&self.rare.reserved_highatomic),
                kswapd_wakeups: copy(&self.rare.kswapd_wakeups),
                threshold: copy(&self.rare.threshold),
                drift_mark: copy(&self.rare.drift_mark),
                reclaimable: copy(&self.rare.reclaimable),
            },
            counters: Counters {
                free: copy(&self.counters.free),
                free_cma: copy(&self.counters.free_cma),
                free_highatomic: copy(&self.counters.free_highatomic),
                occupancy: copy(&self.counters.occupancy),
                room: copy(&self.counters.room),
                batch: copy(&self.counters.batch),
            },
            lists: OwnLine(P::ZoneLock::new(self.lists.0.lock().clone())),
        }
    }

    /// Take the zone lock for a CPU whose statistics go to `diff`.
    #[inline]
    pub(crate) fn lock<'a>(&'a self, tables: Tables<'a>, diff: &'a StatDiff) -> LockedZone<'a, P> {
        LockedZone { zone: self, tables, diff, lists: self.lists.0.lock() }
    }

    /// Look at the lists.
    pub(crate) fn peek<R>(&self, look: impl FnOnce(&FreeLists) -> R) -> R {
        look(&self.lists.0.lock())
    }
}

impl<P: Platform> Default for Zone<P> {
    fn default() -> Self {
        Self::new()
    }
}

type Guard<'a, P> = <<P as Platform>::ZoneLock<FreeLists> as Lock<FreeLists>>::Guard<'a>;

/// A zone whose lock is held. What changed is shown to lock-free readers just before the unlock.
pub(crate) struct LockedZone<'a, P: Platform> {
    zone: &'a Zone<P>,
    tables: Tables<'a>,
    diff: &'a StatDiff,
    lists: Guard<'a, P>,
}

impl<P: Platform> LockedZone<'_, P> {
    /// The lists, to work on.
    #[inline]
    pub(crate) fn buddy(&mut self) -> Buddy<'_> {
        Buddy {
            tables: self.tables,
            geometry: self.tables.geometry,
            info: &self.zone.info,
            diff: self.diff,
            z: &mut self.lists,
        }
    }
}

impl<P: Platform> Drop for LockedZone<'_, P> {
    #[inline(always)]
    fn drop(&mut self) {
        let lists = &mut *self.lists;
        let counters = &self.zone.counters;
        if lists.now.occupancy != lists.shown_occupancy {
            lists.shown_occupancy = lists.now.occupancy;
            counters.occupancy.store(lists.now.occupancy);
        }
        if lists.now.free != lists.shown_free {
            lists.shown_free = lists.now.free;
            counters.free.store(lists.now.free as u64);
            counters.room.store(lists.now.room() as u64);
        }
        if lists.now.rare_changed {
            self.show_rare();
        }
    }
}

impl<P: Platform> LockedZone<'_, P> {
    /// Show what seldom changes.
    #[cold]
    fn show_rare(&mut self) {
        let now = &mut self.lists.now;
        now.rare_changed = false;
        if core::mem::take(&mut now.rare.boosted) {
            self.zone.set_flag(mmspec_model::vocab::ZoneFlags::BOOSTED_WATERMARK);
        }
        let (counters, rare) = (&self.zone.counters, &self.zone.rare);
        counters.free_cma.store(now.rare.free_cma as u64);
        counters.free_highatomic.store(now.rare.free_highatomic);
        rare.reserved_highatomic.store(now.rare.reserved_highatomic);
        rare.boost.store(now.rare.boost);
        counters.room.store(now.room() as u64);
    }
}

/// The free lists of a locked zone and the tables, for the CPU whose statistics go to `diff`.
pub(crate) struct Buddy<'a> {
    pub(crate) tables: Tables<'a>,
    pub(crate) geometry: &'a Geometry,
    pub(crate) info: &'a ZoneInfo,
    pub(crate) diff: &'a StatDiff,
    pub(crate) z: &'a mut FreeLists,
}
