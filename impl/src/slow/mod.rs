//! The slow path as a walk that the embedder steps (page_alloc.md §4.4; docs/decisions.md, 43 to
//! 49). Any number of walks may be under way at once: each is a value of its own.

pub(crate) mod flags;
mod oom;
mod reclaim;
mod retry;

use crate::{
    allocator::PageAllocator,
    path::{Attempt, in_scope},
    pcp::Count,
    platform::{Platform, Word},
    storage::Backing,
    zonelist::{Entry, Next},
};
use mmspec_model::{
    contract::{
        CompactPriority, CompactResult, Outcome, Refusal, Request, SlowReply, SlowStep, TaskFlags,
    },
    vocab::{AllocFlags, CpuId, Gfp, Mark, MigrateType, NodeMask, Order, Pfn, ZoneIdx},
};

/// A walk through the slow path. It holds no lock and no page: dropping it gives the request up.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    cpu: CpuId,
    request: Request,
    /// The request's flags after the task's scopes.
    gfp: Gfp,
    /// How lists are searched; none before the first step, or where no zone is allowed.
    attempt: Option<Attempt>,
    at: At,
    /// The task's cpuset changed since step A.
    mems_changed: bool,
    /// The rebuild of the zonelists as of step A.
    zonelists: u64,
    priority: CompactPriority,
    compact_retries: u32,
    no_progress_loops: u32,
    /// What reclaim last came to (did_some_progress).
    progress: u64,
    compacted: CompactResult,
}

/// Where a walk stands: what comes when the next reply is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// Step A.
    Restart,
    /// Step D was asked for.
    CompactedFirst,
    /// Step E.
    Retry,
    /// Step J: the task waited for reserves.
    Throttled,
    /// Step J: reclaim was asked for.
    Reclaimed,
    /// Step J: all CPUs' lists were drained.
    Drained,
    /// Step J is over: step K.
    Compact,
    /// Step K was asked for.
    Compacted,
    /// Step L and what follows.
    Decide,
    /// Step R.
    Oom,
    /// Step R: the lock was asked for.
    OomLocked,
    /// Step R: a kill was asked for.
    OomKilled,
    /// Steps S and T.
    AfterOom,
    /// No page so far, and no reason to go on.
    NoPage,
    /// Others ran in between.
    Yielded,
    /// The end.
    Done(Outcome),
}

/// What a part of a walk comes to.
enum Go {
    /// On, without the embedder.
    To(At),
    /// The embedder is asked; its reply is for the second.
    Ask(SlowStep, At),
}

impl Go {
    fn page(pfn: Pfn) -> Self {
        Self::To(At::Done(Outcome::Page(pfn)))
    }
}

impl Walk {
    pub(crate) fn cpu(&self) -> CpuId {
        self.cpu
    }

    pub(crate) fn gfp(&self) -> Gfp {
        self.gfp
    }

    pub(crate) fn attempt(&self) -> Option<Attempt> {
        self.attempt
    }

    pub(crate) fn order(&self) -> Order {
        self.request.order
    }

    fn is_costly(&self) -> bool {
        self.order() > Order::COSTLY
    }

    fn reclaims(&self) -> bool {
        self.gfp.contains(Gfp::DIRECT_RECLAIM)
    }

    /// Compaction is built and the request may do I/O.
    fn may_compact(&self) -> bool {
        self.gfp.contains(Gfp::IO)
    }

    fn task_is(&self, flag: TaskFlags) -> bool {
        self.request.task.flags.contains(flag)
    }
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Begin a walk; see [`mmspec_model::contract::SlowPath::slow_begin`].
    pub fn slow_begin(&self, cpu: CpuId, request: Request) -> Walk {
        Walk {
            cpu,
            request,
            gfp: request.gfp,
            attempt: None,
            at: At::Restart,
            mems_changed: false,
            zonelists: 0,
            priority: CompactPriority::SyncLight,
            compact_retries: 0,
            no_progress_loops: 0,
            progress: 0,
            compacted: CompactResult::Skipped,
        }
    }

    /// Go on to the next step; see [`mmspec_model::contract::SlowPath::slow_step`].
    pub fn slow_step(&self, walk: &mut Walk, reply: Option<SlowReply>) -> SlowStep {
        loop {
            match self.slow_part(walk, reply) {
                Go::To(At::Done(outcome)) => {
                    if !matches!(walk.at, At::Done(_)) {
                        self.trace_alloc(&walk.request, outcome);
                    }
                    walk.at = At::Done(outcome);
                    return SlowStep::Done(outcome);
                }
                Go::To(at) => walk.at = at,
                Go::Ask(step, at) => {
                    walk.at = at;
                    return step;
                }
            }
        }
    }

    /// Answer a walk that asked for compaction: it captured `pfn`, which is the request's whatever the
    /// watermarks say ([`Compacted::page`](crate::compact::Compacted)).
    pub fn slow_captured(&self, walk: &mut Walk, pfn: Pfn) -> SlowStep {
        if !matches!(walk.at, At::CompactedFirst | At::Compacted) {
            self.free_pages(walk.cpu, pfn, walk.order());
            return self.slow_step(walk, None);
        }
        self.cpu(walk.cpu).count(Count::CompactStall);
        self.cpu(walk.cpu).count(Count::CompactSuccess);
        walk.at = At::Done(Outcome::Page(pfn));
        self.slow_step(walk, None)
    }

