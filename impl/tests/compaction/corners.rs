//! Corners: where two rules meet (compaction.md §1.1, §1.4, §1.10, §1.12).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{BLOCK, START, block, daemon, full, machine, scene, source_scans, task, without},
};
use mmspec_impl::compact::{Goal, RangeError};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactPriority, CompactResult, Request},
    vocab::{
        CompactFeatures, CompactFixes, CompactRules, Gfp, Machine, MigrateType, NodeId, Order, Pfn,
        PfnRange, ZoneIdx, ZoneKind,
    },
};
use std::{sync::atomic::Ordering::Relaxed, vec::Vec};

const NEW: CompactRules = CompactRules::linux_6_12();
const LIGHT: CompactMode = CompactMode::SyncLight;

/// Two zones of 32 pageblocks: DMA32 below Normal.
fn two_zones() -> Machine {
    let spans = [(ZoneKind::Dma32, START, block(32)), (ZoneKind::Normal, block(32), block(64))];
    Machine { zones: Machine::new(1, &spans).zones, ..machine() }
}

#[test]
fn that_a_zone_was_covered_whole_leaks_to_the_next() {
    let mut bench = full(&two_zones(), CompactRules::linux_5_0());
    bench.free(|pfn| pfn.0 % 2 == 1 && (pfn.0 - START) / BLOCK % 32 >= 20);
    bench.pin_all();
    // The second zone's run begins in the middle.
    bench.state.set_cached(ZoneIdx(1), [Pfn(block(40)); 2], Pfn(block(63)));
    let compactor = bench.compactor();
    compactor.kcompactd_wake(NodeId(0), Order::of(6), ZoneKind::Normal);
    compactor.kcompactd(CPU, NodeId(0));
    let events = bench.owner.events.lock().unwrap();
    let end = |event: &CompactEvent| match *event {
        CompactEvent::End { zone, result, .. } => Some((zone.0, result)),
        _ => None,
    };
    let ends: Vec<_> = events.iter().filter_map(end).collect();
    assert_eq!(ends, [(0, CompactResult::Complete), (1, CompactResult::Complete)]);
}

#[test]
fn contention_leaks_too_and_failures_of_searches() {
    let mut bench = full(&two_zones(), NEW);
    bench.free(|pfn| pfn.0 % 2 == 1 && (pfn.0 - START) / BLOCK % 32 >= 20);
    bench.pin_all();
    let compactor = bench.compactor();
    compactor.kcompactd_wake(NodeId(0), Order::of(6), ZoneKind::Normal);
    compactor.kcompactd(CPU, NodeId(0));
    let events = bench.owner.events.lock().unwrap();
    let second = events.iter().rposition(|event| matches!(event, CompactEvent::Begin { .. }));
    let limits = crate::scene::source_searches(&events[second.unwrap()..]);
    assert_eq!(limits[0].1, 1, "the first zone's searches all failed");
}

#[test]
fn a_zone_at_frame_0_begins_with_a_whole_pageblock() {
    // Wherever it begins in the machine's first pageblock.
    for start in [0, 8] {
        let mut machine = Machine::new(2, &[(ZoneKind::Normal, start, 8192)]);
        (machine.pageblock_order, machine.max_order) = (Order::of(7), Order::of(8));
        machine.thp_order = None;
        let mut bench = full(&machine, NEW);
        bench.free(|pfn| pfn.0 >= 7000 && pfn.0 % 2 == 1);
        let mut run = bench.begin(daemon(7));
        let frames = 128 - start;
        assert_eq!(source_scans(&bench.step(&mut run).1)[0], (start, 128, frames, frames));
        bench.compactor().abandon(run);
    }
}

