//! Slabs come and go: pages (memcg-slub.md §4.4), the first list (§4.9), discard, grace periods.

use super::{
    allocator::SlabAllocator,
    cpu::CpuCache,
    frame::{Chain, Info, NIL},
    memory::{NONE, ObjectMemory},
    word::{NO_INDEX, State},
};
use crate::{
    allocator::PageAllocator,
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use core::sync::atomic::Ordering::Relaxed;
use mmspec_model::{
    contract::{Request, SlabPages},
    vocab::SlabRules,
    vocab::{CacheFlags, CacheId, CacheLayout, CpuId, Gfp, HighOrderSlabs, NodeId, Order, Pfn},
};

/// What of a request's flags concerns its pages: reclaim, reserves, and where they may lie.
const PAGE_FLAGS: Gfp = Gfp::RECLAIM
    .union(Gfp::HIGH)
    .union(Gfp::IO)
    .union(Gfp::FS)
    .union(Gfp::NOWARN)
    .union(Gfp::RETRY_MAYFAIL)
    .union(Gfp::NOFAIL)
    .union(Gfp::NORETRY)
    .union(Gfp::MEMALLOC)
    .union(Gfp::NOMEMALLOC)
    .union(Gfp::HARDWALL)
    .union(Gfp::THISNODE);

/// The flags of the first request for a slab's pages, of the cache's order, and those of the
/// second, of its least order (§4.4).
#[must_use]
pub fn page_flags(
    rules: &SlabRules,
    layout: &CacheLayout,
    flags: CacheFlags,
    gfp: Gfp,
) -> (Gfp, Gfp) {
    let mut plain = gfp & PAGE_FLAGS | Gfp::COMP;
    if flags.contains(CacheFlags::DMA) {
        plain |= Gfp::DMA;
    }
    if flags.contains(CacheFlags::RECLAIM_ACCOUNT) {
        plain |= Gfp::RECLAIMABLE;
    }
    let mut first = (plain | Gfp::NOWARN | Gfp::NORETRY) - Gfp::NOFAIL;
    if first.contains(Gfp::DIRECT_RECLAIM) && layout.order > layout.min_order {
        match rules.high_order {
            HighOrderSlabs::Reclaim => {}
            HighOrderSlabs::WakeOnly => {
                first = (first | Gfp::NOMEMALLOC) - Gfp::DIRECT_RECLAIM;
            }
            HighOrderSlabs::Neither => first = (first | Gfp::NOMEMALLOC) - Gfp::RECLAIM,
        }
    }
    (first, plain)
}

/// A slab that was just made, all its objects taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fresh {
    pub(super) slab: u32,
    /// It is of the least order because the first request failed.
    pub(super) is_fallback: bool,
}

impl<P: Platform, B: Backing, M: ObjectMemory> SlabAllocator<P, B, M> {
    /// Ask for a slab's pages. No lock is held.
    pub(super) fn new_slab(
        &self,
        cpu: CpuId,
        cache: CacheId,
        gfp: Gfp,
        node: Option<NodeId>,
        pages: &mut dyn SlabPages,
    ) -> Option<Fresh> {
        let config = &self.storage.caches[usize::from(cache.0)];
        let (layout, flags) = (config.layout(), config.flags());
        let (first, plain) = page_flags(&self.rules, &layout, flags, gfp);
        let (mut order, mut objects, mut is_fallback) = (layout.order, layout.objects, false);
        let pfn = match pages.alloc(cpu, order, first, node) {
            Some(pfn) => pfn,
            None => {
                (order, objects, is_fallback) = (layout.min_order, layout.min_objects, true);
                pages.alloc(cpu, order, plain, node)?
            }
        };
        let slab = pfn.0.wrapping_sub(self.base);
        let known =
            self.frames().get(slab as usize..).and_then(|rest| rest.get(..1 << order.get()));
        let Some(frames) = known else {
            // Frames that there are no records of are no use here.
            pages.free(cpu, pfn, order);
            return None;
        };
        let of_node = NodeId((pages.node_of(pfn).index() % self.nr_nodes) as u8);
        let info = Info::new(slab as u32, cache, order, of_node);
        frames[0].set_state(State {
            head: NO_INDEX,
            inuse: objects as u16,
            objects: objects as u16,
            frozen: true,
        });
        frames.iter().for_each(|frame| frame.set_info(Some(info)));
        self.node_slot(cache, of_node).book(objects as u16, 1);
        self.book_bytes(of_node, flags, order, 1);
        Some(Fresh { slab: slab as u32, is_fallback })
    }

    /// Count a slab's bytes as come (`sign` 1) or gone (-1).
    fn book_bytes(&self, node: NodeId, flags: CacheFlags, order: Order, sign: i64) {
        let reclaimable = usize::from(flags.contains(CacheFlags::RECLAIM_ACCOUNT));
        let bytes = sign * (4096 << order.get());
        self.storage.homes[node.index()].bytes[reclaimable].fetch_add(bytes as u64);
    }

