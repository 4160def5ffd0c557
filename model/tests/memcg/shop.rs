//! A small world: who charges, and what can be reclaimed from whom.

use mmspec_model::contract::{
    ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep, MemoryCgroups, OomOutcome,
};
use mmspec_model::reference::memcg::Reference;
use mmspec_model::vocab::{
    CpuId, Gfp, MemcgEvent, MemcgId, MemcgRules, PAGE_COUNTER_MAX, PageCounterState,
};
use std::collections::BTreeMap;

pub(crate) const CPU: CpuId = CpuId(0);
pub(crate) const OTHER: CpuId = CpuId(1);

/// Groups, and their reclaimable pages.
pub(crate) struct Shop {
    pub(crate) groups: Reference,
    /// Pages that a reclaim can have, by group.
    pub(crate) cache: BTreeMap<MemcgId, u64>,
    /// Pages that only a killer frees.
    pub(crate) anon: BTreeMap<MemcgId, u64>,
    /// What was asked for.
    pub(crate) goals: Vec<u64>,
    pub(crate) kills: u64,
    pub(crate) slept: u64,
    /// Where the next reclaim begins: each goes on where the last one ended.
    turn: usize,
}

impl Shop {
    pub(crate) fn new() -> Self {
        Self::under(MemcgRules::LINUX_6_17)
    }

    pub(crate) fn under(rules: MemcgRules) -> Self {
        Self {
            groups: Reference::new(rules, 2),
            cache: BTreeMap::new(),
            anon: BTreeMap::new(),
            goals: Vec::new(),
            kills: 0,
            slept: 0,
            turn: 0,
        }
    }

    pub(crate) fn group(&mut self, parent: MemcgId) -> MemcgId {
        self.groups.create(parent).unwrap()
    }

    pub(crate) fn memory(&self, memcg: MemcgId) -> PageCounterState {
        self.groups.memcg_state(memcg).memory
    }

    pub(crate) fn usage(&self, memcg: MemcgId) -> u64 {
        self.memory(memcg).usage
    }

    pub(crate) fn events(&self, memcg: MemcgId, event: MemcgEvent) -> u64 {
        self.groups.memcg_state(memcg).events[event as usize]
    }

    pub(crate) fn stock(&self, cpu: CpuId, memcg: MemcgId) -> u32 {
        let slots = self.groups.stock_state(cpu).slots;
        slots.iter().flatten().filter(|slot| slot.memcg == memcg).map(|slot| slot.pages).sum()
    }

    pub(crate) fn below(&self, memcg: MemcgId, root: MemcgId) -> bool {
        let mut at = Some(memcg);
        while let Some(group) = at {
            if group == root {
                return true;
            }
            at = self.groups.memcg_state(group).parent;
        }
        false
    }

    /// Reclaim page cache below `root`, in proportion to what is not protected (§3).
    pub(crate) fn reclaim(&mut self, root: MemcgId, goal: u64) -> u64 {
        self.goals.push(goal);
        let goal = goal.max(32);
        for second in [false, true] {
            let mut skipped = false;
            let mut taken = 0;
            let count = self.groups.memcg_count();
            for _ in 0..count {
                self.turn = (self.turn + 1) % count;
                let memcg = MemcgId(self.turn as u16);
                if !self.below(memcg, root) {
                    continue;
                }
                self.ask_parents(root, memcg);
                let (min, low) = self.groups.protection(root, memcg);
                let usage = self.usage(memcg);
                let cache = self.cache.get(&memcg).copied().unwrap_or(0);
                if min >= usage && memcg != root {
                    continue;
                }
                if low >= usage && memcg != root {
                    if !second {
                        skipped = true;
                        continue;
                    }
                    self.groups.raise(memcg, MemcgEvent::Low);
                }
                let keep = if second { min } else { min.max(low) };
                skipped |= !second && low > min;
                let size = usage.max(keep);
                let scan = goal - goal * keep / (size + 1);
                let pages = scan.max(1).min(cache).min(usage.saturating_sub(keep).max(1));
                if pages > 0 {
                    *self.cache.get_mut(&memcg).unwrap() -= pages;
                    self.groups.uncharge(memcg, pages as u32);
                    taken += pages;
                }
                if taken >= goal {
                    break;
                }
            }
            if taken > 0 || !skipped {
                return taken;
            }
        }
        0
    }

