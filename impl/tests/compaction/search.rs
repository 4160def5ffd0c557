//! The searches by free lists (compaction.md §2.2, §2.4, §2.7).

use crate::{
    owner::Bench,
    scene::{
        BLOCK, START, block, daemon, scene, source_scans, source_searches, target_scans,
        target_searches, task, without,
    },
};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactEvent, CompactMode},
    vocab::{CompactFeatures, CompactFixes, CompactRules, MigrateType},
};
use std::vec::Vec;

const NEW: CompactRules = CompactRules::linux_6_12();

/// The first search of a run whose scanners are at the cached positions.
fn first_search(bench: &Bench, goal: Goal) -> Option<(u64, u64, Option<u64>)> {
    let mut run = bench.begin(goal);
    let (_, events) = bench.step(&mut run);
    bench.compactor().abandon(run);
    source_searches(&events).first().copied()
}

/// `count` blocks of an order, one in each second place of that size from the pageblock `from` on.
fn blocks(bench: &mut Bench, from: u64, order: u8, count: u64) {
    (0..count).for_each(|n| bench.free_block(block(from) + ((2 * n) << order), order));
}

#[test]
fn each_search_that_fails_halves_the_limit() {
    for (rules, count) in [(NEW, 33 + 20), (CompactRules::linux_5_1(), 33 + 20)] {
        let mut bench = scene(rules, 12);
        // All above the bound of the candidates.
        blocks(&mut bench, 40, 3, count);
        bench.pin_all();
        let mut run = bench.begin(daemon(7));
        let (_, events) = bench.finish(&mut run);
        let searches = source_searches(&events);
        let limits: Vec<u64> = searches.iter().map(|(_, limit, _)| *limit).collect();
        assert_eq!(limits[..9], [33, 17, 9, 5, 3, 2, 1, 1, 1]);
        assert!(
            searches[..9].iter().all(|(scanned, limit, found)| scanned == limit && found.is_none())
        );
    }
}

#[test]
fn short_lists_are_failures_too_since_5_12() {
    for (rules, second) in [(NEW, 17), (CompactRules::linux_5_1(), 33)] {
        let mut bench = scene(rules, 12);
        blocks(&mut bench, 40, 3, 3);
        bench.pin_all();
        let mut run = bench.begin(daemon(7));
        let (_, events) = bench.finish(&mut run);
        assert_eq!(source_searches(&events)[..2], [(3, 33, None), (3, second, None)]);
    }
}

#[test]
fn candidates_lie_in_the_lower_half_and_later_in_an_eighth() {
    for (migrate, at, found) in [
        // From the zone's start: 63 pageblocks to the free scanner, half of it is 31.5.
        (0, block(30) + 120, Some(block(30))),
        (0, block(31), None),
        // From pageblock 8: 55 of them, an eighth is 6.875.
        (8, block(13) + 120, Some(block(13))),
        (8, block(14), None),
        // There is no lower bound.
        (8, block(1), Some(block(1))),
    ] {
        let mut bench = scene(NEW, 12);
        bench.free_block(at, 3);
        bench.cached(block(migrate), block(63));
        let (scanned, _, is) = first_search(&bench, daemon(7)).unwrap();
        assert_eq!((scanned, is), (1, found), "migrate scanner in {migrate}");
    }
}

#[test]
fn orders_from_below_the_one_wanted_down_to_3_are_searched() {
    for (wanted, order, found) in
        [(7, 6, true), (7, 3, true), (7, 2, false), (5, 4, true), (5, 3, true), (4, 3, true)]
    {
        let mut bench = scene(NEW, 12);
        bench.free_block(block(3), order);
        let (_, _, is) = first_search(&bench, daemon(wanted)).unwrap();
        assert_eq!(is.is_some(), found, "block of order {order} for order {wanted}");
    }
    let mut bench = scene(NEW, 12);
    bench.free_block(block(3), 3);
    bench.free_block(block(5), 6);
    bench.free_block(block(7), 4);
    assert_eq!(first_search(&bench, daemon(7)), Some((1, 33, Some(block(5)))), "large ones first");
}

#[test]
fn not_every_run_searches() {
    let sync = CompactMode::SyncLight;
    for (goal, at, searches) in [
        (daemon(7), START, true),
        (task(7, sync), START, true),
        (task(4, sync), START, true),
        (task(3, sync), START, false),
        (Goal { migratetype: MigrateType::Unmovable, ..task(7, sync) }, START, false),
        (Goal { ignore_skip_hint: true, ..daemon(7) }, START, false),
        (daemon(7), block(4), true),
        (daemon(7), block(4) + 32, false),
    ] {
        let mut bench = scene(NEW, 12);
        bench.free_block(block(3), 3 - u8::from(goal.order.unwrap().get() == 3));
        bench.cached(at, block(63));
        assert_eq!(first_search(&bench, goal).is_some(), searches, "{goal:?} at {at}");
    }
    let off = without(CompactFeatures::F09, CompactFixes::empty());
    assert_eq!(first_search(&scene(off, 12), daemon(7)), None);
}

