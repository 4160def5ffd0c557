//! Who runs, and when: tasks, kcompactd, the proactive part, contiguous ranges (compaction.md §1.1,
//! §1.10, §1.11).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{BLOCK, START, block, full, machine, scene},
};
use mmspec_impl::compact::RangeError;
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactPriority, CompactResult, PageUse, Request},
    vocab::{
        AllocFlags, CompactFixes, CompactRules, Gfp, Machine, Mark, MigrateType, NodeId, Order,
        Pfn, PfnRange, ZoneIdx, ZoneKind,
    },
};
use std::{sync::atomic::Ordering::Relaxed, vec::Vec};

const NEW: CompactRules = CompactRules::linux_6_12();
const NODE: NodeId = NodeId(0);

fn begins(bench: &Bench) -> Vec<(u8, CompactMode)> {
    let events = bench.owner.events.lock().unwrap();
    let begin = |event: &CompactEvent| match *event {
        CompactEvent::Begin { zone, mode, .. } => Some((zone.0, mode)),
        _ => None,
    };
    events.iter().filter_map(begin).collect()
}

#[test]
fn direct_compaction_needs_io_and_an_order() {
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    for (request, runs) in [
        (request, true),
        (Request { order: Order::ZERO, ..request }, false),
        (Request { gfp: request.gfp.difference(Gfp::IO), ..request }, false),
        (Request { gfp: request.gfp.difference(Gfp::FS), ..request }, true),
    ] {
        let bench = scene(NEW, 12);
        let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
        assert_eq!(done.result > CompactResult::Skipped, runs, "{request:?}");
        assert_eq!(begins(&bench).len(), usize::from(runs));
    }
}

#[test]
fn priorities_decide_how_a_task_runs() {
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    for (priority, mode, minds_skips) in [
        (CompactPriority::Async, CompactMode::Async, true),
        (CompactPriority::SyncLight, CompactMode::SyncLight, true),
        (CompactPriority::SyncFull, CompactMode::SyncLight, false),
    ] {
        let mut bench = scene(NEW, 12);
        bench.pin_all();
        (0..64).for_each(|number| bench.mark(block(number)));
        bench.cached(block(5), block(63));
        let result = bench.compactor().direct(CPU, &request, priority).result;
        assert_eq!(begins(&bench), [(0, mode)]);
        let whole =
            if minds_skips { CompactResult::PartialSkipped } else { CompactResult::Complete };
        assert_eq!(result, whole);
        let scanned = bench.state.counters().migrate_scanned;
        assert_eq!(scanned > 0, !minds_skips, "{priority:?}: {scanned}");
    }
}

/// DMA32 below Normal, 32 pageblocks each, or the same on two nodes.
fn two_zones() -> Machine {
    let mut two = machine();
    two.zones = Machine::new(
        1,
        &[(ZoneKind::Dma32, START, block(32)), (ZoneKind::Normal, block(32), block(64))],
    )
    .zones;
    two
}

fn halves(free: [u64; 2]) -> Bench {
    let mut bench = full(&two_zones(), NEW);
    bench.free(|pfn| {
        let number = (pfn.0 - START) / BLOCK;
        pfn.0 % 2 == 1 && number % 32 >= 32 - free[(number / 32) as usize]
    });
    bench
}

