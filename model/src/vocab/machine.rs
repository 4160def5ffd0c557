//! The machine: nodes, CPUs, zones, holes and reserved frames.

use super::{
    CpuId, LOCAL_DISTANCE, MAX_NODES, NodeId, Order, Pfn, PfnRange, REMOTE_DISTANCE, ZoneKind,
};
#[cfg(feature = "alloc")]
use alloc::vec::Vec;

/// Most CPUs that a machine may have.
pub const MAX_CPUS: u16 = 1024;

/// The span of one zone. Its edges need not be aligned to anything.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ZoneSpan {
    /// The node that the zone belongs to.
    pub node: NodeId,
    /// The zone's kind.
    pub kind: ZoneKind,
    /// The spanned frames.
    pub span: PfnRange,
}

impl ZoneSpan {
    /// A zone of node 0.
    #[must_use]
    pub const fn new(kind: ZoneKind, span: PfnRange) -> Self {
        Self { node: NodeId(0), kind, span }
    }

    /// The same zone on another node.
    #[must_use]
    pub const fn on(mut self, node: NodeId) -> Self {
        self.node = node;
        self
    }
}

/// A machine, borrowed: what an allocator is built from. It needs no heap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MachineRef<'a> {
    /// Number of CPUs, all online at boot, ids `0..cpus`.
    pub cpus: u16,
    /// MAX_PAGE_ORDER of this build.
    pub max_order: Order,
    /// Order of a pageblock, at most `max_order`.
    pub pageblock_order: Order,
    /// The order of a transparent huge page, if per-CPU lists hold it: above
    /// [`Order::COSTLY`], at most `pageblock_order`.
    pub thp_order: Option<Order>,
    /// Whether the build has CMA. Needed for `cma` ranges; adds a row to pagetypeinfo.
    pub cma_built: bool,
    /// Whether each CPU's slice of the data cache is large enough for PCPF_FREE_HIGH_BATCH
    /// (page_alloc.md §2.1, flag bit 1; the cache-size rule behind it is outside the model).
    pub free_high_batch: bool,
    /// Number of online nodes, ids `0..nodes`; a node may have no memory, or no CPU.
    pub nodes: u8,
    /// The node of each CPU; empty: all on node 0.
    pub cpu_nodes: &'a [NodeId],
    /// Distances from node (row) to node (column), `nodes` × `nodes` values; empty: 10 to itself, 20 to
    /// every other.
    pub distances: &'a [u8],
    /// The populated zones, disjoint, ascending in address, in node, and within a node in kind.
    /// (Nodes whose memory interleaves are not described.)
    pub zones: &'a [ZoneSpan],
    /// Frames inside a zone's span that do not exist.
    pub holes: &'a [PfnRange],
    /// Frames that exist but are not given to the allocator (kernel image, boot allocations).
    pub reserved: &'a [PfnRange],
    /// Frames given to CMA: whole pageblocks, each inside one zone and clear of holes and
    /// reserved frames.
    pub cma: &'a [PfnRange],
}

