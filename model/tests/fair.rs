//! The fair zone allocation policy (page_alloc.md §5): who serves which request, and what it costs.

use mmspec_model::contract::{Nodes, Observe, Outcome, PageAllocator, Request, StatWorker, Tuning};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, FairPolicy, Gfp, Machine, Mark, NodeId, Order, PfnRange, Rules, Tunables,
    ZoneFlags, ZoneIdx, ZoneKind, ZoneSpan, ZonelistOrder,
};

const CPU0: CpuId = CpuId(0);
const DMA32: ZoneIdx = ZoneIdx(0);
const NORMAL: ZoneIdx = ZoneIdx(1);

fn rules(policy: FairPolicy) -> Rules {
    let zonelist_order = ZonelistOrder::Node;
    Rules { fair_policy: policy, zonelist_order, ..Rules::linux_3_17() }
}

/// A unit is four pages: more than the threshold of one CPU, so that every count is exact at once.
const UNIT: u8 = 2;

/// MIN of 64 and 32 pages: batches of 16 and 8 (t/2 − t/4), that is of four and two units.
const MINIMUM: Tunables = Tunables {
    min_free_kbytes: Some(96 * 4),
    watermark_scale_factor: 10,
    watermark_boost_factor: 0,
    lowmem_reserve_ratio: [256, 256, 32, 0],
    percpu_pagelist_high_fraction: 0,
    pcp_batch_scale_max: 5,
};

/// §8.5: one node, DMA32 with batch 2, Normal with batch 4.
fn one_node(policy: FairPolicy) -> Reference {
    let zones = [(ZoneKind::Dma32, 0, 8192), (ZoneKind::Normal, 8192, 8192 + 16384)];
    let r = Reference::new(&Machine::new(1, &zones), rules(policy), MINIMUM).unwrap();
    let expected = if policy == FairPolicy::None { [0, 0] } else { [2, 4] };
    assert_eq!([batch(&r, DMA32), batch(&r, NORMAL)], expected);
    assert_eq!(r.zone_state(NORMAL).stat_threshold, 2);
    r
}

/// What is left of a zone's batch, in units.
fn batch(r: &Reference, zone: ZoneIdx) -> i64 {
    let state = r.zone_state(zone);
    assert_eq!(state.nr_alloc_batch, state.nr_alloc_batch_exact);
    state.nr_alloc_batch / (1 << UNIT)
}

fn depleted(r: &Reference, zone: ZoneIdx) -> bool {
    r.zone_flags(zone).contains(ZoneFlags::FAIR_DEPLETED)
}

/// An allocation of 2^order units: the zone that served.
fn take(r: &mut Reference, order: u8) -> usize {
    let request = Request::new(Order::of(UNIT + order), Gfp::KERNEL);
    let Outcome::Page(pfn) = r.alloc_pages(CPU0, request) else { panic!("memory is plenty") };
    r.machine().as_ref().zone_of(pfn).unwrap().index()
}

/// N for Normal, D for DMA32.
fn served(r: &mut Reference, order: u8, times: usize) -> String {
    (0..times).map(|_| if take(r, order) == NORMAL.index() { 'N' } else { 'D' }).collect()
}

#[test]
fn turns_of_one_node() {
    let mut r = one_node(FairPolicy::V3_17);
    assert_eq!(served(&mut r, 0, 3), "NNN");
    assert!(!depleted(&r, NORMAL));
    assert_eq!(served(&mut r, 0, 1), "N");
    assert!(depleted(&r, NORMAL) && !depleted(&r, DMA32));
    assert_eq!(served(&mut r, 0, 1), "D");
    assert!(!depleted(&r, DMA32));
    assert_eq!(served(&mut r, 0, 1), "D");
    assert!(depleted(&r, DMA32));
    assert_eq!(r.events().fair_resets, 0);
    // The reset allocation is Normal's first of the new turn.
    assert_eq!(served(&mut r, 0, 1), "N");
    assert_eq!((batch(&r, NORMAL), batch(&r, DMA32)), (3, 2));
    assert!(!depleted(&r, NORMAL) && !depleted(&r, DMA32));
    assert_eq!(r.events().fair_resets, 2);
    assert_eq!(served(&mut r, 0, 11), "NNNDDNNNNDD");
}

