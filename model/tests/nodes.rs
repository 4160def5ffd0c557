//! Several nodes: where requests go, what is counted, and what is shared by node
//! (page_alloc.md §2.3, §2.8, §3.3, §3.8, §4.1 to §4.3, §6.1).

use mmspec_model::contract::{
    BulkAlloc, CpuHotplug, HighAtomicReserve, Nodes, Observe, Outcome, PageAllocator, Refusal,
    Request, StatWorker, Task, TaskFlags, Tuning,
};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, Machine, Mark, MigrateType, NodeId, NodeMask, NumaCounters, Order,
    PfnRange, Rules, Tunables, ZoneFlags, ZoneIdx, ZoneKind, ZoneSpan,
};

const N0: NodeId = NodeId(0);
const N1: NodeId = NodeId(1);
const N2: NodeId = NodeId(2);

/// Zones by node, kind and pages, one after another; the node of each CPU.
fn machine(nodes: u8, cpus: &[u8], zones: &[(u8, ZoneKind, u64)]) -> Machine {
    let mut machine = Machine::new(cpus.len() as u16, &[]);
    machine.nodes = nodes;
    machine.cpu_nodes = cpus.iter().map(|node| NodeId(*node)).collect();
    let mut at = 0;
    for &(node, kind, pages) in zones {
        machine.zones.push(ZoneSpan::new(kind, PfnRange::new(at, at + pages)).on(NodeId(node)));
        at += pages;
    }
    machine
}

/// Node 0: DMA32 and Normal; 1 and 2: Normal. Two CPUs on node 0, one on 1, none on 2.
fn three() -> Machine {
    let zones = [
        (0, ZoneKind::Dma32, 16384),
        (0, ZoneKind::Normal, 32768),
        (1, ZoneKind::Normal, 32768),
        (2, ZoneKind::Normal, 32768),
    ];
    machine(3, &[0, 0, 1], &zones)
}

fn boot(machine: &Machine, rules: Rules) -> Reference {
    Reference::new(machine, rules, Tunables::default()).unwrap()
}

fn now() -> Reference {
    boot(&three(), Rules::linux_6_12())
}

/// The zone that serves.
fn zone_of(r: &mut Reference, cpu: u16, request: Request) -> Option<u8> {
    match r.alloc_pages(CpuId(cpu), request) {
        Outcome::Page(pfn) => r.machine().as_ref().zone_of(pfn).map(|zone| zone.0),
        Outcome::SlowPath => None,
        other => panic!("{other:?}"),
    }
}

/// Everything of one zone is taken, past all marks.
fn drain_zone(r: &mut Reference, cpu: u16, node: NodeId, gfp: Gfp) {
    let request = Request::new(Order::of(5), gfp | Gfp::THISNODE)
        .on(node)
        .at(Mark::Min, AllocFlags::NO_WATERMARKS);
    while r.alloc_pages(CpuId(cpu), request).page().is_some() {}
}

fn kernel() -> Request {
    Request::new(Order::ZERO, Gfp::KERNEL)
}

fn numa(r: &Reference, zone: u8) -> NumaCounters {
    r.zone_state(ZoneIdx(zone)).numa
}

#[test]
fn a_request_begins_at_its_node_or_its_cpus() {
    let mut r = now();
    assert_eq!(zone_of(&mut r, 0, kernel()), Some(1));
    assert_eq!(zone_of(&mut r, 2, kernel()), Some(2));
    assert_eq!(zone_of(&mut r, 0, kernel().on(N2)), Some(3));
    assert_eq!(zone_of(&mut r, 2, Request::new(Order::ZERO, Gfp::KERNEL | Gfp::DMA32)), Some(0));
    let nowhere = r.alloc_pages(CpuId(0), kernel().on(NodeId(3)));
    assert_eq!(nowhere, Outcome::Refused(Refusal::NoZone));
}

