//! The command line.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand};
use mmspec_snapshots::experiments::EXPERIMENTS;
use std::path::PathBuf;

/// Check page allocators, replay failures and explain kernel traces.
#[derive(Parser, Debug)]
#[command(name = "mmspec", version, about, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 nothing wrong, 1 a violation was found, 2 usage or input";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Run all engines: comparison, laws, exhaustive search, schedules, histories
    Check(Check),
    /// Run one script through comparison, laws and, if it has one, its schedule
    Replay(Replay),
    /// List the laws: what must hold for any allocator
    Laws,
    /// Record the running kernel's kmem events for `trace` (root and tracefs needed)
    Record(Record),
    /// Explain a kernel's kmem trace with the reference
    Trace(Trace),
    /// Compact a recorded kernel's memory, and compare with what it did
    Image(Image),
    /// Tell a script step by step, with a picture of memory
    Explain(Explain),
    /// Reproduce a published result, base against patched
    Experiment(Experiment),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Check {
    /// Time for all engines together; looking for the canaries comes on top
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) seconds: u64,
    /// Instead of a time, so many cases of each engine: scripts, schedules, or transitions of each
    /// machine of the explorer; two such runs with one seed say the same
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    pub(crate) cases: Option<u64>,
    /// Fixes every case [default: any, and it is printed]
    #[arg(long, value_name = "S")]
    pub(crate) seed: Option<u64>,
    /// One engine; may be given several times [default: all]
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Vec<String>,
    /// One JSON object (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Replay {
    /// A script (.mms); - reads standard input
    pub(crate) file: PathBuf,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Record {
    /// A new or empty folder for the recording
    pub(crate) folder: PathBuf,
    /// For how long; Ctrl-C ends it early
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Further events beside the kmem ones, as group:name
    #[arg(long, value_name = "EVENT", num_args = 1..)]
    pub(crate) events: Vec<String>,
    /// Ring buffer of each CPU, in MiB; when it is too small the oldest events are lost
    #[arg(long, value_name = "MB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub(crate) buffer_mb: u64,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Trace {
    /// The kernel's text trace, plain or gzip
    pub(crate) file: PathBuf,
    /// Folder of the /proc files before the trace [default: the trace's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) before: Option<PathBuf>,
    /// Folder of the /proc files after the trace [default: the trace's folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) after: Option<PathBuf>,
    /// The kernel's rules: linux_6_1, linux_6_12 or linux_6_18 [default: by kernel.txt beside the
    /// trace]
    #[arg(long, value_name = "PRESET")]
    pub(crate) rules: Option<String>,
    /// One JSON object (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Image {
    /// The folder of a recording of a write to compact_memory (docs/compaction.md)
    pub(crate) folder: PathBuf,
    /// The allocator's rules, as for `trace` [default: by kernel.txt]
    #[arg(long, value_name = "PRESET")]
    pub(crate) rules: Option<String>,
    /// The rules of compaction: linux_5_0, linux_5_1, linux_6_1 or linux_6_12 [default: by kernel.txt]
    #[arg(long, value_name = "PRESET")]
    pub(crate) compaction: Option<String>,
    /// Take from the recording itself which pages could be moved: what remains to be compared are the
    /// scanners, what they count, and the targets
    #[arg(long)]
    pub(crate) hindsight: bool,
    /// One JSON object (docs/json.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// A script (.mms); - reads standard input
    pub(crate) file: PathBuf,
    /// Which allocator plays it
    #[arg(long, value_enum, default_value_t = Side::Reference)]
    pub(crate) on: Side,
    /// Only the picture of memory at the start and at the end
    #[arg(long)]
    pub(crate) brief: bool,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Experiment {
    /// Which one
    #[arg(value_parser = known_experiments())]
    pub(crate) name: String,
    /// One JSON object (docs/json.md)
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// One line for each figure
    #[arg(long)]
    pub(crate) csv: bool,
}

fn known_experiments() -> PossibleValuesParser {
    EXPERIMENTS
        .iter()
        .map(|entry| PossibleValue::new(entry.name).help(entry.about))
        .collect::<Vec<_>>()
        .into()
}

/// An allocator of this repository.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// The specification
    Reference,
    /// The implementation
    Impl,
}
