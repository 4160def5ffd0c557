//! Walks through the slow path and kswapds, judged step by step.

use super::Broke;
use super::judge::Bench;
use crate::drive::{Answer, Call, Walker, outcome_of};
use crate::script::Reply;
use mmspec_model::contract::{KswapdReply, KswapdStep, LinuxPolicy, Outcome, Request, SlowStep};
use mmspec_model::laws::{KswapdSeen, SlowSeen, Step};
use mmspec_model::vocab::{CpuId, NodeId};

/// Shrinks in vain, in a row, of one node's kswapd while nothing else ran.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Vain {
    node: NodeId,
    shrinks: u64,
    /// The step before was a shrink.
    shrinking: bool,
}

impl Bench<'_> {
    /// A first attempt and a walk, as [`crate::drive::walk`], each step judged.
    pub(super) fn walk<A: LinuxPolicy>(
        &mut self,
        allocator: &mut A,
        at: usize,
        (cpu, request): (CpuId, Request),
        replies: &[Reply],
    ) -> Result<Answer, Broke> {
        let first = allocator.alloc_pages(cpu, request);
        self.look(allocator);
        let call = Call::Alloc(cpu, request);
        let step = Step::Alloc(cpu, request, first);
        self.hand_out(&call, &Answer::Outcome(first), first, request, step, at)?;
        if first != Outcome::SlowPath {
            return Ok(Answer::Walk(Vec::new(), first));
        }
        let begun = self.now.clone();
        let mut walker = Walker::begin(allocator, cpu, request, replies);
        let mut steps = Vec::new();
        while let Some(said) = walker.step(allocator) {
            steps.push(said);
            self.look(allocator);
            let seen = SlowSeen {
                cpu,
                request: walker.request(),
                step: said,
                steps: walker.steps() as u64,
                fruitless: walker.is_fruitless(),
                begun: &begun,
            };
            let outcome = match said {
                SlowStep::Done(outcome) => outcome,
                _ => Outcome::SlowPath,
            };
            let answer = Answer::Outcome(outcome);
            self.hand_out(&call, &answer, outcome, request, Step::Slow(seen), at)?;
        }
        let outcome = outcome_of(&steps);
        Ok(Answer::Walk(steps, outcome))
    }

    /// One step of a kswapd.
    pub(super) fn kswapd<A: LinuxPolicy>(
        &mut self,
        allocator: &mut A,
        at: usize,
        node: NodeId,
        reply: Option<KswapdReply>,
    ) -> Result<Answer, Broke> {
        let gave_nothing = !matches!(reply, Some(KswapdReply::Shrunk { reclaimed: 1.., .. }));
        let vain = &mut self.vain;
        if vain.node != node {
            *vain = Vain { node, ..Vain::default() };
        }
        if vain.shrinking {
            vain.shrinks = if gave_nothing { vain.shrinks + 1 } else { 0 };
        }
        let step = allocator.kswapd_step(node, reply);
        self.vain.shrinking = matches!(step, KswapdStep::Shrink { .. });
        let in_vain = self.vain.shrinks;
        if !self.vain.shrinking {
            self.vain.shrinks = 0;
        }
        self.look(allocator);
        let of = |numbers: &mmspec_model::laws::Numbers| {
            numbers.nodes.get(node.index()).copied().unwrap_or_default()
        };
        let (before, now) = (of(&self.before), of(&self.now));
        let seen = KswapdSeen { node, step, in_vain, before, now };
        self.judge(Step::Kswapd(seen), &[], None, &[], Some(at), true)?;
        Ok(Answer::Kswapd(step))
    }
}
