//! The runs of compaction that a recording shows.

use super::error::ImageError;
use crate::trace::{CompactStep, Payload, TraceEvent};
use mmspec_model::vocab::{CpuId, Pfn};
use std::path::Path;

/// A step and where the recording has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedStep {
    /// Line of the trace, from 1; 0 for a simulated step.
    pub line: u64,
    /// The step.
    pub step: CompactStep,
}

/// One run over one zone: all steps between its begin and its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZoneRun {
    /// First frame of the zone.
    pub zone: Pfn,
    /// The steps, begin and end included.
    pub steps: Vec<RecordedStep>,
}

/// What one task did: the write to `compact_memory`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedRun {
    /// The CPU that it began on.
    pub cpu: CpuId,
    /// Zone by zone.
    pub zones: Vec<ZoneRun>,
    /// Steps of other tasks in the meantime.
    pub foreign: u64,
    /// Line of its last step.
    pub end: u64,
}

impl RecordedRun {
    /// The runs of the task that began first. `folder` is for errors.
    ///
    /// # Errors
    /// There is none, it does not end, or it was not for whole zones.
    pub(crate) fn find(events: &[TraceEvent], folder: &Path) -> Result<Self, ImageError> {
        let no_run = || ImageError::NoRun { folder: folder.to_owned() };
        let begins = |event: &&TraceEvent| {
            matches!(event.payload, Payload::Compaction(CompactStep::Begin { .. }))
        };
        let first = events.iter().find(begins);
        let first = first.ok_or_else(no_run)?;
        let mut run =
            Self { cpu: CpuId(first.cpu), zones: Vec::new(), foreign: 0, end: first.line };
        let mut open = None;
        for event in events {
            let Payload::Compaction(step) = event.payload else { continue };
            if event.pid != first.pid {
                continue;
            }
            if let CompactStep::Finished { order: order @ 0.., .. } = step {
                if run.zones.is_empty() {
                    return Err(ImageError::OtherRun { line: event.line, order });
                }
                // The task does something else afterwards.
                break;
            }
            if let CompactStep::Begin { zone, .. } = step {
                open = Some(ZoneRun { zone, steps: Vec::new() });
            }
            let Some(zone) = &mut open else { continue };
            zone.steps.push(RecordedStep { line: event.line, step });
            if let CompactStep::End { .. } = step {
                run.end = event.line;
                run.zones.extend(open.take());
            }
        }
        if run.zones.is_empty() {
            return Err(no_run());
        }
        let meanwhile = events.iter().filter(|event| event.line <= run.end);
        let others = meanwhile.filter(|event| event.pid != first.pid);
        let steps = others.filter(|event| matches!(event.payload, Payload::Compaction(_)));
        run.foreign = steps.count() as u64;
        Ok(run)
    }

    /// Frames scanned for sources.
    #[must_use]
    pub fn migrate_scanned(&self) -> u64 {
        self.sum(|step| match step {
            CompactStep::IsolateMigrate(scan) => scan.scanned,
            _ => 0,
        })
    }

    /// Pages migrated.
    #[must_use]
    pub fn migrated(&self) -> u64 {
        self.sum(|step| match step {
            CompactStep::Migrate { migrated, .. } => *migrated,
            _ => 0,
        })
    }

    fn sum(&self, of: impl Fn(&CompactStep) -> u64) -> u64 {
        self.zones.iter().flat_map(|zone| &zone.steps).map(|step| of(&step.step)).sum()
    }
}
