//! Pageblock types: fallback, the atomic reserve, CMA, isolation, merging across pageblocks.

mod common;

use common::{CPU0, NORMAL, Pages};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::Request,
    vocab::{
        AllocFlags, Gfp, Machine, Mark, MergeRetype, MigrateType, Order, Pfn, PfnRange, Rules,
        Tunables, ZoneFlags,
    },
};
use std::vec::Vec;

use MigrateType::{Cma, HighAtomic, Isolate, Movable, Unmovable};

/// Pageblocks of 16 frames, orders to 6, no per-CPU lists, no watermarks to speak of.
fn machine(frames: u64) -> Machine {
    Machine::small(1, frames, 6, 4)
}

fn build(machine: &Machine, rules: Rules) -> OwnedAllocator {
    // The marks are not 0, or boosts would be.
    let tunables =
        Tunables { min_free_kbytes: Some(0), watermark_scale_factor: 100, ..Tunables::default() };
    let pages = OwnedAllocator::new(machine.as_ref(), rules, tunables).unwrap();
    pages.pcp_disable(CPU0, NORMAL);
    pages
}

fn allocator(rules: Rules) -> OwnedAllocator {
    build(&machine(512), rules)
}

/// An attempt that watermarks do not stop.
fn attempt(order: u8, gfp: Gfp) -> Request {
    Request::new(Order::of(order), gfp).at(Mark::Min, AllocFlags::NO_WATERMARKS)
}

/// Hold all memory in movable single pages, then free those of `frames`.
fn all_movable_but<'a>(
    pages: &'a OwnedAllocator,
    frames: core::ops::Range<u64>,
) -> (Pages<'a>, u64) {
    let mut held = Pages::new(pages);
    let managed = pages.managed_frames();
    held.fill(Order::ZERO, Gfp::HIGHUSER_MOVABLE, managed);
    let free = frames.end - frames.start;
    held.free_if(|pfn| frames.contains(&pfn.0));
    (held, free)
}

#[test]
fn a_pageblock_changes_its_type_when_half_of_it_is_free() {
    for rules in [Rules::linux_6_1(), Rules::linux_6_12(), Rules::linux_6_18()] {
        for (free, retyped) in [(8, true), (7, false)] {
            let pages = allocator(rules);
            let (mut held, _) = all_movable_but(&pages, 32..32 + free);
            let page = held.request(attempt(0, Gfp::KERNEL)).unwrap();
            assert!((32..32 + free).contains(&page.0));
            let found = pages.pageblock_type(page).unwrap();
            assert_eq!(found == Unmovable, retyped, "{free} of 16 pages free");
            // Up to 6.6 the free pages move even when the type stays (bug P13), later only then,
            // or, for 6.1's single blocks, with the block.
            let listed = pages.zone_state(NORMAL).pages_of(Unmovable);
            let moved = retyped || rules == Rules::linux_6_1();
            assert_eq!(listed, if moved { free - 1 } else { 0 });
        }
    }
}

#[test]
fn movable_pages_among_others_weigh_in_for_movable_requests() {
    // A block of 4 free pages in an Unmovable pageblock of 16: 4 movable pages make up the half.
    for (movable, retyped) in [(4, true), (3, false)] {
        let pages = allocator(Rules::linux_6_12());
        let mut held = Pages::new(&pages);
        held.fill(Order::ZERO, Gfp::KERNEL, 512);
        // Single free pages are too small to claim for: the pageblock stays what it is.
        held.free_if(|pfn| (36..36 + 2 * movable).contains(&pfn.0) && pfn.0 % 2 == 0);
        for _ in 0..movable {
            let page = held.request(attempt(0, Gfp::HIGHUSER_MOVABLE)).unwrap();
            assert_eq!(pages.pageblock_type(page), Some(Unmovable));
        }
        held.free_if(|pfn| (32..36).contains(&pfn.0));
        let page = held.request(attempt(0, Gfp::HIGHUSER_MOVABLE)).unwrap();
        assert_eq!(page, Pfn(32));
        assert_eq!(pages.pageblock_type(page) == Some(Movable), retyped, "{movable} movable");
    }
}

