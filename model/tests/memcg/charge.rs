//! Counters, stocks and the charge (memcg-slub.md §1.2, §2.2 to §2.5, §8.4).

use crate::shop::{CPU, OTHER, Shop};
use mmspec_model::contract::{
    ChargeTask, MemcgCall, MemcgDone, MemcgError, MemcgReply, MemcgStep, MemoryCgroups,
};
use mmspec_model::vocab::{
    CounterKind, Gfp, MemcgEvent, MemcgId, MemcgRules, NR_MEMCG_STOCK, StockForm,
};

const ROOT: MemcgId = MemcgId::ROOT;

#[test]
fn a_charge_of_one_page_takes_a_batch() {
    // §8.4, 6.
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (64, 63));
    for _ in 0..63 {
        assert!(shop.charge(group, 1, Gfp::KERNEL));
    }
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (64, 0));
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (128, 63));
    assert_eq!(shop.usage(ROOT), 128);
}

#[test]
fn a_slot_that_overflows_is_emptied() {
    // §8.4, 7: a refill of 10 on a stock of 60.
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 4, Gfp::KERNEL));
    assert!(shop.charge(group, 10, Gfp::KERNEL) && shop.stock(CPU, group) == 50);
    shop.groups.refill(CPU, group, 10, false);
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (64, 60));
    // Four more are in use: they are what is left.
    assert!(shop.charge(group, 100, Gfp::KERNEL));
    shop.groups.refill(CPU, group, 10, false);
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (164 - 70, 0));
}

#[test]
fn exactly_a_batch_stays_in_a_slot() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 4, Gfp::KERNEL));
    shop.groups.refill(CPU, group, 4, false);
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (64, 64));
}

#[test]
fn more_than_a_batch_passes_the_stock_by() {
    // §8.4, 8.
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    assert!(shop.charge(group, 65, Gfp::KERNEL));
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (64 + 65, 63));
    shop.groups.refill(CPU, group, 65, false);
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (64, 63));
}

#[test]
fn a_batch_that_does_not_fit_becomes_the_request() {
    // §8.4, 9.
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 10);
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (1, 0));
    assert_eq!(shop.events(group, MemcgEvent::Max), 0);
    assert!(shop.charge(group, 9, Gfp::NOWAIT), "usage may reach max");
    assert!(!shop.charge(group, 1, Gfp::NOWAIT));
}

#[test]
fn a_failure_above_leaves_the_peak_of_the_attempt() {
    // §8.4, 10.
    let mut shop = Shop::new();
    let parent = shop.group(ROOT);
    let child = shop.group(parent);
    shop.set_max(child, 100);
    shop.set_max(parent, 50);
    assert!(!shop.charge(child, 60, Gfp::NOWAIT));
    let (child, parent) = (shop.memory(child), shop.memory(parent));
    assert_eq!((child.usage, child.watermark), (0, 64));
    assert_eq!((parent.usage, parent.watermark), (0, 0));
    assert_eq!(shop.goals, [0; 0], "nothing may wait");
    assert_eq!(shop.events(MemcgId(1), MemcgEvent::Max), 0);
}

#[test]
fn the_first_level_too_full_is_named_not_the_tightest() {
    let mut shop = Shop::new();
    let top = shop.group(ROOT);
    let middle = shop.group(top);
    let leaf = shop.group(middle);
    shop.set_max(middle, 20);
    shop.set_max(top, 10);
    assert!(!shop.charge(leaf, 30, Gfp::KERNEL | Gfp::NORETRY));
    assert_eq!(shop.events(middle, MemcgEvent::Max), 2);
    assert_eq!(shop.groups.memcg_state(middle).local[MemcgEvent::Max as usize], 2);
    // Passed up, but not its own.
    assert_eq!(shop.groups.memcg_state(top).local[MemcgEvent::Max as usize], 0);
    assert_eq!(shop.events(top, MemcgEvent::Max), 2);
    assert_eq!(shop.events(ROOT, MemcgEvent::Max), 0);
}

#[test]
fn atomic_requests_go_over_the_limit() {
    // §8.4, 11.
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 8);
    assert!(shop.charge(group, 8, Gfp::KERNEL));
    assert!(shop.charge(group, 1, Gfp::ATOMIC));
    assert_eq!(shop.usage(group), 9);
    assert_eq!(shop.events(group, MemcgEvent::Max), 1);
    assert!(!shop.charge(group, 1, Gfp::NOWAIT));
    assert_eq!(shop.events(group, MemcgEvent::Max), 1, "no event without reclaim");
}