#[test]
fn a_direct_compaction_given_up_gives_everything_back() {
    let mut bench = scene(NEW, 12);
    bench.free_block(block(60), 6);
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    let compactor = bench.compactor();
    let mut direct = compactor.direct_begin(CPU, &request, CompactPriority::SyncLight).unwrap();
    let free = bench.pages.free_frames();
    (0..2).for_each(|_| assert!(compactor.direct_step(&mut direct).is_none()));
    assert!(bench.pages.free_frames() < free, "targets are isolated");
    compactor.direct_abandon(direct);
    bench.check(0);
    assert_eq!(bench.pages.free_frames(), free);
}

#[test]
fn up_to_5_0_contention_and_signals_are_minded_before_all_else() {
    let bench = scene(CompactRules::linux_5_0(), 12);
    let mut run = bench.begin(daemon(7));
    bench.owner.signal.store(true, Relaxed);
    assert_eq!(bench.step(&mut run).0, Some(CompactResult::Contended));
    assert_eq!(run.scanned(), (0, 0));
}

#[test]
fn a_proactive_run_ends_at_the_low_target() {
    // Proactiveness 20: 80 of 100, and that is what 1024 single pages of 1280 are.
    for (blocks, expected) in [(2, Some(CompactResult::Success)), (1, None)] {
        let mut bench = full(&machine(), NEW);
        bench.free(|pfn| pfn.0 >= block(40) && pfn.0 < block(56) && pfn.0 % 2 == 1);
        (0..blocks).for_each(|n| bench.free_block(block(57 + 2 * n), 7));
        let goal = Goal { proactive: Some(20), mode: LIGHT, ..Goal::WHOLE };
        let mut run = bench.begin(goal);
        assert_eq!(bench.step(&mut run).0, expected);
        bench.compactor().abandon(run);
    }
}

#[test]
fn a_block_of_cma_is_found_for_movable_requests_only() {
    let mut cma = machine();
    cma.cma_built = true;
    cma.cma.push(PfnRange { start: Pfn(block(60)), end: Pfn(block(64)) });
    for (migratetype, expected) in
        [(MigrateType::Movable, Some(CompactResult::Success)), (MigrateType::Unmovable, None)]
    {
        let mut bench = full(&cma, NEW);
        bench.free(|pfn| (block(40)..block(56)).contains(&pfn.0) && pfn.0 % 2 == 1);
        bench.each(|pfn, page| page.lru.pinned = pfn.0 == START);
        let mut run = bench.begin(Goal { migratetype, ..daemon(7) });
        while bench.compactor().positions(&run).0 < Pfn(block(1)) {
            assert_eq!(bench.step(&mut run).0, None);
        }
        bench.free_block(block(62), 7);
        assert_eq!(bench.step(&mut run).0, expected, "{migratetype:?}");
        bench.compactor().abandon(run);
    }
}

#[test]
fn up_to_5_0_runs_for_other_types_finish_the_pageblock_before_they_steal() {
    for (migratetype, mode, expected) in [
        (MigrateType::Movable, LIGHT, Some(CompactResult::Success)),
        (MigrateType::Reclaimable, LIGHT, None),
        (MigrateType::Reclaimable, CompactMode::Async, Some(CompactResult::Success)),
    ] {
        let mut bench = scene(CompactRules::linux_5_0(), 12);
        bench.retype(block(30), MigrateType::Unmovable);
        let mut run = bench.begin(Goal { migratetype, mode, ..daemon(6) });
        assert_eq!(bench.step(&mut run).0, None);
        bench.free_block(block(30), 6);
        assert_eq!(bench.compactor().positions(&run).0, Pfn(START + 32));
        assert_eq!(bench.step(&mut run).0, expected, "{migratetype:?}, {mode:?}");
        bench.compactor().abandon(run);
    }
}

#[test]
fn zones_without_memory_are_not_compacted() {
    let mut machine = two_zones();
    machine.holes.push(PfnRange { start: Pfn(START), end: Pfn(block(32)) });
    let mut bench = full(&machine, NEW);
    bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 2 == 1);
    assert!(bench.compactor().proactive(CPU, NodeId(0), 20));
    let events = bench.owner.events.lock().unwrap();
    let begun = |event: &CompactEvent| match *event {
        CompactEvent::Begin { zone, .. } => Some(zone.0),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(begun).collect::<Vec<_>>(), [1]);
}

