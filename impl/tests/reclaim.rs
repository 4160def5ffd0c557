//! Reclaim with an owner that does as it is told (compaction.md §4.5 to §4.9).

mod common;

use common::{CPU0, NORMAL};
use mmspec_impl::{
    Owned, OwnedAllocator, StorageSize,
    platform::StdPlatform,
    reclaim::{
        Anon, Lru, LruList, LruPage, LruStorage, PageOwner, Reclaim, References, Registered,
        Shrink, Shrinker, Shrunk, Written,
    },
};
use mmspec_model::{
    contract::{CompactResult, KswapdReply, KswapdStep, Outcome, Request, SlowReply, SlowStep},
    vocab::{
        AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, Order, Pfn, Rules, Tunables, ZoneFlags,
        ZoneIdx, ZoneKind,
    },
};
use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    vec::Vec,
};

const NODE: NodeId = NodeId(0);

/// What is true of one page.
#[derive(Clone, Copy, Default)]
struct Page {
    uses: References,
    dirty: bool,
    writing: bool,
    pinned: bool,
    gone: bool,
}

/// Knows of each frame what the test says.
struct Owner {
    pages: Vec<Mutex<Page>>,
    writes: AtomicU64,
    swaps: AtomicU64,
}

impl Owner {
    fn new(frames: u64) -> Self {
        let pages = (0..frames).map(|_| Mutex::default()).collect();
        Self { pages, writes: AtomicU64::new(0), swaps: AtomicU64::new(0) }
    }

