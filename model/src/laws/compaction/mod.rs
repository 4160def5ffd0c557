//! Compaction: what no run may lose, where it may go, that it ends, and what it counts
//! (compaction.md §9).
//!
//! Runs are judged by their tracepoints and by what is to be seen before and after each iteration. Which
//! pages are chosen is the implementation's; the laws hold for any choice.

mod arith;
mod counting;
mod hints;
mod moving;
mod progress;

use super::{Family, Law, Level, Observation, When};
use crate::contract::{CompactEvent, CompactMode, CompactResult};
use crate::vocab::{
    CompactCounters, CompactRules, MigrateType, Order, Pfn, PfnRange, Rules, ZoneKind, ZoneState,
};
use alloc::vec::Vec;

/// What a run is for, as laws look at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactGoal {
    /// The order wanted; `None`: the whole zone.
    pub order: Option<Order>,
    /// The type of the request.
    pub migratetype: MigrateType,
    /// How hard it tries.
    pub mode: CompactMode,
    /// For a task that waits.
    pub direct: bool,
    /// The highest zone that the request may use.
    pub highest: ZoneKind,
    /// Skip bits are not minded.
    pub ignore_skip_hint: bool,
    /// Skip bits are left alone.
    pub no_set_skip_hint: bool,
}

/// What was done to a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactPhase {
    /// It was begun, or refused with this.
    Begun(Option<CompactResult>),
    /// One iteration.
    Stepped,
    /// An iteration, after which it had ended so.
    Ended(CompactResult),
}

/// A page of an owner: what is in it, and where.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Home {
    /// Its content.
    pub token: u64,
    /// Its frame.
    pub pfn: Pfn,
    /// It is on an LRU list, if it is anywhere: not movable by its driver only.
    pub lru: bool,
}

/// What is to be seen of a zone and its owners' pages at one moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CompactPicture {
    /// Owners' pages by content.
    pub homes: Vec<Home>,
    /// Owners' pages that are isolated.
    pub isolated_by_owner: u64,
    /// Source pages that the run holds.
    pub sources: u64,
    /// Target pages that the run holds.
    pub targets: u64,
    /// Pages free or cached in all zones.
    pub free: u64,
    /// Pages that the harness holds, a captured block included.
    pub held: u64,
    /// Skip bits by pageblock, from the pageblock of the zone's first frame.
    pub skips: Vec<bool>,
    /// Cached positions: of async runs' migrate scanners, of others', of free scanners.
    pub cached: [Pfn; 3],
    /// The counters.
    pub counters: CompactCounters,
    /// Frames scanned by the run that are not in the counters yet: for sources, for targets.
    pub scanned: (u64, u64),
}

/// One call of a run.
#[derive(Clone, Copy, Debug)]
pub struct CompactSeen<'a> {
    /// The switches.
    pub rules: CompactRules,
    /// The allocator's.
    pub kernel: Rules,
    /// The zone's frames.
    pub span: PfnRange,
    /// Pages of the machine that are managed.
    pub managed: u64,
    /// Pages in a pageblock.
    pub pageblock: u64,
    /// What the run is for.
    pub goal: CompactGoal,
    /// What was done.
    pub phase: CompactPhase,
    /// How many iterations there were.
    pub iterations: u64,
    /// Tracepoints passed.
    pub events: &'a [CompactEvent],
    /// Before the call.
    pub before: &'a CompactPicture,
    /// After it.
    pub after: &'a CompactPicture,
    /// The zone before the call.
    pub zone_before: &'a ZoneState,
    /// The zone after it.
    pub zone: &'a ZoneState,
    /// A fatal signal was pending.
    pub signal: bool,
    /// Some lock was found taken in the run so far.
    pub contended: bool,
    /// A block was captured.
    pub captured: Option<Pfn>,
    /// Where the migrate scanner was before the call, if the run had begun.
    pub migrate_before: Option<Pfn>,
    /// And the free scanner.
    pub free_before: Option<Pfn>,
    /// The run had gone back to the lowest free part that its searches saw, which it may do once.
    pub fell_back: bool,
    /// Where they are now.
    pub positions: Option<(Pfn, Pfn)>,
}

impl CompactSeen<'_> {
    /// The pageblock of a frame.
    fn block(&self, pfn: Pfn) -> u64 {
        pfn.0 / self.pageblock
    }

    /// The place of a frame's pageblock among the skip bits.
    fn skip_index(&self, pfn: Pfn) -> usize {
        (self.block(pfn) - self.block(self.span.start)) as usize
    }

    /// Whether the run went back to the lowest free part that its searches saw (compaction.md §2.2, "End"), in
    /// this call or before.
    #[must_use]
    pub fn has_fallen_back(&self) -> bool {
        let mut missed = false;
        self.fell_back
            || self.events.iter().any(|event| match event {
                CompactEvent::FastFindMigrate { found, .. } => {
                    missed = found.is_none();
                    false
                }
                CompactEvent::IsolateMigrate { range, .. } => {
                    missed && self.migrate_before.is_some_and(|before| range.start < before)
                }
                _ => false,
            })
    }

    fn ended(&self) -> Option<CompactResult> {
        match self.phase {
            CompactPhase::Ended(result) => Some(result),
            _ => None,
        }
    }
}