#[test]
fn rules_are_as_given() {
    for (_, rules) in CompactRules::PRESETS {
        assert_eq!(scene(rules, 12).state.rules(), rules);
    }
}

#[test]
fn an_async_task_of_old_leaves_out_what_is_in_vain_wherever_it_is() {
    let mut bench = scene(CompactRules::linux_6_1(), 12);
    bench.each(|_, page| page.busy = true);
    bench.cached(block(3), block(63));
    let mut run = bench.begin(task(6, CompactMode::Async));
    bench.step(&mut run);
    assert_eq!(bench.compactor().positions(&run).0, Pfn(block(3) + 64));
    bench.compactor().abandon(run);
}

#[test]
fn pages_of_a_huge_block_that_failed_are_not_drained() {
    for (order, drains) in [(7, 1), (6, 2)] {
        let mut bench = scene(NEW, 12);
        bench.each(|pfn, page| (page.busy, page.lru.pinned) = (true, pfn.0 >= START + 32));
        let mut run = bench.begin(daemon(order));
        bench.step(&mut run);
        assert_eq!(bench.owner.drains.load(Relaxed), drains, "order {order}");
        bench.compactor().abandon(run);
    }
}

#[test]
fn movable_requests_may_use_cma_and_others_not() {
    let mut cma = machine();
    cma.cma_built = true;
    cma.cma.push(PfnRange { start: Pfn(block(60)), end: Pfn(block(64)) });
    for (gfp, served) in [(Gfp::HIGHUSER_MOVABLE, true), (Gfp::KERNEL, false)] {
        let mut bench = full(&cma, NEW);
        bench.free_block(block(62), 7);
        bench.free(|pfn| (block(60)..block(62)).contains(&pfn.0) && pfn.0 % 2 == 1);
        let request = Request::new(Order::of(7), gfp);
        bench.owner.events.lock().unwrap().clear();
        let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
        let runs = !bench.owner.events.lock().unwrap().is_empty();
        assert_eq!(done.result == CompactResult::Success && !runs, served, "{done:?}");
        if let Some(page) = done.page {
            bench.pages.free_pages(CPU, page, Order::of(7));
        }
        bench.check(0);
    }
}

#[test]
fn a_success_without_capture_counts_as_well() {
    let bench = scene(without(CompactFeatures::F22, CompactFixes::empty()), 12);
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
    assert_eq!((done.result, done.page), (CompactResult::Success, None));
    assert_eq!(bench.state.zone_state(ZONE).order_failed, 8);
    // A smaller order that fails lowers it again, a larger one does not.
    let mut bench = scene(NEW, 12);
    bench.pin_all();
    bench.compactor().proven(Pfn(START), Order::of(7));
    let fail = |order: u8| {
        let request = Request { order: Order::of(order), ..request };
        bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
        bench.state.zone_state(ZONE).order_failed
    };
    assert_eq!(fail(5), 5);
    bench.compactor().proven(Pfn(START), Order::of(4));
    assert_eq!(fail(7), 5);
}

#[test]
fn a_flush_is_of_one_node() {
    let mut two = two_zones();
    two.nodes = 2;
    two.cpu_nodes = [NodeId(0), NodeId(1)].into();
    two.zones[1].node = NodeId(1);
    let mut bench = full(&two, NEW);
    bench.free(|pfn| pfn.0 % 2 == 1 && (pfn.0 - START) / BLOCK % 32 >= 20);
    for (zone, first) in [(0, 0), (1, 32)] {
        bench.state.set_cached(ZoneIdx(zone), [Pfn(block(first + 9)); 2], Pfn(block(first + 9)));
        let goal = task(6, LIGHT);
        let mut run = bench.compactor().begin(CPU, ZoneIdx(zone), goal).unwrap();
        assert!(bench.step(&mut run).0.is_some());
    }
    let asked = |zone| bench.state.zone_state(ZoneIdx(zone)).blockskip_flush;
    assert!(asked(0) && asked(1));
    bench.compactor().flush_node(NodeId(1));
    assert!(asked(0) && !asked(1));
    bench.compactor().flush_node(NodeId(0));
    assert!(!asked(0));
}

