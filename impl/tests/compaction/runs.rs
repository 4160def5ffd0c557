//! Runs as tasks, daemons and sysctls make them.

use crate::owner::{Bench, CPU, ZONE};
use mmspec_impl::compact::Goal;
use mmspec_model::{
    contract::{CompactEvent, CompactPriority, CompactResult, Request},
    vocab::{
        CompactFeatures, CompactRules, Gfp, Machine, MigrateType, NodeId, Order, Pfn, PfnRange,
        Tunables, ZoneKind,
    },
};
use std::{sync::atomic::Ordering::Relaxed, vec, vec::Vec};

const PRESETS: [(&str, CompactRules); 5] = CompactRules::PRESETS;

/// 64 pageblocks of 32 frames, three of four pages held.
fn fragmented(rules: CompactRules) -> Bench {
    let mut bench = Bench::new(0, 2048, 5, rules);
    bench.fill();
    // Every fourth page at random: a pattern would suit or dodge the strides of the free scanner.
    bench.free(|pfn| pfn.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 62 == 1);
    bench
}

#[test]
fn a_whole_node_is_packed_and_nothing_is_lost() {
    for (name, rules) in PRESETS {
        let bench = fragmented(rules);
        let (tokens, before) = (bench.tokens(), bench.blocks(5));
        bench.compactor().compact_all(CPU);
        bench.pages.drain_all(CPU, None);
        bench.check(0);
        assert_eq!(bench.tokens(), tokens, "{name}: content was lost");
        let made = bench.blocks(5) + 2 * bench.blocks(6);
        assert!(before == 0 && made >= 10, "{name}: {made} of 16 possible pageblocks are free");
        let counters = bench.state.counters();
        assert!(counters.pgmigrate_success > 200, "{name}: {counters:?}");
        assert!(counters.isolated >= 2 * counters.pgmigrate_success, "{name}: {counters:?}");
        assert!(counters.migrate_scanned >= counters.pgmigrate_success, "{name}: {counters:?}");
    }
}

/// Reserved frames are memory that is scanned, as a recording of Linux 6.12 shows; a hole is none.
#[test]
fn a_reserved_pageblock_is_scanned_and_a_hole_is_not() {
    let mut machine = Machine::new(1, &[(ZoneKind::Normal, 0, 2048)]);
    machine.pageblock_order = Order::of(5);
    machine.max_order = Order::of(6);
    machine.thp_order = None;
    machine.reserved = vec![PfnRange::new(64, 96)];
    machine.holes = vec![PfnRange::new(128, 160)];
    let bench = Bench::of(&machine, Tunables::default(), CompactRules::linux_6_12());
    bench.compactor().compact_all(CPU);
    let events = bench.owner.events.lock().unwrap();
    let scanned = |start| {
        events.iter().find_map(|event| match event {
            CompactEvent::IsolateMigrate { range, scanned, .. } if range.start == Pfn(start) => {
                Some(*scanned)
            }
            _ => None,
        })
    };
    assert_eq!((scanned(64), scanned(128)), (Some(32), None));
}

/// Of a batch that finds no target the tracepoint names every page, and the counter one.
#[test]
fn a_batch_without_targets_counts_as_one_failure() {
    let mut bench = Bench::new(0, 2048, 5, CompactRules::linux_6_12());
    bench.fill();
    bench.compactor().compact_all(CPU);
    bench.check(0);
    let events = bench.owner.events.lock().unwrap();
    let moves: Vec<&CompactEvent> =
        events.iter().filter(|event| matches!(event, CompactEvent::Migrate { .. })).collect();
    assert_eq!(moves, [&CompactEvent::Migrate { migrated: 0, failed: 32 }]);
    assert_eq!(bench.state.counters().pgmigrate_fail, 1);
}

#[test]
fn a_request_gets_its_block() {
    for (name, rules) in PRESETS {
        for priority in
            [CompactPriority::SyncFull, CompactPriority::SyncLight, CompactPriority::Async]
        {
            let bench = fragmented(rules);
            let tokens = bench.tokens();
            let request = Request::new(Order::of(5), Gfp::HIGHUSER_MOVABLE);
            let done = bench.compactor().direct(CPU, &request, priority);
            let held = u64::from(done.page.is_some()) * 32;
            bench.check(held);
            assert_eq!(bench.tokens(), tokens);
            assert_eq!(done.result, CompactResult::Success, "{name}, {priority:?}");
            let listed = bench.pages.alloc_pages(CPU, request).page();
            assert!(done.page.is_some() || listed.is_some(), "{name}, {priority:?}: no block");
        }
    }
}

#[test]
fn kcompactd_works_until_there_is_a_block() {
    let bench = fragmented(CompactRules::linux_6_12());
    let compactor = bench.compactor();
    assert!(compactor.kcompactd_wake(NodeId(0), Order::of(5), ZoneKind::Normal));
    assert!(compactor.kcompactd(CPU, NodeId(0)));
    assert!(!compactor.kcompactd(CPU, NodeId(0)), "it sleeps again");
    bench.check(0);
    assert!(bench.blocks(5) + bench.blocks(6) > 0);
    let counters = bench.state.counters();
    assert_eq!(counters.daemon_wake, 1);
    assert_eq!(counters.daemon_migrate_scanned, counters.migrate_scanned);
}