#[test]
fn a_reclaimer_is_forced_with_one_event() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 8);
    assert!(shop.charge(group, 8, Gfp::KERNEL));
    assert!(shop.charge_by(group, 1, Gfp::KERNEL, ChargeTask::MEMALLOC));
    assert_eq!((shop.usage(group), shop.events(group, MemcgEvent::Max)), (9, 1));
}

#[test]
fn noretry_reclaims_twice_and_never_kills() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 8);
    assert_eq!(shop.touch(group, 8), 8);
    assert!(!shop.charge(group, 1, Gfp::KERNEL | Gfp::NORETRY));
    assert_eq!(shop.goals, [32, 32]);
    assert_eq!((shop.events(group, MemcgEvent::Max), shop.events(group, MemcgEvent::Oom)), (2, 0));
}

#[test]
fn retry_mayfail_tries_sixteen_times_more_and_never_kills() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 8);
    assert_eq!(shop.touch(group, 8), 8);
    assert!(!shop.charge(group, 1, Gfp::KERNEL | Gfp::RETRY_MAYFAIL));
    // One, one after the drain, sixteen retries.
    assert_eq!(shop.goals.len(), 18);
    assert_eq!((shop.kills, shop.events(group, MemcgEvent::Oom)), (0, 0));
}

#[test]
fn kernel_requests_kill_and_go_on() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 8);
    assert_eq!(shop.touch(group, 8), 8);
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    assert_eq!((shop.kills, shop.usage(group)), (1, 1));
    assert_eq!(shop.events(group, MemcgEvent::Oom), 1);
    assert_eq!(shop.events(group, MemcgEvent::OomKill), 1);
}

#[test]
fn large_requests_are_no_reason_to_kill() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 16);
    assert_eq!(shop.touch(group, 16), 16);
    assert!(!shop.charge(group, 9, Gfp::KERNEL));
    assert_eq!((shop.kills, shop.events(group, MemcgEvent::Oom)), (0, 0));
    assert!(shop.charge(group, 9, Gfp::KERNEL | Gfp::NOFAIL), "NOFAIL goes over the limit");
    assert_eq!(shop.usage(group), 25);
}

#[test]
fn a_dying_task_that_killed_gives_up() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    shop.set_max(group, 4);
    assert_eq!(shop.touch(group, 4), 4);
    let (gfp, task) = (Gfp::KERNEL, ChargeTask::DYING);
    let call = MemcgCall::Charge { memcg: group, pages: 1, gfp, task, over_high: 0 };
    let (mut running, mut step) = shop.groups.begin(CPU, call);
    let mut kills = 0;
    let done = loop {
        let reply = match step {
            MemcgStep::Reclaim { .. } => MemcgReply::Reclaimed { pages: 0, signal: false },
            MemcgStep::Oom { .. } => {
                kills += 1;
                // The victim has not let go of anything yet.
                MemcgReply::Oom(mmspec_model::contract::OomOutcome::Killed)
            }
            MemcgStep::Sleep { .. } => MemcgReply::Slept,
            MemcgStep::Done(done) => break done,
        };
        step = shop.groups.go_on(&mut running, reply);
    };
    assert_eq!((kills, done), (1, MemcgDone::NoMemory { over_high: 0 }));
    assert_eq!(shop.usage(group), 4, "bug M11: the dying went over every limit");
}

#[test]
fn the_whole_request_is_what_is_reclaimed() {
    // Bug M1: with the loop of 3.18 a huge page can never be charged.
    for (rules, charged) in [(MemcgRules::LINUX_3_18, false), (MemcgRules::LINUX_3_19, true)] {
        let mut shop = Shop::under(rules);
        let group = shop.group(ROOT);
        shop.set_max(group, 1000);
        assert_eq!(shop.read(group, 1000), 1000);
        let gfp = Gfp::TRANSHUGE | Gfp::NORETRY;
        assert_eq!(shop.charge(group, 512, gfp), charged, "{rules:?}");
    }
}

#[test]
fn charges_of_the_root_change_nothing() {
    let mut shop = Shop::new();
    assert!(shop.charge(ROOT, 5, Gfp::KERNEL));
    assert_eq!(shop.usage(ROOT), 0);
}