#[test]
fn the_longest_back_off_ends_with_a_flush() {
    let mut bench = scene(NEW, 12);
    bench.pin_all();
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    let attempt = || bench.compactor().direct(CPU, &request, CompactPriority::SyncLight).result;
    for shift in 1..=6 {
        attempt();
        (1..1 << shift).for_each(|_| assert_eq!(attempt(), CompactResult::Deferred));
    }
    assert_eq!(bench.state.zone_state(ZONE).considered, 63);
    let flushed = || bench.state.zone_state(ZONE).init_migrate != Pfn(0);
    // A run that nobody puts off comes before the back-off is over: no flush.
    bench.compactor().direct(CPU, &request, CompactPriority::SyncFull);
    assert!(!flushed());
    (1..64).for_each(|_| assert_eq!(attempt(), CompactResult::Deferred));
    attempt();
    assert!(flushed());
}

#[test]
fn a_range_of_pages_that_do_not_move_marks_nothing() {
    let mut bench = scene(NEW, 12);
    bench.each(|pfn, page| page.lru.pinned = (block(16)..block(17)).contains(&pfn.0));
    let range = PfnRange { start: Pfn(block(16)), end: Pfn(block(17)) };
    let taken = bench.compactor().range(CPU, range, MigrateType::Movable);
    assert_eq!(taken, Err(RangeError::Busy(Pfn(block(16)))));
    assert!(!bench.skips(block(16)));
    assert_eq!(bench.state.zone_state(ZONE).cached_migrate, Bench::nothing_cached());
    bench.check(0);
}

#[test]
fn a_run_whose_targets_are_refused_is_contended() {
    let mut bench = full(
        &machine(),
        without(CompactFeatures::F09 | CompactFeatures::F11, CompactFixes::empty()),
    );
    bench.free(|pfn| (block(50)..block(63)).contains(&pfn.0) && pfn.0 % 2 == 1);
    let mut run = bench.begin(daemon(7));
    while bench.take(Order::ZERO, Gfp::HIGHUSER_MOVABLE).is_some() {}
    bench.pages.drain_all(CPU, None);
    // One block, and no more than the mark: its pageblock is as far as the scanner gets.
    let min = bench.pages.zone_state(ZONE).marks[0];
    bench.free(|pfn| pfn.0 >= block(60) && pfn.0 < block(60) + min);
    assert_eq!(bench.step(&mut run).0, Some(CompactResult::Contended));
    assert_eq!(bench.compactor().positions(&run).1, Pfn(block(60)));
}

#[test]
fn a_goal_of_kcompactd_is_that_of_the_kernels() {
    let goal = Goal::daemon(Order::of(5), ZoneKind::Dma32);
    assert_eq!((goal.order, goal.highest, goal.mode), (Some(Order::of(5)), ZoneKind::Dma32, LIGHT));
    assert!(!goal.whole_zone && !goal.ignore_skip_hint && !goal.direct);
    assert_eq!(goal.migratetype, MigrateType::Unmovable);
}

