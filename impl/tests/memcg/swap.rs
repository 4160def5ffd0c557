//! Swap entries (§2.11).

use crate::bench::*;
use mmspec_model::{
    contract::MemcgError,
    vocab::{CounterKind, MemcgId},
};

#[test]
fn entries_go_to_the_nearest_online_group_and_come_back_from_it() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    let swap = |memcg| groups.look(memcg).swap.usage;
    assert_eq!(groups.charge_swap(child, 3), Ok(child));
    groups.offline(CPU0, child).unwrap();
    // Bugs M21 and M22: whom it charges is whom it says.
    assert_eq!(groups.charge_swap(child, 4), Ok(parent));
    assert_eq!((swap(child), swap(parent), swap(ROOT)), (3, 7, 7));
    assert_eq!((groups.look(child).references, groups.look(parent).references), (3, 5));
    groups.uncharge_swap(parent, 4);
    groups.uncharge_swap(child, 3);
    assert_eq!((swap(child), swap(parent), swap(ROOT)), (0, 0, 0));
    assert_eq!((groups.look(child).references, groups.look(parent).references), (0, 0));
    groups.offline(CPU0, parent).unwrap();
    assert_eq!(groups.charge_swap(child, 1), Ok(ROOT));
    groups.uncharge_swap(ROOT, 1);
    assert_eq!(swap(ROOT), 0);
    assert_eq!(groups.charge_swap(MemcgId(9), 1), Err(MemcgError::NoGroup));
}

#[test]
fn a_full_level_says_so() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.set_max_v1(parent, CounterKind::Swap, 5).unwrap();
    assert_eq!(groups.charge_swap(child, 5), Ok(child));
    assert_eq!(groups.charge_swap(child, 1), Err(MemcgError::Limit(parent)));
    assert_eq!(groups.look(child).swap.usage, 5);
    // memory.swap.max goes below usage.
    groups.set_swap_max(child, 0).unwrap();
    assert_eq!(groups.charge_swap(child, 1), Err(MemcgError::Limit(child)));
    // No protection in it.
    assert_eq!(groups.look(parent).swap.children_min_usage, 0);
}
