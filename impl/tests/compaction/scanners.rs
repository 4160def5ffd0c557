//! The scanners pageblock by pageblock, and migration (compaction.md §1.5 to §1.7).

use crate::{
    owner::{Bench, CPU, Page},
    scene::{
        START, block, daemon, full, machine, moves, scene, source_scans, target_scans, task,
        without,
    },
};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactEvent, CompactMode, CompactResult, PageUse},
    vocab::{CompactFeatures, CompactFixes, CompactRules, MigrateType, Order, Pfn},
};
use std::{sync::atomic::Ordering::Relaxed, vec::Vec};

const NEW: CompactRules = CompactRules::linux_6_12();
const ASYNC: CompactMode = CompactMode::Async;
const LIGHT: CompactMode = CompactMode::SyncLight;

/// The scans for sources of the first iterations of a run.
fn scans(bench: &Bench, goal: Goal, iterations: usize) -> Vec<(u64, u64, u64, u64)> {
    let mut run = bench.begin(goal);
    let each = |_| source_scans(&bench.step(&mut run).1);
    let scans = (0..iterations).flat_map(each).collect();
    bench.compactor().abandon(run);
    scans
}

/// The first scan for sources, from the zone's first frame.
fn first_scan(bench: &Bench, goal: Goal) -> (u64, u64, u64) {
    let (start, end, scanned, taken) = scans(bench, goal, 1)[0];
    assert_eq!(start, START);
    (end - START, scanned, taken)
}

fn change(bench: &mut Bench, frames: core::ops::Range<u64>, change: impl Fn(&mut Page)) {
    bench.each(|pfn, page| {
        if frames.contains(&pfn.0) {
            change(page);
        }
    });
}

#[test]
fn sources_come_by_32_and_a_pageblock_gone_over_again_at_once() {
    let bench = scene(NEW, 12);
    assert_eq!(
        scans(&bench, daemon(7), 2),
        [(START, START + 32, 32, 32), (START + 32, block(1), 96, 96)]
    );
    assert!(bench.skips(START) && !bench.skips(block(1)));
    assert_eq!(bench.state.zone_state(crate::owner::ZONE).cached_migrate, [Pfn(block(1)); 2]);
    let bench = scene(without(CompactFeatures::F12, CompactFixes::empty()), 12);
    let batch = |n: u64| (START + 32 * n, START + 32 * (n + 1), 32, 32);
    assert_eq!(scans(&bench, daemon(7), 4), [0, 1, 2, 3].map(batch));
}

#[test]
fn a_busy_lock_makes_async_runs_go_on_to_the_end_of_the_pageblock() {
    let mut bench = scene(NEW, 12);
    bench.owner.contended.store(true, Relaxed);
    change(&mut bench, START + 100..START + 101, |page| page.lru.pinned = true);
    let goal = Goal { direct: false, ..task(7, ASYNC) };
    let mut run = bench.begin(goal);
    assert_eq!(source_scans(&bench.step(&mut run).1), [(START, block(1), 128, 127)]);
    assert_eq!(bench.step(&mut run).0, Some(CompactResult::Contended));
    // Sync runs wait for locks.
    let bench = scene(NEW, 12);
    bench.owner.contended.store(true, Relaxed);
    assert_eq!(first_scan(&bench, daemon(7)), (32, 32, 32));
    // Up to 5.0 async runs give up.
    let bench = scene(CompactRules::linux_5_0(), 12);
    bench.owner.contended.store(true, Relaxed);
    let mut run = bench.begin(goal);
    assert_eq!(bench.step(&mut run).0, Some(CompactResult::Contended));
    assert_eq!((run.isolated(), run.scanned()), ((0, 0), (1, 0)));
}

#[test]
fn free_blocks_are_jumped_over_and_counted_since_6_7() {
    for (rules, scanned) in [(NEW, 48), (CompactRules::linux_6_1(), 33)] {
        let mut bench = scene(rules, 12);
        bench.free_block(START + 16, 4);
        assert_eq!(first_scan(&bench, task(7, LIGHT)), (48, scanned, 32), "{rules:?}");
    }
}

