//! L to Q: whether the walk goes round again (D47).

use super::{At, Go, SlowWalk};
use crate::contract::{CompactPriority, CompactResult, SlowStep, TaskFlags};
use crate::reference::Reference;
use crate::reference::kswapd::compact_gap;
use crate::vocab::{AllocFlags, Gfp, Mark, Order, ZoneKind};
use alloc::vec::Vec;

/// MAX_RECLAIM_RETRIES.
const RECLAIM_RETRIES: u32 = 16;
/// MAX_COMPACT_RETRIES; a quarter for costly orders.
const COMPACT_RETRIES: u32 = 16;

impl Reference {
    pub(super) fn decide(&mut self, walk: &mut SlowWalk) -> Go {
        if walk.gfp.contains(Gfp::NORETRY) {
            return Go::NoPage;
        }
        let tries_hard = walk.gfp.contains(Gfp::RETRY_MAYFAIL) && walk.may_compact();
        if walk.is_costly() && !tries_hard {
            return Go::NoPage;
        }
        if self.should_reclaim_retry(walk) {
            return Go::Retry;
        }
        if walk.progress > 0 && self.should_compact_retry(walk) {
            return Go::Retry;
        }
        if self.is_stale(walk) {
            return Go::Restart;
        }
        Go::Say(At::OomLock, SlowStep::OomLock)
    }

    /// The zones that a retry counts on.
    fn retry_zones(&self, walk: &SlowWalk) -> Vec<usize> {
        let minds = self.rules.retry_minds_cpuset && walk.flags.contains(AllocFlags::CPUSET);
        let mut zones = self.walk_zones(walk);
        zones.retain(|&z| !minds || walk.mems.contains(self.zones[z].node));
        zones
    }

    /// Whose reserve entry the walk's checks use.
    fn walk_reserve(&self, walk: &SlowWalk) -> ZoneKind {
        let preferred = self.walk_zones(walk).first().copied();
        preferred.map_or(walk.highest, |z| self.reserve_index(walk.highest, z))
    }

    fn should_reclaim_retry(&mut self, walk: &mut SlowWalk) -> bool {
        if walk.progress > 0 && !walk.is_costly() {
            walk.fruitless = 0;
        } else {
            walk.fruitless += 1;
        }
        if walk.fruitless > RECLAIM_RETRIES {
            return self.unreserve_for(walk, true);
        }
        let reserve = self.walk_reserve(walk);
        let hopeful = self.retry_zones(walk).into_iter().any(|z| {
            let available = self.zones[z].reclaimable as i64 + self.exact_free(z);
            self.check(z, walk.order, self.mark(z, Mark::Min), reserve, walk.flags, available)
        });
        hopeful || (self.rules.unreserve_before_oom && self.unreserve_for(walk, true))
    }

    fn should_compact_retry(&self, walk: &mut SlowWalk) -> bool {
        if walk.order == Order::ZERO || walk.task.contains(TaskFlags::DYING) {
            return false;
        }
        match walk.compacted {
            CompactResult::Skipped => return self.compaction_may_suit(walk),
            CompactResult::Success => {
                walk.compact_retries += 1;
                let most = if walk.is_costly() { COMPACT_RETRIES / 4 } else { COMPACT_RETRIES };
                if walk.compact_retries <= most {
                    return true;
                }
            }
            _ => {}
        }
        let harder = match walk.priority {
            CompactPriority::Async => CompactPriority::SyncLight,
            CompactPriority::SyncLight if !walk.is_costly() => CompactPriority::SyncFull,
            CompactPriority::SyncLight | CompactPriority::SyncFull => return false,
        };
        walk.priority = harder;
        walk.compact_retries = 0;
        true
    }

    /// compaction_zonelist_suitable: some zone would have room for compaction to work, if all that is
    /// reclaimable were reclaimed bit by bit.
    fn compaction_may_suit(&self, walk: &SlowWalk) -> bool {
        let reserve = self.walk_reserve(walk);
        let mark = if walk.is_costly() { Mark::Low } else { Mark::Min };
        self.retry_zones(walk).into_iter().any(|z| {
            let part = self.zones[z].reclaimable / u64::from(walk.order.get());
            let available = self.exact_free(z) + part as i64;
            let target = self.mark(z, mark) + compact_gap(walk.order) as i64;
            self.check(z, Order::ZERO, target, reserve, AllocFlags::CMA, available)
        })
    }
}
