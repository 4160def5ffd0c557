//! A walk through the slow path, answered by a script.

use crate::script::Reply;
use mmspec_model::contract::{
    CompactResult, DrainWork, Nodes, Outcome, Request, SlowPath, SlowReply, SlowStep,
};
use mmspec_model::vocab::CpuId;

/// Steps after which a walk is given up: far more than any walk takes that ends
/// (`model::laws` bounds those), so only requests that may not fail get here.
pub const MAX_STEPS: usize = 256;

/// A walk under way.
#[derive(Debug)]
pub struct Walker<'a, W> {
    walk: W,
    rest: &'a [Reply],
    reply: Option<SlowReply>,
    steps: usize,
    over: bool,
    /// No reply was progress, and nothing but the walk ran.
    fruitless: bool,
    /// The request, with its task's cpuset as it is now.
    request: Request,
}

impl<'a, W> Walker<'a, W> {
    /// Begin where a first attempt answered [`Outcome::SlowPath`].
    pub fn begin<A: SlowPath<Walk = W> + ?Sized>(
        allocator: &mut A,
        cpu: CpuId,
        request: Request,
        replies: &'a [Reply],
    ) -> Self {
        let walk = allocator.slow_begin(cpu, request);
        Self { walk, rest: replies, reply: None, steps: 0, over: false, fruitless: true, request }
    }

    /// The next step; `None` after the end. A walk that runs out of replies finds the OOM lock free and
    /// gets worst cases otherwise, and is given up at a [`SlowStep::Yield`]: nothing would change.
    pub fn step<A>(&mut self, allocator: &mut A) -> Option<SlowStep>
    where
        A: SlowPath<Walk = W> + Nodes + DrainWork + ?Sized,
    {
        self.step_waiting(allocator, A::run_all_work)
    }

    /// As [`Walker::step`]; a step that ends a walk's own drain is waited for by `wait`.
    pub fn step_waiting<A>(
        &mut self,
        allocator: &mut A,
        wait: impl FnOnce(&mut A),
    ) -> Option<SlowStep>
    where
        A: SlowPath<Walk = W> + Nodes + ?Sized,
    {
        if self.over {
            return None;
        }
        self.answer(allocator);
        let step = allocator.slow_step(&mut self.walk, self.reply);
        self.steps += 1;
        let stuck = step == SlowStep::Yield && self.rest.is_empty();
        self.over = stuck || self.steps >= MAX_STEPS || matches!(step, SlowStep::Done(_));
        self.reply = None;
        if step == SlowStep::DrainWait {
            wait(allocator);
            self.reply = Some(SlowReply::Woken { killed: false });
            self.fruitless = false;
        } else if self.rest.is_empty() && step == SlowStep::OomLock {
            self.reply = Some(SlowReply::OomLock(true));
        } else if matches!(step, SlowStep::Throttle { .. }) && self.rest.is_empty() {
            // Without a reply the task was killed.
            self.fruitless = false;
        }
        Some(step)
    }

    /// What happens before the next step: up to one reply, unless one is there already.
    fn answer<A: SlowPath<Walk = W> + Nodes + ?Sized>(&mut self, allocator: &mut A) {
        while self.reply.is_none() && self.steps > 0 {
            let Some((next, rest)) = self.rest.split_first() else { return };
            self.rest = rest;
            match *next {
                Reply::Mems(mems) => {
                    allocator.slow_set_mems(&mut self.walk, mems);
                    self.request.task.mems = mems;
                    self.fruitless = false;
                }
                Reply::Rebuild => {
                    allocator.rebuild_zonelists();
                    self.fruitless = false;
                }
                Reply::Step(answer) => self.reply = Some(answer),
            }
        }
        // A reply that does not fit its step is a worst case, which for a wait is a death.
        self.fruitless &= match self.reply {
            None | Some(SlowReply::Reclaimed(0) | SlowReply::OomLock(true)) => true,
            Some(SlowReply::Compacted(result)) => result != CompactResult::Success,
            Some(SlowReply::Killed(progress)) => !progress,
            Some(SlowReply::Woken { killed }) => !killed,
            Some(SlowReply::Reclaimed(_) | SlowReply::OomLock(false)) => false,
        };
    }

    /// Steps so far.
    pub const fn steps(&self) -> usize {
        self.steps
    }

    /// Whether no reply so far was progress, and nothing but the walk ran.
    pub const fn is_fruitless(&self) -> bool {
        self.fruitless
    }

    /// The request, with its task's cpuset as it is now.
    pub const fn request(&self) -> Request {
        self.request
    }
}

/// A first attempt and, if it fails, a walk: the steps it stopped at, and how it ended.
pub fn walk<A: SlowPath + Nodes + DrainWork + ?Sized>(
    allocator: &mut A,
    cpu: CpuId,
    request: Request,
    replies: &[Reply],
) -> (Vec<SlowStep>, Outcome) {
    walk_waiting(allocator, cpu, request, replies, A::run_all_work)
}

/// As [`walk`]; a drain that the walk began is waited for by `wait`. Where the CPUs are threads,
/// that is the place to let them run their work.
pub fn walk_waiting<A: SlowPath + Nodes + ?Sized>(
    allocator: &mut A,
    cpu: CpuId,
    request: Request,
    replies: &[Reply],
    mut wait: impl FnMut(&mut A),
) -> (Vec<SlowStep>, Outcome) {
    let first = allocator.alloc_pages(cpu, request);
    if first != Outcome::SlowPath {
        return (Vec::new(), first);
    }
    let mut walker = Walker::begin(allocator, cpu, request, replies);
    let mut steps = Vec::new();
    while let Some(step) = walker.step_waiting(allocator, &mut wait) {
        steps.push(step);
    }
    let outcome = outcome_of(&steps);
    (steps, outcome)
}

/// How a walk of these steps ended: one that was given up failed.
#[must_use]
pub fn outcome_of(steps: &[SlowStep]) -> Outcome {
    match steps.last() {
        Some(SlowStep::Done(outcome)) => *outcome,
        _ => Outcome::Failed,
    }
}
