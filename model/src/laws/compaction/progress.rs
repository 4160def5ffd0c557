//! That runs end, and why.

use super::super::{Broken, Observation, equal, holds};
use super::arith::{Blocks, is_suitable};
use super::{CompactPhase, CompactPicture, CompactSeen, seen};
use crate::contract::{CompactEvent, CompactMode, CompactResult};
use crate::vocab::{CompactFeatures, CompactFixes, MigrateType, Order, Pfn, ZoneState};
use alloc::format;

/// What an iteration that moves nothing makes smaller, the first difference counting: the way back, which is
/// taken once; unmarked pageblocks; the distance of the scanners; what is left of the pageblock.
fn measure(
    seen: &CompactSeen<'_>,
    fell_back: bool,
    picture: &CompactPicture,
    (migrate, free): (Pfn, Pfn),
) -> [i64; 4] {
    let unmarked = if seen.goal.ignore_skip_hint {
        0
    } else {
        picture.skips.iter().filter(|skip| !**skip).count() as i64
    };
    let distance = seen.block(free) as i64 - seen.block(migrate) as i64;
    let left = seen.pageblock as i64 - (migrate.0 % seen.pageblock) as i64;
    [i64::from(!fell_back), unmarked, distance, left]
}

pub(super) fn advances(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (Some(migrate), Some(free)) = (seen.migrate_before, seen.free_before) else {
        return Ok(());
    };
    let CompactPhase::Stepped = seen.phase else { return Ok(()) };
    let (Some(migrate_now), Some(free_now)) = (seen.migrate_now(), seen.free_now()) else {
        return Ok(());
    };
    let before = measure(seen, seen.fell_back, seen.before, (migrate, free));
    let after = measure(seen, seen.has_fallen_back(), seen.after, (migrate_now, free_now));
    // Driver's pages mark no pageblock, and a search may come back to it until they are gone; what was moved
    // does not come back, or the run has no end, which is found by its length.
    let moved = |event: &CompactEvent| {
        matches!(event, CompactEvent::Moved { .. } | CompactEvent::Freed { .. })
    };
    let moved = seen.events.iter().any(moved);
    holds(count, moved || after < before, || {
        format!(
            "iteration {}: ways back, unmarked pageblocks, distance and pages left were {before:?} and are {after:?}",
            seen.iterations
        )
    })
}

pub(super) fn bounded_search(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if !seen.rules.fixed(CompactFixes::BOUNDED_SEARCH) {
        return Ok(());
    }
    for event in seen.events {
        if let CompactEvent::FastFindMigrate { scanned, limit, .. } = *event {
            holds(count, scanned <= limit, || {
                format!("a search with limit {limit} looked at {scanned} entries")
            })?;
        }
    }
    Ok(())
}

pub(super) fn whole_blocks(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if seen.ended() != Some(CompactResult::Success)
        || seen.captured.is_some()
        || seen.goal.order.is_none()
        || !seen.rules.has(CompactFeatures::F07)
    {
        return Ok(());
    }
    let Some(migrate) = seen.migrate_now() else { return Ok(()) };
    holds(count, migrate.0 % seen.pageblock == 0, || {
        format!("a run succeeded with its scanner at {migrate}, in the middle of a pageblock")
    })
}

pub(super) fn signal(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    // Up to 5.2 a run whose scanner stood in mid-block went on for ever (670105a25608).
    if !seen.signal || !seen.rules.fixed(CompactFixes::SIGNAL_ABORTS) {
        return Ok(());
    }
    let CompactPhase::Stepped = seen.phase else {
        *count += u64::from(seen.ended().is_some());
        return Ok(());
    };
    // It is looked for at every 32nd frame; async runs of tasks leave out whole parts.
    if seen.goal.direct && seen.goal.mode == CompactMode::Async {
        return Ok(());
    }
    for event in seen.events {
        let CompactEvent::IsolateMigrate { range, .. } = *event else { continue };
        let passed = range.start.0.next_multiple_of(32) < range.end.0;
        holds(count, !passed, || {
            format!("with a fatal signal pending {range:?} was scanned, and the run goes on")
        })?;
    }
    Ok(())
}

/// Whether a zone has a block for a request of a type, if need be of another type's.
fn has_block(zone: &ZoneState, order: Order, wanted: MigrateType, pageblock: u64) -> bool {
    let pageblock_order = pageblock.trailing_zeros() as usize;
    let others = match wanted {
        MigrateType::Unmovable => [MigrateType::Reclaimable, MigrateType::Movable],
        MigrateType::Reclaimable => [MigrateType::Unmovable, MigrateType::Movable],
        _ => [MigrateType::Reclaimable, MigrateType::Unmovable],
    };
    (order.index()..zone.nr_free.len()).any(|order| {
        let of = |of: MigrateType| zone.nr_free[order][of.index()] > 0;
        let steals = order >= pageblock_order / 2 || wanted != MigrateType::Movable;
        of(wanted)
            || wanted == MigrateType::Movable && of(MigrateType::Cma)
            || steals && others.into_iter().any(of)
    })
}

pub(super) fn success(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (Some(CompactResult::Success), Some(order)) = (seen.ended(), seen.goal.order) else {
        return Ok(());
    };
    let found = seen.captured.is_some()
        || has_block(seen.zone, order, seen.goal.migratetype, seen.pageblock);
    holds(count, found, || {
        format!("success, but no block of order {order}: {:?}", Blocks::of(seen.zone).by_order)
    })
}

pub(super) fn suitable(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    let (CompactPhase::Begun(refused), Some(order)) = (seen.phase, seen.goal.order) else {
        return Ok(());
    };
    // That it would be served as things are is the watermark laws' business.
    if refused == Some(CompactResult::Success) {
        return Ok(());
    }
    let suits = is_suitable(&seen.kernel, seen.zone_before, order, seen.goal.highest);
    let expected = if suits { None } else { Some(CompactResult::Skipped) };
    equal(count, || format!("whether a run for order {order} is refused"), expected, refused)
}

impl CompactSeen<'_> {
    /// Where the migrate scanner is now.
    fn migrate_now(&self) -> Option<Pfn> {
        self.positions.map(|(migrate, _)| migrate)
    }

    fn free_now(&self) -> Option<Pfn> {
        self.positions.map(|(_, free)| free)
    }
}
