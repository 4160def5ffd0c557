//! The slow path and the node's daemon as machines that the embedder steps.
//!
//! A walk through the slow path stops wherever the kernel would leave the page allocator: to reclaim,
//! to compact, to kill, to wait. It says what it wants ([`SlowStep`]); the embedder does it, or in a
//! test answers what it likes ([`SlowReply`]), and the walk goes on. Decisions are exact; amounts are
//! the embedder's.

use super::{Outcome, PageAllocator, Request};
use crate::vocab::{CpuId, NodeId, NodeMask, NodeState, Order, ZoneIdx, ZoneKind};

/// Urgency of direct compaction (page_alloc.md §4.4), most urgent first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum CompactPriority {
    /// COMPACT_PRIO_SYNC_FULL.
    SyncFull = 0,
    /// COMPACT_PRIO_SYNC_LIGHT, the default of a retry.
    SyncLight = 1,
    /// COMPACT_PRIO_ASYNC, where every walk begins.
    Async = 2,
}

/// What direct compaction came to (compaction.md §1.2), in the kernel's order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CompactResult {
    /// COMPACT_NOT_SUITABLE_ZONE: only in tracepoints.
    NotSuitable,
    /// Not suitable, or not permitted.
    Skipped,
    /// Put off after earlier failures.
    Deferred,
    /// Ended early, more to do.
    Continue,
    /// The whole zone was scanned.
    Complete,
    /// Part of the zone was scanned.
    PartialSkipped,
    /// Ended early because of contention.
    Contended,
    /// A block should be there now.
    Success,
}

impl CompactResult {
    /// All, in the kernel's order.
    pub const ALL: [Self; 8] = [
        Self::NotSuitable,
        Self::Skipped,
        Self::Deferred,
        Self::Continue,
        Self::Complete,
        Self::PartialSkipped,
        Self::Contended,
        Self::Success,
    ];
}

/// What a walk wants next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowStep {
    /// Too few reserves: wait until kswapd of this node has freed some (pfmemalloc throttle).
    /// `killable`: until woken or killed; otherwise for one second at most. Reply
    /// [`SlowReply::Woken`].
    Throttle {
        /// Whose kswapd to wait for.
        node: NodeId,
        /// Whether the wait ends only by a wake-up or a fatal signal.
        killable: bool,
    },
    /// Reclaim directly. Reply [`SlowReply::Reclaimed`].
    Reclaim {
        /// The order asked for.
        order: Order,
    },
    /// Compact directly. Reply [`SlowReply::Compacted`].
    Compact {
        /// The order asked for.
        order: Order,
        /// How hard.
        priority: CompactPriority,
    },
    /// A drain of all CPUs' lists by work items was begun (never under remote drains): go on when
    /// [`super::DrainWork::drain_finished`] says so. Any reply.
    DrainWait,
    /// Take the OOM lock. Reply [`SlowReply::OomLock`].
    OomLock,
    /// Choose a victim and kill it (the lock is held; it is released by the reply). Reply
    /// [`SlowReply::Killed`].
    OomKill {
        /// The order asked for.
        order: Order,
    },
    /// The request may not fail and cannot be served now: let others run. Reply
    /// [`SlowReply::Woken`].
    Yield,
    /// The end: [`Outcome::Page`] or [`Outcome::Failed`].
    Done(Outcome),
}

/// What the embedder did about a [`SlowStep`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlowReply {
    /// The wait is over; `killed`: by a fatal signal.
    Woken {
        /// A fatal signal came.
        killed: bool,
    },
    /// Pages reclaimed (did_some_progress); 0 is none.
    Reclaimed(u64),
    /// How compaction ended.
    Compacted(CompactResult),
    /// Whether the OOM lock was free.
    OomLock(bool),
    /// Whether the OOM killer made progress.
    Killed(bool),
}

/// Capability: the slow path (page_alloc.md §4.4).
///
/// `slow_begin` is called after a first attempt of [`PageAllocator::alloc_pages`] answered
/// [`Outcome::SlowPath`], with the same request, at once or later.
pub trait SlowPath: PageAllocator {
    /// A walk in progress.
    type Walk: Clone + core::fmt::Debug;

    /// Begin.
    fn slow_begin(&mut self, cpu: CpuId, request: Request) -> Self::Walk;

    /// Go on to the next step. `reply` answers the step before; `None` the first time. A reply of
    /// another kind than the step asked for counts as its worst case (nothing reclaimed, skipped, lock
    /// taken by another, nothing killed, killed while waiting). After [`SlowStep::Done`] the same
    /// answer again.
    fn slow_step(&mut self, walk: &mut Self::Walk, reply: Option<SlowReply>) -> SlowStep;

    /// The task's cpuset was changed to `mems` while the walk was under way: the walk's cpuset cookie
    /// is stale from now on.
    fn slow_set_mems(&mut self, walk: &mut Self::Walk, mems: NodeMask);

    /// How many reclaimable pages each zone has (zone_reclaimable_pages), for the retry decision, the
    /// throttle and compaction's suitability. 0 until told otherwise.
    fn set_reclaimable(&mut self, zone: ZoneIdx, pages: u64);
}

/// What kswapd wants next (compaction.md §4.3, §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KswapdStep {
    /// Asleep until it is woken by an allocation. No reply.
    Asleep,
    /// A nap of up to 100 ms before the sleep proper (stage 1). Reply [`KswapdReply::Napped`].
    Nap,
    /// Shrink the node. Reply [`KswapdReply::Shrunk`].
    Shrink {
        /// 12 (gentle) to 1.
        priority: u8,
        /// Pages to scan and free at least: the sum of max(high mark, 32) over the zones.
        target: u64,
        /// The order to reclaim for.
        order: Order,
        /// Zones up to this one.
        highest: ZoneKind,
        /// May write pages (not for boost work).
        may_write: bool,
        /// May swap (not for boost work).
        may_swap: bool,
        /// Pass over zones that are balanced ("checklow", `Rules::kswapd_checks_low`).
        unbalanced_only: bool,
    },
}

/// What the embedder did about a [`KswapdStep`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KswapdReply {
    /// The nap is over; `early`: an allocation woke kswapd during it.
    Napped {
        /// Cut short.
        early: bool,
    },
    /// Pages scanned and reclaimed.
    Shrunk {
        /// Looked at.
        scanned: u64,
        /// Freed.
        reclaimed: u64,
    },
}

/// Capability: nodes with their kswapd.
pub trait Nodes {
    /// Number of nodes.
    fn node_count(&self) -> usize;

    /// The numbers of one node.
    fn node_state(&self, node: NodeId) -> NodeState;

    /// One step of `node`'s kswapd. `reply` answers the step before. A missing or wrong reply counts
    /// as its worst case: nothing scanned or reclaimed, a nap not cut short.
    fn kswapd_step(&mut self, node: NodeId, reply: Option<KswapdReply>) -> KswapdStep;

    /// The entries of a node's zonelist, in order; `this_node`: the NOFALLBACK list.
    fn for_each_zonelist(&self, node: NodeId, this_node: bool, visit: &mut dyn FnMut(ZoneIdx));

    /// Build all zonelists anew (as memory hotplug and the zonelist sysctl do): with the machine as it
    /// is. Walks under way notice by their cookie.
    fn rebuild_zonelists(&mut self);
}
