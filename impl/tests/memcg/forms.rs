//! The charge of 2014, before and after its change (§2.14; bug M1; published result (b) at the level of one charge).

use crate::bench::*;
use mmspec_model::{
    contract::{ChargeTask, MemcgStep},
    vocab::{ChargeReclaim, Gfp, MemcgEvent, MemcgRules},
};

/// The flags of a fault of a huge page then.
const THP: Gfp = Gfp::TRANSHUGE.union(Gfp::NORETRY);

/// 1000 pages used of 1000, all reclaimable; a huge page is charged. Whether it was, and what was reclaimed for it.
fn huge_page(rules: MemcgRules) -> (MemcgStep, u64) {
    let groups = with_rules(rules);
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 1000);
    groups.now(CPU0, charge(memcg, 1000, Gfp::KERNEL));
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 512, THP));
    let mut freed = 0;
    while let MemcgStep::Reclaim { goal, .. } = step {
        let pages = goal.max(32).min(groups.usage(memcg));
        groups.uncharge(memcg, pages as u32);
        freed += pages;
        step = groups.go_on(&mut running, reclaimed(pages));
    }
    (step, freed)
}

#[test]
fn a_single_free_page_ended_reclaim_for_a_huge_page() {
    let charged = charged(mmspec_model::vocab::MemcgId(1));
    assert_eq!(huge_page(MemcgRules::LINUX_3_18), (no_memory(), 32));
    assert_eq!(huge_page(MemcgRules::LINUX_3_19), (charged, 512));
    assert_eq!(huge_page(MemcgRules::LINUX_6_17), (charged, 512));
}

#[test]
fn rounds_end_after_two_without_a_page_or_a_hundred() {
    let groups = with_rules(MemcgRules::LINUX_3_18);
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 10);
    groups.now(CPU0, charge(memcg, 10, Gfp::KERNEL));
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 1, Gfp::KERNEL));
    let mut asked = 0;
    while step == reclaim(memcg, 32) {
        step = groups.go_on(&mut running, reclaimed(0));
        asked += 1;
    }
    // 5 retries: 6 times 2 rounds, then a kill, and the charge fails whatever comes of it.
    assert_eq!((asked, step), (12, MemcgStep::Oom { memcg, order: 0 }));
    assert_eq!(groups.go_on(&mut running, KILLED), no_memory());
    assert_eq!(groups.events(memcg, MemcgEvent::Oom), 1);
    // A page at a time that others take at once: 100 rounds, and NORETRY fails then.
    let (mut running, mut step) = groups.begin(CPU0, charge(memcg, 1, Gfp::KERNEL | Gfp::NORETRY));
    let mut asked = 0;
    while step == reclaim(memcg, 32) {
        step = groups.go_on(&mut running, reclaimed(1));
        asked += 1;
    }
    assert_eq!((asked, step), (100, no_memory()));
}

#[test]
fn who_may_not_fail_was_charged_to_the_root() {
    for rules in [MemcgRules::LINUX_3_18, MemcgRules::LINUX_3_19] {
        let groups = with_rules(rules);
        let memcg = groups.create(ROOT).unwrap();
        groups.limit(memcg, 0);
        let dying = charge_as(memcg, 1, Gfp::KERNEL, ChargeTask::DYING);
        assert_eq!(groups.now(CPU0, dying), charged(ROOT));
        let atomic = charge(memcg, 1, Gfp::ATOMIC);
        assert_eq!(groups.now(CPU0, atomic), no_memory());
        let (mut running, mut step) =
            groups.begin(CPU0, charge(memcg, 1, Gfp::KERNEL | Gfp::NOFAIL));
        while let MemcgStep::Reclaim { .. } = step {
            step = groups.go_on(&mut running, reclaimed(0));
        }
        assert_eq!((step, groups.usage(ROOT)), (charged(ROOT), 0));
        assert_eq!(groups.events(memcg, MemcgEvent::Oom), 0);
    }
}

#[test]
fn the_change_of_2014_alone_on_todays_rules() {
    let rules = MemcgRules { reclaim: ChargeReclaim::UntilOnePage, ..MemcgRules::LINUX_6_17 };
    assert_eq!(huge_page(rules), (no_memory(), 32));
    // A batch of 32 then.
    let groups = with_rules(MemcgRules::LINUX_3_18);
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL));
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (32, (1, 31)));
}