    fn with<R>(&self, pfn: Pfn, look: impl FnOnce(&mut Page) -> R) -> R {
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
        self.with(page.pfn, |state| state.dirty = false);
        Written::Clean
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
struct Bench {
    pages: OwnedAllocator,
    lru: Lru<StdPlatform, Owned>,
    owner: Owner,
}

impl Bench {
    fn new(machine: &Machine, swap: bool) -> Self {
        Self::under(machine, Rules::linux_6_12(), swap)
    }

    fn under(machine: &Machine, rules: Rules, swap: bool) -> Self {
        let pages = OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap();
        for zone in 0..machine.zones.len() {
            pages.pcp_disable(CPU0, ZoneIdx(zone as u8));
        }
        let size = StorageSize::of(&machine.as_ref());
        let lru = Lru::new(&size, LruStorage::on_heap(&size), swap).unwrap();
        Self { pages, lru, owner: Owner::new(machine.as_ref().end().0) }
    }

    /// One zone of 4096 pages: MIN 128, LOW 160, HIGH 192.
    fn small(swap: bool) -> Self {
        Self::new(&Machine::new(1, &[(ZoneKind::Normal, 0, 4096)]), swap)
    }

    fn reclaim(&self) -> Reclaim<'_, StdPlatform, Owned> {
        Reclaim { pages: self.pages.shared(), lru: &self.lru, owner: &self.owner, shrinkers: &[] }
    }

    /// Put `count` new pages on a list.
    fn fill(&self, list: LruList, count: u64, gfp: Gfp) -> Vec<Pfn> {
        let request = Request::new(Order::ZERO, gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let put = |_| {
            let pfn = self.pages.alloc_pages(CPU0, request).page().unwrap();
            self.owner.with(pfn, |page| *page = Page::default());
            assert!(self.lru.add_to(&self.pages, pfn, list));
            pfn
        };
        (0..count).map(put).collect()
    }

    fn shrink(&self, shrink: Shrink) -> Shrunk {
        self.reclaim().shrink_node(CPU0, NODE, &shrink)
    }

    fn sizes(&self) -> [u64; 5] {
        LruList::ALL.map(|list| self.lru.size(NODE, list))
    }

    fn on(&self, list: LruList) -> Vec<Pfn> {
        let mut found = Vec::new();
        self.lru.for_each(&self.pages, NODE, list, &mut |pfn| found.push(pfn));
        found
    }
}

const GENTLE: Shrink = Shrink {
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

const HARD: Shrink = Shrink { priority: 0, ..GENTLE };

#[test]
fn amounts_follow_the_priority_and_the_target() {
    let bench = Bench::small(false);
    bench.fill(LruList::InactiveFile, 2048, Gfp::HIGHUSER_MOVABLE);
    let free = || bench.pages.free_frames();
    assert_eq!(bench.shrink(GENTLE), Shrunk::default(), "2048 >> 12 is nothing");
    let at = |priority| bench.shrink(Shrink { priority, ..GENTLE });
    assert_eq!(at(11), Shrunk { scanned: 1, reclaimed: 1 });
    assert_eq!(at(6), Shrunk { scanned: 31, reclaimed: 31 });
    assert_eq!(free(), 2048 + 32);
    // Once the target is reached and there is nothing of the other type, the rest of the plan is left.
    let before = free();
    let done = at(2);
    assert_eq!((done.scanned, done.reclaimed), (32, 32));
    let done = bench.shrink(Shrink { priority: 2, target: 1000, ..GENTLE });
    assert_eq!((done.scanned, done.reclaimed), (496, 496));
    assert_eq!(free() - before, 32 + 496);
    let counters = bench.lru.counters(NODE);
    assert_eq!((counters.pgscan_kswapd, counters.pgsteal_kswapd), (560, 560));
    assert_eq!(bench.sizes(), [0, 0, 1488, 0, 0]);
    // A task that reclaims for itself is counted apart.
    bench.shrink(Shrink { kswapd: false, priority: 6, ..GENTLE });
    assert_eq!(bench.lru.counters(NODE).pgsteal_direct, 23);
    assert_eq!(bench.reclaim().shrink_node(CPU0, NodeId(9), &HARD), Shrunk::default());
}

#[test]
fn with_both_types_the_rest_of_the_smaller_is_left_once_enough_is_reclaimed() {
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveAnon, 512, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveFile, 1024, Gfp::HIGHUSER_MOVABLE);
    // Priority 0 with swap: all of both is planned. After one batch of each the target is reached.
    // 480 of 513 anonymous are left, 93 %: files are to go on to 7 % of 1024, which is 71, less 32.
    // With a batch of these the target is reached again, and of one type nothing is planned any more.
    let done = bench.shrink(HARD);
    assert_eq!(done.reclaimed, 32 + 32 + 32, "{done:?}");
    assert_eq!(bench.sizes(), [480, 0, 960, 0, 0]);
    assert_eq!(bench.owner.swaps.load(Relaxed), 32);
    assert_eq!(bench.owner.writes.load(Relaxed), 32, "swapped out");
}

#[test]
fn files_go_first_while_there_are_enough_and_anonymous_memory_when_they_are_few() {
    let gentle = Shrink { priority: 4, ..GENTLE };
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveAnon, 512, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveFile, 1024, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.shrink(gentle), Shrunk { scanned: 32, reclaimed: 32 });
    assert_eq!(bench.sizes(), [512, 0, 992, 0, 0], "plenty of files");
    // 20 file pages and 126 free ones are less than HIGH, 192.
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveAnon, 3950, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveFile, 20, Gfp::HIGHUSER_MOVABLE);
    bench.shrink(gentle);
    assert_eq!(bench.sizes(), [3918, 0, 20, 0, 0], "hardly any");
}

#[test]
fn a_node_with_lists_and_no_zones_has_nothing_to_give() {
    let mut bench = Bench::small(false);
    let size = StorageSize::of(&Machine::new(1, &[(ZoneKind::Normal, 0, 4096)]).as_ref());
    let longer = LruStorage::on_heap(&StorageSize { nodes: 3, ..size });
    bench.lru = Lru::new(&size, longer, false).unwrap();
    bench.fill(LruList::InactiveFile, 8, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.reclaim().shrink_node(CPU0, NodeId(1), &HARD), Shrunk::default());
    assert_eq!(bench.shrink(HARD).reclaimed, 8);
}

