//! Step J: direct reclaim as the allocator sees it, and the throttle before it (page_alloc.md §4.4,
//! compaction.md §4.5).

use super::{At, Go, Walk};
use crate::{
    allocator::PageAllocator,
    kswapd::HOPELESS,
    path::Attempt,
    pcp::Count,
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{DrainBegun, SlowReply, SlowStep, TaskFlags},
    vocab::{Gfp, Mark, NodeId, ZoneKind},
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Reclaim, but where reserves are low wait first.
    pub(super) fn begin_reclaim(&self, walk: &Walk, attempt: &Attempt) -> Go {
        let exempt = TaskFlags::KTHREAD | TaskFlags::DYING;
        if !walk.request.task.flags.intersects(exempt)
            && let Some(node) = self.throttles(attempt)
        {
            self.wake_throttled(node);
            self.cpu(walk.cpu).count(Count::DirectThrottle);
            let killable = walk.gfp.contains(Gfp::FS);
            return Go::Ask(SlowStep::Throttle { node, killable }, At::Throttled);
        }
        self.ask_reclaim(walk, attempt)
    }

    fn ask_reclaim(&self, walk: &Walk, attempt: &Attempt) -> Go {
        self.cpu(walk.cpu).count(Count::allocstall(attempt.highest));
        Go::Ask(SlowStep::Reclaim { order: walk.order() }, At::Reclaimed)
    }

    /// The node whose reserves are too low to let the request reclaim, if they are.
    fn throttles(&self, attempt: &Attempt) -> Option<NodeId> {
        let low =
            |entry: crate::zonelist::Entry| (entry.kind <= ZoneKind::Normal).then_some(entry.node);
        let node = self.find_entry(attempt, low)?;
        (!self.lets_reclaim(node)).then_some(node)
    }

    /// Whether more than half of the node's MIN marks are free, counting zones that reclaim could
    /// free something in.
    fn lets_reclaim(&self, node: NodeId) -> bool {
        if self.node(node).failures.load() >= HOPELESS {
            return true;
        }
        let (mut free, mut reserve) = (0, 0);
        for at in self.zones_up_to(node, ZoneKind::Normal) {
            let zone = self.zone(at);
            let here = self.exact_free(at) as u64;
            // In 6.18 a zone that is empty as well as hopeless counts.
            let counts = self.geometry.rules.avoid_awake_nodes && here == 0;
            if zone.rare.reclaimable.load() > 0 || counts {
                free += here;
                reserve += zone.mark(Mark::Min);
            }
        }
        reserve == 0 || free > reserve / 2
    }

    /// The wait is over. Who was killed in it goes on as if something had been reclaimed.
    pub(super) fn after_throttle(&self, walk: &mut Walk, reply: Option<SlowReply>) -> Go {
        match (reply, walk.attempt) {
            (Some(SlowReply::Woken { killed: false }), Some(attempt)) => {
                self.ask_reclaim(walk, &attempt)
            }
            _ => {
                // The signal stays pending: the task is not held back again.
                walk.request.task.flags |= TaskFlags::DYING;
                self.after_progress(walk, 1)
            }
        }
    }

    /// Book a reclaim and look for what it freed.
    pub(super) fn after_reclaim(&self, walk: &mut Walk, reply: Option<SlowReply>) -> Go {
        let progress = match reply {
            Some(SlowReply::Reclaimed(pages)) => pages,
            _ => 0,
        };
        if let (Some(attempt), true) = (walk.attempt, progress > 0) {
            self.for_each_entry(&attempt, |entry| self.node(entry.node).failures.store(0));
        }
        self.after_progress(walk, progress)
    }

    fn after_progress(&self, walk: &mut Walk, progress: u64) -> Go {
        walk.progress = progress;
        let Some(attempt) = walk.attempt else { return Go::To(At::NoPage) };
        if progress == 0 {
            return Go::To(At::Compact);
        }
        if let Some(pfn) = self.search(walk, attempt) {
            return Go::page(pfn);
        }
        // What is free may be reserved, or lie on other CPUs' lists.
        self.unreserve(walk, &attempt, false);
        match self.drain_begin(walk.cpu, None) {
            DrainBegun::Queued { .. } => Go::Ask(SlowStep::DrainWait, At::Drained),
            _ => Go::To(At::Drained),
        }
    }

    /// The lists of all CPUs are empty: the last search of step J.
    pub(super) fn after_drain(&self, walk: &Walk) -> Go {
        match walk.attempt.and_then(|attempt| self.search(walk, attempt)) {
            Some(pfn) => Go::page(pfn),
            None => Go::To(At::Compact),
        }
    }

    /// Release a pageblock of the atomic reserve to the request's type; whether anything moved.
    pub(super) fn unreserve(&self, walk: &Walk, attempt: &Attempt, force: bool) -> bool {
        self.find_entry(attempt, |entry| {
            let (at, migratetype) = (entry.zone, attempt.want.migratetype);
            let diff = &self.slot(walk.cpu, at).diff;
            let mut locked = self.zone(at).lock(self.tables(), diff);
            locked.buddy().unreserve_highatomic(migratetype, force).then_some(())
        })
        .is_some()
    }
}
