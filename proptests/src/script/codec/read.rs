//! Decoding: total.

use super::write::SPELLED;
use super::{Code, GFPS, OPCODES};
use crate::generate::{self, Rng};
use crate::script::names::SWITCHES;
use crate::script::{
    Handle, MAX_OPS, MAX_RANGES, MAX_REPLIES, MAX_ZONES, Op, RESULTS, Reply, Script,
};
use mmspec_model::contract::{KswapdReply, Request, SlowReply, Task, TaskFlags};
use mmspec_model::vocab::{
    AllocFlags, CpuId, Gfp, MAX_CPUS, MAX_NODES, Machine, Mark, MigrateType, NodeId, NodeMask,
    Order, Pfn, PfnRange, Rules, Tunables, ZoneIdx, ZoneKind, ZoneSpan,
};
use std::collections::BTreeSet;

struct Reader<'a> {
    bytes: &'a [u8],
    machine: Machine,
    /// Handles in the order of definition.
    order: Vec<Handle>,
    defined: BTreeSet<Handle>,
    next: u32,
}

pub(super) fn script(bytes: &[u8]) -> Script {
    let mut input = Reader {
        bytes,
        machine: Machine::small(1, 1, 0, 0),
        order: Vec::new(),
        defined: BTreeSet::new(),
        next: 0,
    };
    let (rules, tunables) = if input.byte() < SPELLED {
        let seed = u64::from(input.byte()) << 8 | u64::from(input.byte());
        let mut rng = Rng::new(seed);
        input.machine = generate::machine(&mut rng);
        (generate::rules(&mut rng), generate::tunables(&mut rng, &input.machine))
    } else {
        let machine = input.spelled_machine();
        input.machine = repaired(machine);
        (input.rules(), input.tunables())
    };
    let mut ops = Vec::new();
    while !input.bytes.is_empty() && ops.len() < MAX_OPS {
        ops.push(input.op());
    }
    Script { machine: input.machine, rules, tunables, ops }
}

