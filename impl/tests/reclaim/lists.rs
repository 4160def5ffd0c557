//! Which pages go, and how many, by list and kind.

use super::*;

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
}

#[test]
fn who_is_accessed_twice_becomes_active_once() {
    let bench = Bench::small(false);
    let file = bench.fill(LruList::InactiveFile, 1, Gfp::HIGHUSER_MOVABLE)[0];
    let locked = bench.fill(LruList::Unevictable, 1, Gfp::HIGHUSER_MOVABLE)[0];
    for (sizes, activated) in
        [([0, 0, 1, 0, 1], 0), ([0, 0, 0, 1, 1], 1), ([0, 0, 0, 1, 1], 1), ([0, 0, 0, 1, 1], 1)]
    {
        bench.lru.mark_accessed(&bench.pages, file);
        bench.lru.mark_accessed(&bench.pages, locked);
        assert_eq!(bench.sizes(), sizes);
        assert_eq!(bench.lru.counters(NODE).pgactivate, activated);
    }
}

#[test]
fn kswapd_ages_anonymous_memory_before_and_after_if_it_can_go() {
    for (swap, may_swap, aged) in [(true, true, 64), (true, false, 0), (false, true, 0)] {
        let bench = Bench::small(swap);
        bench.fill(LruList::ActiveAnon, 1000, Gfp::HIGHUSER_MOVABLE);
        let step = KswapdStep::Shrink {
            priority: 12,
            target: 32,
            order: Order::ZERO,
            highest: ZoneKind::Normal,
            may_write: true,
            may_swap,
            unbalanced_only: false,
        };
        // 1000 >> 12 is nothing, so that nothing is scanned.
        let nothing = Some(KswapdReply::Shrunk { scanned: 0, reclaimed: 0 });
        assert_eq!(bench.reclaim().kswapd(CPU0, NODE, step), nothing);
        assert_eq!(bench.sizes(), [aged, 1000 - aged, 0, 0, 0], "swap {swap}, may swap {may_swap}");
        assert_eq!(bench.reclaim().kswapd(CPU0, NodeId(1), step), nothing, "there is no such node");
    }
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
    assert_eq!(bench.sizes(), [0, 0, 1, 0, 0]);
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
