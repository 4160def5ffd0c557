//! The single steps. Each pass enumerates its edits by position.

use crate::script::{Handle, Op, Script};
use mmspec_model::contract::Task;
use mmspec_model::vocab::{
    CpuId, Gfp, Machine, NodeId, NodeMask, Order, PfnRange, Rules, Tunables, ZoneIdx,
};
use std::collections::BTreeMap;

/// What a position of a pass holds.
pub(super) enum Edit {
    Candidate(Box<Script>),
    /// This edit does not apply; later ones may.
    Nothing,
    /// No more edits in this pass.
    End,
}

/// A candidate if it differs and is valid.
fn offer(old: &Script, new: Script) -> Edit {
    if new != *old && new.validate().is_ok() {
        Edit::Candidate(Box::new(new))
    } else {
        Edit::Nothing
    }
}

pub(super) fn drop_chunk(script: &Script, chunk: usize, at: usize) -> Edit {
    let length = script.ops.len();
    let end = match length.checked_sub(at * chunk) {
        None | Some(0) => return Edit::End,
        Some(end) => end,
    };
    let mut new = script.clone();
    new.ops.drain(end.saturating_sub(chunk)..end);
    Edit::Candidate(Box::new(new))
}

pub(super) fn drop_life(script: &Script, at: usize) -> Edit {
    let Some(op) = script.ops.get(at) else { return Edit::End };
    let gone = op.defines();
    if gone.is_empty() {
        return Edit::Nothing;
    }
    let mut new = script.clone();
    new.ops.remove(at);
    new.ops.retain_mut(|op| match op {
        Op::Free { handle, .. } => !gone.contains(handle),
        Op::FreeBatch { handles, .. } => {
            let before = handles.len();
            handles.retain(|handle| !gone.contains(handle));
            before == 0 || !handles.is_empty()
        }
        _ => true,
    });
    offer(script, new)
}

pub(super) fn drop_handle(script: &Script, at: usize) -> Edit {
    let mut left = at;
    for (position, op) in script.ops.iter().enumerate() {
        let (Op::Bulk { handles, .. } | Op::FreeBatch { handles, .. }) = op else { continue };
        if left >= handles.len() {
            left -= handles.len();
            continue;
        }
        let mut new = script.clone();
        if let Op::Bulk { handles, .. } | Op::FreeBatch { handles, .. } = &mut new.ops[position] {
            handles.remove(left);
        }
        return offer(script, new);
    }
    Edit::End
}

/// Edits of one operation, tried in turn.
const OPERATION_EDITS: usize = 8;

pub(super) fn operation(script: &Script, at: usize) -> Edit {
    let (position, which) = (at / OPERATION_EDITS, at % OPERATION_EDITS);
    let Some(op) = script.ops.get(position) else { return Edit::End };
    let mut new = op.clone();
    match (&mut new, which) {
        (Op::Alloc { request, .. }, 0) => request.attempt = None,
        (Op::Alloc { request, .. }, 1) => request.gfp = Gfp::KERNEL,
        (Op::Alloc { request, .. }, 2) => request.order = Order::ZERO,
        (Op::Alloc { request, .. }, 3) => {
            request.order = Order::of(request.order.get().saturating_sub(1));
        }
        (Op::Alloc { cpu, .. }, 4) => *cpu = CpuId(0),
        (Op::Alloc { request, .. }, 5) => {
            if let Some((_, flags)) = &mut request.attempt {
                *flags = mmspec_model::vocab::AllocFlags::NO_WATERMARKS;
            }
        }
        (Op::Alloc { request, .. }, 6) => request.task = Task::default(),
        (Op::Alloc { request, .. }, 7) => {
            (request.node, request.nodes) = (None, NodeMask::ALL);
        }
        (Op::Slow { cpu, request, handle, .. }, 0) => {
            new = Op::Alloc { cpu: *cpu, request: *request, handle: *handle };
        }
        (Op::Slow { request, .. }, 1) => request.gfp = Gfp::KERNEL,
        (Op::Slow { request, .. }, 2) => request.order = Order::ZERO,
        (Op::Slow { replies, .. }, 3) => replies.truncate(replies.len() / 2),
        (Op::Slow { replies, .. }, 4) => {
            replies.pop();
        }
        (Op::Slow { request, .. }, 5) => request.task = Task::default(),
        (Op::Slow { request, .. }, 6) => {
            (request.node, request.nodes) = (None, NodeMask::ALL);
        }
        (Op::Slow { replies, .. }, 7) if !replies.is_empty() => {
            replies.remove(0);
        }
        (Op::Kswapd { reply, .. }, 0) => *reply = None,
        (Op::Reclaimable { pages, .. }, 0) => *pages /= 2,
        (Op::Bulk { cpu, gfp, handles }, 0) => {
            if let [handle] = handles.as_slice() {
                let request = mmspec_model::contract::Request::new(Order::ZERO, *gfp);
                new = Op::Alloc { cpu: *cpu, request, handle: *handle };
            }
        }
        (Op::Bulk { gfp, .. }, 1) => *gfp = Gfp::KERNEL,
        (Op::FreeBatch { cpu, handles }, 0) => {
            if let [handle] = handles.as_slice() {
                new = Op::Free { cpu: *cpu, handle: *handle };
            }
        }
        (Op::Bulk { cpu, .. } | Op::Free { cpu, .. } | Op::FreeBatch { cpu, .. }, 4) => {
            *cpu = CpuId(0);
        }
        (Op::DrainAll { zone, .. } | Op::DrainBegin { zone, .. }, 0) => *zone = None,
        (Op::DrainBegin { by, zone }, 1) => new = Op::DrainAll { by: *by, zone: *zone },
        (Op::FailTrylock { times, .. }, 0) => *times = 1,
        (Op::FailTrylock { times, .. }, 1) => *times = times.saturating_sub(1).max(1),
        (Op::Set { tunables }, 0) => *tunables = Tunables::default(),
        (Op::Set { tunables }, 1) => *tunables = script.tunables,
        (Op::Check { order, .. }, 0) => *order = Order::ZERO,
        (Op::Check { flags, .. }, 1) => *flags = mmspec_model::vocab::AllocFlags::empty(),
        _ => return Edit::Nothing,
    }
    if new == *op {
        return Edit::Nothing;
    }
    let mut candidate = script.clone();
    candidate.ops[position] = new;
    offer(script, candidate)
}

