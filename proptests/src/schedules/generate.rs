//! Scripts for threads.

use super::body::concurrent_script;
use crate::generate::walks::{kswapd, walk};
use crate::generate::{self, Limits, Rng};
use crate::script::{Handle, Op, Reply, Script};
use mmspec_model::contract::{Request, SlowReply};
use mmspec_model::vocab::{
    AllocFlags, CpuId, DrainScheme, Gfp, Machine, Mark, MigrateType, NodeId, NodeMask, Order,
    PfnRange, Rules, Tunables, ZoneIdx, ZoneKind, ZoneSpan,
};

/// Operations of one script, for each CPU about a third of them.
const OPERATIONS: usize = 24;

/// How often, in a hundred, the machine is large enough for a refill batch above 1
/// (page_alloc.md §2.2): some races need one, above all those between users of the lists and whoever
/// changes their limits. Booting it takes longer than running the threads.
const fn large_percent(theme: Theme) -> u64 {
    match theme {
        Theme::None => 4,
        Theme::Switches => 30,
        // They set up machines of their own.
        _ => 0,
    }
}

/// What meets too seldom by chance is strewn into some scripts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Theme {
    None,
    /// Isolation and frees past the per-CPU lists.
    Isolation,
    /// CPUs that die and come back.
    Hotplug,
    /// Lists that grow their high marks, and workers that let them decay.
    Decay,
    /// Lists switched off and on.
    Switches,
    /// Drains of all CPUs' lists by work items, among CPUs that die and lists switched off.
    Work,
    /// Walks through the slow path, beside kswapds and rebuilds of the zonelists, on two nodes.
    Walks,
}

/// A script for threads: mostly a small machine with two or three CPUs, so that they meet.
#[must_use]
pub fn script(rng: &mut Rng, case: u64) -> Script {
    let theme = match rng.weighted(&[40, 16, 14, 12, 9, 14, 20]) {
        0 => Theme::None,
        1 => Theme::Isolation,
        2 => Theme::Hotplug,
        3 => Theme::Decay,
        4 => Theme::Switches,
        5 => Theme::Work,
        _ => Theme::Walks,
    };
    let cpus = if rng.percent(60) { 3 } else { 2 };
    let max_order = rng.between(2, 5) as u8;
    let pageblock = rng.between(2, u64::from(max_order)) as u8;
    // High marks have room to move above an eighth of the memory by CPU (page_alloc.md §2.3).
    let frames = if theme == Theme::Decay { 256 } else { *rng.pick(&[16, 31, 64, 64, 128]) };
    let mut machine = Machine::small(cpus, frames, max_order, pageblock);
    machine.thp_order = None;
    if theme == Theme::Walks {
        two_nodes(rng, &mut machine, frames);
    } else if rng.percent(20) {
        let middle = frames / 2 + 1;
        machine.zones =
            Machine::new(1, &[(ZoneKind::Dma32, 0, middle), (ZoneKind::Normal, middle, frames)])
                .zones;
    }
    machine.pageblock_order = Order::of(pageblock);
    if rng.percent(large_percent(theme)) {
        machine = Machine::small(cpus, 12_288, 10, 9);
    }
    let operations = if case % 4 == 3 { 6 } else { OPERATIONS };
    let rules =
        (theme == Theme::Decay).then(|| *rng.pick(&[Rules::linux_6_12(), Rules::linux_6_18()]));
    let limits = Limits { ops: operations, rules };
    let mut script = concurrent_script(generate::script_on(rng, machine, &limits));
    match theme {
        Theme::None => {}
        Theme::Isolation => isolation(rng, &mut script),
        Theme::Hotplug => hotplug(rng, &mut script),
        Theme::Decay => decay(rng, &mut script),
        Theme::Switches => switches(rng, &mut script),
        Theme::Work => work(rng, &mut script),
        Theme::Walks => walks(rng, &mut script),
    }
    script
}

/// A zone of each node, CPUs on both.
fn two_nodes(rng: &mut Rng, machine: &mut Machine, frames: u64) {
    let middle = rng.between(frames / 4, 3 * frames / 4);
    let zone = |start, end, node| {
        ZoneSpan::new(ZoneKind::Normal, PfnRange::new(start, end)).on(NodeId(node))
    };
    machine.nodes = 2;
    machine.zones = vec![zone(0, middle, 0), zone(middle, frames, 1)];
    machine.cpu_nodes = (0..machine.cpus).map(|cpu| NodeId((cpu % 2) as u8)).collect();
}

fn any_cpu(rng: &mut Rng, script: &Script) -> CpuId {
    CpuId(rng.below(u64::from(script.machine.cpus)) as u16)
}

fn strew(rng: &mut Rng, script: &mut Script, op: Op) {
    let at = rng.below(script.ops.len() as u64 + 1) as usize;
    script.ops.insert(at, op);
}

/// At one of the pageblocks from which blocks are handed out first.
fn isolation(rng: &mut Rng, script: &mut Script) {
    if script.machine.pageblock_order < Order::COSTLY {
        // See `differential::unspecified`.
        return;
    }
    let span = rng.pick(&script.machine.zones).span;
    let pages = script.machine.pageblock_order.pages();
    let pfn = span.start.add(rng.below(span.len().min(2 * pages)));
    for _ in 0..rng.between(2, 4) {
        let cpu = any_cpu(rng, script);
        let op = match rng.weighted(&[2, 1, 2]) {
            0 => Op::Isolate { cpu, pfn },
            1 => Op::Unisolate { cpu, pfn, migratetype: MigrateType::Movable },
            _ => Op::FailTrylock { cpu, times: 1 },
        };
        strew(rng, script, op);
    }
}

