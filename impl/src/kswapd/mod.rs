//! kswapd of each node: when it is woken (page_alloc.md §4.5, compaction.md §4.2); what it does then
//! is in `step`. Its state lies behind a lock of the node, taken while no zone lock is held.

mod step;

use crate::{
    allocator::PageAllocator,
    platform::{Lock, Platform, Word},
    storage::Backing,
    vmstat::Item,
    zone::{Check, Zone},
};
use step::Work;

use mmspec_model::vocab::{AllocFlags, CpuId, Gfp, Mark, NodeId, NodeState, ZoneIdx, ZoneKind};

/// Rounds in a row without success after which a node is hopeless (MAX_RECLAIM_RETRIES).
pub(crate) const HOPELESS: u64 = 16;

/// What the lock of a node's kswapd guards.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kswapd {
    /// `kswapd_order`.
    order: u8,
    /// `kswapd_highest_zoneidx`; none is MAX_NR_ZONES.
    highest: Option<ZoneKind>,
    wakeups: u64,
    kcompactd_wakeups: u64,
    work: Work,
}

impl Kswapd {
    pub(crate) const ASLEEP: Self =
        Self { order: 0, highest: None, wakeups: 0, kcompactd_wakeups: 0, work: Work::NONE };
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nr_nodes
    }

    /// The numbers of one node; those of a node that never did anything if it does not exist.
    pub fn node_state(&self, node: NodeId) -> NodeState {
        let Some(slot) = self.storage.nodes[..self.nr_nodes].get(node.index()) else {
            return NodeState::default();
        };
        let kswapd = slot.kswapd.lock();
        NodeState {
            kswapd_awake: slot.is_awake(),
            kswapd_order: kswapd.order,
            kswapd_highest: kswapd.highest,
            kswapd_failures: slot.failures.load() as u32,
            wakeups: kswapd.wakeups,
            kcompactd_wakeups: kswapd.kcompactd_wakeups,
        }
    }

    /// Wake the kswapd of a zone's node for a request of `order` for zones up to `highest`, if it
    /// is to be woken. No lock is held.
    pub(crate) fn wake_kswapd(&self, zone: usize, order: u8, highest: ZoneKind, gfp: Gfp) {
        P::wake_kswapd(ZoneIdx(zone as u8));
        let info = &self.zone(zone).info;
        if info.managed == 0 {
            return;
        }
        let slot = self.node(info.node);
        let mut kswapd = slot.kswapd.lock();
        kswapd.order = kswapd.order.max(order);
        kswapd.highest = kswapd.highest.max(Some(highest));
        if slot.is_awake() {
            return;
        }
        let content = slot.failures.load() >= HOPELESS
            || (self.is_balanced(info.node, order, highest)
                && !self.is_boosted(info.node, highest));
        if content {
            if !gfp.contains(Gfp::DIRECT_RECLAIM) {
                kswapd.kcompactd_wakeups += 1;
            }
            return;
        }
        kswapd.wakeups += 1;
        self.set_awake(info.node, true);
    }

    /// A task waits for kswapd: it is woken whatever the marks say.
    pub(crate) fn wake_throttled(&self, node: NodeId) {
        let slot = self.node(node);
        let mut kswapd = slot.kswapd.lock();
        if !slot.is_awake() {
            kswapd.wakeups += 1;
            self.set_awake(node, true);
        }
    }

    /// A fallback boosted the marks of a zone for a caller that may wake kswapd.
    #[cold]
    pub(crate) fn wake_for_boost(&self, zone: usize) {
        self.zone(zone).rare.kswapd_wakeups.fetch_add(1);
        let kind = self.zone(zone).info.kind;
        self.wake_kswapd(zone, 0, kind, Gfp::empty());
    }

    /// kswapd of a node is woken or goes back to sleep: where the rules say so, first scans of other
    /// nodes' requests pass over its zones. The node's lock is held.
    fn set_awake(&self, node: NodeId, awake: bool) {
        let slot = self.node(node);
        slot.awake.store(u64::from(awake));
        if !self.geometry.rules.avoid_awake_nodes || self.nr_nodes < 2 {
            return;
        }
        for at in slot.zones() {
            let diff = crate::vmstat::StatDiff::default();
            self.zone(at).lock(self.tables(), &diff).buddy().z.now.rare_mut().avoided = awake;
        }
    }

    /// kswapd begins or ends its work: its zones' counts are finer while it works
    /// (docs/decisions.md 55). The node's lock is held.
    fn set_pressure(&self, node: NodeId, pressure: bool) {
        let slot = self.node(node);
        slot.pressure.store(u64::from(pressure));
        let cpus = self.cpu_ids().filter(|cpu| self.cpu(*cpu).is_online()).count() as u64;
        for at in slot.zones() {
            self.set_threshold(at, cpus, pressure);
        }
    }

    /// Whether one managed zone up to `highest` is above its HIGH mark for a request of `order`, or
    /// there is no such zone (compaction.md §4.2).
    pub(crate) fn is_balanced(&self, node: NodeId, order: u8, highest: ZoneKind) -> bool {
        let mut zones = self.zones_up_to(node, highest).peekable();
        zones.peek().is_none()
            || zones.any(|at| {
                let flags = AllocFlags::empty();
                let check = Check { order, mark: Mark::High, extra: 0, highest, flags };
                self.zone(at).watermark_with(&self.geometry.rules, &check, self.careful_free(at))
            })
    }

    /// The managed zones of a node up to `highest`, lowest first.
    pub(crate) fn zones_up_to(
        &self,
        node: NodeId,
        highest: ZoneKind,
    ) -> impl Iterator<Item = usize> + use<'_, P, B> {
        let counts = move |zone: &Zone<P>| zone.info.managed > 0 && zone.info.kind <= highest;
        self.node(node).zones().filter(move |at| counts(self.zone(*at)))
    }

    fn is_boosted(&self, node: NodeId, highest: ZoneKind) -> bool {
        self.zones_up_to(node, highest).any(|at| self.zone(at).rare.boost.load() > 0)
    }

    /// Free pages as kswapd counts them: exactly below the drift mark.
    fn careful_free(&self, at: usize) -> i64 {
        let zone = self.zone(at);
        let cached = zone.cached_free();
        if cached < zone.rare.drift_mark.load() as i64 { self.exact_free(at) } else { cached }
    }

    /// Free pages with all CPUs' diffs, at least 0.
    pub(crate) fn exact_free(&self, at: usize) -> i64 {
        let diffs = self.cpu_ids().map(|cpu: CpuId| self.slot(cpu, at).diff.get(Item::Free));
        (self.zone(at).counters.free.load() as i64 + diffs.sum::<i64>()).max(0)
    }
}
