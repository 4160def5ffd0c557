//! Zonelists against lists worked by hand from the formulas of page_alloc.md §4.1.

use mmspec_model::contract::Nodes;
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    Machine, NodeId, NodeLoad, Order, PfnRange, Rules, Tunables, ZoneKind, ZoneSpan, ZonelistOrder,
};

const DMA32: ZoneKind = ZoneKind::Dma32;
const NORMAL: ZoneKind = ZoneKind::Normal;
const MOVABLE: ZoneKind = ZoneKind::Movable;

/// A machine of `nodes` nodes; zones by node, kind and pages, one after another in address.
fn machine(nodes: u8, cpus: &[u8], zones: &[(u8, ZoneKind, u64)], distances: &[u8]) -> Machine {
    let mut machine = Machine::new(cpus.len() as u16, &[]);
    machine.nodes = nodes;
    machine.cpu_nodes = cpus.iter().map(|node| NodeId(*node)).collect();
    machine.distances = distances.to_vec();
    (machine.max_order, machine.pageblock_order) = (Order::of(4), Order::of(3));
    machine.thp_order = None;
    let mut at = 0;
    for &(node, kind, pages) in zones {
        let span = PfnRange::new(at, at + pages);
        machine.zones.push(ZoneSpan::new(kind, span).on(NodeId(node)));
        at += pages.next_multiple_of(64);
    }
    machine
}

fn rules(order: ZonelistOrder, load: NodeLoad) -> Rules {
    Rules { zonelist_order: order, node_load: load, ..Rules::linux_6_12() }
}

/// The list of `node` as (node, kind).
fn list(machine: &Machine, rules: Rules, node: u8, this_node: bool) -> Vec<(u8, ZoneKind)> {
    let reference = Reference::new(machine, rules, Tunables::default()).unwrap();
    let mut found = Vec::new();
    reference.for_each_zonelist(NodeId(node), this_node, &mut |zone| {
        let zone = &machine.zones[zone.index()];
        found.push((zone.node.0, zone.kind));
    });
    found
}

/// The order of the nodes in the list of each node.
fn node_orders(machine: &Machine, load: NodeLoad) -> Vec<Vec<u8>> {
    (0..machine.nodes)
        .map(|node| {
            let mut nodes: Vec<u8> = list(machine, rules(ZonelistOrder::Node, load), node, false)
                .into_iter()
                .map(|(node, _)| node)
                .collect();
            nodes.dedup();
            nodes
        })
        .collect()
}

fn four(cpus: &[u8], distances: &[u8]) -> Machine {
    let zones = [(0, NORMAL, 256), (1, NORMAL, 256), (2, NORMAL, 256), (3, NORMAL, 256)];
    machine(4, cpus, &zones, distances)
}

const EACH: [u8; 4] = [0, 1, 2, 3];

/// All distances equal: `n < node` makes higher ids nearer, and each list begins its fallback where
/// the list before did not: loads of 1 decide among the higher ids.
#[test]
fn loads_spread_the_first_fallback() {
    // List 0: 1, 2, 3 all score 21·64; the lowest id wins. Its distance (20) is new: load[1] = 1.
    // List 1: 2 and 3 score 21·64, 0 scores 22·64. 2 first: load[2] = 1; 3; 0.
    // List 2: 3 scores 21·64, 0 22·64, 1 22·64 + 1. load[3] = 1.
    // List 3: 0 scores 22·64, 1 22·64 + 1, 2 22·64 + 1.
    let expected = vec![vec![0, 1, 2, 3], vec![1, 2, 3, 0], vec![2, 3, 0, 1], vec![3, 0, 1, 2]];
    assert_eq!(node_orders(&four(&EACH, &[]), NodeLoad::OnNewDistance), expected);
}

/// Asymmetric distances decide before ids and loads.
#[test]
fn distances_decide_first() {
    #[rustfmt::skip]
    let distances = [
        10, 40, 20, 30,
        20, 10, 40, 30,
        30, 20, 10, 20,
        21, 22, 23, 10,
    ];
    // List 2: 1 scores (20 + 1 + 1)·64, 3 scores (20 + 1)·64, 0 scores 32·64.
    let expected = vec![vec![0, 2, 3, 1], vec![1, 0, 3, 2], vec![2, 3, 1, 0], vec![3, 0, 1, 2]];
    assert_eq!(node_orders(&four(&EACH, &distances), NodeLoad::OnNewDistance), expected);
}

