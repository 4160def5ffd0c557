//! The slow path (§4.4, D43 to D49): a machine of the lettered steps, stopped wherever the kernel would
//! leave the page allocator.
//!
//! | file | steps |
//! |---|---|
//! | here | the walk, A to D, E to I, nopage |
//! | `flags` | the flags of an attempt, the reserves of a task |
//! | `reclaim` | J and K: throttle, reclaim, compaction |
//! | `retry` | L to Q: whether to go round again |
//! | `oom` | R to T |

mod flags;
mod oom;
mod reclaim;
mod retry;

use super::Reference;
use super::alloc::{Attempt, in_scope};
use super::scan::Scan;
use crate::contract::{
    CompactPriority, CompactResult, Outcome, Request, SlowPath, SlowReply, SlowStep, TaskFlags,
};
use crate::vocab::{
    AllocFlags, CpuId, Gfp, Mark, MigrateType, NodeId, NodeMask, Order, Pfn, ZoneIdx, ZoneKind,
};
use alloc::vec::Vec;

/// A walk through the slow path.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct SlowWalk {
    cpu: CpuId,
    order: Order,
    /// Within the scopes of the task.
    gfp: Gfp,
    /// The highest zone asked for.
    highest: ZoneKind,
    migratetype: MigrateType,
    movable: bool,
    /// Where the zonelist begins.
    node: NodeId,
    /// The request's own nodemask.
    policy: NodeMask,
    task: TaskFlags,
    /// The task's cpuset now.
    mems: NodeMask,
    /// The nodemask in use: forgotten by G.
    mask: NodeMask,
    flags: AllocFlags,
    /// The cpuset changed since A.
    mems_changed: bool,
    /// The count of zonelist builds at A.
    zonelists: u64,
    priority: CompactPriority,
    compacted: CompactResult,
    compact_retries: u32,
    fruitless: u32,
    /// Pages of the last reclaim; 1 where something else counts as progress.
    progress: u64,
    at: At,
}

/// Whose reply is awaited.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Start,
    FirstCompaction,
    Throttle,
    Reclaim,
    DrainWait,
    Compaction,
    OomLock,
    OomKill,
    Yield,
    Done(Outcome),
}

/// Where the walk goes next.
enum Go {
    /// A.
    Restart,
    /// E.
    Retry,
    /// J, after the throttle.
    Reclaim,
    /// K.
    Compact,
    /// L to Q.
    Decide,
    /// S and T.
    AfterOom,
    /// The common end of failures.
    NoPage,
    /// Leave with this step.
    Say(At, SlowStep),
    /// The end.
    End(Outcome),
}

impl Go {
    /// The page ends the walk; without one it goes on.
    fn page_or(page: Option<Pfn>, next: Self) -> Self {
        page.map_or(next, |pfn| Self::End(Outcome::Page(pfn)))
    }
}

impl SlowWalk {
    fn is_costly(&self) -> bool {
        self.order > Order::COSTLY
    }

    fn reclaims(&self) -> bool {
        self.gfp.contains(Gfp::DIRECT_RECLAIM)
    }

    /// Compaction is built; it needs I/O.
    fn may_compact(&self) -> bool {
        self.order > Order::ZERO && self.gfp.contains(Gfp::IO)
    }
}

impl SlowPath for Reference {
    type Walk = SlowWalk;

    fn slow_begin(&mut self, cpu: CpuId, request: Request) -> SlowWalk {
        let gfp = in_scope(request.gfp, request.task);
        let (highest, asked) = (gfp.highest_zone(), gfp.migratetype());
        let node = request.node.unwrap_or(self.node_of(cpu));
        let possible = request.order <= self.machine.max_order
            && highest.is_ok()
            && asked.is_ok()
            && node.index() < self.nodes.len();
        let asked = asked.unwrap_or(MigrateType::Unmovable);
        SlowWalk {
            cpu,
            order: request.order,
            gfp,
            highest: highest.unwrap_or(ZoneKind::Normal),
            migratetype: self.request_type(asked),
            movable: asked == MigrateType::Movable,
            node,
            policy: request.nodes,
            task: request.task.flags,
            mems: request.task.mems,
            mask: request.nodes,
            flags: AllocFlags::empty(),
            mems_changed: false,
            zonelists: self.zonelists_built,
            priority: CompactPriority::SyncLight,
            compacted: CompactResult::Skipped,
            compact_retries: 0,
            fruitless: 0,
            progress: 0,
            // What no zone can ever serve does not begin.
            at: if possible { At::Start } else { At::Done(Outcome::Failed) },
        }
    }

