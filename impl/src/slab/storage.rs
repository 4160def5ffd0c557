//! The slices that hold all that is known of slabs.

use super::{
    cache::{CacheSlot, SlabHome, SlabNodeSlot},
    cpu::SlabCpuSlot,
    frame::SlabFrame,
};
use crate::{error::SetupError, platform::Platform, storage::Backing};
use core::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use mmspec_model::vocab::{MachineRef, NodeId};

/// Which 8-byte pieces of one frame begin an object that is handed out.
#[derive(Debug, Default)]
pub struct LiveMap([AtomicU64; 8]);

impl LiveMap {
    /// Note whether the object at `address` is handed out; whether it was before.
    pub(super) fn set(&self, address: u64, live: bool) -> bool {
        let at = (address >> 3) as usize % 512;
        let (word, bit) = (&self.0[at / 64], 1 << (at % 64));
        let before = if live { word.fetch_or(bit, Relaxed) } else { word.fetch_and(!bit, Relaxed) };
        before & bit != 0
    }

    pub(super) fn get(&self, address: u64) -> bool {
        let at = (address >> 3) as usize % 512;
        self.0[at / 64].load(Relaxed) >> (at % 64) & 1 != 0
    }
}

/// The owner of an object: a number that the embedder gives meaning, 0 for none.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct OwnerSlot(pub(super) AtomicU16);

/// One place of the table of random sequences.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct SequenceSlot(pub(super) AtomicU16);

/// The slices to build a slab allocator in. Slices may be longer than needed. The records of frames
/// (`frames`, `live`, `owners`) must be new; they may be many, so that the allocator does not touch
/// them before it uses them. What the others hold before does not matter.
pub struct SlabStorage<P: Platform, B: Backing> {
    /// One record for each frame from [`SlabStorageSize::base`] to the end of memory: 64 bytes.
    pub frames: B::Slice<SlabFrame<P>>,
    /// One record for each cache there may ever be: ids are not used again.
    pub caches: B::Slice<CacheSlot<P>>,
    /// One record for each cache and CPU: all CPUs of cache 0, then of cache 1, and so on.
    pub cpus: B::Slice<SlabCpuSlot<P>>,
    /// One record for each cache and node, in the same order.
    pub nodes: B::Slice<SlabNodeSlot<P>>,
    /// One record for each node.
    pub homes: B::Slice<SlabHome<P>>,
    /// The node of each CPU.
    pub cpu_nodes: B::Slice<NodeId>,
    /// For each frame which objects are handed out: 64 bytes. With it, every double free and
    /// every address that is no object is found and refused. May be empty in release builds; then
    /// they find what the kernel finds.
    pub live: B::Slice<LiveMap>,
    /// Owners of objects: [`SlabStorageSize::owners`] of them, or none at all.
    pub owners: B::Slice<OwnerSlot>,
    /// Room for random sequences, one place for each object of a slab of each cache
    /// ([`CacheLayout::objects`](mmspec_model::vocab::CacheLayout)); used only by
    /// [`SlabRules::random_freelist`](mmspec_model::vocab::SlabRules).
    pub sequences: B::Slice<SequenceSlot>,
}

/// Lengths for [`SlabStorage`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlabStorageSize {
    /// The frame that the first record stands for.
    pub base: u64,
    /// Records of [`SlabStorage::frames`] and, unless it is empty, of [`SlabStorage::live`].
    pub frames: usize,
    /// Records of [`SlabStorage::caches`].
    pub caches: usize,
    /// Records of [`SlabStorage::cpus`].
    pub cpus: usize,
    /// Records of [`SlabStorage::nodes`].
    pub nodes: usize,
    /// Records of [`SlabStorage::homes`].
    pub homes: usize,
    /// Records of [`SlabStorage::cpu_nodes`].
    pub cpu_nodes: usize,
    /// Records of [`SlabStorage::owners`], unless it is empty: one for each
    /// [`OWNER_GRANULE`] bytes of memory.
    pub owners: usize,
}

/// Objects of caches whose stride is less than this stay without an owner, bytes. (In the kernel, a
/// vector of owners that cannot be allocated has that effect: memcg-slub.md §4.11.)
pub const OWNER_GRANULE: usize = 32;