/// Edits of machine, rules and tunables. The last group removes one range each.
const SETTING_EDITS: usize = 23;

pub(super) fn setting(script: &Script, at: usize) -> Edit {
    let mut new = script.clone();
    let machine = &mut new.machine;
    match at {
        0 => new.rules = Rules::linux_6_12(),
        1 => new.tunables = Tunables::default(),
        2 => machine.cma.clear(),
        3 => machine.cma_built = false,
        4 => machine.free_high_batch = false,
        5 => machine.thp_order = None,
        6 => machine.holes.clear(),
        7 => machine.reserved.clear(),
        8 => fewer_cpus(&mut new, 1),
        9 => {
            let fewer = machine.cpus.saturating_sub(1);
            fewer_cpus(&mut new, fewer);
        }
        10 => drop_zone(&mut new, 0),
        11 => {
            let last = machine.zones.len() - 1;
            drop_zone(&mut new, last);
        }
        12 => machine.zones.iter_mut().for_each(|zone| zone.span.end.0 &= !7),
        13 => {
            let first = machine.zones[0].span;
            machine.zones[0].span.start.0 = if first.start.0 > 0 { 0 } else { first.start.0 };
        }
        14 => halve(machine.zones.first_mut().map(|zone| &mut zone.span)),
        15 => halve(machine.zones.last_mut().map(|zone| &mut zone.span)),
        16 => {
            if let Some(kbytes) = &mut new.tunables.min_free_kbytes {
                *kbytes /= 2;
            }
        }
        17 => {
            new.tunables =
                Tunables { min_free_kbytes: new.tunables.min_free_kbytes, ..Tunables::default() }
        }
        18 => {
            let top = machine.max_order.get();
            machine.max_order = Order::of(top.saturating_sub(1));
        }
        19 => one_node(machine),
        20 => machine.distances.clear(),
        21 => machine.cpu_nodes.clear(),
        22 => {
            let last = machine.zones.iter().map(|zone| zone.node.0).max().unwrap_or(0);
            machine.nodes = machine.nodes.min(last + 1);
            machine.distances.clear();
        }
        _ => {
            return match drop_range(machine, at - SETTING_EDITS) {
                true => offer(script, new),
                false => Edit::End,
            };
        }
    }
    offer(script, new)
}

/// All zones on node 0, if their kinds allow it.
fn one_node(machine: &mut Machine) {
    machine.nodes = 1;
    machine.cpu_nodes.clear();
    machine.distances.clear();
    machine.zones.iter_mut().for_each(|zone| zone.node = NodeId(0));
}