impl MachineRef<'_> {
    /// Frames in a pageblock.
    #[must_use]
    pub const fn pageblock_pages(&self) -> u64 {
        self.pageblock_order.pages()
    }

    /// All CPU ids.
    pub fn cpu_ids(&self) -> impl DoubleEndedIterator<Item = CpuId> + Clone {
        (0..self.cpus).map(CpuId)
    }

    /// All node ids.
    pub fn node_ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + Clone {
        (0..self.nodes).map(NodeId)
    }

    /// The node of a CPU.
    #[must_use]
    pub fn node_of(&self, cpu: CpuId) -> NodeId {
        self.cpu_nodes.get(cpu.index()).copied().unwrap_or_default()
    }

    /// The distance from `from` to `to`.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> u8 {
        let at = from.index() * usize::from(self.nodes) + to.index();
        let otherwise = if from == to { LOCAL_DISTANCE } else { REMOTE_DISTANCE };
        self.distances.get(at).copied().unwrap_or(otherwise)
    }

    /// Position of the zone that spans `pfn`.
    #[must_use]
    pub fn zone_of(&self, pfn: Pfn) -> Option<super::ZoneIdx> {
        let at = self.zones.iter().position(|zone| zone.span.contains(pfn))?;
        Some(super::ZoneIdx(at as u8))
    }

    /// Whether `pfn` exists: spanned by a zone and in no hole.
    #[must_use]
    pub fn is_present(&self, pfn: Pfn) -> bool {
        self.zone_of(pfn).is_some() && !self.holes.iter().any(|hole| hole.contains(pfn))
    }

    /// Whether `pfn` belongs to the allocator.
    #[must_use]
    pub fn is_managed(&self, pfn: Pfn) -> bool {
        self.is_present(pfn) && !self.reserved.iter().any(|range| range.contains(pfn))
    }

    /// One past the highest spanned frame.
    #[must_use]
    pub fn end(&self) -> Pfn {
        self.zones.iter().map(|zone| zone.span.end).max().unwrap_or(Pfn(0))
    }

    /// Check every statement made on the fields.
    ///
    /// # Errors
    /// The first statement that does not hold.
    pub fn validate(&self) -> Result<(), MachineError> {
        if self.cpus == 0 || self.cpus > MAX_CPUS {
            return Err(MachineError::Cpus(self.cpus));
        }
        if self.pageblock_order > self.max_order {
            return Err(MachineError::PageblockOrder(self.pageblock_order, self.max_order));
        }
        if let Some(thp) = self.thp_order
            && (thp <= Order::COSTLY || thp > self.pageblock_order)
        {
            return Err(MachineError::ThpOrder(thp, self.pageblock_order));
        }
        if self.zones.is_empty() {
            return Err(MachineError::NoZone);
        }
        for zone in self.zones {
            if zone.span.is_empty() {
                return Err(MachineError::EmptyZone(zone.kind));
            }
            if zone.kind == ZoneKind::Device {
                return Err(MachineError::DeviceZone);
            }
            if zone.span.end.0 > u64::from(u32::MAX) {
                return Err(MachineError::TooLarge(zone.span.end));
            }
        }
        for pair in self.zones.windows(2) {
            let ascend = (pair[0].node, pair[0].kind) < (pair[1].node, pair[1].kind);
            if pair[1].span.start < pair[0].span.end || !ascend {
                return Err(MachineError::ZoneOrder(pair[0].kind, pair[1].kind));
            }
        }
        self.validate_nodes()?;
        self.validate_cma()
    }

    fn validate_nodes(&self) -> Result<(), MachineError> {
        let nodes = usize::from(self.nodes);
        if nodes == 0 || nodes > MAX_NODES {
            return Err(MachineError::Nodes(self.nodes));
        }
        let cpus = usize::from(self.cpus);
        if !self.cpu_nodes.is_empty() && self.cpu_nodes.len() != cpus {
            return Err(MachineError::CpuNodes(self.cpu_nodes.len(), self.cpus));
        }
        let zones = self.zones.iter().map(|zone| zone.node);
        if let Some(node) = self.cpu_nodes.iter().copied().chain(zones).find(|n| n.0 >= self.nodes)
        {
            return Err(MachineError::NoSuchNode(node, self.nodes));
        }
        if !self.distances.is_empty() && self.distances.len() != nodes * nodes {
            return Err(MachineError::Distances(self.distances.len(), self.nodes));
        }
        for from in self.node_ids() {
            for to in self.node_ids() {
                let distance = self.distance(from, to);
                if (distance == LOCAL_DISTANCE) != (from == to) || distance < LOCAL_DISTANCE {
                    return Err(MachineError::Distance(from, to, distance));
                }
            }
        }
        Ok(())
    }

    fn validate_cma(&self) -> Result<(), MachineError> {
        if !self.cma.is_empty() && !self.cma_built {
            return Err(MachineError::CmaNotBuilt);
        }
        for range in self.cma {
            let aligned = range.start.is_aligned(self.pageblock_order)
                && range.end.is_aligned(self.pageblock_order);
            let zone = self.zones.iter().find(|zone| zone.span.contains(range.start));
            let inside = zone.is_some_and(|zone| range.end <= zone.span.end);
            let overlaps = |other: &PfnRange| {
                !other.is_empty() && other.start < range.end && range.start < other.end
            };
            let clash = self.holes.iter().any(overlaps)
                || self.reserved.iter().any(overlaps)
                || self.cma.iter().filter(|other| overlaps(other)).count() > 1;
            if range.is_empty() || !aligned || !inside || clash {
                return Err(MachineError::CmaRange(*range));
            }
        }
        Ok(())
    }
}

/// A machine, owned.
#[cfg(feature = "alloc")]
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Machine {
    /// See [`MachineRef::cpus`].
    pub cpus: u16,
    /// See [`MachineRef::max_order`].
    pub max_order: Order,
    /// See [`MachineRef::pageblock_order`].
    pub pageblock_order: Order,
    /// See [`MachineRef::thp_order`].
    pub thp_order: Option<Order>,
    /// See [`MachineRef::cma_built`].
    pub cma_built: bool,
    /// See [`MachineRef::free_high_batch`].
    pub free_high_batch: bool,
    /// See [`MachineRef::nodes`].
    pub nodes: u8,
    /// See [`MachineRef::cpu_nodes`].
    pub cpu_nodes: Vec<NodeId>,
    /// See [`MachineRef::distances`].
    pub distances: Vec<u8>,
    /// See [`MachineRef::zones`].
    pub zones: Vec<ZoneSpan>,
    /// See [`MachineRef::holes`].
    pub holes: Vec<PfnRange>,
    /// See [`MachineRef::reserved`].
    pub reserved: Vec<PfnRange>,
    /// See [`MachineRef::cma`].
    pub cma: Vec<PfnRange>,
}

