//! Counters.

use super::super::{Broken, Observation, equal, holds};
use super::{CompactPhase, CompactSeen, seen};
use crate::contract::CompactEvent;
use alloc::format;

/// What the tracepoints of a call add up to.
#[derive(Default)]
struct Sums {
    migrate_scanned: u64,
    free_scanned: u64,
    isolated: u64,
    migrated: u64,
    failed: u64,
    /// Batches of which pages could not be moved.
    failures: u64,
}

fn sums(seen: &CompactSeen<'_>) -> Sums {
    let mut sums = Sums::default();
    for event in seen.events {
        match *event {
            CompactEvent::IsolateMigrate { scanned, taken, .. } => {
                sums.migrate_scanned += scanned;
                sums.isolated += taken;
            }
            CompactEvent::FastFindMigrate { scanned, .. } => sums.migrate_scanned += scanned,
            CompactEvent::IsolateFree { scanned, taken, .. }
            | CompactEvent::FastIsolateFree { scanned, taken, .. } => {
                sums.free_scanned += scanned;
                sums.isolated += taken;
            }
            CompactEvent::Migrate { migrated, failed } => {
                sums.migrated += migrated;
                sums.failed += failed;
                sums.failures += u64::from(failed > 0);
            }
            _ => {}
        }
    }
    sums
}

pub(super) fn counters(observation: &Observation<'_>, count: &mut u64) -> Result<(), Broken> {
    let Some(seen) = seen(observation) else { return Ok(()) };
    if let CompactPhase::Begun(_) = seen.phase {
        return equal(
            count,
            || "counters when a run begins".into(),
            seen.before.counters,
            seen.after.counters,
        );
    }
    let (before, after, sums) = (&seen.before.counters, &seen.after.counters, sums(seen));
    let pairs = [
        ("compact_isolated", before.isolated + sums.isolated, after.isolated),
        ("pgmigrate_success", before.pgmigrate_success + sums.migrated, after.pgmigrate_success),
    ];
    // Of a batch that runs out of targets only one page is counted.
    let failed = after.pgmigrate_fail.wrapping_sub(before.pgmigrate_fail);
    holds(count, (sums.failures..=sums.failed).contains(&failed), || {
        format!(
            "pgmigrate_fail grew by {failed}, but {} pages of {} batches could not be moved",
            sums.failed, sums.failures
        )
    })?;
    // An aborted scan of a pageblock is counted, but not traced.
    let traced = !seen.signal && !seen.contended;
    for (name, expected, is) in pairs {
        if traced || name != "compact_isolated" {
            equal(count, || name.into(), expected, is)?;
        }
    }
    if !traced {
        return Ok(());
    }
    let scanned = [
        (
            "migrate",
            before.migrate_scanned,
            seen.before.scanned.0,
            sums.migrate_scanned,
            after.migrate_scanned,
        ),
        ("free", before.free_scanned, seen.before.scanned.1, sums.free_scanned, after.free_scanned),
    ];
    for (name, counted, earlier, now, is) in scanned {
        // Totals are added when the run ends.
        let expected = if seen.ended().is_some() { counted + earlier + now } else { counted };
        equal(count, || format!("compact_{name}_scanned"), expected, is)?;
    }
    Ok(())
}
