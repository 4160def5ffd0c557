//! What the comparison found.

use super::compare::Steps;
use super::frames::Unknown;
use crate::trace::{CompactStep, FreeFrames};
use mmspec_model::vocab::{Order, Pfn, ZoneName};

/// A counter of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Figure {
    /// Its name in vmstat.
    pub name: &'static str,
    /// By how much it grew in the recording.
    pub recorded: u64,
    /// By how much it grew in the simulation.
    pub simulated: u64,
}

impl Figure {
    /// Simulated over recorded; 1 if both are 0.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.recorded == self.simulated {
            1.0
        } else {
            self.simulated as f64 / self.recorded as f64
        }
    }

    /// Whether the two differ by at most `percent` of the recorded one.
    #[must_use]
    pub const fn is_within(&self, percent: u64) -> bool {
        self.recorded.abs_diff(self.simulated) * 100 <= self.recorded * percent
    }
}

/// Free blocks of one order at the end of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeList {
    /// The zone.
    pub zone: ZoneName,
    /// The order.
    pub order: Order,
    /// The recording's, by kpageflags after and the events in between.
    pub recorded: u64,
    /// The simulation's.
    pub simulated: u64,
}

/// The first step in which both differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mismatch {
    /// Line of the trace.
    pub line: u64,
    /// What is there; `None` if the recording has ended.
    pub recorded: Option<CompactStep>,
    /// What the simulation did; `None` if it has ended.
    pub simulated: Option<CompactStep>,
}

/// A recorded run of compaction against the simulated one.
#[derive(Clone, PartialEq, Debug)]
pub struct ImageReport {
    /// The allocator's rules.
    pub rules: String,
    /// The rules of compaction.
    pub compaction: String,
    /// Which pages could be moved was taken from the recording.
    pub hindsight: bool,
    /// Counters.
    pub figures: Vec<Figure>,
    /// Steps by zone and kind.
    pub steps: Vec<Steps>,
    /// The first step that differs.
    pub first: Option<Mismatch>,
    /// Free blocks at the end, where they are known.
    pub free_lists: Vec<FreeList>,
    /// Frames that are free at the end.
    pub free_frames: Option<FreeFrames>,
    /// What the image could not tell.
    pub unknown: Vec<Unknown>,
}

/// Most that a counter may be off, in percent.
const TOLERANCE: u64 = 5;

/// Shown and not judged: it counts pages that somebody holds, which no image shows.
const NOT_JUDGED: &str = "pgmigrate_fail";

impl ImageReport {
    /// Whether counters differ by at most 5 % and at least 95 % of the steps of each kind are the same.
    #[must_use]
    pub fn is_alike(&self) -> bool {
        let mut judged = self.figures.iter().filter(|figure| figure.name != NOT_JUDGED);
        judged.all(|figure| figure.is_within(TOLERANCE))
            && JUDGED.iter().all(|kind| self.of_kind(kind).is_alike())
    }

    /// The steps of one kind in all zones.
    #[must_use]
    pub fn of_kind(&self, kind: &'static str) -> Steps {
        let mut sum = Steps { zone: Pfn(0), kind, recorded: 0, simulated: 0, same: 0 };
        for steps in self.steps.iter().filter(|steps| steps.kind == kind) {
            sum.recorded += steps.recorded;
            sum.simulated += steps.simulated;
            sum.same += steps.same;
        }
        sum
    }

    /// A counter.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }
}

/// Kinds of steps of which there are many; begin and end are single ones.
const JUDGED: [&str; 4] = ["isolate_migratepages", "isolate_freepages", "migratepages", "finished"];
