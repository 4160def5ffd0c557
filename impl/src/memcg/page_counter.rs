//! page_counter: the walks from a group to the root (memcg-slub.md §1).
//!
//! Every access is one step of §1.7. A charge adds first and looks at the limit after; who lowers a limit
//! writes it first and looks at usage after. One of the two sees the other, because the words are
//! sequentially consistent (§1.4; `tests/loom` shows that acquire and release are not enough).

use super::{GroupSlot, Memcg};
use crate::{
    platform::{Ordered, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{CounterKind, MemcgId, PAGE_COUNTER_MAX, PageCounterState};

/// One counter of one group. What every walk writes lies apart from what it only reads.
#[repr(align(64))]
pub(super) struct Counter<P: Platform> {
    /// Signed.
    pub(super) usage: P::Ordered,
    pub(super) set: Settings<P>,
    pub(super) seen: Seen<P>,
}

/// Written by people, and `min_usage` and `low_usage` where they set something.
#[repr(align(64))]
pub(super) struct Settings<P: Platform> {
    pub(super) max: P::Ordered,
    pub(super) high: P::Ordered,
    pub(super) min: Protection<P>,
    pub(super) low: Protection<P>,
}

/// memory.min or memory.low, and what of it is claimed and in use.
pub(super) struct Protection<P: Platform> {
    pub(super) value: P::Ordered,
    pub(super) usage: P::Ordered,
}

/// What walks leave behind.
#[repr(align(64))]
pub(super) struct Seen<P: Platform> {
    pub(super) local_watermark: P::Ordered,
    pub(super) watermark: P::Ordered,
    pub(super) failcnt: P::Ordered,
    pub(super) children_min_usage: P::Ordered,
    pub(super) children_low_usage: P::Ordered,
    pub(super) emin: P::Ordered,
    pub(super) elow: P::Ordered,
}

impl<P: Platform> Protection<P> {
    fn new() -> Self {
        Self { value: P::Ordered::new(0), usage: P::Ordered::new(0) }
    }

    /// §1.3, for one of the two: claim of `usage` what is protected, and tell the parent the difference.
    fn propagate(&self, usage: i64, children_usage: &P::Ordered) {
        let claimed = (usage.max(0) as u64).min(self.value.load());
        if claimed != self.usage.load() {
            let before = self.usage.swap(claimed);
            children_usage.fetch_add(claimed.wrapping_sub(before));
        }
    }
}

impl<P: Platform> Counter<P> {
    pub(super) fn new() -> Self {
        Self {
            usage: P::Ordered::new(0),
            set: Settings {
                max: P::Ordered::new(PAGE_COUNTER_MAX),
                high: P::Ordered::new(PAGE_COUNTER_MAX),
                min: Protection::new(),
                low: Protection::new(),
            },
            seen: Seen {
                local_watermark: P::Ordered::new(0),
                watermark: P::Ordered::new(0),
                failcnt: P::Ordered::new(0),
                children_min_usage: P::Ordered::new(0),
                children_low_usage: P::Ordered::new(0),
                emin: P::Ordered::new(0),
                elow: P::Ordered::new(0),
            },
        }
    }

    pub(super) fn words(&self) -> impl Iterator<Item = &P::Ordered> {
        let (set, seen) = (&self.set, &self.seen);
        [
            &self.usage,
            &set.max,
            &set.high,
            &set.min.value,
            &set.min.usage,
            &set.low.value,
            &set.low.usage,
            &seen.local_watermark,
            &seen.watermark,
            &seen.failcnt,
            &seen.children_min_usage,
            &seen.children_low_usage,
            &seen.emin,
            &seen.elow,
        ]
        .into_iter()
    }

    /// As new.
    pub(super) fn reset(&self) {
        self.words().for_each(|word| word.store(0));
        self.set.max.store(PAGE_COUNTER_MAX);
        self.set.high.store(PAGE_COUNTER_MAX);
    }

    /// page_counter_read, pages. Below 0 nothing is shown.
    #[inline]
    pub(super) fn read(&self) -> u64 {
        (self.usage.load() as i64).max(0) as u64
    }

    /// The value after.
    #[inline]
    fn add(&self, pages: u32) -> i64 {
        let pages = i64::from(pages);
        (self.usage.fetch_add(pages as u64) as i64).wrapping_add(pages)
    }

    /// The value after.
    #[inline]
    fn sub(&self, pages: u32) -> i64 {
        let pages = i64::from(pages);
        (self.usage.fetch_add((-pages) as u64) as i64).wrapping_sub(pages)
    }

    /// §1.3, of both. The root claims from nobody.
    #[inline]
    pub(super) fn propagate(&self, usage: i64, parent: Option<&Self>) {
        let Some(parent) = parent else { return };
        self.set.min.propagate(usage, &parent.seen.children_min_usage);
        self.set.low.propagate(usage, &parent.seen.children_low_usage);
    }

    /// Two plain reads and stores, so that a peak may be lost or fall (§1.5 T4), as the kernel's.
    #[inline]
    fn raise_watermarks(&self, usage: i64) {
        let usage = usage.max(0) as u64;
        if usage > self.seen.local_watermark.load() {
            self.seen.local_watermark.store(usage);
            if usage > self.seen.watermark.load() {
                self.seen.watermark.store(usage);
            }
        }
    }

    pub(super) fn state(&self) -> PageCounterState {
        let (set, seen) = (&self.set, &self.seen);
        PageCounterState {
            usage: self.read(),
            max: set.max.load(),
            min: set.min.value.load(),
            low: set.low.value.load(),
            high: set.high.load(),
            min_usage: set.min.usage.load(),
            low_usage: set.low.usage.load(),
            children_min_usage: seen.children_min_usage.load(),
            children_low_usage: seen.children_low_usage.load(),
            emin: seen.emin.load(),
            elow: seen.elow.load(),
            watermark: seen.watermark.load(),
            local_watermark: seen.local_watermark.load(),
            failcnt: seen.failcnt.load(),
        }
    }
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// The parent's counter of the same kind.
    pub(super) fn counter_above(
        &self,
        slot: &GroupSlot<P>,
        kind: CounterKind,
    ) -> Option<&Counter<P>> {
        let parent = slot.parent()?;
        self.groups.get(usize::from(parent.0)).map(|parent| parent.counter(kind))
    }

    /// Swap has no protection (protection_support of the counter that a walk starts from).
    #[inline]
    fn propagate(&self, slot: &GroupSlot<P>, kind: CounterKind, usage: i64) {
        if kind == CounterKind::Memory {
            slot.memory.propagate(usage, self.counter_above(slot, kind));
        }
    }

    /// page_counter_try_charge.
    ///
    /// # Errors
    /// The first level, from the group up, whose limit does not allow it.
    pub(super) fn try_charge_counter(
        &self,
        memcg: MemcgId,
        kind: CounterKind,
        pages: u32,
    ) -> Result<(), MemcgId> {
        for (level, slot) in self.levels(memcg) {
            let counter = slot.counter(kind);
            let new = counter.add(pages);
            if new > counter.set.max.load() as i64 {
                counter.sub(pages);
                // Not one step: increments may be lost (§1.5 T5).
                counter.seen.failcnt.store(counter.seen.failcnt.load().wrapping_add(1));
                let below = self.levels(memcg).take_while(|(below, _)| *below != level);
                below.for_each(|(_, below)| self.cancel(below, kind, pages));
                return Err(level);
            }
            self.propagate(slot, kind, new);
            counter.raise_watermarks(new);
        }
        Ok(())
    }

    /// page_counter_charge: whatever the limits say.
    pub(super) fn charge_counter(&self, memcg: MemcgId, kind: CounterKind, pages: u32) {
        for (_, slot) in self.levels(memcg) {
            let counter = slot.counter(kind);
            let new = counter.add(pages);
            self.propagate(slot, kind, new);
            counter.raise_watermarks(new);
        }
    }

    /// page_counter_cancel, one level. Usage below 0 is a caller's error, and is set to 0, which may lose
    /// charges that race.
    fn cancel(&self, slot: &GroupSlot<P>, kind: CounterKind, pages: u32) {
        let counter = slot.counter(kind);
        let mut new = counter.sub(pages);
        if new < 0 {
            new = 0;
            counter.usage.store(0);
        }
        self.propagate(slot, kind, new);
    }

    /// page_counter_uncharge: the group first, the root last.
    pub(super) fn uncharge_counter(&self, memcg: MemcgId, kind: CounterKind, pages: u32) {
        self.levels(memcg).for_each(|(_, slot)| self.cancel(slot, kind, pages));
    }
}
