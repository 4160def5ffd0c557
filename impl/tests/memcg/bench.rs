//! What the tests share.

use mmspec_impl::memcg::{MemcgOwner, OwnedMemcg};
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep, OomOutcome},
    vocab::{CpuId, Gfp, MemcgEvent, MemcgId, MemcgRules, MemcgState, PageCounterState},
};

pub(crate) const CPU0: CpuId = CpuId(0);
pub(crate) const CPU1: CpuId = CpuId(1);
pub(crate) const ROOT: MemcgId = MemcgId::ROOT;
pub(crate) const TASK: ChargeTask = ChargeTask::empty();
/// Pages of a MiB.
pub(crate) const MIB: u64 = 256;

pub(crate) fn groups() -> OwnedMemcg {
    with_rules(MemcgRules::LINUX_6_17)
}

pub(crate) fn with_rules(rules: MemcgRules) -> OwnedMemcg {
    OwnedMemcg::new(2, 32, 4, rules)
}

pub(crate) fn charge(memcg: MemcgId, pages: u32, gfp: Gfp) -> MemcgCall {
    MemcgCall::Charge { memcg, pages, gfp, task: TASK, over_high: 0 }
}

pub(crate) fn charge_as(memcg: MemcgId, pages: u32, gfp: Gfp, task: ChargeTask) -> MemcgCall {
    MemcgCall::Charge { memcg, pages, gfp, task, over_high: 0 }
}

pub(crate) fn object(objcg: MemcgId, bytes: u32) -> MemcgCall {
    MemcgCall::ChargeObject { objcg, bytes, gfp: Gfp::KERNEL_ACCOUNT, task: TASK, over_high: 0 }
}

pub(crate) fn charged(memcg: MemcgId) -> MemcgStep {
    MemcgStep::Done(MemcgDone::Charged { memcg, over_high: 0, high_work: None })
}

pub(crate) fn no_memory() -> MemcgStep {
    MemcgStep::Done(MemcgDone::NoMemory { over_high: 0 })
}

pub(crate) fn reclaimed(pages: u64) -> MemcgReply {
    MemcgReply::Reclaimed { pages, signal: false }
}

pub(crate) const KILLED: MemcgReply = MemcgReply::Oom(OomOutcome::Killed);
pub(crate) const NO_VICTIM: MemcgReply = MemcgReply::Oom(OomOutcome::NoVictim);

/// Asking for reclaim.
pub(crate) fn reclaim(memcg: MemcgId, goal: u64) -> MemcgStep {
    MemcgStep::Reclaim { memcg, goal, may_swap: true }
}

/// Short ways to what the tests look at.
pub(crate) trait Looks {
    fn now(&self, cpu: CpuId, call: MemcgCall) -> MemcgStep;
    fn memory(&self, memcg: MemcgId) -> PageCounterState;
    fn usage(&self, memcg: MemcgId) -> u64;
    fn limit(&self, memcg: MemcgId, pages: u64);
    fn limit_high(&self, memcg: MemcgId, pages: u64);
    fn events(&self, memcg: MemcgId, event: MemcgEvent) -> u64;
    fn slots(&self, cpu: CpuId) -> Vec<(u16, u32)>;
    fn look(&self, memcg: MemcgId) -> MemcgState;
}

impl Looks for OwnedMemcg {
    /// The first step of a call, which is given up there.
    fn now(&self, cpu: CpuId, call: MemcgCall) -> MemcgStep {
        self.begin(cpu, call).1
    }

    fn memory(&self, memcg: MemcgId) -> PageCounterState {
        self.state(memcg).memory
    }

    fn usage(&self, memcg: MemcgId) -> u64 {
        self.memory(memcg).usage
    }

    fn limit(&self, memcg: MemcgId, pages: u64) {
        let call = MemcgCall::WriteMax { memcg, pages, nonblock: true };
        assert_eq!(self.now(CPU0, call), MemcgStep::Done(MemcgDone::Ok));
    }

    fn limit_high(&self, memcg: MemcgId, pages: u64) {
        let call = MemcgCall::WriteHigh { memcg, pages, nonblock: true };
        assert_eq!(self.now(CPU0, call), MemcgStep::Done(MemcgDone::Ok));
    }

    fn events(&self, memcg: MemcgId, event: MemcgEvent) -> u64 {
        self.state(memcg).events[event as usize]
    }

    fn slots(&self, cpu: CpuId) -> Vec<(u16, u32)> {
        let slots = self.stock_state(cpu).slots;
        slots.iter().map(|slot| slot.map_or((0, 0), |slot| (slot.memcg.0, slot.pages))).collect()
    }

    fn look(&self, memcg: MemcgId) -> MemcgState {
        self.state(memcg)
    }
}

