//! What searches for targets come upon, and what comes of it (compaction.md §1.12, §2.4, §2.7).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{
        BLOCK, START, block, daemon, full, machine, moves, source_searches, target_scans,
        target_searches, task, without,
    },
};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactResult},
    vocab::{
        AllocFlags, CompactFeatures, CompactFixes, CompactRules, Gfp, Mark, MigrateType, Order,
        Pfn, PfnRange, Tunables,
    },
};
use std::vec::Vec;

const NEW: CompactRules = CompactRules::linux_6_12();
const LIGHT: CompactMode = CompactMode::SyncLight;

fn but(fixes: CompactFixes) -> CompactRules {
    without(CompactFeatures::F09, fixes)
}

/// Enough is free, but too low for searches: 512 single frames of the pageblocks 8 to 15. The run's
/// sources begin at the zone's start, its targets are looked for from pageblock 63 down: entries are
/// taken from pageblock 47 on, and candidates from 31 on.
fn low(rules: CompactRules) -> Bench {
    let mut bench = full(&machine(), rules);
    free_low(&mut bench);
    bench
}

fn free_low(bench: &mut Bench) {
    bench.free(|pfn| (block(8)..block(16)).contains(&pfn.0) && pfn.0 % 2 == 0);
}

/// Only the zone's first frames are sources.
fn sources(bench: &mut Bench, count: u64) {
    bench.each(|pfn, page| page.lru.pinned = pfn.0 >= START + count);
}

/// The first iteration of a run, and what was searched then: entries looked at, pages taken.
fn first(bench: &Bench, goal: Goal) -> (Vec<(u64, u64)>, Vec<CompactEvent>) {
    let mut run = bench.begin(goal);
    let (_, events) = bench.step(&mut run);
    bench.compactor().abandon(run);
    (counts(&events), events)
}

fn counts(events: &[CompactEvent]) -> Vec<(u64, u64)> {
    target_searches(events).iter().map(|search| (search.1, search.2)).collect()
}

/// Take pages until only so many are free beyond what is in `free_block`s.
fn leave(bench: &Bench, pages: u64) {
    while bench.pages.free_frames() > pages {
        bench.take(Order::ZERO, Gfp::HIGHUSER_MOVABLE).expect("more is free");
    }
    bench.pages.drain_all(CPU, None);
}

fn min(bench: &Bench) -> u64 {
    bench.pages.zone_state(ZONE).marks[0]
}

#[test]
fn what_is_searched_scanned_and_taken_is_counted() {
    let mut bench = low(but(CompactFixes::empty()));
    bench.free_block(block(60), 3);
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    let (searches, scans) = (target_searches(&events), target_scans(&events));
    let seen = |all: &[(u64, u64)]| all.iter().fold((0, 0), |sum, n| (sum.0 + n.0, sum.1 + n.1));
    let searched = seen(&counts(&events));
    let scanned = seen(&scans.iter().map(|scan| (scan.2, scan.3)).collect::<Vec<_>>());
    assert!(searches.len() > 1 && searched.1 == 8);
    assert_eq!(run.scanned().1, searched.0 + scanned.0);
    assert_eq!(bench.state.counters().isolated, 32 + searched.1 + scanned.1);
    bench.compactor().abandon(run);
    bench.check(0);
}

#[test]
fn nothing_is_searched_for_order_0() {
    // Between MIN with a gap of 2 and HIGH.
    let mut bench = full(&machine(), NEW);
    bench.free(|pfn| pfn.0 >= block(63) && pfn.0 < block(63) + 44);
    let goal = Goal { mark: Mark::High, ..daemon(0) };
    // In the middle of a pageblock the run does not end for a free page.
    bench.cached(START + 16, block(63));
    let (searches, events) = first(&bench, goal);
    assert!(searches.is_empty() && !target_scans(&events).is_empty());
}

#[test]
fn blocks_of_the_order_wanted_are_not_searched() {
    let mut bench = low(but(CompactFixes::empty()));
    let mut run = bench.begin(daemon(7));
    bench.step(&mut run);
    // In the middle of a pageblock the run does not end for it.
    bench.free_block(block(60), 7);
    let (ended, events) = bench.step(&mut run);
    assert_eq!(ended, None);
    assert!(moves(&events).iter().all(|(_, to)| *to < block(60)));
    bench.compactor().abandon(run);
}

#[test]
fn a_candidate_halves_the_limit() {
    let mut bench = low(but(CompactFixes::empty()));
    bench.free_block(block(40), 3);
    (0..60).for_each(|n| bench.free_block(block(16) + 16 * n, 3));
    assert_eq!(bench.list(3).last(), Some(&block(40)), "the first entry of the search");
    // 64 entries, then 32; that used it up, so 16 of the single frames. The other orders have none.
    assert_eq!(first(&bench, daemon(7)).0[0], (32 + 7 + 16, 8));
}