/// The laws of this family.
pub(super) const LAWS: &[Law] = &[
    Law {
        id: "compact-content",
        family: Family::Compaction,
        statement: "Every page keeps its content and its owner; it changed its frame only where a move was traced.",
        level: Level::Safe,
        when: When::Sequential,
        check: moving::content,
    },
    Law {
        id: "compact-conserves",
        family: Family::Compaction,
        statement: "Pages free, held and isolated are all the managed ones, at every iteration.",
        level: Level::Conserved,
        when: When::Quiescent,
        check: moving::conserves,
    },
    Law {
        id: "compact-in-zone",
        family: Family::Compaction,
        statement: "A run scans and moves frames of its zone only.",
        level: Level::Safe,
        when: When::Sequential,
        check: moving::in_zone,
    },
    Law {
        id: "compact-upwards",
        family: Family::Compaction,
        statement: "Targets are isolated above the pageblock that sources come from; where they are searched by free lists, not below it.",
        level: Level::Complete,
        when: When::Sequential,
        check: moving::upwards,
    },
    Law {
        id: "compact-ends-empty",
        family: Family::Compaction,
        statement: "A run that has ended holds no pages but a captured block, and leaves none isolated.",
        level: Level::Conserved,
        when: When::Quiescent,
        check: moving::ends_empty,
    },
    Law {
        id: "compact-progress",
        family: Family::Compaction,
        statement: "Each iteration marks a pageblock, moves pages up, brings the scanners together or goes on in its pageblock.",
        level: Level::Complete,
        when: When::Sequential,
        check: progress::advances,
    },
    Law {
        id: "compact-bounded-search",
        family: Family::Compaction,
        statement: "A search by free lists looks at no more entries than its limit says.",
        level: Level::Complete,
        when: When::Sequential,
        check: progress::bounded_search,
    },
    Law {
        id: "compact-whole-blocks",
        family: Family::Compaction,
        statement: "Since patch 07 a run ends for its block only at the end of a pageblock.",
        level: Level::Exact,
        when: When::Sequential,
        check: progress::whole_blocks,
    },
    Law {
        id: "compact-signal",
        family: Family::Compaction,
        statement: "A fatal signal ends a run at the next frame where it is looked for, every 32nd.",
        level: Level::Complete,
        when: When::Sequential,
        check: progress::signal,
    },
    Law {
        id: "compact-success",
        family: Family::Compaction,
        statement: "A run that says success leaves a block that the request could have, or captured one.",
        level: Level::Complete,
        when: When::Sequential,
        check: progress::success,
    },
    Law {
        id: "compact-suitable",
        family: Family::Compaction,
        statement: "A run is refused exactly where the request would be served, or the zone is not suitable.",
        level: Level::Exact,
        when: When::Sequential,
        check: progress::suitable,
    },
    Law {
        id: "compact-skip-hints",
        family: Family::Compaction,
        statement: "Who minds skip bits isolates nothing from a marked pageblock that it enters; who leaves them alone sets none.",
        level: Level::Exact,
        when: When::Sequential,
        check: hints::minded,
    },
    Law {
        id: "compact-marks",
        family: Family::Compaction,
        statement: "Since 6.5 a pageblock that is entered at its start is marked once a page was isolated from it, or none was to its end.",
        level: Level::Exact,
        when: When::Sequential,
        check: hints::marks,
    },
    Law {
        id: "compact-scans",
        family: Family::Compaction,
        statement: "A scan for sources has looked at each page in its range; only async runs of tasks leave out parts.",
        level: Level::Exact,
        when: When::Sequential,
        check: hints::scans,
    },
    Law {
        id: "compact-cached",
        family: Family::Compaction,
        statement: "A run that ends because its scanners met resets the cached positions; a pageblock that gave targets to its end is below none of them for free scanners.",
        level: Level::Exact,
        when: When::Sequential,
        check: hints::cached,
    },
    Law {
        id: "compact-counters",
        family: Family::Compaction,
        statement: "Scanned, isolated and migrated pages are counted as the tracepoints say, when the run ends.",
        level: Level::Conserved,
        when: When::Sequential,
        check: counting::counters,
    },
];

/// The compaction part of an observation.
fn seen<'a>(observation: &Observation<'a>) -> Option<&'a CompactSeen<'a>> {
    observation.compaction
}
