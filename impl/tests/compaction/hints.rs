//! What survives between runs: cached positions, skip bits and their flush, deferral; when a run begins
//! and ends (compaction.md §1.4, §1.5, §1.8, §1.9, §1.12).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{
        BLOCK, BLOCKS, START, block, daemon, full, machine, scene, source_scans, task, without,
    },
};
use mmspec_impl::compact::{CompactZoneState, Goal};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactPriority, CompactResult, PageUse, Request},
    vocab::{CompactFeatures, CompactFixes, CompactRules, Gfp, MigrateType, NodeId, Order, Pfn},
};
use std::sync::atomic::Ordering::Relaxed;

const NEW: CompactRules = CompactRules::linux_6_12();
const ASYNC: CompactMode = CompactMode::Async;
const LIGHT: CompactMode = CompactMode::SyncLight;

fn state(bench: &Bench) -> CompactZoneState {
    bench.state.zone_state(ZONE)
}

fn positions(bench: &Bench, goal: Goal) -> (u64, u64) {
    let run = bench.begin(goal);
    let (migrate, free) = bench.compactor().positions(&run);
    bench.compactor().abandon(run);
    (migrate.0, free.0)
}

#[test]
fn scanners_begin_at_the_cached_positions() {
    let bench = scene(NEW, 12);
    let zone_ends = (START, block(63));
    assert_eq!(positions(&bench, daemon(7)), zone_ends, "nothing is cached yet");
    bench.state.set_cached(ZONE, [Pfn(block(3)), Pfn(block(5))], Pfn(block(40)));
    assert_eq!(positions(&bench, task(7, ASYNC)), (block(3), block(40)));
    assert_eq!(positions(&bench, task(7, LIGHT)), (block(5), block(40)));
    assert_eq!(positions(&bench, Goal::WHOLE), zone_ends);
    // What is in no zone is forgotten, for both kinds of runs.
    for outside in [START - 1, block(64)] {
        bench.state.set_cached(ZONE, [Pfn(outside), Pfn(block(5))], Pfn(outside));
        assert_eq!(positions(&bench, task(7, ASYNC)), zone_ends);
        assert_eq!(state(&bench).cached_migrate, [Pfn(START); 2]);
        assert_eq!(state(&bench).cached_free, Pfn(block(63)));
    }
    let last = block(64) - 1;
    bench.state.set_cached(ZONE, [Pfn(last), Pfn(START)], Pfn(last));
    assert_eq!(positions(&bench, task(7, ASYNC)), (last, last));
    assert_eq!(positions(&bench, task(7, LIGHT)), (START, last));
}

#[test]
fn runs_drain_lru_batches_when_they_begin() {
    let bench = scene(NEW, 12);
    let run = bench.begin(daemon(7));
    assert_eq!(bench.owner.drains.load(Relaxed), 1);
    bench.compactor().abandon(run);
}

#[test]
fn a_run_is_complete_if_it_began_no_later_than_the_zone_is_known_to() {
    let end = |rules, migrate: u64, goal: Goal| {
        let mut bench = scene(rules, 12);
        bench.pin_all();
        bench.cached(migrate, block(63));
        let mut run = bench.begin(goal);
        let result = bench.finish(&mut run).0;
        (result, state(&bench).blockskip_flush)
    };
    let old = CompactRules::linux_5_0();
    let (whole, part) = (CompactResult::Complete, CompactResult::PartialSkipped);
    assert_eq!(end(old, START, daemon(7)), (whole, false));
    assert_eq!(end(old, block(1), daemon(7)), (part, false));
    assert_eq!(end(old, block(1), task(7, LIGHT)), (part, true), "tasks ask for a flush");
    // Up to the first flush the zone's start is not known.
    assert_eq!(end(NEW, START, daemon(7)), (part, false));
    assert_eq!(end(NEW, START, Goal { whole_zone: true, ..daemon(7) }), (whole, false));
}