#[test]
fn zones_are_tried_from_the_highest_on() {
    let request = Request::new(Order::of(6), Gfp::HIGHUSER_MOVABLE);
    let direct = |bench: &Bench| {
        bench.owner.events.lock().unwrap().clear();
        let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
        (done.result, begins(bench).iter().map(|(zone, _)| *zone).collect::<Vec<u8>>())
    };
    let mut bench = halves([12, 12]);
    assert_eq!(direct(&bench), (CompactResult::Success, [1].into()), "enough with the first");
    bench = halves([12, 12]);
    bench.pin_all();
    assert_eq!(direct(&bench), (CompactResult::PartialSkipped, [1, 0].into()));
    let state = |zone| bench.state.zone_state(ZoneIdx(zone));
    assert_eq!((state(0).defer_shift, state(1).defer_shift), (1, 1));
    bench = halves([12, 12]);
    bench.pin_all();
    bench.owner.signal.store(true, Relaxed);
    assert_eq!(direct(&bench).1, [1], "a signal stops the walk");
    bench = halves([12, 12]);
    bench.pin_all();
    bench.owner.resched.store(true, Relaxed);
    assert_eq!(direct(&bench).1, [1, 0], "a reschedule only that of async ones");
    bench.owner.events.lock().unwrap().clear();
    bench.compactor().direct(CPU, &request, CompactPriority::Async);
    assert!(begins(&bench).is_empty(), "both are put off");
    bench.compactor().proven(Pfn(START), Order::of(6));
    bench.compactor().proven(Pfn(block(40)), Order::of(6));
    bench.compactor().direct(CPU, &request, CompactPriority::Async);
    assert_eq!(begins(&bench), [(1, CompactMode::Async)]);
    // Low memory was asked for.
    bench = halves([12, 12]);
    bench.owner.events.lock().unwrap().clear();
    let low = Request { gfp: Gfp::KERNEL.union(Gfp::DMA32), ..request };
    bench.compactor().direct(CPU, &low, CompactPriority::SyncLight);
    assert_eq!(begins(&bench).first().map(|(zone, _)| *zone), Some(0));
}

#[test]
fn kcompactd_keeps_the_largest_order_and_the_lowest_zone() {
    let bench = halves([12, 12]);
    let compactor = bench.compactor();
    assert_eq!(compactor.kcompactd_order(NODE), None);
    assert!(!compactor.kcompactd(CPU, NODE), "it sleeps");
    assert!(!compactor.kcompactd_wake(NODE, Order::ZERO, ZoneKind::Normal));
    assert!(compactor.kcompactd_wake(NODE, Order::of(4), ZoneKind::Normal));
    assert!(compactor.kcompactd_wake(NODE, Order::of(6), ZoneKind::Dma32));
    assert!(compactor.kcompactd_wake(NODE, Order::of(5), ZoneKind::Normal));
    assert_eq!(compactor.kcompactd_order(NODE), Some(Order::of(6)));
    assert!(compactor.kcompactd(CPU, NODE));
    assert_eq!(begins(&bench), [(0, CompactMode::SyncLight)], "DMA32 is the lowest asked for");
    assert_eq!(compactor.kcompactd_order(NODE), None, "and then it sleeps");
    assert!(bench.state.zone_state(ZoneIdx(0)).order_failed == 7);
    // The zone is forgotten as well: the next round comes to the other.
    assert!(compactor.kcompactd_wake(NODE, Order::of(7), ZoneKind::Normal));
    bench.owner.events.lock().unwrap().clear();
    assert!(compactor.kcompactd(CPU, NODE));
    assert_eq!(begins(&bench).last(), Some(&(1, CompactMode::SyncLight)));
    assert_eq!(bench.state.counters().daemon_wake, 2);
}

#[test]
fn kcompactd_wakes_only_for_what_is_of_use() {
    let wakes = |free, order, highest| {
        let bench = halves(free);
        let wakes = bench.compactor().kcompactd_wake(NODE, Order::of(order), highest);
        assert_eq!(bench.compactor().kcompactd_order(NODE), Some(Order::of(order)));
        wakes
    };
    assert!(wakes([12, 0], 6, ZoneKind::Normal) && wakes([0, 12], 6, ZoneKind::Normal));
    assert!(wakes([12, 0], 6, ZoneKind::Dma32) && !wakes([0, 12], 6, ZoneKind::Dma32));
    assert!(!wakes([0, 0], 6, ZoneKind::Normal));
}

#[test]
fn kcompactd_puts_off_zones_where_it_fails() {
    let mut bench = halves([12, 0]);
    bench.pin_all();
    let compactor = bench.compactor();
    let round = || {
        bench.owner.events.lock().unwrap().clear();
        compactor.kcompactd_wake(NODE, Order::of(6), ZoneKind::Normal);
        assert!(compactor.kcompactd(CPU, NODE));
        (begins(&bench).len(), bench.state.zone_state(ZoneIdx(0)).defer_shift)
    };
    assert_eq!([round(), round(), round()], [(1, 1), (0, 1), (1, 2)]);
}