/// Remove one hole, reserved or cma range, counted through.
fn drop_range(machine: &mut Machine, at: usize) -> bool {
    let mut left = at;
    for ranges in [&mut machine.holes, &mut machine.reserved, &mut machine.cma] {
        if left < ranges.len() {
            ranges.remove(left);
            return true;
        }
        left -= ranges.len();
    }
    false
}

fn halve(span: Option<&mut PfnRange>) {
    if let Some(span) = span
        && span.len() > 8
    {
        span.end.0 -= span.len() / 2;
    }
}

/// Machines with `cpus` CPUs; what ran on others runs on CPU 0.
fn fewer_cpus(script: &mut Script, cpus: u16) {
    if cpus == 0 || cpus >= script.machine.cpus {
        return;
    }
    script.machine.cpus = cpus;
    if !script.machine.cpu_nodes.is_empty() {
        script.machine.cpu_nodes.truncate(usize::from(cpus));
    }
    let fold = |cpu: &mut CpuId| {
        if cpu.0 >= cpus {
            *cpu = CpuId(0);
        }
    };
    for op in &mut script.ops {
        for_each_cpu(op, fold);
    }
}

fn for_each_cpu(op: &mut Op, mut visit: impl FnMut(&mut CpuId)) {
    match op {
        Op::Alloc { cpu, .. }
        | Op::Bulk { cpu, .. }
        | Op::Free { cpu, .. }
        | Op::FreeBatch { cpu, .. }
        | Op::Tick { cpu }
        | Op::Work { cpu }
        | Op::FailTrylock { cpu, .. }
        | Op::CpuOnline { cpu }
        | Op::Isolate { cpu, .. }
        | Op::Unisolate { cpu, .. }
        | Op::TakeOff { cpu, .. }
        | Op::Slow { cpu, .. }
        | Op::Unreserve { cpu, .. } => visit(cpu),
        Op::DrainAll { by, .. } | Op::DrainBegin { by, .. } | Op::PcpDisable { by, .. } => {
            visit(by)
        }
        Op::DrainCpu { by, cpu } | Op::CpuDead { by, cpu } => {
            visit(by);
            visit(cpu);
        }
        Op::Kswapd { .. } | Op::Rebuild | Op::Reclaimable { .. } => {}
        Op::PcpEnable { .. } | Op::Set { .. } | Op::ReclaimActive { .. } | Op::Check { .. } => {}
    }
}

/// Machines without zone `gone`; zone numbers above it move down.
fn drop_zone(script: &mut Script, gone: usize) {
    if script.machine.zones.len() < 2 {
        return;
    }
    let span = script.machine.zones.remove(gone).span;
    let last = script.machine.zones.len() - 1;
    let machine = &mut script.machine;
    machine.cma.retain(|range| !span.contains(range.start));
    let fold = |zone: &mut ZoneIdx| {
        if zone.index() > gone || zone.index() > last {
            zone.0 -= 1;
        }
    };
    script.ops.retain_mut(|op| {
        match op {
            Op::DrainAll { zone: Some(zone), .. }
            | Op::DrainBegin { zone: Some(zone), .. }
            | Op::PcpDisable { zone, .. }
            | Op::PcpEnable { zone }
            | Op::ReclaimActive { zone, .. }
            | Op::Reclaimable { zone, .. }
            | Op::Check { zone, .. } => fold(zone),
            Op::Isolate { pfn, .. } | Op::Unisolate { pfn, .. } | Op::TakeOff { pfn, .. } => {
                return !span.contains(*pfn);
            }
            _ => {}
        }
        true
    });
}

/// One step: handles are numbered from 1 in the order of their first appearance.
pub(super) fn renumber(script: &Script, at: usize) -> Edit {
    if at > 0 {
        return Edit::End;
    }
    let mut numbers: BTreeMap<Handle, Handle> = BTreeMap::new();
    let mut new = script.clone();
    let mut rename = |handle: &mut Handle| {
        let fresh = Handle(numbers.len() as u32 + 1);
        *handle = *numbers.entry(*handle).or_insert(fresh);
    };
    for op in &mut new.ops {
        match op {
            Op::Alloc { handle, .. }
            | Op::Slow { handle, .. }
            | Op::TakeOff { handle, .. }
            | Op::Free { handle, .. } => rename(handle),
            Op::Bulk { handles, .. } | Op::FreeBatch { handles, .. } => {
                handles.iter_mut().for_each(&mut rename);
            }
            _ => {}
        }
    }
    offer(script, new)
}
