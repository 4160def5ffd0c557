//! The slab allocator and its parts; making caches.

use super::{
    cache::{CacheSlot, Life, SlabNodeSlot},
    cpu::{CpuCache, CpuGuard, Shape, SlabCpuSlot},
    frame::{Chain, Info, NIL, SlabFrame},
    layout,
    memory::{FreeSlot, NONE, ObjectMemory},
    storage::{SlabStorage, SlabStorageSize},
    word::NO_INDEX,
};
use crate::{
    error::SetupError,
    platform::{Lock, PcpLock, Platform, Word},
    storage::Backing,
};
use core::sync::atomic::Ordering::Relaxed;
use mmspec_model::{
    contract::SlabError,
    vocab::{CacheFlags, CacheId, CacheLayout, CacheSpec, CpuId, MachineRef, NodeId, NodeMask},
    vocab::{ObjAddr, Pfn, SlabRules},
};

/// A slab allocator with Linux's policy (SLUB of 6.17 and before). All operations take `&self` and
/// may run concurrently; [`SlabCaches`](mmspec_model::contract::SlabCaches) is implemented for
/// `&SlabAllocator`.
///
/// Slab pages are asked of the [`SlabPages`](mmspec_model::contract::SlabPages) of each call, with
/// no lock held. Lock order: the lock of the caches, the lock of one CPU's part of a cache, a
/// node's list lock; never two of a kind.
pub struct SlabAllocator<P: Platform, B: Backing, M: ObjectMemory> {
    pub(super) memory: M,
    pub(super) storage: SlabStorage<P, B>,
    pub(super) base: u64,
    pub(super) nr_cpus: usize,
    /// The same, or 0 if all operations have to be checked.
    quick_cpus: usize,
    pub(super) nr_nodes: usize,
    /// Whether the live maps are kept.
    pub(super) checks: bool,
    pub(super) rules: SlabRules,
    /// Nodes that have memory.
    with_memory: NodeMask,
    seed: u64,
    made: P::ZoneLock<Made>,
    /// Slabs that wait for a grace period, by their first frames.
    pub(super) waiting: P::ZoneLock<Chain>,
}

/// What the lock of the caches guards.
#[derive(Clone, Copy, Debug)]
struct Made {
    caches: u16,
    /// Places of the table of random sequences in use.
    sequences: usize,
}