#[test]
fn large_finds_use_up_no_limit() {
    // From 6.5 on the search goes on after one block of 16, with 16 frames of which one entry is counted.
    let mut bench =
        low(without(CompactFeatures::F09 | CompactFeatures::F21, CompactFixes::empty()));
    bench.free_block(block(60), 4);
    bench.cached(START, block(62));
    // The limit of 16 holds for the single frames, too.
    assert_eq!(first(&bench, task(7, LIGHT)).0[0], (16 + 16, 16));
}

#[test]
fn the_entry_where_a_search_ends_becomes_the_first() {
    let mut bench =
        low(without(CompactFeatures::F09 | CompactFeatures::F21, CompactFixes::empty()));
    (0..40).for_each(|n| bench.free_block(block(16) + 16 * n, 3));
    // Four sources, and one block for them. Nothing is freed.
    bench.free_block(block(60), 2);
    sources(&mut bench, 4);
    bench.each(|_, page| page.busy = true);
    bench.cached(START, block(62));
    let before = bench.list(3);
    let mut run = bench.begin(daemon(7));
    bench.step(&mut run);
    // 16 entries from the tail.
    assert_eq!(bench.list(3), [&before[24..], &before[..24]].concat());
    bench.compactor().abandon(run);
}

#[test]
fn the_orders_are_searched_in_a_circle() {
    for (feature, taken) in [(CompactFeatures::empty(), 64), (CompactFeatures::F19, 64)] {
        let mut bench = low(without(CompactFeatures::F09 | feature, CompactFixes::empty()));
        bench.free_block(block(60), 5);
        sources(&mut bench, 64);
        let mut run = bench.begin(daemon(7));
        assert_eq!(counts(&bench.step(&mut run).1), [(32, 32)]);
        // From order 5 downwards, where the first sources are one block now, and then from 6; without
        // patch 19 from 6 at once.
        bench.free_block(block(61), 6);
        let (_, events) = bench.step(&mut run);
        let entries = if feature.is_empty() { 1 + 64 + 64 } else { 64 };
        assert_eq!(counts(&events)[0], (entries, taken));
        bench.compactor().abandon(run);
    }
    // Without it a search in vain ends with order 0.
    let bench = low(without(CompactFeatures::F09 | CompactFeatures::F19, CompactFixes::empty()));
    assert_eq!(first(&bench, daemon(7)).0[0], (64, 0));
}

#[test]
fn all_round_is_where_the_last_find_was() {
    // After a find of order 3 that is not enough: 2 to 0, and 6 to 4 for the second time.
    let mut bench = low(but(CompactFixes::empty()));
    bench.free_block(block(60), 3);
    bench.free_block(block(20), 6);
    // The block of 64 is seen before and after; the limit is 64, used up by the single frames only.
    assert_eq!(first(&bench, daemon(7)).0[0], (1 + 8 + 64 + 1, 8));
}

#[test]
fn after_a_refusal_or_a_search_in_vain_the_next_begins_one_order_lower() {
    for refused in [true, false] {
        // The scan finds every page that is left.
        let off = CompactFeatures::F09 | CompactFeatures::F20 | CompactFeatures::F21;
        let mut bench = low(without(off, CompactFixes::empty()));
        sources(&mut bench, 64);
        bench.cached(START, block(62));
        let mut run = bench.begin(daemon(7));
        if refused {
            // A block of 64 frames is refused, single frames are not.
            bench.free_block(block(63), 6);
            leave(&bench, min(&bench) + 64);
            assert_eq!(bench.list(6), [block(63)]);
        }
        let events = bench.step(&mut run).1;
        assert_eq!(counts(&events)[0], (if refused { 1 } else { 16 }, 0));
        bench.free(|pfn| (block(16)..block(20)).contains(&pfn.0));
        bench.free_block(block(61), 6);
        bench.free_block(block(62), 5);
        // From order 6 it would be the block of 64.
        let events = bench.step(&mut run).1;
        assert_eq!(counts(&events)[0].1, 32);
        bench.compactor().abandon(run);
    }
}

#[test]
fn a_refused_entry_pulls_the_free_scanner_to_its_pageblock() {
    let mut bench = low(but(CompactFixes::empty()));
    let mut run = bench.begin(daemon(7));
    bench.free_block(block(60), 5);
    leave(&bench, min(&bench) + 32);
    let (_, events) = bench.step(&mut run);
    assert_eq!(target_scans(&events)[0].0, block(60));
    bench.compactor().abandon(run);
}