#[test]
fn turns_of_order_1() {
    let mut r = one_node(FairPolicy::V3_17);
    assert_eq!(served(&mut r, 1, 1), "N");
    assert_eq!((batch(&r, NORMAL), depleted(&r, NORMAL)), (2, false));
    assert_eq!(served(&mut r, 1, 1), "N");
    assert_eq!((batch(&r, NORMAL), depleted(&r, NORMAL)), (0, true));
    assert_eq!(served(&mut r, 1, 1), "D");
    assert_eq!((batch(&r, DMA32), depleted(&r, DMA32)), (0, true));
    assert_eq!(served(&mut r, 1, 6), "NNDNND");
}

/// Zones in which every scan of the first cycle and a half stopped, and counters read, by hand.
#[test]
fn costs_of_the_policies() {
    // 3.16 resets and rescans at the 7th allocation as the others do, but reads counters.
    for (policy, reads) in [
        (FairPolicy::V3_16, 4 + 2 * 2 + 2),
        (FairPolicy::Draft, 0),
        (FairPolicy::V3_17, 0),
        (FairPolicy::V4_7, 0),
    ] {
        let mut r = one_node(policy);
        assert_eq!(served(&mut r, 0, 7), "NNNNDDN", "{policy:?}");
        let events = r.events();
        // Four of Normal, two of Normal and DMA32, then both in vain and Normal again.
        assert_eq!(events.zones_scanned, 4 + 2 * 2 + 2 + 1, "{policy:?}");
        assert_eq!(events.batch_reads, reads, "{policy:?}");
        assert_eq!(events.fair_resets, 2, "{policy:?}");
    }
    let mut r = one_node(FairPolicy::None);
    assert_eq!(served(&mut r, 0, 7), "NNNNNNN");
    let events = r.events();
    assert_eq!((events.zones_scanned, events.batch_reads, events.fair_resets), (0, 0, 0));
    assert_eq!(batch(&r, NORMAL), 0, "nothing is kept without the policy");
}

/// Two nodes: 0 with DMA32 and Normal, 1 with Normal; a CPU on each; zonelists in node order.
fn two_nodes(policy: FairPolicy, cpus: &[u8], on_first: &[(ZoneKind, u64)]) -> Reference {
    let mut machine = Machine::new(cpus.len() as u16, &[]);
    machine.nodes = 2;
    machine.cpu_nodes = cpus.iter().map(|node| NodeId(*node)).collect();
    let mut at = 0;
    let zones = on_first.iter().map(|(kind, pages)| (0, *kind, *pages));
    for (node, kind, pages) in zones.chain([(1, ZoneKind::Normal, 16384)]) {
        let span = PfnRange::new(at, at + pages);
        machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
        at += pages;
    }
    let pages: u64 = machine.zones.iter().map(|zone| zone.span.len()).sum();
    let tunables = Tunables { min_free_kbytes: Some((pages / 1024 * 16) as u32), ..MINIMUM };
    Reference::new(&machine, rules(policy), tunables).unwrap()
}

const BOTH: [(ZoneKind, u64); 2] = [(ZoneKind::Dma32, 8192), (ZoneKind::Normal, 16384)];

/// The zones that serve requests of one unit of node 0's CPU.
fn zones(r: &mut Reference, times: usize) -> Vec<usize> {
    (0..times).map(|_| take(r, 0)).collect()
}