#[test]
fn the_cached_position_moves_up_behind_pageblocks_without_sources() {
    let after = |rules, goal: Goal| {
        let mut bench = scene(rules, 12);
        bench.each(|pfn, page| page.lru.pinned = pfn.0 < block(2));
        let mut run = bench.begin(goal);
        bench.step(&mut run);
        let state = state(&bench);
        let skips = bench.skips(START);
        bench.compactor().abandon(run);
        (state.cached_migrate, skips)
    };
    let (begin, end) = (Pfn(START), Pfn(block(1)));
    assert_eq!(after(NEW, daemon(7)), ([end; 2], true));
    assert_eq!(after(NEW, Goal { no_set_skip_hint: true, ..daemon(7) }), ([begin; 2], false));
    // Patch 15: equal ones stay equal until something is isolated.
    let quick = Goal { direct: false, ..task(7, ASYNC) };
    assert_eq!(after(NEW, quick), ([end; 2], true));
    let apart = without(CompactFeatures::F15, CompactFixes::empty());
    assert_eq!(after(apart, quick), ([end, begin], true));
    // Up to 5.0 the first frame scanned is remembered.
    assert_eq!(after(CompactRules::linux_5_0(), daemon(7)), ([begin; 2], true));
}

#[test]
fn what_was_isolated_ends_the_step_of_async_and_sync() {
    let bench = scene(NEW, 12);
    let mut run = bench.begin(Goal { direct: false, ..task(6, ASYNC) });
    (0..2).for_each(|_| drop(bench.step(&mut run)));
    assert_eq!(state(&bench).cached_migrate, [Pfn(block(1)), Pfn(START)]);
    bench.compactor().abandon(run);
}

#[test]
fn marked_pageblocks_are_passed_over() {
    let bench = scene(NEW, 12);
    (0..3).for_each(|number| bench.mark(block(number)));
    let first = |goal| {
        let mut run = bench.begin(goal);
        let scans = source_scans(&bench.step(&mut run).1);
        bench.compactor().abandon(run);
        scans[0]
    };
    assert_eq!(first(Goal { ignore_skip_hint: true, ..daemon(7) }).0, START);
    assert_eq!(first(daemon(7)).0, block(3));
    // In mid-block the bit does not matter any more.
    bench.cached(block(1) + 32, block(63));
    assert_eq!(first(daemon(7)), (block(1) + 32, block(1) + 64, 32, 32));
}

#[test]
fn the_first_candidate_claims_its_pageblock() {
    // Up to 6.4 only if it is the pageblock's first page.
    let claims = |fixes, fixed: u64| {
        let mut bench = scene(without(CompactFeatures::empty(), fixes), 12);
        bench.each(|pfn, page| page.lru.pinned = pfn.0 < START + fixed);
        let mut run = bench.begin(daemon(7));
        let scans = source_scans(&bench.step(&mut run).1);
        assert_eq!(scans[0].3, 32);
        bench.compactor().abandon(run);
        bench.skips(START)
    };
    let late = CompactFixes::MARK_REPRESENTATIVE;
    assert!(claims(CompactFixes::empty(), 0) && claims(CompactFixes::empty(), 1));
    assert!(claims(late, 0) && !claims(late, 1));
}

#[test]
fn a_failed_migration_makes_the_rest_of_the_pageblock_follow() {
    let scans = |rules, goal| {
        let mut bench = scene(rules, 12);
        bench.each(|_, page| page.busy = true);
        let mut run = bench.begin(goal);
        let scans = source_scans(&bench.step(&mut run).1);
        let migrate = bench.compactor().positions(&run).0.0;
        bench.compactor().abandon(run);
        (scans.iter().map(|scan| scan.1 - START).collect::<std::vec::Vec<_>>(), migrate - START)
    };
    assert_eq!(scans(NEW, daemon(7)), ([32, 128].into(), 128));
    let old = CompactRules::linux_6_1();
    assert_eq!(scans(old, daemon(7)), ([32].into(), 32));
    // Async tasks of old leave out the rest of the order-aligned part.
    assert_eq!(scans(old, task(7, LIGHT)), ([32].into(), 32));
    assert_eq!(scans(old, task(7, ASYNC)), ([32].into(), 128));
    assert_eq!(scans(old, task(4, ASYNC)), ([16].into(), 16));
    let full_sync = Goal { mode: CompactMode::Sync, ..daemon(7) };
    assert_eq!(scans(NEW, full_sync), ([32].into(), 32));
    assert_eq!(scans(NEW, Goal { ignore_skip_hint: true, ..daemon(7) }), ([32].into(), 32));
    let direct = without(CompactFeatures::empty(), CompactFixes::MARK_REPRESENTATIVE);
    assert_eq!(scans(direct, daemon(7)), ([32].into(), 32));
    assert_eq!(scans(direct, task(7, LIGHT)), ([32, 128].into(), 128));
}

