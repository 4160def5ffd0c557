//! A to D, E to I: flags, wake-ups, the first compaction.

use crate::bench::{CPU0, Rote, ZONE, request, task, with_free};
use mmspec_model::contract::{
    CompactResult, Nodes, Observe, Outcome, PageAllocator, SlowPath, SlowReply, SlowStep, TaskFlags,
};
use mmspec_model::vocab::{Gfp, KmemEvent, NodeId, Order, Rules, ZoneKind};

const N0: NodeId = NodeId(0);

/// The smallest number of free pages with which a walk answers a page without any step, between 0 and
/// 120. (The last `free` that fails is its mark.)
fn mark_of(rules: Rules, of: mmspec_model::contract::Request) -> u64 {
    let served = |free| Rote::default().run(&mut with_free(rules, free), of) == "!";
    let found = (1..=120).find(|&free| served(free)).expect("120 pages are above MIN");
    assert!(found == 1 || !served(found - 1));
    found - 1
}

/// C: the mark is MIN; flags lower it (§3.4, §3.7).
#[test]
fn marks_of_the_slow_path() {
    let now = Rules::linux_6_12();
    let mut first = with_free(now, 110);
    let kernel = request(0, Gfp::KERNEL);
    assert_eq!(first.alloc_pages(CPU0, kernel), Outcome::SlowPath);
    assert_eq!(mark_of(now, kernel), 100);
    assert_eq!(mark_of(now, request(0, Gfp::KERNEL | Gfp::HIGH)), 50);
    assert_eq!(mark_of(now, request(0, Gfp::ATOMIC)), 38, "MIN_RESERVE and NON_BLOCK");
    assert_eq!(mark_of(now, request(0, Gfp::NOWAIT)), 100, "NON_BLOCK alone lowers nothing");
    assert_eq!(mark_of(now, request(0, Gfp::ATOMIC | Gfp::NOMEMALLOC)), 50);
    assert_eq!(mark_of(now, kernel.by(task(TaskFlags::REALTIME))), 50);
    let then = Rules::linux_6_1();
    assert_eq!(mark_of(then, request(0, Gfp::ATOMIC)), 38, "half, then a quarter of it");
    assert_eq!(mark_of(then, request(0, Gfp::NOWAIT)), 75, "HARDER takes a quarter");
}

/// G and H: the reserves of a task that reclaims or was chosen to die.
#[test]
fn reserves_of_tasks() {
    let now = Rules::linux_6_12();
    let kernel = request(0, Gfp::KERNEL);
    assert_eq!(mark_of(now, kernel.by(task(TaskFlags::MEMALLOC))), 0);
    assert_eq!(mark_of(now, request(0, Gfp::KERNEL | Gfp::MEMALLOC)), 0);
    assert_eq!(mark_of(now, kernel.by(task(TaskFlags::OOM_VICTIM))), 50);
    let none = Gfp::KERNEL | Gfp::NOMEMALLOC;
    assert_eq!(mark_of(now, request(0, none).by(task(TaskFlags::MEMALLOC))), 100);
}

/// I: who cannot reclaim, and who does, ends here.
#[test]
fn no_reclaim_no_round() {
    let mut r = with_free(Rules::linux_6_12(), 0);
    assert_eq!(Rote::default().run(&mut r, request(0, Gfp::ATOMIC)), ".");
    let reclaimer = request(0, Gfp::KERNEL).by(task(TaskFlags::MEMALLOC));
    assert_eq!(Rote::default().run(&mut r, reclaimer), ".");
    assert_eq!(r.events().allocstall, [0; 5]);
    // An illegal request has no walk.
    let illegal = request(0, Gfp::MOVABLE | Gfp::RECLAIMABLE);
    assert_eq!(Rote::default().run(&mut r, illegal), ".");
}