/// The nearest machine that can exist.
fn repaired(mut machine: Machine) -> Machine {
    if machine.validate().is_err() {
        machine.cma.clear();
    }
    if machine.validate().is_err() {
        machine.thp_order = None;
    }
    if machine.validate().is_err() { Machine::small(2, 64, 5, 3) } else { machine }
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                *first
            }
            None => 0,
        }
    }

    fn number(&mut self) -> u64 {
        let mut value = 0_u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte();
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.number() % limit.max(1)
    }

    fn small(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    fn any_order(&mut self) -> Order {
        self.order_up_to(Order::MAX)
    }

    fn order_up_to(&mut self, last: Order) -> Order {
        Order::of(self.small(last.index() + 1) as u8)
    }

    fn spelled_machine(&mut self) -> Machine {
        let cpus = self.below(u64::from(MAX_CPUS)) as u16 + 1;
        let max_order = self.any_order();
        let pageblock_order = self.order_up_to(max_order);
        let thp_order = match self.small(Order::MAX.index() + 1) as u8 {
            0 => None,
            order => Some(Order::of(order)),
        };
        let flags = self.byte();
        let (mut nodes, mut cpu_nodes, mut distances) = (1, Vec::new(), Vec::new());
        if flags & 4 != 0 {
            nodes = self.small(MAX_NODES) as u8 + 1;
            cpu_nodes = (0..self.count()).map(|_| NodeId(self.byte())).collect();
            distances = (0..self.count()).map(|_| self.byte()).collect();
        }
        let zones = (0..self.small(MAX_ZONES + 1)).map(|_| {
            let both = self.byte();
            let (kind, node) = (ZoneKind::ALL[usize::from(both & 3)], NodeId(both >> 2));
            ZoneSpan::new(kind, self.range()).on(node)
        });
        let zones = zones.collect();
        let [holes, reserved, cma] = [(); 3].map(|()| self.ranges());
        Machine {
            max_order,
            pageblock_order,
            thp_order,
            cma_built: flags & 1 != 0,
            free_high_batch: flags & 2 != 0,
            nodes,
            cpu_nodes,
            distances,
            zones,
            holes,
            reserved,
            cma,
            ..Machine::new(cpus, &[])
        }
    }

    fn range(&mut self) -> PfnRange {
        PfnRange::new(self.number(), self.number())
    }

    fn ranges(&mut self) -> Vec<PfnRange> {
        let count = self.number() % (MAX_RANGES as u64 + 1);
        let count = count.min(self.bytes.len() as u64);
        (0..count).map(|_| self.range()).collect()
    }

    fn rules(&mut self) -> Rules {
        let mut rules = Rules::PRESETS[self.small(Rules::PRESETS.len())].1;
        for _ in 0..self.small(SWITCHES.len() + 1) {
            let switch = &SWITCHES[self.small(SWITCHES.len())];
            let value = self.small(switch.values.len());
            let before = rules;
            (switch.set)(&mut rules, value);
            if rules.validate().is_err() {
                rules = before;
            }
        }
        rules
    }

    fn tunables(&mut self) -> Tunables {
        let min_free_kbytes = match self.below(u64::from(u32::MAX) + 2) {
            0 => None,
            more => Some((more - 1) as u32),
        };
        let watermark_scale_factor = self.below(3000) as u32 + 1;
        let watermark_boost_factor = self.number() as u32;
        let lowmem_reserve_ratio = [(); 4].map(|()| self.number() as u32);
        let percpu_pagelist_high_fraction = match self.number() as u32 {
            low @ 1..8 => low + 8,
            other => other,
        };
        Tunables {
            min_free_kbytes,
            watermark_scale_factor,
            watermark_boost_factor,
            lowmem_reserve_ratio,
            percpu_pagelist_high_fraction,
            pcp_batch_scale_max: self.small(7) as u8,
        }
    }

    fn cpu(&mut self) -> CpuId {
        CpuId(self.below(u64::from(self.machine.cpus)) as u16)
    }

    fn zone(&mut self) -> ZoneIdx {
        ZoneIdx(self.small(self.machine.zones.len()) as u8)
    }

    fn gfp(&mut self) -> Gfp {
        match GFPS.get(self.small(GFPS.len() + 4)) {
            Some(gfp) => *gfp,
            None => Gfp::from_bits_truncate(self.number() as u32),
        }
    }

    fn flags(&mut self) -> AllocFlags {
        AllocFlags::from_bits_truncate(self.number() as u16)
    }

    fn define(&mut self) -> Handle {
        let wanted = match self.number() {
            0 => self.next,
            more => (more - 1) as u32,
        };
        let mut handle = Handle(wanted);
        if self.defined.contains(&handle) {
            handle = Handle(self.next);
        }
        // Reached only when somebody defined the highest number of all.
        while self.defined.contains(&handle) {
            handle = Handle(handle.0.wrapping_add(1));
        }
        self.defined.insert(handle);
        self.order.push(handle);
        self.next = self.next.max(handle.0.saturating_add(1));
        handle
    }

    fn used(&mut self) -> Handle {
        match self.number() {
            0 => Handle(self.number() as u32),
            back if !self.order.is_empty() => {
                let back = (back - 1) % self.order.len() as u64;
                self.order[self.order.len() - 1 - back as usize]
            }
            other => Handle(other as u32),
        }
    }

    /// How many handles follow: each takes at least one byte.
    fn count(&mut self) -> u64 {
        self.number().min(self.bytes.len() as u64)
    }

    /// A frame that some zone spans.
    fn frame(&mut self) -> Pfn {
        let wanted = Pfn(self.number());
        if self.machine.as_ref().zone_of(wanted).is_some() {
            return wanted;
        }
        let spanned: u64 = self.machine.zones.iter().map(|zone| zone.span.len()).sum();
        let mut at = wanted.0 % spanned.max(1);
        for zone in &self.machine.zones {
            if at < zone.span.len() {
                return zone.span.start.add(at);
            }
            at -= zone.span.len();
        }
        self.machine.zones.first().map_or(Pfn(0), |zone| zone.span.start)
    }

    fn request(&mut self, order: Order, gfp: Gfp) -> Request {
        let both = self.byte();
        let mut request = Request::new(order, gfp);
        if let at @ 1..=4 = usize::from(both & 15) {
            request.attempt = Some((Mark::ALL[at - 1], self.flags()));
        }
        if both & 16 != 0 {
            request.node = match self.small(MAX_NODES + 1) as u8 {
                0 => None,
                node => Some(NodeId(node - 1)),
            };
            request.nodes = self.node_mask();
            let mems = self.node_mask();
            request.task = Task { mems, flags: TaskFlags::from_bits_truncate(self.byte()) };
        }
        request
    }

    fn reply(&mut self) -> Reply {
        match self.small(9 + RESULTS.len()) {
            killed @ 0..=1 => Reply::Step(SlowReply::Woken { killed: killed == 1 }),
            free @ 2..=3 => Reply::Step(SlowReply::OomLock(free == 3)),
            progress @ 4..=5 => Reply::Step(SlowReply::Killed(progress == 5)),
            6 => Reply::Rebuild,
            7 => Reply::Mems(self.node_mask()),
            8 => Reply::Step(SlowReply::Reclaimed(self.number())),
            result => Reply::Step(SlowReply::Compacted(RESULTS[result - 9].1)),
        }
    }

    fn node_mask(&mut self) -> NodeMask {
        NodeMask(self.number().wrapping_sub(1))
    }

    fn any_zone(&mut self) -> Option<ZoneIdx> {
        self.small(self.machine.zones.len() + 1).checked_sub(1).map(|at| ZoneIdx(at as u8))
    }

    fn op(&mut self) -> Op {
        match OPCODES[self.small(OPCODES.len())] {
            Code::Alloc => {
                let (cpu, order, gfp) = (self.cpu(), self.any_order(), self.gfp());
                let request = self.request(order, gfp);
                Op::Alloc { cpu, request, handle: self.define() }
            }
            Code::Bulk => {
                let (cpu, gfp) = (self.cpu(), self.gfp());
                let handles = (0..self.count().max(1)).map(|_| self.define()).collect();
                Op::Bulk { cpu, gfp, handles }
            }
            Code::Free => Op::Free { cpu: self.cpu(), handle: self.used() },
            Code::FreeBatch => {
                let cpu = self.cpu();
                let mut seen = BTreeSet::new();
                let named: Vec<Handle> = (0..self.count()).map(|_| self.used()).collect();
                let handles = named.into_iter().filter(|handle| seen.insert(*handle)).collect();
                Op::FreeBatch { cpu, handles }
            }
            Code::DrainCpu => Op::DrainCpu { by: self.cpu(), cpu: self.cpu() },
            Code::DrainAll => Op::DrainAll { by: self.cpu(), zone: self.any_zone() },
            Code::DrainBegin => Op::DrainBegin { by: self.cpu(), zone: self.any_zone() },
            Code::Work => Op::Work { cpu: self.cpu() },
            Code::PcpDisable => Op::PcpDisable { by: self.cpu(), zone: self.zone() },
            Code::PcpEnable => Op::PcpEnable { zone: self.zone() },
            Code::FailTrylock => Op::FailTrylock { cpu: self.cpu(), times: self.number() as u32 },
            Code::Tick => Op::Tick { cpu: self.cpu() },
            Code::Set => Op::Set { tunables: self.tunables() },
            Code::ReclaimActive => {
                Op::ReclaimActive { zone: self.zone(), active: self.small(2) == 1 }
            }
            Code::Isolate => Op::Isolate { cpu: self.cpu(), pfn: self.frame() },
            Code::Unisolate => {
                let (cpu, pfn) = (self.cpu(), self.frame());
                let mut migratetype = MigrateType::ALL[self.small(MigrateType::ALL.len())];
                if migratetype == MigrateType::Cma && !self.machine.cma_built {
                    migratetype = MigrateType::Movable;
                }
                Op::Unisolate { cpu, pfn, migratetype }
            }
            Code::TakeOff => {
                Op::TakeOff { cpu: self.cpu(), pfn: self.frame(), handle: self.define() }
            }
            Code::Unreserve => {
                let cpu = self.cpu();
                let both = self.small(2 * MigrateType::PCP.len());
                let migratetype = MigrateType::PCP[both / 2];
                Op::Unreserve { cpu, migratetype, force: both % 2 == 1 }
            }
            Code::CpuDead => Op::CpuDead { by: self.cpu(), cpu: self.cpu() },
            Code::CpuOnline => Op::CpuOnline { cpu: self.cpu() },
            Code::Slow => {
                let (cpu, order, gfp) = (self.cpu(), self.any_order(), self.gfp());
                let (request, handle) = (self.request(order, gfp), self.define());
                let count = self.count().min(MAX_REPLIES as u64);
                let replies = (0..count).map(|_| self.reply()).collect();
                Op::Slow { cpu, request: Request { attempt: None, ..request }, handle, replies }
            }
            Code::Kswapd => {
                let node = NodeId(self.small(usize::from(self.machine.nodes)) as u8);
                let reply = match self.small(4) {
                    0 => None,
                    nap @ 1..=2 => Some(KswapdReply::Napped { early: nap == 2 }),
                    _ => Some(KswapdReply::Shrunk {
                        scanned: self.number(),
                        reclaimed: self.number(),
                    }),
                };
                Op::Kswapd { node, reply }
            }
            Code::Rebuild => Op::Rebuild,
            Code::Reclaimable => {
                Op::Reclaimable { zone: self.zone(), pages: u64::from(self.number() as u32) }
            }
            Code::Check => Op::Check {
                zone: self.zone(),
                order: self.order_up_to(self.machine.max_order),
                mark: Mark::ALL[self.small(Mark::ALL.len())],
                highest: ZoneKind::ALL[self.small(ZoneKind::ALL.len())],
                flags: self.flags(),
            },
        }
    }
}
