//! Who owns which frame.

use super::{Ask, Broken, Family, Law, Level, Observation, When, block, broken, equal, holds};
use alloc::format;
use alloc::vec;

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "managed-only",
        family: Family::Ownership,
        statement: "Every frame of a block handed out was given to the allocator.",
        level: Level::Safe,
        when: When::Always,
        check: managed_only,
    },
    Law {
        id: "aligned",
        family: Family::Ownership,
        statement: "A block of order o starts at a multiple of 2^o frames, a run at a multiple of its alignment.",
        level: Level::Safe,
        when: When::Always,
        check: aligned,
    },
    Law {
        id: "no-overlap",
        family: Family::Ownership,
        statement: "A block handed out shares no frame with a block that a caller still holds.",
        level: Level::Safe,
        when: When::Always,
        check: no_overlap,
    },
    Law {
        id: "exact-place",
        family: Family::Ownership,
        statement: "A request for a fixed place is answered with that place or refused.",
        level: Level::Safe,
        when: When::Always,
        check: exact_place,
    },
    Law {
        id: "one-place",
        family: Family::Ownership,
        statement: "Each managed frame is held, cached or listed as free, exactly one of them, and no other frame is.",
        level: Level::Conserved,
        when: When::Quiescent,
        check: one_place,
    },
    Law {
        id: "frames-conserved",
        family: Family::Ownership,
        statement: "Free frames and held frames together are the managed frames.",
        level: Level::Conserved,
        when: When::Quiescent,
        check: frames_conserved,
    },
    Law {
        id: "same-again",
        family: Family::Ownership,
        statement: "After everything is given back, the allocator serves what it served when it was new.",
        level: Level::Returns,
        when: When::Quiescent,
        check: same_again,
    },
    Law {
        id: "order-refused",
        family: Family::Ownership,
        statement: "A request above the largest size is answered with a refusal.",
        level: Level::Contract,
        when: When::Always,
        check: order_refused,
    },
];

fn managed_only(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    for &(pfn, order) in seen.granted {
        *count += 1;
        let foreign = (pfn.0..pfn.0 + order.pages())
            .find(|at| !seen.world.is_managed(crate::vocab::Pfn(*at)));
        if let Some(foreign) = foreign {
            return broken(format!(
                "block {} was handed out, but frame {foreign:#x} was never given to the allocator",
                block(pfn, order)
            ));
        }
    }
    let Some((run, _)) = seen.runs.and_then(|runs| runs.granted()) else { return Ok(()) };
    *count += 1;
    match (run.start..run.end()).find(|at| !seen.world.is_managed(crate::vocab::Pfn(*at))) {
        Some(foreign) => broken(format!(
            "{run} was handed out, but {foreign:#x} was never given to the allocator"
        )),
        None => Ok(()),
    }
}

fn aligned(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    for &(pfn, order) in seen.granted {
        holds(count, pfn.is_aligned(order), || {
            format!("block {} does not start at a multiple of its size", block(pfn, order))
        })?;
    }
    let Some((run, align)) = seen.runs.and_then(|runs| runs.granted()) else { return Ok(()) };
    holds(count, run.start.is_multiple_of(align), || {
        format!("{run} was handed out, which does not start at a multiple of {align}")
    })
}

fn no_overlap(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    for (at, &(pfn, order)) in seen.granted.iter().enumerate() {
        *count += 1;
        if let Some((held, other)) = seen.live.overlapping(pfn, order) {
            return broken(format!(
                "block {} was handed out while {} is held",
                block(pfn, order),
                block(held, other.order)
            ));
        }
        // Within one bulk call.
        for &(earlier, other) in &seen.granted[..at] {
            if earlier.0 < pfn.0 + order.pages() && pfn.0 < earlier.0 + other.pages() {
                return broken(format!(
                    "blocks {} and {} of one call overlap",
                    block(earlier, other),
                    block(pfn, order)
                ));
            }
        }
    }
    let Some(runs) = seen.runs else { return Ok(()) };
    let Some((run, _)) = runs.granted() else { return Ok(()) };
    *count += 1;
    match runs.held.overlapping(run) {
        Some(held) => broken(format!("{run} was handed out while {held} is held")),
        None => Ok(()),
    }
}

fn exact_place(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(asked) = seen.runs.and_then(|runs| runs.asked) else { return Ok(()) };
    let (Ask::At(place), Some(start)) = (asked.ask, asked.answer) else { return Ok(()) };
    equal(count, || "place asked for, place given".into(), place, start)
}

fn one_place(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let (Some(lists), Some(linux)) = (seen.lists, seen.linux) else { return Ok(()) };
    let machine = &linux.setting.machine;
    let mut owner: vec::Vec<Option<&'static str>> = vec![None; machine.as_ref().end().index()];
    let mut claim = |pfn: crate::vocab::Pfn, pages: u64, by: &'static str| {
        for at in pfn.0..pfn.0 + pages {
            if !seen.world.is_managed(crate::vocab::Pfn(at)) {
                return broken(format!(
                    "frame {at:#x} is {by}, but was never given to the allocator"
                ));
            }
            if let Some(other) = owner[at as usize].replace(by) {
                return broken(format!("frame {at:#x} is {other} and {by}"));
            }
        }
        Ok(())
    };
    for (pfn, held) in seen.live.iter() {
        claim(pfn, held.order.pages(), "held")?;
    }
    for cached in &lists.cached {
        claim(cached.pfn, cached.order.map_or(1, |order| order.pages()), "cached")?;
    }
    for free in &lists.free {
        claim(free.pfn, free.order.pages(), "listed as free")?;
    }
    *count += 1;
    let lost = (0..owner.len())
        .find(|at| owner[*at].is_none() && seen.world.is_managed(crate::vocab::Pfn(*at as u64)));
    match lost {
        Some(lost) => broken(format!("frame {lost:#x} is neither held nor cached nor listed")),
        None => Ok(()),
    }
}

fn frames_conserved(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(runs) = seen.runs else { return Ok(()) };
    let Some((free, managed)) = runs.counters else { return Ok(()) };
    let given = seen.world.managed();
    let Some(taken) = runs.taken else {
        // The allocator's own records take their part.
        let held = runs.held.units() + runs.granted().map_or(0, |(run, _)| run.len);
        return holds(count, managed <= given && free + held <= managed, || {
            format!("{free} free of {managed} with {held} held and {given} given")
        });
    };
    equal(count, || "managed units".into(), given, managed)?;
    equal(count, || format!("free units with {taken} taken"), managed.saturating_sub(taken), free)
}

fn same_again(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some((fresh, again)) = seen.runs.and_then(|runs| runs.fresh) else { return Ok(()) };
    equal(count, || "sizes served, largest first".into(), fresh, again)
}

fn order_refused(seen: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(runs) = seen.runs else { return Ok(()) };
    let Some(asked) = runs.asked.filter(|asked| asked.len > runs.largest) else { return Ok(()) };
    holds(count, asked.answer.is_none(), || {
        format!("{} units were served, above the largest request {}", asked.len, runs.largest)
    })
}
