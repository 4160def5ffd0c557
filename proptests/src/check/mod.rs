//! All engines in one run, and one report.

mod options;
mod report;
mod run;

pub use options::{Engine, Options};
pub use report::{CheckReport, EngineLine, LawLine, MarkLine};
pub use run::{check, replay};
