//! The report: `docs/json.md` says what each field means.

use crate::engine::{EngineReport, Failure};
use crate::marks::{Mark, Marks};
use mmspec_model::laws;
use serde::Serialize;
use std::collections::BTreeMap;

/// One engine's line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct EngineLine {
    /// The engine.
    pub name: &'static str,
    /// Scripts run.
    pub cases: u64,
    /// Operations run in them.
    pub operations: u64,
    /// Distinct states.
    pub states: u64,
    /// Schedules run.
    pub schedules: u64,
    /// Violations found.
    pub violations: u64,
    /// Planted faults found.
    pub canaries_found: u64,
    /// Planted faults.
    pub canaries: u64,
    /// Situations that this engine reached.
    pub marks: Vec<MarkLine>,
    /// The most calls that a CPU made while a drain's work was queued on it.
    pub longest_wait: u64,
    /// Runs of compaction that an oracle says could have made a block.
    pub blocks_possible: u64,
    /// Of these, those that made one.
    pub blocks_made: u64,
    /// Whole seconds.
    pub seconds: u64,
}

/// One law's line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct LawLine {
    /// Its id.
    pub id: &'static str,
    /// Its level.
    pub level: &'static str,
    /// How often it compared something.
    pub exercised: u64,
}

/// One mark's line.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct MarkLine {
    /// Its name.
    pub name: String,
    /// How often it was reached.
    pub reached: u64,
}

/// What a run of all engines did.
#[derive(Clone, Debug, Serialize)]
pub struct CheckReport {
    /// Nothing violated, no canary missed and, in a full run that was not cut short, every law
    /// exercised and every mark reached.
    pub ok: bool,
    /// The seed.
    pub seed: u64,
    /// The engines in the order in which they ran.
    pub engines: Vec<EngineLine>,
    /// All laws.
    pub laws: Vec<LawLine>,
    /// All marks.
    pub marks: Vec<MarkLine>,
    /// What was found, with files; not part of the JSON.
    #[serde(skip)]
    pub failures: Vec<Failure>,
    /// What is wrong besides failures, one sentence each; not part of the JSON.
    #[serde(skip)]
    pub complaints: Vec<String>,
    /// How far the generators reached.
    #[serde(skip)]
    pub reach: Marks,
    /// The run was stopped from outside.
    #[serde(skip)]
    pub cancelled: bool,
}

fn lines(marks: &Marks) -> impl Iterator<Item = MarkLine> {
    let line = |mark: &Mark| MarkLine { name: mark.name(), reached: marks.count(*mark) };
    Mark::ALL.iter().map(line)
}

impl CheckReport {
    pub(super) fn new(seed: u64, reports: Vec<EngineReport>, full: bool) -> Self {
        let mut exercised: BTreeMap<&'static str, u64> = BTreeMap::new();
        let mut marks = Marks::default();
        let mut complaints = Vec::new();
        let mut engines = Vec::new();
        let cancelled = reports.iter().any(|report| report.cancelled);
        for report in &reports {
            for (law, times) in &report.laws {
                *exercised.entry(law).or_default() += times;
            }
            marks.add(&report.marks);
            let found = report.canaries_found.len();
            engines.push(EngineLine {
                name: report.name,
                cases: report.cases,
                operations: report.operations,
                states: report.states.unwrap_or(0),
                schedules: report.schedules.unwrap_or(0),
                violations: report.failures.len() as u64,
                canaries_found: found as u64,
                canaries: (found + report.canaries_missed.len()) as u64,
                marks: lines(&report.marks).filter(|mark| mark.reached > 0).collect(),
                longest_wait: report.marks.longest_wait,
                blocks_possible: report.completeness.possible,
                blocks_made: report.completeness.found,
                seconds: report.seconds.round() as u64,
            });
            for canary in &report.canaries_missed {
                let name = report.name;
                complaints.push(format!("engine {name} did not find the planted fault {canary}"));
            }
        }
        let laws: Vec<LawLine> = laws::all()
            .map(|law| LawLine {
                id: law.id,
                level: law.level.name(),
                exercised: exercised.get(law.id).copied().unwrap_or(0),
            })
            .collect();
        if full && !cancelled {
            for law in laws.iter().filter(|law| law.exercised == 0) {
                complaints.push(format!("law {} was never exercised", law.id));
            }
            for mark in marks.missing() {
                complaints.push(format!("mark {} was never reached: {}", mark.name(), mark.text()));
            }
        }
        let failures: Vec<Failure> =
            reports.into_iter().flat_map(|report| report.failures).collect();
        Self {
            ok: failures.is_empty() && complaints.is_empty(),
            seed,
            engines,
            laws,
            marks: lines(&marks).collect(),
            failures,
            complaints,
            reach: marks,
            cancelled,
        }
    }

    /// The JSON object of `docs/json.md`.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, texts and lists only: nothing that JSON cannot hold.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