#[test]
fn searches_that_fail_count_as_failures_of_the_search_for_sources() {
    let mut bench = low(NEW);
    bench.each(|_, page| page.busy = true);
    let mut run = bench.begin(daemon(7));
    let mut searches = Vec::new();
    let mut failed = 0;
    while searches.len() < 2 {
        let (ended, events) = bench.step(&mut run);
        assert_eq!(ended, None);
        if searches.len() + source_searches(&events).len() < 2 {
            failed += target_searches(&events).iter().filter(|search| search.2 == 0).count();
        }
        searches.extend(source_searches(&events));
    }
    bench.compactor().abandon(run);
    assert!(failed > 0);
    // One of its own.
    assert_eq!((searches[0].1, searches[1].1), (33, (32 >> (1 + failed)) + 1));
}

#[test]
fn a_boost_refuses_targets_without_patch_08() {
    for (feature, taken) in [(CompactFeatures::empty(), true), (CompactFeatures::F08, false)] {
        for search in [CompactFeatures::empty(), CompactFeatures::F11] {
            let tunables = Tunables {
                min_free_kbytes: Some(128),
                watermark_scale_factor: 1,
                ..Tunables::default()
            };
            let rules = without(CompactFeatures::F09 | feature | search, CompactFixes::empty());
            let mut bench = Bench::of(&machine(), tunables, rules);
            bench.fill();
            free_low(&mut bench);
            let mut run = bench.begin(daemon(7));
            bench.free_block(block(60), 5);
            // A pageblock changes hands.
            let kernel = bench.take(Order::ZERO, Gfp::KERNEL).expect("a page of another type");
            let boost = bench.pages.zone_state(ZONE).boost;
            assert!(boost > 0, "at {kernel}");
            bench.free_block(block(62), 5);
            leave(&bench, min(&bench) + boost);
            let (_, events) = bench.step(&mut run);
            let found: u64 = target_searches(&events).iter().map(|search| search.2).sum();
            let scanned: u64 = target_scans(&events).iter().map(|scan| scan.3).sum();
            assert_eq!(found + scanned > 0, taken, "{feature:?}, {search:?}");
            bench.compactor().abandon(run);
        }
    }
}

#[test]
fn a_midpoint_without_memory_is_used_up_to_5_1() {
    for (fixes, start) in [(CompactFixes::empty(), 63), (CompactFixes::VALID_MIDPOINT, 30)] {
        let mut holes = machine();
        holes.holes.push(PfnRange { start: Pfn(block(31)), end: Pfn(block(32)) });
        let mut bench = full(&holes, but(fixes));
        free_low(&mut bench);
        let (_, events) = first(&bench, task(7, LIGHT));
        assert_eq!(target_scans(&events)[0].0, block(start));
    }
}

#[test]
fn the_midpoint_is_looked_at_before_the_scan_if_it_suits() {
    // Hints are ignored, so that the scan looks at it again.
    let goal = Goal { ignore_skip_hint: true, ..task(7, LIGHT) };
    let starts = |bench: &Bench| -> Vec<u64> {
        let scans = target_scans(&first(bench, goal).1);
        scans.iter().take(2).map(|scan| scan.0).collect()
    };
    assert_eq!(starts(&low(but(CompactFixes::empty()))), [block(31); 2]);
    // Since 6.8 it must be a pageblock that may give targets, which the scan wants anyway.
    for (fixes, expected) in [
        (CompactFixes::empty(), [block(30), block(29)]),
        (CompactFixes::SUITABLE_FALLBACK, [block(31), block(30)]),
    ] {
        let bench = low(but(fixes));
        bench.retype(block(31), MigrateType::Unmovable);
        assert_eq!(starts(&bench), expected);
    }
}

/// A run with 16 sources that finds 8 frames in pageblock 60, and single frames around them: the scans
/// there, and whether it is marked then.
fn around(fixes: CompactFixes, singles: u64, goal: Goal) -> (Vec<(u64, u64)>, bool) {
    let mut bench = low(but(fixes));
    sources(&mut bench, 16);
    bench.free_block(block(60) + 64, 3);
    let at = |n| block(60) + 96 + 2 * n;
    (0..singles).for_each(|n| bench.free_block(at(n), 0));
    let mut run = bench.begin(goal);
    let (_, events) = bench.step(&mut run);
    assert_eq!(moves(&events).iter().filter(|(_, to)| to / BLOCK == block(60) / BLOCK).count(), 16);
    let marked = bench.skips(block(60));
    bench.compactor().abandon(run);
    bench.check(0);
    let scans =
        target_scans(&events).into_iter().filter(|scan| scan.0 / BLOCK == block(60) / BLOCK);
    (scans.map(|scan| (scan.0 - block(60), scan.1 - block(60))).collect(), marked)
}

