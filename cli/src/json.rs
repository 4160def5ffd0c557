//! The shape of `trace --json`, documented in `docs/json.md`. Fields are only ever added.

use mmspec_proptests::trace::{self, Kind};
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
            free_frames: report.free_frames.map(|frames| FreeFrames {
                agreed: frames.agreed,
                only_expected: frames.only_expected,
                only_seen: frames.only_seen,
            }),
            untraced_compaction: report.untraced_compaction,
            compared: report.compared,
            differences: differences.collect(),
            ended_early: report.cancelled,
        }
    }
}
