//! Steps L to Q: whether to go round once more (page_alloc.md §4.4).

use super::{At, Walk};
use crate::{
    allocator::PageAllocator,
    path::Attempt,
    platform::{Platform, Word},
    storage::Backing,
    zone::Check,
    zonelist::Entry,
};
use mmspec_model::{
    contract::{CompactPriority, CompactResult, TaskFlags},
    vocab::{AllocFlags, Gfp, Mark, Order},
};

const MAX_RECLAIM_RETRIES: u32 = 16;
const MAX_COMPACT_RETRIES: u32 = 16;

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    pub(super) fn slow_decide(&self, walk: &mut Walk) -> At {
        let Some(attempt) = walk.attempt else { return At::NoPage };
        if walk.gfp.contains(Gfp::NORETRY) {
            return At::NoPage;
        }
        let stubborn = walk.gfp.contains(Gfp::RETRY_MAYFAIL);
        if walk.is_costly() && (!walk.may_compact() || !stubborn) {
            return At::NoPage;
        }
        if self.should_reclaim_retry(walk, &attempt) {
            return At::Retry;
        }
        if walk.progress > 0 && self.should_compact_retry(walk, &attempt) {
            return At::Retry;
        }
        if self.is_stale(walk) {
            return At::Restart;
        }
        At::Oom
    }

    /// Whether further reclaim could make room somewhere, or the reserve gives something up.
    fn should_reclaim_retry(&self, walk: &mut Walk, attempt: &Attempt) -> bool {
        if walk.progress > 0 && !walk.is_costly() {
            walk.no_progress_loops = 0;
        } else {
            walk.no_progress_loops += 1;
        }
        if walk.no_progress_loops > MAX_RECLAIM_RETRIES {
            return self.unreserve(walk, attempt, true);
        }
        let check = attempt.check(Mark::Min);
        let could = self.some_zone(walk, attempt, |entry| {
            let zone = self.zone(entry.zone);
            let free = self.exact_free(entry.zone) + zone.rare.reclaimable.load() as i64;
            zone.watermark_with(&self.geometry.rules, &check, free)
        });
        could || (self.geometry.rules.unreserve_before_oom && self.unreserve(walk, attempt, true))
    }

    /// Whether compaction is worth another round, perhaps a harder one.
    fn should_compact_retry(&self, walk: &mut Walk, attempt: &Attempt) -> bool {
        if walk.order() == Order::ZERO || walk.task_is(TaskFlags::DYING) {
            return false;
        }
        if walk.compacted == CompactResult::Skipped {
            return self.some_zone(walk, attempt, |entry| self.could_compact(attempt, entry));
        }
        if walk.compacted == CompactResult::Success {
            let most = MAX_COMPACT_RETRIES / if walk.is_costly() { 4 } else { 1 };
            walk.compact_retries += 1;
            if walk.compact_retries <= most {
                return true;
            }
        }
        walk.priority = match walk.priority {
            CompactPriority::Async => CompactPriority::SyncLight,
            CompactPriority::SyncLight if !walk.is_costly() => CompactPriority::SyncFull,
            CompactPriority::SyncLight | CompactPriority::SyncFull => return false,
        };
        walk.compact_retries = 0;
        true
    }

    /// Whether a zone would be suitable for compaction if reclaim did its best
    /// (compaction_zonelist_suitable).
    fn could_compact(&self, attempt: &Attempt, entry: Entry) -> bool {
        let zone = self.zone(entry.zone);
        let order = attempt.want.order;
        let mark = if order > Order::COSTLY.get() { Mark::Low } else { Mark::Min };
        let check = Check {
            order: 0,
            mark,
            extra: 2 << order,
            highest: attempt.classzone,
            flags: AllocFlags::CMA,
        };
        let reclaimable = zone.rare.reclaimable.load() / u64::from(order.max(1));
        let free = self.exact_free(entry.zone) + reclaimable as i64;
        zone.watermark_with(&self.geometry.rules, &check, free)
    }

    /// Whether some zone that the request may have is as `holds` says.
    fn some_zone(&self, walk: &Walk, attempt: &Attempt, holds: impl Fn(Entry) -> bool) -> bool {
        let minds = self.geometry.rules.retry_minds_cpuset
            && attempt.want.flags.contains(AllocFlags::CPUSET);
        let look = |entry: Entry| {
            let allowed = !minds || walk.request.task.mems.contains(entry.node);
            (allowed && holds(entry)).then_some(())
        };
        self.find_entry(attempt, look).is_some()
    }
}
