//! Several nodes: zonelists worked by hand from the formulas of page_alloc.md §4.1, and where
//! requests go.

mod common;

use common::{CPU0, CPU1};
use mmspec_impl::OwnedAllocator;
use mmspec_model::{
    contract::{Outcome, Refusal, Request, Task},
    vocab::{
        AllocFlags, CpuId, Gfp, Machine, Mark, NodeId, NodeLoad, NodeMask, NumaCounters, Order,
        PfnRange, Rules, Tunables, ZoneIdx, ZoneKind, ZoneSpan, ZonelistOrder,
    },
};
use std::vec::Vec;

/// A machine of `cpus` (the node of each) and zones, one after the other from frame 0.
fn machine(nodes: u8, cpus: &[u8], zones: &[(u8, ZoneKind, u64)]) -> Machine {
    let mut machine = Machine::new(cpus.len() as u16, &[]);
    machine.nodes = nodes;
    machine.cpu_nodes = cpus.iter().map(|node| NodeId(*node)).collect();
    let mut start = 0;
    for &(node, kind, pages) in zones {
        let span = PfnRange::new(start, start + pages);
        machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
        start += pages;
    }
    machine
}

fn build(machine: &Machine, rules: Rules) -> OwnedAllocator {
    OwnedAllocator::new(machine.as_ref(), rules, Tunables::default()).unwrap()
}

fn list(pages: &OwnedAllocator, node: u8, this_node: bool) -> Vec<u8> {
    let mut zones = Vec::new();
    pages.for_each_zonelist(NodeId(node), this_node, &mut |zone| zones.push(zone.0));
    zones
}

fn lists(pages: &OwnedAllocator) -> Vec<Vec<u8>> {
    (0..pages.node_count() as u8).map(|node| list(pages, node, false)).collect()
}

/// Two pairs of nodes; within a pair the distance is 15, between pairs 20.
fn two_pairs() -> Machine {
    let zones: Vec<_> = (0..4).map(|node| (node, ZoneKind::Normal, 4096)).collect();
    let mut machine = machine(4, &[0, 1, 2, 3], &zones);
    machine.distances =
        [[10, 15, 20, 20], [15, 10, 20, 20], [20, 20, 10, 15], [20, 20, 15, 10]].concat();
    machine
}

#[test]
fn fallback_goes_to_near_nodes_first_and_takes_turns_between_equals() {
    // Node 0: 0 and 1 (15 + 1 for its CPU); then 2 and 3 at 21, so 2; loads of 1 and 2 are 1 now.
    // Node 1: 0 at 17; then 2 at 21 with load 1 and 3 at 21 without: 3.
    // Node 2: 3 at 16; then 0 and 1 at 22, each with load 1: 0, whose load becomes 2.
    // Node 3: 2 at 17; then 0 with load 2, 1 with load 1: 1.
    let pages = build(&two_pairs(), Rules::linux_6_12());
    let expected = [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]];
    assert_eq!(lists(&pages), expected);
    pages.rebuild_zonelists();
    assert_eq!(lists(&pages), expected, "loads begin at 0 with each rebuild");
}

#[test]
fn a_decreasing_load_ranks_otherwise() {
    // As above, but the loads after nodes 0 to 2 are 2, 3, 2, 3: node 3 goes to 0 before 1.
    let rules = Rules { node_load: NodeLoad::Decreasing, ..Rules::linux_6_12() };
    let pages = build(&two_pairs(), rules);
    assert_eq!(lists(&pages), [[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 0, 1]]);
    // Here node 0 is near to 1 and 3. Its list gives node 2, the last, a load of 1; those of nodes 1
    // and 2 do not change it, while 1 got 3: node 3 goes to 2 before 1. A value that did not fall
    // would give 1 and 2 the same load.
    let mut star = two_pairs();
    star.distances =
        [[10, 15, 20, 15], [15, 10, 20, 20], [20, 20, 10, 20], [15, 20, 20, 10]].concat();
    let pages = build(&star, rules);
    assert_eq!(lists(&pages), [[0, 1, 3, 2], [1, 0, 3, 2], [2, 3, 0, 1], [3, 0, 2, 1]]);
}

