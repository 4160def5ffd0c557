//! The free scanner, and migration (compaction.md §1.5 to §1.7).

use crate::{
    owner::{Bench, CPU},
    scene::{
        START, block, daemon, full, machine, moves, scene, source_scans, target_scans, task,
        without,
    },
};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactResult},
    vocab::{CompactFeatures, CompactFixes, CompactRules, MigrateType, Order, Pfn},
};
use std::vec::Vec;

const NEW: CompactRules = CompactRules::linux_6_12();
const ASYNC: CompactMode = CompactMode::Async;

/// Runs without searches by free lists, whose free scanner begins at the zone's last pageblock.
fn linear(fixes: CompactFixes) -> CompactRules {
    without(CompactFeatures::F09 | CompactFeatures::F11, fixes)
}

/// Enough is free for a run, but in the pageblocks 2 to 9, which are below the others.
fn low(rules: CompactRules) -> Bench {
    let mut bench = full(&machine(), rules);
    bench.free(|pfn| (block(2)..block(10)).contains(&pfn.0) && pfn.0 % 2 == 1);
    bench
}

#[test]
fn the_stride_over_empty_pageblocks_doubles_to_32() {
    for (goal, expected) in [
        (daemon(7), [128, 64, 32, 16, 8, 4, 4]),
        (Goal { direct: false, ..task(7, ASYNC) }, [4; 7]),
    ] {
        let bench = low(linear(CompactFixes::empty()));
        let mut run = bench.begin(goal);
        let scans = target_scans(&bench.step(&mut run).1);
        bench.compactor().abandon(run);
        let visited: Vec<u64> = scans.iter().take(7).map(|(.., scanned, _)| *scanned).collect();
        assert_eq!(visited, expected);
        for (number, scan) in scans.iter().take(7).enumerate() {
            assert_eq!((scan.0, scan.1), (block(63 - number as u64), block(64 - number as u64)));
        }
    }
    let bench = low(without(CompactFeatures::F11 | CompactFeatures::F20, CompactFixes::empty()));
    let mut run = bench.begin(daemon(7));
    let scans = target_scans(&bench.step(&mut run).1);
    assert!(scans.iter().take(20).all(|(.., scanned, _)| *scanned == 128));
    bench.compactor().abandon(run);
}

#[test]
fn after_a_find_every_frame_is_looked_at() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.free_block(block(61), 0);
    let mut run = bench.begin(Goal { direct: false, ..task(7, ASYNC) });
    let scans = target_scans(&bench.step(&mut run).1);
    bench.compactor().abandon(run);
    let visited: Vec<u64> = scans.iter().take(6).map(|(.., scanned, _)| *scanned).collect();
    // In pageblock 61 the visits are at 0, 33, 65 and 97, 32 behind the chunk of one frame.
    assert_eq!(visited, [4, 4, 4, 128, 64, 32]);
    assert_eq!(scans[2].3, 1);
}

#[test]
fn a_scan_ends_with_enough_targets_and_the_next_goes_on_there() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.free(|pfn| pfn.0 >= block(62) && pfn.0 % 2 == 0);
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    assert_eq!(target_scans(&events), [(block(63), block(63) + 63, 63, 32)]);
    assert_eq!(moves(&events)[0].0, START + 31, "the highest source first");
    assert_eq!(bench.compactor().positions(&run), (Pfn(START + 32), Pfn(block(63) + 63)));
    assert!(!bench.skips(block(63)), "not to its end");
    // 96 sources: 32 more here, then 64 of pageblock 62, which is its end.
    let (_, events) = bench.step(&mut run);
    let scans = target_scans(&events);
    assert_eq!(scans[0], (block(63) + 63, block(64), 65, 32));
    assert_eq!((scans[1].0, scans[1].3), (block(62), 64));
    assert!(bench.skips(block(63)));
    bench.compactor().abandon(run);
}

#[test]
fn targets_are_handed_out_from_the_highest_frame_of_the_last_chunk_up_to_6_9() {
    let mut bench = low(linear(CompactFixes::LARGE_FOLIOS));
    bench.free_block(block(63), 4);
    bench.free_block(block(63) + 32, 4);
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    let to: Vec<u64> = moves(&events).iter().map(|(_, to)| *to).collect();
    let down = |first: u64| (first..first + 16).rev();
    let expected: Vec<u64> = down(block(63) + 32).chain(down(block(63))).collect();
    assert_eq!(to, expected);
    bench.compactor().abandon(run);
}

