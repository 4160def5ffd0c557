//! kswapd: who wakes it, and what it does until it sleeps again (§4.5, compaction.md §4.2 to §4.4,
//! D44, D50).

use super::{Node, Reference};
use crate::contract::{KswapdReply, KswapdStep};
use crate::vocab::{AllocFlags, Gfp, Mark, NodeId, Order, ZoneFlags, ZoneKind};
use alloc::vec::Vec;

/// DEF_PRIORITY: where every round begins.
const DEF_PRIORITY: u8 = 12;
/// Boost work goes no further than this.
const BOOST_PRIORITY: u8 = DEF_PRIORITY - 2;
/// MAX_RECLAIM_RETRIES: rounds without any page after which a node counts as hopeless.
pub(super) const HOPELESS: u32 = 16;
/// SWAP_CLUSTER_MAX: the least target of a zone.
const CLUSTER: u64 = 32;

/// compact_gap: what compaction of this order wants free.
pub(super) const fn compact_gap(order: Order) -> u64 {
    2 << order.get()
}

/// A node's kswapd.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Kswapd {
    at: At,
    /// The zone index of the last round, used when nobody asked for another.
    highest: ZoneKind,
}

impl Default for Kswapd {
    fn default() -> Self {
        Self { at: At::Asleep, highest: ZoneKind::Normal }
    }
}

impl Kswapd {
    /// It has left its sleep proper and not gone back.
    pub(super) fn is_up(&self) -> bool {
        self.at != At::Asleep
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum At {
    Asleep,
    /// Stage 1 of going to sleep.
    Nap(Tired),
    /// The node is being shrunk.
    Shrink(Round),
}

/// The orders with which kswapd would like to sleep.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Tired {
    /// Asked for; kcompactd is told.
    alloc_order: Order,
    /// Reclaimed for; the balance test uses it.
    reclaim_order: Order,
}

/// One balance_pgdat.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Round {
    alloc_order: Order,
    /// Falls to 0 when enough was reclaimed for compaction to go on.
    order: Order,
    priority: u8,
    target: u64,
    /// What is left to reclaim because of boosts; 0: an ordinary round.
    boost_work: u64,
    /// The boosts at the start, by zone.
    boosts: Vec<(usize, u64)>,
    /// All that was reclaimed.
    reclaimed: u64,
}

/// What follows at once.
enum Next {
    Say(KswapdStep),
    /// Try to go to sleep.
    Sleep(Tired),
    /// Read what was asked for and balance the node.
    Balance,
    /// The next turn of a round.
    Turn(Round),
    /// A round is over.
    Over(Round),
}

impl Reference {
    /// The managed zones of a node up to `highest`, ascending.
    pub(super) fn zones_up_to(&self, node: NodeId, highest: ZoneKind) -> Vec<usize> {
        let wanted =
            |zone: &super::Zone| zone.node == node && zone.kind <= highest && zone.managed > 0;
        (0..self.zones.len()).filter(|&z| wanted(&self.zones[z])).collect()
    }

    /// pgdat_balanced: one good zone is enough, and so is none at all.
    pub(super) fn is_balanced(&self, node: NodeId, order: Order, highest: ZoneKind) -> bool {
        let zones = self.zones_up_to(node, highest);
        zones.is_empty()
            || zones.into_iter().any(|z| {
                let cached = self.cached_free(z);
                let vague = cached < self.zones[z].drift_mark as i64;
                let free = if vague { self.exact_free(z) } else { cached };
                self.check(z, order, self.mark(z, Mark::High), highest, AllocFlags::empty(), free)
            })
    }

    fn is_boosted(&self, node: NodeId, highest: ZoneKind) -> bool {
        self.zones_up_to(node, highest).into_iter().any(|z| self.zones[z].boost > 0)
    }

    /// wakeup_kswapd for the node of zone `z` (compaction.md §4.2, from step 2 on; the caller minds
    /// the cpuset).
    pub(super) fn wakeup_kswapd(&mut self, z: usize, gfp: Gfp, order: Order, highest: ZoneKind) {
        if self.zones[z].managed == 0 {
            return;
        }
        let node = self.zones[z].node;
        let state = &mut self.nodes[node.index()].state;
        state.kswapd_order = state.kswapd_order.max(order.get());
        state.kswapd_highest = state.kswapd_highest.max(Some(highest));
        if state.kswapd_awake {
            return;
        }
        let hopeless = state.kswapd_failures >= HOPELESS;
        let content = self.is_balanced(node, order, highest) && !self.is_boosted(node, highest);
        let state = &mut self.nodes[node.index()].state;
        if !hopeless && !content {
            state.kswapd_awake = true;
            state.wakeups += 1;
        } else if !gfp.contains(Gfp::DIRECT_RECLAIM) {
            state.kcompactd_wakeups += 1;
        }
    }

