//! Per-CPU lists: one record for each CPU and zone (page_alloc.md §2).

use crate::{
    geometry::{Geometry, NR_LISTS},
    list::List,
    platform::{PcpLock, Platform, Word},
    vmstat::{NumaEvents, StatDiff},
};
use mmspec_model::vocab::{NodeId, PcpFlags, ZoneKind};

mod drain;
mod refill;
mod tuning;
mod work;

pub(crate) use refill::Want;
pub(crate) use tuning::{FreeRules, Limits, Sizing};
use work::WorkSlot;

/// What the lock of one CPU's lists guards. Sizes in base pages.
#[derive(Clone, Debug)]
pub(crate) struct Pcp {
    /// Pages on the lists.
    pub(crate) count: i32,
    /// The current high mark, moving within the limits under auto-tuning.
    pub(crate) high: i32,
    pub(crate) limits: Limits,
    pub(crate) flags: PcpFlags,
    pub(crate) alloc_factor: u8,
    pub(crate) free_factor: u8,
    pub(crate) expire: u8,
    pub(crate) free_count: i32,
    /// Events of operations on these lists: hand-outs, pages handed out, pages given back.
    pub(crate) allocs: u64,
    pub(crate) pgalloc: u64,
    pub(crate) pgfree: u64,
    pub(crate) lists: [List; NR_LISTS],
}

impl Pcp {
    /// The boot lists: every page goes straight through.
    const EMPTY: Self = Self {
        count: 0,
        high: 0,
        limits: Limits::THROUGH,
        flags: PcpFlags::empty(),
        alloc_factor: 0,
        free_factor: 0,
        expire: 0,
        free_count: 0,
        allocs: 0,
        pgalloc: 0,
        pgfree: 0,
        lists: [List::EMPTY; NR_LISTS],
    };

    /// As at boot, with the flag that the cache sizes decide.
    pub(crate) fn reset(&mut self, geometry: &Geometry) {
        *self = Self::EMPTY;
        if geometry.auto_tuning && geometry.free_high_batch {
            self.flags = PcpFlags::FREE_HIGH_BATCH;
        }
    }

    /// Set the limits. Under auto-tuning the current high mark follows at its next use.
    pub(crate) fn set_limits(&mut self, limits: Limits, auto_tuning: bool) {
        self.limits = limits;
        if !auto_tuning {
            self.high = limits.high_max;
        }
    }
}

/// One CPU's lists in one zone, as the embedder's storage holds them.
#[repr(align(128))]
pub struct PcpSlot<P: Platform> {
    pub(crate) lock: P::PcpLock<Pcp>,
    pub(crate) diff: StatDiff,
    pub(crate) numa: NumaEvents,
}

impl<P: Platform> PcpSlot<P> {
    /// Empty lists.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lock: P::PcpLock::new(Pcp::EMPTY),
            diff: StatDiff::default(),
            numa: NumaEvents::default(),
        }
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self {
            lock: P::PcpLock::new(self.lock.lock_remote().clone()),
            diff: self.diff.copy(),
            numa: self.numa.copy(),
        }
    }
}

impl<P: Platform> Default for PcpSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// Events that are counted for each CPU; see [`mmspec_model::vocab::EventCounters`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Count {
    ZonesScanned,
    BatchReads,
    FairResets,
    CompactStall,
    CompactSuccess,
    CompactFail,
    DirectThrottle,
    OomKill,
    StallDma,
    StallDma32,
    StallNormal,
    StallMovable,
}

impl Count {
    const COUNT: usize = Self::StallMovable as usize + 1;

    /// `allocstall_<zone>`.
    pub(crate) const fn allocstall(highest: ZoneKind) -> Self {
        match highest {
            ZoneKind::Dma => Self::StallDma,
            ZoneKind::Dma32 => Self::StallDma32,
            ZoneKind::Normal => Self::StallNormal,
            ZoneKind::Movable | ZoneKind::Device => Self::StallMovable,
        }
    }
}

/// What concerns one CPU whatever the zone, as the embedder's storage holds it.
#[repr(align(128))]
pub struct CpuSlot<P: Platform> {
    /// Attempts to lock the own lists that are to fail.
    failures: P::Word,
    /// 1 while the CPU is online.
    online: P::Word,
    /// What a drain wants of it.
    pub(crate) work: WorkSlot<P>,
    /// The CPU's node.
    pub(crate) home: NodeId,
    /// Events of the CPU that are off the quick ways, by [`Count`].
    counts: [P::Word; Count::COUNT],
}

impl<P: Platform> CpuSlot<P> {
    /// A CPU that is offline.
    #[must_use]
    pub fn new() -> Self {
        let word = || P::Word::new(0);
        Self {
            work: WorkSlot::new(),
            failures: word(),
            online: word(),
            home: NodeId(0),
            counts: core::array::from_fn(|_| word()),
        }
    }

    /// The CPU's node.
    #[inline(always)]
    pub(crate) fn node(&self) -> NodeId {
        self.home
    }

    /// Count an event once.
    pub(crate) fn count(&self, count: Count) {
        self.counts[count as usize].fetch_add(1);
    }

    /// How often an event was counted.
    pub(crate) fn counted(&self, count: Count) -> u64 {
        self.counts[count as usize].load()
    }

    pub(crate) fn is_online(&self) -> bool {
        self.online.load() != 0
    }

    pub(crate) fn set_online(&self, online: bool) {
        self.online.store(u64::from(online));
    }

    pub(crate) fn reset(&self) {
        for word in self.counts.iter().chain([&self.failures]) {
            word.store(0);
        }
        self.work.reset();
        self.set_online(true);
    }

    /// Let the next `times` attempts fail on top of those pending.
    pub(crate) fn add_failures(&self, times: u32) {
        let most = u64::from(u32::MAX);
        self.failures.update(|pending| Some((pending + u64::from(times)).min(most)));
    }

    /// Whether this attempt is to fail.
    #[inline]
    pub(crate) fn fails(&self) -> bool {
        self.failures.load() != 0 && self.use_up_failure()
    }

    #[cold]
    fn use_up_failure(&self) -> bool {
        self.failures.update(|pending| pending.checked_sub(1))
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        let copy = |word: &P::Word| P::Word::new(word.load());
        Self {
            failures: copy(&self.failures),
            online: copy(&self.online),
            home: self.home,
            work: self.work.copy(),
            counts: core::array::from_fn(|at| copy(&self.counts[at])),
        }
    }
}

impl<P: Platform> Default for CpuSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}
