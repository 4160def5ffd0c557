//! Allocation (memcg-slub.md §4.6).

use super::{
    allocator::SlabAllocator,
    cpu::{CpuCache, CpuGuard},
    frame::{Chain, NIL},
    memory::{NONE, ObjectMemory},
};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use core::sync::atomic::Ordering::Relaxed;
use mmspec_model::{
    contract::{SlabError, SlabPages},
    vocab::{CacheId, CpuId, CpuPartialLimit, Gfp, NodeId, ObjAddr, SlabStat},
};

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) cpu: CpuId,
    pub(super) cache: CacheId,
    pub(super) gfp: Gfp,
    pub(super) node: Option<NodeId>,
}

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// kmem_cache_alloc_node. `None`: no page was to be had.
    ///
    /// # Errors
    /// [`SlabError::NoCache`].
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline(always)]
    pub fn object_alloc(
        &self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        node: Option<NodeId>,
        pages: &mut dyn SlabPages,
    ) -> Result<Option<ObjAddr>, SlabError> {
        if node.is_none()
            && let Some(object) = self.alloc_quick(cpu, cache)
        {
            return Ok(Some(object));
        }
        self.alloc_at_length(cpu, cache, gfp, node, pages)
    }

    /// An object of the CPU's list, if that can be had at once.
    #[inline(always)]
    pub(crate) fn alloc_quick(&self, cpu: CpuId, cache: CacheId) -> Option<ObjAddr> {
        let mut own = self.enter_quick(cpu, cache)?;
        let object = own.freelist;
        if object == NONE {
            return None;
        }
        own.freelist = self.next(&own.shape, object);
        own.count(SlabStat::AllocFastpath);
        Some(ObjAddr(object))
    }

    /// An allocation that the CPU's list cannot serve at once.
    #[inline(never)]
    fn alloc_at_length(
        &self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        node: Option<NodeId>,
        pages: &mut dyn SlabPages,
    ) -> Result<Option<ObjAddr>, SlabError> {
        let ask = Ask { cpu, cache, gfp, node };
        Ok(self.alloc_slow(self.enter(cpu, cache)?, ask, pages))
    }

    /// The first object of a CPU's list, which is not empty.
    #[inline(always)]
    pub(super) fn take_first(&self, own: &mut CpuCache) -> u64 {
        let object = own.freelist;
        own.freelist = self.next(&own.shape, object);
        if self.checks && own.freelist != NONE {
            self.cut_broken(own);
        }
        object
    }

    /// A list that its users wrote over ends where it is broken (bugs S11, S16).
    #[inline(never)]
    fn cut_broken(&self, own: &mut CpuCache) {
        if !self.is_object_of(own.slab, &own.shape, own.freelist) {
            own.freelist = NONE;
        }
    }

    /// Note that an object is handed out.
    #[inline(always)]
    pub(super) fn note_alloc(&self, object: u64) {
        if self.checks {
            self.mark_live(object);
        }
    }

    #[inline(never)]
    fn mark_live(&self, object: u64) {
        let frame = (object >> 12).wrapping_sub(self.base) as usize;
        if let Some(map) = self.storage.live.get(frame) {
            let was_live = map.set(object, true);
            debug_assert!(!was_live, "{:?} is handed out twice", ObjAddr(object));
        }
    }

    /// An allocation that is not a plain take from the CPU's list.
    #[inline(never)]
    fn alloc_slow<'a>(
        &'a self,
        mut own: CpuGuard<'a, P>,
        ask: Ask,
        pages: &mut dyn SlabPages,
    ) -> Option<ObjAddr> {
        // A node without memory is as good as none.
        let node = ask.node.filter(|node| self.has_memory(*node));
        if own.freelist != NONE && self.is_on(own.slab, node) {
            let object = self.take_first(&mut own);
            own.count(SlabStat::AllocFastpath);
            self.note_alloc(object);
            return Some(ObjAddr(object));
        }
        let object = self.alloc_counted(own, Ask { node, ..ask }, pages)?;
        self.note_alloc(object);
        Some(ObjAddr(object))
    }

    /// The slow path, counted once however it goes (bug S2).
    pub(super) fn alloc_counted<'a>(
        &'a self,
        mut own: CpuGuard<'a, P>,
        ask: Ask,
        pages: &mut dyn SlabPages,
    ) -> Option<u64> {
        own.count(SlabStat::AllocSlowpath);
        if own.is_debug {
            return self.alloc_debug(own, ask, pages);
        }
        let mut doomed = Chain::EMPTY;
        let mut found = self.alloc_own(&mut own, ask, &mut doomed);
        if found.is_none() {
            // With a preferred node a first pass keeps to it, and does not wait for a new slab.
            let mut only = ask.node.is_some() && !ask.gfp.contains(Gfp::THISNODE);
            loop {
                let here = only || ask.gfp.contains(Gfp::THISNODE);
                if let Some((slab, freelist)) = self.take_partial(&mut own, ask, here) {
                    self.load(&mut own, ask.cache, (slab, freelist), &mut doomed);
                    found = Some(self.take_first(&mut own));
                    break;
                }
                drop(own);
                self.discard(ask.cpu, &mut doomed, pages);
                let gfp = if only { Gfp::NOWAIT | Gfp::THISNODE } else { ask.gfp };
                let made = self.new_slab(ask.cpu, ask.cache, gfp, ask.node, pages);
                own = self.enter(ask.cpu, ask.cache).ok()?;
                let Some(made) = made else {
                    if core::mem::replace(&mut only, false) {
                        continue;
                    }
                    break;
                };
                own.count(SlabStat::AllocSlab);
                if made.is_fallback {
                    own.count(SlabStat::OrderFallback);
                }
                let freelist = self.build_list(&mut own, ask.cache, made.slab);
                self.load(&mut own, ask.cache, (made.slab, freelist), &mut doomed);
                found = Some(self.take_first(&mut own));
                break;
            }
        }
        drop(own);
        self.discard(ask.cpu, &mut doomed, pages);
        found
    }

    /// A slab becomes the CPU's. Pages may have been asked for meanwhile, with no lock held: who worked as
    /// this CPU then, another thread or the source of pages, left it a slab, which is put away (§4.6, 5).
    fn load(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        (slab, freelist): (u32, u64),
        doomed: &mut Chain,
    ) {
        if own.slab != NIL {
            own.count(SlabStat::CpuslabFlush);
            self.deactivate_own(own, cache, doomed);
        }
        own.load(slab, freelist);
    }

    /// Whether a CPU's slab is of the node asked for.
    pub(super) fn is_on(&self, slab: u32, node: Option<NodeId>) -> bool {
        node.is_none_or(|node| self.slab(slab).info().node() == node)
    }

    /// Steps 1 to 3: the CPU's slab and its partial slabs.
    fn alloc_own(&self, own: &mut CpuCache, ask: Ask, doomed: &mut Chain) -> Option<u64> {
        if own.slab != NIL {
            if !self.is_on(own.slab, ask.node) {
                own.count(SlabStat::AllocNodeMismatch);
                self.deactivate_own(own, ask.cache, doomed);
            } else {
                debug_assert!(own.freelist == NONE, "the CPU's list is passed over");
                own.freelist = self.take_list(own, own.slab, true);
                if own.freelist != NONE {
                    own.count(SlabStat::AllocRefill);
                    return Some(self.take_first(own));
                }
                // It is full: nobody keeps it until something is freed in it.
                own.slab = NIL;
                own.count(SlabStat::DeactivateBypass);
            }
        }
        if own.deferred != 0 && self.adopt(own, ask, doomed) {
            return Some(self.take_first(own));
        }
        while let Some(slab) = own.partial.pop(self.frames()) {
            own.partial_slabs -= 1;
            let counted = self.slab(slab).counted.load(Relaxed);
            own.partial_objects = own.partial_objects.saturating_sub(counted);
            if self.is_on(slab, ask.node) {
                own.count(SlabStat::CpuPartialAlloc);
                let freelist = self.take_list(own, slab, true);
                own.load(slab, freelist);
                return Some(self.take_first(own));
            }
            let mut alone = Chain::EMPTY;
            alone.push(self.frames(), slab);
            self.put_partials(own, ask.cache, alone, doomed);
        }
        None
    }

    /// Take all free objects of a slab. With `forget`, a slab that has none is let go.
    pub(super) fn take_list(&self, own: &mut CpuCache, slab: u32, forget: bool) -> u64 {
        let record = self.slab(slab);
        let mut seen = record.state();
        loop {
            let frozen = !forget || seen.free() != 0;
            match record.exchange(seen, seen.taken(frozen)) {
                Ok(()) => return self.object(slab, &own.shape, seen.head),
                Err(found) => {
                    if found != seen {
                        own.count(SlabStat::CmpxchgDoubleFail);
                    }
                    seen = found;
                }
            }
        }
    }

    /// Step 4: a slab of a node's list, with its objects; more of them go to the CPU's partial
    /// list.
    fn take_partial(&self, own: &mut CpuCache, ask: Ask, here: bool) -> Option<(u32, u64)> {
        let first = ask.node.unwrap_or_else(|| self.node_of(ask.cpu));
        if let Some(found) = self.take_partial_of(own, ask.cache, first) {
            return Some(found);
        }
        if here || !self.looks_elsewhere(own) {
            return None;
        }
        let mut rich = self.rich_nodes(ask.cache, first);
        rich.find_map(|node| self.take_partial_of(own, ask.cache, node))
    }

    /// Whether partial slabs of other nodes are taken this time.
    pub(super) fn looks_elsewhere(&self, own: &mut CpuCache) -> bool {
        let ratio = u64::from(self.rules.remote_node_defrag_ratio);
        self.nr_nodes > 1 && ratio > 0 && own.random_below(1024) <= ratio
    }

    /// Nodes other than `first` that have more partial slabs than they need, the nearest first.
    pub(super) fn rich_nodes(
        &self,
        cache: CacheId,
        first: NodeId,
    ) -> impl Iterator<Item = NodeId> + '_ {
        let min_partial = self.storage.caches[usize::from(cache.0)].min_partial.load();
        let others = self.nearest(first).iter().filter(move |node| **node != first);
        others.filter(move |node| self.node_slot(cache, **node).nr_partial() > min_partial).copied()
    }

    fn take_partial_of(
        &self,
        own: &mut CpuCache,
        cache: CacheId,
        node: NodeId,
    ) -> Option<(u32, u64)> {
        let slot = self.node_slot(cache, node);
        // Without the lock: an empty list is a frequent answer, and a slab that comes this moment
        // might as well have come the next.
        if slot.nr_partial() == 0 {
            return None;
        }
        let config = &self.storage.caches[usize::from(cache.0)];
        let frames = self.frames();
        slot.locked(|list| {
            let slab = list.take(frames)?;
            own.count(SlabStat::AllocFromPartial);
            let mut available = u64::from(self.slab(slab).state().free());
            let freelist = self.take_list(own, slab, false);
            let (most_objects, most_slabs) =
                (config.cpu_partial.load(), config.cpu_partial_slabs.load());
            let mut moved = 0;
            loop {
                let more = match self.rules.cpu_partial {
                    CpuPartialLimit::Slabs => most_slabs > 0 && moved <= most_slabs / 2,
                    CpuPartialLimit::Objects => most_objects > 0 && available <= most_objects / 2,
                };
                let Some(further) = more.then(|| list.take(frames)).flatten() else { break };
                available += u64::from(self.slab(further).state().free());
                self.push_partial(own, further);
                own.count(SlabStat::CpuPartialNode);
                moved += 1;
            }
            Some((slab, freelist))
        })
    }
}
