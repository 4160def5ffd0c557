//! mkdir, rmdir and what keeps a removed group (§2.12).

use crate::bench::*;
use mmspec_impl::{
    Borrowed,
    memcg::{GroupSlot, Memcg, MemcgStorage, OwnedMemcg, PeakSlot, StockCpuSlot},
    platform::SpinPlatform,
};
use mmspec_model::{
    contract::{MemcgCall, MemcgDone, MemcgError, MemcgStep},
    vocab::{Gfp, MemcgId, MemcgRules},
};

#[test]
fn ids_count_up_and_run_out() {
    let groups: OwnedMemcg = OwnedMemcg::new(1, 3, 0, MemcgRules::default());
    let a = groups.create(ROOT).unwrap();
    let b = groups.create(a).unwrap();
    assert_eq!((a, b, groups.count()), (MemcgId(1), MemcgId(2), 3));
    assert_eq!(groups.offline(CPU0, a), Err(MemcgError::Busy));
    assert_eq!(groups.offline(CPU0, ROOT), Err(MemcgError::Root));
    assert_eq!(groups.offline(CPU0, b), Ok(()));
    assert_eq!(groups.offline(CPU0, b), Err(MemcgError::NoGroup));
    assert_eq!(groups.create(b), Err(MemcgError::NoGroup));
    assert_eq!(groups.create(ROOT), Err(MemcgError::TooMany));
    assert_eq!((groups.look(ROOT).references, groups.look(a).references), (1, 0));
}

#[test]
fn a_removed_group_stays_for_its_folios_and_keeps_its_parents() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.now(CPU0, charge(child, 3, Gfp::KERNEL));
    groups.offline(CPU0, child).unwrap();
    groups.offline(CPU0, parent).unwrap();
    let seen = groups.look(child);
    assert_eq!((seen.online, seen.references, seen.memory.usage), (false, 3, 3), "stock drained");
    assert_eq!((groups.look(parent).references, groups.look(ROOT).references), (1, 1));
    let no_group = MemcgStep::Done(MemcgDone::NoGroup);
    assert_eq!(groups.now(CPU0, charge(child, 1, Gfp::KERNEL)), no_group);
    groups.uncharge(child, 3);
    let references = |memcg| groups.look(memcg).references;
    assert_eq!([child, parent, ROOT].map(references), [0, 0, 0]);
    assert_eq!([child, parent, ROOT].map(|memcg| groups.usage(memcg)), [0; 3]);
}

/// No counter is moved: the removed child keeps what its objects were charged, the parent is uncharged.
#[test]
fn objects_of_a_removed_group_are_the_parents() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.now(CPU0, object(child, 5000));
    groups.offline(CPU0, child).unwrap();
    // Reparented first: the byte stock is not in the subtree any more and stays; the page stock went.
    assert_eq!(groups.stock_state(CPU0).objcg, Some(child));
    assert_eq!(groups.slots(CPU0)[0], (0, 0));
    assert_eq!(groups.look(child).objcg_owner, parent);
    assert_eq!((groups.usage(child), groups.usage(parent)), (2, 2));
    assert_eq!(groups.look(child).references, 2, "the object and the stock");
    groups.uncharge_object(CPU0, child, 5000, false);
    // 8192 bytes in the stock: both pages are released, to the parent's page stock.
    assert_eq!((groups.slots(CPU0)[0], groups.stock_state(CPU0).bytes), ((parent.0, 2), 0));
    groups.drain_all_stock(CPU0, parent);
    assert_eq!((groups.usage(child), groups.usage(parent)), (2, 0));
    assert_eq!((groups.look(child).references, groups.look(parent).references), (0, 0));
}

#[test]
fn pages_released_later_come_from_the_parent_and_the_child_keeps_a_residue() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    let call = |objcg| MemcgCall::ChargeKernelPages {
        objcg,
        pages: 4,
        gfp: Gfp::KERNEL_ACCOUNT,
        task: TASK,
        over_high: 0,
    };
    groups.now(CPU0, call(child));
    groups.offline(CPU0, child).unwrap();
    assert_eq!(groups.now(CPU0, call(child)), charged(parent), "the parent pays");
    groups.uncharge_kernel_pages(child, 8);
    groups.drain_all_stock(CPU0, ROOT);
    assert_eq!((groups.usage(child), groups.usage(parent), groups.usage(ROOT)), (4, 0, 0));
    assert_eq!((groups.look(child).kernel, groups.look(parent).kernel), (4, -4));
    assert_eq!(groups.look(child).references, 0);
}

