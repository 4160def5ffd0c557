//! The lists of a node, and what puts pages on them.

use super::{LruFlags, LruLinks, LruList, LruPage, ReclaimCounters};
use crate::{
    PageAllocator, SetupError, StorageSize,
    frame::{Allocated, Records, Spread},
    list::List,
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::{NR_ZONES, NodeId, Order, Pfn, ZoneKind};

/// What the lock of a node's lists guards. Sizes in base pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeLists {
    pub(super) lists: [List; 5],
    /// By list and zone kind.
    pub(super) pages: [[u64; NR_ZONES]; 5],
    /// Taken off by shrinks under way: anonymous, file.
    pub(super) isolated: [u64; 2],
    /// What reclaim of anonymous memory and of files cost lately.
    pub(super) cost: [u64; 2],
    /// Only dirty file pages were met: kswapd may write them (PGDAT_DIRTY).
    pub(super) dirty: bool,
    pub(super) counters: ReclaimCounters,
}

impl NodeLists {
    /// Pages of a list in zones of the kinds in `kinds` (a bit each).
    pub(super) fn size(&self, list: LruList, kinds: u8) -> u64 {
        let of = self.pages[list.index()].iter().enumerate();
        of.filter(|(kind, _)| kinds >> kind & 1 == 1).map(|(_, pages)| pages).sum()
    }

    /// Pages of all evictable lists.
    pub(super) fn total(&self) -> u64 {
        LruList::EVICTABLE.iter().map(|list| self.size(*list, u8::MAX)).sum()
    }
}

/// The lists of one node, as the embedder's storage holds them.
#[repr(align(128))]
pub struct LruNode<P: Platform>(pub(super) P::ZoneLock<NodeLists>);

impl<P: Platform> LruNode<P> {
    /// Empty lists.
    #[must_use]
    pub fn new() -> Self {
        Self(P::ZoneLock::new(NodeLists {
            lists: [List::EMPTY; 5],
            pages: [[0; NR_ZONES]; 5],
            isolated: [0; 2],
            cost: [0; 2],
            dirty: false,
            counters: ReclaimCounters::default(),
        }))
    }
}

impl<P: Platform> Default for LruNode<P> {
    fn default() -> Self {
        Self::new()
    }
}

/// The slices of [`Lru`], as fresh ones are made: `frames` records of the first two and `nodes` of the
/// third, by the machine's [`StorageSize`].
pub struct LruStorage<P: Platform, B: Backing> {
    /// The links of each frame.
    pub links: B::Slice<LruLinks>,
    /// A byte for each frame.
    pub flags: B::Slice<LruFlags>,
    /// The lists of each node.
    pub nodes: B::Slice<LruNode<P>>,
}

impl<P: Platform, B: Backing> LruStorage<P, B> {
    fn check(&self, size: &StorageSize) -> Result<(), SetupError> {
        for (what, given, needed) in [
            ("links of reclaim", self.links.len(), size.frames),
            ("flags of reclaim", self.flags.len(), size.frames),
            ("nodes of reclaim", self.nodes.len(), size.nodes),
        ] {
            if given < needed {
                return Err(SetupError::Storage { what, given, needed });
            }
        }
        Ok(())
    }
}

#[cfg(feature = "std")]
impl<P: Platform> LruStorage<P, crate::Owned> {
    /// Heap slices of that size.
    #[must_use]
    pub fn on_heap(size: &StorageSize) -> Self {
        Self {
            links: (0..size.frames).map(|_| LruLinks::default()).collect(),
            flags: (0..size.frames).map(|_| LruFlags::default()).collect(),
            nodes: (0..size.nodes).map(|_| LruNode::new()).collect(),
        }
    }
}

/// The lists of all nodes.
pub struct Lru<P: Platform, B: Backing> {
    pub(super) storage: LruStorage<P, B>,
    /// 1 if anonymous memory can go anywhere.
    swap: P::Word,
}

impl<P: Platform, B: Backing> Lru<P, B> {
    /// Empty lists for an allocator whose machine needs `size`; `swap`: anonymous memory can go.
    ///
    /// # Errors
    /// A slice is too short.
    pub fn new(
        size: &StorageSize,
        storage: LruStorage<P, B>,
        swap: bool,
    ) -> Result<Self, SetupError> {
        storage.check(size)?;
        storage.flags.iter().for_each(LruFlags::clear);
        Ok(Self { storage, swap: P::Word::new(u64::from(swap)) })
    }

