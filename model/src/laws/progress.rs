//! Requests that must be served, and bounded work.

use super::reach::{Reach, scoped};
use super::watermark::{attempt, holds_block, probe_of, unsaid};
use super::{
    Ask, Broken, Family, Law, Level, LinuxView, Observation, RunRequest, Step, When, broken,
    decides_fast, equal, holds,
};
use crate::contract::{Outcome, Refusal, Request, Run};
use crate::vocab::{
    AllocFlags, CpuId, FairPolicy, HighatomicAccess, MigrateType, Order, PcpTuning, ReserveFlags,
    ZoneKind, ZoneState,
};
use alloc::format;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "served-if-possible",
        family: Family::Progress,
        statement: "A request is served while its memory holds an aligned run of free frames of its size.",
        level: Level::Complete,
        when: When::Quiescent,
        check: served_if_possible,
    },
    Law {
        id: "placed-if-free",
        family: Family::Progress,
        statement: "A request for a fixed place is served while its units are free.",
        level: Level::Complete,
        when: When::Quiescent,
        check: placed_if_free,
    },
    Law {
        id: "resized-if-possible",
        family: Family::Progress,
        statement: "A run shrinks whenever asked, and grows while the units behind it are free.",
        level: Level::Complete,
        when: When::Quiescent,
        check: resized_if_possible,
    },
    Law {
        id: "no-false-failure",
        family: Family::Progress,
        statement: "No attempt fails while an allowed zone passes its mark and lists a block that it may take.",
        level: Level::Complete,
        when: When::Sequential,
        check: no_false_failure,
    },
    Law {
        id: "higher-zone-first",
        family: Family::Progress,
        statement: "No lower zone serves an attempt while a higher allowed zone of its node passes and lists a block of its own type.",
        level: Level::Exact,
        when: When::Sequential,
        check: higher_zone_first,
    },
    Law {
        id: "refusals",
        family: Family::Progress,
        statement: "Exactly the requests that can never be served are refused, each with its reason.",
        level: Level::Contract,
        when: When::Always,
        check: refusals,
    },
    Law {
        id: "refusal-changes-nothing",
        family: Family::Progress,
        statement: "A refusal leaves every number as it was.",
        level: Level::Contract,
        when: When::Sequential,
        check: refusal_changes_nothing,
    },
    Law {
        id: "bulk-from-front",
        family: Family::Progress,
        statement: "A bulk allocation fills slots from the front and returns how many are filled.",
        level: Level::Contract,
        when: When::Always,
        check: bulk_from_front,
    },
    Law {
        id: "refill-bounded",
        family: Family::Progress,
        statement: "One allocation moves at most one refill's pages to the per-CPU lists of a zone.",
        level: Level::Exact,
        when: When::Sequential,
        check: refill_bounded,
    },
    Law {
        id: "flush-bounded",
        family: Family::Progress,
        statement: "One free takes at most one flush's pages off the per-CPU lists.",
        level: Level::Exact,
        when: When::Sequential,
        check: flush_bounded,
    },
];

/// The request of an allocator of runs that could have been served.
fn due(seen: &Observation<'_>) -> Option<RunRequest> {
    seen.runs?.asked.filter(|asked| asked.possible)
}

fn served_if_possible(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(asked) = due(seen) else { return Ok(()) };
    if asked.ask != Ask::Anywhere {
        return Ok(());
    }
    holds(count, asked.answer.is_some(), || {
        format!("{} units were refused although an aligned free run exists", asked.len)
    })
}

fn placed_if_free(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(asked) = due(seen) else { return Ok(()) };
    let Ask::At(place) = asked.ask else { return Ok(()) };
    holds(count, asked.answer.is_some(), || {
        format!("{} was refused although it is free", Run::new(place, asked.len))
    })
}

fn resized_if_possible(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(asked) = due(seen) else { return Ok(()) };
    let Ask::Resize(run) = asked.ask else { return Ok(()) };
    holds(count, asked.answer.is_some(), || {
        format!("{run} was not resized to {} units although there is room", asked.len)
    })
}

