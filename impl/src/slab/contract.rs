//! [`SlabCaches`] for handles: `&SlabAllocator`, `OwnedSlabs`, `&OwnedSlabs`.

use super::{allocator::SlabAllocator, memory::ObjectMemory};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{SlabCaches, SlabError, SlabPages},
    vocab::{
        CacheId, CacheLayout, CacheNodeState, CacheSpec, CpuId, Gfp, NodeId, ObjAddr, SlabRules,
        SlabStat, SlabState,
    },
};

macro_rules! handle {
    ([$($generics:tt)*] $handle:ty, $backing:ty, $memory:ty) => {
        impl<$($generics)*> SlabCaches for $handle {
            fn slab_rules(&self) -> SlabRules {
                SlabAllocator::<P, $backing, $memory>::rules(self)
            }

            fn cache_create(&mut self, spec: CacheSpec) -> Result<CacheId, SlabError> {
                SlabAllocator::<P, $backing, $memory>::cache_create(self, spec)
            }

            fn cache_destroy(
                &mut self,
                cpu: CpuId,
                cache: CacheId,
                pages: &mut dyn SlabPages,
            ) -> Result<(), SlabError> {
                SlabAllocator::<P, $backing, $memory>::cache_destroy(self, cpu, cache, pages)
            }

            fn object_alloc(
                &mut self,
                cpu: CpuId,
                cache: CacheId,
                gfp: Gfp,
                node: Option<NodeId>,
                pages: &mut dyn SlabPages,
            ) -> Result<Option<ObjAddr>, SlabError> {
                SlabAllocator::<P, $backing, $memory>::object_alloc(self, cpu, cache, gfp, node, pages)
            }

            fn object_free(
                &mut self,
                cpu: CpuId,
                cache: CacheId,
                object: ObjAddr,
                pages: &mut dyn SlabPages,
            ) -> Result<(), SlabError> {
                SlabAllocator::<P, $backing, $memory>::object_free(self, cpu, cache, object, pages)
            }

            fn object_alloc_bulk(
                &mut self,
                cpu: CpuId,
                cache: CacheId,
                gfp: Gfp,
                slots: &mut [ObjAddr],
                pages: &mut dyn SlabPages,
            ) -> Result<bool, SlabError> {
                SlabAllocator::<P, $backing, $memory>::object_alloc_bulk(self, cpu, cache, gfp, slots, pages)
            }

            fn object_free_bulk(
                &mut self,
                cpu: CpuId,
                cache: CacheId,
                objects: &[ObjAddr],
                pages: &mut dyn SlabPages,
            ) -> Result<(), SlabError> {
                SlabAllocator::<P, $backing, $memory>::object_free_bulk(self, cpu, cache, objects, pages)
            }

            fn cache_flush_cpu(&mut self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) {
                SlabAllocator::<P, $backing, $memory>::cache_flush_cpu(self, cpu, cache, pages);
            }

            fn cache_shrink(&mut self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) -> bool {
                SlabAllocator::<P, $backing, $memory>::cache_shrink(self, cpu, cache, pages)
            }

            fn set_min_partial(&mut self, cache: CacheId, slabs: u32) {
                SlabAllocator::<P, $backing, $memory>::set_min_partial(self, cache, slabs);
            }

            fn set_cpu_partial(
                &mut self,
                cpu: CpuId,
                cache: CacheId,
                objects: u32,
                pages: &mut dyn SlabPages,
            ) {
                SlabAllocator::<P, $backing, $memory>::set_cpu_partial(self, cpu, cache, objects, pages);
            }

            fn rcu_pass(&mut self, cpu: CpuId, pages: &mut dyn SlabPages) -> u64 {
                SlabAllocator::<P, $backing, $memory>::rcu_pass(self, cpu, pages)
            }

            fn cache_count(&self) -> usize {
                SlabAllocator::<P, $backing, $memory>::cache_count(self)
            }

            fn cache_layout(&self, cache: CacheId) -> Option<CacheLayout> {
                SlabAllocator::<P, $backing, $memory>::cache_layout(self, cache)
            }

            fn cache_node(&self, cache: CacheId, node: NodeId) -> CacheNodeState {
                SlabAllocator::<P, $backing, $memory>::cache_node(self, cache, node)
            }

            fn cache_stat(&self, cache: CacheId, stat: SlabStat) -> u64 {
                SlabAllocator::<P, $backing, $memory>::cache_stat(self, cache, stat)
            }

            fn for_each_slab(&self, cache: CacheId, visit: &mut dyn FnMut(SlabState)) {
                SlabAllocator::<P, $backing, $memory>::for_each_slab(self, cache, visit);
            }

            fn is_live(&self, cache: CacheId, object: ObjAddr) -> bool {
                SlabAllocator::<P, $backing, $memory>::is_live(self, cache, object)
            }
        }
    };
}

handle!([P: Platform, B: Backing, M: ObjectMemory] &SlabAllocator<P, B, M>, B, M);
#[cfg(feature = "std")]
handle!([P: Platform] super::OwnedSlabs<P>, crate::Owned, super::SparseTable);
#[cfg(feature = "std")]
handle!([P: Platform] &super::OwnedSlabs<P>, crate::Owned, super::SparseTable);
