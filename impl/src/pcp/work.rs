//! Work that a drain queued on a CPU (page_alloc.md §2.7, up to 5.19).

use crate::platform::{Lock, Platform, Word};
use mmspec_model::vocab::ZoneIdx;

/// How far an item is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// There is none, or it is done.
    Idle,
    Queued,
    /// Somebody drains the lists.
    Running,
}

/// An item of work: drain the lists of this CPU, in one zone or in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    stage: Stage,
    zone: Option<ZoneIdx>,
    /// The number of the drain that queued it.
    drain: u64,
}

/// One CPU's work. On cache lines of its own: drainers write it, and poll while they wait.
#[repr(align(128))]
pub(crate) struct WorkSlot<P: Platform> {
    /// 1 from the queueing to the end of the work. What a CPU polls; the lock decides.
    pending: P::Word,
    /// Held only to go from one stage to the next, not while lists are drained.
    item: P::ZoneLock<Item>,
}

impl<P: Platform> WorkSlot<P> {
    const NONE: Item = Item { stage: Stage::Idle, zone: None, drain: 0 };

    pub(crate) fn new() -> Self {
        Self { pending: P::Word::new(0), item: P::ZoneLock::new(Self::NONE) }
    }

    pub(crate) fn reset(&self) {
        *self.item.lock() = Self::NONE;
        self.pending.store(0);
    }

    /// Whether work is queued or running.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load() != 0
    }

    /// Whether work is queued for this zone.
    pub(crate) fn is_queued_for(&self, zone: ZoneIdx) -> bool {
        if !self.is_pending() {
            return false;
        }
        let item = self.item.lock();
        item.stage == Stage::Queued && item.zone.is_none_or(|only| only == zone)
    }

    /// Queue the work of a drain. No other item may be pending.
    pub(crate) fn queue(&self, zone: Option<ZoneIdx>, drain: u64) {
        let mut item = self.item.lock();
        debug_assert_eq!(item.stage, Stage::Idle, "one drain at a time");
        *item = Item { stage: Stage::Queued, zone, drain };
        self.pending.store(1);
    }

    /// Take the item that is queued: its zone. Whoever gets it must come back with
    /// [`WorkSlot::done`].
    pub(crate) fn take(&self) -> Option<Option<ZoneIdx>> {
        let mut item = self.item.lock();
        if item.stage != Stage::Queued {
            return None;
        }
        item.stage = Stage::Running;
        Some(item.zone)
    }

    /// The item taken is done.
    pub(crate) fn done(&self) {
        self.item.lock().stage = Stage::Idle;
        self.pending.store(0);
    }

    /// Whether this CPU's work for a drain is done. Under the lock, so that what the worker did to
    /// the lists is seen by whoever learns of it here.
    pub(crate) fn is_done_for(&self, drain: u64) -> bool {
        let item = self.item.lock();
        item.drain != drain || item.stage == Stage::Idle
    }

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        let item = *self.item.lock();
        Self { pending: P::Word::new(self.pending.load()), item: P::ZoneLock::new(item) }
    }
}
