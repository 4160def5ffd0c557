//! A walk through the slow path, answered by a script.

use crate::script::Reply;
use mmspec_model::contract::{DrainWork, Nodes, Outcome, Request, SlowPath, SlowReply, SlowStep};
use mmspec_model::vocab::CpuId;

/// Steps after which a walk is given up: far more than any walk takes that ends
/// (`model::laws` bounds those), so only requests that may not fail get here.
pub const MAX_STEPS: usize = 256;

/// A first attempt and, if it fails, a walk: the steps it stopped at, and how it ended. A walk that
/// runs out of replies gets worst cases, and is given up at a [`SlowStep::Yield`]: nothing would change.
pub fn walk<A: SlowPath + Nodes + DrainWork + ?Sized>(
    allocator: &mut A,
    cpu: CpuId,
    request: Request,
    replies: &[Reply],
) -> (Vec<SlowStep>, Outcome) {
    let first = allocator.alloc_pages(cpu, request);
    if first != Outcome::SlowPath {
        return (Vec::new(), first);
    }
    let mut walk = allocator.slow_begin(cpu, request);
    let mut rest = replies.iter();
    let mut steps = Vec::new();
    let mut reply: Option<SlowReply> = None;
    loop {
        let step = allocator.slow_step(&mut walk, reply.take());
        steps.push(step);
        if let SlowStep::Done(outcome) = step {
            return (steps, outcome);
        }
        if step == SlowStep::DrainWait {
            allocator.run_all_work();
            continue;
        }
        for next in rest.by_ref() {
            match next {
                Reply::Mems(mems) => allocator.slow_set_mems(&mut walk, *mems),
                Reply::Rebuild => allocator.rebuild_zonelists(),
                Reply::Step(answer) => {
                    reply = Some(*answer);
                    break;
                }
            }
        }
        if reply.is_none() {
            // Nobody else is there: the lock is free, and nobody can be killed.
            reply = (step == SlowStep::OomLock).then_some(SlowReply::OomLock(true));
        }
        let stuck = step == SlowStep::Yield && reply.is_none();
        if stuck || steps.len() >= MAX_STEPS {
            return (steps, Outcome::Failed);
        }
    }
}
