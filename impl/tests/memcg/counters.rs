//! page_counter (§1), seen through charges of whole requests: a nested task finds no stock.

use crate::bench::*;
use mmspec_model::{
    contract::{ChargeTask, MemcgError},
    vocab::{CounterKind, Gfp, MemcgId, PAGE_COUNTER_MAX},
};

/// A charge of just so many pages: no stock, and no batch since nothing may be reclaimed.
fn exact(groups: &mmspec_impl::memcg::OwnedMemcg, memcg: MemcgId, pages: u32) -> bool {
    let call = charge_as(memcg, pages, Gfp::empty(), ChargeTask::NESTED);
    groups.now(CPU0, call) == charged(memcg)
}

#[test]
fn a_limit_is_met_exactly_and_never_passed() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 10);
    assert!(exact(&groups, memcg, 10), "new == max succeeds");
    assert!(!exact(&groups, memcg, 1));
    assert_eq!(groups.memory(memcg).failcnt, 1);
    groups.limit(memcg, 4);
    for _ in 0..7 {
        groups.uncharge(memcg, 1);
    }
    assert!(exact(&groups, memcg, 1) && !exact(&groups, memcg, 1));
    assert_eq!((groups.usage(memcg), groups.usage(ROOT)), (4, 4));
}

#[test]
fn the_first_violated_level_stops_and_lower_peaks_stay_raised() {
    let groups = groups();
    let top = groups.create(ROOT).unwrap();
    let middle = groups.create(top).unwrap();
    let leaf = groups.create(middle).unwrap();
    groups.limit(middle, 20);
    groups.limit(top, 10);
    assert!(!exact(&groups, leaf, 30));
    let failcnt = |memcg| groups.memory(memcg).failcnt;
    assert_eq!([leaf, middle, top].map(failcnt), [0, 1, 0], "not the tightest one");
    let peak = |memcg| groups.memory(memcg).watermark;
    assert_eq!([leaf, middle, top, ROOT].map(peak), [30, 0, 0, 0]);
    let usage = |memcg| groups.usage(memcg);
    assert_eq!([leaf, middle, top, ROOT].map(usage), [0; 4]);
}

/// Oracle 10 of §8.4.
#[test]
fn a_failed_batch_leaves_its_mark_in_the_childs_peak_alone() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.limit(child, 100);
    groups.limit(parent, 50);
    assert_eq!(groups.now(CPU0, charge(child, 60, Gfp::NOWAIT)), no_memory());
    assert_eq!((groups.usage(child), groups.usage(parent)), (0, 0));
    assert_eq!((groups.memory(child).watermark, groups.memory(parent).watermark), (64, 0));
    assert_eq!(groups.look(parent).events, [0; 6]);
}

#[test]
fn usage_below_zero_is_zero() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.set_min(memcg, 5).unwrap();
    assert!(exact(&groups, memcg, 3));
    groups.uncharge(memcg, 8);
    assert_eq!((groups.usage(memcg), groups.usage(ROOT)), (0, 0));
    assert_eq!(groups.memory(memcg).min_usage, 0);
    assert_eq!(groups.look(memcg).references, 0);
}

#[test]
fn set_max_v1_never_goes_below_usage() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    assert!(exact(&groups, memcg, 10));
    let set = |pages| groups.set_max_v1(memcg, CounterKind::Memory, pages);
    assert_eq!(set(9), Err(MemcgError::Busy));
    assert_eq!(groups.memory(memcg).max, PAGE_COUNTER_MAX);
    assert_eq!(set(10), Ok(()));
    assert_eq!(set(u64::MAX), Ok(()));
    assert_eq!(groups.memory(memcg).max, PAGE_COUNTER_MAX);
    assert_eq!(groups.set_max_v1(ROOT, CounterKind::Memory, 1), Err(MemcgError::Root));
    assert_eq!(groups.set_max_v1(MemcgId(9), CounterKind::Swap, 1), Err(MemcgError::NoGroup));
}

/// §1.3, and bug M7: usage above the setting contributes the setting.
#[test]
fn protection_in_use_is_told_to_the_parent() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let [a, b] = [(); 2].map(|()| groups.create(parent).unwrap());
    groups.set_low(a, 10).unwrap();
    groups.set_low(b, 10).unwrap();
    groups.set_min(b, 3).unwrap();
    assert!(exact(&groups, a, 11) && exact(&groups, b, 5));
    let seen = groups.memory(parent);
    assert_eq!((seen.children_low_usage, seen.children_min_usage), (15, 3));
    assert_eq!((groups.memory(a).low_usage, groups.memory(b).low_usage), (10, 5));
    groups.uncharge(b, 3);
    groups.set_low(a, 4).unwrap();
    let seen = groups.memory(parent);
    assert_eq!((seen.children_low_usage, seen.children_min_usage), (6, 2));
    groups.offline(CPU0, a).unwrap();
    assert_eq!(groups.memory(parent).children_low_usage, 2, "a removed group claims nothing");
}

/// §1.6, and what one handle's reset loses for another.
#[test]
fn handles_of_the_peak_show_what_the_kernels_do() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    let [global, a, b] = [(); 3].map(|()| groups.open_peak(memcg));
    assert_eq!([global, a, b], [0, 1, 2]);
    assert!(exact(&groups, memcg, 200));
    groups.uncharge(memcg, 190);
    assert_eq!([global, a, b].map(|handle| groups.read_peak(handle)), [200; 3]);
    groups.reset_peak(a);
    assert_eq!([global, a, b].map(|handle| groups.read_peak(handle)), [200, 10, 200]);
    assert!(exact(&groups, memcg, 90));
    groups.uncharge(memcg, 50);
    assert_eq!(groups.read_peak(a), 100);
    groups.reset_peak(b);
    assert_eq!([global, a, b].map(|handle| groups.read_peak(handle)), [200, 50, 50]);
    groups.close_peak(a);
    assert_eq!((groups.read_peak(a), groups.open_peak(memcg)), (0, a));
    let full = [(); 2].map(|()| groups.open_peak(memcg));
    assert_eq!(full, [3, u32::MAX]);
    let seen = groups.memory(memcg);
    assert!(seen.local_watermark <= seen.watermark);
}
