//! Kernel objects and pages (§2.9); oracle 4 of §8.4.

use crate::bench::*;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_model::{
    contract::{ChargeTask, MemcgCall},
    vocab::{Gfp, MemcgId},
};

fn new_group() -> (OwnedMemcg, MemcgId) {
    let groups = groups();
    let memcg = groups.create(ROOT).unwrap();
    (groups, memcg)
}

/// Pages charged by bytes, and the bytes in CPU 0's stock.
fn books(groups: &OwnedMemcg, memcg: MemcgId) -> (i64, u32) {
    (groups.look(memcg).kernel, groups.stock_state(CPU0).bytes)
}

#[test]
fn fifty_six_small_objects_fit_a_page() {
    let (groups, memcg) = new_group();
    let one = || assert_eq!(groups.now(CPU0, object(memcg, 72)), charged(memcg));
    one();
    assert_eq!(books(&groups, memcg), (1, 4024));
    (1..56).for_each(|_| one());
    assert_eq!(books(&groups, memcg), (1, 64));
    one();
    // The bytes that were there are not used for it.
    assert_eq!(books(&groups, memcg), (2, 64 + 4024));
    // The pages came through the page stock: a batch.
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (64, (1, 62)));
    // 57 objects, the byte stock, the slot of the page stock.
    assert_eq!(groups.look(memcg).references, 59);
}

#[test]
fn large_objects_keep_one_page_charged() {
    let (groups, memcg) = new_group();
    let mut seen = Vec::new();
    for _ in 0..4 {
        groups.now(CPU0, object(memcg, 2120));
        seen.push(books(&groups, memcg));
    }
    assert_eq!(seen, [(1, 1976), (2, 3952), (2, 1832), (3, 3808)]);
    seen.clear();
    for _ in 0..4 {
        groups.uncharge_object(CPU0, memcg, 2120, false);
        seen.push(books(&groups, memcg));
    }
    assert_eq!(seen, [(2, 1832), (2, 3952), (1, 1976), (1, 4096)]);
    // Released pages went to the page stock, not to the counters.
    assert_eq!((groups.usage(memcg), groups.slots(CPU0)[0]), (64, (1, 63)));
    assert_eq!(groups.look(memcg).references, 2);
    groups.stock_cpu_dead(CPU0);
    assert_eq!((groups.usage(memcg), books(&groups, memcg)), (0, (0, 0)), "bug M23");
    assert_eq!(groups.look(memcg).references, 0);
}

/// Law L4: 4096 times the pages = live bytes + stocks + central bytes.
fn assert_books(groups: &OwnedMemcg, objcg: MemcgId, pages: i64, live: u64) {
    let stocked: u64 = [CPU0, CPU1]
        .map(|cpu| groups.stock_state(cpu))
        .iter()
        .filter(|stock| stock.objcg == Some(objcg))
        .map(|stock| u64::from(stock.bytes))
        .sum();
    assert_eq!(4096 * pages as u64, live + stocked + groups.look(objcg).charged_bytes);
}

#[test]
fn a_stock_changes_its_objcg_and_bytes_are_kept_centrally() {
    let (groups, a) = new_group();
    let b = groups.create(ROOT).unwrap();
    groups.now(CPU0, object(a, 100));
    groups.now(CPU0, object(b, 100));
    assert_eq!((groups.look(a).charged_bytes, groups.stock_state(CPU0).objcg), (3996, Some(b)));
    // a comes back: its bytes do too, with those of a new page.
    groups.now(CPU0, object(a, 50));
    assert_eq!((groups.look(a).charged_bytes, groups.look(a).kernel), (0, 1));
    assert_eq!(groups.stock_state(CPU0).bytes, 3996 + 4046 - 4096, "a page went back at once");
    assert_books(&groups, a, 1, 150);
    assert_books(&groups, b, 1, 100);
    groups.uncharge_object(CPU1, a, 100, false);
    groups.uncharge_object(CPU1, a, 50, false);
    groups.uncharge_object(CPU1, b, 100, false);
    groups.stock_cpu_dead(CPU0);
    groups.stock_cpu_dead(CPU1);
    // Without objects whole pages are left, wherever they are (law L5).
    assert_eq!(groups.look(a).charged_bytes % 4096, 0);
    assert_eq!(groups.look(b).charged_bytes % 4096, 0);
    assert_books(&groups, a, groups.look(a).kernel, 0);
}