/// numa_hit to numa_other, by hand: preferred, serving and running node are different ones.
#[test]
fn numa_counters() {
    let mut r = now();
    drain_zone(&mut r, 0, N2, Gfp::KERNEL);
    let taken = numa(&r, 3).hit;
    assert_eq!(numa(&r, 3), NumaCounters { hit: taken, other: taken, ..Default::default() });
    // Node 2's list: itself, 0 (22 + …), 1. CPU 2 of node 1 asks for node 2, and gets node 0 or 1.
    let mut list = Vec::new();
    r.for_each_zonelist(N2, false, &mut |zone| list.push(zone.0));
    assert_eq!(list, [3, 1, 0, 2]);
    assert_eq!(zone_of(&mut r, 2, kernel().on(N2)), Some(1));
    assert_eq!(numa(&r, 3).foreign, 1);
    assert_eq!(numa(&r, 1), NumaCounters { miss: 1, other: 1, ..Default::default() });
    // Asked for node 1 by a CPU of node 0: a hit, but on another node than the CPU's.
    assert_eq!(zone_of(&mut r, 0, kernel().on(N1)), Some(2));
    assert_eq!(numa(&r, 2), NumaCounters { hit: 1, other: 1, ..Default::default() });
    // A lower zone of the preferred node is a hit of that zone.
    drain_zone(&mut r, 0, N0, Gfp::KERNEL);
    let (low, normal) = (numa(&r, 0), numa(&r, 1));
    assert!(low.hit > 0 && low.foreign == 0 && normal.foreign == 0, "{low:?} {normal:?}");
    identities(&r);
}

/// I11 of §6.6 over all zones.
fn identities(r: &Reference) {
    let all: Vec<NumaCounters> = (0..r.zone_count()).map(|z| numa(r, z as u8)).collect();
    let sum = |of: fn(&NumaCounters) -> u64| -> u64 { all.iter().map(of).sum() };
    assert_eq!(sum(|n| n.miss), sum(|n| n.foreign));
    assert_eq!(sum(|n| n.hit + n.miss), sum(|n| n.local + n.other));
}

#[test]
fn bulk_counts_each_page_and_stays_on_the_node() {
    let mut r = now();
    let mut slots = [None; 5];
    assert_eq!(r.alloc_bulk(CpuId(2), Gfp::KERNEL, &mut slots), 5);
    assert_eq!(numa(&r, 2), NumaCounters { hit: 5, local: 5, ..Default::default() });
    // With the node empty, the first remote zone sends bulk to the single path: one page.
    drain_zone(&mut r, 2, N1, Gfp::KERNEL);
    let mut slots = [None; 5];
    assert_eq!(r.alloc_bulk(CpuId(2), Gfp::KERNEL, &mut slots), 1);
    assert_eq!(numa(&r, 2).foreign, 1);
    identities(&r);
}

#[test]
fn this_node_masks_and_cpusets() {
    let mut r = now();
    drain_zone(&mut r, 0, N1, Gfp::KERNEL);
    let this = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE);
    assert_eq!(zone_of(&mut r, 2, this), None, "no other node");
    assert!(zone_of(&mut r, 2, kernel()).is_some());
    // A mask moves the preferred zone: no miss.
    let mask = NodeMask::only(N2);
    let (foreign, misses) = (numa(&r, 2).foreign, numa(&r, 3).miss);
    assert_eq!(zone_of(&mut r, 2, kernel().within(mask)), Some(3));
    assert_eq!((numa(&r, 3).hit, numa(&r, 2).foreign), (1, foreign));
    let empty = r.alloc_pages(CpuId(0), kernel().within(NodeMask::NONE));
    assert_eq!(empty, Outcome::Refused(Refusal::NoZone));
    // A cpuset alone is the mask.
    let task = Task { mems: NodeMask::only(N2), flags: TaskFlags::empty() };
    assert_eq!(zone_of(&mut r, 0, kernel().by(task)), Some(3));
    assert_eq!(numa(&r, 3).hit, 2);
    // With a mask as well, the cpuset only passes zones over: node 2 is a miss for node 0.
    let both = kernel().within(NodeMask(0b101)).by(task);
    assert_eq!(zone_of(&mut r, 0, both), Some(3));
    assert_eq!((numa(&r, 3).miss, numa(&r, 1).foreign), (misses + 1, 1));
    let apart = kernel().within(NodeMask(0b001)).by(task);
    assert_eq!(zone_of(&mut r, 0, apart), None);
    // An explicit attempt minds the cpuset only if told.
    let explicit = kernel().by(task).at(Mark::Low, AllocFlags::empty());
    assert_eq!(zone_of(&mut r, 0, explicit), Some(1));
    let told = kernel().by(task).at(Mark::Low, AllocFlags::CPUSET);
    assert_eq!(zone_of(&mut r, 0, told), Some(3));
    identities(&r);
}

