//! What survives between runs: cached positions, skip bits, deferral (compaction.md §1.4, §1.5, §1.8).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{START, block, daemon, scene, source_scans, task, without},
};
use mmspec_impl::compact::{CompactZoneState, Goal};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactPriority, CompactResult, Request},
    vocab::{CompactFeatures, CompactFixes, CompactRules, Gfp, Order, Pfn},
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
