//! Slabs are put away: deactivate, flush, shrink, destroy (memcg-slub.md §4.8).

use super::{
    allocator::SlabAllocator,
    cpu::CpuCache,
    frame::{Chain, NIL, NodeList},
    memory::{NONE, ObjectMemory},
    word::{NO_INDEX, State},
};
use crate::{
    platform::{PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{SlabError, SlabPages},
    vocab::{CacheId, CpuId, NodeId, SlabStat},
};

/// Slabs with up to so many free objects are sorted by shrink.
const SORTED: usize = 32;

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// Put the CPU's slab away with what is left of the CPU's list.
    pub(super) fn deactivate_own(&self, own: &mut CpuCache, cache: CacheId, doomed: &mut Chain) {
        let slab = core::mem::replace(&mut own.slab, NIL);
        let first = core::mem::replace(&mut own.freelist, NONE);
        let record = self.slab(slab);
        let mut seen = record.state();
        let to_tail = seen.head != NO_INDEX;
        if to_tail {
            own.count(SlabStat::DeactivateRemoteFrees);
        }
        let (last, count) = self.walk(own, slab, first, seen.objects);
        let new = loop {
            let mut new = State { frozen: false, inuse: seen.inuse.wrapping_sub(count), ..seen };
            if last != NONE {
                self.set_next(&own.shape, last, self.object(slab, &own.shape, seen.head));
                new.head = self.index(slab, &own.shape, first);
            }
            match record.exchange(seen, new) {
                Ok(()) => break new,
                Err(found) => {
                    if found != seen {
                        own.count(SlabStat::CmpxchgDoubleFail);
                    }
                    seen = found;
                }
            }
        };
        let node = self.node_slot(cache, record.info().node());
        let min_partial = self.storage.caches[usize::from(cache.0)].min_partial.load();
        // The number of partial slabs is read without the lock, as the kernel does (law L21).
        if new.inuse == 0 && node.nr_partial() >= min_partial {
            own.count(SlabStat::DeactivateEmpty);
            own.count(SlabStat::FreeSlab);
            self.doom(cache, slab, doomed);
        } else if new.head != NO_INDEX {
            node.locked(|list| list.add(self.frames(), slab, to_tail));
            let stat =
                if to_tail { SlabStat::DeactivateToTail } else { SlabStat::DeactivateToHead };
            own.count(stat);
        } else {
            own.count(SlabStat::DeactivateFull);
        }
    }

    /// The last object of a CPU's list, and how many there are. What lies behind a pointer that was
    /// written over is lost (bugs S11, S16): it stays in use.
    fn walk(&self, own: &CpuCache, slab: u32, first: u64, most: u16) -> (u64, u16) {
        let (mut last, mut count, mut object) = (NONE, 0, first);
        while object != NONE && count < most {
            if self.checks && !self.is_object_of(slab, &own.shape, object) {
                break;
            }
            (last, count) = (object, count + 1);
            object = self.next(&own.shape, object);
        }
        (last, count)
    }

    /// Put partial slabs of a CPU's list on their nodes' lists, in the order of the list.
    pub(super) fn put_partials(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        mut slabs: Chain,
        doomed: &mut Chain,
    ) {
        let min_partial = self.storage.caches[usize::from(cache.0)].min_partial.load();
        while let Some(slab) = slabs.pop(self.frames()) {
            let record = self.slab(slab);
            let node = self.node_slot(cache, record.info().node());
            let goes = node.locked(|list| {
                let goes = record.state().inuse == 0 && list.count >= min_partial;
                if !goes {
                    list.add(self.frames(), slab, true);
                }
                goes
            });
            if goes {
                own.count(SlabStat::DeactivateEmpty);
                own.count(SlabStat::FreeSlab);
                self.doom(cache, slab, doomed);
            } else {
                own.count(SlabStat::FreeAddPartial);
            }
        }
    }

    /// Put away all that a CPU holds.
    fn flush(&self, own: &mut CpuCache, cache: CacheId, doomed: &mut Chain) {
        if own.deferred != 0 {
            self.free_deferred(own, cache, doomed);
        }
        if own.slab != NIL {
            own.count(SlabStat::CpuslabFlush);
            self.deactivate_own(own, cache, doomed);
        }
        let partials = self.take_partials(own);
        self.put_partials(own, cache, partials, doomed);
    }

    /// Flush one CPU's lists of a cache, from any thread: in the kernel a work item of that CPU
    /// does it and is waited for, here the caller does it behind the CPU's lock. Nothing for a
    /// cache that does not exist.
    pub fn cache_flush_cpu(&self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) {
        if self.cache(cache).is_ok() {
            self.flush_cpu(cpu, cache, cpu, pages);
        }
    }

    fn flush_cpu(&self, by: CpuId, cache: CacheId, cpu: CpuId, pages: &mut dyn SlabPages) {
        let mut doomed = Chain::EMPTY;
        let mut own = self.cpu_slots(cache)[cpu.index()].lock.lock_remote();
        self.flush(&mut own, cache, &mut doomed);
        drop(own);
        self.discard(by, &mut doomed, pages);
    }

    fn flush_all(&self, by: CpuId, cache: CacheId, pages: &mut dyn SlabPages) {
        for cpu in 0..self.nr_cpus as u16 {
            self.flush_cpu(by, cache, CpuId(cpu), pages);
        }
    }

    fn nodes(&self) -> impl Iterator<Item = NodeId> + use<P, B, M> {
        (0..self.nr_nodes as u8).map(NodeId)
    }

    /// Slabs of a cache on all nodes.
    fn slabs_left(&self, cache: CacheId) -> u64 {
        self.nodes().map(|node| self.node_slot(cache, node).nr_slabs.load()).sum()
    }

    /// kmem_cache_shrink: flush all CPUs, free empty slabs whatever `min_partial` says, sort the
    /// others by their free objects, fewest first; those with more than 32 follow as they were, and
    /// equals keep their order. Whether any slab is left; false for a cache that does not exist.
    pub fn cache_shrink(&self, cpu: CpuId, cache: CacheId, pages: &mut dyn SlabPages) -> bool {
        if self.cache(cache).is_err() {
            return false;
        }
        self.flush_all(cpu, cache, pages);
        let mut doomed = Chain::EMPTY;
        for node in self.nodes() {
            let mut sorted = [NodeList::EMPTY; SORTED + 1];
            self.node_slot(cache, node).locked(|list| {
                while let Some(slab) = list.take(self.frames()) {
                    let state = self.slab(slab).state();
                    if state.inuse == 0 {
                        self.doom(cache, slab, &mut doomed);
                        continue;
                    }
                    let bucket = usize::from(state.free()).saturating_sub(1).min(SORTED);
                    sorted[bucket].add(self.frames(), slab, true);
                }
                for bucket in &mut sorted {
                    while let Some(slab) = bucket.take(self.frames()) {
                        list.add(self.frames(), slab, true);
                    }
                }
            });
        }
        self.discard(cpu, &mut doomed, pages);
        self.slabs_left(cache) != 0
    }

    /// kmem_cache_destroy. No other call works on the cache at the same time.
    ///
    /// # Errors
    /// [`SlabError::NoCache`]; [`SlabError::InUse`] if objects are left: then only empty slabs are
    /// gone, and the cache goes on.
    pub fn cache_destroy(
        &self,
        cpu: CpuId,
        cache: CacheId,
        pages: &mut dyn SlabPages,
    ) -> Result<(), SlabError> {
        let slot = self.cache(cache)?;
        self.flush_all(cpu, cache, pages);
        let mut doomed = Chain::EMPTY;
        for node in self.nodes() {
            self.node_slot(cache, node).locked(|list| {
                let mut kept = NodeList::EMPTY;
                while let Some(slab) = list.take(self.frames()) {
                    if self.slab(slab).state().inuse == 0 {
                        self.doom(cache, slab, &mut doomed);
                    } else {
                        kept.add(self.frames(), slab, true);
                    }
                }
                *list = kept;
            });
        }
        self.discard(cpu, &mut doomed, pages);
        match self.slabs_left(cache) {
            0 => {
                self.end_cache(cache, slot);
                Ok(())
            }
            left => Err(SlabError::InUse(left)),
        }
    }

    /// Write `min_partial`. Empty slabs beyond it stay until they are next put away.
    pub fn set_min_partial(&self, cache: CacheId, slabs: u32) {
        if let Ok(slot) = self.cache(cache) {
            slot.min_partial.store(u64::from(slabs));
        }
    }

    /// Write `cpu_partial`, in objects; every CPU is flushed. With 0 a CPU still keeps the slab
    /// that it freed into last.
    pub fn set_cpu_partial(
        &self,
        cpu: CpuId,
        cache: CacheId,
        objects: u32,
        pages: &mut dyn SlabPages,
    ) {
        if let Ok(slot) = self.cache(cache) {
            slot.set_cpu_partial(objects);
            self.flush_all(cpu, cache, pages);
        }
    }
}
