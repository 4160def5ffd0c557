//! Per-CPU list sizes: how much a refill takes and a free gives back (§2.4, §2.5).
//!
//! [`PcpSizes`] holds the numbers only, so that the trace engine can run the same arithmetic
//! against a real kernel.

use crate::vocab::{MigrateType, Order, PcpFlags, PcpTuning, Pfn, ZoneFlags};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// The numbers that steer one CPU's lists in one zone. Pages are base pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PcpSizes {
    /// Pages on the lists.
    pub count: u64,
    /// The stored high mark.
    pub high: u64,
    /// Its bounds.
    pub high_min: u64,
    /// Upper bound.
    pub high_max: u64,
    /// The batch in use, at least 1.
    pub batch: u64,
    /// Flags (auto-tuning only).
    pub flags: PcpFlags,
    /// Doublings of the next refill.
    pub alloc_factor: u8,
    /// Doublings of the next bulk free (without auto-tuning).
    pub free_factor: u8,
    /// Pages freed lately.
    pub free_count: u64,
    /// CONFIG_PCP_BATCH_SCALE_MAX.
    pub scale_max: u8,
}

/// What a free asks for after its page was put on the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterFree {
    /// Nothing: below the limit.
    Keep,
    /// Free this many pages to the buddy, beginning with the page's own list.
    Drain(u64),
}

impl PcpSizes {
    fn top(&self) -> u64 {
        self.batch << self.scale_max
    }

    /// An allocation reaches the lists (not one of a bulk call).
    pub fn note_alloc(&mut self, tuning: PcpTuning) {
        match tuning {
            PcpTuning::Auto => self.free_count >>= 1,
            PcpTuning::FreeFactor => self.free_factor >>= 1,
            PcpTuning::Fixed => {}
        }
    }

    /// Number of blocks of `order` that a refill asks for (§2.4).
    pub fn refill_blocks(&mut self, order: Order, zone: ZoneFlags, tuning: PcpTuning) -> u64 {
        if tuning == PcpTuning::Fixed {
            return self.batch;
        }
        if tuning == PcpTuning::FreeFactor {
            return if self.batch > 1 { (self.batch >> order.get()).max(2) } else { self.batch };
        }
        self.high = self.within_limits(self.high);
        if self.high < self.batch {
            return 1;
        }
        let mut want =
            if order > Order::ZERO { self.batch } else { self.batch << self.alloc_factor };
        if self.high_min != self.high_max && !zone.contains(ZoneFlags::BELOW_HIGH) {
            self.high = (self.high + want).min(self.high_max);
        }
        if order == Order::ZERO {
            let room = self.high.saturating_sub(self.count).saturating_sub(self.batch);
            let cap = room.max(self.batch);
            if want <= cap && self.alloc_factor < self.scale_max {
                self.alloc_factor += 1;
            }
            want = want.min(cap);
        }
        if want > 1 { (want >> order.get()).max(2) } else { want }
    }

    /// A block was put at the head of its list: count it and say what must go (§2.5).
    /// `half_min` is `Rules::free_high_half_min`.
    pub fn commit_free(
        &mut self,
        order: Order,
        zone: ZoneFlags,
        tuning: PcpTuning,
        half_min: bool,
    ) -> AfterFree {
        let pages = order.pages();
        let high_order = order > Order::ZERO && order <= Order::COSTLY;
        if tuning == PcpTuning::Fixed {
            self.count += pages;
            return if self.count >= self.high {
                AfterFree::Drain(self.batch)
            } else {
                AfterFree::Keep
            };
        }
        if tuning == PcpTuning::FreeFactor {
            self.count += pages;
            return self.after_free_by_factor(high_order, zone);
        }
        self.alloc_factor >>= 1;
        self.count += pages;
        let mut flush = false;
        if high_order {
            let threshold = self.batch + if half_min { self.high_min / 2 } else { 0 };
            flush = self.free_count >= threshold
                && self.flags.contains(PcpFlags::PREV_FREE_HIGH_ORDER)
                && (!self.flags.contains(PcpFlags::FREE_HIGH_BATCH) || self.count >= self.batch);
        }
        self.flags.set(PcpFlags::PREV_FREE_HIGH_ORDER, high_order);
        if self.free_count < self.top() {
            self.free_count += pages;
        }
        let limit = self.limit_auto(flush, zone);
        if self.count < limit {
            return AfterFree::Keep;
        }
        AfterFree::Drain(if flush {
            self.count.min(self.top())
        } else if limit < self.batch {
            1
        } else {
            self.free_count.clamp(self.batch, (limit - self.batch).max(self.batch))
        })
    }

