//! Debug caches: every list of a CPU is bypassed, one object at a time under the list's lock
//! (memcg-slub.md §4.6).

use super::{
    alloc::Ask,
    allocator::SlabAllocator,
    cpu::{CpuCache, CpuGuard},
    frame::Chain,
    free::FreeList,
    memory::{NONE, ObjectMemory},
    word::{NO_INDEX, State},
};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{SlabError, SlabPages},
    vocab::{CacheId, Gfp, NodeId, SlabStat},
};

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// One object of a slab on a node's list, or of a new slab.
    pub(super) fn alloc_debug<'a>(
        &'a self,
        mut own: CpuGuard<'a, P>,
        ask: Ask,
        pages: &mut dyn SlabPages,
    ) -> Option<u64> {
        let here = ask.gfp.contains(Gfp::THISNODE);
        let mut only = ask.node.is_some() && !here;
        loop {
            let first = ask.node.unwrap_or_else(|| self.node_of(ask.cpu));
            let mut found = self.take_one(&own, ask.cache, first);
            if found.is_none() && !only && !here && self.looks_elsewhere(&mut own) {
                let mut rich = self.rich_nodes(ask.cache, first);
                found = rich.find_map(|node| self.take_one(&own, ask.cache, node));
            }
            if found.is_some() {
                return found;
            }
            drop(own);
            let gfp = if only { Gfp::NOWAIT | Gfp::THISNODE } else { ask.gfp };
            let made = self.new_slab(ask.cpu, ask.cache, gfp, ask.node, pages);
            own = self.enter(ask.cpu, ask.cache).ok()?;
            if let Some(made) = made {
                own.count(SlabStat::AllocSlab);
                if made.is_fallback {
                    own.count(SlabStat::OrderFallback);
                }
                return Some(self.begin_debug(&mut own, ask.cache, made.slab));
            }
            if !core::mem::replace(&mut only, false) {
                return None;
            }
        }
    }

    /// The first object of a new slab; the others are the slab's own list.
    fn begin_debug(&self, own: &mut CpuCache, cache: CacheId, slab: u32) -> u64 {
        let first = self.build_list(own, cache, slab);
        let second = self.next(&own.shape, first);
        let record = self.slab(slab);
        let head = self.index(slab, &own.shape, second);
        record.set_state(State { head, inuse: 1, frozen: false, ..record.state() });
        if head != NO_INDEX {
            let node = self.node_slot(cache, record.info().node());
            node.locked(|list| list.add(self.frames(), slab, false));
        }
        first
    }

    fn take_one(&self, own: &CpuCache, cache: CacheId, node: NodeId) -> Option<u64> {
        self.node_slot(cache, node).locked(|list| {
            let slab = list.iter(self.frames(), false).next()?;
            let record = self.slab(slab);
            let state = record.state();
            let object = self.object(slab, &own.shape, state.head);
            let mut next = self.next(&own.shape, object);
            if next != NONE && !self.is_object_of(slab, &own.shape, next) {
                next = NONE;
            }
            let head = self.index(slab, &own.shape, next);
            record.set_state(State { head, inuse: state.inuse + 1, ..state });
            if head == NO_INDEX {
                list.remove(self.frames(), slab);
            }
            Some(object)
        })
    }

    /// Free objects of one slab under the list's lock.
    pub(super) fn free_debug(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        list: FreeList,
        doomed: &mut Chain,
    ) -> Result<(), SlabError> {
        let record = self.slab(list.slab);
        let node = self.node_slot(cache, record.info().node());
        let min_partial = self.storage.caches[usize::from(cache.0)].min_partial.load();
        let head = self.index(list.slab, &own.shape, list.head);
        node.locked(|slabs| {
            let seen = record.state();
            let new = self.with_list(own, seen, head, list)?;
            record.set_state(new);
            if new.inuse == 0 && slabs.count >= min_partial {
                if record.is_on_node() {
                    slabs.remove(self.frames(), list.slab);
                    own.count(SlabStat::FreeRemovePartial);
                }
                own.count(SlabStat::FreeSlab);
                self.doom(cache, list.slab, doomed);
            } else if seen.head == NO_INDEX {
                slabs.add(self.frames(), list.slab, true);
                own.count(SlabStat::FreeAddPartial);
            }
            Ok(())
        })
    }
}
