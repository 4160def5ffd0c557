//! Nodes of a machine with non-uniform memory access.

use core::fmt;

/// Most nodes of a machine (MAX_NUMNODES of the builds that the fact sheet follows; it scales the
/// scores of page_alloc.md §4.1).
pub const MAX_NODES: usize = 64;

/// The distance of a node to itself (LOCAL_DISTANCE).
pub const LOCAL_DISTANCE: u8 = 10;

/// The distance between nodes where the machine states none (REMOTE_DISTANCE).
pub const REMOTE_DISTANCE: u8 = 20;

/// A node: CPUs, memory, or both. Numbered from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct NodeId(pub u8);

impl NodeId {
    /// The id as a table index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A set of nodes (nodemask_t): bit n stands for node n.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct NodeMask(pub u64);

impl NodeMask {
    /// Every node: no restriction.
    pub const ALL: Self = Self(u64::MAX);
    /// No node.
    pub const NONE: Self = Self(0);

    /// The set of one node.
    #[must_use]
    pub const fn only(node: NodeId) -> Self {
        Self(1 << node.0)
    }

    /// Whether `node` is in the set.
    #[must_use]
    pub const fn contains(self, node: NodeId) -> bool {
        node.0 < 64 && self.0 >> node.0 & 1 == 1
    }

    /// The nodes in both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The nodes, ascending.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        (0..MAX_NODES as u8).map(NodeId).filter(move |node| self.contains(*node))
    }
}

impl Default for NodeMask {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Debug for NodeMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL { f.write_str("all") } else { write!(f, "{:#x}", self.0) }
    }
}

/// What the allocator's node daemons are about: the state of one node's kswapd
/// (page_alloc.md §4.5, compaction.md §4.2 to §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NodeState {
    /// kswapd was woken and has not gone back to sleep.
    pub kswapd_awake: bool,
    /// `kswapd_order`: the highest order that was asked for since kswapd last read it.
    pub kswapd_order: u8,
    /// `kswapd_highest_zoneidx`: the highest zone index asked for since; `None` is the kernel's
    /// "none" value MAX_NR_ZONES.
    pub kswapd_highest: Option<super::ZoneKind>,
    /// `kswapd_failures`: rounds in a row that reclaimed nothing; at 16 the node is hopeless.
    pub kswapd_failures: u32,
    /// Times that kswapd was really woken (asleep before).
    pub wakeups: u64,
    /// Times that kcompactd was woken.
    pub kcompactd_wakeups: u64,
}