#[cfg(feature = "alloc")]
impl Machine {
    /// A machine of the x86-64 build (orders to 10, pageblocks and huge pages of order 9) with
    /// these zones and no holes.
    #[must_use]
    pub fn new(cpus: u16, zones: &[(ZoneKind, u64, u64)]) -> Self {
        Self {
            cpus,
            max_order: Order::MAX,
            pageblock_order: Order::of(9),
            thp_order: Some(Order::of(9)),
            cma_built: false,
            free_high_batch: false,
            nodes: 1,
            cpu_nodes: Vec::new(),
            distances: Vec::new(),
            zones: zones
                .iter()
                .map(|&(kind, start, end)| ZoneSpan::new(kind, PfnRange::new(start, end)))
                .collect(),
            holes: Vec::new(),
            reserved: Vec::new(),
            cma: Vec::new(),
        }
    }

    /// A one-zone (Normal) machine of `frames` frames from frame 0 with small orders, so that
    /// merging to the top and pageblock borders are met soon.
    #[must_use]
    pub fn small(cpus: u16, frames: u64, max_order: u8, pageblock_order: u8) -> Self {
        let pageblock_order = Order::of(pageblock_order);
        Self {
            max_order: Order::of(max_order),
            pageblock_order,
            thp_order: (pageblock_order > Order::COSTLY).then_some(pageblock_order),
            ..Self::new(cpus, &[(ZoneKind::Normal, 0, frames)])
        }
    }

    /// The borrowed form.
    #[must_use]
    pub fn as_ref(&self) -> MachineRef<'_> {
        MachineRef {
            cpus: self.cpus,
            max_order: self.max_order,
            pageblock_order: self.pageblock_order,
            thp_order: self.thp_order,
            cma_built: self.cma_built,
            free_high_batch: self.free_high_batch,
            nodes: self.nodes,
            cpu_nodes: &self.cpu_nodes,
            distances: &self.distances,
            zones: &self.zones,
            holes: &self.holes,
            reserved: &self.reserved,
            cma: &self.cma,
        }
    }

    /// As [`MachineRef::validate`].
    ///
    /// # Errors
    /// The first statement on the fields that does not hold.
    pub fn validate(&self) -> Result<(), MachineError> {
        self.as_ref().validate()
    }
}

/// Why a machine cannot exist.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MachineError {
    /// Too few or too many CPUs.
    #[error("{0} CPUs: give 1 to 1024")]
    Cpus(u16),
    /// Pageblocks larger than the largest block.
    #[error("pageblock order {0} is above the machine's largest order {1}: lower it")]
    PageblockOrder(Order, Order),
    /// A huge page order that per-CPU lists cannot hold.
    #[error("huge page order {0} must be 4 or more and at most the pageblock order {1}")]
    ThpOrder(Order, Order),
    /// No zone at all.
    #[error("the machine has no zone: give at least one")]
    NoZone,
    /// A zone without frames.
    #[error("zone {0} is empty: leave it out or widen it")]
    EmptyZone(ZoneKind),
    /// A populated device zone.
    #[error("the Device zone is never populated: choose another kind")]
    DeviceZone,
    /// Frames beyond what the tables can index.
    #[error("frame {0} is out of range: the last frame must be below 2^32")]
    TooLarge(Pfn),
    /// Zones out of order or overlapping.
    #[error("zones {0} and {1} must ascend in address, node and kind and must not overlap")]
    ZoneOrder(ZoneKind, ZoneKind),
    /// Too few or too many nodes.
    #[error("{0} nodes: give 1 to 64")]
    Nodes(u8),
    /// Not one node for each CPU.
    #[error("{0} nodes of CPUs on a machine of {1} CPUs: give one for each CPU, or none")]
    CpuNodes(usize, u16),
    /// A CPU or zone on a node that is not there.
    #[error("node {0} does not exist: the machine has {1}, numbered from 0")]
    NoSuchNode(NodeId, u8),
    /// Not one distance for each pair of nodes.
    #[error("{0} distances on a machine of {1} nodes: give one for each pair, or none")]
    Distances(usize, u8),
    /// A distance that cannot be.
    #[error("distance {2} from node {0} to {1}: a node is 10 from itself and further from others")]
    Distance(NodeId, NodeId, u8),
    /// CMA ranges on a build without CMA.
    #[error("cma ranges need a build with CMA: set cma_built")]
    CmaNotBuilt,
    /// A CMA range that is not made of whole, existing pageblocks of one zone.
    #[error(
        "cma range {0:?} must be whole pageblocks inside one zone, clear of holes, reserved frames and other cma ranges"
    )]
    CmaRange(PfnRange),
}