#[test]
fn used_pages_stay() {
    let bench = Bench::small(true);
    let pfns = bench.fill(LruList::InactiveFile, 6, Gfp::HIGHUSER_MOVABLE);
    let uses = |at: usize, times, executable, locked| {
        bench.owner.with(pfns[at], |page| page.uses = References { times, executable, locked });
    };
    uses(0, 1, false, false);
    uses(1, 2, false, false);
    uses(2, 1, true, false);
    uses(3, 0, false, true);
    bench.owner.with(pfns[4], |page| page.pinned = true);
    bench.owner.with(pfns[5], |page| page.writing = true);
    assert_eq!(bench.shrink(HARD), Shrunk { scanned: 6, reclaimed: 0 });
    assert_eq!(bench.on(LruList::InactiveFile), [pfns[0]], "once is not enough");
    assert_eq!(bench.on(LruList::ActiveFile), [pfns[5], pfns[4], pfns[2], pfns[1]]);
    assert_eq!(bench.on(LruList::Unevictable), [pfns[3]]);
    assert_eq!(bench.lru.counters(NODE).pgactivate, 4);
    // Used again: active.
    uses(0, 1, false, false);
    // 4 active file pages are more than 1 inactive one: they lose their place meanwhile, unless they
    // are program text in use.
    uses(2, 1, true, false);
    bench.shrink(HARD);
    let active = bench.on(LruList::ActiveFile);
    assert!(active.contains(&pfns[0]) && active.contains(&pfns[2]), "{active:?}");
    assert!(!active.contains(&pfns[1]));
    // Anonymous memory becomes active at once; and as nothing is inactive then, it has to prove itself
    // again.
    let other = Bench::small(true);
    let anon = other.fill(LruList::InactiveAnon, 1, Gfp::HIGHUSER_MOVABLE);
    other.owner.with(anon[0], |page| page.uses.times = 1);
    assert_eq!(other.shrink(HARD).reclaimed, 0);
    let counters = other.lru.counters(NODE);
    assert_eq!((counters.pgactivate, counters.pgdeactivate), (1, 1));
    assert_eq!(other.on(LruList::InactiveAnon), anon);
    // mark_page_accessed: referenced, then active.
    let fresh = bench.fill(LruList::InactiveFile, 1, Gfp::HIGHUSER_MOVABLE)[0];
    bench.lru.mark_accessed(&bench.pages, fresh);
    assert!(bench.on(LruList::InactiveFile).contains(&fresh));
    bench.lru.mark_accessed(&bench.pages, fresh);
    assert!(bench.on(LruList::ActiveFile).contains(&fresh));
}

#[test]
fn active_lists_are_shrunk_only_beside_short_inactive_ones() {
    let bench = Bench::small(false);
    bench.fill(LruList::ActiveFile, 512, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveFile, 512, Gfp::HIGHUSER_MOVABLE);
    let pinned: Vec<_> = bench.on(LruList::InactiveFile);
    pinned.iter().for_each(|pfn| bench.owner.with(*pfn, |page| page.uses.times = 1));
    let at = Shrink { priority: 4, ..GENTLE };
    assert_eq!(bench.shrink(at), Shrunk { scanned: 32, reclaimed: 0 });
    assert_eq!(bench.sizes(), [0, 0, 512, 512, 0], "as long as each other");
    assert_eq!(bench.lru.counters(NODE).pgdeactivate, 0);
    // One more active page: a batch moves over.
    bench.fill(LruList::ActiveFile, 1, Gfp::HIGHUSER_MOVABLE);
    bench.shrink(at);
    assert_eq!(bench.sizes(), [0, 0, 544, 481, 0]);
    let counters = bench.lru.counters(NODE);
    assert_eq!((counters.pgdeactivate, counters.pgrefill), (32, 32));
    // What was rotated came to the head: the oldest at the tail now is the 65th.
    assert_eq!(bench.on(LruList::InactiveFile).last(), Some(&pinned[512 - 65]));
}

