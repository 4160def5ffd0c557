//! The parser of /proc/zoneinfo.

use super::cursor::{Cursor, ProcError};
use super::vmstat::{NamedCounters, counter};
use super::zoneinfo::{PageSet, PopulatedZone, ZoneEntry, Zoneinfo};
use std::vec::Vec;

/// Six blanks start a counter, and nothing else at that depth.
const COUNTER: &str = "      ";

/// Parse a copy of /proc/zoneinfo; `file` names it in errors.
///
/// # Errors
/// The first line that a kernel (6.1 or later) would not have written.
pub fn parse_zoneinfo(file: &str, text: &str) -> Result<Zoneinfo, ProcError> {
    let mut lines = Cursor::new(file, text);
    let mut zones = Vec::new();
    lines.need_any("a row `Node N, zone NAME`")?;
    while let Some(head) = lines.next() {
        zones.push(zone(&mut lines, head)?);
    }
    Ok(Zoneinfo { zones })
}

fn zone(lines: &mut Cursor<'_>, head: &str) -> Result<ZoneEntry, ProcError> {
    let (node, kind, rest) = lines.zone_row(head)?;
    if !rest.trim().is_empty() {
        return Err(lines.unexpected("`Node N, zone NAME` alone on its line", head));
    }
    let mut node_stats = None;
    if lines.peek() == Some("  per-node stats") {
        lines.next();
        node_stats = Some(counters(lines)?);
    }
    let free = lines.need_prefix("  pages free ", "`  pages free     N`")?;
    let free = lines.number(free, "the free pages")?;
    let boost = size(lines, "boost", "`        boost    N`")?;
    let min = size(lines, "min", "`        min      N`")?;
    let low = size(lines, "low", "`        low      N`")?;
    let high = size(lines, "high", "`        high     N`")?;
    let promo = match lines.peek() {
        Some(text) if text.trim_start().starts_with("promo") => {
            Some(size(lines, "promo", "`        promo    N`")?)
        }
        _ => None,
    };
    let spanned = size(lines, "spanned", "`        spanned  N`")?;
    let present = size(lines, "present", "`        present  N`")?;
    let managed = size(lines, "managed", "`        managed  N`")?;
    let cma = size(lines, "cma", "`        cma      N`")?;
    let protection = protection(lines)?;
    let populated = match lines.peek() {
        Some(text) if text.starts_with(COUNTER) => Some(populated(lines)?),
        _ => None,
    };
    Ok(ZoneEntry {
        node,
        kind,
        node_stats,
        free,
        boost,
        min,
        low,
        high,
        promo,
        spanned,
        present,
        managed,
        cma,
        protection,
        populated,
    })
}

fn counters(lines: &mut Cursor<'_>) -> Result<NamedCounters, ProcError> {
    let mut counters = NamedCounters::default();
    while let Some(text) = lines.peek().filter(|text| text.starts_with(COUNTER)) {
        lines.next();
        counters.0.push(counter(lines, text)?);
    }
    Ok(counters)
}

/// A line `        label    value`.
fn size(lines: &mut Cursor<'_>, label: &str, expected: &'static str) -> Result<u64, ProcError> {
    let text = lines.need(expected)?;
    match text.trim_start().strip_prefix(label) {
        Some(value) if value.starts_with(' ') => lines.number(value, expected),
        _ => Err(lines.unexpected(expected, text)),
    }
}

fn protection(lines: &mut Cursor<'_>) -> Result<Vec<u64>, ProcError> {
    const EXPECTED: &str = "`        protection: (N, N, …)`";
    let text = lines.need(EXPECTED)?;
    text.trim()
        .strip_prefix("protection: (")
        .and_then(|rest| rest.strip_suffix(')'))
        .ok_or_else(|| lines.unexpected(EXPECTED, text))?
        .split(',')
        .map(|pages| lines.number(pages, "the protection"))
        .collect()
}

fn populated(lines: &mut Cursor<'_>) -> Result<PopulatedZone, ProcError> {
    let counters = counters(lines)?;
    lines.need_prefix("  pagesets", "`  pagesets`")?;
    let mut pagesets = Vec::new();
    while let Some(text) = lines.peek() {
        let Some(cpu) = text.strip_prefix("    cpu: ") else { break };
        lines.next();
        let cpu = lines.number(cpu, "the CPU")?;
        pagesets.push(pageset(lines, cpu)?);
    }
    let unreclaimable = lines.need_prefix("  node_unreclaimable:", "`  node_unreclaimable:  N`")?;
    let node_unreclaimable = lines.number(unreclaimable, "node_unreclaimable")?;
    let start_pfn = lines.need_prefix("  start_pfn:", "`  start_pfn:           N`")?;
    let start_pfn = lines.number(start_pfn, "start_pfn")?;
    Ok(PopulatedZone { counters, pagesets, node_unreclaimable, start_pfn })
}

fn pageset(lines: &mut Cursor<'_>, cpu: u32) -> Result<PageSet, ProcError> {
    let mut set = PageSet { cpu, ..PageSet::default() };
    set.count = size(lines, "count:", "`count: N` of a CPU")?;
    set.high = size(lines, "high:", "`high:  N` of a CPU")?;
    set.batch = size(lines, "batch:", "`batch: N` of a CPU")?;
    if lines.peek().is_some_and(|text| text.trim_start().starts_with("high_min:")) {
        set.high_min = Some(size(lines, "high_min:", "`high_min: N` of a CPU")?);
        set.high_max = Some(size(lines, "high_max:", "`high_max: N` of a CPU")?);
    }
    let threshold = lines.peek().and_then(|text| text.strip_prefix("  vm stats threshold:"));
    if let Some(threshold) = threshold {
        lines.next();
        set.stat_threshold = Some(lines.number(threshold, "the vm stats threshold")?);
    }
    Ok(set)
}
