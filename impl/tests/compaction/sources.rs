//! The migrate scanner: which pageblocks, and which pages in them (compaction.md §1.6).

use crate::{
    owner::{Bench, Page},
    scene::{START, block, daemon, scene, source_scans, task, without},
};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactMode, CompactResult, PageUse},
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
    bench.change(START + 100..START + 101, |page| page.lru.pinned = true);
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
    type Case = (&'static str, fn(&mut Page), Goal, bool);
    let cases: [Case; 12] = [
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
        bench.change(START..START + 8, with);
        let expected = if taken { (32, 32, 32) } else { (40, 40, 32) };
        assert_eq!(first_scan(&bench, goal), expected, "{name}");
    }
    let mut bench = scene(CompactRules { unevictable_allowed: false, ..NEW }, 12);
    bench.change(START..START + 8, |page| page.lru.unevictable = true);
    assert_eq!(first_scan(&bench, daemon(7)), (40, 40, 32), "not where it is not allowed");
}

#[test]
fn compound_pages_are_jumped_over_unless_they_are_small_folios() {
    // One compound page of order 2 stands for its four frames.
    let compound = |folio: bool, order: u8, goal: Goal, rules| {
        let mut bench = scene(rules, 12);
        bench.change(START..START + 1, |page| {
            if folio {
                page.lru.order = Order::of(order);
            } else {
                page.other = Some(PageUse::Compound(Order::of(order)));
            }
        });
        // The other frames of it are no heads.
        bench.change(START + 1..START + (1 << order), |page| page.other = Some(PageUse::Fixed));
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
        bench.change(START..block(1), |page| page.other = Some(PageUse::Compound(Order::of(7))));
        assert_eq!(scans(&bench, daemon(7), 1), [first]);
        assert_eq!(bench.state.zone_state(crate::owner::ZONE).cached_migrate, [Pfn(cached); 2]);
    }
    // Smaller ones leave the rest.
    let mut bench = scene(NEW, 12);
    bench.change(START..block(1), |page| page.other = Some(PageUse::Compound(Order::of(6))));
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
        let (ended, events) = bench.step(&mut run);
        assert_eq!(ended, expected, "{rules:?}");
        // It is contention until patch 17, and for that the pageblock is finished since patch 13.
        let whole = mode == ASYNC && !rules.has(CompactFeatures::F17);
        if expected.is_none() {
            let frames = if whole { 128 } else { 32 };
            assert_eq!(source_scans(&events)[0], (START, START + frames, frames, frames));
        }
        bench.compactor().abandon(run);
    }
}

#[test]
fn more_than_half_isolated_is_too_many() {
    // 8192 frames, of which 768 are free: 7424 on the lists; an eighth of them is 928.
    let with_active = |active: u64, count: u64, waits: u64, goal: Goal, rules| {
        let bench = scene(rules, 12);
        bench.owner.active.store(active, Relaxed);
        *bench.owner.isolated_by_others.lock().unwrap() = count;
        bench.owner.waits.store(waits, Relaxed);
        let mut run = bench.begin(goal);
        let ended = bench.step(&mut run).0;
        bench.compactor().abandon(run);
        (ended, bench.owner.waits.load(Relaxed))
    };
    let others = |count, waits, goal, rules| with_active(0, count, waits, goal, rules);
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
    // Active pages count as well: an eighth of 800 is 100, and 1028 in all.
    assert_eq!(with_active(800, 514, 0, daemon(7), NEW).0, None);
    assert_eq!(with_active(800, 515, 0, daemon(7), NEW).0, aborted);
}

#[test]
fn only_what_the_search_found_is_scanned_in_spite_of_its_mark() {
    // Nothing is searched for order 3: the first pageblock is passed over without a look at it.
    let bench = scene(NEW, 12);
    bench.mark(START);
    assert_eq!(scans(&bench, daemon(3), 1)[0].0, block(1));
}

#[test]
fn a_scan_to_the_end_that_isolated_something_leaves_the_cached_position() {
    let mut bench = scene(NEW, 12);
    bench.change(START..START + 118, |page| page.lru.pinned = true);
    assert_eq!(scans(&bench, daemon(7), 1), [(START, block(1), 128, 10)]);
    let state = bench.state.zone_state(crate::owner::ZONE);
    assert_eq!(state.cached_migrate, [Pfn(START); 2]);
}

#[test]
fn runs_that_ignore_marks_set_none_where_they_isolate() {
    for ignore_skip_hint in [false, true] {
        let bench = scene(NEW, 12);
        let goal = Goal { ignore_skip_hint, ..daemon(7) };
        assert_eq!(first_scan(&bench, goal), (32, 32, 32));
        assert_eq!(bench.skips(START), !ignore_skip_hint);
    }
}

#[test]
fn a_huge_page_on_a_list_fills_its_pageblock_like_any_other() {
    for order in [7, 8] {
        let mut bench = scene(NEW, 12);
        bench.folio(block(2), 7);
        bench.cached(block(2), block(63));
        // For order 8 it is no folio below the order wanted that may be isolated, either.
        assert_eq!(scans(&bench, daemon(order), 1)[0].0, block(3), "order {order}");
        assert!(!bench.skips(block(2)));
    }
    let old = without(CompactFeatures::F14, CompactFixes::empty());
    let mut bench = scene(old, 12);
    bench.folio(block(2), 7);
    bench.cached(block(2), block(63));
    assert_eq!(scans(&bench, daemon(8), 1)[0], (block(2), block(3), 128, 0));
}
