//! Zonelists: which zones serve a node's requests, in which order (page_alloc.md §4.1).
//!
//! They lie in the embedder's storage, twice. A rebuild writes the copy that nobody reads and then
//! steps the sequence on; a reader looks at the sequence after each entry, and begins again if it
//! moved. So no list is ever seen half of one rebuild and half of the next, and readers write
//! nothing.

use crate::{
    allocator::{Config, PageAllocator},
    path::{CLASSES, pack_class},
    platform::{Platform, Word},
    storage::Backing,
};
use core::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
    fence,
};
use mmspec_model::vocab::{
    Gfp, MAX_NODES, NR_ZONES, NodeId, NodeLoad, ZoneIdx, ZoneKind, ZonelistOrder,
};

/// One place of a zonelist, as the embedder's storage holds it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct ZonelistEntry(AtomicU32);

impl ZonelistEntry {
    const END: u32 = u32::MAX;

    #[cfg(feature = "std")]
    pub(crate) fn copy(&self) -> Self {
        Self(AtomicU32::new(self.0.load(Relaxed)))
    }
}

/// A zone on a list, with what decides whether a request passes over it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub(crate) zone: usize,
    pub(crate) kind: ZoneKind,
    pub(crate) node: NodeId,
}

impl Entry {
    fn pack(self) -> u32 {
        self.zone as u32 | (self.kind as u32) << 8 | u32::from(self.node.0) << 16
    }

    fn unpack(word: u32) -> Self {
        let kind = ZoneKind::ALL[(word >> 8) as usize & 7];
        Self { zone: (word & 0xff) as usize, kind, node: NodeId((word >> 16) as u8) }
    }
}

/// A place in a list, as it was at a certain rebuild.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cursor {
    pub(crate) sequence: u64,
    at: usize,
}

/// What comes next on a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Entry(Entry),
    End,
    /// The lists were rebuilt since the cursor was made: begin again.
    Changed,
}

/// Most zones of a NOFALLBACK list.
const KINDS: usize = NR_ZONES - 1;

/// Entries of one node's two lists with their ends.
const fn stride(zones: usize) -> usize {
    zones + 1 + KINDS + 1
}

/// Entries that a machine needs, both copies.
pub(crate) const fn entries(nodes: usize, zones: usize) -> usize {
    2 * nodes * stride(zones)
}

/// What is built from.
struct Plan {
    /// Nodes that have managed pages.
    memory: u64,
    /// Kind by kind instead of node by node.
    by_kind: bool,
    load: [u32; MAX_NODES],
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// The start of a node's FALLBACK or NOFALLBACK list.
    pub(crate) fn list_start(&self, node: NodeId, this_node: bool) -> Cursor {
        let sequence = self.zonelists.load();
        // What the sequence was stepped for is seen after it.
        fence(Acquire);
        Cursor { sequence, at: self.list_at(sequence, node, this_node) }
    }

    fn list_at(&self, sequence: u64, node: NodeId, this_node: bool) -> usize {
        let half = (sequence & 1) as usize;
        let list = (half * self.nr_nodes + node.index()) * stride(self.nr_zones);
        list + if this_node { self.nr_zones + 1 } else { 0 }
    }

    /// The entry at a cursor, which moves on.
    pub(crate) fn next_entry(&self, cursor: &mut Cursor) -> Next {
        let word = self.storage.lists[cursor.at].0.load(Relaxed);
        // If the word was written by a rebuild after the one of the cursor, the sequence shows it.
        fence(Acquire);
        if self.zonelists.load() != cursor.sequence {
            return Next::Changed;
        }
        if word == ZonelistEntry::END {
            return Next::End;
        }
        cursor.at += 1;
        Next::Entry(Entry::unpack(word))
    }

