//! The fair zone allocation policy (page_alloc.md §5, §8.1, §8.5).

mod common;

use common::CPU0;
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::{Outcome, Request},
    vocab::{
        AllocFlags, FairPolicy, Gfp, Machine, Mark, NodeId, Order, PfnRange, Rules, Tunables,
        ZoneFlags, ZoneIdx, ZoneKind, ZoneSpan, ZonelistOrder,
    },
};
use std::vec::Vec;

fn rules(fair_policy: FairPolicy) -> Rules {
    let zonelist_order = ZonelistOrder::Node;
    Rules { fair_policy, zonelist_order, ..Rules::linux_3_17() }
}

#[test]
fn marks_batches_and_lists_of_3_16() {
    // §8.1, last line.
    let zones = [
        (ZoneKind::Dma, 0, 4096),
        (ZoneKind::Dma32, 4096, 494_096),
        (ZoneKind::Normal, 494_096, 1_994_096),
    ];
    let mut machine = Machine::new(4, &zones);
    machine.reserved.push(PfnRange::new(0, 256));
    let pages: OwnedAllocator =
        OwnedAllocator::new(machine.as_ref(), Rules::linux_3_17(), Tunables::default()).unwrap();
    let rows = [
        (3840, [5, 6, 7], 1, 1, 0),
        (490_000, [694, 867, 1041], 174, 31, 186),
        (1_500_000, [2124, 2655, 3186], 531, 31, 186),
    ];
    for (at, (managed, marks, fair_batch, batch, high)) in rows.into_iter().enumerate() {
        let state = pages.zone_state(ZoneIdx(at as u8));
        assert_eq!((state.managed, &state.marks[..3]), (managed, &marks[..]), "zone {at}");
        assert_eq!(state.marks[3], marks[2], "no PROMO");
        assert_eq!((state.nr_alloc_batch, state.nr_alloc_batch_exact), (fair_batch, fair_batch));
        let pcp = pages.pcp_state(CPU0, ZoneIdx(at as u8));
        assert_eq!((pcp.batch, pcp.high), (batch, high), "zone {at}");
    }
    assert_eq!(pages.pcp_list_count(), 3, "single pages only");
    // A refill is a batch; a free at the high mark gives a batch back.
    let order = Order::ZERO;
    let page = pages.alloc_pages(CPU0, Request::new(order, Gfp::KERNEL)).page().unwrap();
    let count = || pages.pcp_state(CPU0, ZoneIdx(2)).count;
    assert_eq!(count(), 30);
    let mut held = vec![page];
    for _ in 0..186 {
        held.extend(pages.alloc_pages(CPU0, Request::new(order, Gfp::KERNEL)).page());
    }
    let before = count();
    let mut counts = Vec::new();
    for page in held {
        pages.free_pages(CPU0, page, order);
        counts.push(count());
    }
    let full = (186 - before) as usize;
    assert_eq!(counts[full - 2], 185);
    assert_eq!(counts[full - 1], 186 - 31, "at the high mark a batch goes");
}

/// One node (and perhaps a second) where Normal has a batch of 16 and DMA32 of 8. Requests of order
/// 2 pass the statistics threshold of 2, so that counts are exact: §8.5 times four.
fn turns(rules: Rules, second_node: bool) -> OwnedAllocator {
    let mut machine =
        Machine::new(1, &[(ZoneKind::Dma32, 0, 8192), (ZoneKind::Normal, 8192, 24576)]);
    let mut min_free_kbytes = 384;
    if second_node {
        machine.nodes = 2;
        let span = PfnRange::new(24576, 24576 + 16384);
        machine.zones.push(ZoneSpan::new(ZoneKind::Normal, span).on(NodeId(1)));
        min_free_kbytes = 640;
    }
    let tunables = Tunables {
        min_free_kbytes: Some(min_free_kbytes),
        lowmem_reserve_ratio: [0; 4],
        ..Tunables::default()
    };
    let pages: OwnedAllocator = OwnedAllocator::new(machine.as_ref(), rules, tunables).unwrap();
    let batches = [0, 1].map(|zone| pages.zone_state(ZoneIdx(zone)).nr_alloc_batch);
    assert_eq!(batches, [8, 16]);
    pages
}

