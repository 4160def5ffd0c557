//! Two accounts of the same runs, step by step.

use super::recorded::{RecordedStep, ZoneRun};
use super::report::Mismatch;
use crate::trace::CompactStep;
use mmspec_model::vocab::Pfn;
use std::cmp::Ordering;

/// How many steps of one kind agree in one zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Steps {
    /// First frame of the zone.
    pub zone: Pfn,
    /// The tracepoint, without `mm_compaction_`.
    pub kind: &'static str,
    /// Steps of the recording.
    pub recorded: u64,
    /// Steps of the simulation.
    pub simulated: u64,
    /// Steps that are the same in both: range, counts and result.
    pub same: u64,
}

impl Steps {
    /// Whether at least 95 % of the steps of either account are the same.
    #[must_use]
    pub const fn is_alike(&self) -> bool {
        let most = if self.recorded > self.simulated { self.recorded } else { self.simulated };
        self.same * 100 >= most * 95
    }
}

/// Kinds of steps, in the order of the report.
const KINDS: [&str; 7] = [
    "begin",
    "isolate_migratepages",
    "isolate_freepages",
    "fast_isolate_freepages",
    "migratepages",
    "finished",
    "end",
];

const fn kind_of(step: &CompactStep) -> &'static str {
    match step {
        CompactStep::Begin { .. } => KINDS[0],
        CompactStep::IsolateMigrate(_) => KINDS[1],
        CompactStep::IsolateFree(_) => KINDS[2],
        CompactStep::FastIsolateFree(_) => KINDS[3],
        CompactStep::Migrate { .. } => KINDS[4],
        CompactStep::Finished { .. } => KINDS[5],
        CompactStep::End { .. } => KINDS[6],
    }
}

/// Compare a recording with a simulation: what agrees, by zone and kind, and the first step that does
/// not. Kinds that the recording does not show at all are left out.
///
/// Scans are set against those that begin at the same frame, so a step more or less does not put all
/// later ones out of place; other steps go by their number.
#[must_use]
pub fn compare_steps(
    recorded: &[ZoneRun],
    simulated: &[ZoneRun],
) -> (Vec<Steps>, Option<Mismatch>) {
    let shown = |kind: &str| {
        recorded.iter().flat_map(|run| &run.steps).any(|step| kind_of(&step.step) == kind)
    };
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| shown(kind)).collect();
    let mut table = Vec::new();
    for run in recorded {
        let other = simulated.iter().find(|other| other.zone == run.zone);
        for kind in KINDS.into_iter().filter(|kind| kinds.contains(kind)) {
            let (left, right) = (of_kind(run, kind), other.map(|run| of_kind(run, kind)));
            let right = right.unwrap_or_default();
            let (recorded, simulated) = (left.len() as u64, right.len() as u64);
            if recorded + simulated > 0 {
                let same = count_same(&left, &right);
                table.push(Steps { zone: run.zone, kind, recorded, simulated, same });
            }
        }
    }
    (table, first_mismatch(recorded, simulated, &kinds))
}

fn of_kind(run: &ZoneRun, kind: &str) -> Vec<CompactStep> {
    run.steps.iter().map(|step| step.step).filter(|step| kind_of(step) == kind).collect()
}

fn count_same(left: &[CompactStep], right: &[CompactStep]) -> u64 {
    let (mut l, mut r, mut same) = (0, 0, 0);
    while let (Some(one), Some(other)) = (left.get(l), right.get(r)) {
        match order(one, other) {
            Ordering::Less => l += 1,
            Ordering::Greater => r += 1,
            Ordering::Equal => {
                same += u64::from(one == other);
                l += 1;
                r += 1;
            }
        }
    }
    same
}

/// Which of two steps comes first in a run over a whole zone, where the scanners never turn.
fn order(one: &CompactStep, other: &CompactStep) -> Ordering {
    match (one, other) {
        (CompactStep::IsolateMigrate(one), CompactStep::IsolateMigrate(other)) => {
            one.range.start.cmp(&other.range.start)
        }
        _ => Ordering::Equal,
    }
}

fn first_mismatch(recorded: &[ZoneRun], simulated: &[ZoneRun], kinds: &[&str]) -> Option<Mismatch> {
    let steps = |runs: &[ZoneRun]| -> Vec<RecordedStep> {
        let steps = runs.iter().flat_map(|run| run.steps.iter().copied());
        steps.filter(|step| kinds.contains(&kind_of(&step.step))).collect()
    };
    let (left, right) = (steps(recorded), steps(simulated));
    let at = (0..left.len().max(right.len()))
        .find(|at| left.get(*at).map(|s| s.step) != right.get(*at).map(|s| s.step))?;
    let line = left.get(at).or(left.last()).map_or(0, |step| step.line);
    Some(Mismatch {
        line,
        recorded: left.get(at).map(|step| step.step),
        simulated: right.get(at).map(|step| step.step),
    })
}