#[test]
fn memoryless_nodes_and_their_cpus() {
    let zones = [(0, ZoneKind::Normal, 32768), (2, ZoneKind::Normal, 32768)];
    let mut r = boot(&machine(3, &[0, 1, 2], &zones), Rules::linux_6_18());
    // CPU 1's node has nothing: its preferred zone is the nearest one's, so a hit, but not local.
    assert_eq!(zone_of(&mut r, 1, kernel()), Some(1));
    assert_eq!(numa(&r, 1), NumaCounters { hit: 1, other: 1, ..Default::default() });
    let this = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE);
    assert_eq!(r.alloc_pages(CpuId(1), this), Outcome::Refused(Refusal::NoZone));
    identities(&r);
}

/// §4.2: with more than one node only a populated DMA32 below the preferred zone counts.
#[test]
fn who_avoids_fragmentation() {
    // Reclaimable pages below the preferred node's Normal zone: the first attempt takes a whole
    // pageblock from there rather than leave the node.
    let fragments = |node: u16, rules: Rules| {
        let mut machine = three();
        (machine.max_order, machine.pageblock_order) = (Order::of(4), Order::of(3));
        machine.thp_order = None;
        let mut r = boot(&machine, rules);
        // Leave single movable pages only: every pageblock of the zone holds seven held ones.
        let gfp = Gfp::HIGHUSER_MOVABLE | Gfp::THISNODE;
        let take = Request::new(Order::ZERO, gfp).on(NodeId(node as u8));
        let take = take.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        let cpu = CpuId(node * 2);
        let mut held = Vec::new();
        while let Outcome::Page(pfn) = r.alloc_pages(cpu, take) {
            held.push(pfn);
        }
        for pfn in held.iter().filter(|pfn| pfn.0 % 8 == 0) {
            r.free_pages(cpu, *pfn, Order::ZERO);
        }
        (0..3).for_each(|cpu| while r.tick(CpuId(cpu)) {});
        use mmspec_model::contract::CpuCaches;
        r.drain_all(cpu, None);
        let served = zone_of(&mut r, cpu.0, kernel());
        // Each refill of the lists, in vain or not, raises the factor.
        let refills = r.pcp_state(cpu, ZoneIdx(node as u8 + 1)).alloc_factor;
        (served, refills)
    };
    // Node 1 has no DMA32: it takes from its own Normal zone at once though that mixes types.
    assert_eq!(fragments(1, Rules::linux_6_12()), (Some(2), 1));
    // Node 0 has one, which is full of single pages too; the first remote zone ends the avoidance and
    // the scan begins anew: served by its own Normal zone, at the second try.
    assert_eq!(fragments(0, Rules::linux_6_12()), (Some(1), 2));
    let mixes = Rules { nofragment: false, ..Rules::linux_6_12() };
    assert_eq!(fragments(0, mixes), (Some(1), 1));
}