#[test]
fn dirty_files_are_kswapds_on_second_sight_and_boost_work_writes_nothing() {
    let bench = Bench::small(true);
    let pfns = bench.fill(LruList::InactiveFile, 32, Gfp::HIGHUSER_MOVABLE);
    pfns.iter().for_each(|pfn| bench.owner.with(*pfn, |page| page.dirty = true));
    assert_eq!(bench.shrink(HARD).reclaimed, 0);
    assert_eq!((bench.sizes(), bench.owner.writes.load(Relaxed)), ([0, 0, 0, 32, 0], 0));
    // They come back to the inactive list; there were only dirty ones, so kswapd will write them.
    bench.shrink(HARD);
    assert_eq!(bench.sizes(), [0, 0, 32, 0, 0], "the active list was longer");
    let boost = Shrink { may_write: false, may_swap: false, ..HARD };
    assert_eq!(bench.shrink(boost).reclaimed, 0);
    assert_eq!(bench.owner.writes.load(Relaxed), 0);
    let task = Shrink { kswapd: false, ..HARD };
    assert_eq!(bench.shrink(task).reclaimed, 0);
    assert_eq!(bench.owner.writes.load(Relaxed), 0, "tasks do not write files");
    assert_eq!(bench.sizes()[LruList::ActiveFile as usize], 32);
    bench.shrink(HARD);
    assert_eq!(bench.shrink(HARD).reclaimed, 32);
    assert_eq!(bench.owner.writes.load(Relaxed), 32);
    assert_eq!(bench.sizes(), [0; 5]);
    // Anonymous memory is not swapped for a boost, either.
    bench.fill(LruList::InactiveAnon, 32, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.shrink(boost), Shrunk::default());
    assert_eq!(bench.owner.swaps.load(Relaxed), 0);
}

#[test]
fn owners_take_their_pages_back() {
    let bench = Bench::small(true);
    let pfns = bench.fill(LruList::InactiveFile, 2, Gfp::HIGHUSER_MOVABLE);
    assert!(!bench.lru.add(&bench.pages, pfns[0], true), "it is on a list already");
    assert!(!bench.lru.add(&bench.pages, Pfn(4000), true), "it is not allocated");
    assert!(!bench.lru.add(&bench.pages, Pfn(1 << 20), true), "it does not exist");
    assert!(bench.lru.remove(&bench.pages, pfns[0]));
    assert!(!bench.lru.remove(&bench.pages, pfns[0]), "it is on no list any more");
    assert_eq!(bench.on(LruList::InactiveFile), [pfns[1]]);
    bench.pages.free_pages(CPU0, pfns[0], Order::ZERO);
    assert_eq!(bench.shrink(HARD).reclaimed, 1);
    let size = StorageSize::of(&Machine::small(1, 64, 4, 4).as_ref());
    let short = LruStorage::on_heap(&StorageSize { frames: size.frames - 1, ..size });
    assert!(Lru::<StdPlatform, Owned>::new(&size, short, true).is_err());
}

#[test]
fn pages_of_other_zones_are_set_aside() {
    let zones = [(ZoneKind::Dma32, 0, 4096), (ZoneKind::Normal, 4096, 8192)];
    let machine = Machine::new(1, &zones);
    let bench = Bench::new(&machine, false);
    let low = bench.fill(LruList::InactiveFile, 8, Gfp::DMA32 | Gfp::MOVABLE);
    let high = bench.fill(LruList::InactiveFile, 8, Gfp::HIGHUSER_MOVABLE);
    assert!(low.iter().all(|pfn| pfn.0 < 4096) && high.iter().all(|pfn| pfn.0 >= 4096));
    let low_only = Shrink { highest: ZoneKind::Dma32, ..HARD };
    // The low pages are at the tail: nothing has to be set aside for the first.
    assert_eq!(bench.shrink(Shrink { priority: 1, ..low_only }).reclaimed, 4);
    assert_eq!(bench.lru.counters(NODE).pgskip, [0; 5]);
    bench.fill(LruList::InactiveFile, 4, Gfp::DMA32 | Gfp::MOVABLE);
    assert_eq!(bench.shrink(low_only), Shrunk { scanned: 8, reclaimed: 8 });
    assert_eq!(bench.lru.counters(NODE).pgskip[ZoneKind::Normal.index()], 8);
    assert_eq!(bench.on(LruList::InactiveFile).len(), 8);
    // The allocator is told what each zone could give.
    assert_eq!(bench.shrink(low_only), Shrunk::default());
    // "checklow": a zone that is balanced keeps its pages.
    let picky = Shrink { unbalanced_only: true, ..HARD };
    assert_eq!(bench.shrink(picky), Shrunk::default());
    assert_eq!(bench.shrink(HARD).reclaimed, 8);
}

