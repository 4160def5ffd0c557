//! An owner of movable pages that checks what compaction does with them.

use mmspec_impl::{
    Owned, OwnedAllocator, StorageSize,
    compact::{CompactStorage, Compaction, Compactor},
    platform::StdPlatform,
};
use mmspec_model::{
    contract::{
        CompactEvent, CompactLock, CompactMode, LruPages, LruUse, Migrated, PageMover, PageUse,
        Request,
    },
    vocab::{
        AllocFlags, CompactRules, CpuId, Gfp, Machine, Mark, MigrateType, NodeId, Order, Pfn,
        Rules, Tunables, ZoneIdx, ZoneKind,
    },
};
use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    vec::Vec,
};

pub(crate) const CPU: CpuId = CpuId(0);
pub(crate) const ZONE: ZoneIdx = ZoneIdx(0);

/// One page as its owner knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    /// What is in it: must be the same wherever it goes.
    pub(crate) token: u64,
    pub(crate) lru: LruUse,
    pub(crate) isolated: bool,
    /// How often migration is answered with "again".
    pub(crate) again: u32,
    pub(crate) busy: bool,
    /// Private data that cannot be dropped, and no handler.
    pub(crate) no_handler: bool,
    /// It is nobody's when its turn comes.
    pub(crate) freed: bool,
    /// Not on an LRU list, but this.
    pub(crate) other: Option<PageUse>,
}

impl Page {
    /// A page that moves whenever it is asked to.
    pub(crate) fn new(token: u64, lru: LruUse) -> Self {
        Self {
            token,
            lru,
            isolated: false,
            again: 0,
            busy: false,
            no_handler: false,
            freed: false,
            other: None,
        }
    }
}

#[derive(Default)]
pub(crate) struct Owner {
    pub(crate) pages: Mutex<BTreeMap<Pfn, Page>>,
    pub(crate) events: Mutex<Vec<CompactEvent>>,
    pub(crate) signal: AtomicBool,
    /// A fatal signal comes when this page is isolated.
    pub(crate) fatal_page: Mutex<Option<Pfn>>,
    pub(crate) contended: AtomicBool,
    /// Isolated pages that other compactors hold.
    pub(crate) isolated_by_others: Mutex<u64>,
    pub(crate) resched: AtomicBool,
    /// Pages on active lists that are no frames of the zone's.
    pub(crate) active: AtomicU64,
    /// How often waiting for the others helps, and what they hold then.
    pub(crate) waits: AtomicU64,
    /// Times that batches for LRU lists were drained.
    pub(crate) drains: AtomicU64,
    /// Attempts to migrate: from where, to where, in which pass.
    pub(crate) tries: Mutex<Vec<(u64, u64, u8)>>,
}

impl PageMover for Owner {
    fn page(&self, pfn: Pfn) -> PageUse {
        match self.pages.lock().unwrap().get(&pfn) {
            Some(page) if !page.isolated => page.other.unwrap_or(PageUse::Lru(page.lru)),
            _ => PageUse::Fixed,
        }
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        let mut pages = self.pages.lock().unwrap();
        let page = pages.get_mut(&pfn).expect("only pages of the owner are isolated");
        assert!(!page.isolated, "{pfn} is isolated twice");
        page.isolated = true;
        if *self.fatal_page.lock().unwrap() == Some(pfn) {
            self.signal.store(true, Relaxed);
        }
        true
    }

    fn put_back(&self, pfn: Pfn) {
        let mut pages = self.pages.lock().unwrap();
        let page = pages.get_mut(&pfn).expect("only pages of the owner are put back");
        assert!(page.isolated, "{pfn} is put back without having been isolated");
        page.isolated = false;
    }

    fn migrate(&self, from: Pfn, to: Pfn, _: CompactMode, pass: u8) -> Migrated {
        self.tries.lock().unwrap().push((from.0, to.0, pass));
        let mut pages = self.pages.lock().unwrap();
        assert!(!pages.contains_key(&to), "the target {to} is in use");
        let page = pages.get_mut(&from).expect("only pages of the owner move");
        assert!(page.isolated, "{from} moves without having been isolated");
        if page.busy {
            return Migrated::Busy;
        }
        if page.no_handler {
            return Migrated::NoHandler;
        }
        if page.freed {
            pages.remove(&from);
            return Migrated::Freed;
        }
        if page.again > 0 {
            page.again -= 1;
            return Migrated::Again;
        }
        let page = Page { isolated: false, ..*page };
        pages.remove(&from);
        pages.insert(to, page);
        Migrated::Done
    }

    fn lru_pages(&self, _: NodeId) -> LruPages {
        let pages = self.pages.lock().unwrap();
        let isolated = pages.values().filter(|page| page.isolated).count() as u64;
        let inactive = pages.len() as u64 - isolated;
        LruPages {
            inactive,
            active: self.active.load(Relaxed),
            isolated: isolated + *self.isolated_by_others.lock().unwrap(),
        }
    }

    fn contended(&self, _: CompactLock) -> bool {
        self.contended.load(Relaxed)
    }

    fn fatal_signal(&self) -> bool {
        self.signal.load(Relaxed)
    }

    fn needs_resched(&self) -> bool {
        self.resched.load(Relaxed)
    }

