//! The test vectors of page_alloc.md §8.

mod common;

use common::{CPU0, NORMAL, Pages, single_zone};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::Request,
    vocab::{
        AllocFlags, Gfp, Machine, Mark, MigrateType, Order, PcpFlags, Rules, Tunables, ZoneIdx,
        ZoneKind,
    },
};
use std::vec::Vec;

/// §8.1: one node, 4 CPUs, DMA, DMA32 and Normal.
fn three_zones() -> OwnedAllocator {
    let mut machine = Machine::new(
        4,
        &[
            (ZoneKind::Dma, 0, 4096),
            (ZoneKind::Dma32, 4096, 4096 + 490_000),
            (ZoneKind::Normal, 4096 + 490_000, 4096 + 490_000 + 1_500_000),
        ],
    );
    machine.reserved.push(mmspec_model::vocab::PfnRange::new(0, 256));
    OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap()
}

#[test]
fn marks_reserves_and_limits_of_three_zones() {
    let pages = three_zones();
    let rows = [
        (3840, [5, 8, 11, 14], [0, 1914, 7773, 7773], 1, 4, 120, 6),
        (490_000, [694, 1184, 1674, 2164], [0, 0, 5859, 5859], 63, 296, 15312, 30),
        (1_500_000, [2124, 3624, 5124, 6624], [0; 4], 63, 906, 46875, 42),
    ];
    for (at, (managed, marks, reserve, batch, high_min, high_max, threshold)) in
        rows.into_iter().enumerate()
    {
        let zone = ZoneIdx(at as u8);
        let state = pages.zone_state(zone);
        assert_eq!((state.managed, state.marks), (managed, marks), "zone {at}");
        assert_eq!(state.lowmem_reserve[..4], reserve, "zone {at}");
        assert_eq!(state.stat_threshold, threshold, "zone {at}");
        assert_eq!(state.nr_free_pages, managed as i64, "zone {at}");
        let pcp = pages.pcp_state(CPU0, zone);
        assert_eq!((pcp.batch, pcp.high_min, pcp.high_max), (batch, high_min, high_max));
        assert_eq!((pcp.high, pcp.count), (0, 0), "zone {at}: high stays 0 until first clamped");
    }
    assert_eq!(pages.events().pgfree, 3840 + 490_000 + 1_500_000);
}

#[test]
fn a_small_dma_zone_never_serves_a_normal_request() {
    let pages = three_zones();
    let serves = |highest| {
        pages.watermark_ok(ZoneIdx(0), Order::ZERO, Mark::Min, highest, AllocFlags::empty())
    };
    assert!(serves(ZoneKind::Dma) && serves(ZoneKind::Dma32) && !serves(ZoneKind::Normal));
}

