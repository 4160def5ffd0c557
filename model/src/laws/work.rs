//! The two schemes of draining other CPUs' lists (page_alloc.md §2.7, §2.9).
//!
//! How long a drain by work items waits is nobody's promise: a CPU comes to its worker when it
//! does. It is recorded by the harness and not judged.

use super::{
    Broken, Family, Law, Level, LinuxView, Numbers, Observation, Step, When, equal, holds,
};
use crate::contract::DrainBegun;
use crate::vocab::{CpuId, DrainScheme, ZoneIdx};
use alloc::format;

/// The laws of this part of the drain family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "remote-drain-is-bounded",
        family: Family::Drain,
        statement: "A remote drain needs no step of another CPU: when its call returns, the lists are empty and nothing is queued.",
        level: Level::Exact,
        when: When::Sequential,
        check: remote_is_bounded,
    },
    Law {
        id: "work-is-queued",
        family: Family::Drain,
        statement: "A drain by work items queues one on each online CPU that has pages and moves none itself; it is busy or waits exactly while another is underway.",
        level: Level::Exact,
        when: When::Sequential,
        check: is_queued,
    },
    Law {
        id: "work-runs-at-home",
        family: Family::Drain,
        statement: "A CPU's worker empties its own lists in the zones drained, and leaves the lists and diffs of other CPUs alone.",
        level: Level::Exact,
        when: When::Sequential,
        check: runs_at_home,
    },
    Law {
        id: "no-work-for-the-dead",
        family: Family::Drain,
        statement: "No drain waits for a CPU that is offline, and after all is given back none waits at all.",
        level: Level::Complete,
        when: When::Quiescent,
        check: none_for_the_dead,
    },
];

fn cpus(numbers: &Numbers) -> impl Iterator<Item = CpuId> + use<> {
    (0..numbers.online.len() as u16).map(CpuId)
}

/// The zones of a drain.
fn zones(numbers: &Numbers, zone: Option<ZoneIdx>) -> core::ops::Range<usize> {
    zone.map_or(0..numbers.zones.len(), |zone| zone.index()..zone.index() + 1)
}

fn holds_pages(numbers: &Numbers, cpu: CpuId, zone: Option<ZoneIdx>) -> bool {
    numbers.online[cpu.index()] && zones(numbers, zone).any(|zone| numbers.pcp(cpu, zone).count > 0)
}

fn scheme(linux: &LinuxView<'_>) -> DrainScheme {
    linux.setting.rules.drain_scheme
}

fn remote_is_bounded(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if scheme(&linux) != DrainScheme::Remote {
        return Ok(());
    }
    let zone = match seen.step {
        Step::DrainBegin(zone, begun) => {
            equal(count, || "what became of a remote drain".into(), DrainBegun::Done, begun)?;
            zone
        }
        Step::DrainAll(zone) => zone,
        Step::PcpDisable(zone) => Some(zone),
        _ => return Ok(()),
    };
    for cpu in cpus(linux.now) {
        holds(count, !linux.now.is_queued(cpu), || {
            format!("a remote drain queued work on CPU {cpu}")
        })?;
        holds(count, !holds_pages(linux.now, cpu, zone), || {
            format!("a remote drain left pages on the lists of CPU {cpu}")
        })?;
    }
    Ok(())
}

fn is_queued(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::DrainBegin(zone, begun), Some(linux)) = (seen.step, seen.linux) else {
        return Ok(());
    };
    if scheme(&linux) != DrainScheme::WorkItem {
        return Ok(());
    }
    let (before, now) = (linux.before, linux.now);
    let targets = cpus(before).filter(|cpu| holds_pages(before, *cpu, zone)).count();
    let expected = match (before.drain_underway(), zone) {
        (true, None) => DrainBegun::Busy,
        (true, Some(_)) => DrainBegun::Waits,
        (false, _) if targets == 0 => DrainBegun::Done,
        (false, _) => DrainBegun::Queued { cpus: targets as u16 },
    };
    equal(count, || "what became of the drain".into(), expected, begun)?;
    for cpu in cpus(now) {
        for at in 0..now.zones.len() {
            let (old, mut new) = (*before.pcp(cpu, at), *now.pcp(cpu, at));
            let fresh = matches!(begun, DrainBegun::Queued { .. })
                && holds_pages(before, cpu, zone)
                && zones(now, zone).contains(&at);
            equal(
                count,
                || format!("CPU {cpu} has work queued in zone {at}"),
                old.drain_queued || fresh,
                new.drain_queued,
            )?;
            new.drain_queued = old.drain_queued;
            equal(
                count,
                || format!("lists of CPU {cpu} in zone {at} at a drain's begin"),
                old,
                new,
            )?;
        }
    }
    Ok(())
}

fn runs_at_home(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Work(running, worked), Some(linux)) = (seen.step, seen.linux) else {
        return Ok(());
    };
    let (before, now) = (linux.before, linux.now);
    let queued = before.online[running.index()] && before.is_queued(running);
    equal(count, || format!("work was run by CPU {running}"), queued, worked)?;
    for cpu in cpus(now) {
        for at in 0..now.zones.len() {
            let (old, new) = (before.pcp(cpu, at), now.pcp(cpu, at));
            let what = || format!("lists of CPU {cpu} in zone {at} after the worker of {running}");
            if cpu != running || !old.drain_queued {
                equal(count, what, old, new)?;
            } else if worked {
                equal(count, what, (0, false), (new.count, new.drain_queued))?;
            }
        }
    }
    Ok(())
}

fn none_for_the_dead(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    if scheme(&linux) != DrainScheme::WorkItem {
        return Ok(());
    }
    let emptied = matches!(seen.step, Step::Emptied);
    for cpu in cpus(linux.now) {
        if emptied || !linux.now.online[cpu.index()] {
            holds(count, !linux.now.is_queued(cpu), || {
                let state = if linux.now.online[cpu.index()] { "online" } else { "offline" };
                format!("a drain waits for CPU {cpu}, which is {state} and has nothing to do")
            })?;
        }
    }
    Ok(())
}