/// Nested: bytes below a page are kept centrally, whole pages go straight from the counters.
#[test]
fn a_nested_free_keeps_its_bytes_centrally() {
    let (groups, memcg) = new_group();
    groups.now(CPU0, object(memcg, 5000));
    let kernel = groups.look(memcg).kernel;
    let usage = groups.usage(memcg);
    groups.uncharge_object(CPU0, memcg, 5000, true);
    let seen = groups.look(memcg);
    assert_eq!((kernel, seen.kernel, seen.charged_bytes), (2, 1, 904), "bug M25: down, not up");
    assert_eq!(groups.usage(memcg), usage - 1);
    let nested = MemcgCall::ChargeObject {
        objcg: memcg,
        bytes: 96,
        gfp: Gfp::ATOMIC,
        task: ChargeTask::NESTED,
        over_high: 0,
    };
    assert_eq!(groups.now(CPU0, nested), charged(memcg));
    assert_eq!(groups.look(memcg).charged_bytes, 904 + 4000);
    assert_books(&groups, memcg, 2, 96);
}

/// An exact page leaves nothing over, and takes the stock all the same.
#[test]
fn an_object_of_a_page() {
    let (groups, memcg) = new_group();
    groups.now(CPU0, object(memcg, 4096));
    assert_eq!(books(&groups, memcg), (1, 0));
    assert_eq!(groups.stock_state(CPU0).objcg, Some(memcg));
    groups.uncharge_object(CPU0, memcg, 4096, false);
    assert_eq!(books(&groups, memcg), (1, 4096), "exactly a page is kept");
}

#[test]
fn kernel_pages_have_no_byte_stock() {
    let (groups, memcg) = new_group();
    let call = MemcgCall::ChargeKernelPages {
        objcg: memcg,
        pages: 4,
        gfp: Gfp::KERNEL_ACCOUNT,
        task: TASK,
        over_high: 0,
    };
    assert_eq!(groups.now(CPU0, call), charged(memcg));
    let seen = groups.look(memcg);
    assert_eq!((seen.kernel, seen.memory.usage, seen.references), (4, 64, 5));
    assert_eq!(groups.stock_state(CPU0).objcg, None);
    groups.uncharge_kernel_pages(memcg, 4);
    let seen = groups.look(memcg);
    assert_eq!((seen.kernel, seen.memory.usage, seen.references), (0, 60, 1));
}

/// Bug M14: an object that cannot be charged is not handed out uncharged.
#[test]
fn an_object_over_the_limit_fails() {
    let (groups, memcg) = new_group();
    groups.limit(memcg, 0);
    let call = MemcgCall::ChargeObject {
        objcg: memcg,
        bytes: 8,
        gfp: Gfp::NOWAIT,
        task: TASK,
        over_high: 0,
    };
    assert_eq!(groups.now(CPU0, call), no_memory());
    assert_eq!((groups.look(memcg).kernel, groups.look(memcg).references), (0, 0));
}

/// Objects are counted against credit of each stock: however CPUs share them, the books are right.
#[test]
fn objects_charged_here_and_freed_there() {
    let (groups, memcg) = new_group();
    for _ in 0..500 {
        groups.now(CPU0, object(memcg, 8));
    }
    for _ in 0..300 {
        groups.uncharge_object(CPU1, memcg, 8, false);
    }
    let stocks = 1 + 2;
    assert_eq!(groups.look(memcg).references, 200 + stocks);
    groups.offline(CPU0, memcg).unwrap();
    for _ in 0..200 {
        groups.uncharge_object(CPU0, memcg, 8, false);
    }
    groups.stock_cpu_dead(CPU0);
    assert!(groups.look(memcg).references > 0);
    groups.stock_cpu_dead(CPU1);
    let seen = groups.look(memcg);
    assert_eq!((seen.references, seen.charged_bytes), (0, 0));
    assert_eq!(groups.look(ROOT).references, 0);
}
