//! Printing.

use crate::script::names::{ALLOC_FLAGS, SWITCHES, TASK_FLAGS, nearest_preset};
use crate::script::{Handle, Op, Script, kswapd_word};
use mmspec_model::contract::Request;
use mmspec_model::vocab::{AllocFlags, Machine, NodeMask, PfnRange, Rules, Tunables, ZoneIdx};
use std::fmt::{self, Write};

/// The whole script.
pub(super) fn script(out: &mut dyn Write, script: &Script) -> fmt::Result {
    writeln!(out, "mms 1")?;
    machine(out, &script.machine)?;
    rules(out, &script.rules)?;
    // The first `set` line before any operation gives the boot tunables, so a script that starts
    // with a sysctl write must spell them even if they are the defaults.
    let starts_with_set = matches!(script.ops.first(), Some(Op::Set { .. }));
    if script.tunables != Tunables::default() || starts_with_set {
        tunables(out, &script.tunables, &Tunables::default())?;
        writeln!(out)?;
    }
    let mut in_force = script.tunables;
    for each in &script.ops {
        op(out, each, &in_force)?;
        writeln!(out)?;
        if let Op::Set { tunables } = each {
            in_force = *tunables;
        }
    }
    Ok(())
}

/// The tunables in force when operation `at` runs.
pub(super) fn tunables_before(script: &Script, at: usize) -> Tunables {
    script.ops[..at]
        .iter()
        .rev()
        .find_map(|op| match op {
            Op::Set { tunables } => Some(*tunables),
            _ => None,
        })
        .unwrap_or(script.tunables)
}

fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn machine(out: &mut dyn Write, machine: &Machine) -> fmt::Result {
    write!(
        out,
        "machine cpus={} max_order={} pageblock_order={} thp_order=",
        machine.cpus, machine.max_order, machine.pageblock_order
    )?;
    match machine.thp_order {
        Some(order) => write!(out, "{order}")?,
        None => write!(out, "none")?,
    }
    write!(
        out,
        " cma_built={} free_high_batch={}",
        switch(machine.cma_built),
        switch(machine.free_high_batch)
    )?;
    if machine.nodes != 1 {
        write!(out, " nodes={}", machine.nodes)?;
    }
    let list = |numbers: &mut dyn Iterator<Item = String>| numbers.collect::<Vec<_>>().join(",");
    if !machine.cpu_nodes.is_empty() {
        let nodes = list(&mut machine.cpu_nodes.iter().map(ToString::to_string));
        write!(out, " cpu_nodes={nodes}")?;
    }
    if !machine.distances.is_empty() {
        let distances = list(&mut machine.distances.iter().map(ToString::to_string));
        write!(out, " distances={distances}")?;
    }
    writeln!(out)?;
    for zone in &machine.zones {
        write!(out, "zone {} {}..{}", zone.kind, zone.span.start, zone.span.end)?;
        if zone.node.0 != 0 {
            write!(out, " node={}", zone.node)?;
        }
        writeln!(out)?;
    }
    for (name, ranges) in
        [("hole", &machine.holes), ("reserved", &machine.reserved), ("cma", &machine.cma)]
    {
        for each in ranges {
            range(out, name, each)?;
        }
    }
    Ok(())
}

fn range(out: &mut dyn Write, name: &str, range: &PfnRange) -> fmt::Result {
    writeln!(out, "{name} {}..{}", range.start, range.end)
}

fn rules(out: &mut dyn Write, rules: &Rules) -> fmt::Result {
    let (preset, differing) = nearest_preset(rules);
    writeln!(out, "rules {}", Rules::PRESETS[preset].0)?;
    for at in differing {
        let switch = &SWITCHES[at];
        writeln!(out, "rule {}={}", switch.name, switch.values[(switch.get)(rules)])?;
    }
    Ok(())
}

/// `set` with the values that differ from those in force.
fn tunables(out: &mut dyn Write, new: &Tunables, old: &Tunables) -> fmt::Result {
    write!(out, "set")?;
    if new.min_free_kbytes != old.min_free_kbytes {
        match new.min_free_kbytes {
            Some(kbytes) => write!(out, " min_free_kbytes={kbytes}")?,
            None => write!(out, " min_free_kbytes=auto")?,
        }
    }
    if new.watermark_scale_factor != old.watermark_scale_factor {
        write!(out, " watermark_scale_factor={}", new.watermark_scale_factor)?;
    }
    if new.watermark_boost_factor != old.watermark_boost_factor {
        write!(out, " watermark_boost_factor={}", new.watermark_boost_factor)?;
    }
    if new.lowmem_reserve_ratio != old.lowmem_reserve_ratio {
        let [dma, dma32, normal, movable] = new.lowmem_reserve_ratio;
        write!(out, " lowmem_reserve_ratio={dma},{dma32},{normal},{movable}")?;
    }
    if new.percpu_pagelist_high_fraction != old.percpu_pagelist_high_fraction {
        write!(out, " percpu_pagelist_high_fraction={}", new.percpu_pagelist_high_fraction)?;
    }
    if new.pcp_batch_scale_max != old.pcp_batch_scale_max {
        write!(out, " pcp_batch_scale_max={}", new.pcp_batch_scale_max)?;
    }
    Ok(())
}

