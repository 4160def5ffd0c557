//! What an engine found.

use super::Case;
use crate::schedules::Schedule;
use crate::script::Script;
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

/// A finding with its shrunk case.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The engine that found it.
    pub engine: &'static str,
    /// The finding on the shrunk script.
    pub finding: Finding,
    /// The shrunk script.
    pub script: Script,
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
    /// The text of the `.mms` file: what is wrong, how it was found, how to see it again.
    #[must_use]
    pub fn to_text(&self, replay: &str) -> String {
        let mut text = String::new();
        let finding = &self.finding;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "# {}: {}", finding.kind, finding.what.replace('\n', "\n#   "));
        if let Some(op) = finding.at.and_then(|at| self.script.op_text(at)) {
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
        let case = Case { script: self.script.clone(), schedule: self.schedule.clone() };
        case.to_string()
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