/// Whether an attempt may take a block of this type (page_alloc.md §1.9, §1.13).
fn may_take(linux: &LinuxView<'_>, flags: AllocFlags, migratetype: MigrateType) -> bool {
    let rules = &linux.setting.rules;
    match migratetype {
        MigrateType::Cma => flags.contains(AllocFlags::CMA),
        MigrateType::HighAtomic => {
            let last_resort = match rules.highatomic_access {
                HighatomicAccess::Oom => AllocFlags::OOM,
                HighatomicAccess::OomOrNonBlock => AllocFlags::OOM | AllocFlags::NON_BLOCK,
            };
            flags.contains(AllocFlags::HIGHATOMIC)
                || (rules.reserve_flags == ReserveFlags::MinReserve
                    && flags.intersects(last_resort))
        }
        MigrateType::Isolate => false,
        _ => true,
    }
}

/// Whether the attempt surely gets past the zone's mark.
fn passes(
    linux: &LinuxView<'_>,
    request: &Request,
    z: usize,
    highest: ZoneKind,
    zone: &ZoneState,
) -> bool {
    let probe = probe_of(linux, request, z, highest);
    let rules = &linux.setting.rules;
    if unsaid(zone, &probe, rules) {
        return false;
    }
    probe.flags.contains(AllocFlags::NO_WATERMARKS) || decides_fast(zone, &probe, rules)
}

fn no_false_failure(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Alloc(cpu, request, Outcome::SlowPath), Some(linux)) = (seen.step, seen.linux)
    else {
        return Ok(());
    };
    let Ok(reach) = Reach::of(&linux, cpu, &request) else { return Ok(()) };
    let highest = reach.highest;
    let (_, flags) = attempt(&linux, &request);
    *count += 1;
    for (z, zone) in linux.before.zones.iter().enumerate() {
        let could = |zone: &ZoneState| {
            reach.allows(zone)
                && passes(&linux, &request, z, highest, zone)
                && holds_block(zone, request.order, |mt| may_take(&linux, flags, mt))
        };
        // A first pass that keeps types apart may fold a diff, so that the second one sees other
        // numbers: both must pass.
        if could(zone) && could(&linux.now.zones[z]) {
            return broken(format!(
                "{request:?} failed although zone {} passes with {} free pages and lists a block",
                zone.kind, zone.nr_free_pages
            ));
        }
    }
    Ok(())
}

fn higher_zone_first(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Alloc(cpu, request, Outcome::Page(pfn)), Some(linux)) = (seen.step, seen.linux)
    else {
        return Ok(());
    };
    let fair = linux.setting.rules.fair_policy != FairPolicy::None && request.attempt.is_none();
    let asked = scoped(request.gfp, &request.task).migratetype();
    let (Ok(reach), Ok(asked)) = (Reach::of(&linux, cpu, &request), asked) else { return Ok(()) };
    if fair {
        // Zones take turns.
        return Ok(());
    }
    let own = if linux.setting.groups_by_mobility() { asked } else { MigrateType::Unmovable };
    let Some(from) = linux.setting.machine.as_ref().zone_of(pfn) else { return Ok(()) };
    let node = linux.before.zones[from.index()].node;
    for (z, zone) in linux.before.zones.iter().enumerate().skip(from.index() + 1) {
        // In every order of zonelists a node's zones come from the highest down.
        if zone.node != node || !reach.allows(zone) {
            continue;
        }
        let could = passes(&linux, &request, z, reach.highest, zone)
            && holds_block(zone, request.order, |mt| mt == own);
        holds(count, !could, || {
            format!("{request:?} was served from zone {} although {} passes", from.0, zone.kind)
        })?;
    }
    Ok(())
}

