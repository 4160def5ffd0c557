//! The small machines, and what can be done on them.

use crate::script::{Handle, Op, Script};
use mmspec_model::contract::Request;
use mmspec_model::vocab::{
    AllocFlags, CpuId, DrainScheme, Gfp, Machine, Mark, MigrateType, Order, Pfn, PfnRange, Rules,
    Tunables, ZoneIdx,
};

/// A small machine and the operations that are tried in every state.
#[derive(Clone, Debug)]
pub struct Scope {
    /// What it is good for.
    pub name: &'static str,
    /// The machine, rules and tunables, without operations.
    pub script: Script,
    /// gfp sets and attempts that requests use.
    pub requests: Vec<Request>,
    /// CPUs that free: all, or only the first.
    pub remote_frees: bool,
    /// Drains by CPU 0, of each CPU and of all.
    pub drains: bool,
    /// Drains are begun by CPU 0, of all zones or one, and CPUs come to their workers.
    pub work: bool,
    /// The statistics workers run.
    pub ticks: bool,
    /// The pageblock of frame 16 is isolated and restored.
    pub isolation: bool,
    /// Reserved pageblocks are released by force.
    pub unreserve: bool,
    /// Locks fail once.
    pub trylock: bool,
    /// States that differ only in the CPUs' diffs are different ones. Where no request asks a
    /// watermark, nothing but the counters themselves depends on them, and those are compared on
    /// every transition: then it is lists and blocks that are exhausted.
    pub diffs: bool,
}

fn base(cpus: u16, frames: u64, max_order: u8, pageblock_order: u8) -> Script {
    Script {
        machine: Machine::small(cpus, frames, max_order, pageblock_order),
        rules: Rules::linux_6_12(),
        // Fixed list sizes and no marks: the state space is that of lists and blocks.
        tunables: Tunables {
            min_free_kbytes: Some(0),
            watermark_boost_factor: 0,
            percpu_pagelist_high_fraction: 8,
            pcp_batch_scale_max: 0,
            ..Tunables::default()
        },
        ops: Vec::new(),
    }
}

fn requests(orders: std::ops::RangeInclusive<u8>, gfps: &[Gfp]) -> Vec<Request> {
    let attempt = Some((Mark::Min, AllocFlags::NO_WATERMARKS));
    orders
        .flat_map(|order| {
            gfps.iter().map(move |gfp| Request { attempt, ..Request::new(Order::of(order), *gfp) })
        })
        .collect()
}

/// The machines of a full run.
#[must_use]
pub fn scopes() -> Vec<Scope> {
    let plain = Scope {
        name: "8 frames, 2 CPUs, orders 0 to 3",
        script: base(2, 8, 3, 3),
        requests: requests(0..=3, &[Gfp::KERNEL]),
        remote_frees: true,
        drains: true,
        work: false,
        ticks: false,
        isolation: false,
        unreserve: false,
        trylock: false,
        diffs: false,
    };
    let types = Scope {
        name: "8 frames, 1 CPU, two types, pageblocks of 4",
        script: base(1, 8, 3, 2),
        requests: requests(0..=2, &[Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE]),
        remote_frees: false,
        ticks: true,
        trylock: true,
        diffs: true,
        ..plain.clone()
    };
    let mut reserves = Scope {
        name: "reserves, CMA and isolation, pageblocks of 8",
        script: base(1, 40, 4, 3),
        requests: requests(1..=3, &[Gfp::KERNEL, Gfp::HIGHUSER_MOVABLE]),
        remote_frees: false,
        drains: true,
        work: false,
        ticks: false,
        isolation: true,
        unreserve: true,
        trylock: false,
        diffs: true,
    };
    reserves.script.machine.cma_built = true;
    reserves.script.machine.cma = vec![PfnRange::new(8, 16)];
    let unlimited = AllocFlags::NO_WATERMARKS.union(AllocFlags::HIGHATOMIC);
    reserves.requests.push(Request::new(Order::of(1), Gfp::ATOMIC).at(Mark::Min, unlimited));
    let mut marks = Scope {
        name: "marks, boosts and auto-tuned lists",
        script: base(1, 16, 3, 2),
        requests: vec![
            Request::new(Order::ZERO, Gfp::KERNEL),
            Request::new(Order::of(1), Gfp::HIGHUSER_MOVABLE),
            Request::new(Order::ZERO, Gfp::ATOMIC).at(Mark::Min, AllocFlags::MIN_RESERVE),
        ],
        remote_frees: false,
        drains: true,
        work: false,
        ticks: true,
        isolation: false,
        unreserve: false,
        trylock: false,
        diffs: true,
    };
    // MIN 11, LOW 13, HIGH 15 of 16 pages: three requests away from all of them.
    marks.script.tunables = Tunables { min_free_kbytes: Some(44), ..Tunables::default() };
    let mut items = Scope {
        name: "drains by work items, 4 frames, 2 CPUs",
        script: base(2, 4, 2, 2),
        requests: requests(0..=1, &[Gfp::KERNEL]),
        drains: false,
        work: true,
        diffs: true,
        ..plain.clone()
    };
    items.script.rules.drain_scheme = DrainScheme::WorkItem;
    vec![plain, types, reserves, marks, items]
}

impl Scope {
    /// The operations that can be done while these handles hold blocks; `next` names a new block.
    pub(super) fn operations(&self, held: &[Handle], next: Handle) -> Vec<Op> {
        let cpus = self.script.machine.cpus;
        let mut ops = Vec::new();
        for cpu in (0..cpus).map(CpuId) {
            for request in &self.requests {
                ops.push(Op::Alloc { cpu, request: *request, handle: next });
            }
            if cpu == CpuId(0) || self.remote_frees {
                ops.extend(held.iter().map(|handle| Op::Free { cpu, handle: *handle }));
            }
            if self.drains {
                ops.push(Op::DrainCpu { by: CpuId(0), cpu });
            }
            if self.work {
                ops.push(Op::Work { cpu });
            }
            if self.ticks {
                ops.push(Op::Tick { cpu });
            }
            if self.trylock {
                ops.push(Op::FailTrylock { cpu, times: 1 });
            }
        }
        if self.drains && cpus > 1 {
            ops.push(Op::DrainAll { by: CpuId(0), zone: Some(ZoneIdx(0)) });
        }
        if self.work {
            ops.push(Op::DrainBegin { by: CpuId(0), zone: None });
            ops.push(Op::DrainBegin { by: CpuId(0), zone: Some(ZoneIdx(0)) });
        }
        if self.isolation {
            // Where an unmovable request claims its first pageblock.
            let (cpu, pfn) = (CpuId(0), Pfn(16));
            ops.push(Op::Isolate { cpu, pfn });
            ops.push(Op::Unisolate { cpu, pfn, migratetype: MigrateType::Movable });
        }
        if self.unreserve {
            let (cpu, migratetype) = (CpuId(0), MigrateType::Movable);
            ops.push(Op::Unreserve { cpu, migratetype, force: true });
        }
        ops
    }
}