#[test]
fn looking_around_marks_a_pageblock_that_is_used_up() {
    let keep = Goal { no_set_skip_hint: true, ..daemon(7) };
    let more_than_enough = 12;
    // Since 6.3: walked to its end. The last of 16 pages is not at the end, then it is.
    let new = CompactFixes::empty();
    assert_eq!(around(new, more_than_enough, daemon(7)), (std::vec![(0, 111)], false));
    let wide = |goal| {
        let mut bench = low(but(new));
        sources(&mut bench, 16);
        bench.free_block(block(60) + 64, 3);
        (0..8).for_each(|n| bench.free_block(block(60) + 113 + 2 * n, 0));
        let mut run = bench.begin(goal);
        bench.step(&mut run);
        let marked = bench.skips(block(60));
        bench.compactor().abandon(run);
        marked
    };
    assert!(wide(daemon(7)) && wide(task(7, LIGHT)), "its last frame was the last one needed");
    assert!(!wide(keep));
    // Up to 6.2: there was too little. Here there was enough.
    let old = CompactFixes::FINISH_FAILED | CompactFixes::MARK_REPRESENTATIVE;
    assert!(!around(old, more_than_enough, daemon(7)).1);
    let first = CompactFixes::AROUND_BLOCK.union(old);
    assert!(!around(first, more_than_enough, daemon(7)).1);
}

#[test]
fn looking_around_in_vain_marks_the_pageblock() {
    // Eight targets for eight sources, but for one: what else there is lies in another pageblock.
    let old = CompactFixes::FINISH_FAILED | CompactFixes::MARK_REPRESENTATIVE;
    for fixes in [CompactFixes::empty(), old, old | CompactFixes::AROUND_BLOCK] {
        for keeps in [false, true] {
            let mut bench = low(but(fixes));
            sources(&mut bench, 9);
            bench.free_block(block(60) + 64, 3);
            // The second search is in reach of this one, so that the scan does not come to pageblock 60.
            bench.free_block(block(62), 0);
            let mut run = bench.begin(Goal { no_set_skip_hint: keeps, ..daemon(7) });
            let (_, events) = bench.step(&mut run);
            assert_eq!(moves(&events).len(), 9);
            assert_eq!(bench.skips(block(60)), !keeps, "{fixes:?}");
            bench.compactor().abandon(run);
        }
    }
}

#[test]
fn who_looks_around() {
    let looks = |goal| !around(CompactFixes::empty(), 12, goal).0.is_empty();
    assert!(looks(daemon(7)) && looks(task(7, LIGHT)));
    assert!(looks(Goal { mode: CompactMode::Async, ..daemon(7) }));
}

#[test]
fn up_to_5_1_looking_around_reaches_into_the_next_pageblock() {
    let old = CompactFixes::AROUND_BLOCK;
    let far = CompactFixes::AROUND_END | old;
    for (fixes, end) in [(old, BLOCK), (far, BLOCK + 1)] {
        let mut bench = low(but(fixes));
        bench.free_block(block(60) + 64, 3);
        let scans = target_scans(&first(&bench, daemon(7)).1);
        let seen: Vec<(u64, u64)> =
            scans.iter().map(|scan| (scan.0 - block(60), scan.1 - block(60))).take(2).collect();
        assert_eq!(seen, [(0, 64), (65, end)]);
    }
    // Nothing lies behind the last frame.
    let mut bench = full(&machine(), but(old));
    bench.free_block(block(61) - 1, 0);
    free_low(&mut bench);
    let scans = target_scans(&first(&bench, daemon(7)).1);
    assert_eq!((scans[0].0, scans[0].1), (block(60), block(61) - 1));
    assert!(scans.iter().all(|scan| scan.0 < scan.1));
}

#[test]
fn a_run_without_targets_is_contended() {
    let mut bench = low(but(CompactFixes::empty()));
    let mut run = bench.begin(Goal { flags: AllocFlags::empty(), ..daemon(7) });
    bench.free_block(block(60), 5);
    leave(&bench, min(&bench));
    assert_eq!(bench.step(&mut run).0, Some(CompactResult::Contended));
    bench.check(bench.pages.managed_frames() - bench.pages.free_frames() - pages(&bench));
}

fn pages(bench: &Bench) -> u64 {
    bench.owner.pages.lock().unwrap().len() as u64
}
