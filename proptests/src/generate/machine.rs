//! Machines, rules and tunables.

use super::Rng;
use crate::script::names::SWITCHES;
use mmspec_model::vocab::{
    DrainScheme, FairPolicy, LOCAL_DISTANCE, Machine, NodeId, Order, PcpOrders, PcpTuning, Pfn,
    PfnRange, Rules, Tunables, ZoneIdx, ZoneKind, ZoneSpan,
};

/// Frames of most machines: enough for several pageblocks, few enough to fill.
const MOST_FRAMES: u64 = 2048;

/// A machine with the edges that break allocators: zones that start at frame 0 or nowhere round,
/// one frame short or long of a power of two, holes, pageblocks as large as the largest block or
/// much smaller.
#[must_use]
pub fn machine(rng: &mut Rng) -> Machine {
    loop {
        let machine = candidate(rng);
        if machine.validate().is_ok() && has_memory(&machine) {
            return machine;
        }
    }
}

/// Every zone must have at least one managed frame: an unmanaged zone is legal but makes all
/// requests futile.
fn has_memory(machine: &Machine) -> bool {
    let borrowed = machine.as_ref();
    machine
        .zones
        .iter()
        .all(|zone| (zone.span.start.0..zone.span.end.0).any(|pfn| borrowed.is_managed(Pfn(pfn))))
}

fn candidate(rng: &mut Rng) -> Machine {
    let cpus = 1 + rng.weighted(&[2, 5, 2, 2]) as u16;
    let max_order = *rng.pick(&[2_u8, 3, 4, 4, 5, 5, 6, 7, 8, 9, 10, 10]);
    let pageblock_order = match rng.weighted(&[3, 3, 5]) {
        0 => max_order,
        1 => max_order - 1,
        _ => rng.below(u64::from(max_order)) as u8,
    };
    let pageblock = Order::of(pageblock_order);
    let thp_order = if pageblock <= Order::COSTLY || rng.percent(20) {
        None
    } else if rng.percent(70) {
        Some(pageblock)
    } else {
        Some(Order::of(rng.between(4, u64::from(pageblock_order)) as u8))
    };
    let mut machine = Machine {
        max_order: Order::of(max_order),
        pageblock_order: pageblock,
        thp_order,
        cma_built: rng.percent(35),
        free_high_batch: rng.percent(50),
        ..Machine::new(cpus, &[])
    };
    zones(rng, &mut machine);
    if rng.percent(30) {
        nodes(rng, &mut machine);
    }
    for _ in 0..rng.weighted(&[5, 3, 2, 1]) {
        let range = small_range(rng, &machine);
        machine.holes.push(range);
    }
    for _ in 0..rng.weighted(&[5, 3, 2, 1]) {
        let range = small_range(rng, &machine);
        machine.reserved.push(range);
    }
    if machine.cma_built {
        for _ in 0..rng.below(3) {
            cma(rng, &mut machine);
        }
    }
    machine
}

fn zones(rng: &mut Rng, machine: &mut Machine) {
    let block = machine.max_order.pages();
    let total = total_frames(rng, machine);
    let mut start = match rng.weighted(&[5, 2, 2, 1]) {
        0 => 0,
        1 => block,
        2 => rng.below(2 * block),
        _ => block - 1,
    };
    let kinds: &[ZoneKind] = match rng.weighted(&[6, 1, 3, 2, 1, 2]) {
        0 => &[ZoneKind::Normal],
        1 => &[ZoneKind::Dma32],
        2 => &[ZoneKind::Dma32, ZoneKind::Normal],
        3 => &[ZoneKind::Normal, ZoneKind::Movable],
        4 => &[ZoneKind::Dma, ZoneKind::Normal],
        _ => &[ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal],
    };
    let mut left = total;
    for (at, kind) in kinds.iter().enumerate() {
        let last = at + 1 == kinds.len();
        let share = if last { left } else { (total * rng.between(1, 5) / 8).min(left) };
        let length = if last || rng.percent(40) { share } else { share / block * block }.max(1);
        let span = PfnRange::new(start, start + length);
        machine.zones.push(ZoneSpan::new(*kind, span));
        left = left.saturating_sub(length);
        let gap = if rng.percent(25) { rng.below(block + 2) } else { 0 };
        start = span.end.0 + gap;
    }
}

