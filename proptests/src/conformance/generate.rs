//! Scripts for allocators of frames. Regions are the zones of a script's machine, cut at holes, so
//! that cases are stored, shrunk and edited like all others.

use super::Promise;
use crate::generate::Rng;
use crate::script::{Handle, Op, Script};
use mmspec_model::contract::Request;
use mmspec_model::vocab::{
    CpuId, Gfp, Machine, Order, Pfn, PfnRange, Rules, Tunables, ZoneKind, ZoneSpan,
};

/// The memory of a script: each zone's runs of managed frames, ascending.
#[must_use]
pub fn regions_of(script: &Script) -> Vec<PfnRange> {
    let machine = script.machine.as_ref();
    let mut regions = Vec::new();
    for zone in &script.machine.zones {
        let mut start = None;
        for pfn in zone.span.start.0..=zone.span.end.0 {
            let managed = pfn < zone.span.end.0 && machine.is_managed(Pfn(pfn));
            match (managed, start) {
                (true, None) => start = Some(pfn),
                (false, Some(first)) => {
                    regions.push(PfnRange::new(first, pfn));
                    start = None;
                }
                _ => {}
            }
        }
    }
    regions
}

/// A case within the promise: boundary shapes, fills, and frees in adversarial orders.
#[must_use]
pub fn script(rng: &mut Rng, promise: &Promise) -> Script {
    Script {
        machine: machine(rng, promise),
        rules: Rules::default(),
        tunables: Tunables::default(),
        ops: ops(rng, promise),
    }
}

fn machine(rng: &mut Rng, promise: &Promise) -> Machine {
    const KINDS: [ZoneKind; 4] =
        [ZoneKind::Dma, ZoneKind::Dma32, ZoneKind::Normal, ZoneKind::Movable];
    let mut machine = Machine::small(1, 1, promise.max_order.get(), 0);
    machine.zones.clear();
    let top = promise.max_order.pages();
    let count = rng.between(1, promise.regions.clamp(1, KINDS.len()) as u64);
    let mut start = match rng.weighted(&[3, 2, 2]) {
        0 => 0,
        1 => top,
        _ => rng.below(2 * top + 8),
    };
    let mut left = promise.frames;
    for kind in KINDS.into_iter().take(count as usize) {
        let round = match rng.weighted(&[2, 2, 2]) {
            0 => 2 * top,
            1 => 1 << rng.below(u64::from(promise.max_order.get()) + 2),
            _ => rng.between(1, 70),
        };
        let length = match rng.weighted(&[3, 1, 1]) {
            0 => round,
            1 => round + 1,
            _ => round.saturating_sub(1),
        };
        let length = length.clamp(1, left.max(1));
        let span = PfnRange::new(start, start + length);
        machine.zones.push(ZoneSpan { kind, span });
        left = left.saturating_sub(length);
        // Adjacent half of the time.
        let gap = if rng.percent(50) { 0 } else { rng.between(1, top + 3) };
        start = span.end.0 + gap;
    }
    machine
}

fn ops(rng: &mut Rng, promise: &Promise) -> Vec<Op> {
    let most = *rng.pick(&[4, 16, 60, 120]);
    let top = promise.max_order.get();
    // Mostly one order, all of them, or small ones.
    let favoured = rng.between(0, u64::from(top)) as u8;
    let style = rng.below(3);
    let mut held: Vec<Handle> = Vec::new();
    let mut ops = Vec::new();
    let mut next = 1;
    let mut filling = true;
    while ops.len() < most {
        if rng.percent(6) {
            filling = !filling;
        }
        if rng.percent(if filling { 75 } else { 25 }) || held.is_empty() {
            let order = match style {
                0 if rng.percent(70) => favoured,
                1 => rng.below(u64::from(top.min(2)) + 1) as u8,
                _ => rng.between(0, u64::from(top)) as u8,
            };
            let above = top < Order::MAX.get() && rng.percent(2);
            let order = Order::of(if above { top + 1 } else { order });
            let handle = Handle(next);
            next += 1;
            held.push(handle);
            let request = Request::new(order, Gfp::KERNEL);
            ops.push(Op::Alloc { cpu: CpuId(0), request, handle });
        } else {
            let at = match style {
                0 => held.len() - 1,
                1 => 0,
                _ => rng.below(held.len() as u64) as usize,
            };
            ops.push(Op::Free { cpu: CpuId(0), handle: held.remove(at) });
        }
    }
    ops
}
