//! What can be wrong with a recording.

use std::path::PathBuf;
use thiserror::Error;

/// An error in a recording, with its place.
#[derive(Debug, Error)]
#[error("{}{}: {kind}", file.display(), line.map(|n| format!(":{n}")).unwrap_or_default())]
pub struct TraceError {
    /// The file.
    pub file: PathBuf,
    /// The line, counted from 1.
    pub line: Option<u64>,
    /// What is wrong.
    pub kind: TraceErrorKind,
}

impl TraceError {
    /// An error in `file` at `line`.
    pub fn new(file: impl Into<PathBuf>, line: Option<u64>, kind: TraceErrorKind) -> Self {
        Self { file: file.into(), line, kind }
    }
}

/// Kinds of errors.
#[derive(Debug, Error)]
pub enum TraceErrorKind {
    /// The file can't be read.
    #[error("cannot read: {0}; check the path and its permissions")]
    Io(#[from] std::io::Error),
    /// The compressed data ends too early.
    #[error("the gzip data is cut off or damaged ({0}): record or copy the file again")]
    Gzip(std::io::Error),
    /// A kmem event without a field that it must have.
    #[error(
        "event {event} lacks a valid {field}: the line is cut off or from another kernel's format; remove it or record again"
    )]
    Field {
        /// The event's name.
        event: &'static str,
        /// The field.
        field: &'static str,
    },
    /// A line that is no line of a text trace.
    #[error(
        "not a line of a text trace: give the file as read from /sys/kernel/tracing/trace, or as perf script or trace-cmd report print it"
    )]
    Line,
    /// Not one kmem event.
    #[error(
        "holds no kmem event: enable events/kmem/mm_page_* before recording, and give the text form of the trace"
    )]
    NoEvents,
    /// A /proc file of a snapshot.
    #[error("{0}")]
    Proc(mmspec_model::proc::ProcError),
    /// The kpageflags file has a length that is no multiple of 8.
    #[error("kpageflags must hold 8 bytes for each frame, but has {0} bytes: copy it again")]
    KpageflagsLength(usize),
    /// A line of node-cpus.txt.
    #[error(
        "{0:?} does not tell the CPUs of a node: write `Node 0: 0-1,4`, one line for each node"
    )]
    NodeCpus(String),
    /// No zoneinfo and no rules to go by.
    #[error(
        "no zoneinfo.before.txt beside the trace: give its folder with --before, for the zones' borders"
    )]
    NoZoneinfo,
    /// The release is not one that rules exist for.
    #[error("no rules for kernel release {0:?}: choose a preset with --rules")]
    UnknownRelease(String),
}