#[test]
fn what_a_page_is_decides_whether_it_is_taken() {
    let fs = |may_fs| Goal { may_fs, ..daemon(7) };
    let full_sync = Goal { mode: CompactMode::Sync, ..daemon(7) };
    type Change = fn(&mut Page);
    let cases: [(&str, Change, Goal, bool); 12] = [
        ("pinned", |page| page.lru.pinned = true, daemon(7), false),
        ("file", |page| page.lru.anon = false, fs(true), true),
        ("file without FS", |page| page.lru.anon = false, fs(false), false),
        ("anon without FS", |_| {}, fs(false), true),
        ("pinned file", |page| (page.lru.pinned, page.lru.anon) = (true, false), fs(true), true),
        ("locked in memory", |page| page.lru.unevictable = true, daemon(7), true),
        ("under writeback", |page| page.lru.writeback = true, daemon(7), false),
        ("under writeback, sync", |page| page.lru.writeback = true, full_sync, true),
        ("dirty", |page| page.lru.dirty_without_handler = true, daemon(7), false),
        ("dirty, sync", |page| page.lru.dirty_without_handler = true, full_sync, true),
        ("a driver's", |page| page.other = Some(PageUse::Driver), daemon(7), true),
        ("fixed", |page| page.other = Some(PageUse::Fixed), daemon(7), false),
    ];
    for (name, with, goal, taken) in cases {
        let mut bench = scene(NEW, 12);
        change(&mut bench, START..START + 8, with);
        let expected = if taken { (32, 32, 32) } else { (40, 40, 32) };
        assert_eq!(first_scan(&bench, goal), expected, "{name}");
    }
    let mut bench = scene(CompactRules { unevictable_allowed: false, ..NEW }, 12);
    change(&mut bench, START..START + 8, |page| page.lru.unevictable = true);
    assert_eq!(first_scan(&bench, daemon(7)), (40, 40, 32), "not where it is not allowed");
}

#[test]
fn compound_pages_are_jumped_over_unless_they_are_small_folios() {
    // One compound page of order 2 stands for its four frames.
    let compound = |folio: bool, order: u8, goal: Goal, rules| {
        let mut bench = scene(rules, 12);
        change(&mut bench, START..START + 1, |page| {
            if folio {
                page.lru.order = Order::of(order);
            } else {
                page.other = Some(PageUse::Compound(Order::of(order)));
            }
        });
        // The other frames of it are no heads.
        change(&mut bench, START + 1..START + (1 << order), |page| {
            page.other = Some(PageUse::Fixed)
        });
        first_scan(&bench, goal)
    };
    let old = CompactRules::linux_6_1();
    assert_eq!(compound(false, 2, daemon(7), old), (36, 33, 32));
    assert_eq!(compound(true, 2, daemon(7), old), (36, 33, 32));
    // From 6.7 on what is jumped over counts; as large as what is wanted, a folio is of no use.
    assert_eq!(compound(true, 4, daemon(4), NEW), (48, 48, 32));
    assert_eq!(compound(false, 4, daemon(4), NEW), (48, 48, 32));
}

#[test]
fn a_pageblock_that_one_huge_page_fills_is_no_source() {
    for (feature, first, cached) in [
        (CompactFeatures::empty(), (block(1), block(1) + 32, 32, 32), block(1)),
        (CompactFeatures::F14, (START, block(1), 1, 0), block(1)),
    ] {
        let mut bench = scene(without(feature, CompactFixes::COUNT_JUMPS), 12);
        change(&mut bench, START..block(1), |page| {
            page.other = Some(PageUse::Compound(Order::of(7)))
        });
        assert_eq!(scans(&bench, daemon(7), 1), [first]);
        assert_eq!(bench.state.zone_state(crate::owner::ZONE).cached_migrate, [Pfn(cached); 2]);
    }
    // Smaller ones leave the rest.
    let mut bench = scene(NEW, 12);
    change(&mut bench, START..block(1), |page| page.other = Some(PageUse::Compound(Order::of(6))));
    assert_eq!(scans(&bench, daemon(6), 1), [(START, block(1), 128, 0)]);
}

#[test]
fn async_tasks_take_pageblocks_of_their_type_only() {
    let movable = task(7, ASYNC);
    let unmovable = Goal { migratetype: MigrateType::Unmovable, ..movable };
    for (goal, of, first) in [
        (movable, MigrateType::Movable, START),
        (movable, MigrateType::Unmovable, block(1)),
        (movable, MigrateType::Reclaimable, block(1)),
        (unmovable, MigrateType::Unmovable, START),
        (unmovable, MigrateType::Movable, block(1)),
        (task(7, LIGHT), MigrateType::Unmovable, START),
        (Goal { direct: false, ..movable }, MigrateType::Unmovable, START),
    ] {
        let bench = scene(NEW, 12);
        (0..3).for_each(|n| bench.retype(block(n), if n == 0 { of } else { goal.migratetype }));
        assert_eq!(scans(&bench, goal, 1)[0].0, first, "{goal:?} in {of:?}");
        // A refusal moves the cached position of async runs.
        let cached = bench.state.zone_state(crate::owner::ZONE).cached_migrate[0];
        assert!(first == START || cached >= Pfn(block(1)));
    }
}