    fn wait_isolated(&self) -> bool {
        let left = self.waits.load(Relaxed);
        if left == 1 {
            *self.isolated_by_others.lock().unwrap() = 0;
        }
        self.waits.store(left.saturating_sub(1), Relaxed);
        left > 0
    }

    fn drain_lru(&self) {
        self.drains.fetch_add(1, Relaxed);
    }

    fn trace(&self, event: CompactEvent) {
        self.events.lock().unwrap().push(event);
    }
}

/// An allocator with compaction and an owner.
pub(crate) struct Bench {
    pub(crate) pages: OwnedAllocator,
    pub(crate) state: Compaction<StdPlatform, Owned>,
    pub(crate) owner: Owner,
    next: u64,
}

impl Bench {
    /// One Normal zone of `frames` frames from `start` on, pageblocks of 2^`pageblock` frames.
    pub(crate) fn new(start: u64, frames: u64, pageblock: u8, rules: CompactRules) -> Self {
        let zones = [(ZoneKind::Normal, start, start + frames)];
        Self::small(Machine::new(2, &zones), pageblock, rules)
    }

    /// The machine, pageblocks of 2^`pageblock` frames.
    pub(crate) fn small(mut machine: Machine, pageblock: u8, rules: CompactRules) -> Self {
        machine.pageblock_order = Order::of(pageblock);
        machine.max_order = Order::of((pageblock + 1).min(10));
        machine.thp_order = None;
        Self::of(&machine, Tunables::default(), rules)
    }

    /// The machine as it is.
    pub(crate) fn of(machine: &Machine, tunables: Tunables, rules: CompactRules) -> Self {
        let pages = OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), tunables).unwrap();
        let size = StorageSize::of(&machine.as_ref());
        let state = Compaction::new(&size, CompactStorage::on_heap(&size), rules).unwrap();
        Self { pages, state, owner: Owner::default(), next: 0 }
    }

    pub(crate) fn compactor(&self) -> Compactor<'_, StdPlatform, Owned> {
        Compactor { pages: self.pages.shared(), state: &self.state, owner: &self.owner }
    }

    pub(crate) fn take(&self, order: Order, gfp: Gfp) -> Option<Pfn> {
        let request = Request::new(order, gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS);
        self.pages.alloc_pages(CPU, request).page()
    }

    /// All free memory becomes movable pages of the owner.
    pub(crate) fn fill(&mut self) {
        while let Some(pfn) = self.take(Order::ZERO, Gfp::HIGHUSER_MOVABLE) {
            self.next += 1;
            self.owner.pages.get_mut().unwrap().insert(pfn, Page::new(self.next, LruUse::ANON));
        }
    }

    /// Free the owner's pages for which `goes` says so.
    pub(crate) fn free(&mut self, goes: impl Fn(Pfn) -> bool) {
        let pages = self.owner.pages.get_mut().unwrap();
        let mut gone: Vec<Pfn> = pages.keys().copied().filter(|pfn| goes(*pfn)).collect();
        // In no order, or searches from one end of a list see only one end of the zone.
        gone.sort_by_key(|pfn| pfn.0.wrapping_mul(0xd6e8_feb8_6659_fd93));
        for pfn in gone {
            pages.remove(&pfn);
            self.pages.free_pages(CPU, pfn, Order::ZERO);
        }
        self.pages.drain_all(CPU, None);
    }

    pub(crate) fn each(&mut self, change: impl Fn(Pfn, &mut Page)) {
        self.owner.pages.get_mut().unwrap().iter_mut().for_each(|(pfn, page)| change(*pfn, page));
    }

    /// Change the pages of these frames.
    pub(crate) fn change(&mut self, frames: core::ops::Range<u64>, change: impl Fn(&mut Page)) {
        self.each(|pfn, page| {
            if frames.contains(&pfn.0) {
                change(page);
            }
        });
    }

    /// What is where, by token.
    pub(crate) fn tokens(&self) -> Vec<u64> {
        let pages = self.owner.pages.lock().unwrap();
        let mut tokens: Vec<u64> = pages.values().map(|page| page.token).collect();
        tokens.sort_unstable();
        tokens
    }

    /// The cached positions of migrate scanners before any run.
    pub(crate) fn nothing_cached() -> [Pfn; 2] {
        [Pfn(u64::MAX >> 1); 2]
    }

    /// Free blocks of an order.
    pub(crate) fn blocks(&self, order: u8) -> u64 {
        self.pages.zone_state(ZONE).nr_free[usize::from(order)].iter().sum()
    }

    /// Nothing is lost: all frames are free or the owner's, none is isolated, and the counters of free
    /// pages tell what is on the lists.
    pub(crate) fn check(&self, also_held: u64) {
        let pages = self.owner.pages.lock().unwrap();
        assert!(pages.values().all(|page| !page.isolated), "a page was left isolated");
        let held: u64 = pages.values().map(|page| 1 << page.lru.order.get()).sum();
        let managed = self.pages.managed_frames();
        assert_eq!(self.pages.free_frames() + held + also_held, managed);
        for zone in 0..self.pages.zone_count() {
            let state = self.pages.zone_state(ZoneIdx(zone as u8));
            let listed: u64 = MigrateType::ALL
                .into_iter()
                .filter(|of_type| *of_type != MigrateType::Isolate)
                .map(|of_type| state.pages_of(of_type))
                .sum();
            assert_eq!(state.nr_free_pages_exact, listed as i64);
        }
    }
}