/// Fair turns keep to the node: every variant serves from node 0 only, with a rescan at the 7th.
#[test]
fn remote_zones_take_no_turn() {
    for policy in [FairPolicy::V3_16, FairPolicy::Draft, FairPolicy::V3_17, FairPolicy::V4_7] {
        let mut r = two_nodes(policy, &[0], &BOTH);
        let batches: Vec<i64> = (0..3).map(|z| batch(&r, ZoneIdx(z))).collect();
        assert_eq!(batches, [2, 4, 4]);
        assert_eq!(zones(&mut r, 8), [1, 1, 1, 1, 0, 0, 1, 1], "{policy:?}");
        assert_eq!(r.zone_state(ZoneIdx(2)).numa.miss, 0, "{policy:?}");
        // At the 7th allocation: 3.16 walks past the remote zone, the others stop at it; all look at three
        // entries, and at one in the second pass.
        assert_eq!(r.events().zones_scanned, 4 + 2 * 2 + 3 + 1 + 1, "{policy:?}");
    }
}

/// A zone order puts the remote Normal zone before the local DMA32: 3.16 walks past it, 3.17 stops
/// there, so that DMA32 never has its turn; the draft is not even fair.
#[test]
fn zone_order_and_the_local_low_zone() {
    let by_zone = |policy| {
        let mut r = two_nodes(policy, &[0], &BOTH);
        let rules =
            Rules { zonelist_order: mmspec_model::vocab::ZonelistOrder::Zone, ..rules(policy) };
        r = Reference::new(&r.machine().clone(), rules, MINIMUM).unwrap();
        let tunables = Tunables { min_free_kbytes: Some(160 * 4), ..MINIMUM };
        r.set_tunables(tunables).unwrap();
        let served = zones(&mut r, 8);
        (served, r.events().fair_resets, r.events().zones_scanned)
    };
    assert_eq!(by_zone(FairPolicy::V3_16), (vec![1, 1, 1, 1, 0, 0, 1, 1], 2, 4 + 2 * 3 + 4 + 1));
    // 5th: Normal is passed over, node 1's zone ends the pass; reset of both local zones; again.
    assert_eq!(by_zone(FairPolicy::V3_17), (vec![1; 8], 2, 4 + 2 + 1 + 3));
    assert_eq!(by_zone(FairPolicy::Draft), (vec![1; 8], 0, 8));
    // 4.7 resets at the first remote zone and begins again.
    assert_eq!(by_zone(FairPolicy::V4_7), (vec![1; 8], 2, 4 + 2 + 1 + 3));
}

/// The draft resets only what is used up; 3.17 all zones from 0 to the preferred one.
#[test]
fn whom_a_reset_meets() {
    for (policy, resets, low) in [(FairPolicy::Draft, 1, 1), (FairPolicy::V3_17, 2, 2)] {
        let mut r = one_node(policy);
        // One unit from DMA32, four from Normal.
        let low_request = Request::new(Order::of(UNIT), Gfp::KERNEL | Gfp::DMA32);
        assert!(r.alloc_pages(CPU0, low_request).page().is_some());
        assert_eq!(batch(&r, DMA32), 1);
        assert_eq!(served(&mut r, 0, 4), "NNNN");
        // DMA32 refuses a Normal request now: its reserve is above what it has.
        let tunables = Tunables { lowmem_reserve_ratio: [1, 1, 1, 0], ..MINIMUM };
        r.set_tunables(tunables).unwrap();
        let fresh = [batch(&r, DMA32), batch(&r, NORMAL)];
        assert_eq!(fresh, [2, 4], "new marks fill the batches");
        assert!(depleted(&r, NORMAL), "but do not clear the flag");
        assert!(r.alloc_pages(CPU0, low_request).page().is_some());
        assert_eq!(served(&mut r, 0, 1), "N");
        assert_eq!((r.events().fair_resets, batch(&r, DMA32)), (resets, low), "{policy:?}");
    }
}

