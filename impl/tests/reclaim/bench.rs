//! An owner that does as it is told, an allocator, and its lists.

use super::*;

pub(crate) const NODE: NodeId = NodeId(0);

/// What is true of one page.
#[derive(Clone, Copy, Default)]
pub(crate) struct Page {
    pub(crate) uses: References,
    pub(crate) dirty: bool,
    pub(crate) writing: bool,
    pub(crate) pinned: bool,
    /// A write of it only begins.
    pub(crate) slow: bool,
    pub(crate) gone: bool,
}

/// Knows of each frame what the test says.
pub(crate) struct Owner {
    pub(crate) pages: Vec<Mutex<Page>>,
    pub(crate) writes: AtomicU64,
    pub(crate) swaps: AtomicU64,
}

impl Owner {
    pub(crate) fn new(frames: u64) -> Self {
        let pages = (0..frames).map(|_| Mutex::default()).collect();
        Self { pages, writes: AtomicU64::new(0), swaps: AtomicU64::new(0) }
    }

    pub(crate) fn with<R>(&self, pfn: Pfn, look: impl FnOnce(&mut Page) -> R) -> R {
        look(&mut self.pages[pfn.index()].lock().unwrap())
    }
}

impl PageOwner for Owner {
    fn references(&self, page: LruPage) -> References {
        self.with(page.pfn, |state| {
            let locked = state.uses.locked;
            core::mem::replace(&mut state.uses, References { locked, ..References::default() })
        })
    }

    fn is_dirty(&self, page: LruPage) -> bool {
        self.with(page.pfn, |state| state.dirty)
    }

    fn is_under_writeback(&self, page: LruPage) -> bool {
        self.with(page.pfn, |state| state.writing)
    }

    fn swap(&self, page: LruPage) -> Anon {
        self.swaps.fetch_add(1, Relaxed);
        self.with(page.pfn, |state| state.dirty = true);
        Anon::Swap
    }

    fn unmap(&self, page: LruPage) -> bool {
        self.with(page.pfn, |state| !state.pinned)
    }

    fn write(&self, page: LruPage) -> Written {
        self.writes.fetch_add(1, Relaxed);
        self.with(page.pfn, |state| {
            state.dirty = false;
            if state.slow { Written::Started } else { Written::Clean }
        })
    }

    fn release(&self, page: LruPage) -> bool {
        self.with(page.pfn, |state| {
            assert!(!state.gone, "frame {} is let go twice", page.pfn);
            state.gone = true;
        });
        true
    }
}

/// An allocator, its lists and the owner.
pub(crate) struct Bench {
    pub(crate) pages: OwnedAllocator,
    pub(crate) lru: Lru<StdPlatform, Owned>,
    pub(crate) owner: Owner,
}

impl Bench {
    pub(crate) fn new(machine: &Machine, swap: bool) -> Self {
        Self::under(machine, Rules::linux_6_12(), swap)
    }

    pub(crate) fn under(machine: &Machine, rules: Rules, swap: bool) -> Self {
        let pages = OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap();
        for zone in 0..machine.zones.len() {
            pages.pcp_disable(CPU0, ZoneIdx(zone as u8));
        }
        let size = StorageSize::of(&machine.as_ref());
        let lru = Lru::new(&size, LruStorage::on_heap(&size), swap).unwrap();
        Self { pages, lru, owner: Owner::new(machine.as_ref().end().0) }
    }

    /// One zone of 4096 pages: MIN 128, LOW 160, HIGH 192.
    pub(crate) fn small(swap: bool) -> Self {
        Self::new(&Machine::new(1, &[(ZoneKind::Normal, 0, 4096)]), swap)
    }

    pub(crate) fn reclaim(&self) -> Reclaim<'_, StdPlatform, Owned> {
        Reclaim {
            pages: self.pages.shared(),
            lru: &self.lru,
            owner: &self.owner,
            shrinkers: &[],
            goes_on: GoesOn::default(),
        }
    }

    /// Put `count` new pages on a list.
    pub(crate) fn fill(&self, list: LruList, count: u64, gfp: Gfp) -> Vec<Pfn> {
        let request = Request::new(Order::ZERO, gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let put = |_| {
            let pfn = self.pages.alloc_pages(CPU0, request).page().unwrap();
            self.owner.with(pfn, |page| *page = Page::default());
            assert!(self.lru.add_to(&self.pages, pfn, list));
            pfn
        };
        (0..count).map(put).collect()
    }

    pub(crate) fn shrink(&self, shrink: Shrink) -> Shrunk {
        self.reclaim().shrink_node(CPU0, NODE, &shrink)
    }

    pub(crate) fn sizes(&self) -> [u64; 5] {
        LruList::ALL.map(|list| self.lru.size(NODE, list))
    }

    pub(crate) fn on(&self, list: LruList) -> Vec<Pfn> {
        let mut found = Vec::new();
        self.lru.for_each(&self.pages, NODE, list, &mut |pfn| found.push(pfn));
        found
    }
}

pub(crate) const GENTLE: Shrink = Shrink {
    priority: 12,
    target: 32,
    order: Order::ZERO,
    highest: ZoneKind::Normal,
    may_write: true,
    may_swap: true,
    unbalanced_only: false,
    kswapd: true,
    swappiness: 60,
};

pub(crate) const HARD: Shrink = Shrink { priority: 0, ..GENTLE };