/// Spread the machine over nodes: cut its zones in two or three, some nodes without memory, some without
/// CPUs, distances of all kinds.
fn nodes(rng: &mut Rng, machine: &mut Machine) {
    let nodes = rng.between(2, 5) as u8;
    machine.nodes = nodes;
    let any = |rng: &mut Rng| NodeId(rng.below(u64::from(nodes)) as u8);
    if rng.percent(80) {
        machine.cpu_nodes = (0..machine.cpus).map(|_| any(rng)).collect();
    }
    if rng.percent(60) {
        for from in 0..nodes {
            for to in 0..nodes {
                let far = *rng.pick(&[20, 20, 21, 15, 30, 40]);
                machine.distances.push(if from == to { LOCAL_DISTANCE } else { far });
            }
        }
    }
    let mut node = u8::from(rng.percent(20));
    let mut cut = Vec::new();
    for zone in &machine.zones {
        let mut span = zone.span;
        let last = zone.kind >= ZoneKind::Normal || machine.zones.len() == 1;
        while last && node + 1 < nodes && span.len() > 8 && rng.percent(70) {
            let length = rng.between(4, span.len() - 4);
            let end = Pfn(span.start.0 + length);
            cut.push(
                ZoneSpan::new(zone.kind, PfnRange { start: span.start, end }).on(NodeId(node)),
            );
            span.start = end;
            node = (node + 1 + u8::from(rng.percent(15))).min(nodes - 1);
        }
        cut.push(ZoneSpan::new(zone.kind, span).on(NodeId(node)));
        if zone.kind >= ZoneKind::Normal && node + 1 < nodes && rng.percent(30) {
            node += 1;
        }
    }
    machine.zones = cut;
}

fn total_frames(rng: &mut Rng, machine: &Machine) -> u64 {
    let block = machine.max_order.pages();
    if rng.percent(3) {
        // Large enough for a refill batch above 1 (page_alloc.md §2.2).
        return *rng.pick(&[16_384, 16_385, 20_000, 40_960]);
    }
    let most = MOST_FRAMES.max(2 * block);
    let round = match rng.weighted(&[4, 3, 2]) {
        0 => 1 << rng.between(5, 10),
        1 => block * rng.between(1, 8),
        _ => rng.between(16, 600),
    };
    let exact: u64 = match rng.weighted(&[5, 2, 2]) {
        0 => round,
        1 => round - 1,
        _ => round + 1,
    };
    exact.clamp(4, most)
}

fn any_frame(rng: &mut Rng, machine: &Machine) -> u64 {
    let zone = rng.pick(&machine.zones);
    rng.between(zone.span.start.0, zone.span.end.0 - 1)
}

/// One to a few frames somewhere; sometimes a whole pageblock or the first frames of a zone.
fn small_range(rng: &mut Rng, machine: &Machine) -> PfnRange {
    let start = match rng.weighted(&[6, 1, 2]) {
        0 => any_frame(rng, machine),
        1 => rng.pick(&machine.zones).span.start.0,
        _ => {
            any_frame(rng, machine) / machine.pageblock_order.pages()
                * machine.pageblock_order.pages()
        }
    };
    let length = match rng.weighted(&[5, 3, 1]) {
        0 => 1,
        1 => rng.between(1, 9),
        _ => machine.pageblock_order.pages(),
    };
    PfnRange::new(start, start + length)
}

/// One CMA range if a place is found at once.
fn cma(rng: &mut Rng, machine: &mut Machine) {
    let pages = machine.pageblock_order.pages();
    let start = any_frame(rng, machine) / pages * pages;
    machine.cma.push(PfnRange::new(start, start + pages * rng.between(1, 2)));
    if machine.validate().is_err() {
        machine.cma.pop();
    }
}

