//! Per-CPU lists and their drains.

use super::{Broken, Family, Law, Level, LinuxView, Observation, Step, When, equal, holds};
use alloc::format;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "drain-empties",
        family: Family::Drain,
        statement: "After a drain the drained lists hold nothing.",
        level: Level::Exact,
        when: When::Sequential,
        check: empties,
    },
    Law {
        id: "drain-again",
        family: Family::Drain,
        statement: "A second drain changes nothing.",
        level: Level::Exact,
        when: When::Sequential,
        check: again,
    },
    Law {
        id: "drain-conserves",
        family: Family::Drain,
        statement: "What a drain takes off the per-CPU lists is on the free lists after it.",
        level: Level::Conserved,
        when: When::Sequential,
        check: conserves,
    },
    Law {
        id: "disabled-stays-empty",
        family: Family::Drain,
        statement: "While per-CPU lists of a zone are disabled they hold nothing.",
        level: Level::Exact,
        when: When::Quiescent,
        check: disabled_stays_empty,
    },
    Law {
        id: "local-only",
        family: Family::Drain,
        statement: "Allocations, frees and the worker of one CPU leave the lists of other CPUs alone.",
        level: Level::Exact,
        when: When::Sequential,
        check: local_only,
    },
];

/// Whether the step drained this CPU's lists in this zone.
fn drained(step: Step<'_>, linux: &LinuxView<'_>, cpu: usize, zone: usize) -> bool {
    if !linux.now.online[cpu] {
        return false;
    }
    match step {
        Step::DrainCpu(which) => which.index() == cpu,
        // With another drain underway it is none.
        Step::DrainAll(None) => !linux.before.drain_underway(),
        Step::Emptied => true,
        Step::DrainAll(Some(which)) | Step::PcpDisable(which) => which.index() == zone,
        _ => false,
    }
}

fn empties(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for zone in 0..linux.now.zones.len() {
        for (cpu, pcp) in linux.now.pcps_of(zone).iter().enumerate() {
            if drained(seen.step, &linux, cpu, zone) {
                equal(count, || format!("pages cached by CPU {cpu} in zone {zone}"), 0, pcp.count)?;
            }
        }
    }
    Ok(())
}

fn again(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::DrainAgain, Some(linux)) = (seen.step, seen.linux) else { return Ok(()) };
    *count += 1;
    for (z, (before, now)) in linux.before.zones.iter().zip(&linux.now.zones).enumerate() {
        equal(count, || format!("zone {z} after a second drain"), before, now)?;
    }
    equal(
        count,
        || "per-CPU numbers after a second drain".into(),
        &linux.before.pcps,
        &linux.now.pcps,
    )?;
    equal(count, || "events after a second drain".into(), linux.before.events, linux.now.events)
}

fn conserves(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let is_drain = matches!(
        seen.step,
        Step::DrainCpu(_)
            | Step::DrainAll(_)
            | Step::PcpDisable(_)
            | Step::DrainBegin(..)
            | Step::Work(..)
    );
    if !is_drain {
        return Ok(());
    }
    for z in 0..linux.now.zones.len() {
        let pages = |numbers: &super::Numbers| {
            let zone = &numbers.zones[z];
            let isolated = zone.pages_of(crate::vocab::MigrateType::Isolate);
            zone.nr_free_pages_exact + (isolated + numbers.cached(z)) as i64
        };
        let (before, now) = (pages(linux.before), pages(linux.now));
        equal(count, || format!("free and cached pages of zone {z}"), before, now)?;
    }
    equal(count, || "events of a drain".into(), linux.before.events, linux.now.events)
}

fn disabled_stays_empty(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    for (zone, disabled) in linux.past.disabled.iter().enumerate() {
        if *disabled {
            let cached = linux.now.cached(zone);
            equal(count, || format!("pages cached in disabled zone {zone}"), 0, cached)?;
        }
    }
    Ok(())
}

fn local_only(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let (Step::Alloc(running, ..)
    | Step::Bulk(running, ..)
    | Step::Free(running, ..)
    | Step::Tick(running)) = seen.step
    else {
        return Ok(());
    };
    for zone in 0..linux.now.zones.len() {
        let pairs = linux.before.pcps_of(zone).iter().zip(linux.now.pcps_of(zone));
        for (cpu, (before, now)) in pairs.enumerate() {
            if cpu != running.index() {
                holds(count, before == now, || {
                    format!("CPU {running} changed CPU {cpu} in zone {zone}: {before:?} to {now:?}")
                })?;
            }
        }
    }
    Ok(())
}