#[test]
fn which_pageblocks_give_targets() {
    let gives = |goal: Goal, rules, prepare: fn(&mut Bench)| {
        let mut bench = low(rules);
        bench.free(|pfn| (block(62)..block(63)).contains(&pfn.0) && pfn.0 % 4 == 0);
        prepare(&mut bench);
        let mut run = bench.begin(goal);
        let scans = target_scans(&bench.step(&mut run).1);
        bench.compactor().abandon(run);
        scans.iter().any(|scan| scan.0 == block(62))
    };
    let now = linear(CompactFixes::empty());
    assert!(gives(daemon(7), now, |_| {}));
    assert!(!gives(daemon(7), now, |bench| bench.mark(block(62))));
    let all = Goal { ignore_skip_hint: true, ..daemon(7) };
    assert!(gives(all, now, |bench| bench.mark(block(62))));
    let retype: fn(&mut Bench) = |bench| bench.retype(block(62), MigrateType::Unmovable);
    assert!(!gives(daemon(7), now, retype));
    assert!(gives(Goal { ignore_block_suitable: true, ..daemon(7) }, now, retype));
    // Since 6.10 a free block as large as what is wanted is left alone; before, a whole pageblock is.
    let front: fn(&mut Bench) = |bench| bench.free_block(block(62), 5);
    assert!(gives(daemon(6), now, front));
    let four: fn(&mut Bench) = |bench| bench.free_block(block(62), 2);
    assert!(gives(daemon(3), now, four));
}

#[test]
fn the_cached_free_position_follows_walks_to_the_end() {
    for (fix, cached) in [(CompactFixes::empty(), 60), (CompactFixes::EXACT_POSITIONS, 61)] {
        let mut bench = low(linear(fix));
        bench.free_block(block(60), 6);
        let mut run = bench.begin(daemon(7));
        bench.step(&mut run);
        let state = bench.state.zone_state(crate::owner::ZONE);
        assert_eq!(state.cached_free, Pfn(block(cached)));
        assert!((61..64).all(|number| bench.skips(block(number))) && !bench.skips(block(60)));
        bench.compactor().abandon(run);
    }
}

#[test]
fn targets_that_are_left_bring_the_cached_free_position_back() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.free_block(block(63) + 64, 6);
    bench.each(|_, page| page.busy = true);
    let mut run = bench.begin(daemon(7));
    bench.step(&mut run);
    assert_eq!(run.isolated().1, 64);
    bench.state.set_cached(crate::owner::ZONE, [Pfn(START); 2], Pfn(block(40)));
    bench.compactor().abandon(run);
    let cached = || bench.state.zone_state(crate::owner::ZONE).cached_free;
    assert_eq!(cached(), Pfn(block(63)));
    bench.check(0);
}

#[test]
fn a_page_is_tried_ten_times_and_a_busy_one_once() {
    let mut bench = scene(NEW, 12);
    bench.change(START..START + 32, |page| page.busy = true);
    bench.change(START + 3..START + 4, |page| (page.busy, page.again) = (false, 20));
    bench.change(START + 2..START + 3, |page| (page.busy, page.again) = (false, 9));
    bench.change(START + 1..START + 2, |page| (page.busy, page.freed) = (false, true));
    let mut run = bench.begin(Goal { mode: CompactMode::Sync, ..daemon(7) });
    let (_, events) = bench.step(&mut run);
    let tries = bench.owner.tries.lock().unwrap().clone();
    let passes = |at: u64| -> Vec<u8> {
        tries.iter().filter(|(from, ..)| *from == START + at).map(|(.., pass)| *pass).collect()
    };
    let all: Vec<u8> = (0..10).collect();
    assert_eq!(
        (passes(3), passes(2), passes(1), passes(7)),
        (all.clone(), all, [0].into(), [0].into())
    );
    let outcome = events.iter().find_map(|event| match event {
        CompactEvent::Migrate { migrated, failed } => Some((*migrated, *failed)),
        _ => None,
    });
    assert_eq!(outcome, Some((2, 30)));
    let counters = bench.state.counters();
    assert_eq!((counters.pgmigrate_success, counters.pgmigrate_fail), (2, 30));
    bench.compactor().abandon(run);
    bench.check(0);
}

#[test]
fn watermarks_refuse_targets() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.free_block(block(63), 5);
    let mut run = bench.begin(daemon(7));
    // All but the mark and the block is gone.
    let min = bench.pages.zone_state(crate::owner::ZONE).marks[0];
    let keep = |bench: &Bench| bench.pages.free_frames() > min + 32;
    while keep(&bench) {
        bench.take(Order::ZERO, mmspec_model::vocab::Gfp::HIGHUSER_MOVABLE).unwrap();
    }
    bench.pages.drain_all(CPU, None);
    let (_, events) = bench.step(&mut run);
    let taken: u64 = target_scans(&events).iter().map(|(.., taken)| *taken).sum();
    assert!(taken < 32, "{taken} pages were taken below the mark");
    bench.compactor().abandon(run);
}

#[test]
fn scanners_stop_where_they_meet() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.pin_all();
    let mut run = bench.begin(Goal { migratetype: MigrateType::Movable, ..daemon(7) });
    let (result, events) = bench.finish(&mut run);
    assert_eq!(result, CompactResult::PartialSkipped, "the zone's start was never told");
    let scans = source_scans(&events);
    assert_eq!(scans.last().unwrap().1, block(63), "the last pageblock is the free scanner's");
    assert!(scans.len() == 63);
    let state = bench.state.zone_state(crate::owner::ZONE);
    assert_eq!((state.cached_migrate, state.cached_free), ([Pfn(START); 2], Pfn(block(63))));
}