#[test]
fn proactive_runs_bring_the_score_down() {
    let bench = fragmented(CompactRules::linux_6_12());
    let compactor = bench.compactor();
    let before = compactor.node_score(NodeId(0));
    assert!(compactor.proactive(CPU, NodeId(0), 20));
    let after = compactor.node_score(NodeId(0));
    assert!(before == 99 && after < before, "score {before} before, {after} after");
    bench.check(0);
}

#[test]
fn a_range_is_emptied_and_taken() {
    let bench = fragmented(CompactRules::linux_6_12());
    let tokens = bench.tokens();
    let range = PfnRange { start: Pfn(512), end: Pfn(640) };
    bench.compactor().range(CPU, range, MigrateType::Movable).unwrap();
    bench.check(128);
    assert_eq!(bench.tokens(), tokens);
    for pfn in (512..640).map(Pfn) {
        bench.pages.free_pages(CPU, pfn, Order::ZERO);
    }
    bench.check(0);
}

#[test]
fn hints_of_any_value_do_no_harm() {
    for (name, rules) in PRESETS {
        for seed in 0..40_u64 {
            let bench = fragmented(rules);
            let tokens = bench.tokens();
            let mut random = seed;
            let mut next = |bound: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) % bound
            };
            for block in 0..64 {
                let skip = next(2) == 0;
                bench.state.set_skip_hint(bench.pages.shared(), Pfn(block * 32), skip);
            }
            let migrate = [Pfn(next(4096)), Pfn(next(4096))];
            bench.state.set_cached(ZONE, migrate, Pfn(next(4096)));
            let goal =
                Goal { direct: seed % 2 == 0, ..Goal::daemon(Order::of(5), ZoneKind::Normal) };
            if let Ok(mut run) = bench.compactor().begin(CPU, ZONE, goal) {
                let steps = (0..100_000).take_while(|_| bench.compactor().step(&mut run).is_none());
                assert!(steps.count() < 10_000, "{name}, seed {seed}: no end");
                let held = u64::from(run.take_captured().is_some()) * 32;
                bench.check(held);
            }
            assert_eq!(bench.tokens(), tokens);
        }
    }
}

#[test]
fn pages_that_do_not_move_stay_where_they_are() {
    for (name, rules) in PRESETS {
        let mut bench = fragmented(rules);
        bench.each(|pfn, page| match pfn.0 % 7 {
            0 => page.busy = true,
            1 => page.again = 4,
            2 => page.lru.pinned = true,
            3 => page.lru.writeback = true,
            _ => {}
        });
        let stay: Vec<Pfn> = bench
            .owner
            .pages
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, page)| page.busy || page.lru.pinned)
            .map(|(pfn, _)| *pfn)
            .collect();
        let tokens = bench.tokens();
        bench.compactor().compact_all(CPU);
        bench.check(0);
        assert_eq!(bench.tokens(), tokens, "{name}");
        let pages = bench.owner.pages.lock().unwrap();
        assert!(stay.iter().all(|pfn| pages.contains_key(pfn)), "{name}: a pinned page moved");
        assert!(bench.state.counters().pgmigrate_fail > 0, "{name}");
    }
}

#[test]
fn a_fatal_signal_and_busy_locks_end_a_run() {
    for (name, rules) in PRESETS {
        for signal in [false, true] {
            let bench = fragmented(rules);
            let tokens = bench.tokens();
            if signal {
                bench.owner.signal.store(true, Relaxed);
            } else {
                bench.owner.contended.store(true, Relaxed);
            }
            let request = Request::new(Order::of(5), Gfp::HIGHUSER_MOVABLE);
            let done = bench.compactor().direct(CPU, &request, CompactPriority::Async);
            bench.check(u64::from(done.page.is_some()) * 32);
            assert_eq!(bench.tokens(), tokens);
            let finds = done.result == CompactResult::Success;
            assert!(finds || done.result == CompactResult::Contended, "{name}: {:?}", done.result);
        }
    }
}

#[test]
fn layout_only_patches_change_nothing() {
    let layout = CompactFeatures::F01
        | CompactFeatures::F02
        | CompactFeatures::F04
        | CompactFeatures::F05
        | CompactFeatures::F16;
    for (name, rules) in PRESETS {
        let run = |rules| {
            let bench = fragmented(rules);
            bench.compactor().kcompactd_wake(NodeId(0), Order::of(5), ZoneKind::Normal);
            bench.compactor().kcompactd(CPU, NodeId(0));
            bench.compactor().compact_all(CPU);
            (bench.owner.events.into_inner().unwrap(), bench.state.counters())
        };
        let toggled = CompactRules { features: rules.features ^ layout, ..rules };
        assert_eq!(run(rules), run(toggled), "{name}");
    }
}

#[test]
fn a_compactor_that_holds_pages_never_waits_for_others() {
    // C16: others hold half of the pages, and this one some.
    let bench = fragmented(CompactRules::linux_6_12());
    *bench.owner.isolated_by_others.lock().unwrap() = 10_000;
    let request = Request::new(Order::of(5), Gfp::HIGHUSER_MOVABLE);
    let done = bench.compactor().direct(CPU, &request, CompactPriority::SyncLight);
    assert_eq!(done.result, CompactResult::Contended);
    bench.check(0);
}