#[test]
fn pages_of_a_part_are_drained_when_it_is_left() {
    // An LRU drain when the run begins, and one when the scanner has left the part of the order.
    let drains = |order, iterations: usize| {
        let bench = scene(NEW, 12);
        let mut run = bench.begin(daemon(order));
        (0..iterations).for_each(|_| drop(bench.step(&mut run)));
        let drains = bench.owner.drains.load(Relaxed);
        bench.compactor().abandon(run);
        drains
    };
    assert_eq!((drains(7, 1), drains(7, 2)), (1, 2));
    assert_eq!((drains(5, 1), drains(6, 1)), (2, 1));
}

#[test]
fn a_run_ends_for_its_block_only_at_the_end_of_a_pageblock() {
    // 32 pages make a block of order 5 after one iteration; four are a pageblock.
    let iterations = |rules, goal| {
        let bench = scene(rules, 12);
        let mut run = bench.begin(goal);
        let steps = (1..).find(|_| bench.step(&mut run).0.is_some()).unwrap();
        assert_eq!(run.result(), Some(CompactResult::Success));
        bench.compactor().abandon(run);
        steps
    };
    assert_eq!(iterations(NEW, daemon(5)), 5);
    let old = CompactRules::linux_5_0();
    assert_eq!(iterations(old, task(5, LIGHT)), 2);
    // Unmovable requests steal the block, and finish the pageblock first if they are sync.
    assert_eq!(iterations(old, daemon(5)), 5);
    assert_eq!(iterations(old, Goal { mode: ASYNC, ..daemon(5) }), 2);
}

#[test]
fn whose_blocks_satisfy_a_request() {
    // A free block of each order and type, with the scanner at a pageblock's start.
    let ends = |order: u8, goal: Goal, of: MigrateType| {
        let mut bench = scene(NEW, 12);
        bench.pin_all();
        bench.retype(block(20), of);
        let mut run = bench.begin(goal);
        bench.free_block(block(20), order);
        let ended = bench.step(&mut run).0;
        bench.compactor().abandon(run);
        ended == Some(CompactResult::Success)
    };
    let (unmovable, reclaimable, movable) =
        (MigrateType::Unmovable, MigrateType::Reclaimable, MigrateType::Movable);
    for of in [unmovable, reclaimable, movable] {
        for order in 1..=6 {
            // Half a pageblock's order may be stolen by all, smaller ones by what does not move.
            assert_eq!(ends(order, task(order, LIGHT), of), of == movable || order >= 3);
            assert!(ends(order, daemon(order), of));
            let slab = Goal { migratetype: reclaimable, ..daemon(order) };
            assert!(ends(order, slab, of));
            assert!(order == 6 || !ends(order, daemon(order + 1), of));
        }
    }
}

#[test]
fn a_run_without_an_order_looks_for_no_block() {
    let mut bench = scene(NEW, 12);
    bench.free_block(block(20), 7);
    let mut run = bench.compactor().begin(CPU, ZONE, Goal::WHOLE).unwrap();
    assert_eq!(bench.step(&mut run).0, None);
    bench.owner.signal.store(true, Relaxed);
    assert_eq!(bench.step(&mut run).0, Some(CompactResult::Contended));
}

