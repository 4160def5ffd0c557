//! What runs under the schedules.

use crate::drive::{Answer, Call, Caller, perform, walk_waiting};
use crate::script::Script;
use mmspec_impl::{Owned, OwnedAllocator, PageAllocator, Platform};

/// An allocator that threads share.
pub trait Subject: Send + Sync + 'static {
    /// Its platform.
    type Platform: Platform;

    /// The laws to ask at quiescence, by id; `None`: all.
    const LAWS: Option<&'static [&'static str]> = None;

    /// Make a call, on any thread.
    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer;

    /// Put back what the subject keeps aside, at a moment without other calls.
    fn settle(&self) {}

    /// The allocator whose state is judged.
    fn inner(&self) -> &PageAllocator<Self::Platform, Owned>;
}

/// How a subject is made for a script, inside an execution.
pub type Boot<S> = fn(&Script) -> S;

impl<P: Platform> Subject for OwnedAllocator<P>
where
    Self: Send + Sync,
{
    type Platform = P;

    fn call(&self, call: &Call, caller: &dyn Caller) -> Answer {
        match call {
            // The other CPUs are threads: these wait for them.
            Call::DrainAll(by, zone) => self.drain_all(*by, *zone),
            Call::PcpDisable(by, zone) => self.pcp_disable(*by, *zone),
            Call::Slow(cpu, request, replies) => {
                // So does a walk; meanwhile its own worker runs.
                let wait = |allocator: &mut &PageAllocator<P, Owned>| {
                    while !allocator.drain_finished() {
                        if !allocator.run_work(*cpu) {
                            P::wait(0);
                        }
                    }
                };
                let (steps, outcome) =
                    walk_waiting(&mut self.shared(), *cpu, *request, replies, wait);
                return Answer::Walk(steps, outcome);
            }
            _ => return perform(&mut self.shared(), call, caller),
        }
        Answer::Done
    }

    fn inner(&self) -> &PageAllocator<P, Owned> {
        self.shared()
    }
}