/// The zones that serve the next requests.
fn served(pages: &OwnedAllocator, order: u8, count: usize) -> Vec<u8> {
    let request = Request::new(Order::of(order), Gfp::KERNEL);
    let next = |_| match pages.alloc_pages(CPU0, request).page().unwrap().0 {
        0..8192 => 0,
        8192..24576 => 1,
        _ => 2,
    };
    (0..count).map(next).collect()
}

const ALL: [FairPolicy; 4] =
    [FairPolicy::V3_16, FairPolicy::Draft, FairPolicy::V3_17, FairPolicy::V4_7];

#[test]
fn zones_take_turns_by_size() {
    for policy in ALL {
        let pages = turns(rules(policy), false);
        let flagged = |zone| pages.zone_state(zone).flags.contains(ZoneFlags::FAIR_DEPLETED);
        let sets_flags = policy != FairPolicy::V3_16;
        assert_eq!(served(&pages, 2, 3), [1, 1, 1], "{policy:?}");
        assert!(!flagged(ZoneIdx(1)));
        assert_eq!(served(&pages, 2, 1), [1]);
        assert_eq!(flagged(ZoneIdx(1)), sets_flags, "set at the fourth");
        assert_eq!(served(&pages, 2, 2), [0, 0]);
        assert_eq!(flagged(ZoneIdx(0)), sets_flags, "set at the sixth");
        assert_eq!(pages.events().fair_resets, 0);
        assert_eq!(served(&pages, 2, 1), [1], "both are reset, and Normal is first");
        assert_eq!(pages.events().fair_resets, 2);
        assert_eq!(pages.zone_state(ZoneIdx(1)).nr_alloc_batch, 12);
        assert_eq!(pages.zone_state(ZoneIdx(0)).nr_alloc_batch, 8);
        assert!(!flagged(ZoneIdx(0)) && !flagged(ZoneIdx(1)));
        // 4 × 1, then 2 × 2, then 2 to see that both are used up, and 1.
        let events = pages.events();
        assert_eq!(events.zones_scanned, 11);
        assert_eq!(events.batch_reads, if policy == FairPolicy::V3_16 { 10 } else { 0 });
        assert_eq!(served(&pages, 2, 11), [1, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0], "period 6");
        let pages = turns(rules(policy), false);
        assert_eq!(served(&pages, 3, 6), [1, 1, 0, 1, 1, 0], "order 3 passes 16, 8, 0");
    }
    let none = turns_without_policy();
    assert_eq!(served(&none, 2, 8), [1; 8]);
    assert_eq!((none.events().zones_scanned, none.zone_state(ZoneIdx(1)).nr_alloc_batch), (0, 0));
}

#[test]
fn single_pages_take_turns_too() {
    // 16 of Normal, 8 of DMA32, but for what stays in the CPU's diffs.
    for policy in ALL {
        let pages = turns(rules(policy), false);
        let low = served(&pages, 0, 240).iter().filter(|zone| **zone == 0).count();
        assert!((60..100).contains(&low), "{policy:?}: {low} of 240");
    }
}

fn turns_without_policy() -> OwnedAllocator {
    let machine = Machine::new(1, &[(ZoneKind::Dma32, 0, 8192), (ZoneKind::Normal, 8192, 24576)]);
    OwnedAllocator::new(machine.as_ref(), rules(FairPolicy::None), Tunables::default()).unwrap()
}

