//! Zonelists: which zones a request may use, in which order (§4.1, D30 to D32, D36).

use super::Reference;
use crate::contract::Refusal;
use crate::vocab::{
    CpuId, Gfp, MAX_NODES, Machine, NodeId, NodeLoad, NodeMask, ZoneKind, ZonelistOrder,
};
use alloc::vec;
use alloc::vec::Vec;

/// PENALTY_FOR_NODE_WITH_CPUS: what a node with CPUs counts as further away.
const PENALTY: u64 = 1;

/// The two lists of a node, as positions of zones.
#[derive(Clone, Debug, Default)]
pub(super) struct Zonelists {
    /// FALLBACK: all nodes, nearest first.
    pub(super) fallback: Vec<usize>,
    /// NOFALLBACK: this node only (`__GFP_THISNODE`).
    pub(super) this_node: Vec<usize>,
}

/// What the ranking asks about a machine.
struct Map<'a> {
    machine: &'a Machine,
    /// Managed pages by zone.
    managed: &'a [u64],
}

impl Map<'_> {
    /// Managed pages of a node's zones that `wanted` admits.
    fn pages(&self, node: NodeId, wanted: impl Fn(ZoneKind) -> bool) -> u64 {
        let zones = self.machine.zones.iter().zip(self.managed);
        zones
            .filter(|(zone, _)| zone.node == node && wanted(zone.kind))
            .map(|(_, pages)| pages)
            .sum()
    }

    fn has_memory(&self, node: NodeId) -> bool {
        self.pages(node, |_| true) > 0
    }

    fn has_cpus(&self, node: NodeId) -> bool {
        let machine = self.machine.as_ref();
        machine.cpu_ids().any(|cpu| machine.node_of(cpu) == node)
    }

    fn nodes(&self) -> Vec<NodeId> {
        self.machine.as_ref().node_ids().collect()
    }

    /// The managed zones of a node, from the highest down.
    fn zones_of(&self, node: NodeId) -> Vec<usize> {
        let mut zones = self.zones(|at| self.machine.zones[at].node == node);
        zones.reverse();
        zones
    }

    fn zones(&self, wanted: impl Fn(usize) -> bool) -> Vec<usize> {
        (0..self.managed.len()).filter(|&at| self.managed[at] > 0 && wanted(at)).collect()
    }

    /// The node that comes after `used` in `from`'s order: the unused node with memory of the lowest
    /// score; of equal ones the lowest id.
    fn next_node(&self, from: NodeId, used: &[NodeId], load: &[u64]) -> Option<NodeId> {
        if self.has_memory(from) && !used.contains(&from) {
            return Some(from);
        }
        let score = |node: NodeId| {
            let distance = u64::from(self.machine.as_ref().distance(from, node))
                + u64::from(node < from)
                + if self.has_cpus(node) { PENALTY } else { 0 };
            distance * MAX_NODES as u64 + load[node.index()]
        };
        let unused = |node: &NodeId| !used.contains(node) && self.has_memory(*node);
        self.nodes().into_iter().filter(unused).min_by_key(|&node| (score(node), node))
    }

    /// All nodes with memory, in `from`'s order; `load` is kept from list to list.
    fn node_order(&self, from: NodeId, how: NodeLoad, load: &mut [u64]) -> Vec<NodeId> {
        let distance = |to: NodeId| self.machine.as_ref().distance(from, to);
        let mut order = Vec::new();
        let mut before = from;
        let mut value = self.nodes().len() as u64;
        while let Some(node) = self.next_node(from, &order, load) {
            if distance(node) != distance(before) {
                match how {
                    NodeLoad::OnNewDistance => load[node.index()] += 1,
                    NodeLoad::Decreasing => load[node.index()] = value,
                }
            }
            value = value.saturating_sub(1);
            before = node;
            order.push(node);
        }
        order
    }

    /// D31: whether 3.16's default sorts by zone.
    fn prefers_zone_order(&self) -> bool {
        let is_low = |kind: ZoneKind| kind <= ZoneKind::Dma32;
        let counts = |kind: ZoneKind| kind <= ZoneKind::Normal;
        let nodes = self.nodes();
        let low: u64 = nodes.iter().map(|&node| self.pages(node, is_low)).sum();
        let total: u64 = nodes.iter().map(|&node| self.pages(node, counts)).sum();
        if low == 0 || low > total / 2 {
            return false;
        }
        let average = total / (nodes.len() as u64 + 1);
        !nodes.into_iter().any(|node| {
            let no_normal = self.pages(node, |kind| kind == ZoneKind::Normal) == 0;
            let (low, all) = (self.pages(node, is_low), self.pages(node, counts));
            let mostly_low = low > 0 && all > average && low * 100 > all * 70;
            (self.has_memory(node) && no_normal) || mostly_low
        })
    }
}

/// The lists of every node.
pub(super) fn build(
    machine: &Machine,
    managed: &[u64],
    order: ZonelistOrder,
    how: NodeLoad,
) -> Vec<Zonelists> {
    let map = Map { machine, managed };
    let by_zone = match order {
        ZonelistOrder::Node => false,
        ZonelistOrder::Zone => true,
        ZonelistOrder::Heuristic => map.prefers_zone_order(),
    };
    let mut load = vec![0; map.nodes().len()];
    let mut lists = Vec::new();
    for node in map.nodes() {
        let nodes = map.node_order(node, how, &mut load);
        let mut fallback: Vec<usize> = nodes.iter().flat_map(|&n| map.zones_of(n)).collect();
        if by_zone {
            // Stable: within a kind the nodes keep their order.
            fallback.sort_by_key(|&z| core::cmp::Reverse(machine.zones[z].kind));
        }
        lists.push(Zonelists { fallback, this_node: map.zones_of(node) });
    }
    lists
}

impl Reference {
    /// Build all lists anew; walks under way see another cookie.
    pub(super) fn build_zonelists(&mut self) {
        let managed: Vec<u64> = self.zones.iter().map(|zone| zone.managed).collect();
        let (order, how) = (self.rules.zonelist_order, self.rules.node_load);
        let lists = build(&self.machine, &managed, order, how);
        for (node, lists) in self.nodes.iter_mut().zip(lists) {
            node.lists = lists;
        }
        self.zonelists_built += 1;
    }

    /// The node of a CPU.
    pub(super) fn node_of(&self, cpu: CpuId) -> NodeId {
        self.machine.as_ref().node_of(cpu)
    }

    /// D32: the whole list of a request that begins at `node`.
    pub(super) fn list_of(&self, node: NodeId, gfp: Gfp) -> Result<&[usize], Refusal> {
        let lists = &self.nodes.get(node.index()).ok_or(Refusal::NoZone)?.lists;
        Ok(if gfp.contains(Gfp::THISNODE) { &lists.this_node } else { &lists.fallback })
    }

    /// Whether a request that allows `kind` and lower and the nodes of `mask` minds this entry.
    pub(super) fn is_in_reach(&self, z: usize, kind: ZoneKind, mask: NodeMask) -> bool {
        self.zones[z].kind <= kind && mask.contains(self.zones[z].node)
    }

    /// The entries of a list within kind and mask; the first one is the preferred zone.
    pub(super) fn reachable(&self, list: &[usize], kind: ZoneKind, mask: NodeMask) -> Vec<usize> {
        list.iter().copied().filter(|&z| self.is_in_reach(z, kind, mask)).collect()
    }
}
