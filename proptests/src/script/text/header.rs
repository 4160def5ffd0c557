//! The lines that describe the machine, the rules and the tunables.

use super::ParseError;
use super::args::{Args, Word};
use crate::script::names::SWITCHES;
use mmspec_model::vocab::{
    MAX_NODES, Machine, NodeId, Order, Pfn, PfnRange, Rules, Tunables, ZoneKind, ZoneSpan,
};

const RANGE_HINT: &str = "write FIRST..END, END being one past the last frame, e.g. 0x0..0x400";

/// `machine cpus=… max_order=… …`; what is left out takes the x86-64 build's value, lowered to
/// what the other fields allow.
pub(super) fn machine(args: &mut Args<'_>, machine: &mut Machine) -> Result<(), ParseError> {
    if let Some(word) = args.named("cpus") {
        machine.cpus = args.number(word, u64::from(u16::MAX))? as u16;
    }
    if let Some(word) = args.named("max_order") {
        machine.max_order = args.order(word)?;
    }
    machine.pageblock_order = match args.named("pageblock_order") {
        Some(word) => args.order(word)?,
        None => Order::of(9).min(machine.max_order),
    };
    machine.thp_order = match args.named("thp_order") {
        Some(word) if word.text == "none" => None,
        Some(word) => Some(args.order(word)?),
        None => (machine.pageblock_order > Order::COSTLY).then_some(machine.pageblock_order),
    };
    if let Some(word) = args.named("cma_built") {
        machine.cma_built = args.switch(word)?;
    }
    if let Some(word) = args.named("free_high_batch") {
        machine.free_high_batch = args.switch(word)?;
    }
    if let Some(word) = args.named("nodes") {
        machine.nodes = args.number(word, MAX_NODES as u64)? as u8;
    }
    if let Some(word) = args.named("cpu_nodes") {
        machine.cpu_nodes = list(args, word)?.into_iter().map(NodeId).collect();
    }
    if let Some(word) = args.named("distances") {
        machine.distances = list(args, word)?;
    }
    Ok(())
}

/// Small numbers joined by commas.
fn list(args: &Args<'_>, word: Word<'_>) -> Result<Vec<u8>, ParseError> {
    let mut column = word.column;
    let numbers = word.text.split(',').map(|text| {
        let number = args.number(Word { column, text }, u64::from(u8::MAX));
        column += text.chars().count() + 1;
        number.map(|number| number as u8)
    });
    numbers.collect()
}

/// `zone KIND FIRST..END [node=N]`.
pub(super) fn zone(args: &mut Args<'_>) -> Result<ZoneSpan, ParseError> {
    let word = args.expect("the zone's kind", "write zone Normal 0x0..0x400")?;
    let known = ZoneKind::ALL.map(|kind| (kind.name(), kind));
    let kind = args.choice(word, "zone kind", known)?;
    let zone = ZoneSpan::new(kind, range(args)?);
    let node = args.node("node")?;
    Ok(zone.on(node.unwrap_or_default()))
}

/// `FIRST..END`.
pub(super) fn range(args: &mut Args<'_>) -> Result<PfnRange, ParseError> {
    let word = args.expect("the range", RANGE_HINT)?;
    let Some((first, end)) = word.text.split_once("..") else {
        let what = format!("\"{}\" is not a range of frames", word.text);
        return Err(args.error(word.column, what, RANGE_HINT));
    };
    let start: Pfn = args.pfn(Word { column: word.column, text: first })?;
    let end = args.pfn(Word { column: word.column + first.chars().count() + 2, text: end })?;
    Ok(PfnRange { start, end })
}

/// `rules PRESET`.
pub(super) fn rules(args: &mut Args<'_>) -> Result<Rules, ParseError> {
    let word = args.expect("the preset", "write rules linux_6_12")?;
    args.choice(word, "preset", Rules::PRESETS)
}

/// `rule NAME=VALUE`.
pub(super) fn rule(args: &mut Args<'_>, rules: &mut Rules) -> Result<(), ParseError> {
    let hint = "write rule NAME=VALUE, e.g. rule fallback=whole";
    let word = args.expect("the switch", hint)?;
    let Some((name, value)) = word.text.split_once('=') else {
        return Err(args.error(word.column, format!("\"{}\" has no value", word.text), hint));
    };
    let known = SWITCHES.iter().map(|switch| (switch.name, switch));
    let switch = args.choice(Word { text: name, ..word }, "switch of the rules", known)?;
    let value = Word { column: word.column + name.len() + 1, text: value };
    let positions = switch.values.iter().enumerate().map(|(at, name)| (*name, at));
    let at = args.choice(value, "value of this switch", positions)?;
    (switch.set)(rules, at);
    Ok(())
}

/// `set NAME=VALUE …` on top of the values in force.
pub(super) fn tunables(args: &mut Args<'_>, old: &Tunables) -> Result<Tunables, ParseError> {
    let mut new = *old;
    if let Some(word) = args.named("min_free_kbytes") {
        new.min_free_kbytes = if word.text == "auto" { None } else { Some(args.u32(word)?) };
    }
    if let Some(word) = args.named("watermark_scale_factor") {
        new.watermark_scale_factor = args.u32(word)?;
    }
    if let Some(word) = args.named("watermark_boost_factor") {
        new.watermark_boost_factor = args.u32(word)?;
    }
    if let Some(word) = args.named("lowmem_reserve_ratio") {
        new.lowmem_reserve_ratio = ratios(args, word)?;
    }
    if let Some(word) = args.named("percpu_pagelist_high_fraction") {
        new.percpu_pagelist_high_fraction = args.u32(word)?;
    }
    if let Some(word) = args.named("pcp_batch_scale_max") {
        new.pcp_batch_scale_max = args.number(word, u64::from(u8::MAX))? as u8;
    }
    let column = args_column(args);
    new.validate().map_err(|error| {
        args.error(column, error.to_string(), "write a value that the kernel accepts")
    })?;
    Ok(new)
}

fn args_column(args: &Args<'_>) -> usize {
    args.error_here(String::new(), "").column
}

fn ratios(args: &Args<'_>, word: Word<'_>) -> Result<[u32; 4], ParseError> {
    let wrong = || {
        let what = format!("\"{}\" is not four ratios", word.text);
        args.error(word.column, what, "write DMA,DMA32,Normal,Movable, e.g. 256,256,32,0")
    };
    let mut parsed = [0; 4];
    let mut parts = word.text.split(',');
    for ratio in &mut parsed {
        let text = parts.next().ok_or_else(wrong)?;
        *ratio = args.u32(Word { text, ..word })?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(parsed) }
}
