//! What all engines have in common: how they are asked to run and what they report.

mod budget;
mod case;
mod failure;
mod folder;
mod own;

pub use budget::{Budget, Clock, Config, Progress};
pub use case::Case;
pub use failure::{Failure, Finding};
pub use folder::{Folder, FolderError};
pub use own::OwnCase;

use crate::compaction::Completeness;
use crate::marks::Marks;
use std::collections::BTreeMap;

/// What one engine did.
#[derive(Clone, Debug, Default)]
pub struct EngineReport {
    /// The engine.
    pub name: &'static str,
    /// Scripts run.
    pub cases: u64,
    /// Operations run, each checked.
    pub operations: u64,
    /// Distinct states seen, by engines that count them.
    pub states: Option<u64>,
    /// The longest sequence of operations, by engines that count states.
    pub depth: Option<u64>,
    /// Schedules run, by engines that have them.
    pub schedules: Option<u64>,
    /// What was found, shrunk.
    pub failures: Vec<Failure>,
    /// Names of the planted faults that were found.
    pub canaries_found: Vec<&'static str>,
    /// Names of the planted faults that were not found. Any one fails the run.
    pub canaries_missed: Vec<&'static str>,
    /// Situations reached.
    pub marks: Marks,
    /// How often each law compared something, by id.
    pub laws: BTreeMap<&'static str, u64>,
    /// What runs of compaction found of what they could have.
    pub completeness: Completeness,
    /// Time taken.
    pub seconds: f64,
    /// Whether it was stopped by the cancel flag.
    pub cancelled: bool,
}

impl EngineReport {
    /// An empty report.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    /// Nothing was found and every canary was.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.failures.is_empty() && self.canaries_missed.is_empty()
    }

    /// Note a canary's fate.
    pub fn canary(&mut self, name: &'static str, found: bool) {
        if found {
            self.canaries_found.push(name);
        } else {
            self.canaries_missed.push(name);
        }
    }

    /// Add another run of the same engine.
    pub fn merge(&mut self, other: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (None, None) => None,
            (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
        };
        self.cases += other.cases;
        self.operations += other.operations;
        self.states = sum(self.states, other.states);
        self.schedules = sum(self.schedules, other.schedules);
        self.depth = self.depth.max(other.depth);
        self.failures.extend(other.failures);
        self.canaries_found.extend(other.canaries_found);
        self.canaries_missed.extend(other.canaries_missed);
        self.marks.add(&other.marks);
        self.completeness = self.completeness.with(other.completeness);
        self.add_laws(&other.laws);
        self.seconds += other.seconds;
        self.cancelled |= other.cancelled;
    }

    /// Add the counts of another run of the same engine.
    pub fn add_laws(&mut self, exercised: &BTreeMap<&'static str, u64>) {
        for (law, times) in exercised {
            *self.laws.entry(law).or_default() += times;
        }
    }
}