#[test]
fn remote_zones_end_the_pass_or_are_walked_past() {
    let by_kind = |policy| Rules { zonelist_order: ZonelistOrder::Zone, ..rules(policy) };
    // Node by node: the remote zone comes last.
    for policy in ALL {
        let pages = turns(rules(policy), true);
        assert_eq!(served(&pages, 2, 7), [1, 1, 1, 1, 0, 0, 1], "{policy:?}");
        assert_eq!(pages.events().zones_scanned, 12, "{policy:?}");
    }
    // Kind by kind the list is Normal, the other node's Normal, DMA32. 3.16 walks past the other
    // node; the later ones end the pass there and give out new batches: DMA32 has no turn.
    let walked = turns(by_kind(FairPolicy::V3_16), true);
    assert_eq!(served(&walked, 2, 7), [1, 1, 1, 1, 0, 0, 1]);
    assert_eq!(walked.events().zones_scanned, 4 + 2 * 3 + 4);
    for (policy, resets) in [(FairPolicy::V3_17, 2), (FairPolicy::V4_7, 2)] {
        let pages = turns(by_kind(policy), true);
        assert_eq!(served(&pages, 2, 7), [1; 7], "{policy:?}");
        assert_eq!(pages.events().fair_resets, resets, "{policy:?}");
        assert_eq!(pages.events().zones_scanned, 4 + 3 + 2);
    }
    // The draft is fair only if the list's second zone is local.
    let draft = turns(by_kind(FairPolicy::Draft), true);
    assert_eq!(served(&draft, 2, 7), [1; 7]);
    assert_eq!((draft.events().fair_resets, draft.events().zones_scanned), (0, 7));
    assert!(draft.zone_state(ZoneIdx(1)).nr_alloc_batch < 0, "overdrawn, and nobody minds");
}

#[test]
fn the_draft_resets_only_what_is_used_up() {
    for (policy, resets) in [(FairPolicy::Draft, 1), (FairPolicy::V3_17, 2), (FairPolicy::V4_7, 2)]
    {
        let pages = turns(rules(policy), false);
        let flagged = || pages.zone_state(ZoneIdx(0)).flags.contains(ZoneFlags::FAIR_DEPLETED);
        // Fill DMA32: that uses its batch up as well. A request that its marks refuse then gives it a
        // new batch, to no avail.
        let dma = Request::new(Order::of(9), Gfp::DMA32);
        let fill = dma.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        while pages.alloc_pages(CPU0, fill).page().is_some() {}
        assert!(flagged(), "{policy:?}: explicit attempts count too");
        // New marks bring a new batch, but the flag stays (§5.2).
        let tunables = Tunables {
            min_free_kbytes: Some(384),
            lowmem_reserve_ratio: [0; 4],
            ..Tunables::default()
        };
        pages.set_tunables(tunables).unwrap();
        assert_eq!(pages.zone_state(ZoneIdx(0)).nr_alloc_batch, 8);
        assert!(flagged());
        assert_eq!(pages.alloc_pages(CPU0, dma), Outcome::SlowPath);
        assert!(!flagged());
        assert_eq!(pages.events().fair_resets, 1);
        // Normal is used up, and DMA32 is not but has no pages.
        assert_eq!(served(&pages, 2, 5), [1; 5]);
        assert_eq!(pages.events().fair_resets, 1 + resets, "{policy:?}");
    }
}

#[test]
fn bulk_pages_count_too_and_diffs_are_folded() {
    let pages = turns(rules(FairPolicy::V3_17), false);
    let mut slots = [None; 5];
    assert_eq!(pages.alloc_bulk(CPU0, Gfp::KERNEL, &mut slots), 5);
    let state = pages.zone_state(ZoneIdx(1));
    // Threshold 2: the third page pushes, two stay in the diff.
    assert_eq!((state.nr_alloc_batch, state.nr_alloc_batch_exact), (13, 11));
    pages.tick(CPU0);
    assert_eq!(pages.zone_state(ZoneIdx(1)).nr_alloc_batch, 11);
}

