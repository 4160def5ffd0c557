//! Pages larger than one frame, as sources and in the way of targets (compaction.md §1.6, §1.7; since 6.10).

use crate::{
    owner::{Bench, CPU, ZONE},
    scene::{
        START, block, daemon, full, machine, scene, source_scans, target_scans, target_searches,
        without,
    },
};
use mmspec_model::{
    contract::{CompactEvent, CompactMode, PageUse},
    vocab::{CompactFeatures, CompactFixes, CompactRules, Order, Pfn},
};

const NEW: CompactRules = CompactRules::linux_6_12();

/// A zone with a folio of order 2 among the first sources, and targets for it.
fn with_folio(rules: CompactRules) -> Bench {
    let mut bench = full(&machine(), rules);
    bench.folio(START + 8, 2);
    bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 8 < 4);
    bench
}

fn outcome(events: &[CompactEvent]) -> (u64, u64) {
    let outcome = |event: &CompactEvent| match *event {
        CompactEvent::Migrate { migrated, failed } => Some((migrated, failed)),
        _ => None,
    };
    events.iter().find_map(outcome).unwrap()
}

#[test]
fn a_small_folio_moves_as_a_whole() {
    let bench = with_folio(NEW);
    let tokens = bench.tokens();
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    assert_eq!(source_scans(&events), [(START, START + 32, 32, 32)]);
    assert_eq!(outcome(&events), (32, 0));
    let to = events.iter().find_map(|event| match *event {
        CompactEvent::Moved { from, to, order } if order.get() == 2 => Some((from, to)),
        _ => None,
    });
    let (from, to) = to.expect("it was moved as one");
    assert!(from == Pfn(START + 8) && to.0 % 4 == 0 && to.0 >= block(52));
    // 28 single frames of targets of four, and four in one: no split frames are left but those.
    assert_eq!(run.isolated().0, 0);
    bench.compactor().abandon(run);
    bench.check(0);
    assert!(bench.tokens() == tokens);
}

