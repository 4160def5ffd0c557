//! Slab caches over a page allocator.

use crate::vocab::{
    CacheId, CacheLayout, CacheNodeState, CacheSpec, CpuId, Gfp, NodeId, ObjAddr, Order, Pfn,
    SlabRules, SlabStat, SlabState,
};

/// Where slab pages come from. The embedder walks its slow path here.
pub trait SlabPages {
    /// A block of `order`, for a slab that prefers `node`.
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Option<Pfn>;

    /// Give one back.
    fn free(&mut self, cpu: CpuId, pfn: Pfn, order: Order);

    /// The node that a frame belongs to.
    fn node_of(&self, pfn: Pfn) -> NodeId {
        let _ = pfn;
        NodeId(0)
    }
}

/// Why a call of a slab allocator is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum SlabError {
    /// Too large an object, no power of two as alignment, or a size of 0.
    #[error("no cache can hold objects of this size and alignment")]
    Size,
    /// No cache or slab record is left.
    #[error("no more caches: all are used")]
    TooMany,
    /// No such cache.
    #[error("there is no such cache, or it was destroyed")]
    NoCache,
    /// Objects are left (destroy).
    #[error("{0} slabs still hold objects")]
    InUse(u64),
    /// The address is no object of this cache.
    #[error("{0:?} is no object of this cache")]
    NotAnObject(ObjAddr),
    /// It was free already.
    #[error("{0:?} is freed twice")]
    DoubleFree(ObjAddr),
}

/// Capability: slab caches (memcg-slub.md §4).
///
/// Slab pages are asked of the [`SlabPages`] that each call names.
pub trait SlabCaches {
    /// The rules.
    fn slab_rules(&self) -> SlabRules;

    /// kmem_cache_create.
    ///
    /// # Errors
    /// Bad sizes, or no cache left.
    fn cache_create(&mut self, spec: CacheSpec) -> Result<CacheId, SlabError>;

    /// kmem_cache_destroy.
    ///
    /// # Errors
    /// Objects are left: nothing but empty slabs is gone.
    fn cache_destroy(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError>;

    /// kmem_cache_alloc_node. `None`: no page was to be had.
    ///
    /// # Errors
    /// No such cache.
    fn object_alloc(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        node: Option<NodeId>,
        pages: &mut dyn SlabPages,
    ) -> Result<Option<ObjAddr>, SlabError>;

    /// kmem_cache_free.
    ///
    /// # Errors
    /// Not an object of this cache, or free already.
    fn object_free(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        object: ObjAddr,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError>;

    /// kmem_cache_alloc_bulk: all of `slots` or none. Whether they are filled.
    ///
    /// # Errors
    /// No such cache.
    fn object_alloc_bulk(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        slots: &mut [ObjAddr],
        pages: &mut dyn SlabPages,
    ) -> Result<bool, SlabError>;

    /// kmem_cache_free_bulk: objects of one slab that follow each other are freed as one list.
    ///
    /// # Errors
    /// The first that is no object of this cache; those before it are freed.
    fn object_free_bulk(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        objects: &[ObjAddr],
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError>;

    /// Flush one CPU's lists of a cache.
    fn cache_flush_cpu(&mut self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages);

    /// kmem_cache_shrink: flush all CPUs, free empty slabs, sort the others. Whether any slab is left.
    fn cache_shrink(&mut self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) -> bool;

    /// Write `min_partial`.
    fn set_min_partial(&mut self, cache: CacheId, slabs: u32);

    /// Write `cpu_partial` (objects); every CPU is flushed.
    fn set_cpu_partial(
        &mut self,
        cpu: CpuId,
        cache: CacheId,
        objects: u32,
        pages: &mut dyn SlabPages,
    );

    /// A grace period has passed: slabs of RCU caches that wait for it are given back. How many.
    fn rcu_pass(&mut self, cpu: CpuId, pages: &mut dyn SlabPages) -> u64;

    /// How many caches were made.
    fn cache_count(&self) -> usize;

    /// How its objects lie; `None` once destroyed.
    fn cache_layout(&self, cache: CacheId) -> Option<CacheLayout>;

    /// Its numbers on one node.
    fn cache_node(&self, cache: CacheId, node: NodeId) -> CacheNodeState;

    /// One of its statistics, of all CPUs.
    fn cache_stat(&self, cache: CacheId, stat: SlabStat) -> u64;

    /// Its slabs. Lists in their order, head first; full slabs in the order of their frames.
    fn for_each_slab(&self, cache: CacheId, visit: &mut dyn FnMut(SlabState));

    /// Whether `object` is handed out.
    fn is_live(&self, cache: CacheId, object: ObjAddr) -> bool;
}
