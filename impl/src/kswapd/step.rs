//! What kswapd does while it is awake, step by step (compaction.md §4.3, §4.4).

use super::{HOPELESS, Kswapd};
use crate::{
    allocator::PageAllocator,
    platform::{Lock, Platform, Word},
    storage::Backing,
    vmstat::StatDiff,
};
use mmspec_model::{
    contract::{KswapdReply, KswapdStep},
    vocab::{EventCounters, Mark, NR_ZONES, NodeId, Order, ZoneFlags, ZoneKind},
};

/// DEF_PRIORITY.
pub(crate) const DEF_PRIORITY: u8 = 12;

/// SWAP_CLUSTER_MAX.
pub(super) const SWAP_CLUSTER_MAX: u64 = 32;

/// Where a node's kswapd stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// Asleep, or woken and not begun.
    Sleep,
    /// Read what is asked for, and begin a round.
    Begin,
    /// Is the node balanced?
    Check,
    /// A shrink was asked for.
    Shrunk,
    /// The round is over.
    End,
    /// Try to sleep.
    Rest,
    /// A nap was asked for.
    Napped,
}

/// The work in hand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    phase: Phase,
    /// The order asked for, and the one that is worked for.
    alloc_order: u8,
    order: u8,
    highest: ZoneKind,
    priority: u8,
    /// What the shrink under way was asked for: marks may change meanwhile.
    target: u64,
    /// Pages reclaimed in this round of balance_pgdat.
    reclaimed: u64,
    /// Boost work left.
    boost: u64,
    boosted: bool,
    /// The boosts when the round began, by kind.
    boosts: [u64; NR_ZONES],
    pageoutrun: u64,
    low_quickly: u64,
    high_quickly: u64,
}

impl Work {
    pub(super) const NONE: Self = Self {
        phase: Phase::Sleep,
        alloc_order: 0,
        order: 0,
        highest: ZoneKind::Normal,
        priority: DEF_PRIORITY,
        target: 0,
        reclaimed: 0,
        boost: 0,
        boosted: false,
        boosts: [0; NR_ZONES],
        pageoutrun: 0,
        low_quickly: 0,
        high_quickly: 0,
    };
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// One step of a node's kswapd; see [`mmspec_model::contract::Nodes::kswapd_step`]. The kswapds
    /// of different nodes may be stepped at once. That of a node that does not exist is asleep.
    pub fn kswapd_step(&self, node: NodeId, reply: Option<KswapdReply>) -> KswapdStep {
        let Some(slot) = self.storage.nodes[..self.nr_nodes].get(node.index()) else {
            return KswapdStep::Asleep;
        };
        let mut kswapd = slot.kswapd.lock();
        loop {
            match kswapd.work.phase {
                Phase::Sleep if !slot.is_awake() => return KswapdStep::Asleep,
                Phase::Sleep => {
                    self.set_pressure(node, true);
                    kswapd.work.phase = Phase::Begin;
                }
                Phase::Begin => self.begin_balance(node, &mut kswapd),
                Phase::Check => {
                    if let Some(shrink) = self.check_balance(node, &mut kswapd.work) {
                        return shrink;
                    }
                }
                Phase::Shrunk => self.after_shrink(node, &mut kswapd.work, reply),
                Phase::End => self.end_balance(node, &mut kswapd),
                Phase::Rest => {
                    if self.may_rest(node, &kswapd.work) {
                        kswapd.kcompactd_wakeups += 1;
                        kswapd.work.phase = Phase::Napped;
                        return KswapdStep::Nap;
                    }
                    kswapd.work.high_quickly += 1;
                    kswapd.work.phase = Phase::Begin;
                }
                Phase::Napped => {
                    let early = reply == Some(KswapdReply::Napped { early: true });
                    self.after_nap(node, &mut kswapd, early);
                }
            }
        }
    }

    /// Read what is asked for and forget it; remember boosts; mark the zones.
    fn begin_balance(&self, node: NodeId, kswapd: &mut Kswapd) {
        let work = &mut kswapd.work;
        work.alloc_order = kswapd.order;
        work.highest = kswapd.highest.unwrap_or(work.highest);
        (kswapd.order, kswapd.highest) = (0, None);
        work.order = work.alloc_order;
        work.pageoutrun += 1;
        work.priority = DEF_PRIORITY;
        (work.reclaimed, work.boost) = (0, 0);
        work.boosts = [0; NR_ZONES];
        for at in self.zones_up_to(node, work.highest) {
            let zone = self.zone(at);
            let boost = zone.rare.boost.load();
            work.boosts[zone.info.kind.index()] = boost;
            work.boost += boost;
            zone.set_flag(ZoneFlags::RECLAIM_ACTIVE);
        }
        work.boosted = work.boost > 0;
        work.phase = Phase::Check;
    }