    /// The entries of a node's zonelist, in order; see
    /// [`mmspec_model::contract::Nodes::for_each_zonelist`]. The zones are those of one rebuild.
    /// Nothing for a node that does not exist.
    pub fn for_each_zonelist(&self, node: NodeId, this_node: bool, visit: &mut dyn FnMut(ZoneIdx)) {
        if node.index() >= self.nr_nodes {
            return;
        }
        let mut zones = [0; crate::allocator::MAX_ZONES];
        let count = loop {
            let (mut cursor, mut count) = (self.list_start(node, this_node), 0);
            let end = loop {
                match self.next_entry(&mut cursor) {
                    Next::Entry(entry) => {
                        zones[count] = entry.zone as u8;
                        count += 1;
                    }
                    end => break end,
                }
            };
            if end == Next::End {
                break count;
            }
        };
        zones[..count].iter().for_each(|zone| visit(ZoneIdx(*zone)));
    }

    /// Build all zonelists anew; see [`mmspec_model::contract::Nodes::rebuild_zonelists`].
    /// Concurrent requests finish on the lists as they were or begin again on the new ones.
    pub fn rebuild_zonelists(&self) {
        let config = self.lock_config();
        self.build_zonelists(&config);
    }

    /// Write the sysctl `vm.numa_zonelist_order` (up to 4.13 \[mem\]): the lists are rebuilt in that
    /// order, whatever the rules began with.
    pub fn set_zonelist_order(&self, order: ZonelistOrder) {
        let mut config = self.lock_config();
        config.zonelist_order = order;
        self.build_zonelists(&config);
    }

    /// How often the zonelists were built (zonelist_update_seq, halved).
    pub(crate) fn zonelist_cookie(&self) -> u64 {
        self.zonelists.load()
    }

    /// Build the lists and the classes; the sysctl lock is held, so that nobody else does.
    pub(crate) fn build_zonelists(&self, config: &Config) {
        let memory = self.zones().iter().filter(|zone| zone.info.managed > 0);
        let memory = memory.fold(0, |nodes, zone| nodes | 1 << zone.info.node.0);
        let by_kind = match config.zonelist_order {
            ZonelistOrder::Node => false,
            ZonelistOrder::Zone => true,
            ZonelistOrder::Heuristic => self.is_better_by_kind(),
        };
        let mut plan = Plan { memory, by_kind, load: [0; MAX_NODES] };
        let sequence = self.zonelists.load() + 1;
        // The copy about to be written was read until the step before: whoever reads what follows
        // sees that step too.
        fence(Release);
        for node in (0..self.nr_nodes as u8).map(NodeId) {
            let mut nodes = [0; MAX_NODES];
            let count = self.node_order(node, &mut plan, &mut nodes);
            self.write_list(sequence, node, false, &nodes[..count], plan.by_kind);
            let own = memory >> node.0 & 1 == 1;
            self.write_list(sequence, node, true, &[node.0][..usize::from(own)], false);
        }
        fence(Release);
        self.zonelists.store(sequence);
        for node in (0..self.nr_nodes as u8).map(NodeId) {
            self.write_classes(node);
        }
    }

    fn write_list(
        &self,
        sequence: u64,
        node: NodeId,
        this_node: bool,
        nodes: &[u8],
        by_kind: bool,
    ) {
        let mut at = self.list_at(sequence, node, this_node);
        let mut put = |node: u8, kind: ZoneKind| {
            let node = NodeId(node);
            if let Some(zone) = self.zone_on(node, kind) {
                self.storage.lists[at].0.store(Entry { zone, kind, node }.pack(), Relaxed);
                at += 1;
            }
        };
        let kinds = ZoneKind::ALL.into_iter().rev();
        if by_kind {
            kinds.for_each(|kind| nodes.iter().for_each(|node| put(*node, kind)));
        } else {
            nodes.iter().for_each(|node| kinds.clone().for_each(|kind| put(*node, kind)));
        }
        self.storage.lists[at].0.store(ZonelistEntry::END, Relaxed);
    }

    /// The zone of a kind on a node, if it has managed pages.
    pub(crate) fn zone_on(&self, node: NodeId, kind: ZoneKind) -> Option<usize> {
        let holds =
            |at: &usize| self.zone(*at).info.kind == kind && self.zone(*at).info.managed > 0;
        self.node(node).zones().find(holds)
    }