#[test]
fn up_to_5_0_the_first_page_isolated_decides_on_the_drain() {
    // Frames 70 to 101 are isolated: part 64 to 127 is not left, 64 to 95 is.
    for (order, drains) in [(6, 1), (5, 2)] {
        let mut bench = scene(CompactRules::linux_5_0(), 12);
        bench.each(|pfn, page| page.lru.pinned = pfn.0 < block(3) + 70);
        bench.cached(block(3), block(63));
        let mut run = bench.begin(daemon(order));
        bench.step(&mut run);
        assert_eq!(bench.compactor().positions(&run).0, Pfn(block(3) + 102));
        assert_eq!(bench.owner.drains.load(Relaxed), drains, "order {order}");
        bench.compactor().abandon(run);
    }
}

#[test]
fn holes_are_neither_sources_nor_targets() {
    let mut holes = machine();
    for (from, to) in [(block(1), block(3)), (block(60), block(63)), (block(4), block(4) + 64)] {
        holes.holes.push(PfnRange { start: Pfn(from), end: Pfn(to) });
    }
    let off = CompactFeatures::F09 | CompactFeatures::F11 | CompactFeatures::F12;
    let mut bench = full(&holes, without(off, CompactFixes::empty()));
    bench.free(|pfn| (block(50)..block(60)).contains(&pfn.0) && pfn.0 % 2 == 0);
    bench.each(|pfn, page| page.lru.pinned = pfn.0 < block(4));
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    assert_eq!(source_scans(&events), [(START, block(1), 128, 0)]);
    let (_, events) = bench.step(&mut run);
    assert_eq!(source_scans(&events), [(block(3), block(4), 128, 0)]);
    let (_, events) = bench.step(&mut run);
    assert_eq!(source_scans(&events), [(block(4), block(4) + 96, 96, 32)]);
    let scans = crate::scene::target_scans(&events);
    let blocks: Vec<u64> = scans.iter().map(|scan| (scan.0 - START) / BLOCK).collect();
    assert_eq!(blocks[..2], [63, 59]);
    bench.compactor().abandon(run);
    bench.check(0);
}

#[test]
fn the_start_of_a_zone_counts_as_that_of_a_pageblock() {
    for (fixes, first) in
        [(CompactFixes::empty(), block(1)), (CompactFixes::ZONE_START, START + 60)]
    {
        let mut part = machine();
        part.zones[0].span.start.0 += 60;
        let mut bench = full(&part, without(CompactFeatures::empty(), fixes));
        bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 2 == 1);
        bench.mark(START + 60);
        let mut run = bench.begin(daemon(7));
        let scans = source_scans(&bench.step(&mut run).1);
        bench.compactor().abandon(run);
        assert_eq!(scans[0].0, first);
        // It is marked like any other when nothing in it moves.
        let mut bench = full(&part, without(CompactFeatures::empty(), fixes));
        bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 2 == 1);
        bench.pin_all();
        let mut run = bench.begin(daemon(7));
        assert_eq!(source_scans(&bench.step(&mut run).1), [(START + 60, block(1), 68, 0)]);
        assert_eq!(bench.skips(START + 60), fixes.is_empty());
        bench.compactor().abandon(run);
    }
}

#[test]
fn looking_around_a_find() {
    // A block of 8 frames is found in pageblock 60, and there is more on both sides of it.
    let scans = |fixes, goal: Goal| {
        let mut bench = full(&machine(), without(CompactFeatures::F09, fixes));
        bench.free(|pfn| (block(8)..block(16)).contains(&pfn.0) && pfn.0 % 2 == 1);
        bench.free_block(block(60) + 64, 3);
        bench.free(|pfn| pfn.0 >= block(60) && pfn.0 < block(60) + 8 && pfn.0 % 2 == 0);
        bench.free(|pfn| pfn.0 >= block(61) - 8 && pfn.0 < block(61) && pfn.0 % 2 == 0);
        let mut run = bench.begin(goal);
        let (_, events) = bench.step(&mut run);
        let scans = crate::scene::target_scans(&events);
        let marked = bench.skips(block(60));
        bench.compactor().abandon(run);
        bench.check(0);
        (scans.iter().map(|scan| (scan.0 - START, scan.1 - START)).collect::<Vec<_>>(), marked)
    };
    let at = block(60) - START;
    let whole = (at, at + 128);
    let old = CompactFixes::AROUND_BLOCK
        | CompactFixes::MARK_REPRESENTATIVE
        | CompactFixes::FINISH_FAILED;
    let quick = task(7, CompactMode::Async);
    // The first look of 5.1 is before the block, the second behind its first frame.
    let (seen, marked) = scans(old, daemon(7));
    assert_eq!(seen[..2], [(at, at + 64), (at + 65, at + 128)]);
    assert!(marked, "there was too little");
    assert!(scans(old, quick).0.iter().all(|scan| *scan != (at, at + 64)), "not for async tasks");
    let (seen, marked) = scans(old.difference(CompactFixes::AROUND_BLOCK), daemon(7));
    assert_eq!((seen[0], marked), (whole, true));
}

