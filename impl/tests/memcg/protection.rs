//! Effective protection (§3), through groups; oracle 3 of §8.4.

use crate::bench::*;
use mmspec_model::vocab::{Gfp, MemcgId, MemcgRules, PAGE_COUNTER_MAX};

/// A parent with protection `effective`, whose children have (usage, memory.low): what each gets by a reclaim from
/// the root.
fn effective<const N: usize>(
    children: [(u32, u64); N],
    effective: u64,
    recursive_protection: bool,
) -> [u64; N] {
    let groups = with_rules(MemcgRules { recursive_protection, ..MemcgRules::LINUX_6_17 });
    let parent = groups.create(ROOT).unwrap();
    groups.set_low(parent, effective).unwrap();
    let made = children.map(|(usage, low)| {
        let memcg = groups.create(parent).unwrap();
        groups.set_low(memcg, low).unwrap();
        groups.now(CPU0, charge(memcg, usage, Gfp::NOWARN));
        memcg
    });
    assert_eq!(groups.protection(ROOT, parent), (0, effective));
    made.map(|memcg| groups.protection(ROOT, memcg).1)
}

#[test]
fn protection_is_shared_out() {
    let first = [(50, 75), (50, 25), (50, 0), (0, 500)];
    assert_eq!(effective(first, 50, false), [33, 16, 0, 0]);
    assert_eq!(effective(first, 50, true), [33, 16, 0, 0]);
    assert_eq!(effective([(100, 30), (100, 0)], 50, false), [30, 0]);
    assert_eq!(effective([(100, 30), (100, 0)], 50, true), [38, 11]);
    assert_eq!(effective([(100, 0), (50, 0), (50, 0)], 80, true), [40, 20, 20]);
    assert_eq!(effective([(10, 40), (100, 0)], 50, true), [10, 40]);
    // Above usage as it is: only its own children share by what they use.
    let most = effective([(100, 0), (100, 0)], PAGE_COUNTER_MAX, true);
    assert_eq!(most, [PAGE_COUNTER_MAX / 2; 2]);
}

/// "Reclaim each in proportion to what is not protected until the sum is 50" (§3): about 29 and 21.
#[test]
fn reclaim_by_shares_comes_to_the_selftests_numbers() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    groups.set_low(parent, 50 * MIB).unwrap();
    let children = [75, 25, 0].map(|low| {
        let memcg = groups.create(parent).unwrap();
        groups.set_low(memcg, low * MIB).unwrap();
        groups.now(CPU0, charge(memcg, 50 * MIB as u32, Gfp::NOWARN));
        memcg
    });
    while groups.usage(parent) > 50 * MIB {
        groups.protection(ROOT, parent);
        let open = children.map(|memcg| {
            let usage = groups.usage(memcg);
            usage - groups.protection(ROOT, memcg).1.min(usage)
        });
        for (memcg, open) in children.into_iter().zip(open) {
            let step = open.div_ceil(100).min(groups.usage(parent) - 50 * MIB);
            groups.uncharge(memcg, step as u32);
        }
        if open == [0; 3] {
            break;
        }
    }
    let usage = children.map(|memcg| groups.usage(memcg));
    let close = |pages: u64, mib: u64| pages.abs_diff(mib * MIB) <= 3 * MIB / 2;
    assert!(close(usage[0], 29) && close(usage[1], 21) && usage[2] <= MIB, "{usage:?}");
}

/// Bug M8: what an earlier reclaim left is not the target's.
#[test]
fn the_target_of_a_reclaim_has_none() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.set_min(parent, 40).unwrap();
    groups.set_min(child, 30).unwrap();
    groups.now(CPU0, charge(child, 50, Gfp::NOWARN));
    assert_eq!(groups.protection(ROOT, parent), (40, 0));
    assert_eq!(groups.protection(ROOT, child).0, 40, "30 of its own, 10 that nobody claims");
    assert_eq!(groups.protection(parent, parent), (0, 0));
    assert_eq!(groups.protection(parent, child), (30, 0), "raw below the target");
    assert_eq!(groups.protection(child, child), (0, 0));
    assert_eq!(groups.protection(ROOT, ROOT), (0, 0));
    // An empty group keeps what it has.
    groups.uncharge(child, 50);
    groups.set_min(child, 7).unwrap();
    assert_eq!(groups.protection(parent, child), (30, 0));
    assert_eq!(groups.protection(ROOT, MemcgId(9)), (0, 0));
}