    /// The links of all frames.
    pub(super) fn records(&self) -> Records<'_> {
        Records::new(&self.storage.links, Spread::Dense)
    }

    pub(super) fn has_swap(&self) -> bool {
        self.swap.load() != 0
    }

    /// The pages of one list of a node, in base pages; 0 for a node that does not exist.
    pub fn size(&self, node: NodeId, list: LruList) -> u64 {
        let node = self.storage.nodes.get(node.index());
        node.map_or(0, |node| node.0.lock().size(list, u8::MAX))
    }

    /// The counters of a node; zeroes for one that does not exist.
    pub fn counters(&self, node: NodeId) -> ReclaimCounters {
        let node = self.storage.nodes.get(node.index());
        node.map_or_else(ReclaimCounters::default, |node| node.0.lock().counters)
    }

    /// The frames of one list of a node, head first. Its lock is held: `visit` must not come back.
    pub fn for_each(
        &self,
        pages: &PageAllocator<P, B>,
        node: NodeId,
        list: LruList,
        visit: &mut dyn FnMut(Pfn),
    ) {
        if let Some(node) = self.storage.nodes.get(node.index()) {
            let lists = node.0.lock();
            let visit = |frame| visit(pages.geometry.pfn(frame));
            lists.lists[list.index()].for_each(self.records(), visit);
        }
    }

    /// Put an allocated block on an inactive list (anonymous memory since 5.9 \[mem\], and file pages);
    /// false if it is not allocated, or on a list already.
    pub fn add(&self, pages: &PageAllocator<P, B>, pfn: Pfn, file: bool) -> bool {
        self.add_to(pages, pfn, LruList::of(file, false))
    }

    /// Put an allocated block on a list of one's choice; false as for [`Lru::add`].
    pub fn add_to(&self, pages: &PageAllocator<P, B>, pfn: Pfn, list: LruList) -> bool {
        let Some(at) = Place::of(pages, pfn) else { return false };
        let flags = &self.storage.flags[at.frame as usize];
        let mut lists = self.storage.nodes[at.node.index()].0.lock();
        if flags.0.load(core::sync::atomic::Ordering::Relaxed) & LruFlags::LIST != LruFlags::NONE {
            return false;
        }
        flags.clear();
        self.link(&mut lists, at, list);
        self.show(pages, at, &lists);
        true
    }

    /// Take a block off the lists before its owner frees it; false if it is on none, or a shrink has it
    /// in hand: then the shrink decides what becomes of it.
    pub fn remove(&self, pages: &PageAllocator<P, B>, pfn: Pfn) -> bool {
        let Some(at) = Place::of(pages, pfn) else { return false };
        let mut lists = self.storage.nodes[at.node.index()].0.lock();
        let flags = &self.storage.flags[at.frame as usize];
        let Some(list) = flags.list() else { return false };
        lists.lists[list.index()].unlink(self.records(), at.frame);
        lists.pages[list.index()][at.kind.index()] -= at.order.pages();
        flags.clear();
        self.show(pages, at, &lists);
        true
    }

    /// The list that a block is on; none if it is on none, or in the hands of a shrink. No lock is taken.
    pub fn list_of(&self, pages: &PageAllocator<P, B>, pfn: Pfn) -> Option<LruList> {
        pages.zone_of(pfn)?;
        self.storage.flags[pages.geometry.index(pfn) as usize].list()
    }

    /// The owner used the page without a mapping (mark_page_accessed \[mem\]): the first time it counts as
    /// referenced, the second time it becomes active.
    pub fn mark_accessed(&self, pages: &PageAllocator<P, B>, pfn: Pfn) {
        let Some(at) = Place::of(pages, pfn) else { return };
        let mut lists = self.storage.nodes[at.node.index()].0.lock();
        let flags = &self.storage.flags[at.frame as usize];
        let Some(list) = flags.list() else { return };
        if list.is_active() || list == LruList::Unevictable || !flags.has(LruFlags::REFERENCED) {
            return flags.set(LruFlags::REFERENCED, true);
        }
        lists.lists[list.index()].unlink(self.records(), at.frame);
        lists.pages[list.index()][at.kind.index()] -= at.order.pages();
        flags.set(LruFlags::REFERENCED, false);
        self.link(&mut lists, at, LruList::of(list.is_file(), true));
        lists.counters.pgactivate += at.order.pages();
    }

    /// Put a block at the head of a list.
    pub(super) fn link(&self, lists: &mut NodeLists, at: Place, list: LruList) {
        self.storage.flags[at.frame as usize].place(list as u8);
        lists.lists[list.index()].push_head(self.records(), at.frame);
        lists.pages[list.index()][at.kind.index()] += at.order.pages();
    }

    /// Tell the allocator what reclaim could free in a zone (zone_reclaimable_pages).
    pub(super) fn show(&self, pages: &PageAllocator<P, B>, at: Place, lists: &NodeLists) {
        let kinds = 1 << at.kind.index();
        let of = |list| lists.size(list, kinds);
        let file = of(LruList::InactiveFile) + of(LruList::ActiveFile);
        let anon = of(LruList::InactiveAnon) + of(LruList::ActiveAnon);
        let reclaimable = file + if self.has_swap() { anon } else { 0 };
        pages.zone(at.zone).rare.reclaimable.store(reclaimable);
    }
}

/// Where a block lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(super) frame: u32,
    pub(super) order: Order,
    pub(super) zone: usize,
    pub(super) kind: ZoneKind,
    pub(super) node: NodeId,
}

impl Place {
    /// The place of an allocated block.
    pub(super) fn of<P: Platform, B: Backing>(
        pages: &PageAllocator<P, B>,
        pfn: Pfn,
    ) -> Option<Self> {
        pages.zone_of(pfn)?;
        Self::of_frame(pages, pages.geometry.index(pfn))
    }

    pub(super) fn of_frame<P: Platform, B: Backing>(
        pages: &PageAllocator<P, B>,
        frame: u32,
    ) -> Option<Self> {
        let zone = pages.zone_of(pages.geometry.pfn(frame))?;
        let Allocated { order, .. } = pages.records().at(frame).allocated(frame)?;
        let info = &pages.zone(zone).info;
        Some(Self { frame, order: Order::new(order)?, zone, kind: info.kind, node: info.node })
    }

    pub(super) fn page<P: Platform, B: Backing>(
        self,
        pages: &PageAllocator<P, B>,
        file: bool,
    ) -> LruPage {
        LruPage { pfn: pages.geometry.pfn(self.frame), order: self.order, file }
    }
}