    /// `high` between its limits. Marks near or above the memory of a zone push `high_min` above
    /// `high_max`; then the upper limit wins.
    fn within_limits(&self, high: u64) -> u64 {
        high.max(self.high_min).min(self.high_max)
    }

    /// nr_pcp_high with auto-tuning.
    fn limit_auto(&mut self, flush: bool, zone: ZoneFlags) -> u64 {
        let high = self.within_limits(self.high);
        self.high = high;
        if high == 0 {
            return 0;
        }
        if flush {
            self.high = high.saturating_sub(self.top()).max(self.high_min);
            return 0;
        }
        let give = self.free_count.max(self.batch);
        if zone.contains(ZoneFlags::RECLAIM_ACTIVE) {
            self.high = high.saturating_sub(give).max(self.high_min);
            return (4 * self.batch).min(self.high);
        }
        if self.high_min == self.high_max {
            return high;
        }
        if zone.contains(ZoneFlags::BELOW_HIGH) {
            self.high = high.saturating_sub(give).max(self.high_min);
            return self.count.max(self.high_min);
        }
        if self.count >= high {
            let need = self.free_count + self.batch;
            if self.high < need {
                self.high = self.within_limits(need);
            }
        }
        high
    }

    /// Up to 6.6: nr_pcp_high and nr_pcp_free with free_factor.
    fn after_free_by_factor(&mut self, high_order: bool, zone: ZoneFlags) -> AfterFree {
        let flush = self.free_factor > 0 && high_order;
        let limit = if self.high == 0 || flush {
            0
        } else if zone.contains(ZoneFlags::RECLAIM_ACTIVE) {
            (4 * self.batch).min(self.high)
        } else {
            self.high
        };
        if self.count < limit {
            return AfterFree::Keep;
        }
        AfterFree::Drain(if flush {
            self.count
        } else if limit < self.batch {
            1
        } else {
            let most = (limit - self.batch).max(self.batch);
            let wanted = self.batch << self.free_factor;
            if wanted < limit - self.batch {
                self.free_factor += 1;
            }
            wanted.clamp(self.batch, most)
        })
    }

    /// Decay of high by the periodic worker (§2.8): the pages to give back now, and whether high is
    /// still above its lower bound.
    pub fn decay(&mut self) -> (u64, bool) {
        if self.high > self.high_min {
            self.high = self
                .count
                .saturating_sub(self.top())
                .max(self.high - self.high / 8)
                .max(self.high_min);
        }
        (self.count.saturating_sub(self.high), self.high > self.high_min)
    }

    /// Most pages that one hold of the lock may drain (§2.7, 6.11 and later).
    #[must_use]
    pub fn drain_bound(&self) -> u64 {
        self.top()
    }
}

/// A block on a per-CPU list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct CachedBlock {
    pub(super) pfn: Pfn,
    pub(super) order: Order,
    /// The type remembered when it was cached (up to 6.9).
    pub(super) migratetype: MigrateType,
}

/// One CPU's lists in one zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Pcp {
    pub(super) sizes: PcpSizes,
    pub(super) lists: Vec<VecDeque<CachedBlock>>,
    pub(super) expire: u8,
    pub(super) vm_stat_diff: i64,
    pub(super) vm_cma_diff: i64,
    /// This CPU's diff of NR_ALLOC_BATCH.
    pub(super) vm_batch_diff: i64,
}