    /// The task's cpuset changed; see [`mmspec_model::contract::SlowPath::slow_set_mems`].
    pub fn slow_set_mems(&self, walk: &mut Walk, mems: NodeMask) {
        walk.request.task.mems = mems;
        walk.mems_changed = true;
    }

    /// How many pages of a zone reclaim could free; see
    /// [`mmspec_model::contract::SlowPath::set_reclaimable`].
    pub fn set_reclaimable(&self, zone: ZoneIdx, pages: u64) {
        if let Some(zone) = self.zones().get(zone.index()) {
            zone.rare.reclaimable.store(pages);
        }
    }

    /// One part. A reply is looked at only by the part that asked for it.
    fn slow_part(&self, walk: &mut Walk, reply: Option<SlowReply>) -> Go {
        match walk.at {
            At::Restart => self.slow_restart(walk),
            At::CompactedFirst => {
                if let Some(pfn) = self.after_compaction(walk, reply) {
                    return Go::page(pfn);
                }
                if walk.is_costly() && walk.gfp.contains(Gfp::NORETRY) {
                    let minds_skipped = self.geometry.rules.noretry_minds_skipped;
                    if walk.compacted == CompactResult::Deferred
                        || (minds_skipped && walk.compacted == CompactResult::Skipped)
                    {
                        return Go::To(At::NoPage);
                    }
                    walk.priority = CompactPriority::Async;
                }
                Go::To(At::Retry)
            }
            At::Retry => self.slow_retry(walk),
            At::Throttled => self.after_throttle(walk, reply),
            At::Reclaimed => self.after_reclaim(walk, reply),
            At::Drained => self.after_drain(walk),
            At::Compact if walk.order() == Order::ZERO => Go::To(At::Decide),
            At::Compact if !walk.may_compact() => {
                walk.compacted = CompactResult::Skipped;
                Go::To(At::Decide)
            }
            At::Compact => self.ask_compaction(walk, walk.priority, At::Compacted),
            At::Compacted => match self.after_compaction(walk, reply) {
                Some(pfn) => Go::page(pfn),
                None => Go::To(At::Decide),
            },
            At::Decide => Go::To(self.slow_decide(walk)),
            At::Oom => Go::Ask(SlowStep::OomLock, At::OomLocked),
            At::OomLocked => self.after_oom_lock(walk, reply),
            At::OomKilled => self.after_oom_kill(walk, reply),
            At::AfterOom => Go::To(self.after_oom(walk)),
            At::NoPage => self.slow_nopage(walk),
            At::Yielded => {
                if reply != Some(SlowReply::Woken { killed: false }) {
                    walk.request.task.flags |= TaskFlags::DYING;
                }
                Go::To(if walk.attempt.is_none() { At::Restart } else { At::Retry })
            }
            At::Done(_) => Go::To(walk.at),
        }
    }

    /// Steps A to D. A walk that can never get a page, or that nobody walks, ends here.
    fn slow_restart(&self, walk: &mut Walk) -> Go {
        if !self.is_online(walk.cpu) {
            return Go::To(At::Done(Outcome::Failed));
        }
        walk.gfp = in_scope(walk.request.gfp, walk.request.task.flags);
        walk.mems_changed = false;
        walk.zonelists = self.zonelist_cookie();
        walk.priority = CompactPriority::SyncLight;
        (walk.compact_retries, walk.no_progress_loops) = (0, 0);
        let located = self.locate(walk.cpu, &walk.request, walk.gfp, walk.request.nodes);
        let mut attempt = match located {
            Ok(attempt) => attempt,
            Err(Refusal::NoZone) if self.has_node(walk) => {
                walk.attempt = None;
                return Go::To(At::NoPage);
            }
            Err(_) => return Go::To(At::Done(Outcome::Failed)),
        };
        walk.zonelists = attempt.zonelist_cookie();
        attempt.mark = Mark::Min;
        attempt.want.flags = self.slow_flags(walk, attempt.want.flags);
        walk.attempt = Some(attempt);
        self.wake_kswapds(walk, &attempt);
        if let Some(pfn) = self.search(walk, attempt) {
            return Go::page(pfn);
        }
        let early = walk.is_costly()
            || (walk.order() > Order::ZERO && attempt.want.migratetype != MigrateType::Movable);
        if walk.reclaims() && walk.may_compact() && early && flags::override_of(walk).is_none() {
            return self.ask_compaction(walk, CompactPriority::Async, At::CompactedFirst);
        }
        Go::To(At::Retry)
    }