/// Counts what it is asked; gives a page for each 4 objects.
struct Cache {
    objects: AtomicU64,
    calls: Mutex<Vec<u64>>,
    seeks: u64,
    /// It wants to be left alone.
    lazy: AtomicBool,
}

impl Shrinker for Cache {
    fn count(&self, _: NodeId) -> u64 {
        self.objects.load(Relaxed)
    }

    fn scan(&self, _: NodeId, objects: u64) -> Option<u64> {
        if self.lazy.load(Relaxed) {
            return None;
        }
        self.calls.lock().unwrap().push(objects);
        Some(objects / 4)
    }

    fn seeks(&self) -> u64 {
        self.seeks
    }
}

#[test]
fn shrinkers_are_asked_in_proportion_and_the_rest_is_put_off() {
    let bench = Bench::small(false);
    let cache = |objects, seeks| Cache {
        objects: AtomicU64::new(objects),
        calls: Mutex::default(),
        seeks,
        lazy: AtomicBool::new(false),
    };
    let asked = |cache: &Cache| core::mem::take(&mut *cache.calls.lock().unwrap());
    let slabs = cache(1000, 2);
    let registered = [Registered::new(&slabs)];
    let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
    let at = |priority| reclaim.shrink_node(CPU0, NODE, &Shrink { priority, ..GENTLE });
    // 4 × 250 / 2 = 500: three batches, 116 put off.
    assert_eq!(at(2).reclaimed, 96);
    assert_eq!(asked(&slabs), [128; 3]);
    // 616: four batches, 104 put off.
    at(2);
    assert_eq!(asked(&slabs), [128; 4]);
    // A gentle round, 4 × 15 / 2 = 30: 134 in all, 6 put off. Then 36: less than a batch.
    at(6);
    assert_eq!(asked(&slabs), [128]);
    at(6);
    assert_eq!(asked(&slabs), []);
    assert_eq!(bench.lru.counters(NODE).slabs_scanned, 8 * 128);
    // A cache smaller than a batch is asked when all of it is due; never for more than twice what there
    // is; without seeks half is due.
    slabs.objects.store(0, Relaxed);
    at(2);
    assert_eq!(asked(&slabs), []);
    let small = [Registered::new(&slabs)];
    slabs.objects.store(100, Relaxed);
    let small = Reclaim { shrinkers: &small, ..reclaim };
    small.shrink_node(CPU0, NODE, &Shrink { priority: 1, ..HARD });
    assert_eq!(asked(&slabs), [100], "4 × 50 / 2 is all");
    small.shrink_node(CPU0, NODE, &HARD);
    assert_eq!(asked(&slabs), [128], "4 × 100 / 2 is twice what there is");
    small.shrink_node(CPU0, NODE, &HARD);
    assert_eq!(asked(&slabs), [128], "with 72 put off it would be more");
    let free = cache(1000, 0);
    let registered = [Registered::new(&free)];
    Reclaim { shrinkers: &registered, ..reclaim }.shrink_node(CPU0, NODE, &GENTLE);
    assert_eq!(asked(&free), [128; 3]);
}

#[test]
fn much_that_was_put_off_is_not_done_at_once_in_a_gentle_round() {
    let bench = Bench::small(false);
    let slabs = Cache {
        objects: AtomicU64::new(1000),
        calls: Mutex::default(),
        seeks: 2,
        lazy: AtomicBool::new(true),
    };
    let registered = [Registered::new(&slabs)];
    let reclaim = Reclaim { shrinkers: &registered, ..bench.reclaim() };
    let at = |priority| reclaim.shrink_node(CPU0, NODE, &Shrink { priority, ..GENTLE });
    // Twice 500 are put off.
    assert_eq!((at(2), at(2)), (Shrunk::default(), Shrunk::default()));
    slabs.lazy.store(false, Relaxed);
    at(12);
    assert_eq!(*slabs.calls.lock().unwrap(), [128; 3], "half of 1000, and 116 are put off");
}

