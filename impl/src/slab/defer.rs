//! Deferred frees: an option beyond the kernel's rules, off unless asked for.
//!
//! A free outside the CPU's slab costs an atomic exchange on the slab, which waits for all writes
//! before it. With deferral a CPU first collects what it frees, slab by slab, in lists that it
//! alone uses, and frees each list at once: when it holds enough, or when it is flushed. When it
//! needs a slab itself, it takes one that it has collected objects of. All that is
//! kmem_cache_free_bulk with the best possible order; until then such objects count as in use, as
//! objects in the sheaves of later kernels do (law L14). A slab whose list another CPU has begun is
//! freed into the usual way.

use super::{
    alloc::Ask,
    allocator::SlabAllocator,
    cpu::CpuCache,
    frame::{Chain, NIL},
    free::FreeList,
    memory::{NONE, ObjectMemory},
    word::{NO_INDEX, State},
};
use crate::{
    platform::{PcpLock, Platform},
    storage::Backing,
};
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use mmspec_model::vocab::{CacheId, CpuId, SlabStat};

/// A slab's objects that one CPU has collected. Only the CPU named by `owner` touches the rest.
#[derive(Debug)]
pub(super) struct Collected {
    /// The CPU's number and 1; 0: none.
    owner: AtomicU32,
    count: AtomicU32,
    head: AtomicU64,
    tail: AtomicU64,
    /// The next slab of the CPU's collection.
    next: AtomicU32,
}

impl Collected {
    pub(super) const fn new() -> Self {
        Self {
            owner: AtomicU32::new(0),
            count: AtomicU32::new(0),
            head: AtomicU64::new(0),
            tail: AtomicU64::new(0),
            next: AtomicU32::new(0),
        }
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = |word: &AtomicU32| AtomicU32::new(word.load(Relaxed));
        Self {
            owner: copy(&self.owner),
            count: copy(&self.count),
            head: AtomicU64::new(self.head.load(Relaxed)),
            tail: AtomicU64::new(self.tail.load(Relaxed)),
            next: copy(&self.next),
        }
    }
}

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// From now on each CPU may collect up to `objects` objects that it frees before it frees them;
    /// 0 ends that, and each CPU frees what it has when it next works on the cache's slow ways.
    pub fn set_deferred(&self, cache: CacheId, objects: u32) {
        if self.cache(cache).is_ok() {
            for slot in self.cpu_slots(cache) {
                slot.lock.lock_remote().defer_limit = objects;
            }
        }
    }

    /// Objects that all CPUs have collected.
    #[must_use]
    pub fn deferred(&self, cache: CacheId) -> u64 {
        if self.cache(cache).is_err() {
            return 0;
        }
        let slots = self.cpu_slots(cache).iter();
        slots.map(|slot| u64::from(slot.lock.lock_remote().deferred)).sum()
    }

    /// Collect an object where there is room, and objects of its slab are collected already.
    /// Whether that was done.
    #[inline(always)]
    pub(super) fn defer_quick(
        &self,
        own: &mut CpuCache,
        cpu: CpuId,
        slab: u32,
        object: u64,
    ) -> bool {
        let collected = &self.slab(slab).collected;
        let more = own.deferred + 1;
        if more >= own.defer_limit || collected.owner.load(Relaxed) != u32::from(cpu.0) + 1 {
            return false;
        }
        self.set_next(&own.shape, object, collected.head.load(Relaxed));
        collected.head.store(object, Relaxed);
        collected.count.store(collected.count.load(Relaxed) + 1, Relaxed);
        own.deferred = more;
        true
    }

    /// Collect a list of objects of a slab that is not the CPU's. Whether that was done.
    #[inline]
    pub(super) fn defer(&self, own: &mut CpuCache, cpu: CpuId, list: FreeList) -> bool {
        if own.defer_limit == 0 || own.is_debug {
            return false;
        }
        let collected = &self.slab(list.slab).collected;
        let me = u32::from(cpu.0) + 1;
        if collected.owner.load(Relaxed) != me {
            return self.begin_deferring(own, me, list);
        }
        self.set_next(&own.shape, list.tail, collected.head.load(Relaxed));
        collected.head.store(list.head, Relaxed);
        collected.count.store(collected.count.load(Relaxed) + u32::from(list.count), Relaxed);
        own.deferred += u32::from(list.count);
        true
    }

    #[inline(never)]
    fn begin_deferring(&self, own: &mut CpuCache, me: u32, list: FreeList) -> bool {
        let collected = &self.slab(list.slab).collected;
        if collected.owner.compare_exchange(0, me, Acquire, Relaxed).is_err() {
            return false;
        }
        self.set_next(&own.shape, list.tail, NONE);
        collected.head.store(list.head, Relaxed);
        collected.tail.store(list.tail, Relaxed);
        collected.count.store(u32::from(list.count), Relaxed);
        collected.next.store(own.collection, Relaxed);
        own.collection = list.slab;
        own.deferred += u32::from(list.count);
        true
    }

    /// Free all that the CPU has collected.
    #[inline(never)]
    pub(super) fn free_deferred(&self, own: &mut CpuCache, cache: CacheId, doomed: &mut Chain) {
        while let Some(list) = self.take_collected(own) {
            self.free_collected(own, cache, list, doomed);
        }
    }

    /// The list that the CPU began last.
    fn take_collected(&self, own: &mut CpuCache) -> Option<FreeList> {
        let slab = own.collection;
        if slab == NIL {
            return None;
        }
        let collected = &self.slab(slab).collected;
        let list = FreeList {
            slab,
            head: collected.head.load(Relaxed),
            tail: collected.tail.load(Relaxed),
            count: collected.count.load(Relaxed) as u16,
        };
        own.collection = collected.next.load(Relaxed);
        own.deferred -= u32::from(list.count);
        collected.owner.store(0, Release);
        Some(list)
    }

    fn free_collected(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        list: FreeList,
        doomed: &mut Chain,
    ) {
        if own.slab == list.slab {
            self.set_next(&own.shape, list.tail, own.freelist);
            own.freelist = list.head;
            own.add(SlabStat::FreeFastpath, u64::from(list.count));
        } else {
            own.count(SlabStat::FreeSlowpath);
            // Refused only for an object freed twice in a row, which is lost then.
            let _ = self.free_to_slab(own, cache, list, doomed);
        }
    }

    /// The CPU has no slab: make one of its collected slabs that, with the objects collected.
    /// Whether there was one. It is what a bulk free into a full slab and the next allocation come
    /// to (the slab goes to the CPU's partial list and is taken from there), in one step, and is
    /// counted so.
    #[inline(never)]
    pub(super) fn adopt(&self, own: &mut CpuCache, ask: Ask, doomed: &mut Chain) -> bool {
        while let Some(list) = self.take_collected(own) {
            let record = self.slab(list.slab);
            let seen = record.state();
            let is_full = seen.head == NO_INDEX && !seen.frozen;
            let new = State { frozen: true, ..seen };
            if is_full && self.is_on(list.slab, ask.node) && record.exchange(seen, new).is_ok() {
                for stat in
                    [SlabStat::FreeSlowpath, SlabStat::CpuPartialFree, SlabStat::CpuPartialAlloc]
                {
                    own.count(stat);
                }
                own.load(list.slab, list.head);
                return true;
            }
            self.free_collected(own, ask.cache, list, doomed);
        }
        false
    }
}
