//! memory.high (memcg-slub.md §2.6, §2.7).

use crate::shop::{CPU, Shop};
use mmspec_model::contract::MemcgReply;
use mmspec_model::contract::{ChargeTask, MemcgCall, MemcgDone, MemcgStep, MemoryCgroups};
use mmspec_model::vocab::{Gfp, MemcgEvent, MemcgId};

const MIB: u64 = 256;

/// The sleep of a task with `pages` over high, when nothing can be reclaimed.
fn sleep(usage: u64, high: u64, pages: u64) -> u64 {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    shop.groups.charge_replacement(memcg, usage as u32);
    shop.set_high(memcg, high);
    let call = MemcgCall::OverHigh { memcg, over_high: pages, task: ChargeTask::empty() };
    assert_eq!(shop.call(CPU, call), MemcgDone::Ok);
    shop.slept
}

#[test]
fn the_penalty_is_as_tabled() {
    let table = [
        (100, 0),
        (101, 0), // 6 ms: not worth a sleep
        (102, 25),
        (103, 57),
        (104, 102),
        (105, 159),
        (106, 230),
        (107, 313),
        (108, 409),
        (109, 518),
        (110, 639),
        (111, 774),
        (112, 921),
        (113, 1081),
        (114, 1254),
        (115, 1439),
        (116, 1638),
        (117, 1849),
        (118, 2000),
        (500, 2000),
    ];
    for (usage, jiffies) in table {
        assert_eq!(sleep(usage * MIB, 100 * MIB, 64), jiffies, "{usage} MiB");
    }
    assert_eq!(sleep(110 * MIB, 100 * MIB, 32), 319);
    // A divisor of 0 (bug M5, and memory.high = 0).
    assert_eq!(sleep(64, 0, 64), 2000);
}

#[test]
fn a_divisor_above_32_bits_is_not_cut() {
    // Bug M5: 2^32 pages of memory.high.
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    for _ in 0..3 {
        shop.groups.charge_replacement(memcg, u32::MAX);
    }
    shop.set_high(memcg, 1 << 32);
    let call = MemcgCall::OverHigh { memcg, over_high: 64, task: ChargeTask::empty() };
    shop.call(CPU, call);
    assert_eq!(shop.slept, 2000);
}

#[test]
fn reclaim_comes_before_sleep_and_asks_for_what_was_charged() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    shop.groups.charge_replacement(memcg, 110 * MIB as u32);
    shop.set_high(memcg, 100 * MIB);
    shop.goals.clear();
    let before = shop.events(memcg, MemcgEvent::High);
    let call = MemcgCall::OverHigh { memcg, over_high: 100, task: ChargeTask::empty() };
    shop.call(CPU, call);
    // The first with the charge's pages, then sixteen more with 32, each with an event.
    assert_eq!(shop.goals[0], 100);
    assert_eq!(shop.goals[1..], [32; 16]);
    assert_eq!(shop.events(memcg, MemcgEvent::High) - before, 17);
}

#[test]
fn the_dying_do_not_sleep() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    shop.groups.charge_replacement(memcg, 200);
    shop.set_high(memcg, 100);
    let call = MemcgCall::OverHigh { memcg, over_high: 64, task: ChargeTask::DYING };
    shop.call(CPU, call);
    assert_eq!(shop.slept, 0);
}

#[test]
fn a_charge_over_high_is_noted_by_batches() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    shop.set_high(memcg, 10);
    let charge =
        |over_high, task| MemcgCall::Charge { memcg, pages: 1, gfp: Gfp::KERNEL, task, over_high };
    let done = shop.call(CPU, charge(0, ChargeTask::empty()));
    assert_eq!(done, MemcgDone::Charged { memcg, over_high: 64, high_work: None });
    // Served by the stock: the limit is not looked at.
    let done = shop.call(CPU, charge(0, ChargeTask::empty()));
    assert_eq!(done, MemcgDone::Charged { memcg, over_high: 0, high_work: None });
    // An interrupt leaves it to a worker.
    let done = shop.call(CPU, charge(0, ChargeTask::NESTED | ChargeTask::INTERRUPT));
    assert_eq!(done, MemcgDone::Charged { memcg, over_high: 0, high_work: Some(memcg) });
}

#[test]
fn much_over_high_is_dealt_with_within_the_charge() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    shop.groups.charge_replacement(memcg, 60);
    shop.set_high(memcg, 70);
    let call = MemcgCall::Charge {
        memcg,
        pages: 65,
        gfp: Gfp::KERNEL,
        task: ChargeTask::empty(),
        over_high: 0,
    };
    let (mut running, step) = shop.groups.begin(CPU, call);
    assert_eq!(step, MemcgStep::Reclaim { memcg, goal: 65, may_swap: true });
    shop.groups.uncharge(memcg, 60);
    let reply = MemcgReply::Reclaimed { pages: 60, signal: false };
    let done = MemcgDone::Charged { memcg, over_high: 0, high_work: None };
    assert_eq!(shop.groups.go_on(&mut running, reply), MemcgStep::Done(done));
}

#[test]
fn a_write_of_high_stores_first_and_gives_up_after_seventeen() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    shop.groups.charge_replacement(memcg, 100);
    assert_eq!(shop.set_high(memcg, 40), MemcgDone::Ok);
    assert_eq!(shop.memory(memcg).high, 40);
    assert_eq!(shop.goals, [60; 17]);
}

#[test]
fn a_write_of_max_reclaims_sixteen_times_then_kills() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    assert_eq!(shop.touch(memcg, 100), 100);
    shop.goals.clear();
    assert_eq!(shop.set_max(memcg, 40), MemcgDone::Ok);
    // A drain first: the rest of the last batch goes.
    assert_eq!(shop.goals, [60; 16]);
    assert_eq!((shop.kills, shop.usage(memcg)), (1, 0));
    assert_eq!(shop.events(memcg, MemcgEvent::Oom), 1);
}

#[test]
fn memory_reclaim_asks_for_a_quarter_at_a_time() {
    let mut shop = Shop::new();
    let memcg = shop.group(MemcgId::ROOT);
    assert_eq!(shop.read(memcg, 400), 400);
    shop.goals.clear();
    let call = |pages| MemcgCall::Reclaim { memcg, pages };
    assert_eq!(shop.call(CPU, call(200)), MemcgDone::Ok);
    assert_eq!(shop.goals[..2], [50, 37]);
    assert_eq!(shop.call(CPU, call(2000)), MemcgDone::Again);
    assert_eq!(shop.cache[&memcg], 0);
}