#[test]
fn marks_of_single_zones() {
    for (managed, marks, threshold_1, threshold_4, boost_allowed) in [
        (1024, [64, 80, 96, 112], 2, 6, false),
        (4096, [128, 160, 192, 224], 2, 6, true),
        (16384, [256, 320, 384, 448], 2, 6, true),
        (65536, [512, 640, 768, 896], 6, 18, true),
    ] {
        for (cpus, threshold) in [(1, threshold_1), (4, threshold_4)] {
            let pages = single_zone(cpus, managed, Rules::linux_6_12());
            let state = pages.zone_state(NORMAL);
            assert_eq!((state.marks, state.stat_threshold), (marks, threshold), "{managed} pages");
        }
        // Fallback of a small block boosts, where the zone is large enough for it. NOFRAGMENT is
        // off in an explicit attempt.
        let pages = single_zone(1, managed, Rules::linux_6_12());
        pages.pcp_disable(CPU0, NORMAL);
        let mut held = Pages::new(&pages);
        held.fill(Order::of(9), Gfp::HIGHUSER_MOVABLE, (managed - 512) >> 9);
        held.fill(Order::of(3), Gfp::HIGHUSER_MOVABLE, 1);
        let request =
            Request::new(Order::of(4), Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
        assert!(held.request(request).is_some());
        let boost = pages.zone_state(NORMAL).boost;
        assert_eq!(boost, if boost_allowed { 512 } else { 0 }, "{managed} pages");
    }
}

/// Allocate `n` order-0 pages; the refills by size and the `high` after each.
fn refills(held: &mut Pages<'_>, n: usize) -> (Vec<u64>, Vec<u64>) {
    let (mut sizes, mut highs) = (Vec::new(), Vec::new());
    let mut before = held.count();
    for _ in 0..n {
        held.alloc(Order::ZERO, Gfp::KERNEL).expect("plenty is free");
        let after = held.count();
        if after + 1 != before {
            sizes.push(after + 1 - before);
            highs.push(held.allocator().pcp_state(CPU0, NORMAL).high);
        }
        before = after;
    }
    (sizes, highs)
}

/// Free `n` pages in the order of their allocation; the drains by size.
fn drains(held: &mut Pages<'_>, n: usize) -> Vec<u64> {
    let mut sizes = Vec::new();
    let mut before = held.count();
    for _ in 0..n {
        held.free_first();
        let after = held.count();
        if after != before + 1 {
            sizes.push(before + 1 - after);
        }
        before = after;
    }
    sizes
}

/// A zone whose batch is 7, with the given limits (§8.3). The batch of 7 needs 32768 to 49151
/// managed pages; the limits follow from the scale factor and from the fraction.
fn batch_of_seven(high_min: u64, high_max: u64) -> OwnedAllocator {
    let managed = if high_min == high_max { high_min * 400 } else { high_max * 8 };
    let cpus = if high_min == high_max { 1 } else { 5 };
    let managed = managed * cpus;
    let tunables = if high_min == high_max {
        Tunables { percpu_pagelist_high_fraction: 400, ..Tunables::default() }
    } else {
        // LOW = MIN + max(MIN/4, managed × scale ÷ 10000), shared by five CPUs.
        Tunables { min_free_kbytes: Some(4 * 400), ..Tunables::default() }
    };
    let machine = Machine::new(cpus as u16, &[(ZoneKind::Normal, 0, managed)]);
    let pages = OwnedAllocator::new(machine.as_ref(), Rules::linux_6_18(), tunables).unwrap();
    let pcp = pages.pcp_state(CPU0, NORMAL);
    assert_eq!((pcp.batch, pcp.high_min, pcp.high_max), (7, high_min, high_max));
    pages
}

#[test]
fn refills_and_drains_with_a_fixed_high_mark() {
    let pages = batch_of_seven(100, 100);
    let mut held = Pages::new(&pages);
    let (sizes, _) = refills(&mut held, 600);
    assert_eq!(sizes, [7, 14, 28, 56, 93, 93, 93, 93, 93, 93]);
    assert_eq!(held.count(), 63);
    assert_eq!(drains(&mut held, 600), [37, 74, 93, 93, 93, 93, 93]);
    assert_eq!(held.count(), 87);
}

#[test]
fn refills_and_drains_with_auto_tuning() {
    let pages = batch_of_seven(100, 1000);
    let mut held = Pages::new(&pages);
    let (sizes, highs) = refills(&mut held, 600);
    assert_eq!(sizes, [7, 14, 28, 56, 112, 224, 224]);
    assert_eq!(highs, [107, 121, 149, 205, 317, 541, 765]);
    assert_eq!(held.count(), 65);
    assert!(drains(&mut held, 600).is_empty());
    assert_eq!((held.count(), pages.pcp_state(CPU0, NORMAL).high), (665, 765));
}

#[test]
fn splits_and_merges_of_one_block() {
    // §8.4: one block of order 3 is all there is.
    let pages = one_block();
    let mut held = Pages::new(&pages);
    held.free_lists([(3, [0].as_slice())]);
    let page = held.direct(Order::ZERO).unwrap();
    assert_eq!(page.0, 0);
    held.free_lists([(0, [1].as_slice()), (1, &[2]), (2, &[4])]);
    held.free_direct(page, Order::ZERO);
    held.free_lists([(3, [0].as_slice())]);
}

/// Eight frames, one block of order 3, orders up to 10; a cousin of order 10 keeps the zone large.
fn one_block() -> OwnedAllocator {
    let mut machine = Machine::new(1, &[(ZoneKind::Normal, 0, 8)]);
    machine.pageblock_order = Order::of(4);
    machine.thp_order = None;
    let tunables = Tunables { min_free_kbytes: Some(0), ..Tunables::default() };
    OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), tunables).unwrap()
}