    /// The nodes to fall back to, best first, the own one included; how many they are.
    fn node_order(&self, from: NodeId, plan: &mut Plan, order: &mut [u8; MAX_NODES]) -> usize {
        const PENALTY_FOR_CPUS: u32 = 1;
        let distances = &self.node(from).distances;
        let (mut left, mut count) = (plan.memory, 0);
        let mut before = distances[from.index()];
        let mut value = self.nr_nodes as u32;
        while left != 0 {
            let score = |node: &u8| {
                let at = usize::from(*node);
                let penalty = u32::from(*node < from.0)
                    + if self.storage.nodes[at].has_cpus { PENALTY_FOR_CPUS } else { 0 };
                (u32::from(distances[at]) + penalty) * MAX_NODES as u32 + plan.load[at]
            };
            let own = (left >> from.0 & 1 == 1).then_some(from.0);
            let unused = (0..self.nr_nodes as u8).filter(|node| left >> node & 1 == 1);
            // Of several with the same score the first, which has the lowest id.
            let Some(best) = own.or_else(|| unused.min_by_key(score)) else { break };
            let at = usize::from(best);
            if distances[at] != before {
                match self.geometry.rules.node_load {
                    NodeLoad::OnNewDistance => plan.load[at] += 1,
                    NodeLoad::Decreasing => plan.load[at] = value,
                }
            }
            before = distances[at];
            value = value.saturating_sub(1);
            left &= !(1 << best);
            order[count] = best;
            count += 1;
        }
        count
    }

    /// 3.16's default: kind by kind, so that low memory is kept for those who need it, unless that
    /// would send too much to other nodes (docs/decisions.md, 31).
    fn is_better_by_kind(&self) -> bool {
        let sums = |node: Option<NodeId>| {
            let zones = self.zones().iter().map(|zone| zone.info);
            let zones = zones.filter(|info| node.is_none_or(|node| info.node == node));
            zones.fold((0, 0, 0, 0), |(low, normal, all, any), info| {
                let of = |counts: bool| if counts { info.managed } else { 0 };
                (
                    low + of(info.kind < ZoneKind::Normal),
                    normal + of(info.kind == ZoneKind::Normal),
                    all + of(info.kind <= ZoneKind::Normal),
                    any + info.managed,
                )
            })
        };
        let (low, _, total, _) = sums(None);
        if low == 0 || low > total / 2 {
            return false;
        }
        !(0..self.nr_nodes as u8).map(NodeId).any(|node| {
            let (low, normal, all, any) = sums(Some(node));
            let mostly_low =
                low > 0 && all > total / (self.nr_nodes as u64 + 1) && low * 100 > all * 70;
            (any > 0 && normal == 0) || mostly_low
        })
    }

    /// What every combination of deciding gfp bits comes to at a node.
    fn write_classes(&self, node: NodeId) {
        for deciding in 0..CLASSES {
            let gfp = crate::path::gfp_of(deciding);
            let class = self.class_of(node, gfp).unwrap_or(0);
            self.node(node).classes.set(deciding, class);
            // Its CPUs have them at hand.
            for cpu in self.cpu_ids().map(|cpu| self.cpu(cpu)).filter(|cpu| cpu.home == node) {
                cpu.classes.set(deciding, class);
            }
        }
    }

    fn class_of(&self, node: NodeId, gfp: Gfp) -> Option<u64> {
        let highest = gfp.highest_zone().ok()?;
        let asked = gfp.migratetype().ok()?;
        let mut cursor = self.list_start(node, gfp.contains(Gfp::THISNODE));
        loop {
            match self.next_entry(&mut cursor) {
                Next::Entry(entry) if entry.kind <= highest => {
                    return Some(pack_class(&self.first_class(highest, asked, entry)));
                }
                Next::Entry(_) => {}
                Next::End | Next::Changed => return None,
            }
        }
    }
}