#[test]
fn a_folio_that_stays_counts_with_all_its_frames() {
    for again in [false, true] {
        let mut bench = with_folio(NEW);
        bench.each(|_, page| {
            if page.lru.order.get() == 2 {
                (page.busy, page.again) = (!again, if again { 20 } else { 0 });
            }
        });
        let mut run = bench.begin(daemon(7));
        let (_, events) = bench.step(&mut run);
        assert_eq!(outcome(&events), (28, 4));
        assert_eq!(run.isolated().0, 0);
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn a_folio_freed_meanwhile_counts_as_moved() {
    let mut bench = with_folio(NEW);
    bench.each(|_, page| page.freed = page.lru.order.get() == 2);
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    assert_eq!(outcome(&events), (32, 0));
    bench.compactor().abandon(run);
    bench.check(0);
}

#[test]
fn up_to_6_9_and_as_large_as_what_is_wanted_folios_stay() {
    let old = without(CompactFeatures::empty(), CompactFixes::LARGE_FOLIOS);
    for (rules, order, expected) in [
        (old, 7, (36, 36)),
        (NEW, 7, (32, 32)),
        (NEW, 3, (32, 32)),
        (NEW, 2, (36, 36)),
        (
            without(
                CompactFeatures::empty(),
                CompactFixes::LARGE_FOLIOS | CompactFixes::COUNT_JUMPS,
            ),
            7,
            (36, 33),
        ),
    ] {
        let mut bench = with_folio(rules);
        // Nothing of the order wanted may be free.
        if order < 3 {
            bench = full(&machine(), rules);
            bench.folio(START + 8, 2);
            bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 4 == 1);
        } else if order == 3 {
            bench = full(&machine(), rules);
            bench.folio(START + 8, 2);
            bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 8 < 4);
        }
        let mut run = bench.begin(daemon(order));
        let (start, end, scanned, taken) = source_scans(&bench.step(&mut run).1)[0];
        assert_eq!((end - start, scanned, taken), (expected.0, expected.1, 32), "order {order}");
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn a_batch_may_end_with_more_than_32_pages_since_5_10() {
    for (fixes, first) in [
        (CompactFixes::empty(), (START + 34, 34)),
        // Before, a batch of not exactly 32 did not end.
        (CompactFixes::STOP_WITH_PAGES, (block(1), 128)),
    ] {
        let mut bench = full(&machine(), without(CompactFeatures::empty(), fixes));
        bench.folio(START + 30, 1);
        bench.each(|pfn, page| page.lru.pinned = pfn.0 == START + 1);
        bench.folio(START + 32, 2);
        bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 8 < 4);
        let mut run = bench.begin(daemon(7));
        let (_, end, _, taken) = source_scans(&bench.step(&mut run).1)[0];
        let expected = if fixes.is_empty() { (START + 36, 35) } else { (block(1), 127) };
        assert_eq!((end, taken), expected, "{first:?}");
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn the_free_scanner_jumps_over_compound_pages() {
    for (fixes, scanned) in [(CompactFixes::empty(), 8 + 32), (CompactFixes::COUNT_JUMPS, 1 + 32)] {
        let off = CompactFeatures::F09 | CompactFeatures::F11;
        let mut bench = full(&machine(), without(off, fixes));
        bench.folio(block(63), 3);
        bench.free_block(block(63) + 8, 3);
        bench.free_block(block(63) + 16, 4);
        bench.free_block(block(63) + 32, 3);
        bench.free(|pfn| (block(2)..block(10)).contains(&pfn.0) && pfn.0 % 2 == 1);
        let mut run = bench.begin(daemon(7));
        let scan = target_scans(&bench.step(&mut run).1)[0];
        assert_eq!((scan.0, scan.1, scan.3), (block(63), block(63) + 40, 32));
        assert_eq!(scan.2, scanned);
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn targets_are_split_for_smaller_pages_and_kept_by_order() {
    let off = CompactFeatures::F09 | CompactFeatures::F11;
    let mut bench = full(&machine(), without(off, CompactFixes::empty()));
    bench.free_block(block(63), 6);
    bench.free(|pfn| (block(2)..block(10)).contains(&pfn.0) && pfn.0 % 2 == 1);
    let mut run = bench.begin(daemon(7));
    bench.step(&mut run);
    assert_eq!(run.isolated(), (0, 32));
    // 32 single frames from the lower half: the block's order-5 half is left.
    bench.compactor().abandon(run);
    bench.pages.drain_all(CPU, None);
    assert!(bench.list(5).contains(&(block(63) + 32)));
    bench.check(0);
}

#[test]
fn a_flush_leaves_pageblocks_that_one_page_fills() {
    for rules in [NEW, CompactRules::linux_5_0()] {
        let mut bench = scene(rules, 12);
        bench.folio(block(20), 7);
        bench.folio(block(22), 6);
        bench.cached(block(30), block(30));
        let task = crate::scene::task(7, CompactMode::SyncLight);
        let mut run = bench.begin(task);
        assert!(bench.step(&mut run).0.is_some());
        (0..64).for_each(|number| bench.mark(block(number)));
        bench.compactor().flush_node(mmspec_model::vocab::NodeId(0));
        let skips = [20, 21, 22].map(|number| bench.skips(block(number)));
        assert_eq!(skips, [true, false, false]);
    }
}

#[test]
fn ranges_take_pages_of_any_size() {
    let mut bench = scene(NEW, 12);
    bench.folio(block(20), 6);
    bench.folio(block(21), 7);
    let range = mmspec_model::vocab::PfnRange { start: Pfn(block(20)), end: Pfn(block(21)) };
    let movable = mmspec_model::vocab::MigrateType::Movable;
    // There is no block of 64 frames to move it to.
    assert!(bench.compactor().range(CPU, range, movable).is_err());
    bench.free_block(block(40), 6);
    let tokens = bench.tokens();
    bench.compactor().range(CPU, range, movable).unwrap();
    bench.check(128);
    assert!(bench.tokens() == tokens);
    assert!(bench.owner.pages.lock().unwrap().contains_key(&Pfn(block(40))));
}

#[test]
fn searches_count_the_frames_of_what_they_take_since_5_14() {
    for (fixes, expected) in [
        (CompactFixes::empty(), 1 + 63),
        (CompactFixes::LIMIT_MAX, 1 + 63),
        (CompactFixes::LIMIT_MAX | CompactFixes::COUNT_JUMPS, 1),
    ] {
        let mut bench = full(&machine(), without(CompactFeatures::F09, fixes));
        bench.free_block(block(62), 6);
        bench.free(|pfn| (block(2)..block(10)).contains(&pfn.0) && pfn.0 % 2 == 1);
        let mut run = bench.begin(daemon(7));
        let (_, events) = bench.step(&mut run);
        let (_, scanned, taken) = target_searches(&events)[0];
        assert_eq!((scanned, taken), (expected, 64));
        assert_eq!(bench.state.zone_state(ZONE).init_free, Pfn(0));
        let _ = (Order::of(6), PageUse::Fixed);
        bench.compactor().abandon(run);
        bench.check(0);
    }
}

#[test]
fn a_folio_without_a_target_fails_with_all_its_frames() {
    let mut bench = full(&machine(), NEW);
    bench.folio(START + 8, 2);
    bench.free(|pfn| pfn.0 >= block(52) && pfn.0 % 4 == 1);
    let mut run = bench.begin(daemon(7));
    let (_, events) = bench.step(&mut run);
    // 20 pages above it were moved.
    assert_eq!(outcome(&events).0, 20);
    let counters = bench.state.counters();
    assert_eq!((counters.pgmigrate_success, counters.pgmigrate_fail), (20, 4));
    bench.compactor().abandon(run);
    bench.check(0);
}