#[test]
fn one_control_record_serves_all_zones_of_a_round() {
    let rules =
        CompactRules { fixes: CompactFixes::all().difference(CompactFixes::RESET_TOTALS), ..NEW };
    for (rules, twice) in [(NEW, false), (rules, true)] {
        let mut bench = full(&two_zones(), rules);
        bench.free(|pfn| pfn.0 % 2 == 1 && (pfn.0 - START) / BLOCK % 32 >= 20);
        bench.pin_all();
        let compactor = bench.compactor();
        compactor.kcompactd_wake(NODE, Order::of(6), ZoneKind::Normal);
        compactor.kcompactd(CPU, NODE);
        assert_eq!(begins(&bench).len(), 2);
        // Each of the 31 pageblocks below the free scanner's: 128 frames, and searches. Up to 5.2 the first
        // zone's are counted again with the second's.
        let scanned = bench.state.counters().daemon_migrate_scanned;
        assert_eq!(scanned, bench.state.counters().migrate_scanned);
        let zone = scanned / if twice { 3 } else { 2 };
        assert!((31 * 128..31 * 129).contains(&zone), "{scanned}");
    }
}

#[test]
fn the_score_is_free_memory_that_is_not_in_huge_blocks() {
    let mut bench = full(&machine(), NEW);
    assert_eq!(bench.compactor().node_score(NODE), 0, "nothing is free");
    // Three pageblocks free, and 128 frames in parts: a quarter. Rounded down twice.
    (0..3).for_each(|number| bench.free_block(block(number), 7));
    assert_eq!(bench.compactor().node_score(NODE), 0);
    bench.free_block(block(10), 6);
    bench.free_block(block(12), 6);
    assert_eq!(bench.compactor().node_score(NODE), 24);
}

/// A zone whose score is `parts` of 100: that many halves of pageblocks, and whole ones.
fn score(parts: u64) -> Bench {
    let mut bench = full(&machine(), NEW);
    // 2 * whole halves are whole: 50 halves of 64 frames are 100 units of 32 frames.
    let units = 50;
    let broken = parts / 2;
    (0..broken).for_each(|n| bench.free_block(block(n), 6));
    let whole = (units - broken) / 2;
    (0..whole).for_each(|n| bench.free_block(block(63 - n), 7));
    bench
}

#[test]
fn proactive_rounds_begin_above_the_high_target() {
    // Proactiveness 20: targets 80 and 90; 100: 5 and 15; 60: 40 and 50.
    for (parts, proactiveness) in [(20, 100), (10, 100), (60, 60), (40, 60), (60, 0)] {
        let bench = score(parts);
        let before = bench.compactor().node_score(NODE);
        let low = 100_u64.saturating_sub(proactiveness).max(5);
        let expected = proactiveness > 0 && before > (low + 10).min(100);
        assert_eq!(
            bench.compactor().proactive(CPU, NODE, proactiveness as u8),
            expected,
            "{before}"
        );
        assert_eq!(!begins(&bench).is_empty(), expected);
    }
    for (score_at, proactiveness, expected) in [(16, 100, true), (14, 100, false)] {
        let bench = score(score_at + 2);
        let is = bench.compactor().node_score(NODE);
        assert!(is.abs_diff(score_at) <= 3, "{is}");
        assert_eq!(bench.compactor().proactive(CPU, NODE, proactiveness), is > 15, "{expected}");
    }
}

#[test]
fn proactive_rounds_that_bring_nothing_leave_out_64_checks() {
    let mut bench = scene(NEW, 12);
    bench.pin_all();
    let compactor = bench.compactor();
    assert!(compactor.proactive(CPU, NODE, 60));
    assert!((0..64).all(|_| !compactor.proactive(CPU, NODE, 60)));
    assert!(compactor.proactive(CPU, NODE, 60));
    let bench = scene(NEW, 12);
    let compactor = bench.compactor();
    assert!(compactor.proactive(CPU, NODE, 60));
    // It ends at the low target, 40; a pageblock of the 768 free frames is 16 points.
    let score = compactor.node_score(NODE);
    assert!((20..=40).contains(&score), "{score}");
    assert!(begins(&bench) == [(0, CompactMode::SyncLight)]);
}