    /// Effective protection is computed from the top.
    fn ask_parents(&mut self, root: MemcgId, memcg: MemcgId) {
        if memcg != root
            && let Some(parent) = self.groups.memcg_state(memcg).parent
        {
            self.ask_parents(root, parent);
            self.groups.protection(root, parent);
        }
    }

    /// Kill whoever holds most below `memcg`.
    fn kill(&mut self, memcg: MemcgId) -> OomOutcome {
        let below = self.anon.iter().filter(|(group, _)| self.below(**group, memcg));
        let victim = below.max_by_key(|(_, pages)| **pages).map(|(group, pages)| (*group, *pages));
        match victim {
            Some((group, pages)) if pages > 0 => {
                self.anon.insert(group, 0);
                self.groups.uncharge(group, pages as u32);
                self.groups.raise(group, MemcgEvent::OomKill);
                self.kills += 1;
                OomOutcome::Killed
            }
            _ => OomOutcome::NoVictim,
        }
    }

    /// Make a call and do what it wants.
    pub(crate) fn call(&mut self, cpu: CpuId, call: MemcgCall) -> MemcgDone {
        let (mut running, mut step) = self.groups.begin(cpu, call);
        loop {
            let reply = match step {
                MemcgStep::Done(done) => return done,
                MemcgStep::Reclaim { memcg, goal, .. } => {
                    MemcgReply::Reclaimed { pages: self.reclaim(memcg, goal), signal: false }
                }
                MemcgStep::Oom { memcg, .. } => MemcgReply::Oom(self.kill(memcg)),
                MemcgStep::Sleep { jiffies } => {
                    self.slept += jiffies;
                    MemcgReply::Slept
                }
            };
            step = self.groups.go_on(&mut running, reply);
        }
    }

    /// Charge; whether it was charged.
    pub(crate) fn charge(&mut self, memcg: MemcgId, pages: u32, gfp: Gfp) -> bool {
        self.charge_by(memcg, pages, gfp, ChargeTask::empty())
    }

    pub(crate) fn charge_by(
        &mut self,
        memcg: MemcgId,
        pages: u32,
        gfp: Gfp,
        task: ChargeTask,
    ) -> bool {
        let call = MemcgCall::Charge { memcg, pages, gfp, task, over_high: 0 };
        matches!(self.call(CPU, call), MemcgDone::Charged { .. })
    }

    /// Page cache, a page at a time; how many were charged.
    pub(crate) fn read(&mut self, memcg: MemcgId, pages: u64) -> u64 {
        let mut got = 0;
        while got < pages && self.charge(memcg, 1, Gfp::KERNEL) {
            *self.cache.entry(memcg).or_default() += 1;
            got += 1;
        }
        got
    }

    pub(crate) fn touch(&mut self, memcg: MemcgId, pages: u64) -> u64 {
        let mut got = 0;
        while got < pages && self.kills == 0 && self.charge(memcg, 1, Gfp::KERNEL) {
            if self.kills > 0 {
                self.groups.uncharge(memcg, 1);
                break;
            }
            *self.anon.entry(memcg).or_default() += 1;
            got += 1;
        }
        got
    }

    pub(crate) fn set_max(&mut self, memcg: MemcgId, pages: u64) -> MemcgDone {
        self.call(CPU, MemcgCall::WriteMax { memcg, pages, nonblock: false })
    }

    pub(crate) fn set_high(&mut self, memcg: MemcgId, pages: u64) -> MemcgDone {
        self.call(CPU, MemcgCall::WriteHigh { memcg, pages, nonblock: false })
    }
}

#[test]
fn a_new_group_has_no_limit_and_no_usage() {
    let mut shop = Shop::new();
    let group = shop.group(MemcgId::ROOT);
    let memory = shop.memory(group);
    assert_eq!((memory.usage, memory.max, memory.high), (0, PAGE_COUNTER_MAX, PAGE_COUNTER_MAX));
    assert_eq!(PAGE_COUNTER_MAX, (1 << 51) - 1);
}
