//! memory.max, memory.high and memory.reclaim (§2.7, §2.8, §2.13).

use crate::bench::*;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_model::{
    contract::{MemcgCall, MemcgDone, MemcgReply, MemcgStep},
    vocab::{Gfp, MemcgEvent, MemcgId},
};

const OK: MemcgStep = MemcgStep::Done(MemcgDone::Ok);
const SIGNAL: MemcgReply = MemcgReply::Reclaimed { pages: 1, signal: true };

fn used(pages: u32) -> (OwnedMemcg, MemcgId) {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, pages, Gfp::KERNEL));
    groups.drain_all_stock(CPU0, memcg);
    (groups, memcg)
}

fn max(memcg: MemcgId, pages: u64) -> MemcgCall {
    MemcgCall::WriteMax { memcg, pages, nonblock: false }
}

fn high(memcg: MemcgId, pages: u64) -> MemcgCall {
    MemcgCall::WriteHigh { memcg, pages, nonblock: false }
}

/// Oracle 12 of §8.4: what lies in this CPU's stock is no usage to reclaim.
#[test]
fn stock_of_this_cpu_is_drained_first() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL));
    groups.uncharge(memcg, 1);
    assert_eq!(groups.usage(memcg), 63);
    assert_eq!(groups.now(CPU0, max(memcg, 0)), OK);
    assert_eq!((groups.usage(memcg), groups.look(memcg).events), (0, [0; 6]));
    // On another CPU it stays a while: reclaim, and then even an OOM event, are legal.
    groups.limit(memcg, 100);
    groups.now(CPU1, charge(memcg, 1, Gfp::KERNEL));
    groups.uncharge(memcg, 1);
    let (mut running, step) = groups.begin(CPU0, max(memcg, 0));
    assert_eq!(step, reclaim(memcg, 63));
    groups.run_stock_work(CPU1);
    assert_eq!(groups.go_on(&mut running, reclaimed(0)), OK);
}

#[test]
fn max_reclaims_then_kills_and_never_fails() {
    let (groups, memcg) = used(100);
    let (mut running, mut step) = groups.begin(CPU0, max(memcg, 40));
    assert_eq!(groups.memory(memcg).max, 40, "at once");
    for _ in 0..16 {
        assert_eq!(step, reclaim(memcg, 60));
        step = groups.go_on(&mut running, reclaimed(0));
    }
    assert_eq!(step, MemcgStep::Oom { memcg, order: 0 });
    groups.uncharge(memcg, 20);
    assert_eq!(groups.go_on(&mut running, KILLED), MemcgStep::Oom { memcg, order: 0 });
    assert_eq!(groups.go_on(&mut running, NO_VICTIM), OK);
    assert_eq!((groups.events(memcg, MemcgEvent::Oom), groups.usage(memcg)), (2, 80));
    let (mut running, step) = groups.begin(CPU0, max(memcg, 0));
    assert_eq!(step, reclaim(memcg, 80));
    assert_eq!(groups.go_on(&mut running, SIGNAL), OK);
}

#[test]
fn high_gives_up_after_seventeen_passes_without_a_kill() {
    let (groups, memcg) = used(100);
    let (mut running, mut step) = groups.begin(CPU0, high(memcg, 40));
    let mut passes = 0;
    while step == reclaim(memcg, 60) {
        step = groups.go_on(&mut running, reclaimed(0));
        passes += 1;
    }
    assert_eq!((passes, step, groups.look(memcg).events), (17, OK, [0; 6]));
    let (mut running, _) = groups.begin(CPU0, high(memcg, 40));
    assert_eq!(groups.go_on(&mut running, SIGNAL), OK);
    groups.limit_high(memcg, 0);
    groups.limit_high(memcg, 100);
    assert_eq!(groups.now(CPU0, high(memcg, 100)), OK);
}

#[test]
fn reclaim_asks_for_quarters_until_it_has_all() {
    let (groups, memcg) = used(100);
    let call = MemcgCall::Reclaim { memcg, pages: 100 };
    let (mut running, step) = groups.begin(CPU0, call);
    assert_eq!(step, reclaim(memcg, 25));
    assert_eq!(groups.go_on(&mut running, reclaimed(40)), reclaim(memcg, 15));
    assert_eq!(groups.go_on(&mut running, reclaimed(58)), reclaim(memcg, 0));
    assert_eq!(groups.go_on(&mut running, reclaimed(32)), OK);
    let (mut running, mut step) = groups.begin(CPU0, call);
    let mut passes = 0;
    while step == reclaim(memcg, 25) {
        step = groups.go_on(&mut running, reclaimed(0));
        passes += 1;
    }
    assert_eq!((passes, step), (17, MemcgStep::Done(MemcgDone::Again)));
    let (mut running, _) = groups.begin(CPU0, call);
    assert_eq!(groups.go_on(&mut running, SIGNAL), MemcgStep::Done(MemcgDone::Interrupted));
    assert_eq!(groups.now(CPU0, MemcgCall::Reclaim { memcg, pages: 0 }), OK);
    assert_eq!(groups.now(CPU0, MemcgCall::Reclaim { memcg: ROOT, pages: 8 }), reclaim(ROOT, 2));
}

#[test]
fn files_that_are_not_there() {
    let (groups, memcg) = used(10);
    let no_group = MemcgStep::Done(MemcgDone::NoGroup);
    assert_eq!(groups.now(CPU0, max(ROOT, 1)), no_group);
    groups.offline(CPU0, memcg).unwrap();
    for call in [max(memcg, 1), high(memcg, 1), MemcgCall::Reclaim { memcg, pages: 1 }] {
        assert_eq!(groups.now(CPU0, call), no_group);
    }
}