/// A reset forgives debt: it brings the global part to the batch, not the batch on top of it.
#[test]
fn debts_are_forgiven() {
    for policy in [FairPolicy::V3_16, FairPolicy::V3_17, FairPolicy::V4_7] {
        let mut r = one_node(policy);
        assert_eq!(served(&mut r, 4, 2), "ND", "16 units overdraw both");
        assert_eq!((batch(&r, NORMAL), batch(&r, DMA32)), (-12, -14));
        assert_eq!(served(&mut r, 0, 1), "N");
        assert_eq!((batch(&r, NORMAL), batch(&r, DMA32)), (3, 2), "{policy:?}");
    }
}

/// Single pages: a page's own count is still in the diff when the set point looks, so that each zone
/// serves one more; the worker folds between them. By hand: Normal's batch of 4 is seen as 4, 3, 2, 1 and
/// at the fifth as 0; DMA32's of 2 as 2, 1, 0.
#[test]
fn single_pages_are_seen_one_late() {
    let zones = [(ZoneKind::Dma32, 0, 8192), (ZoneKind::Normal, 8192, 8192 + 16384)];
    let tunables = Tunables { min_free_kbytes: Some(24 * 4), ..MINIMUM };
    let machine = Machine::new(1, &zones);
    for (policy, turn) in [(FairPolicy::V3_17, "NNNNNDDD"), (FairPolicy::V3_16, "NNNNDD")] {
        let mut r = Reference::new(&machine, rules(policy), tunables).unwrap();
        let pages = turn.repeat(3);
        let served: String = pages.chars().map(|_| single(&mut r)).collect();
        assert_eq!(served, pages, "{policy:?}");
    }
}

/// One page, then the worker.
fn single(r: &mut Reference) -> char {
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let Outcome::Page(pfn) = r.alloc_pages(CPU0, request) else { panic!("memory is plenty") };
    r.tick(CPU0);
    if r.machine().as_ref().zone_of(pfn) == Some(NORMAL) { 'N' } else { 'D' }
}

/// The quirk of §5.2: a reset smaller than the threshold stays in the diff, so the zone is flagged
/// again at once.
#[test]
fn a_small_reset_hides_in_the_diff() {
    // Four CPUs: thresholds of 6.
    let zones = [(ZoneKind::Dma32, 0, 8192), (ZoneKind::Normal, 8192, 8192 + 16384)];
    let tunables = Tunables { min_free_kbytes: Some(24 * 4), ..MINIMUM };
    let machine = Machine::new(4, &zones);
    let mut r = Reference::new(&machine, rules(FairPolicy::V3_17), tunables).unwrap();
    assert_eq!(r.zone_state(NORMAL).stat_threshold, 6);
    let turn: String = (0..8).map(|_| single(&mut r)).collect();
    assert_eq!(turn, "NNNNNDDD");
    assert_eq!(r.zone_state(NORMAL).nr_alloc_batch, -1);
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    assert!(r.alloc_pages(CPU0, request).page().is_some());
    assert_eq!(r.events().fair_resets, 2);
    assert_eq!(r.zone_state(NORMAL).nr_alloc_batch, -1, "+5 and −1 are in the diff");
    assert_eq!(r.zone_state(NORMAL).nr_alloc_batch_exact, 3);
    assert!(depleted(&r, NORMAL));
}

/// With several nodes a fair pass that passed nothing over is still followed by one over all nodes;
/// with one node the attempt ends.
#[test]
fn the_second_pass_reaches_remote_nodes() {
    for policy in [FairPolicy::V3_16, FairPolicy::Draft, FairPolicy::V3_17, FairPolicy::V4_7] {
        let mut r = two_nodes(policy, &[0], &BOTH);
        // DMA32 and Normal of node 0 are emptied without a fair pass.
        let all = Request::new(Order::of(5), Gfp::KERNEL | Gfp::THISNODE)
            .at(Mark::Min, AllocFlags::NO_WATERMARKS);
        while r.alloc_pages(CPU0, all).page().is_some() {}
        let resets = r.events().fair_resets;
        assert_eq!(take(&mut r, 0), 2, "{policy:?}");
        let passed_over = r.events().fair_resets - resets;
        assert_eq!(passed_over, 2, "{policy:?}: both were used up");
        assert_eq!(take(&mut r, 0), 2, "{policy:?}");
    }
    // One node: what is left is the slow path, after one look at each zone.
    let mut r = one_node(FairPolicy::V3_17);
    let tunables = Tunables { min_free_kbytes: Some(200_000), ..MINIMUM };
    r.set_tunables(tunables).unwrap();
    let request = Request::new(Order::of(UNIT), Gfp::KERNEL);
    assert_eq!(r.alloc_pages(CPU0, request), Outcome::SlowPath);
    assert_eq!((r.events().zones_scanned, r.events().fair_resets), (2, 0));
}