#[test]
fn the_larger_type_goes_on_in_proportion() {
    let bench = Bench::new(&Machine::new(1, &[(ZoneKind::Normal, 0, 8192)]), true);
    bench.fill(LruList::InactiveAnon, 3300, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveFile, 4000, Gfp::HIGHUSER_MOVABLE);
    // 3268 of 3301 are 99 %: 1 % of the files is 40, less the 32 of the first batch.
    assert_eq!(bench.shrink(HARD).reclaimed, 32 + 32 + 8);
}

#[test]
fn who_reclaims_for_itself_begins_with_all_that_was_planned() {
    let bench = Bench::new(&Machine::new(1, &[(ZoneKind::Normal, 0, 1 << 18)]), false);
    bench.fill(LruList::InactiveFile, 200_000, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.shrink(GENTLE).reclaimed, 32);
    let direct = Shrink { kswapd: false, ..GENTLE };
    assert_eq!(bench.shrink(direct).reclaimed, 48, "200 000 >> 12");
}

#[test]
fn reclaim_for_large_blocks_goes_on_until_compaction_can_work() {
    let full = || {
        let bench = Bench::small(false);
        bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
        bench
    };
    assert_eq!(full().shrink(HARD).reclaimed, 32);
    // Order 4 comes free at once, but only above MIN, 128, and 15 pages more.
    let large = Shrink { order: Order::of(4), ..HARD };
    assert_eq!(full().shrink(large).reclaimed, 160);
    // Small blocks do that only when it is urgent.
    let small = Shrink { order: Order::of(2), priority: 10, ..HARD };
    assert_eq!(full().shrink(small).reclaimed, 4);
    assert_eq!(full().shrink(Shrink { priority: 0, ..small }).reclaimed, 160);
}

#[test]
fn compaction_for_costly_blocks_wants_more_pages_free() {
    // Only every other page can go, so that no block comes free: reclaim ends, in batches of 32, where
    // twice the block is free above LOW (160 + 32), or above MIN for a small one (128 + 16).
    for (order, reclaimed) in [(4, 224), (3, 160)] {
        let bench = Bench::small(false);
        let pfns = bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
        pfns.iter().filter(|pfn| pfn.0 % 2 == 1).for_each(|pfn| {
            assert!(bench.lru.remove(&bench.pages, *pfn));
        });
        let done = bench.shrink(Shrink { order: Order::of(order), ..HARD });
        assert_eq!(done.reclaimed, reclaimed, "order {order}");
    }
}

#[test]
fn the_allocator_knows_what_could_be_reclaimed() {
    let bench = Bench::small(false);
    bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    let next = || {
        let mut walk = bench.pages.slow_begin(CPU0, request);
        let mut step = bench.pages.slow_step(&mut walk, None);
        if matches!(step, SlowStep::Throttle { .. }) {
            step = bench.pages.slow_step(&mut walk, Some(SlowReply::Woken { killed: false }));
        }
        assert!(matches!(step, SlowStep::Reclaim { .. }), "{step:?}");
        bench.pages.slow_step(&mut walk, Some(SlowReply::Reclaimed(0)))
    };
    assert!(matches!(next(), SlowStep::Throttle { .. }), "it goes round");
    // All is reclaimed, and taken by somebody whose pages are on no list.
    assert_eq!(bench.shrink(Shrink { target: 5000, ..HARD }).reclaimed, 4096);
    let all = request.at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while bench.pages.alloc_pages(CPU0, all).page().is_some() {}
    bench.pages.tick(CPU0);
    assert_eq!(next(), SlowStep::OomLock);
}

