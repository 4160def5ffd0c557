//! The kernel's own tests of memory cgroups, on pages (memcg-slub.md §8.1).

use crate::shop::{CPU, Shop};
use mmspec_model::contract::{MemcgCall, MemcgDone, MemoryCgroups};
use mmspec_model::vocab::{CounterKind, MemcgEvent, MemcgId};

const MIB: u64 = 256;

/// |a - b| <= (a + b) / 100 * percent.
fn close(a: u64, b: u64, percent: u64) -> bool {
    a.abs_diff(b) <= (a + b) / 100 * percent
}

/// test_memcg_min and test_memcg_low: A, B below it with protection, four children, and G beside B.
fn protection(low: bool) {
    let mut shop = Shop::new();
    let a = shop.group(MemcgId::ROOT);
    shop.set_max(a, 200 * MIB);
    let b = shop.group(a);
    let set = |shop: &mut Shop, memcg, pages| {
        let done = match low {
            true => shop.groups.set_low(memcg, pages),
            false => shop.groups.set_min(memcg, pages),
        };
        done.unwrap();
    };
    set(&mut shop, b, 50 * MIB);
    let children: Vec<MemcgId> = [75, 25, 0, 500]
        .into_iter()
        .map(|setting| {
            let child = shop.group(b);
            set(&mut shop, child, setting * MIB);
            child
        })
        .collect();
    for child in &children[..3] {
        assert_eq!(shop.read(*child, 50 * MIB), 50 * MIB);
    }
    let g = shop.group(a);
    assert_eq!(shop.touch(g, 148 * MIB), 148 * MIB);
    assert!(close(shop.usage(b), 50 * MIB, 3), "{} of B", shop.usage(b) / MIB);
    let usage: Vec<u64> = children.iter().map(|child| shop.usage(*child)).collect();
    assert!(close(usage[0], 29 * MIB, 15), "{usage:?}");
    assert!(close(usage[1], 21 * MIB, 20), "{usage:?}");
    assert_eq!(usage[3], 0);
    let more = shop.touch(g, 22 * MIB);
    if low {
        assert_eq!((more, shop.kills), (22 * MIB, 0));
        assert!(close(shop.usage(b), 30 * MIB, 5), "{} of B", shop.usage(b) / MIB);
        let lows: Vec<u64> =
            children.iter().map(|child| shop.events(*child, MemcgEvent::Low)).collect();
        assert!(lows[0] > 0 && lows[1] > 0 && lows[3] == 0, "{lows:?}");
    } else {
        assert!(more < 22 * MIB && shop.kills == 1);
        assert!(close(shop.usage(b), 50 * MIB, 3), "{} of B", shop.usage(b) / MIB);
    }
}

#[test]
fn min() {
    protection(false);
}

#[test]
fn low() {
    protection(true);
}

#[test]
fn high() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    shop.set_high(group, 30 * MIB);
    for _ in 0..50 * MIB {
        let mut charged = MemcgCall::Charge {
            memcg: group,
            pages: 1,
            gfp: mmspec_model::vocab::Gfp::KERNEL,
            task: mmspec_model::contract::ChargeTask::empty(),
            over_high: 0,
        };
        let done = shop.call(CPU, charged);
        *shop.cache.entry(group).or_default() += 1;
        if let MemcgDone::Charged { over_high, .. } = done
            && over_high > 0
        {
            let task = mmspec_model::contract::ChargeTask::empty();
            charged = MemcgCall::OverHigh { memcg: group, over_high, task };
            shop.call(CPU, charged);
        }
    }
    assert!(close(shop.usage(group), 30 * MIB, 5));
    assert!(shop.events(group, MemcgEvent::High) > 0);
    assert_eq!(shop.events(group, MemcgEvent::Max), 0);
}

#[test]
fn max_and_oom_events() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    shop.set_max(group, 30 * MIB);
    assert_eq!(shop.read(group, 50 * MIB), 50 * MIB);
    assert!(close(shop.usage(group), 30 * MIB, 5) && shop.usage(group) <= 30 * MIB);
    assert!(shop.events(group, MemcgEvent::Max) > 0);

    let group = shop.group(MemcgId::ROOT);
    shop.set_max(group, 30 * MIB);
    assert!(shop.touch(group, 100 * MIB) < 100 * MIB);
    assert_eq!(shop.events(group, MemcgEvent::Oom), 1);
    assert_eq!(shop.events(group, MemcgEvent::OomKill), 1);
    shop.groups.drain_all_stock(CPU, group);
    assert_eq!(shop.usage(group), 0);
}

#[test]
fn current_and_peak() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    let handles: Vec<u32> = (0..4).map(|_| shop.groups.open_peak(group)).collect();
    assert_eq!(shop.groups.read_peak(handles[0]), 0);
    assert_eq!(shop.touch(group, 50 * MIB), 50 * MIB);
    assert!(close(shop.usage(group), 50 * MIB, 3));
    shop.groups.uncharge(group, (50 * MIB) as u32);
    for handle in &handles[..2] {
        shop.groups.reset_peak(*handle);
    }
    assert!(handles[..2].iter().all(|handle| shop.groups.read_peak(*handle) <= 30 * MIB));
    assert!(handles[2..].iter().all(|handle| shop.groups.read_peak(*handle) >= 50 * MIB));
    assert_eq!(shop.read(group, 50 * MIB), 50 * MIB);
    assert!(handles.iter().all(|handle| shop.groups.read_peak(*handle) >= 50 * MIB));
    shop.groups.close_peak(handles[1]);
    shop.groups.close_peak(handles[0]);
    assert!(shop.groups.read_peak(handles[2]) >= 50 * MIB);
}

#[test]
fn a_peak_between_two_resets_is_lost_as_in_the_kernel() {
    // §1.6, a remark of the sheet: A resets at 10, usage goes to 100 and back to 50, B resets.
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    let (a, b) = (shop.groups.open_peak(group), shop.groups.open_peak(group));
    shop.groups.charge_replacement(group, 10);
    shop.groups.reset_peak(a);
    shop.groups.charge_replacement(group, 90);
    shop.groups.uncharge(group, 50);
    assert_eq!(shop.groups.read_peak(a), 100);
    shop.groups.reset_peak(b);
    assert_eq!(shop.groups.read_peak(a), 50);
}

#[test]
fn swap_has_a_limit_of_its_own() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    shop.groups.set_max_v1(group, CounterKind::Swap, 30 * MIB).unwrap();
    let mut swapped = 0;
    while shop.groups.charge_swap(group, 1).is_ok() {
        swapped += 1;
    }
    assert_eq!(swapped, 30 * MIB);
    assert_eq!(shop.groups.memcg_state(group).swap.watermark, 30 * MIB);
}

#[test]
fn deleted_groups_leave_nothing_unaccounted() {
    // test_kmem's memcg_deletion: current of the parent is what is in use and what stocks hold.
    let mut shop = Shop::new();
    let parent = shop.group(MemcgId::ROOT);
    for _ in 0..100 {
        let child = shop.group(parent);
        assert_eq!(shop.read(child, 10), 10);
        shop.groups.uncharge(child, 10);
        shop.groups.offline(CPU, child).unwrap();
        assert_eq!(shop.groups.memcg_state(child).references, 0);
    }
    assert_eq!(shop.usage(parent), 0);
}
