//! Skip bits and cached positions: hints, but what later runs find depends on them.

use super::super::{Broken, Observation, equal, holds};
use super::{CompactPhase, CompactSeen, seen};
use crate::contract::{CompactEvent, CompactMode, CompactResult};
use crate::vocab::{CompactFeatures, CompactFixes, Pfn, PfnRange};
use alloc::format;

pub(super) fn minded(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if seen.goal.no_set_skip_hint {
        let set = seen
            .after
            .skips
            .iter()
            .zip(&seen.before.skips)
            .any(|(after, before)| *after && !*before);
        holds(count, !set, || "a run that leaves skip bits alone set one".into())?;
    }
    // Up to 5.0 bits are set as a hint only, and minded at every visit.
    if seen.goal.ignore_skip_hint || !seen.rules.has(CompactFeatures::F10) {
        return Ok(());
    }
    for (at, event) in seen.events.iter().enumerate() {
        let CompactEvent::IsolateMigrate { range, taken, .. } = *event else { continue };
        let entered = range.start.0.is_multiple_of(seen.pageblock);
        let picked = seen.events[..at].iter().any(|event| {
            matches!(event, CompactEvent::FastFindMigrate { found: Some(found), .. } if seen.block(*found) == seen.block(range.start))
        });
        if !entered || picked || taken == 0 {
            continue;
        }
        let marked = seen.before.skips[seen.skip_index(range.start)];
        holds(count, !marked, || {
            format!("{taken} pages were isolated from the marked pageblock at {}", range.start)
        })?;
    }
    Ok(())
}

/// Whether a range reaches to the end of its pageblock, or of the zone.
fn reaches_end(seen: &CompactSeen<'_>, range: PfnRange) -> bool {
    range.end.0.is_multiple_of(seen.pageblock) || range.end == seen.span.end
}

pub(super) fn marks(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let needed = CompactFixes::MARK_REPRESENTATIVE.union(CompactFixes::ZONE_START);
    let marks = seen.rules.has(CompactFeatures::F10)
        && seen.rules.fixed(needed)
        && !seen.goal.ignore_skip_hint
        && !seen.goal.no_set_skip_hint;
    if !marks {
        return Ok(());
    }
    for event in seen.events {
        let CompactEvent::IsolateMigrate { range, taken, .. } = *event else { continue };
        let entered =
            range.start.0.is_multiple_of(seen.pageblock) || range.start == seen.span.start;
        // Pages of drivers are isolated without the LRU lock, under which the bit is set.
        let by_drivers = seen.before.homes.iter().any(|home| !home.lru && range.contains(home.pfn));
        let due = if taken == 0 { reaches_end(seen, range) } else { !by_drivers };
        if entered && due && range.start < range.end {
            let marked = seen.after.skips[seen.skip_index(range.start)];
            holds(count, marked, || {
                format!("{range:?} was scanned and gave {taken} pages, but it is not marked")
            })?;
        }
    }
    Ok(())
}

pub(super) fn scans(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    // Up to 6.4 the search by free lists marked what it picked, and the scan then left it out (C01).
    let needed = CompactFixes::UNMARKED_PICK.union(CompactFixes::MARK_REPRESENTATIVE);
    if seen.goal.direct && seen.goal.mode == CompactMode::Async || !seen.rules.fixed(needed) {
        return Ok(());
    }
    for event in seen.events {
        let CompactEvent::IsolateMigrate { range, scanned, .. } = *event else { continue };
        let pages = seen.before.homes.iter().filter(|home| range.contains(home.pfn)).count() as u64;
        holds(count, scanned >= pages, || {
            format!("{scanned} frames of {range:?} were scanned, where {pages} pages lie")
        })?;
    }
    Ok(())
}

pub(super) fn cached(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if let Some(CompactResult::Complete | CompactResult::PartialSkipped) = seen.ended() {
        let last = Pfn((seen.span.end.0 - 1) / seen.pageblock * seen.pageblock);
        let expected = [seen.span.start, seen.span.start, last];
        return equal(count, || "cached positions".into(), expected, seen.after.cached);
    }
    // Searches by free lists raise the position again.
    let searches = seen.goal.order.is_some() && seen.rules.has(CompactFeatures::F11);
    let exact = seen.rules.fixed(CompactFixes::EXACT_POSITIONS)
        && seen.rules.has(CompactFeatures::F18)
        && !seen.goal.no_set_skip_hint;
    if seen.phase != CompactPhase::Stepped || searches || !exact {
        return Ok(());
    }
    for event in seen.events {
        let CompactEvent::IsolateFree { range, .. } = *event else { continue };
        if range.start < range.end && reaches_end(seen, range) {
            let next = seen.after.cached[2];
            holds(count, seen.block(next) < seen.block(range.start), || {
                format!("{range:?} was scanned to its end, but free scanners begin at {next}")
            })?;
        }
    }
    Ok(())
}
