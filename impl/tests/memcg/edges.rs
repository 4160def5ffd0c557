//! Limits met exactly, nothing asked for, and what must be left alone (§1 to §2).

use crate::bench::*;
use mmspec_model::{
    contract::{MemcgCall, MemcgDone, MemcgReply, MemcgStep},
    vocab::{Gfp, MemcgEvent, MemcgId, MemcgRules},
};

fn kernel_pages(objcg: MemcgId, pages: u32) -> MemcgCall {
    let gfp = Gfp::KERNEL_ACCOUNT;
    MemcgCall::ChargeKernelPages { objcg, pages, gfp, task: TASK, over_high: 0 }
}

#[test]
fn nothing_is_charged_for_the_root_or_for_nothing() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    assert_eq!(groups.now(CPU0, object(ROOT, 72)), charged(ROOT));
    assert_eq!(groups.now(CPU0, kernel_pages(ROOT, 4)), charged(ROOT));
    assert_eq!((groups.look(ROOT).kernel, groups.usage(ROOT)), (0, 0));
    assert_eq!(groups.now(CPU0, kernel_pages(memcg, 0)), charged(memcg));
    assert_eq!(groups.now(CPU0, object(memcg, 0)), charged(memcg));
    assert_eq!((groups.usage(memcg), groups.look(memcg).kernel), (0, 0));
    let references = groups.look(memcg).references;
    groups.uncharge_object(CPU0, memcg, 0, false);
    assert_eq!(groups.look(memcg).references, references);
}

#[test]
fn an_object_may_take_the_last_bytes_of_a_stock() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, object(memcg, 4032));
    assert_eq!(groups.stock_state(CPU0).bytes, 64);
    assert_eq!(groups.now(CPU0, object(memcg, 64)), charged(memcg));
    assert_eq!((groups.stock_state(CPU0).bytes, groups.look(memcg).kernel), (0, 1));
}

/// §2.3, 16: a signal that came with a reclaim counts once somebody was killed.
#[test]
fn a_task_that_was_signalled_gives_up_after_a_kill() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 4);
    groups.now(CPU0, charge(memcg, 4, Gfp::KERNEL));
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 1, Gfp::KERNEL));
    let signalled = MemcgReply::Reclaimed { pages: 0, signal: true };
    while step == reclaim(memcg, 32) {
        step = groups.go_on(&mut running, signalled);
    }
    assert_eq!(step, MemcgStep::Oom { memcg, order: 0 });
    step = groups.go_on(&mut running, KILLED);
    while step == reclaim(memcg, 32) {
        step = groups.go_on(&mut running, reclaimed(0));
    }
    assert_eq!((step, groups.events(memcg, MemcgEvent::Oom)), (no_memory(), 1));
}

/// §2.3, 20: over is above.
#[test]
fn usage_of_just_high_is_not_over() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit_high(memcg, 64);
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL)), charged(memcg));
    assert_eq!(groups.usage(memcg), 64);
    let over = MemcgDone::Charged { memcg, over_high: 64, high_work: None };
    assert_eq!(groups.now(CPU0, charge(memcg, 64, Gfp::KERNEL)), MemcgStep::Done(over));
}

/// §2.2: each stock has its own bit and its own condition.
#[test]
fn a_drain_of_pages_leaves_bytes_of_others() {
    let groups = groups();
    let [a, b] = [groups.create(ROOT).unwrap(), groups.create(ROOT).unwrap()];
    groups.now(CPU1, object(b, 72));
    groups.stock_cpu_dead(CPU1);
    groups.now(CPU1, object(b, 72));
    // The page stock holds `a`'s pages, too: a drain for `a` takes that stock alone.
    groups.now(CPU1, charge(a, 1, Gfp::KERNEL));
    groups.now(CPU0, MemcgCall::WriteMax { memcg: a, pages: 0, nonblock: false });
    assert!(groups.run_stock_work(CPU1));
    assert_eq!(groups.stock_state(CPU1).objcg, Some(b));
    assert_eq!(groups.slots(CPU1)[0], (0, 0));
    assert!(!groups.run_stock_work(CPU1));
    // And one for `b` takes the bytes.
    groups.now(CPU0, MemcgCall::WriteMax { memcg: b, pages: 0, nonblock: false });
    assert!(groups.run_stock_work(CPU1));
    assert_eq!(groups.stock_state(CPU1).objcg, None);
}

#[test]
fn ids_that_were_never_given_show_no_group() {
    let rules = MemcgRules { batch: 32, ..MemcgRules::LINUX_6_17 };
    let groups = with_rules(rules);
    let memcg = groups.create(ROOT).unwrap();
    let next = MemcgId(memcg.0 + 1);
    assert_eq!(groups.look(next).objcg_owner, next);
    assert_eq!(groups.now(CPU0, object(next, 8)), MemcgStep::Done(MemcgDone::NoGroup));
    assert_eq!(groups.open_peak(next), u32::MAX);
    assert_eq!(groups.rules(), rules);
    assert!(format!("{groups:?}").contains("groups: 2"));
}
