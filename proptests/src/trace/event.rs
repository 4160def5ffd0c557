//! One line of a text trace.

use super::compaction::CompactStep;
use mmspec_model::vocab::KmemEvent;

/// An event with its place and context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// Line of the file, from 1.
    pub line: u64,
    /// The CPU.
    pub cpu: u16,
    /// The task.
    pub pid: u32,
    /// The task is a kernel worker thread (`kworker/…`).
    pub worker: bool,
    /// In a hard or soft interrupt.
    pub interrupt: bool,
    /// Microseconds since boot.
    pub time_us: u64,
    /// What happened.
    pub payload: Payload,
}

/// What an event says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// A kmem event.
    Kmem(KmemEvent),
    /// The ring buffer of this CPU lost events here.
    Lost(u64),
    /// That many events were overwritten before the first one of each CPU (the file's head says
    /// so).
    Overwritten(u64),
    /// The recorder begins to read kpageflags: what follows happens while it does.
    SnapshotBegins,
    /// The recorder has read kpageflags.
    SnapshotEnds,
    /// Compaction runs: it takes free pages without kmem events.
    Compaction(CompactStep),
}