/// A node whose kswapd is awake is passed over first, and taken when nothing else is left.
#[test]
fn awake_nodes_are_avoided() {
    for (rules, first) in [(Rules::linux_6_18(), 3), (Rules::linux_6_12(), 1)] {
        let mut r = boot(&three(), rules);
        wake(&mut r, N0);
        assert!(!r.node_state(N1).kswapd_awake);
        let all = kernel().at(Mark::Min, AllocFlags::NO_WATERMARKS);
        assert_eq!(zone_of(&mut r, 0, all), Some(first));
        let this = Request::new(Order::ZERO, Gfp::KERNEL | Gfp::THISNODE);
        let this = this.at(Mark::Min, AllocFlags::NO_WATERMARKS);
        assert_eq!(zone_of(&mut r, 0, this), Some(1), "the rescan without the rule");
    }
}

/// Where no node is awake there is nothing to scan again for. (Fair rules count the zones.)
#[test]
fn one_pass_where_nobody_is_awake() {
    let fair_policy = mmspec_model::vocab::FairPolicy::V3_16;
    let mut r = boot(&three(), Rules { fair_policy, ..Rules::linux_6_18() });
    let out_of_reach = Tunables { min_free_kbytes: Some(2_000_000), ..Tunables::default() };
    r.set_tunables(out_of_reach).unwrap();
    let explicit = kernel().at(Mark::Low, AllocFlags::empty());
    assert_eq!(zone_of(&mut r, 0, explicit), None);
    assert_eq!(r.events().zones_scanned, 4);
}

/// Mix types on a node until a fallback boosts a zone and has kswapd woken.
fn wake(r: &mut Reference, node: NodeId) {
    let past = |order: u8, gfp: Gfp| {
        let request = Request::new(Order::of(order), gfp | Gfp::THISNODE).on(node);
        request.at(Mark::Min, AllocFlags::NO_WATERMARKS)
    };
    while r.alloc_pages(CpuId(0), past(3, Gfp::HIGHUSER_MOVABLE)).page().is_some()
        && r.alloc_pages(CpuId(0), past(0, Gfp::KERNEL)).page().is_some()
        && !r.node_state(node).kswapd_awake
    {}
    assert!(r.node_state(node).kswapd_awake, "kswapd of node {node} was never woken");
}

/// §3.6, D44: the boost's wake-up records order 0 and the zone's own kind.
#[test]
fn a_boost_wakes_the_zones_node() {
    let mut r = now();
    wake(&mut r, N1);
    let state = r.node_state(N1);
    assert_eq!((state.wakeups, state.kswapd_order), (1, 0));
    assert_eq!(state.kswapd_highest, Some(ZoneKind::Normal));
    assert_eq!(r.zone_state(ZoneIdx(2)).kswapd_wakeups, 1);
    assert!(r.zone_state(ZoneIdx(2)).boost > 0);
    assert_eq!(r.node_state(N0).wakeups, 0);
}

/// Limits by the CPUs of the zone's node; a node without CPUs shares among all (§2.3).
#[test]
fn pcp_limits_by_node() {
    let mut r = now();
    let low = |r: &Reference, z: u8| r.zone_state(ZoneIdx(z)).marks[1];
    let min = |r: &Reference, z: u8| r.pcp_state(CpuId(0), ZoneIdx(z)).high_min;
    let max = |r: &Reference, z: u8| r.pcp_state(CpuId(2), ZoneIdx(z)).high_max;
    assert_eq!(min(&r, 1), low(&r, 1) / 2);
    assert_eq!(min(&r, 2), low(&r, 2));
    assert_eq!(min(&r, 3), low(&r, 3) / 3);
    assert_eq!([max(&r, 1), max(&r, 2), max(&r, 3)], [32768 / 16, 32768 / 8, 32768 / 8 / 3]);
    // Node 1's only CPU goes: then it shares among the two that are left.
    assert!(r.cpu_dead(CpuId(0), CpuId(2)));
    assert_eq!(
        [min(&r, 1), min(&r, 2), min(&r, 3)],
        [low(&r, 1) / 2, low(&r, 2) / 2, low(&r, 3) / 2]
    );
}

