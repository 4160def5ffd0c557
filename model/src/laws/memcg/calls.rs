//! What one call may do.

use super::{MemcgDid, MemcgSeen, seen};
use crate::contract::{ChargeTask, MemcgCall, MemcgDone, MemcgStep};
use crate::laws::{Broken, Observation, equal, holds};
use crate::vocab::{ChargeReclaim, Gfp, MemcgId, PAGE_COUNTER_MAX};
use alloc::format;

/// A charge, of whatever it is for.
struct Charge<'a> {
    memcg: MemcgId,
    pages: u64,
    gfp: Gfp,
    task: ChargeTask,
    steps: &'a [MemcgStep],
    done: MemcgDone,
}

fn charge<'a>(seen: &MemcgSeen<'a>) -> Option<Charge<'a>> {
    let MemcgDid::Call { call, steps, done } = seen.did else { return None };
    let owner =
        |objcg: MemcgId| seen.after.group(objcg).map_or(MemcgId::ROOT, |group| group.objcg_owner);
    let (memcg, pages, gfp, task) = match call {
        MemcgCall::Charge { memcg, pages, gfp, task, .. } => (memcg, pages, gfp, task),
        MemcgCall::ChargeObject { objcg, bytes, gfp, task, .. } => {
            (owner(objcg), bytes.div_ceil(4096), gfp, task)
        }
        MemcgCall::ChargeKernelPages { objcg, pages, gfp, task, .. } => {
            (owner(objcg), pages, gfp, task)
        }
        _ => return None,
    };
    let known = done != MemcgDone::NoGroup;
    known.then_some(Charge { memcg, pages: u64::from(pages), gfp, task, steps, done })
}

/// Whether a charge may go over limits.
fn may_exceed(charge: &Charge<'_>) -> bool {
    charge.gfp.intersects(Gfp::NOFAIL | Gfp::HIGH) || charge.task.contains(ChargeTask::MEMALLOC)
}

/// L9. What is reclaimed meanwhile only makes room.
pub(super) fn limit(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (Some(before), Some(charge)) = (seen.before, charge(seen)) else { return Ok(()) };
    if may_exceed(&charge) || !matches!(charge.done, MemcgDone::Charged { .. }) {
        return Ok(());
    }
    for level in seen.after.levels(charge.memcg) {
        let (Some(old), Some(new)) = (before.group(level), seen.after.group(level)) else {
            continue;
        };
        let fits = new.memory.usage <= old.memory.usage || new.memory.usage <= new.memory.max;
        holds(count, fits, || {
            format!("{level} was charged to {} of {}", new.memory.usage, new.memory.max)
        })?;
    }
    Ok(())
}

/// L11.
pub(super) fn failed(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (Some(before), Some(charge)) = (seen.before, charge(seen)) else { return Ok(()) };
    if !charge.steps.is_empty() || !matches!(charge.done, MemcgDone::NoMemory { .. }) {
        return Ok(());
    }
    for (level, group) in seen.groups() {
        let old = before.group(level).map_or(0, |group| group.memory.usage);
        equal(count, || format!("usage of {level} after a failure"), old, group.memory.usage)?;
    }
    Ok(())
}

pub(super) fn nofail(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(charge) = seen(observation).and_then(charge) else { return Ok(()) };
    if !charge.gfp.contains(Gfp::NOFAIL) {
        return Ok(());
    }
    let charged = matches!(charge.done, MemcgDone::Charged { .. });
    holds(count, charged, || format!("a charge with NOFAIL ended in {:?}", charge.done))
}

pub(super) fn nowait(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(charge) = seen(observation).and_then(charge) else { return Ok(()) };
    if charge.gfp.contains(Gfp::DIRECT_RECLAIM) {
        return Ok(());
    }
    equal(count, || "what a charge that may not wait asks".into(), &[][..], charge.steps)
}

