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
