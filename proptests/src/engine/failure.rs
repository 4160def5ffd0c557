//! What an engine found.

use super::{Case, OwnCase};
use crate::schedules::Schedule;
use crate::script::Script;
use mmspec_model::vocab::{Machine, Rules, Tunables};
use std::fmt::Write as _;
use std::path::PathBuf;

/// What is wrong in one case, before shrinking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The law's id, or `difference`, `panic`, `deadlock` …
    pub kind: String,
    /// What was expected and what was seen.
    pub what: String,
    /// Position of the operation; `None` before the first and after the last.
    pub at: Option<usize>,
}

/// In the place of a script, for engines with a language of their own.
fn no_script() -> Script {
    Script {
        machine: Machine::new(1, &[]),
        rules: Rules::default(),
        tunables: Tunables::default(),
        ops: Vec::new(),
    }
}

/// A finding with its shrunk case.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The engine that found it.
    pub engine: &'static str,
    /// The finding on the shrunk script.
    pub finding: Finding,
    /// The shrunk script; empty if the case is in another language.
    pub script: Script,
    /// The shrunk case of an engine with a language of its own.
    pub own: Option<OwnCase>,
    /// Threads' choices, for engines with schedules.
    pub schedule: Option<Schedule>,
    /// Seed of the run.
    pub seed: u64,
    /// Number of the case within the run.
    pub case: u64,
    /// Operations before shrinking.
    pub operations_before: usize,
    /// Where it was saved.
    pub file: Option<PathBuf>,
}

impl Failure {
    /// What an engine with a language of its own found.
    #[must_use]
    pub fn own(
        engine: &'static str,
        finding: Finding,
        case: impl Into<OwnCase>,
        seed: u64,
        number: u64,
        operations_before: usize,
    ) -> Self {
        Self {
            engine,
            finding,
            script: no_script(),
            own: Some(case.into()),
            schedule: None,
            seed,
            case: number,
            operations_before,
            file: None,
        }
    }

    /// Under which schedule it fails.
    #[must_use]
    pub fn schedule(&self) -> Option<&Schedule> {
        self.schedule.as_ref().or_else(|| self.own.as_ref()?.schedule())
    }

    /// Operations of the shrunk case.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.own.as_ref().map_or(self.script.ops.len(), OwnCase::operations)
    }

    /// The text of one operation of the shrunk case.
    fn op_text(&self, at: usize) -> Option<String> {
        self.own.as_ref().map_or_else(|| self.script.op_text(at), |own| own.op_text(at))
    }

    /// The text of the `.mms` file: what is wrong, how it was found, how to see it again.
    #[must_use]
    pub fn to_text(&self, replay: &str) -> String {
        let mut text = String::new();
        let finding = &self.finding;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {}: {}", finding.kind, finding.what.replace('\n', "\n#   "));
        if let Some(op) = finding.at.and_then(|at| self.op_text(at)) {
            let _ = writeln!(text, "# at operation {}: {op}", finding.at.unwrap_or(0));
        }
        let _ = writeln!(
            text,
            "# found by engine {} with seed {}, case {} ({} operations before shrinking)",
            self.engine, self.seed, self.case, self.operations_before
        );
        let _ = writeln!(text, "# replay: {replay}");
        text.push_str(&self.case_text());
        text
    }

    /// The script with its schedule, without comments.
    #[must_use]
    pub fn case_text(&self) -> String {
        if let Some(own) = &self.own {
            return own.to_string();
        }
        let case = Case { script: self.script.clone(), schedule: self.schedule.clone() };
        case.to_string()
    }

    /// The ending of the file's name.
    #[must_use]
    pub const fn ending(&self) -> &'static str {
        match &self.own {
            Some(own) => own.ending(),
            None => "mms",
        }
    }

    /// A name for the file that changes with the case only.
    #[must_use]
    pub fn stem(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.case_text().bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("{}-{}-{:08x}", self.engine, self.finding.kind, hash as u32)
    }
}