#[test]
fn a_run_needs_room_and_fragmentation() {
    let verdict = |free: u64, goal: Goal| {
        let mut bench = full(&machine(), NEW);
        let marks = bench.pages.zone_state(ZONE).marks;
        let mark = if goal.order.unwrap().get() > 3 { marks[1] } else { marks[0] };
        let count = mark + free;
        bench.free(|pfn| pfn.0 % 2 == 1 && (pfn.0 - START) / 2 < count);
        // What CPUs have counted on their own reaches the zone.
        while bench.pages.tick(CPU) {}
        assert_eq!(bench.pages.zone_state(ZONE).nr_free_pages as u64, count);
        let result = bench.compactor().begin(CPU, ZONE, goal);
        result.map(|run| bench.compactor().abandon(run))
    };
    for order in [1, 3, 4, 7] {
        // 2 << order pages above the mark; costly orders ask for the low mark.
        let gap = 2 << order;
        assert_eq!(verdict(gap, daemon(order)), Err(CompactResult::Skipped), "order {order}");
        assert_eq!(verdict(gap + 1, daemon(order)), Ok(()), "order {order}");
    }
    let with_blocks = |order: u8, goal: Goal| {
        let mut bench = full(&machine(), NEW);
        (0..BLOCKS).for_each(|number| bench.free_block(block(number), order));
        bench.compactor().begin(CPU, ZONE, goal).map(|run| bench.compactor().abandon(run))
    };
    // 64 blocks of order 6: an index of 1000 - (1000 + 32000) / 64 = 485, which is for want of memory.
    assert_eq!(with_blocks(6, daemon(7)), Err(CompactResult::Skipped));
    assert_eq!(with_blocks(5, daemon(7)), Ok(()));
    assert_eq!(with_blocks(6, daemon(6)), Err(CompactResult::Success));
    assert_eq!(with_blocks(2, daemon(3)), Ok(()), "small orders ask for no index");
}

#[test]
fn flushes_need_to_be_asked_for_and_clear_what_is_of_use() {
    let mut bench = full(&machine(), NEW);
    // Pageblocks 3 to 9 hold pages that move, 40 to 62 free frames; the rest is fixed.
    bench.free(|pfn| (block(40)..block(63)).contains(&pfn.0) && pfn.0 % 2 == 0);
    bench.each(|pfn, page| {
        if !(block(3)..block(10)).contains(&pfn.0) {
            page.other = Some(PageUse::Fixed);
        }
    });
    let mark_all = |bench: &Bench| (0..BLOCKS).for_each(|number| bench.mark(block(number)));
    mark_all(&bench);
    bench.cached(block(20), block(30));
    bench.compactor().flush_node(NodeId(0));
    assert!(bench.skips(block(5)), "nobody asked for it");
    ask_for_flush(&bench);
    mark_all(&bench);
    bench.compactor().flush_node(NodeId(0));
    let cleared: std::vec::Vec<u64> = (0..BLOCKS).filter(|n| !bench.skips(block(*n))).collect();
    let expected: std::vec::Vec<u64> = (3..10).chain(40..63).collect();
    assert_eq!(cleared, expected);
    let state = state(&bench);
    assert_eq!((state.init_migrate, state.init_free), (Pfn(block(3)), Pfn(block(62))));
    assert_eq!(state.cached_migrate, [Pfn(block(3)); 2]);
    assert_eq!(state.cached_free, Pfn(block(62)));
    assert!(!state.blockskip_flush);
    // Now the zone's start is known: a run from there is a whole one.
    bench.pin_all();
    let mut run = bench.begin(daemon(7));
    assert_eq!(bench.finish(&mut run).0, CompactResult::Complete);
}

/// A task's run whose scanners are in one pageblock meets at once.
fn ask_for_flush(bench: &Bench) {
    bench.cached(block(30), block(30));
    let mut run = bench.begin(task(7, LIGHT));
    assert!(bench.step(&mut run).0.is_some());
    assert!(state(bench).blockskip_flush);
}

#[test]
fn samples_are_taken_of_every_eighth_frame() {
    for (at, found) in [(0, true), (8, true), (120, true), (7, false), (4, false), (127, false)] {
        let mut bench = scene(NEW, 12);
        bench.each(|pfn, page| {
            if pfn.0 < block(8) && pfn.0 != block(4) + at {
                page.other = Some(PageUse::Fixed);
            }
        });
        ask_for_flush(&bench);
        (0..BLOCKS).for_each(|number| bench.mark(block(number)));
        bench.compactor().flush_node(NodeId(0));
        assert_eq!(!bench.skips(block(4)), found, "frame {at}");
        assert_eq!(state(&bench).init_migrate, Pfn(block(if found { 4 } else { 8 })));
    }
}