/// Up to the root: the stat alone, so that the root keeps the residue too (and bug M19: it is not charged).
#[test]
fn what_comes_to_the_root_touches_no_counter() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    groups.now(CPU0, object(child, 5000));
    groups.offline(CPU0, child).unwrap();
    groups.offline(CPU0, parent).unwrap();
    assert_eq!(groups.look(child).objcg_owner, ROOT, "inherited ones too");
    assert_eq!(groups.now(CPU1, object(child, 4000)), charged(ROOT));
    assert_eq!((groups.usage(ROOT), groups.look(ROOT).kernel), (2, 1));
    groups.uncharge_object(CPU1, child, 4000, false);
    groups.uncharge_object(CPU0, child, 5000, false);
    groups.stock_cpu_dead(CPU0);
    groups.stock_cpu_dead(CPU1);
    assert_eq!((groups.usage(ROOT), groups.usage(child)), (2, 2));
    assert_eq!((groups.look(ROOT).kernel, groups.look(child).kernel), (-2, 2));
    assert_eq!((groups.look(child).references, groups.look(ROOT).references), (0, 0));
}

/// The last reference of an objcg uncharges the whole pages that its central bytes make (§2.9).
#[test]
fn the_last_reference_releases_central_bytes() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    let other = groups.create(ROOT).unwrap();
    groups.now(CPU0, object(child, 96));
    groups.now(CPU0, object(other, 96));
    assert_eq!(groups.look(child).charged_bytes, 4000);
    groups.offline(CPU0, child).unwrap();
    assert_eq!(groups.usage(parent), 1);
    groups.uncharge_object(CPU0, child, 96, true);
    let seen = groups.look(child);
    assert_eq!((seen.charged_bytes, seen.references, groups.usage(parent)), (0, 0, 0));
    assert_eq!(groups.look(parent).references, 0);
}

#[test]
fn a_charge_under_way_goes_on_after_the_removal() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 4);
    groups.now(CPU0, charge(memcg, 4, Gfp::KERNEL));
    let (mut running, step) = groups.begin(CPU0, charge(memcg, 1, Gfp::KERNEL));
    assert_eq!(step, reclaim(memcg, 32));
    groups.offline(CPU0, memcg).unwrap();
    groups.uncharge(memcg, 4);
    assert_eq!(groups.look(ROOT).references, 0);
    assert_eq!(groups.go_on(&mut running, reclaimed(4)), charged(memcg));
    assert_eq!((groups.look(memcg).references, groups.look(ROOT).references), (1, 1));
    groups.uncharge(memcg, 1);
    assert_eq!((groups.look(memcg).references, groups.look(ROOT).references), (0, 0));
}

/// Slices of the embedder, used before by others; and the contract's trait on a shared handle.
#[test]
fn storage_may_be_lent() {
    use mmspec_model::contract::MemoryCgroups;
    let mut groups: [GroupSlot<SpinPlatform>; 3] = Default::default();
    let mut cpus: [StockCpuSlot<SpinPlatform>; 1] = Default::default();
    let mut peaks: [PeakSlot<SpinPlatform>; 1] = Default::default();
    for _ in 0..2 {
        let storage =
            MemcgStorage { groups: &mut groups[..], cpus: &mut cpus[..], peaks: &mut peaks[..] };
        let all: Memcg<SpinPlatform, Borrowed<'_>> = Memcg::new(MemcgRules::default(), storage);
        let mut handle = &all;
        let memcg = MemoryCgroups::create(&mut handle, ROOT).unwrap();
        assert_eq!(memcg, MemcgId(1));
        assert_eq!(handle.memcg_state(memcg).memory.usage, 0);
        let (_, step) = MemoryCgroups::begin(&mut handle, CPU0, charge(memcg, 1, Gfp::KERNEL));
        assert_eq!(step, charged(memcg));
        assert_eq!(handle.memcg_state(memcg).memory.usage, 64);
        // A CPU without a record has no stock.
        MemoryCgroups::begin(&mut handle, CPU1, charge(memcg, 1, Gfp::KERNEL));
        assert_eq!(handle.memcg_state(memcg).memory.usage, 65);
        MemoryCgroups::set_low(&mut handle, memcg, 5).unwrap();
        MemoryCgroups::open_peak(&mut handle, memcg);
    }
}

/// A clone is a copy: stocks, references and all.
#[test]
fn a_clone_goes_its_own_way() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL));
    groups.now(CPU0, object(memcg, 100));
    let copy = groups.clone();
    assert_eq!((copy.look(memcg), copy.look(ROOT)), (groups.look(memcg), groups.look(ROOT)));
    assert_eq!(copy.stock_state(CPU0), groups.stock_state(CPU0));
    copy.uncharge(memcg, 1);
    copy.offline(CPU0, memcg).unwrap();
    assert!(groups.look(memcg).online);
    assert_eq!((groups.usage(memcg), groups.count()), (64, 2));
}