#[test]
fn claims_end_at_small_orders_and_steals_take_the_smallest_block() {
    // Movable request, only Unmovable pageblocks: a free single page in one, an order-1 block in
    // another. pageblock_order / 2 is 2: neither is claimable.
    let hold = |rules| {
        let pages = allocator(rules);
        let mut held = Pages::new(&pages);
        held.fill(Order::ZERO, Gfp::KERNEL, 512);
        held.free_if(|pfn| pfn.0 == 100 || pfn.0 == 200 || pfn.0 == 201);
        drop(held);
        pages
    };
    for rules in [Rules::linux_6_12(), Rules::linux_6_18()] {
        let pages = hold(rules);
        let page = pages.alloc_pages(CPU0, attempt(0, Gfp::HIGHUSER_MOVABLE)).page().unwrap();
        assert_eq!((page, pages.pageblock_type(page)), (Pfn(100), Some(Unmovable)));
        // Unmovable requests of a reclaimable kind may claim anything, but here half is not free.
        let request = attempt(0, Gfp::KERNEL | Gfp::RECLAIMABLE);
        let page = pages.alloc_pages(CPU0, request).page().unwrap();
        assert_eq!((page, pages.pageblock_type(page)), (Pfn(200), Some(Unmovable)));
        assert_eq!(pages.zone_state(NORMAL).pages_of(Unmovable), 1);
    }
    let pages = hold(Rules::linux_6_1());
    let request = attempt(0, Gfp::KERNEL | Gfp::RECLAIMABLE);
    let page = pages.alloc_pages(CPU0, request).page().unwrap();
    assert_eq!((page, pages.pageblock_type(page)), (Pfn(200), Some(Unmovable)));
    assert_eq!(pages.zone_state(NORMAL).pages_of(MigrateType::Reclaimable), 1, "it moved along");
}

#[test]
fn without_fragmentation_only_whole_pageblocks_change_hands() {
    for rules in [Rules::linux_6_1(), Rules::linux_6_12(), Rules::linux_6_18()] {
        let pages = allocator(rules);
        let (held, _) = all_movable_but(&pages, 32..47);
        let flags = AllocFlags::NO_WATERMARKS | AllocFlags::NOFRAGMENT;
        // The flag holds for the first turn only, so what it does shows in the boost: a turn that
        // may fragment boosts, one that may not does not come so far.
        let request = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, flags);
        let page = pages.alloc_pages(CPU0, request).page().unwrap();
        assert_eq!(pages.zone_state(NORMAL).boost, 16);
        drop(held);
        let pages = allocator(rules);
        let (held, _) = all_movable_but(&pages, 32..48);
        let whole = pages.alloc_pages(CPU0, request).page().unwrap();
        assert_eq!((whole, page), (Pfn(32), page));
        assert_eq!(pages.pageblock_type(whole), Some(Unmovable));
        assert_eq!(pages.zone_state(NORMAL).boost, 0);
        drop(held);
    }
}

#[test]
fn a_boost_wakes_kswapd_once_and_ends_with_new_marks() {
    let pages = allocator(Rules::linux_6_12());
    let (mut held, _) = all_movable_but(&pages, 32..39);
    held.request(attempt(0, Gfp::KERNEL)).unwrap();
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.boost, state.kswapd_wakeups), (16, 1));
    assert!(!state.flags.contains(ZoneFlags::BOOSTED_WATERMARK));
    // Without the kswapd bit the boost is not reported.
    let quiet = Gfp::KERNEL - Gfp::KSWAPD_RECLAIM;
    held.request(attempt(0, quiet)).unwrap();
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.boost, state.kswapd_wakeups), (16, 1), "the boost has its bound");
    pages.set_tunables(Tunables::default()).unwrap();
    assert_eq!(pages.zone_state(NORMAL).boost, 0);
}

#[test]
fn the_atomic_reserve_is_filled_used_and_released() {
    let pages = build(&machine(4096), Rules::linux_6_12());
    let flags = AllocFlags::NO_WATERMARKS | AllocFlags::HIGHATOMIC;
    let urgent = Request::new(Order::of(2), Gfp::ATOMIC).at(Mark::Min, flags);
    // Per-CPU lists come first and know no reserve: keep to the zone's lists.
    let take = || {
        pages.fail_trylock(CPU0, 1);
        pages.alloc_pages(CPU0, urgent).page().unwrap()
    };
    let first = take();
    assert_eq!(pages.pageblock_type(first), Some(HighAtomic));
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_reserved_highatomic, state.nr_free_highatomic), (16, 12));
    // The limit is 4096/100 rounded up to a pageblock: 48. The reserve serves before other lists.
    for _ in 0..20 {
        take();
    }
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_reserved_highatomic, state.nr_free_highatomic), (48, 0));
    // A page of the reserve goes back to it.
    pages.free_pages(CPU0, first, Order::of(2));
    assert_eq!(pages.zone_state(NORMAL).nr_free_highatomic, 4);
    assert!(pages.unreserve_highatomic(CPU0, Unmovable, false));
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_reserved_highatomic, state.nr_free_highatomic), (32, 0));
    assert_eq!(pages.pageblock_type(first), Some(Unmovable));
    assert!(!pages.unreserve_highatomic(CPU0, Unmovable, true), "nothing of it is free");
}