/// B and F: kswapd is woken once, with order and zone recorded; only if the request says so.
#[test]
fn waking_kswapd() {
    let mut r = with_free(Rules::linux_6_12(), 90);
    Rote::default().run(&mut r, request(0, Gfp::KERNEL.difference(Gfp::KSWAPD_RECLAIM)));
    assert_eq!(r.node_state(N0).wakeups, 0);
    Rote::default().run(&mut r, request(2, Gfp::NOWAIT | Gfp::HIGHMEM | Gfp::MOVABLE));
    let state = r.node_state(N0);
    assert!(state.kswapd_awake);
    assert_eq!((state.wakeups, state.kswapd_order), (1, 2));
    assert_eq!(state.kswapd_highest, Some(ZoneKind::Movable));
    // Awake already: order and zone are raised, never lowered.
    Rote::default().run(&mut r, request(1, Gfp::NOWAIT));
    let state = r.node_state(N0);
    assert_eq!((state.kswapd_order, state.kswapd_highest), (2, Some(ZoneKind::Movable)));
    Rote::default().run(&mut r, request(3, Gfp::NOWAIT));
    let state = r.node_state(N0);
    assert_eq!((state.wakeups, state.kswapd_order), (1, 3));
    assert_eq!(state.kswapd_highest, Some(ZoneKind::Movable));
    assert_eq!(state.kcompactd_wakeups, 0);
}

/// A balanced node's kswapd sleeps on; kcompactd is woken for those who cannot reclaim.
#[test]
fn a_balanced_node_is_left_alone() {
    let mut r = with_free(Rules::linux_6_12(), 1000);
    // No block of order 2 is free, so the walk fails at MIN; at order 0 the node is balanced.
    let mut walk = r.slow_begin(CPU0, request(0, Gfp::NOWAIT));
    assert!(matches!(r.slow_step(&mut walk, None), SlowStep::Done(Outcome::Page(_))));
    let state = r.node_state(N0);
    assert!(!state.kswapd_awake);
    assert_eq!((state.wakeups, state.kcompactd_wakeups), (0, 1));
    assert_eq!(state.kswapd_highest, Some(ZoneKind::Normal), "recorded all the same");
    let mut walk = r.slow_begin(CPU0, request(0, Gfp::KERNEL));
    r.slow_step(&mut walk, None);
    assert_eq!(r.node_state(N0).kcompactd_wakeups, 1);
}

/// D: who compacts before reclaiming.
#[test]
fn compaction_first() {
    let mut r = with_free(Rules::linux_6_12(), 0);
    let mut first = |order, gfp, flags| {
        let mut walk = r.slow_begin(CPU0, request(order, gfp).by(task(flags)));
        r.slow_step(&mut walk, None)
    };
    let none = TaskFlags::empty();
    let compacts = |step| matches!(step, SlowStep::Compact { .. });
    let reclaims = |step| matches!(step, SlowStep::Reclaim { .. });
    assert!(compacts(first(1, Gfp::KERNEL, none)));
    assert!(compacts(first(4, Gfp::HIGHUSER_MOVABLE, none)), "costly");
    assert!(reclaims(first(3, Gfp::HIGHUSER_MOVABLE, none)), "movable and not costly");
    assert!(reclaims(first(0, Gfp::KERNEL, none)));
    assert!(reclaims(first(1, Gfp::NOIO, none)), "compaction needs I/O");
    assert!(reclaims(first(1, Gfp::KERNEL, TaskFlags::NOIO)));
    assert!(reclaims(first(1, Gfp::KERNEL, TaskFlags::OOM_VICTIM)), "reserves come first");
    assert!(compacts(first(1, Gfp::KERNEL | Gfp::NOMEMALLOC, TaskFlags::OOM_VICTIM)));
}

/// D: what NORETRY makes of the first result, and the priority of the later ones.
#[test]
fn the_first_result() {
    let costly = |gfp| request(4, Gfp::KERNEL | gfp);
    let run = |compacted, of| {
        let rote = Rote { compacted, ..Rote::default() };
        rote.run(&mut with_free(Rules::linux_6_12(), 0), of)
    };
    for result in CompactResult::ALL {
        let gives_up = matches!(result, CompactResult::Skipped | CompactResult::Deferred);
        let expected = if gives_up { "A." } else { "ARA." };
        assert_eq!(run(result, costly(Gfp::NORETRY)), expected, "{result:?}");
    }
    // Otherwise later attempts are SYNC_LIGHT, and without RETRY_MAYFAIL costly orders end (M).
    assert_eq!(run(CompactResult::Skipped, costly(Gfp::empty())), "ARL.");
    assert_eq!(run(CompactResult::Deferred, request(1, Gfp::KERNEL | Gfp::NORETRY)), "ARL.");
}