    fn slow_step(&mut self, walk: &mut SlowWalk, reply: Option<SlowReply>) -> SlowStep {
        if let At::Done(outcome) = walk.at {
            return SlowStep::Done(outcome);
        }
        let mut go =
            if self.is_up(walk.cpu) { self.resume(walk, reply) } else { Go::End(Outcome::Failed) };
        loop {
            go = match go {
                Go::Restart => self.restart(walk),
                Go::Retry => self.retry(walk),
                Go::Reclaim => self.ask_reclaim(walk),
                Go::Compact => self.ask_compaction(walk),
                Go::Decide => self.decide(walk),
                Go::AfterOom => self.after_oom(walk),
                Go::NoPage => self.no_page(walk),
                Go::Say(at, step) => {
                    walk.at = at;
                    return step;
                }
                Go::End(outcome) => {
                    walk.at = At::Done(outcome);
                    self.emit_alloc(outcome.page(), walk.order, walk.gfp, walk.migratetype);
                    return SlowStep::Done(outcome);
                }
            };
        }
    }

    fn slow_set_mems(&mut self, walk: &mut SlowWalk, mems: NodeMask) {
        walk.mems = mems;
        walk.mems_changed = true;
    }

    fn set_reclaimable(&mut self, zone: ZoneIdx, pages: u64) {
        self.zones[zone.index()].reclaimable = pages;
    }
}

impl Reference {
    /// Take the reply; one of another kind is its worst case.
    fn resume(&mut self, walk: &mut SlowWalk, reply: Option<SlowReply>) -> Go {
        match walk.at {
            At::Start => Go::Restart,
            At::Done(outcome) => Go::End(outcome),
            At::FirstCompaction => self.after_first_compaction(walk, compacted(reply)),
            At::Throttle => self.after_throttle(walk, killed(reply)),
            At::Reclaim => match reply {
                Some(SlowReply::Reclaimed(pages)) => self.after_reclaim(walk, pages),
                _ => self.after_reclaim(walk, 0),
            },
            At::DrainWait => self.after_drain(walk),
            At::Compaction => {
                let page = self.after_compaction(walk, compacted(reply));
                Go::page_or(page, Go::Decide)
            }
            At::OomLock => self.with_oom_lock(walk, reply == Some(SlowReply::OomLock(true))),
            At::OomKill => self.after_kill(walk, reply == Some(SlowReply::Killed(true))),
            At::Yield => {
                self.note_signal(walk, killed(reply));
                Go::Retry
            }
        }
    }

    /// The zones of the walk's list within kind and mask.
    fn walk_zones(&self, walk: &SlowWalk) -> Vec<usize> {
        match self.list_of(walk.node, walk.gfp) {
            Ok(list) => self.reachable(list, walk.highest, walk.mask),
            Err(_) => Vec::new(),
        }
    }

    /// One scan of the free lists; with no zone in reach there is no page.
    fn walk_page(&mut self, walk: &SlowWalk, mark: Mark, flags: AllocFlags) -> Option<Pfn> {
        let list = self.walk_zones(walk);
        let preferred = *list.first()?;
        let attempt = Attempt {
            order: walk.order,
            migratetype: walk.migratetype,
            movable: walk.movable,
            gfp: walk.gfp,
            reserve: self.reserve_index(walk.highest, preferred),
            mark,
            flags,
            mems: walk.mems,
            preferred,
            fair: false,
        };
        let scan: Scan = self.begin_scan(attempt, list);
        self.get_page(walk.cpu, scan)
    }

    /// The same with CPUSET, and if that finds nothing without.
    fn page_past_cpuset(&mut self, walk: &SlowWalk, flags: AllocFlags) -> Option<Pfn> {
        self.walk_page(walk, Mark::Min, flags | AllocFlags::CPUSET)
            .or_else(|| self.walk_page(walk, Mark::Min, flags))
    }

    /// Something changed since A that the walk's answer may depend on (D49).
    fn is_stale(&self, walk: &SlowWalk) -> bool {
        walk.mems_changed || walk.zonelists != self.zonelists_built
    }

