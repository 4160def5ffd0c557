//! Encoding.

use super::{Code, GFPS, OPCODES};
use crate::script::names::{SWITCHES, nearest_preset};
use crate::script::{Handle, Op, RESULTS, Reply, Script};
use mmspec_model::contract::{KswapdReply, Request, SlowReply};
use mmspec_model::vocab::{CpuId, Gfp, Machine, NodeMask, PfnRange, Rules, Tunables, ZoneIdx};
use std::collections::BTreeMap;

/// The first byte of the spelled form.
pub(super) const SPELLED: u8 = 0x80;

struct Writer {
    bytes: Vec<u8>,
    /// Position in the order of definition, by handle.
    defined: BTreeMap<Handle, usize>,
    next: u32,
}

pub(super) fn script(script: &Script) -> Vec<u8> {
    let mut out = Writer { bytes: vec![SPELLED], defined: BTreeMap::new(), next: 0 };
    out.machine(&script.machine);
    out.rules(&script.rules);
    out.tunables(&script.tunables);
    for op in &script.ops {
        out.op(op);
    }
    out.bytes
}

impl Writer {
    fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.byte((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    fn machine(&mut self, machine: &Machine) {
        self.number(u64::from(machine.cpus) - u64::from(machine.cpus > 0));
        self.byte(machine.max_order.get());
        self.byte(machine.pageblock_order.get());
        self.byte(machine.thp_order.map_or(0, |order| order.get()));
        let numa =
            machine.nodes != 1 || !machine.cpu_nodes.is_empty() || !machine.distances.is_empty();
        let builds = u8::from(machine.cma_built) | u8::from(machine.free_high_batch) << 1;
        self.byte(builds | u8::from(numa) << 2);
        if numa {
            self.byte(machine.nodes.saturating_sub(1));
            self.number(machine.cpu_nodes.len() as u64);
            machine.cpu_nodes.iter().for_each(|node| self.byte(node.0));
            self.number(machine.distances.len() as u64);
            machine.distances.iter().for_each(|distance| self.byte(*distance));
        }
        self.byte(machine.zones.len() as u8);
        for zone in &machine.zones {
            self.byte(zone.kind.index() as u8 | zone.node.0 << 2);
            self.range(&zone.span);
        }
        for ranges in [&machine.holes, &machine.reserved, &machine.cma] {
            self.number(ranges.len() as u64);
            for range in ranges {
                self.range(range);
            }
        }
    }

    fn range(&mut self, range: &PfnRange) {
        self.number(range.start.0);
        self.number(range.end.0);
    }

    fn rules(&mut self, rules: &Rules) {
        let (preset, differing) = nearest_preset(rules);
        self.byte(preset as u8);
        self.byte(differing.len() as u8);
        for at in differing {
            self.byte(at as u8);
            self.byte((SWITCHES[at].get)(rules) as u8);
        }
    }

    fn tunables(&mut self, tunables: &Tunables) {
        self.number(tunables.min_free_kbytes.map_or(0, |kbytes| u64::from(kbytes) + 1));
        self.number(u64::from(tunables.watermark_scale_factor.saturating_sub(1)));
        self.number(u64::from(tunables.watermark_boost_factor));
        for ratio in tunables.lowmem_reserve_ratio {
            self.number(u64::from(ratio));
        }
        self.number(u64::from(tunables.percpu_pagelist_high_fraction));
        self.byte(tunables.pcp_batch_scale_max);
    }

    fn code(&mut self, code: Code) {
        // Every code is in the table.
        let at = OPCODES.iter().position(|known| *known == code).unwrap_or(0);
        self.byte(at as u8);
    }

    fn cpu(&mut self, cpu: CpuId) {
        self.number(u64::from(cpu.0));
    }

    fn zone(&mut self, zone: ZoneIdx) {
        self.byte(zone.0);
    }

    fn gfp(&mut self, gfp: Gfp) {
        match GFPS.iter().position(|known| *known == gfp) {
            Some(at) => self.byte(at as u8),
            None => {
                self.byte(GFPS.len() as u8);
                self.number(u64::from(gfp.bits()));
            }
        }
    }

    /// A handle being defined: 0 for the number after the highest so far.
    fn define(&mut self, handle: Handle) {
        if handle.0 == self.next {
            self.number(0);
        } else {
            self.number(u64::from(handle.0) + 1);
        }
        self.defined.insert(handle, self.defined.len());
        self.next = self.next.max(handle.0.saturating_add(1));
    }

    /// A handle being used: how far back it was defined, or 0 and its number.
    fn used(&mut self, handle: Handle) {
        match self.defined.get(&handle) {
            Some(at) => self.number((self.defined.len() - at) as u64),
            None => {
                self.number(0);
                self.number(u64::from(handle.0));
            }
        }
    }

    /// The mark and flags, and what the request says of nodes and its task.
    fn attempt(&mut self, request: &Request) {
        let placed = Request { attempt: None, ..*request };
        let placed = placed != Request::new(request.order, request.gfp);
        let mark = request.attempt.map_or(0, |(mark, _)| mark.index() as u8 + 1);
        self.byte(mark | u8::from(placed) << 4);
        if let Some((_, flags)) = request.attempt {
            self.number(u64::from(flags.bits()));
        }
        if placed {
            self.byte(request.node.map_or(0, |node| node.0 + 1));
            self.node_mask(request.nodes);
            self.node_mask(request.task.mems);
            self.byte(request.task.flags.bits());
        }
    }

    fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Step(SlowReply::Woken { killed }) => self.byte(u8::from(killed)),
            Reply::Step(SlowReply::OomLock(free)) => self.byte(2 + u8::from(free)),
            Reply::Step(SlowReply::Killed(progress)) => self.byte(4 + u8::from(progress)),
            Reply::Rebuild => self.byte(6),
            Reply::Mems(mask) => {
                self.byte(7);
                self.node_mask(mask);
            }
            Reply::Step(SlowReply::Reclaimed(pages)) => {
                self.byte(8);
                self.number(pages);
            }
            Reply::Step(SlowReply::Compacted(result)) => {
                let at = RESULTS.iter().position(|(_, known)| *known == result).unwrap_or(0);
                self.byte(9 + at as u8);
            }
        }
    }

