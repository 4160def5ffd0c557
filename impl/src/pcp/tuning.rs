//! How many pages per-CPU lists hold, fetch and give back (page_alloc.md §2.2 to §2.5).

use super::Pcp;
use mmspec_model::vocab::{Order, PcpFlags, PcpTuning, ZoneFlags};

/// The limits of one CPU's lists, the same for all CPUs of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    pub(crate) high_min: i32,
    pub(crate) high_max: i32,
    /// Never 0.
    pub(crate) batch: i32,
    /// CONFIG_PCP_BATCH_SCALE_MAX.
    pub(crate) scale_max: u8,
}

/// What the limits of a zone follow from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizing {
    pub(crate) managed: u64,
    /// The LOW mark, boost included.
    pub(crate) low: u64,
    pub(crate) cpus: u64,
    /// `vm.percpu_pagelist_high_fraction`.
    pub(crate) fraction: u32,
    pub(crate) scale_max: u8,
    pub(crate) tuning: PcpTuning,
}

/// The batch of a zone with `managed` pages as computed; 0 stands for 1 (page_alloc.md §2.2).
pub(crate) fn raw_batch(managed: u64, tuning: PcpTuning) -> u64 {
    const PAGES_PER_MIB: u64 = 256;
    let most = match tuning {
        PcpTuning::Fixed => PAGES_PER_MIB / 2,
        PcpTuning::FreeFactor | PcpTuning::Auto => PAGES_PER_MIB,
    };
    let quarter = ((managed >> 10).min(most) / 4).max(1);
    let grown = quarter + quarter / 2;
    (1 << grown.ilog2()) - 1
}

impl Limits {
    /// Nothing stays on the lists: at boot, and while they are disabled.
    pub(crate) const THROUGH: Self = Self { high_min: 0, high_max: 0, batch: 1, scale_max: 5 };

    /// The limits of a zone (page_alloc.md §2.2, §2.3).
    pub(crate) fn of(sizing: &Sizing) -> Self {
        const AUTO_TUNING_FRACTION: u64 = 8;
        const FIXED_BATCHES: u64 = 6;
        let raw = raw_batch(sizing.managed, sizing.tuning);
        let batch = raw.max(1);
        if sizing.tuning == PcpTuning::Fixed {
            let high = (FIXED_BATCHES * raw) as i32;
            let scale_max = sizing.scale_max;
            return Self { high_min: high, high_max: high, batch: batch as i32, scale_max };
        }
        let high = |pages: u64| (pages / sizing.cpus).max(4 * batch).min(i32::MAX as u64) as i32;
        let fraction = u64::from(sizing.fraction);
        let auto_tuning = sizing.tuning == PcpTuning::Auto;
        let (high_min, high_max) = match (fraction, auto_tuning) {
            (0, true) => (high(sizing.low), high(sizing.managed / AUTO_TUNING_FRACTION)),
            (0, false) => (high(sizing.low), high(sizing.low)),
            _ => (high(sizing.managed / fraction), high(sizing.managed / fraction)),
        };
        Self { high_min, high_max, batch: batch as i32, scale_max: sizing.scale_max }
    }

    /// Most pages to move under one hold of the lock.
    pub(crate) fn most(&self) -> i32 {
        self.batch << self.scale_max
    }

    fn clamp(&self, high: i32) -> i32 {
        high.max(self.high_min).min(self.high_max)
    }
}

impl Pcp {
    /// Blocks to fetch for an empty list of `order` (page_alloc.md §2.4).
    pub(super) fn refill_blocks(&mut self, order: u8, zone: ZoneFlags, auto_tuning: bool) -> u32 {
        let limits = self.limits;
        let mut want = limits.batch;
        if auto_tuning {
            let mut high = limits.clamp(self.high);
            self.high = high;
            if high < limits.batch {
                return 1;
            }
            if order == 0 {
                want <<= self.alloc_factor;
            }
            if limits.high_min != limits.high_max && !zone.contains(ZoneFlags::BELOW_HIGH) {
                high = (high + want).min(limits.high_max);
                self.high = high;
            }
            if order == 0 {
                let most = (high - self.count - limits.batch).max(limits.batch);
                if want <= most && self.alloc_factor < limits.scale_max {
                    self.alloc_factor += 1;
                }
                want = want.min(most);
            }
        }
        if want > 1 { (want >> order).max(2) as u32 } else { want as u32 }
    }

    /// Book a block of `order` that was put on a list; the pages to give back now, if the lists
    /// are full (page_alloc.md §2.5).
    #[inline(always)]
    pub(crate) fn freed(&mut self, order: u8, zone: ZoneFlags, rules: FreeRules) -> Option<i32> {
        let pages = 1 << order;
        self.pgfree += pages as u64;
        let high_order = 0 < order && order <= Order::COSTLY.get();
        if !rules.auto_tuning {
            self.count += pages;
            if rules.fixed {
                return (self.count >= self.high).then_some(self.limits.batch);
            }
            let free_high = self.free_factor > 0 && high_order;
            return self.excess_by_factor(free_high, zone);
        }
        self.alloc_factor >>= 1;
        self.count += pages;
        let limits = &self.limits;
        // Without branches: nobody can foretell the order of the next free.
        let half_min = if rules.half_min { limits.high_min / 2 } else { 0 };
        let free_high = high_order
            & (self.free_count >= limits.batch + half_min)
            & self.flags.contains(PcpFlags::PREV_FREE_HIGH_ORDER)
            & (!self.flags.contains(PcpFlags::FREE_HIGH_BATCH) | (self.count >= limits.batch));
        self.flags.set(PcpFlags::PREV_FREE_HIGH_ORDER, high_order);
        self.free_count += if self.free_count < limits.most() { pages } else { 0 };
        let high = limits.clamp(self.high);
        self.high = high;
        let shrinks = zone.intersects(ZoneFlags::RECLAIM_ACTIVE.union(ZoneFlags::BELOW_HIGH));
        if self.count < high && !(free_high | shrinks) {
            return None;
        }
        self.excess(free_high, zone)
    }