#[test]
fn a_sysctl_compacts_all_zones_in_full_sync() {
    let mut bench = halves([12, 12]);
    bench.pin_all();
    bench.compactor().compact_all(CPU);
    assert_eq!(begins(&bench), [(0, CompactMode::Sync), (1, CompactMode::Sync)]);
    // LRU batches: once for all, and once for each run.
    assert_eq!(bench.owner.drains.load(Relaxed), 3);
    let counters = bench.state.counters();
    assert_eq!((counters.daemon_migrate_scanned, counters.migrate_scanned > 0), (0, true));
    bench.owner.signal.store(true, Relaxed);
    bench.compactor().compact_all(CPU);
    assert_eq!(begins(&bench).len(), 2, "a signal stops it");
}

fn range(bench: &Bench, start: u64, end: u64) -> Result<(), RangeError> {
    let range = PfnRange { start: Pfn(start), end: Pfn(end) };
    bench.compactor().range(CPU, range, MigrateType::Movable)
}

#[test]
fn ranges_are_whole_pageblocks_of_one_zone() {
    let bench = halves([12, 12]);
    for (start, end) in [
        (block(4) + 1, block(5)),
        (block(4), block(5) - 1),
        (block(4), block(4)),
        (block(5), block(4)),
        (block(31), block(33)),
        (block(64), block(65)),
    ] {
        assert_eq!(range(&bench, start, end), Err(RangeError::Shape), "{start} to {end}");
    }
    assert_eq!(range(&bench, block(4), block(6)), Ok(()));
    bench.check(2 * BLOCK);
    assert_eq!(range(&bench, block(31), block(32)), Ok(()), "the last of a zone");
}

#[test]
fn ranges_with_pages_that_do_not_move_are_left_as_they_were() {
    let mut bench = scene(NEW, 12);
    bench.each(|pfn, page| match pfn.0 {
        at if at == block(5) + 7 => page.other = Some(PageUse::Fixed),
        at if at == block(9) + 40 => page.busy = true,
        at if at == block(12) + 3 => page.again = 15,
        at if at == block(14) + 3 => page.other = Some(PageUse::Driver),
        _ => {}
    });
    let tokens = bench.tokens();
    let movable =
        |bench: &Bench, at| bench.pages.pageblock_type(Pfn(at)) == Some(MigrateType::Movable);
    assert_eq!(range(&bench, block(4), block(6)), Err(RangeError::Isolate(Pfn(block(5)))));
    assert!(movable(&bench, block(4)) && movable(&bench, block(5)));
    let busy = range(&bench, block(8), block(10)).unwrap_err();
    assert!(
        matches!(busy, RangeError::Busy(at) if at >= Pfn(block(9)) && at <= Pfn(block(9) + 40))
    );
    assert!(movable(&bench, block(8)) && movable(&bench, block(9)));
    // Five rounds: four of them may fail.
    assert_eq!(range(&bench, block(12), block(13)), Ok(()));
    let tries = bench.owner.tries.lock().unwrap();
    let passes = |at: u64| tries.iter().filter(|(from, ..)| *from == at).count();
    assert_eq!((passes(block(9) + 40), passes(block(12) + 3)), (5, 16));
    drop(tries);
    assert_eq!(range(&bench, block(14), block(15)), Ok(()), "drivers' pages move");
    bench.check(2 * BLOCK);
    assert!(bench.tokens() == tokens);
    assert!((0..64).all(|number| !bench.skips(block(number))), "ranges leave skip bits alone");
}

#[test]
fn a_range_takes_free_blocks_as_they_are() {
    let mut bench = scene(NEW, 12);
    bench.free_block(block(20), 7);
    bench.free_block(block(21), 3);
    assert_eq!(range(&bench, block(20), block(22)), Ok(()));
    bench.check(2 * BLOCK);
    assert!(
        (block(20)..block(22)).all(|at| !bench.owner.pages.lock().unwrap().contains_key(&Pfn(at)))
    );
    (block(20)..block(22)).for_each(|at| bench.pages.free_pages(CPU, Pfn(at), Order::ZERO));
    bench.pages.drain_all(CPU, None);
    bench.check(0);
    let request =
        Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::empty());
    assert!(bench.pages.alloc_pages(CPU, request).page().is_some());
    let _ = ZONE;
}
