//! Effective protection (memcg-slub.md §1.3, §3).

use crate::shop::Shop;
use mmspec_model::contract::MemoryCgroups;
use mmspec_model::vocab::{MemcgId, MemcgRules, PAGE_COUNTER_MAX};

/// A reclaim root, a group with `low` = `of`, and children of it with (usage, low).
fn family(recursive: bool, of: u64, children: &[(u32, u64)]) -> (Shop, MemcgId, Vec<MemcgId>) {
    let rules = MemcgRules { recursive_protection: recursive, ..MemcgRules::LINUX_6_17 };
    let mut shop = Shop::under(rules);
    let group = shop.group(MemcgId::ROOT);
    shop.groups.set_low(group, of).unwrap();
    let ids = children
        .iter()
        .map(|(usage, low)| {
            let child = shop.group(group);
            shop.groups.charge_replacement(child, *usage);
            shop.groups.set_low(child, *low).unwrap();
            child
        })
        .collect();
    (shop, group, ids)
}

fn effective(recursive: bool, of: u64, children: &[(u32, u64)]) -> Vec<u64> {
    let (mut shop, group, ids) = family(recursive, of, children);
    shop.groups.protection(MemcgId::ROOT, group);
    ids.iter().map(|child| shop.groups.protection(MemcgId::ROOT, *child).1).collect()
}

#[test]
fn examples_of_the_sheet() {
    let first = [(50, 75), (50, 25), (50, 0), (0, 500)];
    assert_eq!(effective(false, 50, &first), [33, 16, 0, 0]);
    assert_eq!(effective(false, 50, &[(100, 30), (100, 0)]), [30, 0]);
    assert_eq!(effective(true, 50, &[(100, 30), (100, 0)]), [38, 11]);
    assert_eq!(effective(true, 80, &[(100, 0), (50, 0), (50, 0)]), [40, 20, 20]);
    assert_eq!(effective(true, 50, &[(10, 40), (100, 0)]), [10, 40]);
}

#[test]
fn a_setting_of_max_does_not_overflow() {
    let shares = effective(true, PAGE_COUNTER_MAX, &[(1 << 30, 0), (1 << 30, 0)]);
    assert_eq!(shares, [PAGE_COUNTER_MAX / 2; 2]);
}

#[test]
fn a_child_counts_for_its_parent_up_to_its_setting() {
    // Bug M7: usage above the setting counted as nothing.
    let (shop, group, children) = family(false, 10, &[(11, 10), (5, 10)]);
    assert_eq!(shop.memory(group).children_low_usage, 15);
    assert_eq!(shop.memory(children[0]).low_usage, 10);
    assert_eq!(effective(false, 10, &[(11, 10), (5, 10)]), [6, 3]);
}

#[test]
fn the_target_of_a_reclaim_is_not_protected() {
    // Bug M8: what an earlier reclaim from the root computed was used again.
    let (mut shop, group, _) = family(false, 10, &[(20, 0)]);
    assert_eq!(shop.groups.protection(MemcgId::ROOT, group), (0, 10));
    assert_eq!(shop.groups.protection(group, group), (0, 0));
}

#[test]
fn a_removed_group_claims_nothing() {
    let (mut shop, group, children) = family(false, 10, &[(20, 8)]);
    assert_eq!(shop.memory(group).children_low_usage, 8);
    shop.groups.offline(mmspec_model::vocab::CpuId(0), children[0]).unwrap();
    assert_eq!(shop.memory(group).children_low_usage, 0);
}
