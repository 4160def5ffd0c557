//! Which scripts.

use crate::generate::{self, Rng};
use crate::script::{Handle, Op, Script};
use mmspec_model::contract::Request;
use mmspec_model::vocab::{
    AllocFlags, CpuId, DrainScheme, Gfp, Machine, Mark, MigrateType, Order, Rules, Tunables,
    ZoneIdx, ZoneKind,
};

/// Most operations of a history: the search grows with those that overlap.
const MOST_OPS: usize = 12;

/// Whether a script's histories can be explained: one zone, few operations, all of them sequences or
/// single steps of the reference, and within what the specification decides to the frame.
#[must_use]
pub fn fits(script: &Script) -> bool {
    let stepped = |op: &Op| {
        !matches!(
            op,
            Op::Bulk { .. }
                | Op::Set { .. }
                | Op::CpuDead { .. }
                | Op::CpuOnline { .. }
                | Op::Unreserve { .. }
                | Op::DrainBegin { .. }
                | Op::Work { .. }
                | Op::Slow { .. }
                | Op::Kswapd { .. }
                | Op::Rebuild
                | Op::Reclaimable { .. }
        )
    };
    script.machine.zones.len() == 1
        && script.rules.drain_scheme == DrainScheme::Remote
        && script.ops.len() <= MOST_OPS
        && script.ops.iter().all(stepped)
        && crate::differential::unspecified(script).is_none()
}

const GFPS: [Gfp; 3] = [Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE, Gfp::KERNEL.union(Gfp::RECLAIMABLE)];

/// A script for a history: two or three CPUs, two to four operations each, on a machine so small
/// that they meet and that memory ends.
#[must_use]
pub fn script(rng: &mut Rng) -> Script {
    let cpus = if rng.percent(60) { 2 } else { 3 };
    let max_order = rng.between(2, 4) as u8;
    let pageblock = rng.between(u64::from(max_order - 1), u64::from(max_order)) as u8;
    let frames = *rng.pick(&[4, 8, 16, 16, 32, 64]);
    let mut machine = Machine::small(cpus, frames, max_order, pageblock);
    machine.thp_order = None;
    machine.pageblock_order = Order::of(pageblock);
    let mut tunables = generate::tunables(rng, &machine);
    if rng.percent(70) {
        // Most of the time memory is there to be had.
        tunables = Tunables { min_free_kbytes: Some(0), ..Tunables::default() };
    }
    let rules = Rules { drain_scheme: DrainScheme::Remote, ..generate::rules(rng) };
    let each = if cpus == 2 { rng.between(2, 4) } else { rng.between(2, 3) };
    let mut ops = Vec::new();
    let mut handles = Handles::default();
    let top = rng.between(0, 2).min(u64::from(max_order));
    for _ in 0..each {
        for cpu in (0..cpus).map(CpuId) {
            let op = operation(rng, &machine, cpu, top, &mut handles);
            ops.push(op);
        }
    }
    Script { machine, rules, tunables, ops }
}

/// Blocks asked for and not freed, and by whom; whether they were granted is not known here.
#[derive(Default)]
struct Handles {
    next: u32,
    asked: Vec<(CpuId, Handle)>,
}

impl Handles {
    fn fresh(&mut self, cpu: CpuId) -> Handle {
        self.next += 1;
        let handle = Handle(self.next);
        self.asked.push((cpu, handle));
        handle
    }
}

fn operation(rng: &mut Rng, machine: &Machine, cpu: CpuId, top: u64, handles: &mut Handles) -> Op {
    let other = CpuId(rng.below(u64::from(machine.cpus)) as u16);
    let isolates = machine.pageblock_order >= Order::COSTLY;
    let zone = ZoneIdx(0);
    match rng.weighted(&[10, 7, 2, 2, 1, 1, 1, 1, 1, if isolates { 2 } else { 0 }, 1]) {
        1 if !handles.asked.is_empty() => {
            let asked = &mut handles.asked;
            if rng.percent(15) {
                let handles = asked.drain(..).map(|(_, handle)| handle).collect();
                return Op::FreeBatch { cpu, handles };
            }
            // Mostly one of its own, so that it is surely there.
            let own: Vec<usize> = (0..asked.len()).filter(|at| asked[*at].0 == cpu).collect();
            let at = if own.is_empty() || rng.percent(25) {
                rng.below(asked.len() as u64) as usize
            } else {
                *rng.pick(&own)
            };
            Op::Free { cpu, handle: asked.swap_remove(at).1 }
        }
        2 => Op::DrainCpu { by: cpu, cpu: other },
        3 => Op::DrainAll { by: cpu, zone: rng.percent(50).then_some(zone) },
        4 => Op::PcpDisable { by: cpu, zone },
        5 if cpu == CpuId(0) => Op::PcpEnable { zone },
        6 => Op::FailTrylock { cpu, times: 1 },
        7 => Op::Tick { cpu },
        8 if cpu == CpuId(0) => Op::Check {
            zone,
            order: Order::of(rng.between(0, top) as u8),
            mark: *rng.pick(&[Mark::Min, Mark::Low]),
            highest: ZoneKind::Normal,
            flags: AllocFlags::empty(),
        },
        9 => {
            let pfn = generate::frame(rng, machine);
            if rng.percent(70) {
                Op::Isolate { cpu, pfn }
            } else {
                Op::Unisolate { cpu, pfn, migratetype: MigrateType::Movable }
            }
        }
        10 => {
            let pfn = generate::frame(rng, machine);
            Op::TakeOff { cpu, pfn, handle: handles.fresh(cpu) }
        }
        _ => {
            let handle = handles.fresh(cpu);
            let gfp = GFPS[rng.weighted(&[6, 3, 1])];
            let order = Order::of(rng.between(0, top) as u8);
            let request = Request::new(order, gfp);
            let unmarked = rng.percent(15);
            let request =
                if unmarked { request.at(Mark::Min, AllocFlags::NO_WATERMARKS) } else { request };
            Op::Alloc { cpu, request, handle }
        }
    }
}
