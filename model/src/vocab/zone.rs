//! Zone kinds.

use super::NodeId;
use core::fmt;

/// Number of zone kinds of a 64-bit x86 build (MAX_NR_ZONES).
pub const NR_ZONES: usize = 5;

/// The kind of a zone; the discriminant is the kernel's zone index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum ZoneKind {
    /// The first 16 MiB, for devices that can address no more.
    Dma = 0,
    /// Below 4 GiB.
    Dma32 = 1,
    /// Ordinary memory.
    Normal = 2,
    /// Memory that holds movable pages only.
    Movable = 3,
    /// Device memory. Never populated here; it exists because zoneinfo and the protection tuples
    /// list it.
    Device = 4,
}

impl ZoneKind {
    /// All kinds, ascending by zone index.
    pub const ALL: [Self; NR_ZONES] =
        [Self::Dma, Self::Dma32, Self::Normal, Self::Movable, Self::Device];

    /// The kernel's zone index.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name as /proc prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dma => "DMA",
            Self::Dma32 => "DMA32",
            Self::Normal => "Normal",
            Self::Movable => "Movable",
            Self::Device => "Device",
        }
    }

    /// The suffix of per-zone event names in vmstat (`pgalloc_dma32`).
    #[must_use]
    pub const fn event_suffix(self) -> &'static str {
        match self {
            Self::Dma => "dma",
            Self::Dma32 => "dma32",
            Self::Normal => "normal",
            Self::Movable => "movable",
            Self::Device => "device",
        }
    }

    /// The kind with that /proc name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A zone by its node and kind, as /proc names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ZoneName {
    /// The node.
    pub node: NodeId,
    /// The kind.
    pub kind: ZoneKind,
}

/// `DMA32` on node 0, `node 1 DMA32` elsewhere.
impl fmt::Display for ZoneName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.node != NodeId(0) {
            write!(f, "node {} ", self.node)?;
        }
        f.write_str(self.kind.name())
    }
}

impl fmt::Display for ZoneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