#[test]
fn eight_groups_share_seven_slots() {
    let mut shop = Shop::new();
    let groups: Vec<MemcgId> = (0..=NR_MEMCG_STOCK).map(|_| shop.group(ROOT)).collect();
    for group in &groups {
        assert!(shop.charge(*group, 1, Gfp::KERNEL));
    }
    // The eighth took the first's slot.
    assert_eq!((shop.usage(groups[0]), shop.stock(CPU, groups[0])), (1, 0));
    assert_eq!((shop.usage(groups[7]), shop.stock(CPU, groups[7])), (64, 63));
    assert_eq!((shop.usage(groups[1]), shop.stock(CPU, groups[1])), (64, 63));
}

#[test]
fn one_slot_serves_one_group() {
    let mut shop = Shop::under(MemcgRules::LINUX_6_12);
    assert_eq!(shop.groups.memcg_rules().stock, StockForm::Single);
    let (one, two) = (shop.group(ROOT), shop.group(ROOT));
    assert!(shop.charge(one, 1, Gfp::KERNEL) && shop.charge(two, 1, Gfp::KERNEL));
    assert_eq!((shop.usage(one), shop.usage(two)), (1, 64));
}

#[test]
fn who_interrupts_the_stock_passes_it_by() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    assert!(shop.charge_by(group, 1, Gfp::ATOMIC, ChargeTask::NESTED));
    assert_eq!((shop.usage(group), shop.stock(CPU, group)), (65, 63));
}

#[test]
fn a_drain_empties_this_cpu_and_asks_the_others() {
    let mut shop = Shop::new();
    let (group, other) = (shop.group(ROOT), shop.group(ROOT));
    assert!(shop.charge(group, 1, Gfp::KERNEL) && shop.charge(other, 1, Gfp::KERNEL));
    let call = MemcgCall::Charge {
        memcg: group,
        pages: 1,
        gfp: Gfp::KERNEL,
        task: ChargeTask::empty(),
        over_high: 0,
    };
    assert!(matches!(shop.call(OTHER, call), MemcgDone::Charged { .. }));
    shop.groups.drain_all_stock(CPU, group);
    // All slots of a CPU that has one of them.
    assert_eq!((shop.stock(CPU, group), shop.stock(CPU, other)), (0, 0));
    assert_eq!((shop.usage(group), shop.usage(other)), (65, 1));
    assert!(shop.groups.stock_state(OTHER).flushing);
    assert!(shop.groups.run_stock_work(OTHER) && !shop.groups.run_stock_work(OTHER));
    assert_eq!(shop.usage(group), 2);
}

#[test]
fn a_limit_below_usage_is_refused_by_v1_and_taken_by_v2() {
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 65, Gfp::KERNEL));
    let memory = CounterKind::Memory;
    assert_eq!(shop.groups.set_max_v1(group, memory, 64), Err(MemcgError::Busy));
    assert_eq!(shop.groups.set_max_v1(group, memory, 65), Ok(()));
    let call = MemcgCall::WriteMax { memcg: group, pages: 10, nonblock: true };
    assert_eq!(shop.call(CPU, call), MemcgDone::Ok);
    assert_eq!(shop.memory(group).max, 10);
}

#[test]
fn max_lowered_to_0_drains_what_is_only_stock() {
    // §8.4, 12.
    let mut shop = Shop::new();
    let group = shop.group(ROOT);
    assert!(shop.charge(group, 1, Gfp::KERNEL));
    shop.groups.uncharge(group, 1);
    assert_eq!(shop.usage(group), 63);
    assert_eq!(shop.set_max(group, 0), MemcgDone::Ok);
    assert_eq!((shop.usage(group), shop.goals.len()), (0, 0));
    assert_eq!(shop.events(group, MemcgEvent::Oom), 0);
}

#[test]
fn swap_is_charged_to_the_nearest_group_online() {
    let mut shop = Shop::new();
    let parent = shop.group(ROOT);
    let child = shop.group(parent);
    shop.groups.offline(CPU, child).unwrap();
    assert_eq!(shop.groups.charge_swap(child, 3), Ok(parent));
    assert_eq!(shop.groups.memcg_state(parent).swap.usage, 3);
    shop.groups.set_max_v1(parent, CounterKind::Swap, 4).unwrap();
    assert_eq!(shop.groups.charge_swap(parent, 2), Err(MemcgError::Limit(parent)));
    // Bug M22: whoever was charged is who is uncharged.
    shop.groups.uncharge_swap(parent, 3);
    assert_eq!(shop.groups.memcg_state(parent).swap.usage, 0);
}