#[test]
fn the_entry_where_a_search_ends_becomes_the_last() {
    for (rules, last) in [(NEW, 33), (CompactRules::linux_5_1(), 32)] {
        let mut bench = scene(rules, 12);
        blocks(&mut bench, 40, 3, 40);
        let before = bench.list(3);
        assert_eq!(before.len(), 40);
        bench.pin_all();
        first_search(&bench, daemon(7));
        let turned = [&before[last + 1..], &before[..=last]].concat();
        assert_eq!(bench.list(3), turned, "up to entry {last}");
    }
    let mut bench = scene(NEW, 12);
    blocks(&mut bench, 40, 3, 10);
    bench.free_block(block(2), 3);
    blocks(&mut bench, 45, 3, 3);
    let before = bench.list(3);
    let at = before.iter().position(|pfn| *pfn == block(2)).unwrap();
    assert!(at > 0 && at < 13);
    bench.pin_all();
    first_search(&bench, daemon(7));
    assert_eq!(bench.list(3), [&before[at + 1..], &before[..=at]].concat());
}

fn pinned(bench: &mut Bench) -> Goal {
    bench.pin_all();
    daemon(7)
}

#[test]
fn entries_of_marked_pageblocks_are_passed_over() {
    for (rules, scanned) in [(NEW, 33), (CompactRules::linux_5_1(), 40)] {
        let mut bench = scene(rules, 12);
        blocks(&mut bench, 10, 3, 40);
        (10..16).for_each(|number| bench.mark(block(number)));
        let goal = pinned(&mut bench);
        // Up to 5.11 they end no search.
        assert_eq!(first_search(&bench, goal), Some((scanned, 33, None)));
    }
}

#[test]
fn the_pageblock_found_is_marked_up_to_6_0_and_then_not_scanned() {
    let found = block(5);
    let scan = |rules| {
        let mut bench = scene(rules, 12);
        bench.free_block(found + 16, 3);
        let mut run = bench.begin(daemon(7));
        let (_, events) = bench.step(&mut run);
        assert_eq!(source_searches(&events), [(1, 33, Some(found))]);
        let scan = source_scans(&events)[0];
        bench.compactor().abandon(run);
        (scan, bench.skips(found))
    };
    assert_eq!(scan(CompactRules::linux_5_1()), ((found, block(6), 1, 0), true));
    // 32 pages, and the free block jumped over: counted since 6.7.
    assert_eq!(scan(CompactRules::linux_6_1()), ((found, found + 40, 33, 32), true));
    assert_eq!(scan(NEW), ((found, found + 40, 40, 32), true));
    let (alone, marked) = scan(CompactRules::patch_09_alone());
    assert_eq!((alone.0, alone.3, marked), (found, 32, true), "patch 09 alone scans what it found");
}

#[test]
fn a_run_goes_back_to_the_lowest_part_seen_once() {
    let mut bench = scene(NEW, 12);
    bench.free_block(block(10) + 8, 3);
    bench.free_block(block(5) + 16, 3);
    bench.pin_all();
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.finish(&mut run);
    let found: Vec<_> = source_searches(&events).iter().map(|(_, _, found)| *found).collect();
    let mut both = [found[0].unwrap(), found[1].unwrap()];
    both.sort_unstable();
    assert_eq!((both, found[2], found[3]), ([block(5), block(10)], None, None));
    let starts: Vec<u64> = source_scans(&events).iter().map(|(start, ..)| *start).collect();
    assert_eq!(starts[2..5], [block(5) + 16, block(6), block(7)]);
}

#[test]
fn in_a_zone_that_begins_in_mid_block_the_source_found_lies_in_it() {
    for (rules, found) in [
        (NEW, START + 60),
        (without(CompactFeatures::empty(), CompactFixes::SOURCE_IN_ZONE), START),
    ] {
        let mut machine = crate::scene::machine();
        machine.zones[0].span.start.0 += 60;
        let mut bench = crate::scene::full(&machine, rules);
        bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 2 == 1);
        bench.free_block(START + 80, 3);
        bench.cached(block(3), block(63));
        assert_eq!(first_search(&bench, daemon(7)).unwrap().2, Some(found));
    }
}

/// The first search for targets of a run that has isolated 32 pages at the zone's start.
fn first_targets(bench: &Bench, goal: Goal) -> (Vec<(u64, u64, u64)>, Vec<CompactEvent>) {
    let mut run = bench.begin(goal);
    let (_, events) = bench.step(&mut run);
    bench.compactor().abandon(run);
    (target_searches(&events), events)
}