/// One step of splitmix64: numbers that look random from numbers that do not.
fn mix(seed: u64) -> u64 {
    let mut word = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    word = (word ^ word >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    word = (word ^ word >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ word >> 31
}

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// An allocator without caches on `machine`. `seed` decides all that is random: secrets of
    /// hardened pointers, random sequences, visits to other nodes.
    ///
    /// # Errors
    /// The machine contradicts itself, or a slice is too short.
    pub fn new(
        machine: MachineRef<'_>,
        rules: SlabRules,
        seed: u64,
        mut storage: SlabStorage<P, B>,
        memory: M,
    ) -> Result<Self, SetupError> {
        machine.validate()?;
        let caches = storage.caches.len().min(usize::from(u16::MAX));
        let size = SlabStorageSize::of(&machine, caches);
        storage.check(&size)?;
        storage.reset(&machine);
        let checks = !storage.live.is_empty();
        let with_memory = machine.zones.iter().fold(0, |mask, zone| mask | 1 << zone.node.0);
        Ok(Self {
            memory,
            checks,
            storage,
            base: size.base,
            nr_cpus: usize::from(machine.cpus),
            quick_cpus: if checks { 0 } else { usize::from(machine.cpus) },
            nr_nodes: usize::from(machine.nodes),
            rules,
            with_memory: NodeMask(with_memory),
            seed,
            made: P::ZoneLock::new(Made { caches: 0, sequences: 0 }),
            waiting: P::ZoneLock::new(Chain::EMPTY),
        })
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> SlabRules {
        self.rules
    }

    /// kmem_cache_create. Caches of equal shape are not merged, and a name may be used twice.
    ///
    /// # Errors
    /// [`SlabError::Size`] for sizes that no cache can hold, [`SlabError::TooMany`] if the storage
    /// has no record left, or no room for the cache's random sequence.
    pub fn cache_create(&self, spec: CacheSpec) -> Result<CacheId, SlabError> {
        let layout = layout::layout(&spec, &self.rules, self.nr_cpus as u32)?;
        self.create(spec, layout)
    }

    /// The same with free pointers at the start of objects instead of in the middle, where they can
    /// lie inside: whoever takes an object touches its first bytes first, and finds their line read
    /// already. Not the kernel's rule; its choice makes overflows less harmful.
    ///
    /// # Errors
    /// As there.
    pub fn cache_create_for_speed(&self, spec: CacheSpec) -> Result<CacheId, SlabError> {
        let mut layout = layout::layout(&spec, &self.rules, self.nr_cpus as u32)?;
        if layout.free_pointer < spec.object_size {
            layout.free_pointer = 0;
        }
        self.create(spec, layout)
    }

    fn create(&self, spec: CacheSpec, layout: CacheLayout) -> Result<CacheId, SlabError> {
        let mut made = self.made.lock();
        let id = CacheId(made.caches);
        let slot = self.storage.caches.get(usize::from(id.0)).ok_or(SlabError::TooMany)?;
        let seed = self.cache_seed(id);
        let mut sequence = NONE;
        if self.rules.random_freelist && layout.objects > 1 {
            let end = made.sequences + layout.objects as usize;
            let places =
                self.storage.sequences.get(made.sequences..end).ok_or(SlabError::TooMany)?;
            shuffle(
                places.len(),
                seed,
                |at, object| places[at].0.store(object, Relaxed),
                |at| places[at].0.load(Relaxed),
            );
            sequence = made.sequences as u64;
            made.sequences = end;
        }
        slot.begin(&spec, &layout, sequence);
        let shape = self.shape_of(id);
        for (at, cpu) in self.cpu_slots(id).iter().enumerate() {
            let is_debug = spec.flags.contains(CacheFlags::DEBUG);
            cpu.lock.lock_remote().begin(shape, is_debug, mix(seed ^ at as u64));
        }
        made.caches += 1;
        Ok(id)
    }

    /// How many caches were made, destroyed ones included.
    #[must_use]
    pub fn cache_count(&self) -> usize {
        usize::from(self.made.lock().caches)
    }

    /// A cache that exists.
    pub(super) fn cache(&self, cache: CacheId) -> Result<&CacheSlot<P>, SlabError> {
        let slot = self.storage.caches.get(usize::from(cache.0)).ok_or(SlabError::NoCache)?;
        if slot.life() == Life::Made { Ok(slot) } else { Err(SlabError::NoCache) }
    }

    /// How the objects of a cache lie; `None` once it is destroyed.
    #[must_use]
    pub fn cache_layout(&self, cache: CacheId) -> Option<CacheLayout> {
        self.cache(cache).ok().map(CacheSlot::layout)
    }

    /// All CPUs' parts of a cache that was made.
    pub(super) fn cpu_slots(&self, cache: CacheId) -> &[SlabCpuSlot<P>] {
        let first = usize::from(cache.0) * self.nr_cpus;
        &self.storage.cpus[first..first + self.nr_cpus]
    }

    /// One node's part of a cache.
    #[inline]
    pub(super) fn node_slot(&self, cache: CacheId, node: NodeId) -> &SlabNodeSlot<P> {
        &self.storage.nodes[usize::from(cache.0) * self.nr_nodes + node.index() % self.nr_nodes]
    }

    /// The owner's way to its part of a cache where that is quick, nothing is to be checked, and
    /// the cache may have been made.
    #[inline(always)]
    pub(super) fn enter_quick(&self, cpu: CpuId, cache: CacheId) -> Option<CpuGuard<'_, P>> {
        if cpu.index() >= self.quick_cpus {
            return None;
        }
        let at = usize::from(cache.0) * self.nr_cpus + cpu.index();
        self.storage.cpus.get(at)?.lock.try_lock_quick()
    }

    /// The owner's way to its part of a cache.
    #[inline(always)]
    pub(super) fn enter(&self, cpu: CpuId, cache: CacheId) -> Result<CpuGuard<'_, P>, SlabError> {
        let first = usize::from(cache.0) * self.nr_cpus;
        let cpus = self.storage.cpus.get(first..first + self.nr_cpus).ok_or(SlabError::NoCache)?;
        let guard = cpus[cpu.index()].enter();
        if guard.is_made { Ok(guard) } else { Err(SlabError::NoCache) }
    }

    /// The shape of a cache that was made.
    pub(super) fn shape_of(&self, cache: CacheId) -> Shape {
        let layout = self.storage.caches[usize::from(cache.0)].layout();
        Shape::new(layout.stride, layout.free_pointer, self.secret(cache))
    }

    fn cache_seed(&self, cache: CacheId) -> u64 {
        mix(self.seed ^ u64::from(cache.0) << 32)
    }

    /// What hardened pointers of a cache are encoded with; 0: they are plain.
    fn secret(&self, cache: CacheId) -> u64 {
        if self.rules.hardened { mix(self.cache_seed(cache)) | 1 } else { 0 }
    }

    /// Whether a node has memory; requests for one without are requests for any.
    pub(super) fn has_memory(&self, node: NodeId) -> bool {
        self.with_memory.contains(node)
    }

    #[inline(always)]
    pub(super) fn frames(&self) -> &[SlabFrame<P>] {
        &self.storage.frames
    }

    #[inline(always)]
    pub(super) fn slab(&self, slab: u32) -> &SlabFrame<P> {
        &self.storage.frames[slab as usize]
    }

    /// The record of the frame at an address, if there is one.
    #[inline(always)]
    pub(super) fn frame_at(&self, address: u64) -> Option<&SlabFrame<P>> {
        self.storage.frames.get((address >> 12).wrapping_sub(self.base) as usize)
    }

    /// The first frame of a slab.
    pub(super) fn pfn(&self, slab: u32) -> Pfn {
        Pfn(self.base + u64::from(slab))
    }

    /// The address of a slab.
    #[inline(always)]
    pub(super) fn start(&self, slab: u32) -> u64 {
        (self.base + u64::from(slab)) << 12
    }

    /// The address of an object by its number.
    #[inline(always)]
    pub(super) fn object(&self, slab: u32, shape: &Shape, index: u16) -> u64 {
        if index == NO_INDEX {
            return NONE;
        }
        self.start(slab) + u64::from(index) * u64::from(shape.stride)
    }

    /// The number of an object of a slab.
    #[inline(always)]
    pub(super) fn index(&self, slab: u32, shape: &Shape, object: u64) -> u16 {
        if object == NONE {
            NO_INDEX
        } else {
            shape.index(object.wrapping_sub(self.start(slab))) as u16
        }
    }

    /// The object behind a free one.
    #[inline(always)]
    pub(super) fn next(&self, shape: &Shape, object: u64) -> u64 {
        let slot = object.wrapping_add(u64::from(shape.free_pointer));
        let stored = self.memory.load(FreeSlot(slot));
        if shape.secret == 0 { stored } else { stored ^ shape.secret ^ slot.swap_bytes() }
    }

    /// Write what comes behind a free object.
    #[inline(always)]
    pub(super) fn set_next(&self, shape: &Shape, object: u64, next: u64) {
        let slot = object.wrapping_add(u64::from(shape.free_pointer));
        let stored = if shape.secret == 0 { next } else { next ^ shape.secret ^ slot.swap_bytes() };
        self.memory.store(FreeSlot(slot), stored);
    }

    /// Whether `object` is the address of an object of `slab`.
    pub(super) fn is_object_of(&self, slab: u32, shape: &Shape, object: u64) -> bool {
        let record = self.slab(slab);
        let offset = object.wrapping_sub(self.start(slab));
        let index = if offset >> 22 == 0 { shape.index(offset) } else { u64::MAX };
        index < u64::from(record.state().objects) && index * u64::from(shape.stride) == offset
    }

    /// Which slab of which cache an object is of, without a look at whether it is handed out.
    #[inline(always)]
    pub(super) fn info_of(&self, object: ObjAddr) -> Option<Info> {
        self.frame_at(object.0).map(SlabFrame::info)
    }

    /// The cache whose slab holds an address: what a heap's `free` asks first.
    #[must_use]
    #[inline]
    pub fn cache_of(&self, object: ObjAddr) -> Option<CacheId> {
        let info = self.info_of(object)?;
        info.is_present().then(|| info.cache())
    }

    /// End a cache on all CPUs, whose lists are empty.
    pub(super) fn end_cache(&self, cache: CacheId, slot: &CacheSlot<P>) {
        slot.set_life(Life::Destroyed);
        for cpu in self.cpu_slots(cache) {
            cpu.lock.lock_remote().is_made = false;
        }
    }

    /// The nodes in the order in which they are asked from `node`, itself first.
    pub(super) fn nearest(&self, node: NodeId) -> &[NodeId] {
        let nearest = &self.storage.homes[node.index() % self.nr_nodes].nearest;
        &nearest[..self.nr_nodes]
    }

    /// The node of a CPU.
    pub(super) fn node_of(&self, cpu: CpuId) -> NodeId {
        self.storage.cpu_nodes[cpu.index()]
    }

    /// Bytes of slabs on a node: NR_SLAB_RECLAIMABLE_B or NR_SLAB_UNRECLAIMABLE_B
    /// (memcg-slub.md §4.11). Slabs that wait for a grace period count.
    #[must_use]
    pub fn slab_bytes(&self, node: NodeId, reclaimable: bool) -> u64 {
        self.storage.homes[node.index() % self.nr_nodes].bytes[usize::from(reclaimable)].load()
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self
    where
        B: Backing,
        SlabStorage<P, B>: super::host::Copied,
        M: Clone,
    {
        use super::host::Copied;
        Self {
            memory: self.memory.clone(),
            storage: self.storage.copied(),
            base: self.base,
            nr_cpus: self.nr_cpus,
            quick_cpus: self.quick_cpus,
            nr_nodes: self.nr_nodes,
            checks: self.checks,
            rules: self.rules,
            with_memory: self.with_memory,
            seed: self.seed,
            made: P::ZoneLock::new(*self.made.lock()),
            waiting: P::ZoneLock::new(*self.waiting.lock()),
        }
    }
}

/// A random order of the numbers below `count` (Fisher-Yates; memcg-slub.md §4.9).
fn shuffle(count: usize, seed: u64, set: impl Fn(usize, u16), get: impl Fn(usize) -> u16) {
    (0..count).for_each(|at| set(at, at as u16));
    let mut random = seed;
    for at in (1..count).rev() {
        random = mix(random);
        let other = (random % (at as u64 + 1)) as usize;
        let (here, there) = (get(at), get(other));
        set(at, there);
        set(other, here);
    }
}

impl CpuCache {
    /// Begin to allocate from `slab` and its list.
    #[inline]
    pub(super) fn load(&mut self, slab: u32, freelist: u64) {
        debug_assert!(self.slab == NIL, "a CPU's slab is replaced while it is in use");
        self.slab = slab;
        self.freelist = freelist;
    }
}