#[test]
fn nodes_without_cpus_are_preferred_and_those_without_memory_left_out() {
    // Node 0 falls back to 1, which has no CPU: 20 × 64 against 21 × 64 of node 2. Node 1 to 2: 21
    // against 22 of node 0, which comes before it. Node 3 has a CPU and no memory.
    let zones =
        [(0, ZoneKind::Normal, 4096), (1, ZoneKind::Normal, 4096), (2, ZoneKind::Normal, 4096)];
    let pages = build(&machine(4, &[0, 2, 3], &zones), Rules::linux_6_12());
    // Node 2 falls back to 1: 21 for the lower id, against 22 of node 0 (a CPU as well). Node 3 to 1,
    // then to 0: both have 22, but the load of 2 is 1 since the list of node 1.
    assert_eq!(lists(&pages), [vec![0, 1, 2], vec![1, 2, 0], vec![2, 1, 0], vec![1, 0, 2]]);
    assert_eq!((list(&pages, 2, true), list(&pages, 3, true)), (vec![2], vec![]));
    assert_eq!(list(&pages, 9, false), []);
    // A CPU without memory is served by the first of its list; only its own node it cannot have.
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let pfn = pages.alloc_pages(CpuId(2), request).page().unwrap();
    assert!((4096..8192).contains(&pfn.0));
    let numa = pages.zone_state(ZoneIdx(1)).numa;
    let expected = NumaCounters { hit: 1, other: 1, ..NumaCounters::default() };
    assert_eq!(numa, expected, "preferred by the list, but not the CPU's own");
    let only = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE);
    assert_eq!(pages.alloc_pages(CpuId(2), only), Outcome::Refused(Refusal::NoZone));
    let nowhere = request.on(NodeId(4));
    assert_eq!(pages.alloc_pages(CPU0, nowhere), Outcome::Refused(Refusal::NoZone));
}

fn low_and_normal(low: u64, normal: [u64; 2]) -> Machine {
    let zones = [
        (0, ZoneKind::Dma32, low),
        (0, ZoneKind::Normal, normal[0]),
        (1, ZoneKind::Normal, normal[1]),
    ];
    machine(2, &[0, 1], &zones)
}

#[test]
fn zones_by_kind_or_by_node() {
    let machine = low_and_normal(2048, [4096, 4096]);
    let by = |order| {
        let rules = Rules { zonelist_order: order, ..Rules::linux_6_12() };
        lists(&build(&machine, rules))
    };
    assert_eq!(by(ZonelistOrder::Node), [[1, 0, 2], [2, 1, 0]]);
    assert_eq!(by(ZonelistOrder::Zone), [[1, 2, 0], [2, 1, 0]]);
    let pages = build(&machine, Rules::linux_6_12());
    pages.set_zonelist_order(ZonelistOrder::Zone);
    assert_eq!(list(&pages, 0, false), [1, 2, 0]);
    assert_eq!(list(&pages, 0, true), [1, 0], "one node is always in order of its zones");
    // A copy has the lists of its original, and changes alone.
    let copy = pages.clone();
    copy.set_zonelist_order(ZonelistOrder::Node);
    assert_eq!((list(&pages, 0, false), list(&copy, 0, false)), (vec![1, 2, 0], vec![1, 0, 2]));
}

#[test]
fn the_heuristic_keeps_low_memory_where_it_is_scarce() {
    let rules = Rules { zonelist_order: ZonelistOrder::Heuristic, ..Rules::linux_6_12() };
    let by_kind = |machine: &Machine| list(&build(machine, rules), 0, false) == [1, 2, 0];
    assert!(by_kind(&low_and_normal(2048, [4096, 4096])), "a small part");
    assert!(!by_kind(&low_and_normal(8192, [2048, 2048])), "more than half");
    // 3072 of node 0's 4096 are low, above 70 %; it holds more than a third of 8192.
    assert!(!by_kind(&low_and_normal(3072, [1024, 4096])), "one node is mostly low");
    // The same share, but less than a third of all.
    assert!(by_kind(&low_and_normal(3072, [1024, 16384])), "a small node is mostly low");
    let mut without_normal = low_and_normal(2048, [4096, 4096]);
    without_normal.zones[2].kind = ZoneKind::Movable;
    assert_eq!(list(&build(&without_normal, rules), 0, false), [1, 0, 2], "no Normal on node 1");
}