/// One CPU dies, by another's hand, and comes back.
fn hotplug(rng: &mut Rng, script: &mut Script) {
    let cpu = any_cpu(rng, script);
    for _ in 0..rng.between(1, 3) {
        let by = any_cpu(rng, script);
        strew(rng, script, Op::CpuDead { by, cpu });
        strew(rng, script, Op::CpuOnline { cpu });
    }
}

/// Refills raise a CPU's high marks, then its worker runs.
fn decay(rng: &mut Rng, script: &mut Script) {
    script.tunables = Tunables { min_free_kbytes: Some(0), ..Tunables::default() };
    let cpu = any_cpu(rng, script);
    let defined = script.ops.iter().flat_map(Op::defines).map(|handle| handle.0);
    let next = defined.max().unwrap_or(0) + 1;
    let request = Request::new(Order::ZERO, Gfp::KERNEL);
    let raised = (0..rng.between(4, 8)).map(|at| {
        let handle = Handle(next + at as u32);
        Op::Alloc { cpu, request, handle }
    });
    script.ops.splice(0..0, raised);
    for _ in 0..rng.between(1, 3) {
        script.ops.push(Op::Tick { cpu });
    }
}

/// Drainers wait for the workers of others, who may die or drain themselves.
fn work(rng: &mut Rng, script: &mut Script) {
    script.rules.drain_scheme = DrainScheme::WorkItem;
    for _ in 0..rng.between(2, 5) {
        let by = any_cpu(rng, script);
        let zone = ZoneIdx(rng.below(script.machine.zones.len() as u64) as u8);
        let op = match rng.weighted(&[4, 2, 3, 1]) {
            0 => Op::DrainAll { by, zone: rng.percent(70).then_some(zone) },
            1 => Op::DrainBegin { by, zone: rng.percent(50).then_some(zone) },
            2 => Op::Work { cpu: by },
            _ => Op::PcpDisable { by, zone },
        };
        strew(rng, script, op);
    }
    match rng.weighted(&[3, 4, 3]) {
        0 => {}
        1 => hotplug(rng, script),
        _ => {
            let (by, cpu) = (any_cpu(rng, script), any_cpu(rng, script));
            strew(rng, script, Op::CpuDead { by, cpu });
        }
    }
}

/// Requests that find nothing and walk, while others free, kswapds work and lists are rebuilt.
fn walks(rng: &mut Rng, script: &mut Script) {
    if rng.percent(60) {
        script.rules.drain_scheme = DrainScheme::WorkItem;
    }
    let defined = script.ops.iter().flat_map(Op::defines).map(|handle| handle.0);
    let mut next = defined.max().unwrap_or(0);
    if rng.percent(60) {
        // Marks that no memory is above.
        let pages: u64 = script.machine.zones.iter().map(|zone| zone.span.len()).sum();
        let min_free_kbytes = Some(4 * rng.between(3 * pages / 4, 3 * pages / 2) as u32);
        script.tunables = Tunables { min_free_kbytes, ..Tunables::default() };
        // And pages on CPUs' lists, which walks drain.
        for cpu in script.machine.as_ref().cpu_ids() {
            next += 1;
            let (handle, request) = (Handle(next), Request::new(Order::ZERO, Gfp::KERNEL));
            let request = request.at(Mark::Min, AllocFlags::NO_WATERMARKS);
            let both = [Op::Alloc { cpu, request, handle }, Op::Free { cpu, handle }];
            script.ops.splice(0..0, both);
        }
    }
    for _ in 0..rng.between(2, 5) {
        let cpu = any_cpu(rng, script);
        let op = match rng.weighted(&[6, 3, 3, 1]) {
            0 => {
                next += 1;
                let mut request = Request::new(
                    Order::of(rng.below(2) as u8),
                    *rng.pick(&[Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::ATOMIC]),
                );
                if rng.percent(20) {
                    request.task.mems = NodeMask(rng.between(1, 3));
                }
                let mut op = walk(rng, &script.machine, cpu, request, Handle(next));
                if let (Op::Slow { replies, .. }, true) = (&mut op, rng.percent(60)) {
                    replies.insert(0, Reply::Step(SlowReply::Reclaimed(1)));
                }
                op
            }
            1 => kswapd(rng, &script.machine),
            2 => Op::Rebuild,
            _ => {
                let zone = ZoneIdx(rng.below(script.machine.zones.len() as u64) as u8);
                Op::Reclaimable { zone, pages: *rng.pick(&[0, 8, 64]) }
            }
        };
        strew(rng, script, op);
    }
}

fn switches(rng: &mut Rng, script: &mut Script) {
    let zone = ZoneIdx(rng.below(script.machine.zones.len() as u64) as u8);
    for _ in 0..rng.between(1, 3) {
        let by = any_cpu(rng, script);
        strew(rng, script, Op::PcpDisable { by, zone });
        strew(rng, script, Op::PcpEnable { zone });
    }
}
