//! Free (memcg-slub.md §4.7), and a CPU's list of partial slabs (§4.8).

use super::{
    allocator::SlabAllocator,
    cpu::{CpuCache, CpuGuard, Shape},
    frame::{Chain, Info, SlabFrame},
    memory::{NONE, ObjectMemory},
    word::{NO_INDEX, State},
};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use core::sync::atomic::Ordering::Relaxed;
use mmspec_model::{
    contract::{SlabError, SlabPages},
    vocab::{CacheId, CpuId, CpuPartialLimit, ObjAddr, SlabStat},
};

/// Free objects of one slab, linked to each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeList {
    pub(super) slab: u32,
    pub(super) head: u64,
    pub(super) tail: u64,
    pub(super) count: u16,
}

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// kmem_cache_free.
    ///
    /// # Errors
    /// [`SlabError::NoCache`]; [`SlabError::NotAnObject`] for an address outside the cache's slabs;
    /// [`SlabError::DoubleFree`] where the object is the last that was freed and pointers are
    /// hardened. With [live maps](super::SlabStorage::live) the latter two for every address that
    /// is no object, and every object that is not handed out. Nothing changes then.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline(always)]
    pub fn object_free(
        &self,
        cpu: CpuId,
        cache: CacheId,
        object: ObjAddr,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        match self.info_of(object) {
            Some(info) if info.is_of(cache) => self.free_known(cpu, info, object, pages),
            _ => self.refuse_free(cpu, cache, object),
        }
    }

    /// [`object_free`](Self::object_free) of the cache that the object's frame tells of (`kfree`).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline(always)]
    pub fn object_free_any(
        &self,
        cpu: CpuId,
        object: ObjAddr,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        if self.free_any_quick(cpu, object) {
            return Ok(());
        }
        match self.info_of(object) {
            Some(info) if info.is_present() => self.free_at_length(cpu, info, object, pages),
            _ => Err(SlabError::NotAnObject(object)),
        }
    }

    #[cold]
    fn refuse_free(&self, cpu: CpuId, cache: CacheId, object: ObjAddr) -> Result<(), SlabError> {
        let _own = self.enter(cpu, cache)?;
        Err(SlabError::NotAnObject(object))
    }

    /// Free what lies in a slab of a cache.
    #[inline(always)]
    fn free_known(
        &self,
        cpu: CpuId,
        info: Info,
        object: ObjAddr,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        if self.free_quick(cpu, info, object) {
            return Ok(());
        }
        self.free_at_length(cpu, info, object, pages)
    }

    /// Free an object of the CPU's slab, or collect it, if that can be done at once.
    #[inline(always)]
    fn free_quick(&self, cpu: CpuId, info: Info, object: ObjAddr) -> bool {
        let Some(mut own) = self.enter_quick(cpu, info.cache()) else { return false };
        if own.slab != info.head() {
            return self.defer_quick(&mut own, cpu, info.head(), object.0);
        }
        if self.check_naively(&own, own.freelist, object.0).is_err() {
            return false;
        }
        self.set_next(&own.shape, object.0, own.freelist);
        own.freelist = object.0;
        own.count(SlabStat::FreeFastpath);
        true
    }

    /// The same for whatever cache the object is of.
    #[inline(always)]
    pub(crate) fn free_any_quick(&self, cpu: CpuId, object: ObjAddr) -> bool {
        let info = self.info_of(object).filter(|info| info.is_present());
        info.is_some_and(|info| self.free_quick(cpu, info, object))
    }

    /// A free whose CPU cannot be entered quickly, or with checks.
    #[inline(never)]
    fn free_at_length(
        &self,
        cpu: CpuId,
        info: Info,
        object: ObjAddr,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        let own = self.enter(cpu, info.cache())?;
        if self.checks {
            self.check_free(&own.shape, info.head(), object)?;
        }
        self.free_list(own, cpu, info.cache(), Self::begin_list(info.head(), object.0), pages)
    }

    /// The kernel's own check: an object whose successor would be itself (§4.9).
    #[inline(always)]
    fn check_naively(&self, own: &CpuCache, before: u64, object: u64) -> Result<(), SlabError> {
        if own.shape.secret != 0 && before == object {
            return Err(SlabError::DoubleFree(ObjAddr(object)));
        }
        Ok(())
    }

    /// Whether an object of `slab` is handed out; from now on it is not.
    #[inline(never)]
    pub(super) fn check_free(
        &self,
        shape: &Shape,
        slab: u32,
        object: ObjAddr,
    ) -> Result<(), SlabError> {
        if !self.is_object_of(slab, shape, object.0) {
            return Err(SlabError::NotAnObject(object));
        }
        let frame = (object.0 >> 12).wrapping_sub(self.base) as usize;
        if !self.storage.live[frame].set(object.0, false) {
            return Err(SlabError::DoubleFree(object));
        }
        self.clear_owner(object);
        Ok(())
    }

    /// Free objects of one slab: to the CPU's list if it is the CPU's slab, else to the slab's own.
    #[inline]
    pub(super) fn free_list(
        &self,
        mut own: CpuGuard<'_, P>,
        cpu: CpuId,
        cache: CacheId,
        list: FreeList,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        if own.slab != list.slab {
            return self.free_slow(own, cpu, cache, list, pages);
        }
        self.check_naively(&own, own.freelist, list.tail)?;
        self.set_next(&own.shape, list.tail, own.freelist);
        own.freelist = list.head;
        own.add(SlabStat::FreeFastpath, u64::from(list.count));
        Ok(())
    }

    /// The slow path: counted once for each call.
    pub(super) fn free_slow(
        &self,
        mut own: CpuGuard<'_, P>,
        cpu: CpuId,
        cache: CacheId,
        list: FreeList,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        let mut doomed = Chain::EMPTY;
        let done = if self.defer(&mut own, cpu, list) {
            if own.deferred < own.defer_limit {
                return Ok(());
            }
            self.free_deferred(&mut own, cache, &mut doomed);
            Ok(())
        } else if own.is_debug {
            own.count(SlabStat::FreeSlowpath);
            self.free_debug(&mut own, cache, list, &mut doomed)
        } else {
            own.count(SlabStat::FreeSlowpath);
            self.free_to_slab(&mut own, cache, list, &mut doomed)
        };
        drop(own);
        self.discard(cpu, &mut doomed, pages);
        done
    }

    /// What the state of a slab becomes when `list` is put before its own; the list is linked so.
    #[inline]
    pub(super) fn with_list(
        &self,
        own: &CpuCache,
        seen: State,
        head: u16,
        list: FreeList,
    ) -> Result<State, SlabError> {
        let before = self.object(list.slab, &own.shape, seen.head);
        self.check_naively(own, before, list.tail)?;
        self.set_next(&own.shape, list.tail, before);
        Ok(State { head, inuse: seen.inuse.wrapping_sub(list.count), ..seen })
    }

    #[inline]
    pub(super) fn free_to_slab(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        list: FreeList,
        doomed: &mut Chain,
    ) -> Result<(), SlabError> {
        let record = self.slab(list.slab);
        let head = self.index(list.slab, &own.shape, list.head);
        let mut seen = record.state();
        loop {
            let new = self.with_list(own, seen, head, list)?;
            let was_full = seen.head == NO_INDEX;
            // A slab that becomes empty may be on its node's list and have to leave it. One that
            // was full is on no list, whatever it becomes: it goes to the CPU's.
            let exchanged = if new.inuse == 0 && !was_full && !seen.frozen {
                self.empty(own, cache, record, (seen, new), list.slab, doomed)
            } else {
                let exchanged = record.exchange(seen, new);
                if exchanged.is_ok() {
                    if seen.frozen {
                        own.count(SlabStat::FreeFrozen);
                    } else if was_full {
                        self.put_partial(own, cache, list.slab, doomed);
                        own.count(SlabStat::CpuPartialFree);
                    }
                }
                exchanged
            };
            let Err(found) = exchanged else { return Ok(()) };
            if found != seen {
                own.count(SlabStat::CmpxchgDoubleFail);
            }
            seen = found;
        }
    }

    /// Make a slab empty with its node's list held.
    #[inline(never)]
    fn empty(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        record: &SlabFrame<P>,
        (seen, new): (State, State),
        slab: u32,
        doomed: &mut Chain,
    ) -> Result<(), State> {
        let node = self.node_slot(cache, record.info().node());
        let min_partial = self.storage.caches[usize::from(cache.0)].min_partial.load();
        let is_done = node.locked(|list| {
            record.exchange(seen, new)?;
            // Not on the list: it is on some CPU's, and stays there though it is empty.
            let goes = record.is_on_node() && list.count >= min_partial;
            if goes {
                list.remove(self.frames(), slab);
            }
            Ok(goes)
        })?;
        if is_done {
            own.count(SlabStat::FreeRemovePartial);
            own.count(SlabStat::FreeSlab);
            self.doom(cache, slab, doomed);
        }
        Ok(())
    }

    /// Put a slab on the CPU's partial list, whatever the list's length.
    pub(super) fn push_partial(&self, own: &mut CpuCache, slab: u32) {
        let record = self.slab(slab);
        let free = u32::from(record.state().free());
        record.counted.store(free, Relaxed);
        own.partial.push(self.frames(), slab);
        own.partial_slabs += 1;
        own.partial_objects += free;
    }

    /// Put a slab on the CPU's partial list. If that is full, all that was there goes to the
    /// nodes'.
    fn put_partial(&self, own: &mut CpuCache, cache: CacheId, slab: u32, doomed: &mut Chain) {
        let config = &self.storage.caches[usize::from(cache.0)];
        let is_full = match self.rules.cpu_partial {
            CpuPartialLimit::Slabs => {
                u64::from(own.partial_slabs) >= config.cpu_partial_slabs.load()
            }
            CpuPartialLimit::Objects => u64::from(own.partial_objects) > config.cpu_partial.load(),
        };
        let old = if is_full { self.take_partials(own) } else { Chain::EMPTY };
        self.push_partial(own, slab);
        if !old.is_empty() {
            own.count(SlabStat::CpuPartialDrain);
            self.put_partials(own, cache, old, doomed);
        }
    }

    /// Take the CPU's partial list.
    pub(super) fn take_partials(&self, own: &mut CpuCache) -> Chain {
        (own.partial_slabs, own.partial_objects) = (0, 0);
        core::mem::replace(&mut own.partial, Chain::EMPTY)
    }

    /// A list of free objects of one slab, begun with one.
    #[inline(always)]
    pub(super) fn begin_list(slab: u32, object: u64) -> FreeList {
        FreeList { slab, head: object, tail: object, count: 1 }
    }

    /// Put another object at a list's tail.
    pub(super) fn extend_list(&self, shape: &Shape, list: &mut FreeList, object: u64) {
        debug_assert!(object != NONE);
        self.set_next(shape, list.tail, object);
        list.tail = object;
        list.count += 1;
    }
}