#[test]
fn a_block_whose_cousin_is_free_goes_to_the_tail() {
    for (cousin_free, expected) in [(true, [4, 0]), (false, [0, 4])] {
        let pages = one_block();
        let mut held = Pages::new(&pages);
        let all: Vec<_> = (0..8).map(|_| held.direct(Order::ZERO).unwrap()).collect();
        let find = |pfn: u64| *all.iter().find(|page| page.0 == pfn).unwrap();
        // Page 4 alone on the list of order 0, so that head and tail can be told apart.
        held.free_direct(find(4), Order::ZERO);
        if cousin_free {
            held.free_direct(find(2), Order::ZERO);
            held.free_direct(find(3), Order::ZERO);
        }
        held.free_direct(find(0), Order::ZERO);
        let mut order_0 = Vec::new();
        // With grouping off (a zone this small) the blocks stay Movable.
        pages.for_each_free(NORMAL, Order::ZERO, MigrateType::Movable, &mut |pfn| {
            order_0.push(pfn.0);
        });
        assert_eq!(order_0, expected, "cousin free: {cousin_free}");
    }
}

#[test]
fn watermark_checks_at_their_edges() {
    // §8.4, with the free pages brought to just above each limit.
    let (high, now) = (AllocFlags::MIN_RESERVE, AllocFlags::NON_BLOCK);
    for (order, flags, min) in [
        (0, AllocFlags::empty(), 100),
        (0, high, 50),
        (0, high | now, 38),
        (0, AllocFlags::OOM, 50),
        (0, high | now | AllocFlags::OOM, 19),
        (3, AllocFlags::empty(), 107),
    ] {
        let machine = Machine::new(1, &[(ZoneKind::Normal, 0, 4096)]);
        let tunables = Tunables {
            min_free_kbytes: Some(400),
            percpu_pagelist_high_fraction: 8,
            ..Tunables::default()
        };
        let pages = OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), tunables).unwrap();
        pages.pcp_disable(CPU0, NORMAL);
        assert_eq!(pages.zone_state(NORMAL).marks[0], 100);
        let ok =
            || pages.watermark_ok(NORMAL, Order::of(order), Mark::Min, ZoneKind::Normal, flags);
        let mut held = Pages::new(&pages);
        let request =
            Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let free = || {
            pages.tick(CPU0);
            pages.zone_state(NORMAL).nr_free_pages
        };
        while free() > min + 1 {
            held.request(request).unwrap();
        }
        assert!(ok(), "order {order} {flags:?}: {} free pages are enough", min + 1);
        held.request(request).unwrap();
        assert_eq!(free(), min);
        assert!(!ok(), "order {order} {flags:?}: {min} free pages are not");
    }
}

#[test]
fn a_large_block_must_exist_for_a_large_request() {
    let pages = single_zone(1, 4096, Rules::linux_6_12());
    pages.pcp_disable(CPU0, NORMAL);
    let request = Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let mut held = Pages::new(&pages);
    for _ in 0..4096 {
        held.request(request).unwrap();
    }
    // Every second page free: plenty of pages, not one of order 1.
    held.free_if(|pfn| pfn.0 % 2 == 0);
    pages.tick(CPU0);
    let ok = |order| {
        pages.watermark_ok(
            NORMAL,
            Order::of(order),
            Mark::Min,
            ZoneKind::Normal,
            AllocFlags::empty(),
        )
    };
    assert!(ok(0) && !ok(1));
    held.free_if(|pfn| pfn.0 < 2);
    assert!(ok(1) && !ok(2));
}

#[test]
fn flags_at_boot_follow_the_machine() {
    let mut machine = Machine::new(1, &[(ZoneKind::Normal, 0, 4096)]);
    machine.free_high_batch = true;
    let pages =
        OwnedAllocator::new(machine.as_ref(), Rules::linux_6_12(), Tunables::default()).unwrap();
    let pages: OwnedAllocator = pages;
    assert_eq!(pages.pcp_state(CPU0, NORMAL).flags, PcpFlags::FREE_HIGH_BATCH);
}