/// 4.7 tests the flag before the place: a used-up remote zone is passed over, and the scan goes on.
#[test]
fn flags_of_remote_zones() {
    let spend_remote = |policy| {
        let mut r = two_nodes(policy, &[0], &[(ZoneKind::Normal, 16384)]);
        let remote = Request::new(Order::of(UNIT), Gfp::KERNEL).on(NodeId(1));
        while !depleted(&r, ZoneIdx(1)) {
            assert!(r.alloc_pages(CPU0, remote).page().is_some());
        }
        r.set_tunables(Tunables { min_free_kbytes: Some(400_000), ..MINIMUM }).unwrap();
        let scanned = r.events().zones_scanned;
        let request = Request::new(Order::ZERO, Gfp::KERNEL);
        assert_eq!(r.alloc_pages(CPU0, request), Outcome::SlowPath);
        (r.events().zones_scanned - scanned, r.events().fair_resets, depleted(&r, ZoneIdx(1)))
    };
    // Own, remote (stop), own, remote. The remote flag is nobody's concern.
    assert_eq!(spend_remote(FairPolicy::V3_17), (4, 0, true));
    // Own, remote (passed over); the reset meets the own node only; own, remote.
    assert_eq!(spend_remote(FairPolicy::V4_7), (4, 1, true));
}

/// 3.16 has no flag; and only 4.7 ends a pass over local zones alone without another.
#[test]
fn what_the_variants_lack() {
    let mut r = one_node(FairPolicy::V3_16);
    assert_eq!(served(&mut r, 0, 6), "NNNNDD");
    assert!(!depleted(&r, NORMAL) && !depleted(&r, DMA32));
    for (policy, looks) in [(FairPolicy::V3_17, 2), (FairPolicy::V4_7, 1)] {
        let mut r = two_nodes(policy, &[0], &[(ZoneKind::Normal, 16384)]);
        r.set_tunables(Tunables { min_free_kbytes: Some(400_000), ..MINIMUM }).unwrap();
        let request = Request::new(Order::of(UNIT), Gfp::KERNEL | Gfp::THISNODE);
        assert_eq!(r.alloc_pages(CPU0, request), Outcome::SlowPath);
        assert_eq!((r.events().zones_scanned, r.events().fair_resets), (looks, 0), "{policy:?}");
    }
}

/// Explicit attempts are never fair but spend the batch; so do bulk calls.
#[test]
fn who_spends_and_who_takes_turns() {
    use mmspec_model::contract::BulkAlloc;
    let mut r = one_node(FairPolicy::V3_17);
    let explicit = Request::new(Order::of(UNIT), Gfp::KERNEL).at(Mark::Low, AllocFlags::empty());
    for left in [3, 2, 1, 0, -1] {
        assert!(r.alloc_pages(CPU0, explicit).page().is_some());
        assert_eq!(batch(&r, NORMAL), left);
    }
    let mut slots = [None; 24];
    assert_eq!(r.alloc_bulk(CPU0, Gfp::KERNEL, &mut slots), 24);
    r.tick(CPU0);
    assert_eq!((batch(&r, NORMAL), batch(&r, DMA32)), (-7, 2));
    assert_eq!(r.node_count(), 1);
}