    /// All nodes as 0.
    fn node_mask(&mut self, mask: NodeMask) {
        self.number(mask.0.wrapping_add(1));
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Alloc { cpu, request, handle } => {
                self.code(Code::Alloc);
                self.cpu(*cpu);
                self.byte(request.order.get());
                self.gfp(request.gfp);
                self.attempt(request);
                self.define(*handle);
            }
            Op::Bulk { cpu, gfp, handles } => {
                self.code(Code::Bulk);
                self.cpu(*cpu);
                self.gfp(*gfp);
                self.number(handles.len() as u64);
                for handle in handles {
                    self.define(*handle);
                }
            }
            Op::Free { cpu, handle } => {
                self.code(Code::Free);
                self.cpu(*cpu);
                self.used(*handle);
            }
            Op::FreeBatch { cpu, handles } => {
                self.code(Code::FreeBatch);
                self.cpu(*cpu);
                self.number(handles.len() as u64);
                for handle in handles {
                    self.used(*handle);
                }
            }
            Op::DrainCpu { by, cpu } => {
                self.code(Code::DrainCpu);
                self.cpu(*by);
                self.cpu(*cpu);
            }
            Op::DrainAll { by, zone } => {
                self.code(Code::DrainAll);
                self.cpu(*by);
                self.byte(zone.map_or(0, |zone| zone.0 + 1));
            }
            Op::DrainBegin { by, zone } => {
                self.code(Code::DrainBegin);
                self.cpu(*by);
                self.byte(zone.map_or(0, |zone| zone.0 + 1));
            }
            Op::Work { cpu } => {
                self.code(Code::Work);
                self.cpu(*cpu);
            }
            Op::PcpDisable { by, zone } => {
                self.code(Code::PcpDisable);
                self.cpu(*by);
                self.zone(*zone);
            }
            Op::PcpEnable { zone } => {
                self.code(Code::PcpEnable);
                self.zone(*zone);
            }
            Op::FailTrylock { cpu, times } => {
                self.code(Code::FailTrylock);
                self.cpu(*cpu);
                self.number(u64::from(*times));
            }
            Op::Tick { cpu } => {
                self.code(Code::Tick);
                self.cpu(*cpu);
            }
            Op::Set { tunables } => {
                self.code(Code::Set);
                self.tunables(tunables);
            }
            Op::ReclaimActive { zone, active } => {
                self.code(Code::ReclaimActive);
                self.zone(*zone);
                self.byte(u8::from(*active));
            }
            Op::Isolate { cpu, pfn } => {
                self.code(Code::Isolate);
                self.cpu(*cpu);
                self.number(pfn.0);
            }
            Op::Unisolate { cpu, pfn, migratetype } => {
                self.code(Code::Unisolate);
                self.cpu(*cpu);
                self.number(pfn.0);
                self.byte(migratetype.index() as u8);
            }
            Op::TakeOff { cpu, pfn, handle } => {
                self.code(Code::TakeOff);
                self.cpu(*cpu);
                self.number(pfn.0);
                self.define(*handle);
            }
            Op::Unreserve { cpu, migratetype, force } => {
                self.code(Code::Unreserve);
                self.cpu(*cpu);
                self.byte(migratetype.index() as u8 * 2 + u8::from(*force));
            }
            Op::CpuDead { by, cpu } => {
                self.code(Code::CpuDead);
                self.cpu(*by);
                self.cpu(*cpu);
            }
            Op::CpuOnline { cpu } => {
                self.code(Code::CpuOnline);
                self.cpu(*cpu);
            }
            Op::Slow { cpu, request, handle, replies } => {
                self.code(Code::Slow);
                self.cpu(*cpu);
                self.byte(request.order.get());
                self.gfp(request.gfp);
                self.attempt(request);
                self.define(*handle);
                self.number(replies.len() as u64);
                replies.iter().for_each(|reply| self.reply(*reply));
            }
            Op::Kswapd { node, reply } => {
                self.code(Code::Kswapd);
                self.byte(node.0);
                match reply {
                    None => self.byte(0),
                    Some(KswapdReply::Napped { early }) => self.byte(1 + u8::from(*early)),
                    Some(KswapdReply::Shrunk { scanned, reclaimed }) => {
                        self.byte(3);
                        self.number(*scanned);
                        self.number(*reclaimed);
                    }
                }
            }
            Op::Rebuild => self.code(Code::Rebuild),
            Op::Reclaimable { zone, pages } => {
                self.code(Code::Reclaimable);
                self.zone(*zone);
                self.number(*pages);
            }
            Op::Check { zone, order, mark, highest, flags } => {
                self.code(Code::Check);
                self.zone(*zone);
                self.byte(order.get());
                self.byte(mark.index() as u8);
                self.byte(highest.index() as u8);
                self.number(u64::from(flags.bits()));
            }
        }
    }
}