    /// A to D.
    fn restart(&mut self, walk: &mut SlowWalk) -> Go {
        walk.mems_changed = false;
        walk.zonelists = self.zonelists_built;
        walk.priority = CompactPriority::SyncLight;
        walk.compacted = CompactResult::Skipped;
        walk.compact_retries = 0;
        walk.fruitless = 0;
        walk.mask = walk.policy;
        walk.flags = self.slow_flags(walk);
        if self.walk_zones(walk).is_empty() {
            return Go::NoPage;
        }
        self.wake_kswapds(walk);
        if let Some(pfn) = self.walk_page(walk, Mark::Min, walk.flags) {
            return Go::End(Outcome::Page(pfn));
        }
        let suits = walk.is_costly() || walk.migratetype != MigrateType::Movable;
        if walk.reclaims() && walk.may_compact() && suits && self.reserves_of(walk).is_none() {
            let priority = CompactPriority::Async;
            return Go::Say(At::FirstCompaction, SlowStep::Compact { order: walk.order, priority });
        }
        Go::Retry
    }

    /// The end of D.
    fn after_first_compaction(&mut self, walk: &mut SlowWalk, result: CompactResult) -> Go {
        if let Some(pfn) = self.after_compaction(walk, result) {
            return Go::End(Outcome::Page(pfn));
        }
        if walk.is_costly() && walk.gfp.contains(Gfp::NORETRY) {
            let hopeless = match result {
                CompactResult::Skipped => self.rules.noretry_minds_skipped,
                result => result == CompactResult::Deferred,
            };
            if hopeless {
                return Go::NoPage;
            }
            walk.priority = CompactPriority::Async;
        }
        Go::Retry
    }

    /// E to I, and J's throttle.
    fn retry(&mut self, walk: &mut SlowWalk) -> Go {
        if self.rules.early_restart && self.is_stale(walk) {
            return Go::Restart;
        }
        self.wake_kswapds(walk);
        if let Some(reserves) = self.reserves_of(walk) {
            let kept = walk.flags & AllocFlags::KSWAPD;
            let cma = self.derived_flags(walk.gfp, walk.migratetype) & AllocFlags::CMA;
            walk.flags = reserves | kept | cma;
        }
        // Reserves come without CPUSET.
        if !walk.flags.contains(AllocFlags::CPUSET) {
            walk.mask = NodeMask::ALL;
        }
        if let Some(pfn) = self.walk_page(walk, Mark::Min, walk.flags) {
            return Go::End(Outcome::Page(pfn));
        }
        if !walk.reclaims() || walk.task.contains(TaskFlags::MEMALLOC) {
            return Go::NoPage;
        }
        self.throttle(walk)
    }

    /// nopage.
    fn no_page(&mut self, walk: &mut SlowWalk) -> Go {
        if self.is_stale(walk) {
            return Go::Restart;
        }
        if !walk.gfp.contains(Gfp::NOFAIL) || !walk.reclaims() {
            return Go::End(Outcome::Failed);
        }
        let page = self.page_past_cpuset(walk, AllocFlags::MIN_RESERVE);
        Go::page_or(page, Go::Say(At::Yield, SlowStep::Yield))
    }

    /// B and F: once for each node on the list, by its first zone there (D44).
    fn wake_kswapds(&mut self, walk: &SlowWalk) {
        if !walk.flags.contains(AllocFlags::KSWAPD) {
            return;
        }
        let mut woken = NodeMask::NONE;
        for z in self.walk_zones(walk) {
            let node = self.zones[z].node;
            if woken.contains(node) {
                continue;
            }
            woken = NodeMask(woken.0 | NodeMask::only(node).0);
            if walk.mems.contains(node) {
                self.wakeup_kswapd(z, walk.gfp, walk.order, walk.highest);
            }
        }
    }

    /// A fatal signal came: the task is dying from now on.
    fn note_signal(&mut self, walk: &mut SlowWalk, killed: bool) {
        walk.task.set(TaskFlags::DYING, killed || walk.task.contains(TaskFlags::DYING));
    }
}

fn compacted(reply: Option<SlowReply>) -> CompactResult {
    match reply {
        Some(SlowReply::Compacted(result)) => result,
        _ => CompactResult::Skipped,
    }
}

fn killed(reply: Option<SlowReply>) -> bool {
    reply != Some(SlowReply::Woken { killed: false })
}