/// Marks share min_free_kbytes over all nodes; reserves are of the node alone (§3.2, §3.3).
#[test]
fn marks_over_all_nodes_and_reserves_by_node() {
    let r = now();
    // isqrt(16 × 4 × 114688) = 2709 KiB, 677 pages, shared by 114688 pages.
    assert_eq!(r.min_free_kbytes(), 2709);
    let marks = |z: u8| r.zone_state(ZoneIdx(z)).marks;
    assert_eq!(marks(0), [96, 120, 144, 168]);
    for zone in 1..4 {
        assert_eq!(marks(zone), [193, 241, 289, 337]);
    }
    let reserve = |z: u8| r.zone_state(ZoneIdx(z)).lowmem_reserve;
    assert_eq!(reserve(0), [0, 0, 128, 128, 128]);
    assert_eq!([reserve(1), reserve(2), reserve(3)], [[0; 5]; 3]);
}

/// §2.8, D37: lists of remote zones are drained when three workers' runs saw no use.
#[test]
fn remote_lists_expire() {
    for (rules, keeps_working) in [(Rules::linux_6_12(), true), (Rules::linux_6_1(), false)] {
        let mut r = boot(&three(), rules);
        let pfn = r.alloc_pages(CpuId(2), kernel().on(N0)).page().unwrap();
        let zone = ZoneIdx(1);
        let pcp = |r: &Reference| r.pcp_state(CpuId(2), zone);
        let count = pcp(&r).count;
        assert!(count > 0, "a refill brought more than the page");
        assert!(r.tick(CpuId(2)), "diffs were folded");
        assert_eq!(pcp(&r).expire, 2);
        let left = r.tick(CpuId(2));
        assert_eq!((pcp(&r).expire, pcp(&r).count), (1, count));
        assert!(left || !keeps_working);
        assert!(r.tick(CpuId(2)), "the drain is work");
        let batch = pcp(&r).batch;
        assert_eq!((pcp(&r).expire, pcp(&r).count), (0, count - count.min(batch)));
        // The node's own lists stay.
        let local = r.alloc_pages(CpuId(2), kernel()).page();
        assert!(local.is_some());
        let own = r.pcp_state(CpuId(2), ZoneIdx(2)).count;
        for _ in 0..5 {
            r.tick(CpuId(2));
        }
        let now = r.pcp_state(CpuId(2), ZoneIdx(2));
        assert_eq!((now.count, now.expire), (own, 0));
        r.free_pages(CpuId(2), pfn, Order::ZERO);
    }
}

/// The countdown of 6.6 alone is no work (bug P21).
#[test]
fn the_countdown_as_work() {
    for (rules, works) in [(Rules::linux_6_12(), true), (Rules::linux_6_1(), false)] {
        let mut machine = three();
        machine.cma_built = false;
        let mut r = boot(&machine, rules);
        r.alloc_pages(CpuId(2), kernel().on(N0)).page().unwrap();
        r.tick(CpuId(2));
        let auto_high = {
            let pcp = r.pcp_state(CpuId(2), ZoneIdx(1));
            pcp.high > pcp.high_min
        };
        assert!(!auto_high || works);
        assert_eq!(r.tick(CpuId(2)), works);
    }
}

/// An unreserve follows the list of the running CPU's node (D36).
#[test]
fn unreserve_follows_the_running_node() {
    let mut machine = three();
    (machine.max_order, machine.pageblock_order) = (Order::of(4), Order::of(3));
    machine.thp_order = None;
    let mut r = boot(&machine, Rules::linux_6_12());
    let flags = AllocFlags::HIGHATOMIC;
    for node in [N0, N1] {
        let request = Request::new(Order::of(1), Gfp::ATOMIC).on(node).at(Mark::Min, flags);
        assert!(r.alloc_pages(CpuId(0), request).page().is_some());
    }
    let reserved =
        |r: &Reference| [1, 2].map(|zone| r.zone_state(ZoneIdx(zone)).nr_reserved_highatomic);
    assert_eq!(reserved(&r), [8, 8]);
    assert!(r.unreserve_highatomic(CpuId(2), MigrateType::Movable, true));
    assert_eq!(reserved(&r), [8, 0]);
}