#[test]
fn async_tasks_work_by_parts_of_the_order_wanted() {
    let bench = scene(NEW, 12);
    assert_eq!(first_scan(&bench, task(4, ASYNC)), (16, 16, 16), "a part with all of its pages");
    let bench = scene(NEW, 12);
    bench.cached(START + 24, block(63));
    assert_eq!(
        scans(&bench, task(4, ASYNC), 1),
        [(START + 24, START + 32, 8, 8)],
        "what is left of one"
    );
}

#[test]
fn a_page_that_fails_gives_up_its_part() {
    let mut bench = scene(NEW, 12);
    bench.each(|pfn, page| page.lru.pinned = pfn.0 == START + 5 || pfn.0 == START + 16);
    // Six looks at the first part, one at the second, sixteen at the third.
    assert_eq!(first_scan(&bench, task(4, ASYNC)), (48, 6 + 1 + 16, 16));
    // The five pages of the first went back, and were never moved.
    assert!(bench.owner.tries.lock().unwrap().iter().all(|(from, ..)| *from >= START + 32));
    bench.check(0);
    let mut bench = scene(NEW, 12);
    bench.each(|pfn, page| page.lru.pinned = pfn.0 == START + 5 || pfn.0 == START + 16);
    assert_eq!(first_scan(&bench, task(4, LIGHT)), (34, 34, 32), "other runs leave the page");
}

#[test]
fn signals_are_looked_for_at_every_32nd_frame() {
    for (rules, expected) in
        [(NEW, Some(CompactResult::Contended)), (CompactRules::linux_5_1(), None)]
    {
        let bench = scene(rules, 12);
        bench.owner.signal.store(true, Relaxed);
        bench.cached(START + 3, block(63));
        let mut run = bench.begin(daemon(7));
        let (ended, events) = bench.step(&mut run);
        assert_eq!(ended, expected);
        assert_eq!(run.scanned().0, 29);
        if expected.is_none() {
            assert_eq!(source_scans(&events), [(START + 3, START + 32, 29, 29)]);
        }
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn a_pending_reschedule_ended_async_runs_up_to_5_0() {
    for (rules, mode, expected) in [
        (CompactRules::linux_5_0(), ASYNC, Some(CompactResult::Contended)),
        (CompactRules::linux_5_0(), LIGHT, None),
        (NEW, ASYNC, None),
        (without(CompactFeatures::F17, CompactFixes::empty()), ASYNC, None),
    ] {
        let bench = scene(rules, 12);
        bench.owner.resched.store(true, Relaxed);
        let mut run = bench.begin(Goal { direct: false, ..task(7, mode) });
        assert_eq!(bench.step(&mut run).0, expected, "{rules:?}");
        bench.compactor().abandon(run);
    }
}

#[test]
fn more_than_half_isolated_is_too_many() {
    // 8192 frames, of which 768 are free: 7424 on the lists; an eighth of them is 928.
    let others = |count: u64, waits: u64, goal: Goal, rules| {
        let bench = scene(rules, 12);
        *bench.owner.isolated_by_others.lock().unwrap() = count;
        bench.owner.waits.store(waits, Relaxed);
        let mut run = bench.begin(goal);
        let ended = bench.step(&mut run).0;
        bench.compactor().abandon(run);
        (ended, bench.owner.waits.load(Relaxed))
    };
    let aborted = Some(CompactResult::Contended);
    assert_eq!(others(464, 0, daemon(7), NEW).0, None);
    assert_eq!(others(465, 0, daemon(7), NEW).0, aborted);
    let no_fs = Goal { may_fs: false, ..daemon(7) };
    assert_eq!(others(3712, 0, no_fs, NEW).0, None);
    assert_eq!(others(3713, 0, no_fs, NEW).0, aborted);
    assert_eq!(others(3712, 0, daemon(7), CompactRules::linux_6_1()).0, None);
    assert_eq!(others(3713, 0, daemon(7), CompactRules::linux_6_1()).0, aborted);
    // Async runs do not wait; others do, until there are fewer.
    assert_eq!(others(465, 3, task(7, ASYNC), NEW), (aborted, 3));
    assert_eq!(others(465, 3, daemon(7), NEW), (None, 0));
}

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
    change(&mut bench, START..START + 32, |page| page.busy = true);
    change(&mut bench, START + 3..START + 4, |page| (page.busy, page.again) = (false, 20));
    change(&mut bench, START + 2..START + 3, |page| (page.busy, page.again) = (false, 9));
    change(&mut bench, START + 1..START + 2, |page| (page.busy, page.freed) = (false, true));
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