    /// Ask for a shrink, or end the round.
    fn check_balance(&self, node: NodeId, work: &mut Work) -> Option<KswapdStep> {
        let balanced = self.is_balanced(node, work.order, work.highest);
        if !balanced && work.boost > 0 {
            // There is more to do than to work off a boost: with all means, from the start.
            work.boost = 0;
            work.priority = DEF_PRIORITY;
        }
        if balanced && work.boost == 0 {
            work.phase = Phase::End;
            return None;
        }
        work.phase = Phase::Shrunk;
        work.target = self.shrink_target(node, work.highest);
        let gentle = work.boost > 0;
        Some(KswapdStep::Shrink {
            priority: work.priority,
            target: work.target,
            order: Order::new(work.order).unwrap_or(Order::MAX),
            highest: work.highest,
            may_write: !gentle,
            may_swap: !gentle,
            unbalanced_only: self.geometry.rules.kswapd_checks_low,
        })
    }

    /// The HIGH marks of a node's zones, each at least a batch of reclaim.
    fn shrink_target(&self, node: NodeId, highest: ZoneKind) -> u64 {
        let zones = self.zones_up_to(node, highest);
        zones.map(|at| self.zone(at).mark(Mark::High).max(SWAP_CLUSTER_MAX)).sum()
    }

    fn after_shrink(&self, node: NodeId, work: &mut Work, reply: Option<KswapdReply>) {
        let (scanned, reclaimed) = match reply {
            Some(KswapdReply::Shrunk { scanned, reclaimed }) => (scanned, reclaimed),
            _ => (0, 0),
        };
        let gentle = work.boost > 0;
        // Boost work does not get more urgent than this: it writes nothing.
        let mut raise = !(gentle && work.priority == DEF_PRIORITY - 2);
        raise &= scanned < work.target;
        work.reclaimed = work.reclaimed.saturating_add(reclaimed);
        if reclaimed > 0 {
            self.node(node).failures.store(0);
        }
        if work.order > 0 && work.reclaimed >= 2 << work.order {
            work.order = 0;
        }
        work.boost = work.boost.saturating_sub(reclaimed);
        work.phase = Phase::Check;
        if work.boost > 0 && reclaimed == 0 {
            return self.count_failure(node, work);
        }
        if raise || reclaimed == 0 {
            work.priority -= 1;
        }
        if work.priority == 0 {
            self.count_failure(node, work);
        }
    }

    /// The loop ended without balance.
    fn count_failure(&self, node: NodeId, work: &mut Work) {
        if work.reclaimed == 0 {
            self.node(node).failures.fetch_add(1);
        }
        work.phase = Phase::End;
    }

    /// Take the remembered boosts off the marks; go on to sleep for the order reached.
    fn end_balance(&self, node: NodeId, kswapd: &mut Kswapd) {
        let work = &mut kswapd.work;
        for at in self.zones_up_to(node, work.highest) {
            let zone = self.zone(at);
            zone.clear_flag(ZoneFlags::RECLAIM_ACTIVE);
            let worked_off = work.boosts[zone.info.kind.index()];
            if work.boosted && worked_off > 0 {
                let diff = StatDiff::default();
                let mut locked = zone.lock(self.tables(), &diff);
                let rare = locked.buddy().z.now.rare_mut();
                rare.boost = rare.boost.saturating_sub(worked_off);
            }
        }
        if work.boosted {
            kswapd.kcompactd_wakeups += 1;
        }
        if work.order >= work.alloc_order {
            // What was asked for meanwhile is what to be ready for.
            work.alloc_order = kswapd.order;
            work.order = kswapd.order;
            work.highest = kswapd.highest.unwrap_or(work.highest);
        }
        work.phase = Phase::Rest;
    }

    /// Hopeless, or balanced.
    fn may_rest(&self, node: NodeId, work: &Work) -> bool {
        self.node(node).failures.load() >= HOPELESS
            || self.is_balanced(node, work.order, work.highest)
    }

    fn after_nap(&self, node: NodeId, kswapd: &mut Kswapd, early: bool) {
        let work = &mut kswapd.work;
        if early {
            kswapd.order = kswapd.order.max(work.order);
            kswapd.highest = kswapd.highest.max(Some(work.highest));
            work.low_quickly += 1;
            work.phase = Phase::Begin;
        } else if self.may_rest(node, work) {
            work.phase = Phase::Sleep;
            self.set_pressure(node, false);
            self.set_awake(node, false);
        } else {
            work.high_quickly += 1;
            work.phase = Phase::Begin;
        }
    }

    /// Add what kswapds count.
    pub(crate) fn kswapd_events(&self, events: &mut EventCounters) {
        for slot in &self.storage.nodes[..self.nr_nodes] {
            let work = slot.kswapd.lock().work;
            events.pageoutrun += work.pageoutrun;
            events.kswapd_low_wmark_hit_quickly += work.low_quickly;
            events.kswapd_high_wmark_hit_quickly += work.high_quickly;
        }
    }
}