/// §3.8: the threshold of pressure holds while kswapd is up, for zones with a drift mark.
#[test]
fn thresholds_under_pressure() {
    let machine = machine(
        2,
        &[0, 0, 1, 1],
        &[(0, ZoneKind::Dma, 3840), (0, ZoneKind::Normal, 65536), (1, ZoneKind::Normal, 65536)],
    );
    let mut r = boot(&machine, Rules::linux_6_12());
    let state = |r: &Reference, z: u8| {
        let zone = r.zone_state(ZoneIdx(z));
        (zone.stat_threshold, zone.drift_mark)
    };
    // DMA: gap 9, four CPUs of threshold 6 hide 24. Normal: gap 180, threshold 18 hides 72.
    let gap = r.zone_state(ZoneIdx(0)).marks[1] - r.zone_state(ZoneIdx(0)).marks[0];
    let high = r.zone_state(ZoneIdx(0)).marks[2];
    assert!(gap < 24, "{gap}");
    assert_eq!([state(&r, 0), state(&r, 1)], [(6, high + 24), (18, 0)]);
    wake(&mut r, N0);
    assert_eq!(state(&r, 0), (6, high + 24), "kswapd has not run yet");
    let _ = r.kswapd_step(N0, None);
    assert_eq!(state(&r, 0), ((gap / 4).max(1), high + 24));
    assert_eq!(state(&r, 1), (18, 0));
}

/// §3.3: 3.16 asks for the reserve against the preferred zone, 6.x against the highest allowed.
#[test]
fn whose_reserve_decides() {
    // Node 0 has nothing of Normal: DMA32 keeps all its pages from Movable requests, none from Normal ones.
    let zones =
        [(0, ZoneKind::Dma32, 16384), (0, ZoneKind::Movable, 16384), (1, ZoneKind::Normal, 16384)];
    let machine = machine(2, &[0, 1], &zones);
    for (rules, served) in [(Rules::linux_6_12(), None), (Rules::linux_3_17(), Some(0))] {
        let tunables = Tunables { lowmem_reserve_ratio: [1, 1, 1, 1], ..Tunables::default() };
        let mut r = Reference::new(&machine, rules, tunables).unwrap();
        assert_eq!(r.zone_state(ZoneIdx(0)).lowmem_reserve, [0, 0, 0, 16384, 16384]);
        let movable = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
        // Node 1 and node 0's Movable zone are emptied; Normal of node 1 stays the preferred zone.
        drain_zone(&mut r, 1, N1, Gfp::KERNEL);
        while zone_of(&mut r, 0, movable) == Some(1) {}
        assert_eq!(zone_of(&mut r, 1, movable), served);
    }
}

/// A scope of the task holds for its first attempts too (D58).
#[test]
fn pinned_pages_are_not_movable() {
    let zones = [(0, ZoneKind::Normal, 16384), (0, ZoneKind::Movable, 16384)];
    let mut r = boot(&machine(1, &[0], &zones), Rules::linux_6_12());
    let movable = Request::new(Order::ZERO, Gfp::HIGHUSER_MOVABLE);
    assert_eq!(zone_of(&mut r, 0, movable), Some(1));
    let task = Task { flags: TaskFlags::PIN, ..Task::default() };
    assert_eq!(zone_of(&mut r, 0, movable.by(task)), Some(0));
}

/// ZONE_BELOW_HIGH and the failures of a hopeless node (§2.5, 6.18) are of the node's own zones.
#[test]
fn flags_of_nodes_do_not_mix() {
    let mut r = boot(&three(), Rules::linux_6_18());
    drain_zone(&mut r, 2, N1, Gfp::KERNEL);
    assert!(r.zone_flags(ZoneIdx(2)).contains(ZoneFlags::BELOW_HIGH));
    for zone in [0, 1, 3] {
        assert!(!r.zone_flags(ZoneIdx(zone)).contains(ZoneFlags::BELOW_HIGH));
    }
}
