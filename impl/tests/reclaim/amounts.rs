//! How far one reclaim goes: in proportion, for itself, for large blocks.

use super::*;

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
    // 4096 >> 10 are 4, then it is 3 a round.
    assert_eq!(full().shrink(Shrink { priority: 10, ..large }).reclaimed, 4 + 47 * 3);
    // Small blocks do that only when it is urgent.
    for (order, urgent) in [(Order::of(2), 8 + 18 * 7), (Order::of(3), 8 + 19 * 7)] {
        let small = Shrink { order, priority: 10, ..HARD };
        assert_eq!(full().shrink(small).reclaimed, 4);
        assert_eq!(full().shrink(Shrink { priority: 9, ..small }).reclaimed, urgent);
        assert_eq!(full().shrink(Shrink { priority: 0, ..small }).reclaimed, 160);
    }
}

#[test]
fn reclaim_for_large_blocks_ends_where_little_is_inactive() {
    let large = Shrink { order: Order::of(4), ..HARD };
    // Twice the block, 32 pages, are not enough to go on for; anonymous memory counts if it can go.
    for (swap, anon, files, reclaimed) in
        [(false, 0, 64, 32), (false, 0, 65, 64), (false, 200, 64, 32), (true, 200, 64, 96 + 64)]
    {
        let bench = Bench::small(swap);
        bench.fill(LruList::InactiveAnon, anon, Gfp::HIGHUSER_MOVABLE);
        bench.fill(LruList::InactiveFile, files, Gfp::HIGHUSER_MOVABLE);
        bench.fill(LruList::Unevictable, 4096 - anon - files, Gfp::HIGHUSER_MOVABLE);
        assert_eq!(bench.shrink(large).reclaimed, reclaimed, "{anon} and {files}");
    }
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
    // Single pages: more than HIGH and twice the block of order 4 are 225.
    for (free, order, gfp, scanned) in [
        (225, 4, Gfp::HIGHUSER_MOVABLE, false),
        (224, 4, Gfp::HIGHUSER_MOVABLE, true),
        (225, 4, Gfp::NOIO | Gfp::MOVABLE, true),
        (225, 3, Gfp::HIGHUSER_MOVABLE, true),
    ] {
        let bench = Bench::small(false);
        let pfns = bench.fill(LruList::InactiveFile, 4096, Gfp::HIGHUSER_MOVABLE);
        for pfn in pfns.iter().filter(|pfn| pfn.0 % 2 == 0).take(free) {
            assert!(bench.lru.remove(&bench.pages, *pfn));
            bench.pages.free_pages(CPU0, *pfn, Order::ZERO);
        }
        bench.pages.tick(CPU0);
        let request = Request::new(Order::of(order), gfp | Gfp::RETRY_MAYFAIL);
        let mut walk = bench.pages.slow_begin(CPU0, request);
        let mut step = bench.pages.slow_step(&mut walk, None);
        if matches!(step, SlowStep::Compact { .. }) {
            let reply = SlowReply::Compacted(CompactResult::Deferred);
            step = bench.pages.slow_step(&mut walk, Some(reply));
        }
        assert!(matches!(step, SlowStep::Reclaim { .. }), "{step:?}");
        let reply = bench.reclaim().direct(&walk);
        let done = bench.lru.counters(NODE).pgscan_direct > 0;
        assert_eq!(done, scanned, "{free} free, order {order}");
        assert_eq!(reply == SlowReply::Reclaimed(1), !scanned, "as if there were progress");
    }
}

/// With so many pages on the four lists, what goes of anonymous memory and of files.
fn gone(sizes: [u64; 4], shrink: Shrink) -> [usize; 2] {
    let bench = Bench::small(true);
    let filled =
        [0, 1, 2, 3].map(|list| bench.fill(LruList::ALL[list], sizes[list], Gfp::HIGHUSER_MOVABLE));
    bench.shrink(shrink);
    [0, 2].map(|list| {
        let pages = filled[list..list + 2].iter().flatten();
        pages.filter(|pfn| bench.owner.with(**pfn, |page| page.gone)).count()
    })
}

#[test]
fn the_type_with_less_left_is_left_active_pages_included() {
    // After a batch of each list: 936 and 1036 are left, 93 % of 1001; files are to go to 7 % of 700.
    assert_eq!(gone([900, 100, 700, 400], HARD), [32, 49]);
    // 936 and 886, 93 % of 951; anonymous memory to 7 % of 600.
    assert_eq!(gone([600, 400, 900, 50], HARD), [42, 32]);
    // 68 and 118: that is 67 % of 101, and files are to go to 33 % of 150.
    assert_eq!(gone([100, 0, 150, 0], HARD), [32, 49]);
    // 480 each, 93 % of 513: files are left.
    assert_eq!(gone([512, 0, 512, 0], HARD), [35, 32]);
}

#[test]
fn what_is_left_of_a_type_is_left_on_both_its_lists() {
    let bench = Bench::small(true);
    for (list, pages) in
        [(LruList::InactiveAnon, 100), (LruList::ActiveAnon, 200), (LruList::InactiveFile, 1000)]
    {
        bench.fill(list, pages, Gfp::HIGHUSER_MOVABLE);
    }
    bench.shrink(HARD);
    // A batch went and one lost its place, and one more in the end, as fewer were inactive.
    assert_eq!(bench.sizes()[..2], [100 - 32 + 32 + 32, 200 - 32 - 32]);
}

#[test]
fn what_decides_between_files_and_anonymous_memory() {
    // A sixteenth of each list, 60 : 140 where costs decide.
    let gentle = Shrink { priority: 4, ..GENTLE };
    assert_eq!(gone([3900, 0, 96, 0], gentle), [0, 6], "196 file and free pages, above HIGH");
    assert_eq!(gone([3904, 0, 92, 0], gentle), [32, 0], "192");
    assert_eq!(gone([0, 3950, 64, 0], gentle), [0, 4], "192, but no inactive anonymous memory");
    assert_eq!(gone([2000, 0, 15, 0], gentle), [32, 0], "15 >> 4 files are none");
    assert_eq!(gone([1000, 0, 64, 1000], gentle), [18, 2], "most files are active");
    let hard = Shrink { swappiness: 0, ..HARD };
    assert_eq!(gone([512, 0, 1024, 0], hard), [0, 32], "without swappiness");
}

#[test]
fn each_node_is_shrunk_once_a_round() {
    let mut machine = Machine::new(1, &[]);
    machine.nodes = 2;
    for (node, kind, start) in [
        (0, ZoneKind::Dma32, 0),
        (0, ZoneKind::Normal, 2048),
        (1, ZoneKind::Dma32, 4096),
        (1, ZoneKind::Normal, 6144),
    ] {
        let span = PfnRange::new(start, start + 2048);
        machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
    }
    let bench = Bench::new(&machine, false);
    bench.fill(LruList::InactiveFile, 8192, Gfp::HIGHUSER_MOVABLE);
    let request = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE)
        .by(Task { flags: TaskFlags::KTHREAD, ..Task::default() });
    let mut walk = bench.pages.slow_begin(CPU0, request);
    let step = bench.pages.slow_step(&mut walk, None);
    assert!(matches!(step, SlowStep::Reclaim { .. }), "{step:?}");
    // 4096 >> 12 of each, and so on: 1, 1, 3, 7, 15. That is 54, and 24 would not do.
    assert_eq!(bench.reclaim().direct(&walk), SlowReply::Reclaimed(54));
    assert_eq!([0, 1].map(|node| bench.lru.counters(NodeId(node)).pgscan_direct), [27, 27]);
}
