//! One case on one allocator.

use super::case::{Case, Step};
use super::{Fit, Promise, Subject};
use crate::engine::Finding;
use crate::lawful::Exercised;
use crate::script::Handle;
use mmspec_model::contract::Run;
use mmspec_model::laws::{self, Ask, Live, Observation, RunRequest, RunView, Runs, World};
use mmspec_model::vocab::Pfn;
use std::cell::Cell;
use std::collections::BTreeMap;

struct Memory(Vec<Run>);

impl World for Memory {
    fn is_managed(&self, pfn: Pfn) -> bool {
        self.0.iter().any(|run| run.covers(Run::new(pfn.0, 1)))
    }

    fn managed(&self) -> u64 {
        self.0.iter().map(|run| run.len).sum()
    }
}

/// A run that a handle names, and the alignment that it was asked for with.
#[derive(Clone, Copy)]
struct Block {
    run: Run,
    align: u64,
}

pub(super) struct Bench<'a, A> {
    promise: &'a Promise,
    subject: &'a Subject<'a, A>,
    memory: Memory,
    /// Ascending, joined where the promise joins them: in these a request may find room.
    rooms: Vec<Run>,
    /// What callers asked for and got.
    held: Runs,
    /// What that takes, by the promise.
    taken: Runs,
    blocks: BTreeMap<Handle, Block>,
    exercised: &'a mut Exercised,
    position: &'a Cell<usize>,
}

impl<'a, A> Bench<'a, A> {
    pub(super) fn new(
        promise: &'a Promise,
        subject: &'a Subject<'a, A>,
        case: &Case,
        exercised: &'a mut Exercised,
        position: &'a Cell<usize>,
    ) -> Self {
        let mut ascending = case.memory.clone();
        ascending.sort_unstable();
        let mut rooms: Vec<Run> = Vec::new();
        for run in ascending {
            match rooms.last_mut() {
                Some(last) if promise.across_regions && last.end() == run.start => {
                    last.len += run.len;
                }
                _ => rooms.push(run),
            }
        }
        Self {
            promise,
            subject,
            memory: Memory(case.memory.clone()),
            rooms,
            held: Runs::default(),
            taken: Runs::default(),
            blocks: BTreeMap::new(),
            exercised,
            position,
        }
    }

    /// Run and judge; the number of operations.
    pub(super) fn run(mut self, case: &Case) -> Result<u64, Finding> {
        let subject = self.subject;
        let mut allocator = subject.make(&case.memory);
        self.judge(&allocator, None)?;
        let mut operations = 0;
        for (at, step) in case.steps.iter().enumerate() {
            self.position.set(at);
            operations += u64::from(self.step(&mut allocator, step)?);
        }
        self.position.set(usize::MAX);
        for handle in self.blocks.keys().copied().collect::<Vec<_>>() {
            self.step(&mut allocator, &Step::Free { handle })?;
        }
        let fresh = self.served(&mut subject.make(&case.memory));
        let again = self.served(&mut allocator);
        // Serving emptied the allocator, so its counters are not looked at.
        self.ask_laws(None, None, Some((&fresh, &again)))?;
        Ok(operations)
    }

    /// Whether the step made a call.
    fn step(&mut self, allocator: &mut A, step: &Step) -> Result<bool, Finding> {
        let subject = self.subject;
        match *step {
            Step::Alloc { handle, len, align } => {
                let (room, due) = self.promise.fit.of(len, align);
                let possible = self.within(len) && self.finds_room(room, due);
                let answer = subject.allocate(allocator, len, align);
                self.judge(
                    allocator,
                    Some(RunRequest { ask: Ask::Anywhere, len, align: due, answer, possible }),
                )?;
                self.note(handle, answer, len, align);
            }
            Step::AllocAt { handle, run } => {
                let (room, due) = self.promise.fit.of(run.len, 1);
                let possible = self.within(run.len)
                    && run.start.is_multiple_of(due)
                    && self.is_room(Run::new(run.start, room));
                let answer = subject.allocate_at(allocator, run);
                let ask = Ask::At(run.start);
                let request = RunRequest { ask, len: run.len, align: 1, answer, possible };
                self.judge(allocator, Some(request))?;
                self.note(handle, answer, run.len, 1);
            }
            Step::Resize { handle, len } => {
                let Some(Block { run, align }) = self.blocks.get(&handle).copied() else {
                    return Ok(false);
                };
                self.held.remove(run.start);
                let before = self.taken.remove(run.start);
                let (room, due) = self.promise.fit.of(len, align);
                let possible = self.within(len)
                    && run.start.is_multiple_of(due)
                    && self.is_room(Run::new(run.start, room));
                let answer = subject.resize(allocator, run, align, len);
                if answer.is_none() {
                    self.held.insert(run);
                    self.taken.insert(before.unwrap_or(run));
                }
                let ask = Ask::Resize(run);
                let request = RunRequest { ask, len, align: due, answer, possible };
                self.judge(allocator, Some(request))?;
                self.note(handle, answer, len, align);
            }
            Step::Free { handle } => {
                let Some(Block { run, align }) = self.blocks.remove(&handle) else {
                    return Ok(false);
                };
                self.held.remove(run.start);
                self.taken.remove(run.start);
                subject.free(allocator, run, align);
                self.judge(allocator, None)?;
            }
        }
        Ok(true)
    }