#[test]
fn zones_too_small_keep_no_reserve_and_6_1_keeps_one_more_pageblock() {
    let flags = AllocFlags::NO_WATERMARKS | AllocFlags::HIGHATOMIC;
    let urgent = Request::new(Order::of(2), Gfp::ATOMIC).at(Mark::Min, flags);
    for (rules, reserved) in [(Rules::linux_6_12(), 0), (Rules::linux_6_1(), 32)] {
        let pages = allocator(rules);
        for _ in 0..20 {
            pages.alloc_pages(CPU0, urgent).page().unwrap();
        }
        // 6.1: 5 + 16, so a second pageblock is begun below the limit.
        assert_eq!(pages.zone_state(NORMAL).nr_reserved_highatomic, reserved);
    }
}

#[test]
fn cma_serves_movable_requests_only_and_first_while_it_is_most_of_what_is_free() {
    let mut machine = machine(512);
    machine.cma_built = true;
    machine.cma.push(PfnRange::new(0, 256));
    let pages = build(&machine, Rules::linux_6_12());
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.cma_pages, state.nr_free_cma_exact, state.managed), (256, 256, 512));
    let mut held = Pages::new(&pages);
    // At exactly half CMA is not preferred; after one ordinary page it is.
    let ordinary = held.request(attempt(0, Gfp::HIGHUSER_MOVABLE)).unwrap();
    assert_eq!(pages.pageblock_type(ordinary), Some(Movable));
    pages.tick(CPU0);
    let cma = held.request(attempt(0, Gfp::HIGHUSER_MOVABLE)).unwrap();
    assert_eq!(pages.pageblock_type(cma), Some(Cma));
    held.fill(Order::ZERO, Gfp::KERNEL, 255);
    assert!(held.request(attempt(0, Gfp::KERNEL)).is_none(), "CMA is not for unmovable pages");
    assert_eq!(pages.zone_state(NORMAL).pages_of(Cma), 255);
}

#[test]
fn isolation_cuts_larger_blocks_and_takes_pages_out_of_the_count() {
    for rules in [Rules::linux_6_1(), Rules::linux_6_12(), Rules::linux_6_18()] {
        let pages = allocator(rules);
        assert!(pages.isolate(CPU0, Pfn(40), &|_| false));
        assert!(!pages.isolate(CPU0, Pfn(33), &|_| true), "it is isolated already");
        let state = pages.zone_state(NORMAL);
        assert_eq!((state.nr_isolate_pageblock, state.pages_of(Isolate)), (1, 16));
        assert_eq!(state.nr_free_pages_exact, 496);
        assert_eq!(pages.pageblock_type(Pfn(47)), Some(Isolate));
        // Nothing comes from there, whatever is asked.
        let mut held = Pages::new(&pages);
        held.fill(Order::ZERO, Gfp::KERNEL, 496);
        assert!(held.request(attempt(0, Gfp::KERNEL)).is_none());
        held.free_if(|_| true);
        assert!(!pages.unisolate(CPU0, Pfn(40), HighAtomic));
        assert!(pages.unisolate(CPU0, Pfn(40), Movable));
        assert!(!pages.unisolate(CPU0, Pfn(40), Movable));
        let state = pages.zone_state(NORMAL);
        assert_eq!((state.nr_isolate_pageblock, state.nr_free_pages_exact), (0, 512));
        assert_eq!(state.blocks(Order::of(6)), 8, "it merged back");
    }
}

#[test]
fn isolation_asks_about_every_allocated_page() {
    let pages = allocator(Rules::linux_6_12());
    let block = pages.alloc_pages(CPU0, attempt(5, Gfp::HIGHUSER_MOVABLE)).page().unwrap();
    // The second pageblock of the block: its head lies before.
    let last = block.add(31);
    assert!(!pages.isolate(CPU0, last, &|pfn| pfn != last));
    assert!(pages.isolate(CPU0, last, &|pfn| pfn != block));
    pages.free_pages(CPU0, block, Order::of(5));
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.pages_of(Isolate), state.nr_free_pages_exact), (16, 496));
}

