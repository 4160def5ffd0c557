//! Objects charged by bytes, and groups that are removed (memcg-slub.md §2.9, §2.12).

use crate::shop::{CPU, OTHER, Shop};
use mmspec_model::contract::{ChargeTask, MemcgCall, MemcgDone, MemoryCgroups};
use mmspec_model::vocab::{CpuId, Gfp, MemcgId};

impl Shop {
    fn object(&mut self, cpu: CpuId, objcg: MemcgId, bytes: u32) -> bool {
        let (gfp, task) = (Gfp::KERNEL_ACCOUNT, ChargeTask::empty());
        let call = MemcgCall::ChargeObject { objcg, bytes, gfp, task, over_high: 0 };
        matches!(self.call(cpu, call), MemcgDone::Charged { .. })
    }

    fn bytes(&self, cpu: CpuId) -> u32 {
        self.groups.stock_state(cpu).bytes
    }

    fn kernel(&self, memcg: MemcgId) -> i64 {
        self.groups.memcg_state(memcg).kernel
    }
}

#[test]
fn objects_of_72_bytes_share_pages() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    assert!(shop.object(CPU, group, 72));
    assert_eq!((shop.kernel(group), shop.bytes(CPU)), (1, 4024));
    for _ in 1..56 {
        assert!(shop.object(CPU, group, 72));
    }
    assert_eq!((shop.kernel(group), shop.bytes(CPU)), (1, 64));
    assert!(shop.object(CPU, group, 72));
    assert_eq!((shop.kernel(group), shop.bytes(CPU)), (2, 4088));
}

#[test]
fn objects_of_2120_bytes_leave_a_page_behind() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    for expected in [(1, 1976), (2, 3952), (2, 1832), (3, 3808)] {
        assert!(shop.object(CPU, group, 2120));
        assert_eq!((shop.kernel(group), shop.bytes(CPU)), expected);
    }
    for expected in [(2, 1832), (2, 3952), (1, 1976), (1, 4096)] {
        shop.groups.uncharge_object(CPU, group, 2120, false);
        assert_eq!((shop.kernel(group), shop.bytes(CPU)), expected);
    }
    // Pages that bytes no longer need come to the page stock: the counter keeps its batch.
    assert_eq!(shop.usage(group), 64);
    assert_eq!(shop.stock(CPU, group), 63);
}

#[test]
fn bytes_of_another_group_push_the_first_out() {
    let mut shop = Shop::new();
    let (one, two) = (shop.group(MemcgId::ROOT), shop.group(MemcgId::ROOT));
    assert!(shop.object(CPU, one, 100) && shop.object(CPU, two, 100));
    assert_eq!(shop.groups.memcg_state(one).charged_bytes, 3996);
    assert_eq!(shop.groups.stock_state(CPU).objcg, Some(two));
    // They come back when the first is charged again, wherever.
    assert!(shop.object(OTHER, one, 100));
    assert_eq!(shop.groups.memcg_state(one).charged_bytes, 0);
    // They came after the page was charged: more than a page is given back.
    assert_eq!((shop.bytes(OTHER), shop.kernel(one)), ((3996 + 3996) % 4096, 1));
}

#[test]
fn a_removed_group_leaves_its_objects_to_its_parent() {
    let mut shop = Shop::new();
    let parent = shop.group(MemcgId::ROOT);
    let child = shop.group(parent);
    assert!(shop.object(CPU, child, 4096));
    shop.groups.drain_all_stock(CPU, child);
    assert_eq!((shop.usage(child), shop.usage(parent)), (1, 1));
    shop.groups.offline(CPU, child).unwrap();
    assert_eq!(shop.groups.memcg_state(child).objcg_owner, parent);
    shop.groups.uncharge_object(CPU, child, 4096, false);
    shop.groups.stock_cpu_dead(CPU);
    // The child's own counter keeps what it was charged (§2.12); the parent's does not.
    assert_eq!((shop.usage(child), shop.usage(parent)), (1, 0));
    assert_eq!((shop.kernel(child), shop.kernel(parent)), (1, -1));
    assert_eq!(shop.groups.memcg_state(child).references, 0);
}

#[test]
fn objects_left_to_the_root_touch_no_counter() {
    let mut shop = Shop::new();
    let child = shop.group(MemcgId::ROOT);
    assert!(shop.object(CPU, child, 4096));
    shop.groups.offline(CPU, child).unwrap();
    let before = shop.usage(MemcgId::ROOT);
    shop.groups.uncharge_object(CPU, child, 4096, false);
    shop.groups.stock_cpu_dead(CPU);
    assert_eq!(shop.usage(MemcgId::ROOT), before);
    assert_eq!(shop.kernel(MemcgId::ROOT), -1);
}

#[test]
fn a_dead_cpu_gives_its_bytes_back() {
    // Bug M23: only pages were drained, and the group never died.
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    assert!(shop.object(OTHER, group, 100));
    shop.groups.uncharge_object(OTHER, group, 100, false);
    shop.groups.stock_cpu_dead(OTHER);
    shop.groups.offline(CPU, group).unwrap();
    assert_eq!(shop.groups.memcg_state(group).references, 0);
    assert_eq!(shop.usage(group), 0);
}

#[test]
fn a_free_within_a_held_stock_goes_to_the_centre() {
    // Bug M25: the stat moved the wrong way.
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    assert!(shop.object(CPU, group, 5000));
    assert_eq!((shop.kernel(group), shop.bytes(CPU)), (2, 3192));
    shop.groups.uncharge_object(CPU, group, 5000, true);
    assert_eq!((shop.kernel(group), shop.bytes(CPU)), (1, 3192));
    assert_eq!(shop.groups.memcg_state(group).charged_bytes, 904);
}

#[test]
fn kernel_pages_are_charged_whole() {
    let mut shop = Shop::new();
    let objcg = shop.group(MemcgId::ROOT);
    let (gfp, task) = (Gfp::KERNEL_ACCOUNT, ChargeTask::empty());
    let call = MemcgCall::ChargeKernelPages { objcg, pages: 4, gfp, task, over_high: 0 };
    assert!(matches!(shop.call(CPU, call), MemcgDone::Charged { .. }));
    assert_eq!((shop.kernel(objcg), shop.usage(objcg), shop.bytes(CPU)), (4, 64, 0));
    shop.groups.uncharge_kernel_pages(objcg, 4);
    assert_eq!((shop.kernel(objcg), shop.usage(objcg)), (0, 60));
}
