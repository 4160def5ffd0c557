//! memory.high (§2.3 step 20, §2.6).

use crate::bench::*;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep},
    vocab::{Gfp, MemcgEvent, MemcgId},
};

fn over_high(memcg: MemcgId, over_high: u64) -> MemcgCall {
    MemcgCall::OverHigh { memcg, over_high, task: TASK }
}

fn done(step: MemcgStep) -> (u64, Option<MemcgId>) {
    match step {
        MemcgStep::Done(MemcgDone::Charged { over_high, high_work, .. }) => (over_high, high_work),
        step => panic!("{step:?}"),
    }
}

/// A group with memory.high of 100 MiB and usage of `mib`.
fn group_at(mib: u64) -> (OwnedMemcg, MemcgId) {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    let pages = (mib * MIB) as u32;
    assert_eq!(groups.now(CPU0, charge(memcg, pages, Gfp::KERNEL)), charged(memcg));
    groups.drain_all_stock(CPU0, memcg);
    groups.limit_high(memcg, 100 * MIB);
    (groups, memcg)
}

/// Fruitless rounds to the sleep; its length and the rounds.
fn sleeps(groups: &OwnedMemcg, memcg: MemcgId, nr: u64) -> (Option<u64>, u32) {
    let (mut running, mut step) = groups.begin(CPU0, over_high(memcg, nr));
    let mut rounds = 0;
    loop {
        match step {
            MemcgStep::Reclaim { goal, .. } => {
                assert_eq!(goal, if rounds == 0 { nr } else { 32 });
                rounds += 1;
                step = groups.go_on(&mut running, reclaimed(0));
            }
            MemcgStep::Sleep { jiffies } => {
                let end = groups.go_on(&mut running, MemcgReply::Slept);
                assert_eq!(end, MemcgStep::Done(MemcgDone::Ok));
                return (Some(jiffies), rounds);
            }
            MemcgStep::Done(MemcgDone::Ok) => return (None, rounds),
            step => panic!("{step:?}"),
        }
    }
}

/// Oracle 1 of §8.4, through the handler: a delay of 10 ms or less is none, and more than two seconds none either.
#[test]
fn the_penalty_table() {
    let table = [
        (100, None),
        (101, None),
        (102, Some(25)),
        (103, Some(57)),
        (104, Some(102)),
        (110, Some(639)),
        (117, Some(1849)),
        (118, Some(2000)),
        (300, Some(2000)),
    ];
    for (mib, sleep) in table {
        let (groups, memcg) = group_at(mib);
        let rounds = if mib == 100 {
            0
        } else if sleep.is_none() {
            1
        } else {
            17
        };
        assert_eq!(sleeps(&groups, memcg, 64), (sleep, rounds), "{mib} MiB");
        assert_eq!(groups.events(memcg, MemcgEvent::High), u64::from(rounds));
    }
    // Twice the pages, twice the delay.
    let (groups, memcg) = group_at(102);
    assert_eq!(sleeps(&groups, memcg, 128).0, Some(50));
}

#[test]
fn a_limit_of_nothing_saturates() {
    let (groups, memcg) = group_at(1);
    groups.limit_high(memcg, 0);
    assert_eq!(sleeps(&groups, memcg, 64).0, Some(2000));
}

#[test]
fn progress_puts_the_sleep_off_and_death_ends_it() {
    let (groups, memcg) = group_at(110);
    let (mut running, mut step) = groups.begin(CPU0, over_high(memcg, 64));
    for _ in 0..100 {
        assert!(matches!(step, MemcgStep::Reclaim { .. }));
        step = groups.go_on(&mut running, reclaimed(1));
    }
    let signal = MemcgReply::Reclaimed { pages: 0, signal: true };
    assert_eq!(groups.go_on(&mut running, signal), MemcgStep::Done(MemcgDone::Ok));
    let call = MemcgCall::OverHigh { memcg, over_high: 64, task: ChargeTask::DYING };
    assert_eq!(groups.now(CPU0, call), MemcgStep::Done(MemcgDone::Ok));
    assert_eq!(groups.now(CPU0, over_high(memcg, 0)), MemcgStep::Done(MemcgDone::Ok));
}

#[test]
fn every_level_that_is_over_is_reclaimed_from_and_the_worst_counts() {
    let groups = groups();
    let top = groups.create(ROOT).unwrap();
    let middle = groups.create(top).unwrap();
    let leaf = groups.create(middle).unwrap();
    groups.now(CPU0, charge(leaf, 2000, Gfp::KERNEL));
    groups.drain_all_stock(CPU0, top);
    groups.limit_high(leaf, 1960);
    groups.limit_high(top, 1900);
    let (mut running, step) = groups.begin(CPU0, over_high(leaf, 64));
    assert_eq!(step, reclaim(leaf, 64));
    assert_eq!(groups.go_on(&mut running, reclaimed(0)), reclaim(top, 64));
    assert_eq!(groups.go_on(&mut running, reclaimed(3)), reclaim(leaf, 32), "again: progress");
    let of = |memcg| groups.look(memcg).local[MemcgEvent::High as usize];
    assert_eq!([leaf, middle, top].map(of), [2, 0, 1]);
    let mut step = reclaim(leaf, 32);
    while let MemcgStep::Reclaim { .. } = step {
        step = groups.go_on(&mut running, reclaimed(0));
    }
    let jiffies = mmspec_impl::memcg::delay(2000, 1900, 64, 64);
    assert_eq!(step, MemcgStep::Sleep { jiffies });
}

/// A task is told by the batch, not by its request; once more than a batch has piled up, the charge waits itself.
#[test]
fn a_charge_over_high_notes_its_batch() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit_high(memcg, 10);
    assert_eq!(done(groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL))), (64, None));
    // From the stock nothing is looked at.
    assert_eq!(done(groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL))), (0, None));
    let atomic =
        |over_high| MemcgCall::Charge { memcg, pages: 64, gfp: Gfp::ATOMIC, task: TASK, over_high };
    assert_eq!(done(groups.now(CPU0, atomic(64))), (128, None), "it may not wait");
    let call = MemcgCall::Charge { memcg, pages: 64, gfp: Gfp::KERNEL, task: TASK, over_high: 64 };
    let (mut running, step) = groups.begin(CPU0, call);
    assert_eq!(step, reclaim(memcg, 128));
    groups.uncharge(memcg, groups.usage(memcg) as u32 - 10);
    assert_eq!(done(groups.go_on(&mut running, reclaimed(100))), (0, None));
}

#[test]
fn an_interrupt_leaves_the_work_for_later() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.limit_high(parent, 10);
    let call = charge_as(child, 1, Gfp::ATOMIC, ChargeTask::INTERRUPT);
    assert_eq!(done(groups.now(CPU0, call)), (0, Some(parent)));
}

#[test]
fn swap_over_its_high_counts_too() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.set_swap_high(memcg, 100).unwrap();
    assert_eq!(groups.charge_swap(memcg, 150), Ok(memcg));
    assert_eq!(done(groups.now(CPU0, charge(memcg, 64, Gfp::KERNEL))), (64, None));
    let call = charge_as(memcg, 64, Gfp::ATOMIC, ChargeTask::INTERRUPT);
    assert_eq!(done(groups.now(CPU0, call)), (0, None));
    // No level is over memory.high: nothing is reclaimed, and the delay is of swap alone.
    assert_eq!(sleeps(&groups, memcg, 64), (Some(2000), 0));
}