#[test]
fn the_heuristic_decides_at_its_edges() {
    let rules = Rules { zonelist_order: ZonelistOrder::Heuristic, ..Rules::linux_6_12() };
    // Node 0 comes to its zones (1 before 0) before those of others in node order alone.
    let by_kind = |machine: &Machine| list(&build(machine, rules), 0, false)[1] != 0;
    let alike = |low, normal| {
        let of = |node| [(node, ZoneKind::Dma32, low), (node, ZoneKind::Normal, normal)];
        machine(2, &[0, 1], &[of(0), of(1)].concat())
    };
    assert!(by_kind(&alike(4096, 4096)), "low is half, not more");
    assert!(!by_kind(&alike(6144, 4096)), "more than half, though no node is mostly low");
    assert!(by_kind(&low_and_normal(7168, [3072, 8192])), "70 %, not more");
    assert!(!by_kind(&low_and_normal(7680, [2560, 8192])), "75 %");
    assert!(by_kind(&low_and_normal(3072, [1024, 8192])), "75 % of a third, not more");
    // Of three nodes the last has memory, but no Normal zone.
    let mut three = low_and_normal(2048, [4096, 4096]);
    three.nodes = 3;
    let last = PfnRange::new(10_240, 14_336);
    assert!(by_kind(&three), "a node without memory does not count");
    three.zones.push(ZoneSpan::new(ZoneKind::Movable, last).on(NodeId(2)));
    assert!(!by_kind(&three));
}

#[test]
fn a_node_comes_first_on_its_own_list_however_near_others_are() {
    // Node 2 has the CPU and, since the list of node 0, a load: it is as far from itself as node 3.
    let zones: Vec<_> = (0..4).map(|node| (node, ZoneKind::Normal, 4096)).collect();
    let mut machine = machine(4, &[2], &zones);
    machine.distances =
        [[10, 20, 12, 20], [20, 10, 12, 25], [12, 12, 10, 11], [20, 25, 11, 10]].concat();
    assert_eq!(list(&build(&machine, Rules::linux_6_12()), 2, false), [2, 3, 0, 1]);
}

#[test]
fn zones_without_managed_pages_are_on_no_list() {
    let zones: Vec<_> = (0..4).map(|node| (node, ZoneKind::Normal, 4096)).collect();
    let mut machine = machine(4, &[0], &zones);
    machine.reserved.push(PfnRange::new(4096, 8192));
    let pages = build(&machine, Rules::linux_6_12());
    // The list of node 0 gives node 2 a load: from node 1, node 3 comes before it.
    assert_eq!(lists(&pages), [vec![0, 2, 3], vec![3, 2, 0], vec![2, 3, 0], vec![3, 2, 0]]);
    assert_eq!(list(&pages, 1, true), []);
    let mut machine = low_and_normal(4096, [4096, 4096]);
    machine.reserved.push(PfnRange::new(0, 4096));
    assert_eq!(lists(&build(&machine, Rules::linux_6_12())), [[1, 2], [2, 1]]);
}

#[test]
fn a_cpu_counts_against_a_node_as_much_as_an_earlier_place() {
    // From node 0, node 1 has a CPU (21) and node 2 has none (20).
    let zones: Vec<_> = (0..3).map(|node| (node, ZoneKind::Normal, 4096)).collect();
    let pages = build(&machine(3, &[0, 1], &zones), Rules::linux_6_12());
    assert_eq!(list(&pages, 0, false), [0, 2, 1]);
}