    fn note(&mut self, handle: Handle, answer: Option<u64>, len: u64, align: u64) {
        if let Some(start) = answer {
            let run = Run::new(start, len);
            self.held.insert(run);
            self.taken.insert(Run::new(start, self.promise.fit.of(len, align).0));
            self.blocks.insert(handle, Block { run, align });
        }
    }

    fn within(&self, len: u64) -> bool {
        len <= self.promise.largest
    }

    /// Whether the run is free, as far as the promise tells.
    fn is_room(&self, run: Run) -> bool {
        self.promise.fit != Fit::Opaque
            && self.rooms.iter().any(|room| room.covers(run))
            && self.taken.overlapping(run).is_none()
    }

    /// Whether there is room for `len` units at a multiple of `align`: at the start of a region or
    /// behind something taken, if anywhere.
    fn finds_room(&self, len: u64, align: u64) -> bool {
        let starts = self.rooms.iter().map(|room| room.start);
        let behind = self.taken.iter().map(Run::end);
        starts.chain(behind).any(|at| self.is_room(Run::new(at.next_multiple_of(align), len)))
    }

    /// Judge after a call.
    fn judge(&mut self, allocator: &A, asked: Option<RunRequest>) -> Result<(), Finding> {
        self.ask_laws(self.subject.counters(allocator), asked, None)
    }

    fn ask_laws(
        &mut self,
        counters: Option<(u64, u64)>,
        asked: Option<RunRequest>,
        fresh: Option<(&[u64], &[u64])>,
    ) -> Result<(), Finding> {
        let mut taken = self.taken.units();
        if let Some(RunRequest { len, align, answer: Some(_), .. }) = asked {
            taken += self.promise.fit.of(len, align).0;
        }
        let observation = Observation {
            world: &self.memory,
            live: &Live::default(),
            granted: &[],
            step: laws::Step::Other,
            linux: None,
            lists: None,
            runs: Some(RunView {
                held: &self.held,
                largest: self.promise.largest,
                asked,
                counters,
                taken: (self.promise.fit != Fit::Opaque).then_some(taken),
                fresh,
            }),
            compaction: None,
            memcg: None,
            slab: None,
        };
        for law in laws::all().filter(|law| self.promise.levels.contains(&law.level)) {
            let count = self.exercised.entry(law.id).or_default();
            law.judge(&observation, count).map_err(|violation| Finding {
                kind: violation.law.to_owned(),
                what: violation.to_string(),
                at: Some(self.position.get()),
            })?;
        }
        Ok(())
    }

    /// What an allocator serves from the largest size down until it has nothing left.
    fn served(&self, allocator: &mut A) -> Vec<u64> {
        let mut served = Vec::new();
        let mut units = 0;
        for (len, align) in self.sizes() {
            // An allocator that serves more than it has is caught by the other laws.
            while units <= self.memory.managed()
                && self.subject.allocate(allocator, len, align).is_some()
            {
                units += len;
                served.push(len);
            }
        }
        served
    }

    /// Sizes to ask for, descending: powers of two of a buddy allocator, else up to 128 steps from
    /// the largest.
    fn sizes(&self) -> Vec<(u64, u64)> {
        let largest = self.promise.largest.min(self.memory.managed());
        if self.promise.fit == Fit::Buddy {
            return (0..=largest.ilog2()).rev().map(|order| (1 << order, 1 << order)).collect();
        }
        let step = largest.div_ceil(128) as usize;
        (1..=largest).rev().step_by(step).map(|len| (len, 1)).collect()
    }
}
