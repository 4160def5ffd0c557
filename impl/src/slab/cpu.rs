//! What a CPU holds of a cache (memcg-slub.md §4.5): its slab, its list, its partial slabs.

use super::{frame::Chain, frame::NIL, memory::NONE};
use crate::platform::{PcpLock, Platform};
use mmspec_model::vocab::SlabStat;

/// What of a cache's layout the quick ways need: a copy in each CPU's slot, so that they read no
/// other line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// XORed into stored pointers where they are hardened; 0: they are not.
    pub(super) secret: u64,
    /// For the number of an object by multiplication; see [`Shape::index`].
    magic: u64,
    pub(super) stride: u32,
    pub(super) free_pointer: u32,
}

impl Shape {
    const SHIFT: u32 = 44;

    pub(super) const fn new(stride: u32, free_pointer: u32, secret: u64) -> Self {
        let magic = (1 << Self::SHIFT) / stride as u64 + 1;
        Self { secret, magic, stride, free_pointer }
    }

    /// The number of the object at `offset` bytes in its slab: `offset / stride`. Exact, because
    /// offset and stride are at most 2^22 (order 10): the error of `magic` is at most 1, so that of
    /// the product less than 2^22, which is less than 2^44 / stride.
    #[inline(always)]
    pub(super) const fn index(&self, offset: u64) -> u64 {
        (offset * self.magic) >> Self::SHIFT
    }
}

/// One CPU's part of one cache, behind the CPU's lock.
#[derive(Clone, Debug)]
pub(super) struct CpuCache {
    /// The first object of the CPU's list, [`NONE`] if it is empty. All on it are of `slab`.
    pub(super) freelist: u64,
    pub(super) shape: Shape,
    /// The slab that the CPU allocates from, [`NIL`] if there is none.
    pub(super) slab: u32,
    /// The cache exists.
    pub(super) is_made: bool,
    /// Every list of a CPU is bypassed.
    pub(super) is_debug: bool,
    /// In the order of [`SlabStat`]; those of the quick ways come first.
    pub(super) stats: [u64; SlabStat::COUNT],
    /// Most objects that are collected before they are freed (`defer`); 0: none are.
    pub(super) defer_limit: u32,
    /// Objects collected.
    pub(super) deferred: u32,
    /// The slabs that they are of.
    pub(super) collection: u32,
    pub(super) partial: Chain,
    /// Length of the partial list.
    pub(super) partial_slabs: u32,
    /// Free objects of its slabs as they were when they were put there.
    pub(super) partial_objects: u32,
    /// State of the generator that decides on other nodes' slabs and on where random lists start.
    pub(super) random: u64,
}

impl CpuCache {
    const NEW: Self = Self {
        freelist: NONE,
        shape: Shape::new(8, 0, 0),
        slab: NIL,
        is_made: false,
        is_debug: false,
        stats: [0; SlabStat::COUNT],
        defer_limit: 0,
        deferred: 0,
        collection: NIL,
        partial: Chain::EMPTY,
        partial_slabs: 0,
        partial_objects: 0,
        random: 1,
    };

    /// Empty lists of a new cache.
    pub(super) fn begin(&mut self, shape: Shape, is_debug: bool, random: u64) {
        *self = Self { shape, is_made: true, is_debug, random: random | 1, ..Self::NEW };
    }

    #[inline(always)]
    pub(super) fn count(&mut self, stat: SlabStat) {
        self.add(stat, 1);
    }

    #[inline(always)]
    pub(super) fn add(&mut self, stat: SlabStat, by: u64) {
        self.stats[stat as usize] += by;
    }

    /// The next number of the generator, below `bound`.
    pub(super) fn random_below(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 16) % bound
    }
}

/// One CPU's part of one cache, as the embedder's storage holds it.
#[repr(align(128))]
pub struct SlabCpuSlot<P: Platform> {
    pub(super) lock: P::PcpLock<CpuCache>,
}

/// The guard of one CPU's part of a cache.
pub(super) type CpuGuard<'a, P> =
    <<P as Platform>::PcpLock<CpuCache> as PcpLock<CpuCache>>::Guard<'a>;

impl<P: Platform> SlabCpuSlot<P> {
    /// Of no cache yet.
    #[must_use]
    pub fn new() -> Self {
        Self { lock: P::PcpLock::new(CpuCache::NEW) }
    }

    /// The owner's way in. Where the owner's side is busy, another thread works as the same CPU, or
    /// a remote one looks at the lists: both leave soon.
    #[inline(always)]
    pub(super) fn enter(&self) -> CpuGuard<'_, P> {
        match self.lock.try_lock() {
            Some(guard) => guard,
            None => self.enter_after(),
        }
    }

    #[cold]
    fn enter_after(&self) -> CpuGuard<'_, P> {
        self.lock.lock_remote()
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        Self { lock: P::PcpLock::new(self.lock.lock_remote().clone()) }
    }
}

impl<P: Platform> Default for SlabCpuSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}