#[test]
fn a_zone_that_compaction_can_work_in_is_not_reclaimed_from() {
    let bench = Bench::small(false);
    let pfns = bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
    // 225 single pages are free: more than HIGH and twice the block of order 4.
    for pfn in pfns.iter().filter(|pfn| pfn.0 % 2 == 0).take(225) {
        assert!(bench.lru.remove(&bench.pages, *pfn));
        bench.pages.free_pages(CPU0, *pfn, Order::ZERO);
    }
    bench.pages.tick(CPU0);
    for (gfp, scanned) in [(Gfp::HIGHUSER_MOVABLE, false), (Gfp::NOIO | Gfp::MOVABLE, true)] {
        let request = Request::new(Order::of(4), gfp | Gfp::RETRY_MAYFAIL);
        let mut walk = bench.pages.slow_begin(CPU0, request);
        let mut step = bench.pages.slow_step(&mut walk, None);
        if matches!(step, SlowStep::Compact { .. }) {
            let reply = SlowReply::Compacted(CompactResult::Deferred);
            step = bench.pages.slow_step(&mut walk, Some(reply));
        }
        assert!(matches!(step, SlowStep::Reclaim { .. }), "{step:?}");
        let reply = bench.reclaim().direct(&walk);
        assert_eq!(bench.lru.counters(NODE).pgscan_direct > 0, scanned);
        assert_eq!(reply == SlowReply::Reclaimed(1), !scanned, "as if there were progress");
    }
}

/// A walk to its end with real reclaim; kswapd has a turn before each step.
fn allocate(bench: &Bench, cpu: CpuId, request: Request) -> Outcome {
    let outcome = bench.pages.alloc_pages(cpu, request);
    if outcome != Outcome::SlowPath {
        return outcome;
    }
    let mut walk = bench.pages.slow_begin(cpu, request);
    let mut reply = None;
    loop {
        reply = Some(match bench.pages.slow_step(&mut walk, reply) {
            SlowStep::Done(outcome) => return outcome,
            SlowStep::Reclaim { .. } => bench.reclaim().direct(&walk),
            SlowStep::Throttle { .. } | SlowStep::Yield | SlowStep::DrainWait => {
                run_kswapd(bench, 1);
                SlowReply::Woken { killed: false }
            }
            SlowStep::Compact { .. } => SlowReply::Compacted(CompactResult::Skipped),
            SlowStep::OomLock => SlowReply::OomLock(true),
            SlowStep::OomKill { .. } => SlowReply::Killed(false),
        });
    }
}

/// Up to `shrinks` shrinks of the node's kswapd; whether it sleeps.
fn run_kswapd(bench: &Bench, shrinks: u32) -> bool {
    let (mut reply, mut left) = (None, shrinks);
    loop {
        let step = bench.pages.kswapd_step(NODE, reply.take());
        reply = match step {
            KswapdStep::Asleep => return true,
            KswapdStep::Nap => Some(KswapdReply::Napped { early: false }),
            KswapdStep::Shrink { .. } if left == 0 => return false,
            KswapdStep::Shrink { .. } => {
                left -= 1;
                bench.reclaim().kswapd(CPU0, NODE, step)
            }
        };
    }
}

