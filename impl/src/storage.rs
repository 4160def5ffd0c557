//! The slices that hold all metadata.

use crate::{
    error::SetupError,
    frame::{BlockType, FrameState, Links, Spread},
    geometry::Geometry,
    node::NodeSlot,
    pcp::{CpuSlot, PcpSlot},
    platform::Platform,
    zone::Zone,
    zonelist::{self, ZonelistEntry},
};
use core::{marker::PhantomData, ops::DerefMut};
use mmspec_model::vocab::{MachineRef, Rules};

/// How the allocator holds its slices: borrowed from the embedder, or owned.
pub trait Backing {
    /// A slice of records.
    type Slice<T: 'static>: DerefMut<Target = [T]>;
}

/// Slices lent by the embedder.
#[derive(Clone, Copy, Debug)]
pub struct Borrowed<'s>(PhantomData<&'s ()>);

impl<'s> Backing for Borrowed<'s> {
    type Slice<T: 'static> = &'s mut [T];
}

/// Slices on the heap.
#[cfg(feature = "std")]
#[derive(Clone, Copy, Debug)]
pub struct Owned(PhantomData<()>);

#[cfg(feature = "std")]
impl Backing for Owned {
    type Slice<T: 'static> = std::boxed::Box<[T]>;
}

/// The slices to build an allocator in. What the records hold before does not matter; slices may
/// be longer than needed.
pub struct Storage<P: Platform, B: Backing> {
    /// One state byte for each frame from [`StorageSize::base`] to the end of memory.
    pub frames: B::Slice<FrameState>,
    /// The links of the same frames: [`Spread::records`] of them.
    pub links: B::Slice<Links>,
    /// How the links lie.
    pub spread: Spread,
    /// One byte for each pageblock.
    pub blocks: B::Slice<BlockType>,
    /// One record for each CPU and zone: all zones of CPU 0, then of CPU 1, and so on.
    pub pcps: B::Slice<PcpSlot<P>>,
    /// One record for each CPU.
    pub cpus: B::Slice<CpuSlot<P>>,
    /// One record for each populated zone.
    pub zones: B::Slice<Zone<P>>,
    /// One record for each node.
    pub nodes: B::Slice<NodeSlot<P>>,
    /// The zonelists of all nodes, twice.
    pub lists: B::Slice<ZonelistEntry>,
}

/// Lengths for [`Storage`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StorageSize {
    /// The frame that the first record stands for.
    pub base: u64,
    /// Records of [`Storage::frames`], and frames for which [`Storage::links`] has records.
    pub frames: usize,
    /// Records of [`Storage::blocks`].
    pub blocks: usize,
    /// Records of [`Storage::pcps`].
    pub pcps: usize,
    /// Records of [`Storage::cpus`].
    pub cpus: usize,
    /// Records of [`Storage::zones`].
    pub zones: usize,
    /// Records of [`Storage::nodes`].
    pub nodes: usize,
    /// Records of [`Storage::lists`].
    pub lists: usize,
}

impl StorageSize {
    /// What `machine` needs.
    #[must_use]
    pub fn of(machine: &MachineRef<'_>) -> Self {
        let geometry = Geometry::new(machine, Rules::default(), Spread::Dense);
        let (frames, blocks) = geometry.table_sizes(machine);
        let cpus = usize::from(machine.cpus);
        let (zones, nodes) = (machine.zones.len(), usize::from(machine.nodes));
        let lists = zonelist::entries(nodes, zones);
        Self { base: geometry.base, frames, blocks, pcps: cpus * zones, cpus, zones, nodes, lists }
    }
}

impl<P: Platform, B: Backing> Storage<P, B> {
    /// Check that every slice is long enough.
    pub(crate) fn check(&self, size: &StorageSize) -> Result<(), SetupError> {
        for (what, given, needed) in [
            ("frames", self.frames.len(), size.frames),
            ("links", self.links.len(), self.spread.records(size.frames)),
            ("blocks", self.blocks.len(), size.blocks),
            ("pcps", self.pcps.len(), size.pcps),
            ("cpus", self.cpus.len(), size.cpus),
            ("zones", self.zones.len(), size.zones),
            ("nodes", self.nodes.len(), size.nodes),
            ("lists", self.lists.len(), size.lists),
        ] {
            if given < needed {
                return Err(SetupError::Storage { what, given, needed });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "std")]
impl<P: Platform> Storage<P, Owned> {
    /// Heap slices for `machine`.
    #[must_use]
    pub fn on_heap(machine: &MachineRef<'_>, spread: Spread) -> Self {
        fn slice<T>(len: usize, new: impl Fn() -> T) -> std::boxed::Box<[T]> {
            (0..len).map(|_| new()).collect()
        }
        let size = StorageSize::of(machine);
        Self {
            frames: slice(size.frames, FrameState::default),
            links: slice(spread.records(size.frames), Links::default),
            spread,
            blocks: slice(size.blocks, BlockType::default),
            pcps: slice(size.pcps, PcpSlot::new),
            cpus: slice(size.cpus, CpuSlot::new),
            zones: slice(size.zones, Zone::new),
            nodes: slice(size.nodes, NodeSlot::new),
            lists: slice(size.lists, ZonelistEntry::default),
        }
    }

    /// A copy of a quiescent allocator's slices.
    pub(crate) fn copy(&self) -> Self {
        Self {
            frames: self.frames.clone(),
            links: self.links.clone(),
            spread: self.spread,
            blocks: self.blocks.clone(),
            pcps: self.pcps.iter().map(PcpSlot::copy).collect(),
            cpus: self.cpus.iter().map(CpuSlot::copy).collect(),
            zones: self.zones.iter().map(Zone::copy).collect(),
            nodes: self.nodes.iter().map(NodeSlot::copy).collect(),
            lists: self.lists.iter().map(ZonelistEntry::copy).collect(),
        }
    }
}