/// Switches that can be set alone: those that name an era of list keeping (fallback, types,
/// merging, flags) come as a set.
const ALONE: [&str; 17] = [
    "pcp_tuning",
    "thp_lists",
    "highatomic_access",
    "highatomic_free_only",
    "free_high_half_min",
    "direct_free_counted",
    "below_high",
    "drain_loop",
    "movable_is_lowmem",
    "merge_retype",
    "fair_policy",
    "zonelist_order",
    "node_load",
    "mark_gaps",
    "free_check",
    "avoid_awake_nodes",
    "reserve_index",
];

/// How often, in a hundred, drains queue work items as up to 5.19.
const WORK_ITEM_PERCENT: u64 = 20;

/// Rules: mostly Linux 6.12, then 6.18, 6.1, and kernels that never were.
#[must_use]
pub fn rules(rng: &mut Rng) -> Rules {
    let mut rules = kernel(rng);
    if rng.percent(WORK_ITEM_PERCENT) {
        rules.drain_scheme = DrainScheme::WorkItem;
    }
    rules
}

fn kernel(rng: &mut Rng) -> Rules {
    match rng.weighted(&[6, 3, 1, 2, 2]) {
        0 => Rules::linux_6_12(),
        1 => Rules::linux_6_18(),
        2 => Rules::linux_6_1(),
        4 => {
            let fair_policy = *rng.pick(&[
                FairPolicy::V3_17,
                FairPolicy::V3_17,
                FairPolicy::V3_16,
                FairPolicy::Draft,
                FairPolicy::V4_7,
            ]);
            Rules { fair_policy, ..Rules::linux_3_17() }
        }
        _ => {
            let mut rules =
                *rng.pick(&[Rules::linux_6_12(), Rules::linux_6_12_29(), Rules::linux_6_18()]);
            for _ in 0..rng.between(1, 4) {
                let name = *rng.pick(&ALONE);
                let switch = SWITCHES.iter().find(|switch| switch.name == name);
                if let Some(switch) = switch {
                    let value = rng.below(switch.values.len() as u64) as usize;
                    (switch.set)(&mut rules, value);
                    if rules.pcp_tuning == PcpTuning::Fixed {
                        // See `differential::unspecified`.
                        rules.pcp_orders = PcpOrders::Zero;
                    }
                }
            }
            rules
        }
    }
}

/// Tunables that keep a small machine usable but under pressure.
#[must_use]
pub fn tunables(rng: &mut Rng, machine: &Machine) -> Tunables {
    let defaults = Tunables::default();
    let frames: u64 = machine.zones.iter().map(|zone| zone.span.len()).sum();
    // A mark is a share of the memory, from nothing to more than there is.
    let min_free_kbytes = match rng.weighted(&[3, 5, 2, 1]) {
        0 => None,
        1 => Some(4 * rng.below(frames / 8 + 2) as u32),
        2 => Some(4 * rng.below(frames / 2 + 2) as u32),
        _ => Some(rng.below(8 * frames) as u32),
    };
    Tunables {
        min_free_kbytes,
        watermark_scale_factor: *rng.pick(&[10, 10, 10, 1, 100, 1000, 3000]),
        watermark_boost_factor: *rng.pick(&[15_000, 15_000, 0, 5_000, 40_000]),
        lowmem_reserve_ratio: if rng.percent(60) {
            defaults.lowmem_reserve_ratio
        } else {
            [(); 4].map(|()| *rng.pick(&[0, 1, 2, 8, 32, 256]))
        },
        percpu_pagelist_high_fraction: *rng.pick(&[0, 0, 0, 0, 8, 9, 64]),
        pcp_batch_scale_max: *rng.pick(&[5, 5, 5, 0, 1, 2, 6]),
    }
}

/// Any zone of the machine.
pub(super) fn zone(rng: &mut Rng, machine: &Machine) -> ZoneIdx {
    ZoneIdx(rng.below(machine.zones.len() as u64) as u8)
}

/// Any frame that a zone spans.
pub(crate) fn frame(rng: &mut Rng, machine: &Machine) -> Pfn {
    Pfn(any_frame(rng, machine))
}