#[test]
fn a_part_that_is_free_is_no_reason_to_stop() {
    let mut bench = scene(NEW, 12);
    bench.free_block(block(2) + 8, 3);
    bench.cached(block(2) + 8, block(63));
    let mut run = bench.begin(task(4, CompactMode::Async));
    let scans = source_scans(&bench.step(&mut run).1);
    assert_eq!(scans, [(block(2) + 8, block(2) + 32, 24, 16)]);
    bench.compactor().abandon(run);
}

/// Patch 06: a page without a handler is tried again by full sync runs only; before it, by all.
#[test]
fn pages_without_a_handler_are_tried_once_or_ten_times() {
    let old = CompactRules { features: NEW.features - CompactFeatures::F06, ..NEW };
    for (rules, mode, expected) in [
        (NEW, LIGHT, 1),
        (NEW, CompactMode::Sync, 10),
        (old, LIGHT, 10),
        (old, CompactMode::Sync, 10),
    ] {
        let mut bench = scene(rules, 8);
        bench.each(|_, page| page.no_handler = true);
        let goal = Goal { mode, ..Goal::WHOLE };
        let mut run = bench.compactor().begin(CPU, ZONE, goal).unwrap();
        assert_eq!(bench.compactor().step(&mut run), None);
        bench.compactor().abandon(run);
        let tries = bench.owner.tries.lock().unwrap();
        let first = tries[0].0;
        let times = tries.iter().filter(|(from, ..)| *from == first).count();
        assert_eq!(times, expected, "{mode:?}");
    }
}

/// A signal in the middle of a pageblock, when pages of it are isolated already.
#[test]
fn a_range_that_a_signal_cuts_short_leaves_nothing_isolated() {
    let mut bench = scene(NEW, 20);
    // Every second frame of this pageblock is free: the signal is seen before the batch is full.
    let range = PfnRange { start: Pfn(block(60)), end: Pfn(block(61)) };
    *bench.owner.fatal_page.get_mut().unwrap() = Some(Pfn(block(60) + 2));
    let tokens = bench.tokens();
    let taken = bench.compactor().range(CPU, range, MigrateType::Movable);
    assert_eq!(taken, Err(RangeError::Busy(range.start)));
    bench.check(0);
    assert_eq!(bench.tokens(), tokens);
}

/// compaction.md §6.1: proactive runs are the daemon's in 6.12, and nobody's in 6.1.
#[test]
fn proactive_scans_are_the_daemons_since_6_7() {
    for (rules, counted) in [(NEW, true), (CompactRules::linux_6_1(), false)] {
        let bench = scene(rules, 20);
        assert!(bench.compactor().proactive(CPU, NodeId(0), 20));
        let counters = bench.state.counters();
        let daemon = [counters.daemon_migrate_scanned, counters.daemon_free_scanned];
        let all = [counters.migrate_scanned, counters.free_scanned];
        assert!(all[0] > 0);
        assert_eq!(daemon, if counted { all } else { [0; 2] });
    }
}
