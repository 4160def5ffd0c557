//! memory.high, and the writes that reclaim (memcg-slub.md §2.6 to §2.8, §2.13).

use super::Reference;
use super::charge::{CLUSTER, Charge};
use crate::contract::{ChargeTask, MemcgDone, MemcgReply, MemcgStep, OomOutcome};
use crate::vocab::{CpuId, MemcgEvent, MemcgId};
use std::vec::Vec;

/// Jiffies of a second, and of the longest sleep.
const HZ: u128 = 1000;
const LONGEST: u128 = 2 * HZ;

/// The handler of memory.high in progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct High {
    memcg: MemcgId,
    task: ChargeTask,
    /// The task's pages over high.
    pages: u64,
    attempts: u32,
    goal: u64,
    /// Levels of this round that are still to be looked at, the next one last.
    levels: Vec<MemcgId>,
    reclaimed: u64,
    sleeping: bool,
    done: MemcgDone,
    /// The charge that it is the end of.
    pub charge: Option<Charge>,
}

impl High {
    /// `retries`: reclaims without fruit before it gives up.
    pub(super) fn new(memcg: MemcgId, pages: u64, task: ChargeTask, retries: u32) -> Self {
        Self {
            memcg,
            task,
            pages,
            attempts: retries,
            goal: pages,
            levels: Vec::new(),
            reclaimed: 0,
            sleeping: false,
            done: MemcgDone::Ok,
            charge: None,
        }
    }

    /// At the end of a charge, which then answers as charged.
    pub(super) fn in_charge(charge: &Charge, retries: u32) -> Self {
        let memcg = charge.memcg;
        let done = MemcgDone::Charged { memcg, over_high: 0, high_work: None };
        let charge_over = charge.over_high;
        Self {
            done,
            charge: Some(charge.clone()),
            ..Self::new(memcg, charge_over, charge.task, retries)
        }
    }

    fn end(&self) -> MemcgStep {
        MemcgStep::Done(self.done)
    }
}

/// A write or a request for reclaim in progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Write {
    pub cpu: CpuId,
    pub memcg: MemcgId,
    pub pages: u64,
    pub what: What,
    drained: bool,
    budget: u32,
    signal: bool,
    total: u64,
}

/// Which.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum What {
    Max,
    High,
    Reclaim,
}

impl Write {
    /// `budget`: reclaims without fruit before it gives up.
    pub(super) fn new(cpu: CpuId, memcg: MemcgId, pages: u64, what: What, budget: u32) -> Self {
        Self { cpu, memcg, pages, what, drained: false, budget, signal: false, total: 0 }
    }
}

impl Reference {
    /// A round of the handler begins.
    pub(super) fn high_on(&mut self, high: &mut High) -> MemcgStep {
        if high.pages == 0 || high.task.contains(ChargeTask::DYING) {
            return high.end();
        }
        high.reclaimed = 0;
        high.levels = self.tree.levels(high.memcg);
        high.levels.retain(|level| *level != MemcgId::ROOT);
        high.levels.reverse();
        self.high_levels(high)
    }

    /// The next level over its limit is reclaimed from; after the last one, the penalty.
    fn high_levels(&mut self, high: &mut High) -> MemcgStep {
        while let Some(level) = high.levels.pop() {
            let counter = &self.tree.group(level).memory;
            if counter.used() > counter.high {
                self.raise_event(level, MemcgEvent::High);
                return MemcgStep::Reclaim { memcg: level, goal: high.goal, may_swap: true };
            }
        }
        let penalty = self.penalty(high.memcg, high.pages);
        if penalty <= HZ / 100 {
            return high.end();
        }
        if high.reclaimed > 0 || high.attempts > 0 {
            if high.reclaimed == 0 {
                high.attempts -= 1;
            }
            high.goal = CLUSTER;
            return self.high_on(high);
        }
        high.sleeping = true;
        MemcgStep::Sleep { jiffies: penalty as u64 }
    }

    pub(super) fn high_reply(&mut self, high: &mut High, reply: MemcgReply) -> MemcgStep {
        if high.sleeping {
            return high.end();
        }
        if let MemcgReply::Reclaimed { pages, signal } = reply {
            high.reclaimed += pages;
            high.task.set(ChargeTask::DYING, signal || high.task.contains(ChargeTask::DYING));
        }
        self.high_levels(high)
    }

    /// Jiffies to sleep, of 1 ms (§2.6).
    fn penalty(&self, memcg: MemcgId, pages: u64) -> u128 {
        let levels = self.tree.levels(memcg);
        let over = levels.iter().filter(|level| **level != MemcgId::ROOT).map(|level| {
            let counter = &self.tree.group(*level).memory;
            overage(counter.used(), counter.high)
        });
        let over = over.max().unwrap_or(0);
        let delay = (over * over).saturating_mul(HZ) >> 34;
        (delay.saturating_mul(u128::from(pages)) / u128::from(self.rules.batch)).min(LONGEST)
    }

    /// memory.max, memory.high or memory.reclaim goes on.
    pub(super) fn write_on(&mut self, write: &mut Write) -> MemcgStep {
        let memcg = write.memcg;
        let usage = self.tree.group(memcg).memory.used();
        if write.what == What::Reclaim {
            if write.total >= write.pages {
                return MemcgStep::Done(MemcgDone::Ok);
            }
            if write.signal {
                return MemcgStep::Done(MemcgDone::Interrupted);
            }
            let goal = (write.pages - write.total) / 4;
            return MemcgStep::Reclaim { memcg, goal, may_swap: true };
        }
        if usage <= write.pages || write.signal {
            return MemcgStep::Done(MemcgDone::Ok);
        }
        if !write.drained {
            write.drained = true;
            self.drain_stocks(write.cpu, memcg);
            return self.write_on(write);
        }
        if write.what == What::Max && write.budget == 0 {
            self.raise_event(memcg, MemcgEvent::Oom);
            return MemcgStep::Oom { memcg, order: 0 };
        }
        MemcgStep::Reclaim { memcg, goal: usage - write.pages, may_swap: true }
    }

    pub(super) fn write_reply(&mut self, write: &mut Write, reply: MemcgReply) -> MemcgStep {
        let (pages, signal) = match reply {
            MemcgReply::Reclaimed { pages, signal } => (pages, signal),
            MemcgReply::Oom(OomOutcome::Killed) => return self.write_on(write),
            _ => (0, false),
        };
        if write.what == What::Max && write.budget == 0 {
            // The killer was asked, and found nobody.
            return MemcgStep::Done(MemcgDone::Ok);
        }
        write.signal |= signal;
        write.total += pages;
        if pages == 0 {
            let budget = write.budget;
            write.budget = budget.saturating_sub(1);
            // Counted after it is looked at: one pass more than the budget. memory.max counts before.
            if budget == 0 {
                let end =
                    if write.what == What::Reclaim { MemcgDone::Again } else { MemcgDone::Ok };
                return MemcgStep::Done(end);
            }
        }
        self.write_on(write)
    }
}

/// How far usage is over high, in 2^-20 of high (§2.6). The product is wide: the kernel's wraps at
/// 130 times high (docs/memcg.md).
fn overage(usage: u64, high: u64) -> u128 {
    if usage <= high {
        return 0;
    }
    (u128::from(usage - high) << 20) / u128::from(high.max(1))
}
