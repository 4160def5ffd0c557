//! Page stocks (§2.2).

use crate::bench::*;
use mmspec_model::{
    contract::ChargeTask,
    vocab::{Gfp, MemcgId, MemcgRules},
};

/// Oracle 6 of §8.4.
#[test]
fn a_batch_serves_sixty_four_charges() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    let one = || assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL)), charged(memcg));
    one();
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (64, (1, 63)));
    (0..63).for_each(|_| one());
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (64, (1, 0)));
    one();
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (128, (1, 63)));
    assert!(groups.charge_from_stock(CPU0, memcg, 63) && !groups.charge_from_stock(CPU0, memcg, 1));
    // 128 pages, and the slot.
    assert_eq!(groups.look(memcg).references, 129);
    groups.uncharge(memcg, 128);
    assert_eq!((groups.usage(memcg), groups.look(memcg).references), (0, 1));
}

/// Oracle 7.
#[test]
fn an_overflowing_slot_is_emptied_whole() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 4, Gfp::KERNEL));
    groups.now(CPU1, charge(memcg, 10, Gfp::KERNEL));
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (128, (1, 60)));
    groups.refill(CPU0, memcg, 4, false);
    assert_eq!(groups.slots(CPU0)[0], (1, 64), "exactly a batch stays");
    assert!(groups.charge_from_stock(CPU0, memcg, 4));
    groups.refill(CPU0, memcg, 10, false);
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (128 - 70, (0, 0)));
    assert_eq!(groups.look(memcg).references, 4 + 1, "what is charged, and the other CPU's slot");
}

/// Oracle 8, and refills that find no stock.
#[test]
fn more_than_a_batch_passes_the_stock_by() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL));
    groups.now(CPU0, charge(memcg, 65, Gfp::KERNEL));
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (129, (1, 63)));
    groups.refill(CPU0, memcg, 65, false);
    groups.refill(CPU0, memcg, 1, true);
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (63, (1, 63)));
    groups.refill(CPU0, ROOT, 1, false);
    assert_eq!(groups.slots(CPU0)[1], (0, 0), "the root is never refilled");
}

/// Oracle 9.
#[test]
fn a_batch_that_does_not_fit_is_no_event() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.limit(memcg, 10);
    assert_eq!(groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL)), charged(memcg));
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (1, (0, 0)));
    assert_eq!(groups.look(memcg).events, [0; 6]);
    assert_eq!(groups.memory(memcg).failcnt, 1);
}

#[test]
fn a_nested_charge_finds_the_stock_busy() {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    groups.now(CPU0, charge(memcg, 1, Gfp::KERNEL));
    let nested = charge_as(memcg, 1, Gfp::ATOMIC, ChargeTask::NESTED);
    assert_eq!(groups.now(CPU0, nested), charged(memcg));
    // A batch was charged, and what was over went back at once.
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (65, (1, 63)));
    assert_eq!(groups.memory(memcg).watermark, 128);
    assert_eq!(groups.look(memcg).references, 3);
}

/// Seven slots, in turn after that (drain_idx).
#[test]
fn slots_are_taken_in_order_and_emptied_in_turn() {
    let groups = groups();
    let all: Vec<MemcgId> = (0..9).map(|_| groups.create(ROOT).unwrap()).collect();
    for memcg in &all {
        groups.now(CPU0, charge(*memcg, 1, Gfp::KERNEL));
    }
    let ids: Vec<u16> = groups.slots(CPU0).iter().map(|slot| slot.0).collect();
    assert_eq!(ids, [8, 9, 3, 4, 5, 6, 7]);
    assert_eq!((groups.usage(all[0]), groups.usage(all[2])), (1, 64));
    assert_eq!(groups.look(all[0]).references, 1, "the slot's reference went with it");
    // No group has two slots of one CPU (bug M24).
    groups.now(CPU0, charge(all[8], 40, Gfp::KERNEL));
    groups.now(CPU0, charge(all[8], 40, Gfp::KERNEL));
    assert_eq!(groups.slots(CPU0)[1], (9, 23 + 24));
    // A group that finds no slot empties the next in turn.
    groups.now(CPU0, charge(all[0], 1, Gfp::KERNEL));
    assert_eq!(groups.slots(CPU0)[2], (1, 63));
}

#[test]
fn a_single_slot_changes_hands() {
    let groups = with_rules(MemcgRules::LINUX_6_12);
    let [a, b] = [(); 2].map(|()| groups.create(ROOT).unwrap());
    groups.now(CPU0, charge(a, 1, Gfp::KERNEL));
    groups.now(CPU0, charge(b, 1, Gfp::KERNEL));
    assert_eq!(groups.slots(CPU0), [(2, 63), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0)]);
    assert_eq!((groups.usage(a), groups.usage(b), groups.usage(ROOT)), (1, 64, 65));
}

#[test]
fn a_drain_is_at_once_here_and_queued_elsewhere() {
    let groups = groups();
    let parent = groups.create(ROOT).unwrap();
    let child = groups.create(parent).unwrap();
    let other = groups.create(ROOT).unwrap();
    for cpu in [CPU0, CPU1] {
        groups.now(cpu, charge(child, 1, Gfp::KERNEL));
        groups.now(cpu, charge(other, 1, Gfp::KERNEL));
    }
    groups.drain_all_stock(CPU0, parent);
    assert_eq!((groups.usage(child), groups.usage(other)), (65, 65), "all slots of this CPU");
    assert!(groups.stock_state(CPU1).flushing && !groups.stock_state(CPU0).flushing);
    assert!(groups.run_stock_work(CPU1) && !groups.run_stock_work(CPU1));
    assert_eq!((groups.usage(child), groups.usage(other), groups.usage(ROOT)), (2, 2, 4));
    assert!(!groups.run_stock_work(CPU0));
    // Nothing of the subtree, or no pages: nothing to do.
    groups.now(CPU1, charge(other, 64, Gfp::KERNEL));
    groups.now(CPU1, charge(other, 1, Gfp::KERNEL));
    groups.drain_all_stock(CPU0, parent);
    assert!(!groups.stock_state(CPU1).flushing);
    groups.stock_cpu_dead(CPU1);
    assert_eq!(groups.usage(other), 67);
}

#[test]
fn batches_of_folios_are_uncharged_group_by_group() {
    let groups = groups();
    let [a, b] = [(); 2].map(|()| groups.create(ROOT).unwrap());
    groups.now(CPU0, charge(a, 64, Gfp::KERNEL));
    groups.now(CPU0, charge(b, 64, Gfp::KERNEL));
    let mut batch = mmspec_impl::memcg::UnchargeBatch::new();
    for (memcg, pages) in [(a, 1), (a, 2), (b, 4), (ROOT, 1), (a, 8)] {
        groups.uncharge_add(&mut batch, memcg, pages);
    }
    assert_eq!((groups.usage(a), groups.usage(b)), (61, 60));
    groups.uncharge_end(batch);
    assert_eq!((groups.usage(a), groups.usage(b), groups.usage(ROOT)), (53, 60, 113));
    assert_eq!(groups.slots(CPU0)[0], (0, 0), "not to the stock");
}
