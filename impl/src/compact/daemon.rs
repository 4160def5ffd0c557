//! kcompactd: on demand and proactive (compaction.md §1.10, §1.11).

use super::{Compactor, Goal, run::Run, state::Count};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::CompactResult,
    vocab::{CpuId, NR_ZONES, NodeId, Order, ZoneIdx, ZoneKind},
};

/// Nobody asked for a lower zone.
pub(super) const ANY_ZONE: u8 = NR_ZONES as u8 - 1;

/// Checks left out after a proactive round that brought nothing: 500 ms << 6.
const PROACTIVE_BACK_OFF: u64 = 1 << 6;

/// The score that proactive compaction ends at.
pub(super) fn low_target(proactiveness: u8) -> u64 {
    100_u64.saturating_sub(proactiveness.into()).max(5)
}

/// The score that it begins above.
fn high_target(proactiveness: u8) -> u64 {
    (low_target(proactiveness) + 10).min(100)
}

/// A round of a node's kcompactd under way ([`Compactor::kcompactd_begin`]): step it to its end.
#[derive(Debug)]
#[must_use = "its run owns pages until it has ended"]
pub struct Daemon {
    cpu: CpuId,
    node: NodeId,
    order: Order,
    highest: u64,
    /// The zone to look at next.
    next: usize,
    /// One control record serves all zones: what one leaves in it the next one finds.
    run: Option<Run>,
    running: bool,
}

impl<P: Platform, B: Backing> Compactor<'_, P, B> {
    /// Ask a node's kcompactd for blocks of `order` in zones up to `highest` (`wakeup_kcompactd`);
    /// whether there is work for it.
    pub fn kcompactd_wake(&self, node: NodeId, order: Order, highest: ZoneKind) -> bool {
        if order == Order::ZERO {
            return false;
        }
        let record = self.state.node(node);
        record.max_order.store(record.max_order.load().max(u64::from(order.get())));
        record.highest.store(record.highest.load().min(highest.index() as u64));
        self.zones_of(node, highest.index() as u64).any(|zone| {
            let goal = Goal::daemon(order, highest);
            self.verdict(zone, &goal) == CompactResult::Continue
        })
    }

    fn zones_of(&self, node: NodeId, highest: u64) -> impl Iterator<Item = usize> + '_ {
        (0..self.pages.zones().len()).filter(move |at| {
            let info = &self.pages.zone(*at).info;
            info.node == node && info.managed > 0 && info.kind.index() as u64 <= highest
        })
    }

    /// What kcompactd is asked for; `None`: it sleeps.
    pub fn kcompactd_order(&self, node: NodeId) -> Option<Order> {
        let order = self.state.node(node).max_order.load();
        (order > 0).then(|| Order::of(order as u8))
    }

    /// One round of a node's kcompactd on `cpu`; whether it did anything.
    pub fn kcompactd(&self, cpu: CpuId, node: NodeId) -> bool {
        let Some(mut round) = self.kcompactd_begin(cpu, node) else { return false };
        while self.kcompactd_step(&mut round) {}
        true
    }

    /// Begin a round of a node's kcompactd on `cpu`; `None`: it sleeps.
    pub fn kcompactd_begin(&self, cpu: CpuId, node: NodeId) -> Option<Daemon> {
        let order = self.kcompactd_order(node)?;
        let highest = self.state.node(node).highest.load();
        self.state.count(Count::DaemonWake, 1);
        Some(Daemon { cpu, node, order, highest, next: 0, run: None, running: false })
    }

    /// One iteration of the run under way, or the begin of the next one; whether there is more to do.
    pub fn kcompactd_step(&self, round: &mut Daemon) -> bool {
        let (cpu, order) = (round.cpu, round.order);
        if round.running
            && let Some(run) = &mut round.run
        {
            let Some(result) = self.step(run) else { return true };
            round.running = false;
            let state = self.state.zone(run.zone);
            match result {
                CompactResult::Success => state.reset_deferral(order.get(), false),
                CompactResult::PartialSkipped | CompactResult::Complete => {
                    self.pages.drain_all(cpu, Some(ZoneIdx(run.zone as u8)));
                    state.defer(order.get());
                }
                _ => {}
            }
        }
        while let Some(zone) = self.zones_of(round.node, round.highest).find(|at| *at >= round.next)
        {
            round.next = zone + 1;
            let own = self.pages.zone(zone).info.kind;
            if self.state.zone(zone).is_deferred(order.get()) {
                continue;
            }
            let goal = Goal::daemon(order, own);
            if self.verdict(zone, &goal) != CompactResult::Continue {
                continue;
            }
            let mut run = Run::new(cpu, zone, goal, self.span(zone));
            if let Some(before) = &round.run {
                run.inherit(before);
            }
            round.running = self.enter(&mut run).is_ok();
            round.run = Some(run);
            if round.running {
                return true;
            }
        }
        let record = self.state.node(round.node);
        if record.max_order.load() <= u64::from(order.get()) {
            record.max_order.store(0);
        }
        if record.highest.load() >= round.highest {
            record.highest.store(u64::from(ANY_ZONE));
        }
        false
    }

    /// The external fragmentation of a node for huge pages, in percent.
    pub fn node_score(&self, node: NodeId) -> u64 {
        let zones = || self.zones_of(node, u64::from(ANY_ZONE));
        let present: u64 = zones().map(|zone| self.pages.zone(zone).info.present).sum();
        zones()
            .map(|zone| self.pages.zone(zone).info.present * self.zone_score(zone) / (present + 1))
            .sum()
    }

    /// The check that kcompactd makes every 500 ms (`compaction_proactiveness`, 0 to 100); whether it
    /// compacted.
    pub fn proactive(&self, cpu: CpuId, node: NodeId, proactiveness: u8) -> bool {
        if proactiveness == 0 {
            return false;
        }
        let record = self.state.node(node);
        let left_out = record.proactive_skip.load();
        if left_out > 0 {
            record.proactive_skip.store(left_out - 1);
            return false;
        }
        let before = self.node_score(node);
        if self.pages.node(node).is_awake() || before <= high_target(proactiveness) {
            return false;
        }
        for zone in self.zones_of(node, u64::from(ANY_ZONE)) {
            let goal = Goal {
                mode: mmspec_model::contract::CompactMode::SyncLight,
                proactive: Some(proactiveness),
                ..Goal::WHOLE
            };
            if let Ok(mut run) = self.begin(cpu, ZoneIdx(zone as u8), goal) {
                self.finish(&mut run);
            }
        }
        if self.node_score(node) >= before {
            record.proactive_skip.store(PROACTIVE_BACK_OFF);
        }
        true
    }
}