/// Up to 5.3 a skipped compaction was no reason to give up: reclaim may make room for the next.
#[test]
fn skipped_compaction_before_5_4() {
    let rules = Rules { noretry_minds_skipped: false, ..Rules::linux_6_12() };
    let mut r = with_free(rules, 0);
    let gfp = Gfp::HIGHUSER_MOVABLE | Gfp::NORETRY;
    let mut run = |compacted| Rote { compacted, ..Rote::default() }.run(&mut r, request(4, gfp));
    assert_eq!(run(CompactResult::Skipped), "ARA.");
    assert_eq!(run(CompactResult::Deferred), "A.");
}

/// The counters of compaction (D46), and the attempt after it.
#[test]
fn counters_of_compaction() {
    let mut r = with_free(Rules::linux_6_12(), 0);
    let of = request(4, Gfp::KERNEL | Gfp::NORETRY);
    let skipped = Rote { compacted: CompactResult::Skipped, ..Rote::default() };
    assert_eq!(skipped.run(&mut r, of), "A.");
    let counts = |r: &mmspec_model::reference::Reference| {
        let events = r.events();
        (events.compact_stall, events.compact_success, events.compact_fail)
    };
    assert_eq!(counts(&r), (0, 0, 0));
    let deferred = Rote { compacted: CompactResult::Deferred, ..Rote::default() };
    assert_eq!(deferred.run(&mut r, of), "A.");
    assert_eq!(counts(&r), (1, 0, 1));
    // While compaction runs, somebody frees a run.
    let mut walk = r.slow_begin(CPU0, of);
    assert!(matches!(r.slow_step(&mut walk, None), SlowStep::Compact { .. }));
    for pfn in 0..512 {
        r.free_pages(CPU0, mmspec_model::vocab::Pfn(pfn), Order::ZERO);
    }
    let reply = SlowReply::Compacted(CompactResult::Success);
    let step = r.slow_step(&mut walk, Some(reply));
    assert!(matches!(step, SlowStep::Done(Outcome::Page(_))), "{step:?}");
    assert_eq!(counts(&r), (2, 1, 1));
}

/// mm_page_alloc once, at the end, with the flags within the task's scopes.
#[test]
fn one_tracepoint_at_the_end() {
    let mut r = with_free(Rules::linux_6_12(), 0);
    r.start_trace();
    let of = request(1, Gfp::KERNEL | Gfp::NORETRY).by(task(TaskFlags::NOFS));
    let mut walk = r.slow_begin(CPU0, of);
    let mut reply = None;
    loop {
        assert_eq!(r.take_trace(), []);
        let step = r.slow_step(&mut walk, reply);
        if step == SlowStep::Done(Outcome::Failed) {
            break;
        }
        reply = Some(Rote::default().reply(step));
    }
    let gfp = Gfp::NOFS | Gfp::NORETRY;
    let migratetype = mmspec_model::vocab::MigrateType::Unmovable;
    let event = KmemEvent::PageAlloc { pfn: None, order: Order::of(1), gfp, migratetype };
    assert_eq!(r.take_trace(), [event]);
    assert!(matches!(r.slow_step(&mut walk, None), SlowStep::Done(Outcome::Failed)));
    assert_eq!(r.take_trace(), []);
}

/// HIGHATOMIC: before 6.18 for all that cannot wait, then only with `__GFP_HIGH` (bug P15).
#[test]
fn who_may_reserve() {
    let reserved = |rules, gfp| {
        let mut r = with_free(rules, 0);
        for pfn in 0..512 {
            r.free_pages(CPU0, mmspec_model::vocab::Pfn(pfn), Order::ZERO);
        }
        assert_eq!(Rote::default().run(&mut r, request(1, gfp)), "!");
        r.zone_state(ZONE).nr_reserved_highatomic
    };
    assert_eq!(reserved(Rules::linux_6_12(), Gfp::NOWAIT), 8);
    assert_eq!(reserved(Rules::linux_6_18(), Gfp::NOWAIT), 0);
    assert_eq!(reserved(Rules::linux_6_18(), Gfp::ATOMIC), 8);
    assert_eq!(reserved(Rules::linux_6_18(), Gfp::ATOMIC | Gfp::NOMEMALLOC), 0);
    assert_eq!(reserved(Rules::linux_6_12(), Gfp::KERNEL), 0);
}
