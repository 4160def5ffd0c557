//! Clearing skip bits (compaction.md §1.12).

use crate::{
    owner::{Bench, ZONE},
    scene::{BLOCK, BLOCKS, block, daemon, full, machine, scene, task, without},
};
use mmspec_impl::compact::CompactZoneState;
use mmspec_model::{
    contract::{CompactMode, CompactResult, PageUse},
    vocab::{CompactFeatures, CompactFixes, CompactRules, MigrateType, NodeId, Pfn},
};

const NEW: CompactRules = CompactRules::linux_6_12();
const LIGHT: CompactMode = CompactMode::SyncLight;

fn state(bench: &Bench) -> CompactZoneState {
    bench.state.zone_state(ZONE)
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
fn up_to_5_3_samples_reach_to_the_next_pageblock() {
    for (fixes, found) in [(CompactFixes::empty(), 5), (CompactFixes::FLUSH_BOUNDS, 4)] {
        let mut bench = scene(without(CompactFeatures::empty(), fixes), 12);
        bench.each(|pfn, page| {
            if pfn.0 < block(8) && pfn.0 != block(5) {
                page.other = Some(PageUse::Fixed);
            }
        });
        ask_for_flush(&bench);
        bench.compactor().flush_node(NodeId(0));
        assert_eq!(state(&bench).init_migrate, Pfn(block(found)));
    }
}
