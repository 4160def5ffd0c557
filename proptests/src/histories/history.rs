//! What happened.

use crate::drive::{Answer, Call};
use crate::script::Script;
use mmspec_model::vocab::{CpuId, Pfn};
use std::fmt::Write as _;

/// One call of a history. Times count the beginnings and ends of all calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Position of the operation in the script.
    pub op: usize,
    /// The thread.
    pub cpu: CpuId,
    /// The call.
    pub call: Call,
    /// Its answer.
    pub answer: Answer,
    /// Frames of which it asked whether they can move, with the answers.
    pub asked: Vec<(Pfn, bool)>,
    /// When it began.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
}

impl Event {
    /// Both ran at some moment.
    #[must_use]
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.began < other.ended && other.began < self.ended
    }
}

/// The calls of one execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    events: Vec<Event>,
}

impl History {
    /// From calls in any order.
    #[must_use]
    pub fn new(mut events: Vec<Event>) -> Self {
        events.sort_by_key(|event| event.ended);
        Self { events }
    }

    /// The calls, by their end.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Any two calls overlap.
    #[must_use]
    pub fn overlaps(&self) -> bool {
        let events = self.events.iter().enumerate();
        events.clone().any(|(at, one)| self.events[..at].iter().any(|other| one.overlaps(other)))
    }

    /// As text, by beginning: `3..7 cpu1  a4 = alloc …  -> Outcome(…)`.
    #[must_use]
    pub fn tell(&self, script: &Script) -> String {
        let mut events: Vec<&Event> = self.events.iter().collect();
        events.sort_by_key(|event| event.began);
        let mut text = String::new();
        for event in events {
            let op = script.op_text(event.op).unwrap_or_default();
            let Event { cpu, answer, began, ended, .. } = event;
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{began}..{ended} cpu{cpu}: {op} -> {answer:?}");
        }
        text
    }
}