#[test]
fn a_scan_that_goes_on_ends_at_its_pageblock() {
    let bench = low(linear(CompactFixes::empty()));
    bench.cached(START, block(60));
    let mut run = bench.begin(daemon(7));
    let scans = target_scans(&bench.step(&mut run).1);
    assert_eq!((scans[0].0, scans[0].1), (block(60), block(61)));
    bench.compactor().abandon(run);
}

#[test]
fn pageblocks_of_what_is_wanted_are_left_alone_since_6_10() {
    for (fixes, scanned) in [(CompactFixes::empty(), false), (CompactFixes::LARGE_FOLIOS, true)] {
        let mut bench =
            low(without(CompactFeatures::F09 | CompactFeatures::F11 | CompactFeatures::F20, fixes));
        let mut run = bench.begin(daemon(6));
        bench.step(&mut run);
        // In the middle of its own pageblock the run does not end for it.
        bench.free_block(block(8), 6);
        let (ended, events) = bench.step(&mut run);
        assert_eq!(ended, None);
        let starts: Vec<u64> = target_scans(&events).iter().map(|scan| scan.0).collect();
        // The rest of pageblock 9 is not enough.
        assert_eq!(starts[..2], [block(9) + 64, block(if scanned { 8 } else { 7 })]);
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn a_fatal_signal_stops_the_free_scanner_at_every_32nd_frame() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.free_block(block(63), 5);
    // The last page of the batch.
    *bench.owner.fatal_page.get_mut().unwrap() = Some(Pfn(START + 31));
    let mut run = bench.begin(daemon(7));
    let (ended, events) = bench.step(&mut run);
    assert_eq!(target_scans(&events), [(block(63), block(63), 0, 0)]);
    assert_eq!(ended, Some(CompactResult::Contended));
    bench.check(0);
}

#[test]
fn a_pending_reschedule_stops_async_scans_without_patch_17() {
    for (feature, mode, stops) in [
        (CompactFeatures::empty(), ASYNC, false),
        (CompactFeatures::F17, ASYNC, true),
        (CompactFeatures::F17, CompactMode::SyncLight, false),
    ] {
        let off = CompactFeatures::F09 | CompactFeatures::F11 | feature;
        let mut bench = low(without(off, CompactFixes::empty()));
        bench.free_block(block(63), 5);
        *bench.owner.resched.get_mut() = true;
        let mut run = bench.begin(Goal { mode, ..daemon(7) });
        let scan = target_scans(&bench.step(&mut run).1)[0];
        assert_eq!((scan.0, scan.3), (block(63), if stops { 0 } else { 32 }));
        assert_eq!(scan.1 == block(63), stops);
        bench.compactor().abandon(run);
    }
}

#[test]
fn compound_pages_that_leave_the_pageblock_are_not_jumped_over() {
    let mut bench = low(linear(CompactFixes::empty()));
    bench.folio(block(62), 8);
    bench.cached(START, block(62));
    let mut run = bench.begin(daemon(7));
    let scans = target_scans(&bench.step(&mut run).1);
    assert_eq!(scans[0], (block(62), block(63), 128, 0));
    bench.compactor().abandon(run);
}

/// Patch 18. Before it a pageblock is marked, and passed over by the next run, if it had nothing.
#[test]
fn pageblocks_that_gave_something_are_marked_since_patch_18() {
    for feature in [CompactFeatures::empty(), CompactFeatures::F18] {
        for keeps in [false, true] {
            let off = CompactFeatures::F09 | CompactFeatures::F11 | feature;
            let mut bench = low(without(off, CompactFixes::empty()));
            bench.free_block(block(63) + 64, 0);
            bench.free_block(block(61), 6);
            let mut run = bench.begin(Goal { no_set_skip_hint: keeps, ..daemon(7) });
            let scans = target_scans(&bench.step(&mut run).1);
            assert_eq!((scans[0].3, scans[1].3), (1, 0));
            let marks = [63, 62, 61].map(|number| bench.skips(block(number)));
            assert_eq!(marks, [feature.is_empty() && !keeps, !keeps, false]);
            bench.compactor().abandon(run);
        }
    }
}

#[test]
fn a_folio_uses_up_all_its_frames_of_the_targets() {
    let mut bench = full(&machine(), linear(CompactFixes::empty()));
    bench.folio(START + 8, 2);
    bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 8 < 4);
    bench.free_block(block(63), 6);
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    let taken: u64 = target_scans(&events).iter().map(|scan| scan.3).sum();
    assert!(taken >= 64);
    assert_eq!(u64::from(run.isolated().1), taken - 32);
    bench.compactor().abandon(run);
    bench.check(0);
}