/// An owner whose groups have so many reclaimable pages each, found by nothing but their number.
pub(crate) struct Machine<'a> {
    pub(crate) groups: &'a OwnedMemcg,
    /// Page cache of each group.
    pub(crate) cache: Vec<u64>,
    /// Anonymous pages of each group: freed when its task is killed.
    pub(crate) anon: Vec<u64>,
    /// Free swap that the machine has.
    pub(crate) swap_free: u64,
    /// Entries of each group.
    pub(crate) swapped: Vec<u64>,
    pub(crate) kills: u64,
    pub(crate) slept: u64,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(groups: &'a OwnedMemcg) -> Self {
        let none = vec![0; 32];
        let (cache, anon, swapped) = (none.clone(), none.clone(), none);
        Self { groups, cache, anon, swap_free: 0, swapped, kills: 0, slept: 0 }
    }

    /// Ids of `memcg` and all made below it.
    fn subtree(&self, memcg: MemcgId) -> Vec<MemcgId> {
        let all = (0..self.groups.count() as u16).map(MemcgId);
        all.filter(|id| {
            let mut at = Some(*id);
            while let Some(level) = at {
                if level == memcg {
                    return true;
                }
                at = self.groups.state(level).parent;
            }
            false
        })
        .collect()
    }

    /// A task of `memcg` takes a page of page cache, or of anonymous memory.
    pub(crate) fn fault(&mut self, memcg: MemcgId, cache: bool) -> Result<(), MemcgDone> {
        let groups = self.groups;
        match groups.charge(CPU0, charge(memcg, 1, Gfp::HIGHUSER_MOVABLE), self) {
            MemcgDone::Charged { over_high, .. } => {
                let pages = if cache { &mut self.cache } else { &mut self.anon };
                pages[usize::from(memcg.0)] += 1;
                if over_high > 0 {
                    let call = MemcgCall::OverHigh { memcg, over_high, task: TASK };
                    assert_eq!(groups.charge(CPU0, call, self), MemcgDone::Ok);
                }
                Ok(())
            }
            done => Err(done),
        }
    }

    pub(crate) fn faults(
        &mut self,
        memcg: MemcgId,
        pages: u64,
        cache: bool,
    ) -> Result<(), MemcgDone> {
        (0..pages).try_for_each(|_| self.fault(memcg, cache))
    }

    /// Free page cache of one group, then swap it out as far as that goes.
    fn shrink(&mut self, memcg: MemcgId, goal: u64) -> u64 {
        let at = usize::from(memcg.0);
        let cached = goal.min(self.cache[at]);
        self.cache[at] -= cached;
        let mut swapped = 0;
        while cached + swapped < goal && self.anon[at] > 0 && self.swap_free > 0 {
            if self.groups.charge_swap(memcg, 1).is_err() {
                break;
            }
            self.swap_free -= 1;
            self.swapped[at] += 1;
            self.anon[at] -= 1;
            swapped += 1;
        }
        self.groups.uncharge(memcg, (cached + swapped) as u32);
        cached + swapped
    }

    /// One pass over the subtree, as §3 has it; whether something was held back by memory.low.
    fn pass(&mut self, root: MemcgId, goal: u64, first: bool) -> (u64, bool) {
        let (mut freed, mut held_back) = (0, false);
        for memcg in self.subtree(root) {
            let (emin, elow) = self.groups.protection(root, memcg);
            let usage = self.groups.usage(memcg);
            if memcg != root && emin >= usage {
                continue;
            }
            let mut protected = emin;
            if elow > emin {
                if first {
                    held_back = true;
                    protected = elow;
                    if elow >= usage {
                        continue;
                    }
                } else if elow >= usage {
                    self.groups.raise(memcg, MemcgEvent::Low);
                }
            }
            let pages = self.cache[usize::from(memcg.0)] + self.anon[usize::from(memcg.0)];
            let size = usage.max(protected);
            let scan = (pages - pages * protected / (size + 1)).min(goal.max(32)).max(4) / 4;
            freed += self.shrink(memcg, scan.min(goal.max(32) - freed.min(goal)));
            if freed >= goal.max(32) {
                break;
            }
        }
        (freed, held_back)
    }
}

impl MemcgOwner for Machine<'_> {
    fn reclaim(&mut self, memcg: MemcgId, goal: u64, _may_swap: bool) -> (u64, bool) {
        let (mut total, mut held) = (0, false);
        while total < goal.max(32) {
            let (freed, held_back) = self.pass(memcg, goal, true);
            (total, held) = (total + freed, held | held_back);
            if freed == 0 {
                break;
            }
        }
        if total == 0 && held {
            total += self.pass(memcg, goal, false).0;
        }
        (total, false)
    }

    fn oom(&mut self, memcg: MemcgId, _order: u8) -> OomOutcome {
        let fattest = self.subtree(memcg).into_iter().max_by_key(|id| self.anon[usize::from(id.0)]);
        let Some(victim) = fattest.filter(|id| self.anon[usize::from(id.0)] > 0) else {
            return OomOutcome::NoVictim;
        };
        let pages = std::mem::take(&mut self.anon[usize::from(victim.0)]);
        self.groups.uncharge(victim, pages as u32);
        self.groups.raise(victim, MemcgEvent::OomKill);
        self.kills += 1;
        OomOutcome::Killed
    }

    fn sleep(&mut self, jiffies: u64) {
        self.slept += jiffies;
    }
}
