//! The shapes of `--json`, documented in `docs/json.md`. Fields are only ever added.

use crate::show::canaries;
use crate::summary::Summary;
use mmspec_proptests::trace::{self, Kind};
use serde::Serialize;

/// A value as indented JSON.
pub(crate) fn pretty(value: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)?)
}

/// `check --json`.
#[derive(Serialize)]
pub(crate) struct Check<'a> {
    ok: bool,
    seed: u64,
    engines: Vec<Engine>,
    laws: Vec<Law>,
    marks: Vec<Mark<'a>>,
}

#[derive(Serialize)]
struct Engine {
    name: &'static str,
    cases: u64,
    operations: u64,
    states: u64,
    schedules: u64,
    violations: usize,
    canaries_found: usize,
    canaries: usize,
    seconds: u64,
}

#[derive(Serialize)]
struct Law {
    id: &'static str,
    level: &'static str,
    exercised: u64,
}

#[derive(Serialize)]
struct Mark<'a> {
    name: &'a str,
    reached: u64,
}

impl<'a> From<&'a Summary<'_>> for Check<'a> {
    fn from(summary: &'a Summary<'_>) -> Self {
        let engines = summary.reports.iter().map(|report| {
            let (canaries_found, canaries) = canaries(report);
            Engine {
                name: report.name,
                cases: report.cases,
                operations: report.operations,
                states: report.states.unwrap_or(0),
                schedules: report.schedules.unwrap_or(0),
                violations: report.failures.len(),
                canaries_found,
                canaries,
                seconds: report.seconds as u64,
            }
        });
        let laws = summary.laws.iter().map(|(law, exercised)| Law {
            id: law.id,
            level: law.level.name(),
            exercised: *exercised,
        });
        let marks = summary.marks.iter().map(|(_, name, reached)| Mark { name, reached: *reached });
        Self {
            ok: summary.ok(),
            seed: summary.seed,
            engines: engines.collect(),
            laws: laws.collect(),
            marks: marks.collect(),
        }
    }
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
    fallback: Counts,
}

#[derive(Serialize)]
struct Counts {
    predicted: u64,
    inferred: u64,
    contradicted: u64,
    undecidable: u64,
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
            let counts = report.kind(kind);
            Counts {
                predicted: counts.predicted,
                inferred: counts.inferred,
                contradicted: counts.contradicted,
                undecidable: counts.undecidable,
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
                fallback: counts(Kind::Fallback),
            },
            ownership_contradictions: report.ownership_contradictions,
            unexplained: unexplained.collect(),
            compared: report.compared,
            differences: differences.collect(),
            ended_early: report.cancelled,
        }
    }
}