/// Bug M1.
pub(super) fn goal(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let Some(charge) = charge(seen) else { return Ok(()) };
    if seen.rules.reclaim == ChargeReclaim::UntilOnePage {
        return Ok(());
    }
    // The first is for the charge; memory.high may ask for less after it.
    if let Some(MemcgStep::Reclaim { goal, .. }) = charge.steps.first() {
        let least = charge.pages.max(32);
        holds(count, *goal >= least, || format!("{goal} pages asked for a charge of {least}"))?;
    }
    Ok(())
}

pub(super) fn patience(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let Some(charge) = charge(seen) else { return Ok(()) };
    let kills = charge.steps.iter().any(|step| matches!(step, MemcgStep::Oom { .. }));
    // Kernels of 2014 had no RETRY_MAYFAIL.
    let today = seen.rules.reclaim == ChargeReclaim::WholeRequest;
    let mayfail = today && charge.gfp.contains(Gfp::RETRY_MAYFAIL);
    if mayfail || charge.gfp.contains(Gfp::NORETRY) || charge.pages > 8 {
        holds(count, !kills, || {
            format!("a charge of {} pages, {}, killed", charge.pages, charge.gfp)
        })?;
    }
    let failed = matches!(charge.done, MemcgDone::NoMemory { .. });
    if charge.gfp.contains(Gfp::NORETRY) && failed && today {
        // A level that was made room on leads to the next one.
        let times = charge.steps.len();
        let most = 2 * seen.after.levels(charge.memcg).len();
        holds(count, times <= most, || format!("NORETRY reclaimed {times} times"))?;
    }
    Ok(())
}

pub(super) fn sleep(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let MemcgDid::Call { steps, .. } = seen.did else { return Ok(()) };
    for (at, step) in steps.iter().enumerate() {
        if let MemcgStep::Sleep { jiffies } = step {
            let fits = (11..=2000).contains(jiffies) && at + 1 == steps.len();
            holds(count, fits, || format!("a sleep of {jiffies} jiffies, step {at}"))?;
        }
    }
    Ok(())
}

pub(super) fn root(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let Some(group) = seen.after.group(MemcgId::ROOT) else { return Ok(()) };
    let limits = (group.memory.max, group.memory.high, group.memory.min, group.memory.low);
    let none = (PAGE_COUNTER_MAX, PAGE_COUNTER_MAX, 0, 0);
    equal(count, || "limits of the root".into(), none, limits)?;
    if let (Some(before), Some(charge)) = (seen.before, charge(seen))
        && charge.memcg == MemcgId::ROOT
    {
        let old = before.group(MemcgId::ROOT).map_or(0, |group| group.memory.usage);
        let new = group.memory.usage;
        // An object may push another group's bytes out of a stock.
        holds(count, new <= old, || format!("the root was charged: {old} to {new}"))?;
    }
    Ok(())
}

pub(super) fn protection(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let MemcgDid::Protection { root, memcg, effective } = seen.did else { return Ok(()) };
    let Some(group) = seen.after.group(memcg) else { return Ok(()) };
    let Some(parent) = group.parent.filter(|_| memcg != root) else {
        return equal(count, || format!("protection of {memcg}, the target"), (0, 0), effective);
    };
    let memory = &group.memory;
    // What a removed group shows may be more than its parent's (memcg-slub.md §2.12).
    if memory.usage == 0 || !group.online {
        return Ok(());
    }
    if parent == root {
        let own = (memory.min, memory.low);
        return equal(count, || format!("protection of {memcg}, below the target"), own, effective);
    }
    let Some(above) = seen.after.group(parent).map(|group| group.memory) else { return Ok(()) };
    for (kind, share, of) in [("min", effective.0, above.emin), ("low", effective.1, above.elow)] {
        // What nobody claims may be more than there is to protect.
        let fits = share <= of && (seen.rules.recursive_protection || share <= memory.usage);
        holds(count, fits, || {
            format!("effective {kind} of {memcg}: {share} of {of}, usage {}", memory.usage)
        })?;
    }
    Ok(())
}