    /// The pages to give back, if any, under auto-tuning.
    #[inline(never)]
    fn excess(&mut self, free_high: bool, zone: ZoneFlags) -> Option<i32> {
        let limits = self.limits;
        let limit = self.limit(free_high, zone);
        if self.count < limit {
            return None;
        }
        Some(if free_high {
            self.count.min(limits.most())
        } else if limit < limits.batch {
            1
        } else {
            self.free_count.max(limits.batch).min(limit - limits.batch)
        })
    }

    /// The count from which on lists are too full, under auto-tuning; moves the high mark, which is
    /// within its limits.
    fn limit(&mut self, free_high: bool, zone: ZoneFlags) -> i32 {
        let (limits, high) = (self.limits, self.high);
        if high == 0 {
            return 0;
        }
        if free_high {
            self.high = (high - limits.most()).max(limits.high_min);
            return 0;
        }
        let shrunk = (high - self.free_count.max(limits.batch)).max(limits.high_min);
        if zone.contains(ZoneFlags::RECLAIM_ACTIVE) {
            self.high = shrunk;
            return (4 * limits.batch).min(shrunk);
        }
        if limits.high_min == limits.high_max {
            return high;
        }
        if zone.contains(ZoneFlags::BELOW_HIGH) {
            self.high = shrunk;
            return self.count.max(limits.high_min);
        }
        if self.count >= high {
            let need = self.free_count + limits.batch;
            if high < need {
                self.high = limits.clamp(need);
            }
        }
        high
    }

    /// The pages to give back up to 6.6.
    #[inline(never)]
    fn excess_by_factor(&mut self, free_high: bool, zone: ZoneFlags) -> Option<i32> {
        let batch = self.limits.batch;
        let limit = if self.high == 0 || free_high {
            0
        } else if zone.contains(ZoneFlags::RECLAIM_ACTIVE) {
            (4 * batch).min(self.high)
        } else {
            self.high
        };
        if self.count < limit {
            return None;
        }
        if free_high {
            return Some(self.count);
        }
        if limit < batch {
            return Some(1);
        }
        let most = limit - batch;
        let grown = batch << self.free_factor;
        if grown < most {
            self.free_factor += 1;
        }
        Some(grown.max(batch).min(most))
    }

    /// Let the high mark sink towards its lower bound; the pages above it then, at least 0
    /// (page_alloc.md §2.8).
    pub(crate) fn decay(&mut self) -> i32 {
        let limits = self.limits;
        if self.high > limits.high_min {
            let sunk = self.high - self.high / 8;
            self.high = (self.count - limits.most()).max(sunk).max(limits.high_min);
        }
        (self.count - self.high).max(0)
    }
}

/// The rules that a free goes by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FreeRules {
    pub(crate) auto_tuning: bool,
    /// The lists have a fixed size and give back a batch when full (3.17).
    pub(crate) fixed: bool,
    /// Half of `high_min` counts towards the flush of high-order frees (6.18).
    pub(crate) half_min: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_those_of_the_fact_sheet() {
        for (managed, batch) in
            [(0, 0), (3840, 0), (8192, 1), (16384, 3), (65536, 15), (262_144, 63), (1 << 30, 63)]
        {
            for tuning in [PcpTuning::FreeFactor, PcpTuning::Auto] {
                assert_eq!(raw_batch(managed, tuning), batch, "{managed} pages");
            }
        }
    }

    #[test]
    fn fixed_lists_are_those_of_the_fact_sheet() {
        // page_alloc.md §8.1, last line: batch and high of DMA, DMA32 and Normal in 3.16.
        for (managed, batch, high) in [(3840, 1, 0), (490_000, 31, 186), (1_500_000, 31, 186)] {
            let tuning = PcpTuning::Fixed;
            let limits =
                Limits::of(&Sizing { managed, low: 0, cpus: 4, fraction: 0, scale_max: 5, tuning });
            assert_eq!((limits.batch, limits.high_min, limits.high_max), (batch, high, high));
        }
    }

    #[test]
    fn limits_are_those_of_the_fact_sheet() {
        // page_alloc.md §8.1: DMA, DMA32, Normal on 4 CPUs.
        for (managed, low, batch, high_min, high_max) in [
            (3840, 8, 1, 4, 120),
            (490_000, 1184, 63, 296, 15312),
            (1_500_000, 3624, 63, 906, 46875),
        ] {
            let tuning = PcpTuning::Auto;
            let mut sizing = Sizing { managed, low, cpus: 4, fraction: 0, scale_max: 5, tuning };
            let limits = Limits::of(&sizing);
            assert_eq!(
                (limits.batch, limits.high_min, limits.high_max),
                (batch, high_min, high_max)
            );
            sizing.tuning = PcpTuning::FreeFactor;
            assert_eq!(Limits::of(&sizing).high_max, high_min);
            sizing.fraction = 8;
            assert_eq!(Limits::of(&sizing).high_min, high_max);
        }
    }
}
