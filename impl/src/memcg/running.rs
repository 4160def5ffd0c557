//! Calls in progress.

use super::{Memcg, charge::Charge, high::Handler, writes::Write};
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep, OomOutcome},
    vocab::{CpuId, MemcgId},
};

/// A call in progress. It holds no lock and no reference: dropping it gives the call up, with what it has done so
/// far.
#[derive(Clone, Debug)]
pub struct Running(State);

/// Which machine it is.
#[derive(Clone, Debug)]
enum State {
    Charge(Charge),
    High(Handler),
    Write(Write),
    Done(MemcgDone),
}

/// What a part of a machine comes to.
pub(super) enum Go {
    /// On, without the embedder.
    On,
    /// The embedder is asked.
    Ask(MemcgStep),
    /// The end.
    End(MemcgDone),
}

/// Pages reclaimed and whether a signal is pending; of another reply: none.
pub(super) fn reclaimed(reply: MemcgReply) -> (u64, bool) {
    match reply {
        MemcgReply::Reclaimed { pages, signal } => (pages, signal),
        MemcgReply::Oom(_) | MemcgReply::Slept => (0, false),
    }
}

/// Whether a victim was killed; of another reply: none was.
pub(super) fn killed(reply: MemcgReply) -> bool {
    reply == MemcgReply::Oom(OomOutcome::Killed)
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Begin a call on `cpu`: the call, and its first step. A charge that can be served, the usual case, is
    /// [`MemcgStep::Done`] at once.
    ///
    /// A charge to the root succeeds and changes nothing. A charge to a removed group, and a write to a file of it,
    /// is [`MemcgDone::NoGroup`]: the embedder charges the nearest online group above. Charges to the objcg of a
    /// removed group go on, to where it points.
    pub fn begin(&self, cpu: CpuId, call: MemcgCall) -> (Running, MemcgStep) {
        let mut running = Running(match call {
            MemcgCall::Charge { .. }
            | MemcgCall::ChargeObject { .. }
            | MemcgCall::ChargeKernelPages { .. } => self.begin_charge(cpu, call),
            MemcgCall::OverHigh { memcg, over_high, task } => match self.group(memcg) {
                None => State::Done(MemcgDone::NoGroup),
                Some(_) => {
                    let dying = task.contains(ChargeTask::DYING);
                    State::High(Handler::new(memcg, over_high, self.rules.retries, dying))
                }
            },
            MemcgCall::WriteMax { .. }
            | MemcgCall::WriteHigh { .. }
            | MemcgCall::Reclaim { .. } => {
                self.begin_write(cpu, call).map_or(State::Done(MemcgDone::NoGroup), State::Write)
            }
        });
        let step = self.run(&mut running, None);
        (running, step)
    }

    fn begin_charge(&self, cpu: CpuId, call: MemcgCall) -> State {
        match self.start_charge(cpu, call) {
            Ok(charge) => State::Charge(charge),
            Err(done) => State::Done(done),
        }
    }

    /// Go on with what the embedder did. A reply of another kind than asked for counts as nothing reclaimed and
    /// nobody killed; after [`MemcgStep::Done`] the same answer again.
    pub fn go_on(&self, running: &mut Running, reply: MemcgReply) -> MemcgStep {
        self.run(running, Some(reply))
    }

    fn run(&self, running: &mut Running, mut reply: Option<MemcgReply>) -> MemcgStep {
        loop {
            // Only the part that asked looks at the reply.
            let go = match &mut running.0 {
                State::Charge(charge) => self.charge_part(charge, reply.take()),
                State::High(handler) => self.high_part(handler, reply.take()),
                State::Write(write) => self.write_part(write, reply.take()),
                State::Done(done) => Go::End(*done),
            };
            match go {
                Go::On => {}
                Go::Ask(step) => return step,
                Go::End(done) => {
                    running.0 = State::Done(done);
                    return MemcgStep::Done(done);
                }
            }
        }
    }
}

/// Ask for reclaim; pages may be swapped out, as cgroup v2 always allows.
pub(super) fn ask_reclaim(memcg: MemcgId, goal: u64) -> Go {
    Go::Ask(MemcgStep::Reclaim { memcg, goal, may_swap: true })
}