    /// Link all objects of a fresh slab; the first. Ascending, or in the cache's random sequence
    /// from a random place on (§4.9).
    pub(super) fn build_list(&self, own: &mut CpuCache, cache: CacheId, slab: u32) -> u64 {
        let objects = self.slab(slab).state().objects;
        let config = &self.storage.caches[usize::from(cache.0)];
        let sequence = config.sequence.load();
        let shape = own.shape;
        if sequence == NONE || objects < 2 {
            let stride = u64::from(shape.stride);
            let first = self.start(slab);
            let last = first + (u64::from(objects) - 1) * stride;
            let mut object = first;
            while object != last {
                self.set_next(&shape, object, object + stride);
                object += stride;
            }
            self.set_next(&shape, last, NONE);
            return first;
        }
        let length = config.layout().objects as usize;
        let from = sequence as usize;
        let places = &self.storage.sequences[from..from + length];
        let begin = own.random_below(length as u64) as usize;
        let (mut first, mut before) = (NONE, NONE);
        // From the random place on, around to it; numbers beyond a smaller slab are passed over.
        for place in places[begin..].iter().chain(&places[..begin]) {
            let index = place.0.load(Relaxed);
            if index >= objects {
                continue;
            }
            let object = self.object(slab, &shape, index);
            match before {
                NONE => first = object,
                before => self.set_next(&shape, before, object),
            }
            before = object;
        }
        self.set_next(&shape, before, NONE);
        first
    }

    /// A slab leaves its cache: it is no longer counted, and goes on the list of those whose pages
    /// are to be given back.
    pub(super) fn doom(&self, cache: CacheId, slab: u32, doomed: &mut Chain) {
        let record = self.slab(slab);
        self.node_slot(cache, record.info().node()).book(record.state().objects, -1);
        doomed.push(self.frames(), slab);
    }

    /// Give back the pages of slabs that left; those of RCU caches wait for a grace period. No lock
    /// is held.
    #[inline]
    pub(super) fn discard(&self, cpu: CpuId, doomed: &mut Chain, pages: &mut dyn SlabPages) {
        if !doomed.is_empty() {
            self.discard_all(cpu, doomed, pages);
        }
    }

    #[inline(never)]
    fn discard_all(&self, cpu: CpuId, doomed: &mut Chain, pages: &mut dyn SlabPages) {
        while let Some(slab) = doomed.pop(self.frames()) {
            let info = self.slab(slab).info();
            let config = &self.storage.caches[usize::from(info.cache().0)];
            if config.flags().contains(CacheFlags::TYPESAFE_BY_RCU) {
                let last = slab as usize + (1 << info.order());
                self.frames()[slab as usize..last].iter().for_each(|frame| frame.set_waiting());
                self.waiting.lock().push(self.frames(), slab);
            } else {
                self.free_pages(cpu, slab, info, pages);
            }
        }
    }

    fn free_pages(&self, cpu: CpuId, slab: u32, info: Info, pages: &mut dyn SlabPages) {
        let order = Order::of(info.order());
        let last = slab as usize + (1 << order.get());
        self.frames()[slab as usize..last].iter().for_each(|frame| frame.set_info(None));
        let flags = self.storage.caches[usize::from(info.cache().0)].flags();
        self.book_bytes(info.node(), flags, order, -1);
        pages.free(cpu, self.pfn(slab), order);
    }

    /// A grace period has passed: the pages of slabs of RCU caches that waited when it began are
    /// given back. How many slabs.
    pub fn rcu_pass(&self, cpu: CpuId, pages: &mut dyn SlabPages) -> u64 {
        let mut waited = core::mem::replace(&mut *self.waiting.lock(), Chain::EMPTY);
        // The list grew at its head: turn it, so that who waited longest goes first.
        let mut oldest_first = Chain::EMPTY;
        while let Some(slab) = waited.pop(self.frames()) {
            oldest_first.push(self.frames(), slab);
        }
        let mut count = 0;
        while let Some(slab) = oldest_first.pop(self.frames()) {
            self.free_pages(cpu, slab, self.slab(slab).info(), pages);
            count += 1;
        }
        debug_assert!(oldest_first.head == NIL);
        count
    }
}

/// Slab pages from a page allocator, one attempt for each request: no slow path.
pub struct AttemptPages<'a, P: Platform, B: Backing>(pub &'a PageAllocator<P, B>);

impl<P: Platform, B: Backing> Clone for AttemptPages<'_, P, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform, B: Backing> Copy for AttemptPages<'_, P, B> {}

impl<P: Platform, B: Backing> SlabPages for AttemptPages<'_, P, B> {
    fn alloc(&mut self, cpu: CpuId, order: Order, gfp: Gfp, node: Option<NodeId>) -> Option<Pfn> {
        let request = Request { node, ..Request::new(order, gfp) };
        self.0.alloc_pages(cpu, request).page()
    }

    fn free(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        self.0.free_pages(cpu, pfn, order);
    }

    fn node_of(&self, pfn: Pfn) -> NodeId {
        self.0.zone_of(pfn).map_or(NodeId(0), |zone| self.0.zone(zone).info.node)
    }
}
