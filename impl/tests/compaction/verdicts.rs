//! Whether a run begins, and what it ends for (compaction.md §1.8, §1.9).

use crate::{
    owner::{CPU, ZONE},
    scene::{BLOCKS, START, block, daemon, full, machine, scene, task},
};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactMode, CompactResult},
    vocab::{CompactRules, MigrateType},
};
use std::sync::atomic::Ordering::Relaxed;

const NEW: CompactRules = CompactRules::linux_6_12();
const ASYNC: CompactMode = CompactMode::Async;
const LIGHT: CompactMode = CompactMode::SyncLight;

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