#[test]
fn lists_of_nodes_with_all_kinds_do_not_meet() {
    let kinds = [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal, ZoneKind::Movable];
    let zones: Vec<_> =
        [0, 1].iter().flat_map(|node| kinds.map(|kind| (*node, kind, 2048))).collect();
    let pages = build(&machine(2, &[0, 1], &zones), Rules::linux_6_12());
    for _ in 0..3 {
        assert_eq!(list(&pages, 0, false), [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(list(&pages, 1, false), [7, 6, 5, 4, 3, 2, 1, 0]);
        assert_eq!(
            (list(&pages, 0, true), list(&pages, 1, true)),
            (vec![3, 2, 1, 0], vec![7, 6, 5, 4])
        );
        // Both copies.
        pages.rebuild_zonelists();
    }
}

#[test]
fn masks_and_cpusets_restrict() {
    let zones: Vec<_> = (0..3).map(|node| (node, ZoneKind::Normal, 4096)).collect();
    let pages = build(&machine(3, &[0, 1, 2], &zones), Rules::linux_6_12());
    let node_of = |request| pages.alloc_pages(CPU0, request).page().map(|pfn| pfn.0 / 4096);
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let task = |mask| Task { mems: NodeMask(mask), ..Task::default() };
    assert_eq!(node_of(request), Some(0));
    assert_eq!(node_of(request.on(NodeId(2))), Some(2));
    assert_eq!(node_of(request.within(NodeMask(0b110))), Some(1));
    // A cpuset alone is a mask; with a mask the preferred zone is the mask's first, and zones out of
    // the cpuset are passed over.
    assert_eq!(node_of(request.by(task(0b100))), Some(2));
    assert_eq!(node_of(request.within(NodeMask(0b110)).by(task(0b100))), Some(2));
    let foreign = pages.zone_state(ZoneIdx(1)).numa.foreign;
    assert_eq!(foreign, 1, "node 1 was preferred, node 2 served");
    assert_eq!(pages.zone_state(ZoneIdx(2)).numa.miss, 1);
    assert_eq!(pages.clone().zone_state(ZoneIdx(2)).numa, pages.zone_state(ZoneIdx(2)).numa);
    // An explicit attempt minds the cpuset only if it is told to.
    let explicit = |flags| request.at(Mark::Low, flags).by(task(0b100));
    assert_eq!(node_of(explicit(AllocFlags::empty())), Some(0));
    assert_eq!(node_of(explicit(AllocFlags::CPUSET)), Some(2));
    let none = pages.alloc_pages(CPU0, request.within(NodeMask::NONE));
    assert_eq!(none, Outcome::Refused(Refusal::NoZone));
    // hit + miss = local + other = operations.
    let (mut operations, mut local) = (0, 0);
    for zone in 0..3 {
        let numa = pages.zone_state(ZoneIdx(zone)).numa;
        operations += numa.hit + numa.miss;
        local += numa.local;
        assert_eq!(numa.hit + numa.miss, numa.local + numa.other);
    }
    assert_eq!((operations, local), (7, 2));
}

#[test]
fn bulk_stays_on_the_node() {
    let zones = [(0, ZoneKind::Normal, 4096), (1, ZoneKind::Normal, 4096)];
    let pages = build(&machine(2, &[0, 1], &zones), Rules::linux_6_12());
    let mut slots = [None; 8];
    assert_eq!(pages.alloc_bulk(CPU1, Gfp::KERNEL, &mut slots), 8);
    assert!(slots.iter().flatten().all(|pfn| pfn.0 >= 4096));
    // Where the node has no room for all, one page comes by the single way.
    let drain = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE);
    while pages.alloc_pages(CPU1, drain).page().is_some() {}
    let mut slots = [None; 8];
    assert_eq!(pages.alloc_bulk(CPU1, Gfp::KERNEL, &mut slots), 1);
    assert!(slots[0].unwrap().0 < 4096);
}

#[test]
fn sizes_follow_the_node() {
    let zones = [
        (0, ZoneKind::Dma32, 65536),
        (0, ZoneKind::Normal, 65536),
        (1, ZoneKind::Normal, 65536),
        (2, ZoneKind::Normal, 65536),
    ];
    // Three CPUs on node 0, one on node 1, none on node 2.
    let pages = build(&machine(3, &[0, 0, 0, 1], &zones), Rules::linux_6_12());
    // Zones of other nodes are not held back for: 65536 / 256 on node 0, not three times that.
    assert_eq!(pages.zone_state(ZoneIdx(0)).lowmem_reserve[2], 256);
    // min_free_kbytes over all nodes: √(16 × 1048576) = 4096 KiB, 1024 pages, a quarter each.
    for zone in 0..4 {
        assert_eq!(pages.zone_state(ZoneIdx(zone)).marks, [256, 321, 386, 451]);
    }
    // high_min: LOW = 321 and high_max: 65536 / 8 shared by 3, 1 and (no CPU) all 4; batch is 15.
    for (zone, high_min, high_max) in [(1, 107, 2730), (2, 321, 8192), (3, 80, 2048)] {
        let pcp = pages.pcp_state(CPU0, ZoneIdx(zone));
        assert_eq!((pcp.high_min, pcp.high_max), (high_min, high_max), "zone {zone}");
    }
    // A CPU fewer on node 0.
    pages.cpu_dead(CPU0, CPU1);
    assert_eq!(pages.pcp_state(CPU0, ZoneIdx(1)).high_min, 160);
    assert_eq!(pages.pcp_state(CPU0, ZoneIdx(2)).high_min, 321);
    assert_eq!(pages.pcp_state(CPU0, ZoneIdx(3)).high_min, 107);
}

#[test]
fn lists_of_another_nodes_pages_expire() {
    let zones = [(0, ZoneKind::Normal, 16384), (1, ZoneKind::Normal, 16384)];
    for (rules, keeps_awake) in [(Rules::linux_6_12(), true), (Rules::linux_6_1(), false)] {
        let pages = build(&machine(2, &[0, 1], &zones), rules);
        let far = Request::new(Order::ZERO, Gfp::KERNEL).on(NodeId(1));
        pages.alloc_pages(CPU0, far).page().unwrap();
        let state = |zone| pages.pcp_state(CPU0, ZoneIdx(zone));
        let count = state(1).count;
        assert_eq!((count, state(1).batch), (2, 3));
        // The refill of 3 left a diff: expire becomes 3 and counts down at once.
        assert!(pages.tick(CPU0), "a diff was folded");
        assert_eq!(state(1).expire, 2);
        for expire in [1, 0] {
            let left = pages.tick(CPU0);
            assert_eq!(state(1).expire, expire);
            assert_eq!(left, expire == 0 || keeps_awake || state(1).high > state(1).high_min);
        }
        assert_eq!(state(1).count, 0, "drained");
        // Of one's own node nothing expires.
        pages.alloc_pages(CPU0, Request::new(Order::ZERO, Gfp::KERNEL)).page().unwrap();
        pages.tick(CPU0);
        assert_eq!((state(0).count, state(0).expire), (2, 0));
    }
}

#[test]
fn mixing_at_home_comes_before_other_nodes() {
    // Node 0 has a DMA32 zone, so first attempts on it avoid mixing; its Normal zone is full of
    // Movable pageblocks with room only in parts of them.
    let zones =
        [(0, ZoneKind::Dma32, 2048), (0, ZoneKind::Normal, 16384), (1, ZoneKind::Normal, 16384)];
    let pages = build(&machine(2, &[0, 1], &zones), Rules::linux_6_12());
    pages.pcp_disable(CPU0, ZoneIdx(1));
    // DMA32 is full.
    let low = Request::new(Order::of(9), Gfp::DMA32).at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while pages.alloc_pages(CPU0, low).page().is_some() {}
    let movable = Request::new(Order::of(9), Gfp::HIGHUSER_MOVABLE | Gfp::THISNODE);
    let at = movable.at(Mark::Min, AllocFlags::NO_WATERMARKS);
    let blocks: Vec<_> = (0..32).map(|_| pages.alloc_pages(CPU0, at).page().unwrap()).collect();
    // Take the huge blocks apart: half of each comes free.
    let half = Order::of(8);
    blocks.iter().for_each(|pfn| pages.free_pages(CPU0, *pfn, Order::of(9)));
    let small = Request { order: half, ..at };
    let halves: Vec<_> = (0..64).map(|_| pages.alloc_pages(CPU0, small).page().unwrap()).collect();
    halves.iter().step_by(2).for_each(|pfn| pages.free_pages(CPU0, *pfn, half));
    let got = pages.alloc_pages(CPU0, Request::new(Order::ZERO, Gfp::KERNEL)).page().unwrap();
    assert!((2048..18432).contains(&got.0), "mixed into node 0's Normal zone, but got {got}");
}
