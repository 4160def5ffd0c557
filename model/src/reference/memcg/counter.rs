//! Page counters: charge and uncharge on every level up to the root (memcg-slub.md §1).

use super::Tree;
use crate::vocab::{CounterKind, MemcgId, PAGE_COUNTER_MAX};
use std::vec;
use std::vec::Vec;

/// One counter (memcg-slub.md §1.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Counter {
    pub usage: i64,
    pub max: u64,
    pub min: u64,
    pub low: u64,
    pub high: u64,
    pub min_usage: u64,
    pub low_usage: u64,
    pub children_min_usage: u64,
    pub children_low_usage: u64,
    pub emin: u64,
    pub elow: u64,
    pub watermark: u64,
    pub local_watermark: u64,
    pub failcnt: u64,
}

impl Counter {
    pub(super) const NEW: Self = Self {
        usage: 0,
        max: PAGE_COUNTER_MAX,
        min: 0,
        low: 0,
        high: PAGE_COUNTER_MAX,
        min_usage: 0,
        low_usage: 0,
        children_min_usage: 0,
        children_low_usage: 0,
        emin: 0,
        elow: 0,
        watermark: 0,
        local_watermark: 0,
        failcnt: 0,
    };

    /// Usage as others read it.
    pub(super) const fn used(&self) -> u64 {
        if self.usage < 0 { 0 } else { self.usage as u64 }
    }

    /// Peaks follow a new value (memcg-slub.md §1.2: the global one is only looked at if the local one rose).
    fn peak(&mut self, new: u64) {
        if new > self.local_watermark {
            self.local_watermark = new;
            if new > self.watermark {
                self.watermark = new;
            }
        }
    }
}

impl Tree {
    /// From `memcg` to the root.
    pub(super) fn levels(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let mut levels = vec![memcg];
        while let Some(parent) = self.group(levels[levels.len() - 1]).parent {
            levels.push(parent);
        }
        levels
    }

    /// What a level claims of its parent's protection, after its usage became `usage` (§1.3).
    fn propagate(&mut self, level: MemcgId, usage: u64) {
        let Some(parent) = self.group(level).parent else { return };
        let counter = &mut self.group_mut(level).memory;
        let min = usage.min(counter.min);
        let low = usage.min(counter.low);
        let (old_min, old_low) = (counter.min_usage, counter.low_usage);
        counter.min_usage = min;
        counter.low_usage = low;
        let above = &mut self.group_mut(parent).memory;
        above.children_min_usage = above.children_min_usage + min - old_min;
        above.children_low_usage = above.children_low_usage + low - old_low;
    }

    fn protects(&mut self, level: MemcgId, kind: CounterKind, usage: u64) {
        if kind == CounterKind::Memory {
            self.propagate(level, usage);
        }
    }

    /// Charge `pages` on every level, or on none; the first level that is too full, going up.
    pub(super) fn try_charge(
        &mut self,
        kind: CounterKind,
        memcg: MemcgId,
        pages: u64,
    ) -> Result<(), MemcgId> {
        let levels = self.levels(memcg);
        for (done, level) in levels.iter().enumerate() {
            let counter = self.counter_mut(*level, kind);
            let new = counter.usage + pages as i64;
            if new > counter.max as i64 {
                counter.failcnt += 1;
                for lower in &levels[..done] {
                    self.cancel(kind, *lower, pages);
                }
                return Err(*level);
            }
            counter.usage = new;
            self.protects(*level, kind, new as u64);
            self.counter_mut(*level, kind).peak(new as u64);
        }
        Ok(())
    }

    /// The same without limits.
    pub(super) fn charge_forced(&mut self, kind: CounterKind, memcg: MemcgId, pages: u64) {
        for level in self.levels(memcg) {
            let counter = self.counter_mut(level, kind);
            counter.usage += pages as i64;
            let new = counter.used();
            self.protects(level, kind, new);
            self.counter_mut(level, kind).peak(new);
        }
    }

    /// Take `pages` off one level; never below 0.
    fn cancel(&mut self, kind: CounterKind, level: MemcgId, pages: u64) {
        let counter = self.counter_mut(level, kind);
        counter.usage = (counter.usage - pages as i64).max(0);
        let new = counter.used();
        self.protects(level, kind, new);
    }

    /// Take `pages` off every level, the group's own first.
    pub(super) fn uncharge_walk(&mut self, kind: CounterKind, memcg: MemcgId, pages: u64) {
        for level in self.levels(memcg) {
            self.cancel(kind, level, pages);
        }
    }

    /// After `min` or `low` was stored: every level claims anew.
    pub(super) fn claim_anew(&mut self, memcg: MemcgId) {
        for level in self.levels(memcg) {
            let usage = self.group(level).memory.used();
            self.propagate(level, usage);
        }
    }

    /// How many pages fit below the group's own limit.
    pub(super) fn margin(&self, memcg: MemcgId) -> u64 {
        let counter = &self.group(memcg).memory;
        counter.max.saturating_sub(counter.used())
    }
}
