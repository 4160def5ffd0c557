//! The twenty steps of a charge (§2.3) and what each kind of request gets (§2.5).

use crate::bench::*;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep},
    vocab::{Gfp, MemcgEvent, MemcgId, MemcgRules},
};

/// A group at its limit of `max`.
fn full(max: u32) -> (OwnedMemcg, MemcgId) {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, u64::from(max));
    assert_eq!(groups.now(CPU0, charge(memcg, max, Gfp::KERNEL)), charged(memcg));
    groups.drain_all_stock(CPU0, memcg);
    (groups, memcg)
}

/// Answer reclaim with `reply` till something else comes; how often it was asked.
fn run(groups: &OwnedMemcg, call: MemcgCall, reply: MemcgReply) -> (u32, MemcgStep) {
    let (mut running, mut step) = groups.begin(CPU0, call);
    let mut asked = 0;
    while let MemcgStep::Reclaim { .. } = step {
        asked += 1;
        step = groups.go_on(&mut running, reply);
    }
    (asked, step)
}

#[test]
fn a_request_that_may_wait_reclaims_drains_retries_and_kills() {
    let (groups, memcg) = full(100);
    let (mut running, step) = groups.begin(CPU0, charge(memcg, 2, Gfp::KERNEL));
    // 32 at least (§2.3, 9).
    assert_eq!(step, reclaim(memcg, 32));
    // The drain's turn costs no retry; then 16 do; 18 passes and 18 events.
    let mut step = groups.go_on(&mut running, reclaimed(0));
    let mut passes = 2;
    while step == reclaim(memcg, 32) {
        step = groups.go_on(&mut running, reclaimed(0));
        passes += 1;
    }
    assert_eq!((passes - 1, step), (18, MemcgStep::Oom { memcg, order: 1 }));
    assert_eq!(groups.events(memcg, MemcgEvent::Max), 18);
    assert_eq!(groups.events(memcg, MemcgEvent::Oom), 1);
    // A victim, and all begins again with 16 retries and no drain.
    let mut step = groups.go_on(&mut running, KILLED);
    let mut passes = 0;
    while step == reclaim(memcg, 32) {
        step = groups.go_on(&mut running, reclaimed(0));
        passes += 1;
    }
    assert_eq!((passes, step), (17, MemcgStep::Oom { memcg, order: 1 }));
    assert_eq!(groups.go_on(&mut running, NO_VICTIM), no_memory());
    assert_eq!(groups.go_on(&mut running, KILLED), no_memory(), "the same answer again");
    assert_eq!(groups.usage(memcg), 100);
}

#[test]
fn what_was_reclaimed_is_charged_at_once() {
    let (groups, memcg) = full(100);
    let (mut running, _) = groups.begin(CPU0, charge(memcg, 2, Gfp::KERNEL));
    groups.uncharge(memcg, 2);
    assert_eq!(groups.go_on(&mut running, reclaimed(2)), charged(memcg));
    assert_eq!(groups.usage(memcg), 100);
}

#[test]
fn progress_costs_small_requests_no_retry() {
    let (groups, memcg) = full(100);
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 8, Gfp::KERNEL));
    for _ in 0..1000 {
        assert_eq!(step, reclaim(memcg, 32));
        step = groups.go_on(&mut running, reclaimed(1));
    }
    // Of a costly one it does, and nobody is killed for it.
    let (asked, step) = run(&groups, charge(memcg, 9, Gfp::KERNEL), reclaimed(1));
    assert_eq!((asked, step), (18, no_memory()));
    assert_eq!(groups.events(memcg, MemcgEvent::Oom), 0);
}

#[test]
fn each_kind_of_request_gets_its_own() {
    let max = |groups: &OwnedMemcg, memcg| groups.events(memcg, MemcgEvent::Max);
    let (groups, memcg) = full(100);
    let (asked, step) = run(&groups, charge(memcg, 1, Gfp::KERNEL | Gfp::NORETRY), reclaimed(1));
    assert_eq!((asked, step, max(&groups, memcg)), (2, no_memory(), 2));

    let (groups, memcg) = full(100);
    let gfp = Gfp::KERNEL | Gfp::RETRY_MAYFAIL;
    let (asked, step) = run(&groups, charge(memcg, 1, gfp), reclaimed(0));
    assert_eq!((asked, step, groups.events(memcg, MemcgEvent::Oom)), (18, no_memory(), 0));

    let (groups, memcg) = full(100);
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::NOWAIT)), no_memory());
    assert_eq!(groups.look(memcg).events, [0; 6]);

    // Oracle 11 of §8.4.
    let (groups, memcg) = full(100);
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::ATOMIC)), charged(memcg));
    assert_eq!((groups.usage(memcg), max(&groups, memcg)), (101, 1));
    assert_eq!(groups.slots(CPU0)[0], (0, 0));

    let (groups, memcg) = full(100);
    let gfp = Gfp::KERNEL | Gfp::NOFAIL;
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 1, gfp));
    while let MemcgStep::Reclaim { .. } = step {
        step = groups.go_on(&mut running, reclaimed(0));
    }
    assert_eq!(step, MemcgStep::Oom { memcg, order: 0 });
    assert_eq!(groups.go_on(&mut running, NO_VICTIM), charged(memcg));
    assert_eq!((groups.usage(memcg), max(&groups, memcg)), (101, 18));

    let (groups, memcg) = full(100);
    let call = charge_as(memcg, 3, Gfp::KERNEL, ChargeTask::MEMALLOC);
    assert_eq!(groups.now(CPU0, call), charged(memcg));
    assert_eq!((groups.usage(memcg), max(&groups, memcg)), (103, 1));
}