#[test]
fn targets_are_taken_at_once_from_the_upper_quarter() {
    // The scanners are at 32 and 8064 frames: low is 6056, min 4048, both rounded down to pageblocks.
    for (at, taken, scanned) in
        [(block(47), 64, 1), (block(46), 64, 1), (block(31), 64, 1), (block(30), 0, 1)]
    {
        let mut bench = full_but_low(without(CompactFeatures::F09, CompactFixes::empty()));
        bench.free_block(at, 6);
        let (searches, _) = first_targets(&bench, task(7, CompactMode::SyncLight));
        let (min, seen, got) = searches[0];
        assert_eq!((min, got > 0), (block(31), taken > 0), "block at {at}");
        assert!(seen >= scanned);
    }
}

/// Enough is free, but only where it is of no use as a target: in the lowest pageblocks.
fn full_but_low(rules: CompactRules) -> Bench {
    let mut bench = crate::scene::full(&crate::scene::machine(), rules);
    bench.free(|pfn| (block(8)..block(16)).contains(&pfn.0) && pfn.0 % 2 == 1);
    bench
}

#[test]
fn each_order_that_uses_up_the_limit_halves_it() {
    // Without patch 21 the scan does not begin but at the last pageblock: here it does not.
    for (fixes, expected) in [
        (CompactFixes::empty(), 16 + 8 + 4 + 2 + 1 + 1 + 1),
        // Up to 5.13: one entry, or none, which comes to one as well.
        (CompactFixes::LIMIT_MAX, 7),
    ] {
        let off = CompactFeatures::F21 | CompactFeatures::F09;
        let mut bench = full_but_low(without(off, fixes));
        // All below the midpoint: 512 single frames, and these.
        for (order, from, count) in [
            (6, block(16), 9),
            (6, block(1), 7),
            (5, block(25), 8),
            (4, block(29), 4),
            (3, block(30), 8),
            (2, block(1) + 64, 8),
            (1, block(2) + 64, 8),
        ] {
            let step = BLOCK.min(2 << order);
            (0..count).for_each(|n| bench.free_block(from + n * step, order));
        }
        bench.cached(START, block(62));
        let (searches, _) = first_targets(&bench, task(7, CompactMode::SyncLight));
        assert_eq!(searches[0].1, expected);
        assert_eq!(searches[0].2, 0);
    }
}

#[test]
fn a_scan_that_begins_looks_at_half_a_pageblock_of_entries() {
    let bench = full_but_low(NEW);
    let (searches, events) = first_targets(&bench, task(7, CompactMode::SyncLight));
    // 512 single frames, all too low.
    assert_eq!(searches[0], (block(31), 64, 0));
    // None in reach: the midpoint is where the free scanner goes, and it is looked at.
    assert_eq!(target_scans(&events)[0].0, block(31));
}

#[test]
fn only_tasks_go_to_the_midpoint_where_nothing_is_in_reach() {
    let start = |goal| {
        let (_, events) = first_targets(&full_but_low(NEW), goal);
        target_scans(&events)[0].0
    };
    assert_eq!(start(task(7, CompactMode::SyncLight)), block(31));
    assert_eq!(start(daemon(7)), block(63), "others scan on where they are");
}

#[test]
fn the_cached_position_rises_to_below_the_highest_entry_seen() {
    for (feature, cached) in [(CompactFeatures::empty(), 60), (CompactFeatures::F18, 61)] {
        let mut bench =
            full_but_low(without(feature | CompactFeatures::F09, CompactFixes::empty()));
        bench.free_block(block(61) + 64, 6);
        bench.cached(START, block(62));
        let mut run = bench.begin(daemon(7));
        bench.cached(START, block(40));
        bench.step(&mut run);
        let state = bench.state.zone_state(crate::owner::ZONE);
        assert_eq!(state.cached_free.0, block(cached));
        bench.compactor().abandon(run);
    }
}

#[test]
fn the_next_search_begins_with_the_order_that_was_lucky() {
    for (feature, second) in [(CompactFeatures::empty(), 16), (CompactFeatures::F19, 17)] {
        let off = feature | CompactFeatures::F09;
        let mut bench = full_but_low(without(off, CompactFixes::MARK_REPRESENTATIVE));
        // Order 6 has a block that is out of reach, order 4 has some.
        bench.free_block(block(20), 6);
        (0..3).for_each(|n| bench.free_block(block(60) + 32 * n, 4));
        let (searches, _) = first_targets(&bench, task(7, CompactMode::Async));
        let counts: Vec<(u64, u64)> = searches.iter().map(|search| (search.1, search.2)).collect();
        assert_eq!(counts, [(17, 16), (second, 16)]);
    }
}

#[test]
fn the_highest_candidate_of_an_order_is_taken() {
    let off = CompactFeatures::F09;
    let mut bench = full_but_low(without(off, CompactFixes::MARK_REPRESENTATIVE));
    for number in [40, 45, 35, 30] {
        bench.free_block(block(number), 5);
    }
    let (searches, events) = first_targets(&bench, task(7, CompactMode::Async));
    assert_eq!(searches[0].2, 32);
    assert!(crate::scene::moves(&events).iter().all(|(_, to)| to / BLOCK == block(45) / BLOCK));
}
