//! What no run may lose, and where it may go.

use super::super::{Broken, Observation, equal, holds};
use super::{CompactPhase, Home, seen};
use crate::contract::CompactEvent;
use crate::vocab::{CompactFeatures, CompactFixes, Pfn, PfnRange};
use alloc::collections::BTreeMap;
use alloc::format;

pub(super) fn content(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let mut places: BTreeMap<Pfn, u64> =
        seen.before.homes.iter().map(|home| (home.pfn, home.token)).collect();
    for event in seen.events {
        let (from, to) = match event {
            CompactEvent::Moved { from, to, .. } => (from, to),
            CompactEvent::Freed { pfn } => {
                let gone = places.remove(pfn);
                holds(count, gone.is_some(), || format!("{pfn} was freed, but no page was there"))?;
                continue;
            }
            _ => continue,
        };
        let token = places.remove(from);
        holds(count, token.is_some(), || format!("{from} was moved, but no page was there"))?;
        let Some(token) = token else { continue };
        let other = places.insert(*to, token);
        holds(count, other.is_none(), || format!("a page was moved onto another one at {to}"))?;
    }
    equal(count, || "pages of owners".into(), places.len(), seen.after.homes.len())?;
    for Home { token, pfn, .. } in &seen.after.homes {
        let here = places.get(pfn);
        holds(count, here == Some(token), || {
            format!("content {token} is at {pfn}, where the traced moves have {here:?}")
        })?;
    }
    Ok(())
}

pub(super) fn conserves(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let now = seen.after;
    // Sources are their owners' pages still.
    let all = now.free + now.held + now.homes.len() as u64 + now.targets;
    equal(count, || "free, held, owned and isolated pages".into(), seen.managed, all)?;
    equal(count, || "isolated source pages".into(), now.sources, now.isolated_by_owner)
}

/// The frames that an event is about.
fn ranges(event: &CompactEvent) -> [Option<PfnRange>; 2] {
    let page = |pfn: Pfn| Some(PfnRange { start: pfn, end: Pfn(pfn.0 + 1) });
    match *event {
        CompactEvent::IsolateMigrate { range, .. } | CompactEvent::IsolateFree { range, .. } => {
            [Some(range), None]
        }
        CompactEvent::Moved { from, to, .. } => [page(from), page(to)],
        _ => [None, None],
    }
}

pub(super) fn in_zone(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    // Known to be broken before these repairs (C04, C08).
    let kept = CompactFixes::TARGETS_IN_ZONE
        .union(CompactFixes::SOURCE_IN_ZONE)
        .union(CompactFixes::AROUND_BLOCK);
    let moves_only = !seen.rules.fixed(kept);
    for event in seen.events {
        if moves_only && !matches!(event, CompactEvent::Moved { .. }) {
            continue;
        }
        for range in ranges(event).into_iter().flatten().filter(|range| range.start < range.end) {
            let inside = seen.span.start <= range.start && range.end <= seen.span.end;
            holds(count, inside, || format!("{event:?} reaches out of the zone {:?}", seen.span))?;
        }
    }
    Ok(())
}

pub(super) fn upwards(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    // From 5.1 to 5.11 a search that found nothing pulled the free scanner to the highest pageblock that it
    // had seen, wherever that was.
    let strays =
        seen.rules.has(CompactFeatures::F11) && !seen.rules.fixed(CompactFixes::TARGETS_IN_ZONE);
    if strays {
        return Ok(());
    }
    // A target that was isolated in an earlier iteration may lie below by now: it is not judged.
    let mut source = None;
    for event in seen.events {
        match *event {
            CompactEvent::IsolateMigrate { range, taken, .. } if taken > 0 => {
                source = Some(range.start);
            }
            CompactEvent::IsolateFree { range, taken, .. } if taken > 0 => {
                let Some(source) = source else { continue };
                // The search for targets goes by the middle between the scanners, which falls into the
                // source's own pageblock when they are neighbours (§3.7: expected, and found by this law).
                let searches = seen.rules.has(CompactFeatures::F11);
                let (above, below) = (seen.block(range.start), seen.block(source));
                holds(count, above > below || searches && above == below, || {
                    format!("targets for {source} were isolated at {}, below it", range.start)
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn ends_empty(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if !matches!(seen.phase, CompactPhase::Ended(_) | CompactPhase::Begun(Some(_))) {
        return Ok(());
    }
    let now = seen.after;
    let left = [now.sources, now.targets, now.isolated_by_owner];
    equal(count, || "sources, targets and isolated pages after the end".into(), [0; 3], left)
}