    /// Woken without being asked for anything: by a throttled request.
    pub(super) fn rouse_kswapd(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.index()].state;
        if !state.kswapd_awake {
            state.kswapd_awake = true;
            state.wakeups += 1;
        }
    }

    /// 6.18 (§2.5, D61): a hopeless node gets another chance when one of its zones is above HIGH again,
    /// if there is another node with memory, since then nobody may reclaim directly here.
    pub(super) fn revive_kswapd(&mut self, node: NodeId) {
        let another = self.zones.iter().any(|zone| zone.node != node && zone.managed > 0);
        let failures = &mut self.nodes[node.index()].state.kswapd_failures;
        if self.rules.avoid_awake_nodes && another && *failures >= HOPELESS {
            *failures = 0;
        }
    }

    /// Go on to what kswapd wants next.
    pub(super) fn step_kswapd(&mut self, node: NodeId, reply: Option<KswapdReply>) -> KswapdStep {
        let daemon = &mut self.nodes[node.index()].kswapd;
        let was_up = daemon.is_up();
        let at = core::mem::replace(&mut daemon.at, At::Asleep);
        let mut next = match at {
            At::Asleep if self.nodes[node.index()].state.kswapd_awake => Next::Balance,
            At::Asleep => Next::Say(KswapdStep::Asleep),
            At::Nap(tired) => {
                self.end_nap(node, tired, reply == Some(KswapdReply::Napped { early: true }))
            }
            At::Shrink(round) => {
                let (scanned, reclaimed) = match reply {
                    Some(KswapdReply::Shrunk { scanned, reclaimed }) => (scanned, reclaimed),
                    _ => (0, 0),
                };
                self.end_turn(node, round, scanned, reclaimed)
            }
        };
        let step = loop {
            next = match next {
                Next::Say(step) => break step,
                Next::Sleep(tired) => self.try_to_sleep(node, tired),
                Next::Balance => self.begin_round(node),
                Next::Turn(round) => self.turn(node, round),
                Next::Over(round) => self.end_round(node, round),
            };
        };
        let Node { state, kswapd, .. } = &mut self.nodes[node.index()];
        state.kswapd_awake = kswapd.is_up();
        if kswapd.is_up() != was_up {
            self.set_node_thresholds(node);
        }
        step
    }

    /// Failures enough to give up, or balanced.
    fn may_sleep(&self, node: NodeId, order: Order) -> bool {
        let Kswapd { highest, .. } = self.nodes[node.index()].kswapd;
        self.nodes[node.index()].state.kswapd_failures >= HOPELESS
            || self.is_balanced(node, order, highest)
    }

    /// Stage 1.
    fn try_to_sleep(&mut self, node: NodeId, tired: Tired) -> Next {
        if !self.may_sleep(node, tired.reclaim_order) {
            self.events.kswapd_high_wmark_hit_quickly += 1;
            return Next::Balance;
        }
        self.nodes[node.index()].state.kcompactd_wakeups += 1;
        self.nodes[node.index()].kswapd.at = At::Nap(tired);
        Next::Say(KswapdStep::Nap)
    }

    /// Stage 2.
    fn end_nap(&mut self, node: NodeId, tired: Tired, early: bool) -> Next {
        if early {
            let highest = self.nodes[node.index()].kswapd.highest;
            let state = &mut self.nodes[node.index()].state;
            state.kswapd_order = state.kswapd_order.max(tired.reclaim_order.get());
            state.kswapd_highest = state.kswapd_highest.max(Some(highest));
            self.events.kswapd_low_wmark_hit_quickly += 1;
            return Next::Balance;
        }
        if !self.may_sleep(node, tired.reclaim_order) {
            self.events.kswapd_high_wmark_hit_quickly += 1;
            return Next::Balance;
        }
        self.nodes[node.index()].kswapd.at = At::Asleep;
        Next::Say(KswapdStep::Asleep)
    }

    /// Read and clear what was asked for; the start of balance_pgdat.
    fn begin_round(&mut self, node: NodeId) -> Next {
        let Node { state, kswapd, .. } = &mut self.nodes[node.index()];
        let order = Order::new(core::mem::take(&mut state.kswapd_order)).unwrap_or(Order::MAX);
        kswapd.highest = state.kswapd_highest.take().unwrap_or(kswapd.highest);
        let highest = kswapd.highest;
        self.events.pageoutrun += 1;
        let zones = self.zones_up_to(node, highest);
        for &z in &zones {
            self.zones[z].flags |= ZoneFlags::RECLAIM_ACTIVE;
        }
        let boosts: Vec<(usize, u64)> = zones.iter().map(|&z| (z, self.zones[z].boost)).collect();
        Next::Turn(Round {
            alloc_order: order,
            order,
            priority: DEF_PRIORITY,
            target: 0,
            boost_work: boosts.iter().map(|(_, boost)| boost).sum(),
            boosts,
            reclaimed: 0,
        })
    }

    /// Steps a, b and d.
    fn turn(&mut self, node: NodeId, mut round: Round) -> Next {
        let highest = self.nodes[node.index()].kswapd.highest;
        let balanced = self.is_balanced(node, round.order, highest);
        if balanced && round.boost_work == 0 {
            return Next::Over(round);
        }
        if !balanced && round.boost_work > 0 {
            round.boost_work = 0;
            round.priority = DEF_PRIORITY;
        }
        let zones = self.zones_up_to(node, highest).into_iter();
        round.target = zones.map(|z| (self.mark(z, Mark::High) as u64).max(CLUSTER)).sum();
        let step = KswapdStep::Shrink {
            priority: round.priority,
            target: round.target,
            order: round.order,
            highest,
            may_write: round.boost_work == 0,
            may_swap: round.boost_work == 0,
            unbalanced_only: self.rules.kswapd_checks_low,
        };
        self.nodes[node.index()].kswapd.at = At::Shrink(round);
        Next::Say(step)
    }

    /// What follows a shrink: the rest of d, and f.
    fn end_turn(&mut self, node: NodeId, mut round: Round, scanned: u64, reclaimed: u64) -> Next {
        let may_raise = !(round.boost_work > 0 && round.priority == BOOST_PRIORITY);
        round.reclaimed = round.reclaimed.saturating_add(reclaimed);
        if reclaimed > 0 {
            self.nodes[node.index()].state.kswapd_failures = 0;
        }
        if round.order > Order::ZERO && round.reclaimed >= compact_gap(round.order) {
            round.order = Order::ZERO;
        }
        round.boost_work = round.boost_work.saturating_sub(reclaimed);
        let gives_up = round.boost_work > 0 && reclaimed == 0;
        if !gives_up {
            if (may_raise && scanned < round.target) || reclaimed == 0 {
                round.priority -= 1;
            }
            if round.priority >= 1 {
                return Next::Turn(round);
            }
        }
        if round.reclaimed == 0 {
            let failures = &mut self.nodes[node.index()].state.kswapd_failures;
            *failures = failures.saturating_add(1);
        }
        Next::Over(round)
    }

    /// Step 4, and back to the main loop.
    fn end_round(&mut self, node: NodeId, round: Round) -> Next {
        for &(z, _) in &round.boosts {
            self.zones[z].flags.remove(ZoneFlags::RECLAIM_ACTIVE);
        }
        if round.boosts.iter().any(|(_, boost)| *boost > 0) {
            for &(z, boost) in &round.boosts {
                let now = &mut self.zones[z].boost;
                *now -= boost.min(*now);
            }
            self.nodes[node.index()].state.kcompactd_wakeups += 1;
        }
        if round.order < round.alloc_order {
            return Next::Sleep(Tired {
                alloc_order: round.alloc_order,
                reclaim_order: round.order,
            });
        }
        let asked = self.nodes[node.index()].state.kswapd_order;
        let order = Order::new(asked).unwrap_or(Order::MAX);
        // The index of the sleep test: what was asked for meanwhile, else the one used before.
        let Node { state, kswapd, .. } = &mut self.nodes[node.index()];
        kswapd.highest = state.kswapd_highest.unwrap_or(kswapd.highest);
        Next::Sleep(Tired { alloc_order: order, reclaim_order: order })
    }
}