    /// Steps E to I, and J up to the first question.
    fn slow_retry(&self, walk: &mut Walk) -> Go {
        if self.geometry.rules.early_restart && self.is_stale(walk) {
            return Go::To(At::Restart);
        }
        let Some(mut attempt) = walk.attempt else { return Go::To(At::NoPage) };
        self.wake_kswapds(walk, &attempt);
        let reserves = flags::override_of(walk);
        if let Some(reserves) = reserves {
            let kept = AllocFlags::KSWAPD.union(AllocFlags::CMA);
            attempt.want.flags = reserves | attempt.want.flags.intersection(kept);
        }
        if reserves.is_some() || !attempt.want.flags.contains(AllocFlags::CPUSET) {
            attempt.nodes = NodeMask::ALL;
            self.relocate(&mut attempt);
        }
        walk.attempt = Some(attempt);
        if let Some(pfn) = self.search(walk, attempt) {
            return Go::page(pfn);
        }
        if !walk.reclaims() || walk.task_is(TaskFlags::MEMALLOC) {
            return Go::To(At::NoPage);
        }
        self.begin_reclaim(walk, &attempt)
    }

    /// No page: the last chances of requests that may not fail.
    fn slow_nopage(&self, walk: &mut Walk) -> Go {
        if self.is_stale(walk) {
            return Go::To(At::Restart);
        }
        if !walk.gfp.contains(Gfp::NOFAIL) || !walk.reclaims() {
            return Go::To(At::Done(Outcome::Failed));
        }
        match self.search_twice(walk, AllocFlags::MIN_RESERVE) {
            Some(pfn) => Go::page(pfn),
            None => Go::Ask(SlowStep::Yield, At::Yielded),
        }
    }

    /// Whether the node that the request begins at exists.
    fn has_node(&self, walk: &Walk) -> bool {
        walk.request.node.is_none_or(|node| node.index() < self.nr_nodes)
    }

    /// Whether the cpuset or the zonelists are not those of step A any more.
    fn is_stale(&self, walk: &Walk) -> bool {
        walk.mems_changed || walk.zonelists != self.zonelist_cookie()
    }

    /// One look at the free lists.
    fn search(&self, walk: &Walk, mut attempt: Attempt) -> Option<Pfn> {
        attempt.mems = walk.request.task.mems;
        self.get_page(walk.cpu, &mut attempt, false).page()
    }

    /// Two looks with `flags` alone: within the cpuset, then anywhere.
    fn search_twice(&self, walk: &Walk, flags: AllocFlags) -> Option<Pfn> {
        let mut attempt = walk.attempt?;
        attempt.want.flags = flags | AllocFlags::CPUSET;
        self.search(walk, attempt).or_else(|| {
            attempt.want.flags = flags;
            self.search(walk, attempt)
        })
    }

    fn ask_compaction(&self, walk: &Walk, priority: CompactPriority, then: At) -> Go {
        Go::Ask(SlowStep::Compact { order: walk.order(), priority }, then)
    }

    /// Book a compaction and look for its block.
    fn after_compaction(&self, walk: &mut Walk, reply: Option<SlowReply>) -> Option<Pfn> {
        walk.compacted = match reply {
            Some(SlowReply::Compacted(result)) => result,
            _ => CompactResult::Skipped,
        };
        if walk.compacted == CompactResult::Skipped {
            return None;
        }
        let count = |count| self.cpu(walk.cpu).count(count);
        count(Count::CompactStall);
        let found = walk.attempt.and_then(|attempt| self.search(walk, attempt));
        count(if found.is_some() { Count::CompactSuccess } else { Count::CompactFail });
        found
    }

    /// Wake the kswapd of every node that the request may have pages of.
    fn wake_kswapds(&self, walk: &Walk, attempt: &Attempt) {
        if !attempt.want.flags.contains(AllocFlags::KSWAPD) {
            return;
        }
        let mut woken = NodeMask::NONE;
        self.for_each_entry(attempt, |entry| {
            if !woken.contains(entry.node) && walk.request.task.mems.contains(entry.node) {
                woken.0 |= 1 << entry.node.0;
                self.wake_kswapd(entry.zone, walk.order().get(), attempt.highest, walk.gfp);
            }
        });
    }

    /// The zones of an attempt's list within kind and mask, in order. While the lists are rebuilt,
    /// some may come twice.
    pub(crate) fn for_each_entry(&self, attempt: &Attempt, mut visit: impl FnMut(Entry)) {
        self.find_entry(attempt, |entry| {
            visit(entry);
            None::<()>
        });
    }

    /// The first answer that `look` gives for those zones.
    pub(crate) fn find_entry<T>(
        &self,
        attempt: &Attempt,
        mut look: impl FnMut(Entry) -> Option<T>,
    ) -> Option<T> {
        let this_node = attempt.gfp.contains(Gfp::THISNODE);
        let mut cursor = self.list_start(attempt.node, this_node);
        loop {
            match self.next_entry(&mut cursor) {
                Next::Entry(entry) => {
                    if entry.kind <= attempt.highest
                        && attempt.nodes.contains(entry.node)
                        && let Some(found) = look(entry)
                    {
                        return Some(found);
                    }
                }
                Next::End => return None,
                Next::Changed => cursor = self.list_start(attempt.node, this_node),
            }
        }
    }
}
