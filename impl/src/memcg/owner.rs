//! Calls run to their end, for embedders that can wait where they stand.

use super::Memcg;
use crate::{platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{MemcgCall, MemcgDone, MemcgReply, MemcgStep, OomOutcome},
    vocab::{CpuId, MemcgId},
};

/// Who has the pages and the tasks.
pub trait MemcgOwner {
    /// Reclaim about `goal` pages (32 at least) from `memcg` and below, and uncharge them. How many were, and whether
    /// a signal is pending for the task.
    fn reclaim(&mut self, memcg: MemcgId, goal: u64, may_swap: bool) -> (u64, bool);

    /// Kill a task of `memcg` or below, raise `oom_kill` there, and uncharge what it had.
    fn oom(&mut self, memcg: MemcgId, order: u8) -> OomOutcome;

    /// Sleep for so many milliseconds, or until a fatal signal comes.
    fn sleep(&mut self, jiffies: u64);
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Run a call to its end.
    pub fn charge(&self, cpu: CpuId, call: MemcgCall, owner: &mut impl MemcgOwner) -> MemcgDone {
        let (mut running, mut step) = self.begin(cpu, call);
        loop {
            let reply = match step {
                MemcgStep::Done(done) => return done,
                MemcgStep::Reclaim { memcg, goal, may_swap } => {
                    let (pages, signal) = owner.reclaim(memcg, goal, may_swap);
                    MemcgReply::Reclaimed { pages, signal }
                }
                MemcgStep::Oom { memcg, order } => MemcgReply::Oom(owner.oom(memcg, order)),
                MemcgStep::Sleep { jiffies } => {
                    owner.sleep(jiffies);
                    MemcgReply::Slept
                }
            };
            step = self.go_on(&mut running, reply);
        }
    }

    /// Charge `pages` of a folio of `memcg` from `cpu`'s stock, if it has them: what [`Memcg::begin`] does first, without
    /// a machine. False: nothing was done.
    #[inline]
    pub fn charge_from_stock(&self, cpu: CpuId, memcg: MemcgId, pages: u32) -> bool {
        memcg != MemcgId::ROOT
            && pages > 0
            && self.online(memcg).is_some()
            && self.consume(cpu, memcg, pages, false)
    }
}
