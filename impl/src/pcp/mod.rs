//! Per-CPU lists: one record for each CPU and zone (page_alloc.md §2).

use crate::{
    geometry::{Geometry, NR_LISTS},
    list::List,
    platform::{PcpLock, Platform},
    vmstat::StatDiff,
};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use mmspec_model::vocab::PcpFlags;

mod drain;
mod refill;
mod tuning;

pub(crate) use drain::Group;
pub(crate) use refill::Want;
pub(crate) use tuning::{FreeRules, Limits, Sizing};

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
}

impl<P: Platform> PcpSlot<P> {
    /// Empty lists.
    #[must_use]
    pub fn new() -> Self {
        Self { lock: P::PcpLock::new(Pcp::EMPTY), diff: StatDiff::default() }
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self { lock: P::PcpLock::new(self.lock.lock_remote().clone()), diff: self.diff.copy() }
    }
}

impl<P: Platform> Default for PcpSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// What concerns one CPU whatever the zone, as the embedder's storage holds it.
#[derive(Debug)]
#[repr(align(128))]
pub struct CpuSlot {
    /// Attempts to lock the own lists that are to fail.
    failures: AtomicU32,
    online: AtomicBool,
}

impl CpuSlot {
    /// A CPU that is offline.
    #[must_use]
    pub fn new() -> Self {
        Self { failures: AtomicU32::new(0), online: AtomicBool::new(false) }
    }

    pub(crate) fn is_online(&self) -> bool {
        self.online.load(Relaxed)
    }

    pub(crate) fn set_online(&self, online: bool) {
        self.online.store(online, Relaxed);
    }

    pub(crate) fn reset(&self) {
        self.failures.store(0, Relaxed);
        self.set_online(true);
    }

    /// Let the next `times` attempts fail on top of those pending.
    pub(crate) fn add_failures(&self, times: u32) {
        let add = |pending: u32| Some(pending.saturating_add(times));
        let _ = self.failures.fetch_update(Relaxed, Relaxed, add);
    }

    /// Whether this attempt is to fail.
    #[inline]
    pub(crate) fn fails(&self) -> bool {
        self.failures.load(Relaxed) != 0 && self.use_up_failure()
    }

    #[cold]
    fn use_up_failure(&self) -> bool {
        self.failures.fetch_update(Relaxed, Relaxed, |pending| pending.checked_sub(1)).is_ok()
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self {
            failures: AtomicU32::new(self.failures.load(Relaxed)),
            online: AtomicBool::new(self.is_online()),
        }
    }
}

impl Default for CpuSlot {
    fn default() -> Self {
        Self::new()
    }
}