/// A node without CPUs counts as one nearer than one with.
#[test]
fn nodes_without_cpus_are_preferred() {
    // List 0: 1 and 2 score 21·64, 3 scores 20·64. List 3: 0 and 1, 2 are lower: 22·64 each.
    let orders = node_orders(&four(&[0, 1, 2], &[]), NodeLoad::OnNewDistance);
    assert_eq!(orders[0], [0, 3, 1, 2]);
    // load[3] = 1 after list 0, but 20·64 + 1 is still below 21·64.
    assert_eq!(orders[1], [1, 3, 2, 0]);
}

/// `OnNewDistance` adds one at each new distance of a list; `Decreasing` sets the value of that
/// place.
#[test]
fn loads_of_both_eras() {
    // Two near pairs: {0, 1} and {2, 3}; far nodes all at 30.
    #[rustfmt::skip]
    let distances = [
        10, 15, 30, 30,
        15, 10, 30, 30,
        30, 30, 10, 15,
        30, 30, 15, 10,
    ];
    let machine = four(&EACH, &distances);
    // Of 6.6. List 0: 1 (new distance: load 1), 2 (new: load 1), 3. List 1: 0 (load 1), then 2 scores
    // 31·64 + 1 and 3 31·64: 3 (load 1), 2. List 2: 3 (load 2); 0 scores 32·64 + 1 as 1 does: 0 (load
    // 2), 1. List 3: 2 (load 2); 0 has load 2, 1 has 1: 1, 0.
    let now = vec![vec![0, 1, 2, 3], vec![1, 0, 3, 2], vec![2, 3, 0, 1], vec![3, 2, 1, 0]];
    assert_eq!(node_orders(&machine, NodeLoad::OnNewDistance), now);
    // Of 3.16. List 0: values 4 (node 0), 3 (node 1: load 3), 2 (node 2: load 2), 1. List 1: 0 gets 3;
    // 3 has 0: 3 gets 2; 2. List 2: 3 gets 3; 0 and 1 have 3: 0 gets 2; 1. List 3: 2 gets 3; 0 has 2, 1
    // has 3: 0.
    let then = vec![vec![0, 1, 2, 3], vec![1, 0, 3, 2], vec![2, 3, 0, 1], vec![3, 2, 0, 1]];
    assert_eq!(node_orders(&machine, NodeLoad::Decreasing), then);
}

/// A node without memory is in no list; its own list begins with the nearest, and its own distance is
/// the one before the first.
#[test]
fn memoryless_nodes() {
    let zones = [(0, NORMAL, 256), (2, NORMAL, 256)];
    let machine = machine(3, &[0, 1, 2], &zones, &[10, 20, 20, 20, 10, 20, 20, 20, 10]);
    // List 0: 2: load 1. List 1: 0 scores (20 + 1 + 1)·64, 2 scores 21·64 + 1.
    let node = rules(ZonelistOrder::Node, NodeLoad::OnNewDistance);
    assert_eq!(list(&machine, node, 0, false), [(0, NORMAL), (2, NORMAL)]);
    assert_eq!(list(&machine, node, 1, false), [(2, NORMAL), (0, NORMAL)]);
    assert_eq!(list(&machine, node, 1, true), []);
    assert_eq!(list(&machine, node, 2, true), [(2, NORMAL)]);
}

/// The loads that the list of a node without memory leaves behind decide a tie in a later list.
#[test]
fn loads_of_a_memoryless_nodes_list() {
    #[rustfmt::skip]
    let distances = [
        10, 20, 20, 30,
        20, 10, 20, 30,
        20, 30, 10, 30,
        30, 30, 30, 10,
    ];
    let zones = [(0, NORMAL, 256), (1, NORMAL, 256), (3, NORMAL, 256)];
    let machine = machine(4, &EACH, &zones, &distances);
    // Of 6.6. List 0: 1 and 3 get 1 each. List 1: 0 gets 1, 3 gets 2. List 2: 0 is at 20, node 2 at 10 of
    // itself: 0 gets 2; 3 gets 3; 1. List 3: 0 has 2, 1 has 1.
    // Of 3.16. List 0: 1 gets 3, 3 gets 2. List 1: 0 gets 3, 3 gets 2. List 2: its first node gets 4: 0;
    // 3 gets 3. List 3: 0 has 4, 1 has 3.
    let expected = vec![vec![0, 1, 3], vec![1, 0, 3], vec![0, 3, 1], vec![3, 1, 0]];
    for load in [NodeLoad::OnNewDistance, NodeLoad::Decreasing] {
        assert_eq!(node_orders(&machine, load), expected, "{load:?}");
    }
}

