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
    assert_eq!(groups.stock_state(CPU0).objcg, None);
    groups.refill(CPU0, memcg, 1, false);
    assert!(!groups.charge_from_stock(CPU0, memcg, 0));
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

/// §1.6: a handle keeps what was lost to it by a second one's reset, but not by a third one's.
#[test]
fn a_reset_raises_what_others_stored() {
    let groups = groups();
    let [other, memcg] = [groups.create(ROOT).unwrap(), groups.create(ROOT).unwrap()];
    let to = |memcg, pages: u64| {
        groups.uncharge(memcg, groups.usage(memcg) as u32);
        groups.charge_replacement(memcg, pages as u32);
    };
    to(other, 100);
    let [elsewhere, a, b, c] = [other, memcg, memcg, memcg].map(|memcg| groups.open_peak(memcg));
    assert_eq!(groups.read_peak(a), 0, "of its own group");
    groups.reset_peak(elsewhere);
    for (first, second) in [(10, 30), (29, 30), (30, 20)] {
        to(memcg, first);
        groups.reset_peak(a);
        to(memcg, second);
        groups.reset_peak(b);
        to(memcg, 5);
        groups.reset_peak(c);
        assert_eq!(groups.read_peak(a), first.max(second));
        assert_eq!(groups.read_peak(c), 5);
    }
    to(other, 1);
    groups.reset_peak(groups.open_peak(memcg));
    assert_eq!(groups.read_peak(elsewhere), 100);
    let copy = groups.clone();
    assert_eq!([elsewhere, a, b, c].map(|handle| copy.read_peak(handle)), [100, 30, 20, 5]);
}

/// §2.2: a batch may come from the stock, more may not.
#[test]
fn a_whole_batch_comes_from_the_stock() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.charge_replacement(memcg, 64);
    groups.refill(CPU0, memcg, 64, false);
    assert_eq!(groups.slots(CPU0)[0], (memcg.0, 64));
    assert_eq!(groups.now(CPU0, charge(memcg, 65_537, Gfp::KERNEL)), charged(memcg));
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (64 + 65_537, (memcg.0, 64)));
    assert_eq!(groups.now(CPU0, charge(memcg, 64, Gfp::KERNEL)), charged(memcg));
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (64 + 65_537, (memcg.0, 0)));
}

/// §2.2: other CPUs are asked to drain while they have pages of the subtree.
#[test]
fn a_stock_in_use_is_drained_and_an_empty_one_is_not() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    let drain = MemcgCall::WriteMax { memcg, pages: 0, nonblock: false };
    (0..64)
        .for_each(|_| assert_eq!(groups.now(CPU1, charge(memcg, 1, Gfp::KERNEL)), charged(memcg)));
    assert_eq!(groups.slots(CPU1)[0], (memcg.0, 0));
    groups.now(CPU0, drain);
    assert!(!groups.has_stock_work(CPU1));
    groups.limit(memcg, 1000);
    (0..3)
        .for_each(|_| assert_eq!(groups.now(CPU1, charge(memcg, 1, Gfp::KERNEL)), charged(memcg)));
    groups.now(CPU0, drain);
    assert!(groups.has_stock_work(CPU1));
}

/// §2.12: the objcg's last reference went, and then a charge that had begun before books its pages.
#[test]
fn a_late_charge_keeps_the_removed_group() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 4);
    groups.now(CPU0, charge(memcg, 4, Gfp::KERNEL));
    let (mut running, step) = groups.begin(CPU0, kernel_pages(memcg, 1));
    assert_eq!(step, reclaim(memcg, 32));
    groups.offline(CPU0, memcg).unwrap();
    groups.uncharge(memcg, 4);
    assert_eq!(groups.go_on(&mut running, reclaimed(4)), charged(memcg));
    let pages = groups.slots(CPU0).iter().map(|(_, pages)| u64::from(*pages)).sum::<u64>();
    assert_eq!((groups.usage(memcg) - pages, groups.look(memcg).kernel), (1, 1));
    let before = groups.look(memcg).references;
    groups.uncharge_kernel_pages(memcg, 1);
    assert_eq!((before, groups.look(memcg).references), (1, 0));
}

/// §1.2: usage below 0 is a caller's error, and becomes 0.
#[test]
fn usage_does_not_go_below_nothing() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.charge_replacement(memcg, 3);
    groups.uncharge(memcg, 5);
    groups.charge_replacement(memcg, 4);
    assert_eq!((groups.usage(memcg), groups.usage(ROOT)), (4, 4));
}

/// §2.6, 6: with progress there is another round, also when no attempt is left.
#[test]
fn progress_is_another_round_without_attempts() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 200, Gfp::KERNEL));
    groups.limit_high(memcg, 100);
    let (mut running, step) =
        groups.begin(CPU0, MemcgCall::OverHigh { memcg, over_high: 64, task: TASK });
    assert_eq!(step, reclaim(memcg, 64));
    for _ in 0..16 {
        assert_eq!(groups.go_on(&mut running, reclaimed(0)), reclaim(memcg, 32));
    }
    for _ in 0..40 {
        assert_eq!(groups.go_on(&mut running, reclaimed(1)), reclaim(memcg, 32));
    }
    assert_eq!(groups.go_on(&mut running, reclaimed(0)), MemcgStep::Sleep { jiffies: 2000 });
}