/// Why the request can never be served, from the machine alone (docs/decisions.md 7, 32).
fn expected_refusal(linux: &LinuxView<'_>, cpu: CpuId, request: &Request) -> Option<Refusal> {
    if request.order > linux.setting.machine.max_order {
        return Some(Refusal::OrderTooLarge(request.order));
    }
    let reach = match Reach::of(linux, cpu, request) {
        Ok(reach) => reach,
        Err(error) => return Some(Refusal::Gfp(error)),
    };
    if let Err(error) = scoped(request.gfp, &request.task).migratetype() {
        return Some(Refusal::Gfp(error));
    }
    let served = linux.now.zones.iter().any(|zone| reach.admits(zone));
    (!served).then_some(Refusal::NoZone)
}

fn refusals(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Alloc(cpu, request, outcome), Some(linux)) = (seen.step, seen.linux) else {
        return Ok(());
    };
    let answered = match outcome {
        Outcome::Refused(refusal) => Some(refusal),
        _ => None,
    };
    let expected = expected_refusal(&linux, cpu, &request);
    equal(count, || format!("refusal of {request:?}"), expected, answered)
}

fn refusal_changes_nothing(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Alloc(_, request, Outcome::Refused(_)), Some(linux)) = (seen.step, seen.linux)
    else {
        return Ok(());
    };
    holds(count, linux.before == linux.now, || format!("refusing {request:?} changed a number"))
}

fn bulk_from_front(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Step::Bulk(_, _, slots, returned) = seen.step else { return Ok(()) };
    let filled = slots.iter().take_while(|slot| slot.is_some()).count();
    let anywhere = slots.iter().flatten().count();
    holds(count, filled == anywhere && returned == filled, || {
        format!("{anywhere} slots filled, {filled} from the front, {returned} returned")
    })
}

fn refill_bounded(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(linux) = seen.linux else { return Ok(()) };
    let (cpu, order, calls) = match seen.step {
        Step::Alloc(cpu, request, Outcome::Page(_)) => (cpu, request.order, 1),
        Step::Bulk(cpu, _, slots, _) => (cpu, Order::ZERO, slots.len().max(1) as u64),
        _ => return Ok(()),
    };
    let scale = linux.tunables.pcp_batch_scale_max;
    for z in 0..linux.now.zones.len() {
        let (before, now) = (linux.before.pcp(cpu, z), linux.now.pcp(cpu, z));
        // A zone may be tried more than once: each pass (a fair one, one that avoids awake nodes,
        // one that keeps types apart) grows the factor and may obtain nothing.
        let rules = &linux.setting.rules;
        let fair = u8::from(rules.fair_policy != FairPolicy::None);
        let awake = u8::from(rules.avoid_awake_nodes && linux.setting.machine.nodes > 1);
        let tries = if calls > 1 { scale } else { before.alloc_factor + 1 + fair + awake };
        let factor = before.alloc_factor.max(tries.min(scale));
        let most = (before.batch << factor).max(2 * order.pages());
        let moved = now.count.saturating_sub(before.count);
        holds(count, moved <= most, || {
            format!("{moved} pages came to CPU {cpu}'s lists in zone {z}, above {most}")
        })?;
    }
    Ok(())
}

fn flush_bounded(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Step::Free(cpu, blocks, _), Some(linux)) = (seen.step, seen.linux) else {
        return Ok(());
    };
    if linux.setting.rules.pcp_tuning == PcpTuning::FreeFactor {
        // High-order frees flush everything there (§2.5).
        return Ok(());
    }
    let machine = &linux.setting.machine;
    let largest = machine.thp_order.unwrap_or(Order::COSTLY).pages();
    let freed: u64 = blocks.iter().map(|(_, order)| order.pages()).sum();
    for z in 0..linux.now.zones.len() {
        let (before, now) = (linux.before.pcp(cpu, z), linux.now.pcp(cpu, z));
        let flush = (before.batch << linux.tunables.pcp_batch_scale_max)
            .max(before.free_count + freed)
            .max(before.batch);
        // Emptying a list may overshoot by a block.
        let most = (flush + largest) * blocks.len().max(1) as u64;
        let gone = before.count.saturating_sub(now.count);
        holds(count, gone <= most, || {
            format!("{gone} pages left CPU {cpu}'s lists in zone {z}, above {most}")
        })?;
    }
    Ok(())
}