#[test]
fn a_hole_or_an_edge_keeps_a_pageblock_from_being_isolated() {
    let mut machine = machine(500);
    machine.holes.push(PfnRange::new(20, 21));
    machine.reserved.push(PfnRange::new(63, 64));
    let pages = build(&machine, Rules::linux_6_12());
    for (pfn, possible) in [(16, false), (48, false), (496, false), (32, true)] {
        assert_eq!(pages.isolate(CPU0, Pfn(pfn), &|_| true), possible, "pageblock at {pfn}");
    }
}

#[test]
fn merging_retypes_the_buddy_as_the_rules_say() {
    for (merge_retype, expected) in [
        (MergeRetype::Never, [Movable, Unmovable, Movable, Movable]),
        (MergeRetype::FirstBlock, [Movable; 4]),
        (MergeRetype::AllBlocks, [Movable; 4]),
    ] {
        let pages = allocator(Rules { merge_retype, ..Rules::linux_6_12() });
        let mut held = Pages::new(&pages);
        held.fill(Order::of(4), Gfp::HIGHUSER_MOVABLE, 32);
        // Pageblock 1 becomes Unmovable, then all of the first large block comes free.
        held.free_if(|pfn| pfn.0 == 16);
        let unmovable = held.request(attempt(4, Gfp::KERNEL)).unwrap();
        assert_eq!((unmovable, pages.pageblock_type(unmovable)), (Pfn(16), Some(Unmovable)));
        held.free_if(|pfn| pfn.0 == 16);
        held.free_if(|pfn| pfn.0 == 0);
        held.free_if(|pfn| pfn.0 == 32 || pfn.0 == 48);
        let types: Vec<_> =
            (0..4).map(|block| pages.pageblock_type(Pfn(16 * block)).unwrap()).collect();
        assert_eq!(types, expected, "{merge_retype:?}");
    }
}

#[test]
fn memory_failure_takes_one_page_off_any_list() {
    let mut machine = machine(512);
    machine.cma_built = true;
    machine.cma.push(PfnRange::new(128, 192));
    for rules in [Rules::linux_6_1(), Rules::linux_6_12(), Rules::linux_6_18()] {
        let pages = build(&machine, rules);
        let counts = || {
            let state = pages.zone_state(NORMAL);
            (state.nr_free_pages_exact, state.nr_free_cma_exact, state.pages_of(Isolate))
        };
        assert_eq!(counts(), (512, 64, 0));
        assert!(pages.take_page_off(CPU0, Pfn(77)));
        let state = pages.zone_state(NORMAL);
        assert_eq!([0, 1, 2, 3, 4, 5].map(|order| state.blocks(Order::of(order))), [1; 6]);
        assert_eq!(counts(), (511, 64, 0));
        assert!(!pages.take_page_off(CPU0, Pfn(77)), "it is not free");
        // In a CMA pageblock that page is one of CMA, in an isolated one it is not counted anyway.
        assert!(pages.take_page_off(CPU0, Pfn(191)));
        assert_eq!(counts(), (510, 63, 0));
        assert!(pages.isolate(CPU0, Pfn(256), &|_| false));
        assert!(pages.take_page_off(CPU0, Pfn(260)));
        assert_eq!(counts(), (494, 63, 15));
        assert!(!pages.take_page_off(CPU0, Pfn(512)), "no zone has it");
        assert!(pages.unisolate(CPU0, Pfn(256), Movable));
        assert_eq!(counts(), (509, 63, 0));
        for taken in [77, 191, 260] {
            pages.free_pages(CPU0, Pfn(taken), Order::ZERO);
        }
        assert_eq!(counts(), (512, 64, 0));
        assert_eq!(pages.zone_state(NORMAL).blocks(Order::of(6)), 8, "all merged back");
    }
}

#[test]
fn a_page_taken_off_the_atomic_reserve_is_not_free_there() {
    let pages = build(&machine(4096), Rules::linux_6_12());
    let mut held = Pages::new(&pages);
    let flags = AllocFlags::HIGHATOMIC | AllocFlags::NO_WATERMARKS;
    let request = Request::new(Order::of(1), Gfp::ATOMIC).at(Mark::Min, flags);
    let block = held.request(request).unwrap();
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_free_highatomic, state.nr_reserved_highatomic), (14, 16));
    assert!(pages.take_page_off(CPU0, block.add(9)));
    let state = pages.zone_state(NORMAL);
    assert_eq!((state.nr_free_highatomic, state.nr_reserved_highatomic), (13, 16));
    assert_eq!(state.pages_of(HighAtomic), 13);
}
