//! Which block a run captures, and how free blocks are isolated (compaction.md §1.7, §1.13).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{START, block, daemon, moves, scene, task, without},
};
use mmspec_impl::compact::{Goal, Run};
use mmspec_model::{
    contract::{CompactMode, CompactPriority, CompactResult, Request},
    vocab::{CompactFeatures, CompactFixes, CompactRules, Gfp, MigrateType, Order, Pfn},
};

const NEW: CompactRules = CompactRules::linux_6_12();
const LIGHT: CompactMode = CompactMode::SyncLight;

/// A run that empties its first pageblock, whose frames are freed into one of type `of`; it may not end
/// for a block on the lists before, because only 100 pages of the pageblock were moved.
fn empties(rules: CompactRules, order: u8, goal: Goal, of: MigrateType) -> (Bench, Run) {
    let bench = scene(rules, 12);
    bench.retype(START, of);
    assert_eq!(goal.order, Some(Order::of(order)));
    let mut run = bench.begin(goal);
    for _ in 0..4 {
        if bench.step(&mut run).0.is_some() {
            break;
        }
    }
    (bench, run)
}

#[test]
fn a_task_gets_the_block_that_it_makes() {
    let unmovable = |order| Goal { migratetype: MigrateType::Unmovable, ..task(order, LIGHT) };
    let (normal, movable) = (MigrateType::Unmovable, MigrateType::Movable);
    for (rules, goal, of, captured) in [
        (NEW, task(7, LIGHT), movable, true),
        (NEW, task(5, LIGHT), movable, true),
        (NEW, unmovable(7), movable, true),
        // A part of a movable pageblock is not for others,
        (NEW, unmovable(5), movable, false),
        (NEW, unmovable(5), normal, true),
        (NEW, task(7, LIGHT), MigrateType::Cma, false),
        // Up to 6.2 the record is looked at after the drain.
        (
            without(
                CompactFeatures::empty(),
                CompactFixes::FINISH_FAILED | CompactFixes::MARK_REPRESENTATIVE,
            ),
            task(7, LIGHT),
            movable,
            true,
        ),
        (NEW, task(5, LIGHT), normal, true),
        // and up to 6.9 not even for movable requests.
        (
            without(CompactFeatures::empty(), CompactFixes::LARGE_FOLIOS),
            task(5, LIGHT),
            movable,
            false,
        ),
        (without(CompactFeatures::F22, CompactFixes::empty()), task(5, LIGHT), movable, false),
        (NEW, daemon(5), normal, false),
    ] {
        let order = goal.order.unwrap().get();
        let (bench, mut run) = empties(rules, order, goal, of);
        let page = run.captured();
        assert_eq!(page.is_some(), captured, "{goal:?} in {of:?}");
        bench.check(if captured { 1 << order } else { 0 });
        if captured {
            assert_eq!(run.result(), Some(CompactResult::Success));
            let page = run.take_captured().unwrap();
            assert!(page.0 >= START && page.0 < block(1) && page.0 % (1 << order) == 0);
            assert_eq!(run.captured(), None);
            bench.pages.free_pages(CPU, page, Order::of(order));
            bench.pages.drain_all(CPU, None);
        }
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn blocks_of_the_largest_order_are_not_captured() {
    let bench = scene(NEW, 12);
    let goal = task(8, LIGHT);
    let mut run = bench.begin(goal);
    let (result, _) = bench.finish(&mut run);
    assert_eq!((result, run.captured()), (CompactResult::Success, None));
    bench.check(0);
}

#[test]
fn an_abandoned_run_gives_its_captured_block_back() {
    let (bench, run) = empties(NEW, 7, task(7, LIGHT), MigrateType::Movable);
    let at = run.captured().unwrap();
    bench.check(128);
    bench.compactor().abandon(run);
    bench.check(0);
    bench.pages.drain_all(CPU, None);
    assert!(bench.list(7).contains(&at.0));
}

#[test]
fn what_others_free_on_the_cpu_between_iterations_is_not_captured() {
    let mut bench = scene(NEW, 12);
    let mut run = bench.begin(task(7, LIGHT));
    bench.step(&mut run);
    bench.free_block(block(30), 7);
    assert_eq!(run.captured(), None);
    assert_eq!(bench.list(7), [block(30)]);
    bench.compactor().abandon(run);
}

#[test]
fn targets_of_half_a_pageblock_make_it_movable() {
    for (order, becomes) in [(5, MigrateType::Reclaimable), (6, MigrateType::Movable)] {
        let mut bench =
            scene(without(CompactFeatures::F09 | CompactFeatures::F11, CompactFixes::empty()), 12);
        bench.retype(block(63), MigrateType::Reclaimable);
        bench.free_block(block(63), order);
        let goal = Goal { ignore_block_suitable: true, ..daemon(7) };
        let mut run = bench.begin(goal);
        let (_, events) = bench.step(&mut run);
        assert!(moves(&events).iter().any(|(_, to)| *to >= block(63)));
        assert_eq!(bench.pages.pageblock_type(Pfn(block(63))), Some(becomes), "order {order}");
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn a_captured_block_is_the_callers() {
    let bench = scene(NEW, 12);
    let request = Request::new(Order::of(7), Gfp::HIGHUSER_MOVABLE);
    let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
    let page = done.page.expect("it was made by this very task");
    assert_eq!(done.result, CompactResult::Success);
    let state = bench.state.zone_state(ZONE);
    assert_eq!(state.order_failed, 8, "the zone is no longer put off");
    bench.check(128);
    bench.pages.free_pages(CPU, page, Order::of(7));
    bench.check(0);
}