/// Bug M11: a killed task may not go over the limit; it gives up once somebody was killed for it.
#[test]
fn a_dying_task_gives_up_after_a_kill() {
    let (groups, memcg) = full(100);
    let (mut running, _) = groups.begin(CPU0, charge_as(memcg, 1, Gfp::KERNEL, ChargeTask::DYING));
    let mut replies = 0;
    let mut step = groups.go_on(&mut running, reclaimed(0));
    while !matches!(step, MemcgStep::Done(_)) {
        let oom = matches!(step, MemcgStep::Oom { .. });
        step = groups.go_on(&mut running, if oom { KILLED } else { reclaimed(0) });
        replies += 1;
    }
    // 18 passes less the first, a kill, 17 passes.
    assert_eq!((step, replies, groups.usage(memcg)), (no_memory(), 17 + 1 + 17, 100));
    assert_eq!(groups.events(memcg, MemcgEvent::Oom), 1);
}

#[test]
fn a_drain_may_be_enough() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let [a, b] = [(); 2].map(|()| groups.create(parent).unwrap());
    groups.limit(parent, 70);
    groups.now(CPU0, charge(a, 1, Gfp::KERNEL));
    let (mut running, step) = groups.begin(CPU0, charge(b, 10, Gfp::KERNEL));
    assert_eq!(step, reclaim(parent, 32), "of the level that is over");
    assert_eq!(groups.go_on(&mut running, reclaimed(0)), charged(b));
    assert_eq!((groups.usage(a), groups.usage(parent)), (1, 11));
    assert_eq!(groups.look(parent).local[MemcgEvent::Max as usize], 1);
    assert_eq!(groups.events(b, MemcgEvent::Max), 0);
}

#[test]
fn without_reclaim_bits_no_batch_is_charged() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::NOWARN)), charged(memcg));
    assert_eq!((groups.usage(memcg), groups.memory(memcg).watermark), (1, 1));
}

#[test]
fn the_margin_is_looked_at_before_a_kill() {
    let (groups, memcg) = full(100);
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 3, Gfp::KERNEL));
    let mut asked = 1;
    while asked < 18 {
        step = groups.go_on(&mut running, reclaimed(0));
        asked += 1;
    }
    assert_eq!(step, reclaim(memcg, 32));
    // Too little for 3 pages by step 10, and 4 would be asked for by step 17.
    groups.uncharge(memcg, 2);
    assert_eq!(groups.go_on(&mut running, reclaimed(0)), MemcgStep::Oom { memcg, order: 2 });
}

#[test]
fn the_root_and_no_group() {
    let groups = groups();
    assert_eq!(groups.now(CPU0, charge(ROOT, 5, Gfp::KERNEL)), charged(ROOT));
    groups.uncharge(ROOT, 5);
    groups.charge_replacement(ROOT, 5);
    assert_eq!(groups.usage(ROOT), 0, "bugs M19 and M20");
    let none = MemcgId(7);
    let no_group = MemcgStep::Done(MemcgDone::NoGroup);
    assert_eq!(groups.now(CPU0, charge(none, 5, Gfp::KERNEL)), no_group);
    assert_eq!(groups.now(CPU0, object(none, 5)), no_group);
    groups.uncharge(none, 5);
    groups.refill(CPU0, none, 5, false);
    groups.uncharge_object(CPU0, none, 5, false);
    assert!(!groups.look(none).online && groups.count() == 1);
}

#[test]
fn a_replacement_is_charged_over_the_limit_and_is_no_event() {
    let (groups, memcg) = full(100);
    groups.charge_replacement(memcg, 4);
    assert_eq!((groups.usage(memcg), groups.look(memcg).references), (104, 104));
    groups.uncharge(memcg, 4);
    assert_eq!((groups.usage(memcg), groups.look(memcg).events), (100, [0; 6]));
}

#[test]
fn older_kernels_keep_high_requests_within_the_limit() {
    let rules = MemcgRules { high_may_exceed: false, ..MemcgRules::LINUX_6_17 };
    let groups = with_rules(rules);
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 0);
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::ATOMIC)), no_memory());
    let rules = MemcgRules { forced_raises_max: false, ..MemcgRules::LINUX_6_17 };
    let groups = with_rules(rules);
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 0);
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::ATOMIC)), charged(memcg));
    assert_eq!(groups.events(memcg, MemcgEvent::Max), 0);
}

#[test]
fn events_are_passed_up_unless_they_stay_local() {
    for local_events in [false, true] {
        let groups = with_rules(MemcgRules { local_events, ..MemcgRules::LINUX_6_17 });
        let parent = groups.create(ROOT).unwrap();
        let child = groups.create(parent).unwrap();
        groups.raise(child, MemcgEvent::OomKill);
        groups.raise(ROOT, MemcgEvent::OomKill);
        let at = MemcgEvent::OomKill as usize;
        assert_eq!((groups.look(child).local[at], groups.look(child).events[at]), (1, 1));
        assert_eq!(groups.look(parent).local[at], 0);
        assert_eq!(groups.look(parent).events[at], u64::from(!local_events));
        assert_eq!(groups.look(ROOT).events[at], 0);
    }
}
