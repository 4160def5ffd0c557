//! The shapes of `trace --json` and `image --json`, documented in `docs/json.md`. Fields are only ever added.

use mmspec_proptests::image::ImageReport;
use mmspec_proptests::trace::{self, CompactStep, Kind};
use serde::Serialize;

/// A value as indented JSON.
pub(crate) fn pretty(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)?)
}

/// `trace --json`.
#[derive(Serialize)]
pub(crate) struct Trace<'a> {
    rules: &'a str,
    events: u64,
    lost_events: u64,
    kinds: Kinds,
    ownership_contradictions: u64,
    unexplained: Vec<Unexplained<'a>>,
    free_frames: Option<FreeFrames>,
    untraced_compaction: u64,
    compared: u64,
    differences: Vec<Difference<'a>>,
    ended_early: bool,
}

/// One entry for each kind, in the order of the table.
#[derive(Serialize)]
struct Kinds {
    pcp_alloc: Counts,
    buddy_take: Counts,
    drain: Counts,
    refill: Counts,
    drain_count: Counts,
    fallback: Counts,
}

#[derive(Serialize)]
struct Counts {
    predicted: u64,
    inferred: u64,
    contradicted: u64,
    undecidable: u64,
    decidable_late: u64,
    total_late: u64,
}

#[derive(Serialize)]
struct FreeFrames {
    agreed: u64,
    only_expected: u64,
    only_seen: u64,
}

impl From<&trace::FreeFrames> for FreeFrames {
    fn from(frames: &trace::FreeFrames) -> Self {
        Self {
            agreed: frames.agreed,
            only_expected: frames.only_expected,
            only_seen: frames.only_seen,
        }
    }
}

#[derive(Serialize)]
struct Unexplained<'a> {
    line: u64,
    rule: &'a str,
    expected: &'a str,
    seen: &'a str,
}

#[derive(Serialize)]
struct Difference<'a> {
    name: &'a str,
    expected: i64,
    seen: i64,
}

impl<'a> From<&'a trace::Report> for Trace<'a> {
    fn from(report: &'a trace::Report) -> Self {
        let counts = |kind| {
            let late = report.after_first_tenth(kind);
            let counts = report.kind(kind);
            Counts {
                predicted: counts.predicted,
                inferred: counts.inferred,
                contradicted: counts.contradicted,
                undecidable: counts.undecidable,
                decidable_late: late.decidable(),
                total_late: late.total(),
            }
        };
        let unexplained = report.unexplained.iter().map(|one| Unexplained {
            line: one.line,
            rule: one.rule,
            expected: &one.expected,
            seen: &one.seen,
        });
        let differences = report.differences.iter().map(|one| Difference {
            name: &one.name,
            expected: one.expected,
            seen: one.seen,
        });
        Self {
            rules: &report.rules,
            events: report.events,
            lost_events: report.lost_events,
            kinds: Kinds {
                pcp_alloc: counts(Kind::PcpAlloc),
                buddy_take: counts(Kind::BuddyTake),
                drain: counts(Kind::Drain),
                refill: counts(Kind::Refill),
                drain_count: counts(Kind::DrainCount),
                fallback: counts(Kind::Fallback),
            },
            ownership_contradictions: report.ownership_contradictions,
            unexplained: unexplained.collect(),
            free_frames: report.free_frames.as_ref().map(FreeFrames::from),
            untraced_compaction: report.untraced_compaction,
            compared: report.compared,
            differences: differences.collect(),
            ended_early: report.cancelled,
        }
    }
}

/// `image --json`.
#[derive(Serialize)]
pub(crate) struct Image<'a> {
    rules: &'a str,
    compaction: &'a str,
    hindsight: bool,
    alike: bool,
    figures: Vec<Figure<'a>>,
    steps: Vec<Steps>,
    first_difference: Option<FirstDifference>,
    free_lists: Vec<FreeList>,
    free_frames: Option<FreeFrames>,
    unknown: Vec<Unknown>,
}

#[derive(Serialize)]
struct Figure<'a> {
    name: &'a str,
    recorded: u64,
    simulated: u64,
    ratio: f64,
}

#[derive(Serialize)]
struct Steps {
    zone: u64,
    kind: &'static str,
    recorded: u64,
    simulated: u64,
    same: u64,
}

#[derive(Serialize)]
struct FirstDifference {
    line: u64,
    recorded: Option<String>,
    simulated: Option<String>,
}

#[derive(Serialize)]
struct FreeList {
    zone: String,
    order: u8,
    recorded: u64,
    simulated: u64,
}

#[derive(Serialize)]
struct Unknown {
    what: &'static str,
    count: Option<u64>,
    effect: &'static str,
}

impl<'a> From<&'a ImageReport> for Image<'a> {
    fn from(report: &'a ImageReport) -> Self {
        let told = |step: Option<CompactStep>| step.map(|step| step.to_string());
        let figures = report.figures.iter().map(|one| Figure {
            name: one.name,
            recorded: one.recorded,
            simulated: one.simulated,
            ratio: one.ratio(),
        });
        let steps = report.steps.iter().map(|one| Steps {
            zone: one.zone.0,
            kind: one.kind,
            recorded: one.recorded,
            simulated: one.simulated,
            same: one.same,
        });
        let free_lists = report.free_lists.iter().map(|one| FreeList {
            zone: one.zone.to_string(),
            order: one.order.get(),
            recorded: one.recorded,
            simulated: one.simulated,
        });
        let unknown = report.unknown.iter().map(|one| Unknown {
            what: one.what,
            count: one.count,
            effect: one.effect,
        });
        Self {
            rules: &report.rules,
            compaction: &report.compaction,
            hindsight: report.hindsight,
            alike: report.is_alike(),
            figures: figures.collect(),
            steps: steps.collect(),
            first_difference: report.first.map(|first| FirstDifference {
                line: first.line,
                recorded: told(first.recorded),
                simulated: told(first.simulated),
            }),
            free_lists: free_lists.collect(),
            free_frames: report.free_frames.as_ref().map(FreeFrames::from),
            unknown: unknown.collect(),
        }
    }
}