#[test]
fn the_old_check_wants_room_in_every_order() {
    // 512 pages free in single pages and pairs: each lower order's blocks are taken off and the
    // mark is halved (§3.4).
    let machine = Machine::new(1, &[(ZoneKind::Normal, 0, 8192)]);
    let tunables = Tunables { min_free_kbytes: Some(400), ..Tunables::default() };
    let rules = Rules::linux_3_17();
    let pages: OwnedAllocator = OwnedAllocator::new(machine.as_ref(), rules, tunables).unwrap();
    let order = Order::of(2);
    let all = Request::new(order, Gfp::HIGHUSER_MOVABLE).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let mut held: Vec<_> = core::iter::from_fn(|| pages.alloc_pages(CPU0, all).page()).collect();
    assert_eq!(held.len(), 2048);
    // MIN is 100. Every second block of order 2 back: 60 blocks, 240 pages.
    held.sort();
    held.iter().step_by(2).take(60).for_each(|pfn| pages.free_pages(CPU0, *pfn, order));
    let passes = |order: u8| {
        let (mark, none) = (Mark::Min, AllocFlags::empty());
        pages.watermark_ok(ZoneIdx(0), Order::of(order), mark, ZoneKind::Normal, none)
    };
    assert!(passes(0) && passes(1) && passes(2));
    // Order 3: 240 − 7 − 60 × 4 is below 0.
    assert!(!passes(3));
}

/// Fill the zone of DMA32 and let its requests fail twice: the zones that the second one looks at.
fn scanned_in_vain(pages: &OwnedAllocator) -> u64 {
    let dma = Request::new(Order::of(9), Gfp::DMA32);
    let fill = dma.at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while pages.alloc_pages(CPU0, fill).page().is_some() {}
    assert_eq!(pages.alloc_pages(CPU0, dma), Outcome::SlowPath);
    let before = pages.events().zones_scanned;
    assert_eq!(pages.alloc_pages(CPU0, dma), Outcome::SlowPath);
    pages.events().zones_scanned - before
}

#[test]
fn a_scan_without_fairness_follows_for_the_sake_of_other_nodes() {
    // The second request meets a new batch, and no pages. 3.16 always gives batches and looks again,
    // 4.7 does so only after it skipped a zone; the others also where there is another node.
    for (policy, one, two) in [
        (FairPolicy::V3_16, 2, 2),
        (FairPolicy::Draft, 1, 2),
        (FairPolicy::V3_17, 1, 2),
        (FairPolicy::V4_7, 1, 1),
    ] {
        assert_eq!(scanned_in_vain(&turns(rules(policy), false)), one, "{policy:?}, one node");
        assert_eq!(scanned_in_vain(&turns(rules(policy), true)), two, "{policy:?}, two nodes");
    }
}

#[test]
fn what_a_zone_is_overdrawn_by_is_forgiven() {
    let pages = turns(rules(FairPolicy::V3_17), false);
    // 16 of Normal's 16, then 16 of DMA32's 8; then both get new batches, and Normal gives 16.
    assert_eq!(served(&pages, 4, 2), [1, 0]);
    assert_eq!(pages.zone_state(ZoneIdx(0)).nr_alloc_batch, -8);
    assert_eq!(served(&pages, 4, 1), [1]);
    let batches = [0, 1].map(|zone| pages.zone_state(ZoneIdx(zone)).nr_alloc_batch);
    assert_eq!(batches, [8, 0]);
}

#[test]
fn a_zone_without_managed_pages_gets_no_batch() {
    let zones = [
        (ZoneKind::Dma, 0, 4096),
        (ZoneKind::Dma32, 4096, 12_288),
        (ZoneKind::Normal, 12_288, 28_672),
    ];
    let mut machine = Machine::new(1, &zones);
    machine.reserved.push(PfnRange::new(0, 4096));
    let tunables = Tunables {
        min_free_kbytes: Some(384),
        lowmem_reserve_ratio: [0; 4],
        ..Tunables::default()
    };
    for policy in [FairPolicy::V3_16, FairPolicy::V3_17, FairPolicy::V4_7] {
        let pages: OwnedAllocator =
            OwnedAllocator::new(machine.as_ref(), rules(policy), tunables).unwrap();
        assert_eq!(pages.zone_state(ZoneIdx(0)).managed, 0);
        let request = Request::new(Order::of(2), Gfp::KERNEL);
        (0..7).for_each(|_| assert!(pages.alloc_pages(CPU0, request).page().is_some()));
        assert_eq!(pages.events().fair_resets, 2, "{policy:?}: DMA32 and Normal");
    }
}