#[test]
fn the_first_target_lies_in_a_movable_pageblock() {
    let mut bench = full(&machine(), NEW);
    bench.free(|pfn| pfn.0 >= block(50) && pfn.0 % 2 == 0);
    bench.retype(block(63), MigrateType::Unmovable);
    bench.each(|pfn, page| {
        if pfn.0 >= block(62) {
            page.other = Some(PageUse::Fixed)
        }
    });
    ask_for_flush(&bench);
    bench.compactor().flush_node(NodeId(0));
    assert_eq!(state(&bench).init_free, Pfn(block(62)));
}

#[test]
fn where_nothing_is_of_use_the_scanners_meet_in_the_middle() {
    let mut bench = full(&machine(), NEW);
    bench.free(|pfn| pfn.0 % 2 == 1);
    bench.each(|_, page| page.other = Some(PageUse::Fixed));
    ask_for_flush(&bench);
    bench.compactor().flush_node(NodeId(0));
    let state = state(&bench);
    assert_eq!(state.cached_migrate, [Pfn(block(32)); 2]);
    assert_eq!(state.cached_free.0 / BLOCK, block(31) / BLOCK);
}

#[test]
fn up_to_5_0_a_flush_clears_all_but_huge_pages() {
    let rules = CompactRules::linux_5_0();
    let mut bench = full(&machine(), rules);
    bench.free(|pfn| pfn.0 >= block(40) && pfn.0 % 2 == 1);
    ask_for_flush(&bench);
    (0..BLOCKS).for_each(|number| bench.mark(block(number)));
    bench.compactor().flush_node(NodeId(0));
    assert!((0..BLOCKS).all(|number| !bench.skips(block(number))));
    assert!(!state(&bench).blockskip_flush);
    assert_eq!(state(&bench).cached_free, Pfn(block(63)));
}

#[test]
fn failures_put_off_the_next_attempts() {
    let mut bench = scene(NEW, 12);
    bench.pin_all();
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    let attempt = |order: u8, priority| {
        let request = Request { order: Order::of(order), ..request };
        bench.compactor().direct(CPU, &request, priority).result
    };
    for shift in 1..=7_u32 {
        let result = attempt(7, CompactPriority::SyncLight);
        assert!(result > CompactResult::Continue, "{result:?}");
        assert_eq!(state(&bench).defer_shift, u64::from(shift.min(6)));
        assert_eq!((state(&bench).considered, state(&bench).order_failed), (0, 0));
        for _ in 1..1 << shift.min(6) {
            assert_eq!(attempt(7, CompactPriority::SyncLight), CompactResult::Deferred);
        }
    }
    let before = state(&bench);
    assert!(attempt(7, CompactPriority::SyncFull) > CompactResult::Continue);
    assert_eq!(
        (before.defer_shift, state(&bench).defer_shift),
        (6, 6),
        "the hardest is never put off"
    );
    bench.compactor().proven(Pfn(START), Order::of(7));
    let now = state(&bench);
    assert_eq!((now.defer_shift, now.considered, now.order_failed), (0, 0, 8));
    assert!(!now.blockskip_flush, "a success cancels the flush");
    // Async attempts put off nothing.
    assert!(attempt(7, CompactPriority::Async) > CompactResult::Continue);
    assert_eq!(state(&bench).defer_shift, 0);
}

#[test]
fn runs_trace_their_beginning_and_their_end() {
    let mut bench = scene(NEW, 12);
    bench.pin_all();
    bench.owner.events.lock().unwrap().clear();
    let mut run = bench.begin(daemon(7));
    let begin = bench.owner.events.lock().unwrap()[0];
    assert!(matches!(begin, CompactEvent::Begin { migrate: Pfn(START), mode: LIGHT, .. }));
    let (result, events) = bench.finish(&mut run);
    assert!(matches!(events.last(), Some(CompactEvent::End { result: is, .. }) if *is == result));
    let (scanned, counters) = (run.scanned(), bench.state.counters());
    assert_eq!((counters.migrate_scanned, counters.free_scanned), scanned);
    assert_eq!((counters.daemon_migrate_scanned, counters.daemon_free_scanned), scanned);
    assert_eq!(bench.compactor().step(&mut run), Some(result), "an ended run stays so");
    bench.compactor().abandon(run);
    assert_eq!(bench.state.counters(), counters, "and counts once");
    let mut run = bench.begin(task(7, LIGHT));
    bench.finish(&mut run);
    assert_eq!(bench.state.counters().daemon_migrate_scanned, counters.daemon_migrate_scanned);
}