fn flags(out: &mut dyn Write, flags: AllocFlags) -> fmt::Result {
    if flags.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = ALLOC_FLAGS
        .iter()
        .filter(|(_, flag)| flags.contains(*flag))
        .map(|(name, _)| *name)
        .collect();
    write!(out, " flags={}", names.join(","))
}

/// Where, and for which task: what is not the default.
fn placed(out: &mut dyn Write, request: &Request) -> fmt::Result {
    if let Some(node) = request.node {
        write!(out, " node={node}")?;
    }
    for (name, mask) in [("nodes", request.nodes), ("mems", request.task.mems)] {
        if mask != NodeMask::ALL {
            write!(out, " {name}={:#x}", mask.0)?;
        }
    }
    if request.task.flags.is_empty() {
        return Ok(());
    }
    let set = TASK_FLAGS.iter().filter(|(_, flag)| request.task.flags.contains(*flag));
    let names: Vec<&str> = set.map(|(name, _)| *name).collect();
    write!(out, " task={}", names.join(","))
}

fn zone(out: &mut dyn Write, zone: Option<ZoneIdx>) -> fmt::Result {
    zone.map_or(Ok(()), |zone| write!(out, " zone={}", zone.0))
}

fn handles(out: &mut dyn Write, handles: &[Handle]) -> fmt::Result {
    handles.iter().try_for_each(|handle| write!(out, " a{}", handle.0))
}

/// One operation, without the line's end.
pub(super) fn op(out: &mut dyn Write, op: &Op, in_force: &Tunables) -> fmt::Result {
    match op {
        Op::Alloc { cpu, request, handle } => {
            let (order, gfp) = (request.order, request.gfp);
            write!(out, "a{} = alloc cpu={cpu} order={order} gfp={gfp}", handle.0)?;
            if let Some((mark, attempt)) = request.attempt {
                write!(out, " at={mark}")?;
                flags(out, attempt)?;
            }
            placed(out, request)
        }
        Op::Bulk { cpu, gfp, handles } => {
            for handle in handles {
                write!(out, "a{} ", handle.0)?;
            }
            write!(out, "= bulk cpu={cpu} gfp={gfp}")
        }
        Op::Free { cpu, handle } => write!(out, "free cpu={cpu} a{}", handle.0),
        Op::FreeBatch { cpu, handles: batch } => {
            write!(out, "free-batch cpu={cpu}")?;
            handles(out, batch)
        }
        Op::DrainCpu { by, cpu } => write!(out, "drain by={by} cpu={cpu}"),
        Op::DrainAll { by, zone: at } => {
            write!(out, "drain-all by={by}")?;
            zone(out, *at)
        }
        Op::DrainBegin { by, zone: at } => {
            write!(out, "drain-begin by={by}")?;
            zone(out, *at)
        }
        Op::Work { cpu } => write!(out, "work cpu={cpu}"),
        Op::PcpDisable { by, zone } => write!(out, "pcp-disable by={by} zone={}", zone.0),
        Op::PcpEnable { zone } => write!(out, "pcp-enable zone={}", zone.0),
        Op::FailTrylock { cpu, times } => write!(out, "fail-trylock cpu={cpu} times={times}"),
        Op::Tick { cpu } => write!(out, "tick cpu={cpu}"),
        Op::Set { tunables: new } => tunables(out, new, in_force),
        Op::ReclaimActive { zone, active } => {
            write!(out, "reclaim-active zone={} {}", zone.0, switch(*active))
        }
        Op::Isolate { cpu, pfn } => write!(out, "isolate cpu={cpu} pfn={pfn}"),
        Op::Unisolate { cpu, pfn, migratetype } => {
            write!(out, "unisolate cpu={cpu} pfn={pfn} to={migratetype}")
        }
        Op::TakeOff { cpu, pfn, handle } => {
            write!(out, "a{} = take-off cpu={cpu} pfn={pfn}", handle.0)
        }
        Op::Unreserve { cpu, migratetype, force } => {
            let force = if *force { " force" } else { "" };
            write!(out, "unreserve cpu={cpu} to={migratetype}{force}")
        }
        Op::CpuDead { by, cpu } => write!(out, "cpu-dead by={by} cpu={cpu}"),
        Op::CpuOnline { cpu } => write!(out, "cpu-online cpu={cpu}"),
        Op::Slow { cpu, request, handle, replies } => {
            let (order, gfp) = (request.order, request.gfp);
            write!(out, "a{} = slow cpu={cpu} order={order} gfp={gfp}", handle.0)?;
            placed(out, request)?;
            if replies.is_empty() {
                return Ok(());
            }
            let words: Vec<String> = replies.iter().map(ToString::to_string).collect();
            write!(out, " reply={}", words.join(","))
        }
        Op::Kswapd { node, reply } => {
            write!(out, "kswapd node={node}")?;
            reply.map_or(Ok(()), |reply| write!(out, " reply={}", kswapd_word(reply)))
        }
        Op::Rebuild => write!(out, "rebuild-zonelists"),
        Op::Reclaimable { zone, pages } => write!(out, "reclaimable zone={} pages={pages}", zone.0),
        Op::Check { zone, order, mark, highest, flags: attempt } => {
            let zone = zone.0;
            write!(out, "check zone={zone} order={order} mark={mark} highest={highest}")?;
            flags(out, *attempt)
        }
    }
}
