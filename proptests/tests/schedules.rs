//! Threads under chosen schedules.

mod common;

use common::{clean, owned};
use mmspec_proptests::engine::{Budget, Config};
use mmspec_proptests::generate::Rng;
use mmspec_proptests::marks::Mark;
use mmspec_proptests::schedules::{self, Coarse, Fine, Oracle, Schedule, Strategy, explore};
use mmspec_proptests::script::Script;

#[test]
fn random_and_pct_schedules_find_nothing_on_the_implementation() {
    let report = schedules::run(&Config::new(3, Budget::cases(30_000)), owned::<Coarse>);
    clean(&report);
    assert_eq!(report.schedules, Some(30_000));
    let report = schedules::run(&Config::new(4, Budget::cases(20_000)), owned::<Fine>);
    clean(&report);
    for law in ["one-place", "conservation", "nr-free-pages", "returns-to-start"] {
        assert!(report.laws.get(law).is_some_and(|times| *times > 10_000), "{law}");
    }
    for mark in [
        Mark::ListsBusy,
        Mark::WeakFailed,
        Mark::DrainMetCall,
        Mark::SwitchMetFree,
        Mark::SwitchMetAlloc,
        Mark::DeathMetCall,
        Mark::ReturnMetCall,
        Mark::IsolationMetFree,
        Mark::IsolationMetAlloc,
        Mark::WorkerMetDrain,
        Mark::DecayMetCall,
        Mark::SysctlMetCall,
        Mark::DrainJudged,
        Mark::WaitServed,
        Mark::WalkMetFree,
        Mark::WalkMetKswapd,
        Mark::WalkMetWalk,
        Mark::WalkWaited,
        Mark::RebuildMetScan,
    ] {
        assert!(report.marks.count(mark) > 0, "{} was never reached", mark.name());
    }
}

/// A drainer, a CPU with pages that comes to its worker late, and one that dies with work queued.
const WORK: &str = "mms 1\nmachine cpus=3 max_order=3 pageblock_order=3\nzone Normal 0x0..0x40\n\
    rule drain_scheme=work_item\nset min_free_kbytes=0\n\
    a1 = alloc cpu=0 order=0 gfp=GFP_KERNEL\na2 = alloc cpu=1 order=0 gfp=GFP_KERNEL\n\
    a3 = alloc cpu=2 order=0 gfp=GFP_KERNEL\nfree cpu=0 a1\nfree cpu=1 a2\nfree cpu=2 a3\n\
    drain-all by=0 zone=0\na4 = alloc cpu=0 order=0 gfp=GFP_KERNEL\nfree cpu=0 a4\nwork cpu=1\npcp-disable by=1 zone=0\ncpu-dead by=1 cpu=2\n\
    drain-begin by=1\ndrain-all by=2 zone=0\ncpu-online cpu=2\nkswapd node=0\n";

#[test]
fn drains_by_work_items_end_and_empty_whatever_cpus_do() {
    let script = Script::parse("work", WORK).expect("parses");
    let mut marks = mmspec_proptests::marks::Marks::default();
    for strategy in [Strategy::Random(1), Strategy::Pct(2, 3), Strategy::Pct(3, 2)] {
        for fine in [false, true] {
            let explored = if fine {
                explore(&script, owned::<Fine>, strategy.clone(), 1_500, Oracle::Laws)
            } else {
                explore(&script, owned::<Coarse>, strategy.clone(), 1_500, Oracle::Laws)
            };
            assert_eq!(explored.found, None);
            assert_eq!(explored.schedules, 1_500);
            marks.add(&explored.marks);
            // Every kind of lock was met by the checker of their order.
            assert!(explored.locks.iter().all(|taken| *taken > 0), "{:?}", explored.locks);
        }
    }
    // CPU 1 allocates and frees before it comes to its worker; how often is recorded.
    assert!((1..10).contains(&marks.longest_wait), "{}", marks.longest_wait);
    for mark in [Mark::WaitServed, Mark::DrainJudged, Mark::DrainMetCall, Mark::DeathMetCall] {
        assert!(marks.count(mark) > 20, "{}: {}", mark.name(), marks.count(mark));
    }
}

/// Walks that find nothing above the marks, get something reclaimed and drain the lists of CPUs that
/// walk themselves, while the zonelists are rebuilt and kswapd works.
const WALKS: &str = "mms 1\nmachine cpus=3 max_order=3 pageblock_order=3\nzone Normal 0x0..0x40\n\
    rule drain_scheme=work_item\nset min_free_kbytes=1024\n\
    a1 = alloc cpu=1 order=0 gfp=GFP_KERNEL at=min flags=no_watermarks\nfree cpu=1 a1\n\
    a2 = alloc cpu=2 order=0 gfp=GFP_KERNEL at=min flags=no_watermarks\nfree cpu=2 a2\n\
    a3 = slow cpu=0 order=0 gfp=GFP_KERNEL reply=reclaimed:1,reclaimed:1\n\
    a4 = slow cpu=2 order=0 gfp=GFP_KERNEL reply=reclaimed:1\nrebuild-zonelists\n\
    kswapd node=0\na5 = slow cpu=1 order=1 gfp=GFP_KERNEL reply=woken,reclaimed:1\n\
    kswapd node=0 reply=shrunk:32/0\n";

#[test]
fn walks_wait_for_the_drains_that_they_began() {
    let script = Script::parse("walks", WALKS).expect("parses");
    let mut marks = mmspec_proptests::marks::Marks::default();
    for strategy in [Strategy::Random(1), Strategy::Pct(2, 3), Strategy::Pct(3, 2)] {
        let explored = explore(&script, owned::<Coarse>, strategy.clone(), 500, Oracle::Laws);
        assert_eq!(explored.found, None);
        marks.add(&explored.marks);
        let explored = explore(&script, owned::<Fine>, strategy, 500, Oracle::Laws);
        assert_eq!(explored.found, None);
        marks.add(&explored.marks);
    }
    for mark in [Mark::WalkWaited, Mark::WaitServed, Mark::WalkMetWalk, Mark::WalkMetKswapd] {
        assert!(marks.count(mark) > 20, "{}: {}", mark.name(), marks.count(mark));
    }
}

#[test]
fn every_schedule_of_a_small_script_is_run() {
    let text = "mms 1\nmachine cpus=2 max_order=2 pageblock_order=2\nzone Normal 0x0..0x10\n\
                set min_free_kbytes=0\na1 = alloc cpu=0 order=0 gfp=GFP_KERNEL\n\
                drain by=1 cpu=0\n";
    let script = Script::parse("small", text).expect("parses");
    let explored = explore(&script, owned::<Coarse>, Strategy::DepthFirst, 200_000, Oracle::Laws);
    assert!(explored.complete, "{} schedules were not all", explored.schedules);
    assert!(explored.schedules > 10, "{}", explored.schedules);
    assert_eq!(explored.found, None);
}

#[test]
fn a_schedule_is_replayed_to_the_step() {
    // Two runs under the same recorded schedule judge the same number of times; the schedule that
    // a seed gives is always the same.
    for case in 0..20 {
        let script = schedules::script(&mut Rng::for_case(9, case), case);
        let run = || explore(&script, owned::<Fine>, Strategy::Random(case), 5, Oracle::Laws).laws;
        assert_eq!(run(), run(), "case {case}");
    }
    let script = schedules::script(&mut Rng::for_case(9, 1), 1);
    let nowhere = Schedule(vec![7; 50]);
    // A schedule that cannot be followed goes on with whoever can run.
    assert_eq!(schedules::replay(&script, owned::<Fine>, &nowhere), None);
}