impl SlabStorageSize {
    /// What `machine` needs for up to `caches` caches.
    #[must_use]
    pub fn of(machine: &MachineRef<'_>, caches: usize) -> Self {
        let base = machine.zones.iter().map(|zone| zone.span.start.0).min().unwrap_or(0);
        let frames = machine.end().0.saturating_sub(base) as usize;
        let (cpus, nodes) = (usize::from(machine.cpus), usize::from(machine.nodes));
        Self {
            base,
            frames,
            caches,
            cpus: caches * cpus,
            nodes: caches * nodes,
            homes: nodes,
            cpu_nodes: cpus,
            owners: frames * (4096 / OWNER_GRANULE),
        }
    }
}

impl<P: Platform, B: Backing> SlabStorage<P, B> {
    pub(super) fn check(&self, size: &SlabStorageSize) -> Result<(), SetupError> {
        let unless_empty = |given: usize, needed: usize| if given == 0 { 0 } else { needed };
        let live = if cfg!(debug_assertions) {
            size.frames
        } else {
            unless_empty(self.live.len(), size.frames)
        };
        for (what, given, needed) in [
            ("frames", self.frames.len(), size.frames),
            ("caches", self.caches.len(), size.caches),
            ("cpus", self.cpus.len(), size.cpus),
            ("nodes", self.nodes.len(), size.nodes),
            ("homes", self.homes.len(), size.homes),
            ("cpu_nodes", self.cpu_nodes.len(), size.cpu_nodes),
            ("live", self.live.len(), live),
            ("owners", self.owners.len(), unless_empty(self.owners.len(), size.owners)),
        ] {
            if given < needed {
                return Err(SetupError::Storage { what, given, needed });
            }
        }
        Ok(())
    }

    /// As at boot.
    pub(super) fn reset(&mut self, machine: &MachineRef<'_>) {
        self.caches.iter_mut().for_each(|cache| *cache = CacheSlot::new());
        self.cpus.iter_mut().for_each(|cpu| *cpu = SlabCpuSlot::new());
        self.nodes.iter_mut().for_each(|node| *node = SlabNodeSlot::new());
        for (slot, cpu) in self.cpu_nodes.iter_mut().zip(machine.cpu_ids()) {
            *slot = machine.node_of(cpu);
        }
        for (slot, node) in self.homes.iter_mut().zip(machine.node_ids()) {
            *slot = SlabHome::new();
            let nearest = &mut slot.nearest[..usize::from(machine.nodes)];
            nearest.iter_mut().zip(machine.node_ids()).for_each(|(slot, node)| *slot = node);
            nearest.sort_unstable_by_key(|other| (machine.distance(node, *other), other.0));
        }
    }
}

#[cfg(feature = "std")]
impl<P: Platform> SlabStorage<P, crate::Owned> {
    /// Heap slices for `machine`, with live maps and owners, and room for random sequences.
    #[must_use]
    pub fn on_heap(machine: &MachineRef<'_>, caches: usize) -> Self {
        fn slice<T>(len: usize, new: impl Fn() -> T) -> std::boxed::Box<[T]> {
            (0..len).map(|_| new()).collect()
        }
        let size = SlabStorageSize::of(machine, caches);
        Self {
            frames: slice(size.frames, SlabFrame::new),
            caches: slice(size.caches, CacheSlot::new),
            cpus: slice(size.cpus, SlabCpuSlot::new),
            nodes: slice(size.nodes, SlabNodeSlot::new),
            homes: slice(size.homes, SlabHome::new),
            cpu_nodes: slice(size.cpu_nodes, NodeId::default),
            live: slice(size.frames, LiveMap::default),
            owners: slice(size.owners, OwnerSlot::default),
            sequences: slice(caches * 4096, SequenceSlot::default),
        }
    }

    /// A copy of a quiescent allocator's slices.
    pub(super) fn copy(&self) -> Self {
        let half = |word: &AtomicU16| AtomicU16::new(word.load(Relaxed));
        let map = |live: &LiveMap| {
            LiveMap(core::array::from_fn(|at| AtomicU64::new(live.0[at].load(Relaxed))))
        };
        Self {
            frames: self.frames.iter().map(SlabFrame::copy).collect(),
            caches: self.caches.iter().map(CacheSlot::copy).collect(),
            cpus: self.cpus.iter().map(SlabCpuSlot::copy).collect(),
            nodes: self.nodes.iter().map(SlabNodeSlot::copy).collect(),
            homes: self.homes.iter().map(SlabHome::copy).collect(),
            cpu_nodes: self.cpu_nodes.clone(),
            live: self.live.iter().map(map).collect(),
            owners: self.owners.iter().map(|owner| OwnerSlot(half(&owner.0))).collect(),
            sequences: self.sequences.iter().map(|slot| SequenceSlot(half(&slot.0))).collect(),
        }
    }
}
