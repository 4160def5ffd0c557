//! Many objects at once.

use super::{
    alloc::Ask, allocator::SlabAllocator, free::FreeList, memory::NONE, memory::ObjectMemory,
};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{SlabError, SlabPages},
    vocab::{CacheId, CpuId, Gfp, ObjAddr, SlabStat},
};

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// kmem_cache_alloc_bulk: all of `slots` or none. Whether they are filled. An object of the
    /// CPU's list counts as one on the fast path, any other as one on the slow path (law L20).
    ///
    /// # Errors
    /// [`SlabError::NoCache`].
    pub fn object_alloc_bulk(
        &self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        slots: &mut [ObjAddr],
        pages: &mut dyn SlabPages,
    ) -> Result<bool, SlabError> {
        let mut own = self.enter(cpu, cache)?;
        for at in 0..slots.len() {
            let object = if own.freelist != NONE {
                own.count(SlabStat::AllocFastpath);
                self.take_first(&mut own)
            } else {
                let ask = Ask { cpu, cache, gfp, node: None };
                let found = self.alloc_counted(own, ask, pages);
                let Some(object) = found else {
                    self.object_free_bulk(cpu, cache, &slots[..at], pages)?;
                    return Ok(false);
                };
                own = self.enter(cpu, cache)?;
                object
            };
            self.note_alloc(object);
            slots[at] = ObjAddr(object);
        }
        Ok(true)
    }

    /// kmem_cache_free_bulk: objects of one slab that follow each other are freed as one list,
    /// whose first is the first of `objects`.
    ///
    /// # Errors
    /// [`SlabError::NoCache`]; the first that cannot be freed, see
    /// [`object_free`](Self::object_free): those before it are freed.
    pub fn object_free_bulk(
        &self,
        cpu: CpuId,
        cache: CacheId,
        objects: &[ObjAddr],
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        let mut rest = objects;
        while let Some(first) = rest.first() {
            let own = self.enter(cpu, cache)?;
            let shape = own.shape;
            let mut list: Option<FreeList> = None;
            let mut refused = Ok(());
            for object in rest {
                let slab = match self.info_of(*object).filter(|info| info.is_of(cache)) {
                    Some(info) => info.head(),
                    None => {
                        refused = Err(SlabError::NotAnObject(*object));
                        break;
                    }
                };
                if list.is_some_and(|list| list.slab != slab) {
                    break;
                }
                if self.checks {
                    refused = self.check_free(&shape, slab, *object);
                    if refused.is_err() {
                        break;
                    }
                }
                match &mut list {
                    Some(list) => self.extend_list(&shape, list, object.0),
                    None => list = Some(Self::begin_list(slab, first.0)),
                }
            }
            if let Some(list) = list {
                // The number of those linked, whatever stopped the run (bug S8).
                rest = &rest[usize::from(list.count)..];
                self.free_list(own, cpu, cache, list, pages)?;
            }
            refused?;
        }
        Ok(())
    }
}