fn two(first: &[(ZoneKind, u64)], second: &[(ZoneKind, u64)]) -> Machine {
    let of = |node: u8, zones: &[(ZoneKind, u64)]| -> Vec<(u8, ZoneKind, u64)> {
        zones.iter().map(|(kind, pages)| (node, *kind, *pages)).collect()
    };
    machine(2, &[0, 1], &[of(0, first), of(1, second)].concat(), &[])
}

#[test]
fn node_order_and_zone_order() {
    let machine = two(&[(DMA32, 128), (NORMAL, 512)], &[(NORMAL, 512), (MOVABLE, 128)]);
    let by_node = rules(ZonelistOrder::Node, NodeLoad::OnNewDistance);
    let by_zone = rules(ZonelistOrder::Zone, NodeLoad::OnNewDistance);
    let expected = [(0, NORMAL), (0, DMA32), (1, MOVABLE), (1, NORMAL)];
    assert_eq!(list(&machine, by_node, 0, false), expected);
    let expected = [(1, MOVABLE), (0, NORMAL), (1, NORMAL), (0, DMA32)];
    assert_eq!(list(&machine, by_zone, 0, false), expected);
    let expected = [(1, MOVABLE), (1, NORMAL), (0, NORMAL), (0, DMA32)];
    assert_eq!(list(&machine, by_zone, 1, false), expected);
    assert_eq!(list(&machine, by_zone, 0, true), [(0, NORMAL), (0, DMA32)]);
}

/// 3.16's default, at both sides of each of its borders.
#[test]
fn the_heuristic() {
    let heuristic = rules(ZonelistOrder::Heuristic, NodeLoad::Decreasing);
    let sorts_by_zone = |machine: &Machine| {
        let all = |order| list(machine, rules(order, NodeLoad::Decreasing), 0, false);
        let (node, zone) = (all(ZonelistOrder::Node), all(ZonelistOrder::Zone));
        assert_ne!(node, zone, "the machine tells the orders apart");
        list(machine, heuristic, 0, false) == zone
    };
    // A small low part on a node that is mostly Normal.
    let normal = [(NORMAL, 1024)];
    assert!(sorts_by_zone(&two(&[(DMA32, 128), (NORMAL, 512)], &normal)));
    // Low memory is half of all, then more than half; node 0 is 1024 of 2048 ≥ 2048 / 3 and would
    // be mostly low, were it not for its Normal part.
    let low = |pages: u64| two(&[(DMA32, pages), (NORMAL, 512)], &[(NORMAL, 512)]);
    assert!(sorts_by_zone(&low(1024)));
    assert!(!sorts_by_zone(&low(1025)));
    // A node whose low part is 70 % of it, then above. 700 of 1000; all 3048, a third is 1016: too small
    // a node to count, so 1400 of 2000, all 4048.
    let mostly = |low: u64| two(&[(DMA32, low), (NORMAL, 2000 - low)], &[(NORMAL, 2048)]);
    assert!(sorts_by_zone(&mostly(1400)));
    assert!(!sorts_by_zone(&mostly(1401)));
    // A small node of nearly nothing but low memory: below the average of total / (nodes + 1).
    assert!(sorts_by_zone(&two(&[(DMA32, 900), (NORMAL, 100)], &[(NORMAL, 2048)])));
    // A node with memory but no Normal zone.
    assert!(!sorts_by_zone(&two(&[(DMA32, 128), (NORMAL, 1024)], &[(MOVABLE, 1024)])));
}

/// Without low memory the two orders differ only by Movable zones: node order.
#[test]
fn the_heuristic_without_low_memory() {
    let machine = two(&[(NORMAL, 512)], &[(NORMAL, 512), (MOVABLE, 512)]);
    let heuristic = rules(ZonelistOrder::Heuristic, NodeLoad::Decreasing);
    let expected = [(0, NORMAL), (1, MOVABLE), (1, NORMAL)];
    assert_eq!(list(&machine, heuristic, 0, false), expected);
}

/// Rebuilding gives the same lists: loads begin at 0 again.
#[test]
fn rebuilding_begins_anew() {
    let machine = four(&EACH, &[]);
    let mut reference = Reference::new(&machine, Rules::linux_6_12(), Tunables::default()).unwrap();
    let all = |reference: &Reference| {
        let mut found = Vec::new();
        for node in 0..4 {
            reference.for_each_zonelist(NodeId(node), false, &mut |zone| found.push(zone));
        }
        found
    };
    let before = all(&reference);
    assert_eq!(before.len(), 16);
    reference.rebuild_zonelists();
    assert_eq!(all(&reference), before);
}