#[test]
fn under_pressure_every_request_ends_in_a_page() {
    let bench = Bench::small(true);
    bench.fill(LruList::InactiveFile, 2400, Gfp::HIGHUSER_MOVABLE);
    bench.fill(LruList::InactiveAnon, 1500, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    for turn in 0..5000 {
        let Outcome::Page(pfn) = allocate(&bench, CPU0, request) else {
            panic!("turn {turn}: no page, {:?}", bench.sizes())
        };
        bench.owner.with(pfn, |page| *page = Page::default());
        assert!(bench.lru.add(&bench.pages, pfn, turn % 2 == 0));
        if turn % 64 == 0 {
            run_kswapd(&bench, u32::MAX);
        }
    }
    assert!(run_kswapd(&bench, u32::MAX), "kswapd comes to rest");
    let state = bench.pages.zone_state(NORMAL);
    assert!(state.nr_free_pages > state.marks[Mark::Low.index()] as i64, "{state:?}");
    assert!(!state.flags.contains(ZoneFlags::RECLAIM_ACTIVE));
    let counters = bench.lru.counters(NODE);
    assert!(counters.pgsteal_kswapd > 0);
    assert_eq!(bench.pages.events().oom_kill, 0);
    let on_lists: u64 = bench.sizes().iter().sum();
    assert_eq!(on_lists + bench.pages.free_frames(), 4096, "every frame is free or on a list");
}

#[test]
fn direct_reclaim_alone_frees_a_batch_and_kswapd_the_rest_to_the_high_mark() {
    let bench = Bench::small(false);
    bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(bench.pages.alloc_pages(CPU0, request), Outcome::SlowPath);
    let mut walk = bench.pages.slow_begin(CPU0, request);
    let mut step = bench.pages.slow_step(&mut walk, None);
    let mut rounds = 0;
    while !matches!(step, SlowStep::Done(_)) {
        let reply = match step {
            SlowStep::Throttle { .. } => SlowReply::Woken { killed: false },
            _ => {
                rounds += 1;
                let before = bench.pages.free_frames();
                let reply = bench.reclaim().direct(&walk);
                let freed = bench.pages.free_frames() - before;
                assert_eq!(reply, SlowReply::Reclaimed(freed));
                // 1 + 2 + 4 + 7 + 15 + 31: from priority 12 until 32 are there.
                assert!((32..64).contains(&freed), "{freed} pages in a round");
                reply
            }
        };
        step = bench.pages.slow_step(&mut walk, Some(reply));
    }
    assert!(matches!(step, SlowStep::Done(Outcome::Page(_))));
    assert!((2..=5).contains(&rounds), "up to MIN, 128, in batches: {rounds}");
    assert!(run_kswapd(&bench, u32::MAX));
    let state = bench.pages.zone_state(NORMAL);
    assert!(state.nr_free_pages > state.marks[Mark::High.index()] as i64);
    assert!(state.nr_free_pages < 2 * 192 + 64, "and not much above: {}", state.nr_free_pages);
}

#[test]
fn a_node_with_nothing_to_give_fails() {
    let bench = Bench::small(false);
    bench.fill(LruList::Unevictable, 4096, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    assert_eq!(allocate(&bench, CPU0, request), Outcome::Failed);
    assert!(run_kswapd(&bench, u32::MAX));
    assert_eq!(bench.pages.node_state(NODE).kswapd_failures, 16);
}

#[test]
fn threads_and_kswapd_share_the_lists() {
    let machine = Machine::new(2, &[(ZoneKind::Normal, 0, 8192)]);
    let bench = &Bench::new(&machine, true);
    bench.pages.pcp_enable(NORMAL);
    let (running, got) = (&AtomicBool::new(true), &AtomicU64::new(0));
    thread::scope(|scope| {
        let workers: Vec<_> = [CpuId(0), CpuId(1)]
            .into_iter()
            .map(|cpu| {
                scope.spawn(move || {
                    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
                    for turn in 0..20_000 {
                        let Outcome::Page(pfn) = allocate(bench, cpu, request) else { continue };
                        got.fetch_add(1, Relaxed);
                        bench.owner.with(pfn, |page| {
                            *page = Page { dirty: turn % 5 == 0, ..Page::default() };
                            page.uses.times = turn % 3;
                        });
                        assert!(bench.lru.add(&bench.pages, pfn, turn % 2 == 0));
                    }
                })
            })
            .collect();
        scope.spawn(move || {
            while running.load(Relaxed) {
                run_kswapd(bench, 1);
            }
        });
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        running.store(false, Relaxed);
        results.into_iter().for_each(|result| result.unwrap());
    });
    assert!(got.load(Relaxed) > 8192 * 2, "{got:?} pages were handed out, some of them again");
    bench.pages.drain_all(CPU0, None);
    let on_lists: u64 = bench.sizes().iter().sum();
    assert_eq!(on_lists + bench.pages.free_frames(), 8192);
    let counted: u64 = LruList::ALL.iter().map(|list| bench.on(*list).len() as u64).sum();
    assert_eq!(counted, on_lists);
}
