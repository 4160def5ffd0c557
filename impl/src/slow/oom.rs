//! Steps R to T: out of memory (page_alloc.md §4.4; docs/decisions.md, 48).

use super::{At, Go, Walk};
use crate::{allocator::PageAllocator, pcp::Count, platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{SlowReply, SlowStep, TaskFlags},
    vocab::{AllocFlags, Gfp, Mark, ZoneKind},
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// The lock was free, or somebody else is at it already.
    pub(super) fn after_oom_lock(&self, walk: &mut Walk, reply: Option<SlowReply>) -> Go {
        let Some(mut attempt) = walk.attempt else { return Go::To(At::NoPage) };
        if reply != Some(SlowReply::OomLock(true)) {
            walk.progress = 1;
            return Go::To(At::AfterOom);
        }
        // Perhaps a kill just before freed enough: look, but only above the HIGH mark.
        attempt.mark = Mark::High;
        attempt.want.flags = AllocFlags::CPUSET;
        attempt.gfp = (attempt.gfp | Gfp::HARDWALL) - Gfp::DIRECT_RECLAIM;
        if let Some(pfn) = self.search(walk, attempt) {
            return Go::page(pfn);
        }
        walk.progress = 0;
        let never = Gfp::RETRY_MAYFAIL | Gfp::THISNODE;
        if walk.is_costly() || walk.gfp.intersects(never) || attempt.highest < ZoneKind::Normal {
            return Go::To(At::AfterOom);
        }
        Go::Ask(SlowStep::OomKill { order: walk.order() }, At::OomKilled)
    }

    pub(super) fn after_oom_kill(&self, walk: &mut Walk, reply: Option<SlowReply>) -> Go {
        let killed = reply == Some(SlowReply::Killed(true));
        if killed {
            self.cpu(walk.cpu).count(Count::OomKill);
        }
        let must = walk.gfp.contains(Gfp::NOFAIL);
        walk.progress = u64::from(killed || must);
        match must.then(|| self.search_twice(walk, AllocFlags::NO_WATERMARKS)).flatten() {
            Some(pfn) => Go::page(pfn),
            None => Go::To(At::AfterOom),
        }
    }

    /// Steps S and T.
    pub(super) fn after_oom(&self, walk: &mut Walk) -> At {
        let flags = walk.attempt.map_or(AllocFlags::empty(), |attempt| attempt.want.flags);
        let no_more = flags.contains(AllocFlags::OOM) || walk.gfp.contains(Gfp::NOMEMALLOC);
        if (walk.task_is(TaskFlags::OOM_VICTIM) && no_more) || walk.progress == 0 {
            return At::NoPage;
        }
        walk.no_progress_loops = 0;
        At::Retry
    }
}
