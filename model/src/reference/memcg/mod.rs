//! Memory cgroups, exact and sequential (memcg-slub.md §1 to §3).

mod charge;
mod contract;
mod counter;
mod high;
mod objects;
mod protection;
mod stock;

use crate::contract::{MemcgCall, MemcgDone, MemcgReply, MemcgStep};
use crate::vocab::{CounterKind, CpuId, MemcgEvent, MemcgId, MemcgRules, PAGE_COUNTER_MAX};
use charge::{Charge, Next, Purpose};
use counter::Counter;
use high::{High, What, Write};
use std::vec;
use std::vec::Vec;
use stock::Stock;

/// A group.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Group {
    parent: Option<MemcgId>,
    online: bool,
    memory: Counter,
    swap: Counter,
    local: [u64; MemcgEvent::COUNT],
    events: [u64; MemcgEvent::COUNT],
    kernel: i64,
    references: u64,
    /// Of the objcg made with this group.
    charged_bytes: u64,
    objcg_owner: MemcgId,
    objcg_references: u64,
}

impl Group {
    const fn new(id: MemcgId, parent: Option<MemcgId>) -> Self {
        Self {
            parent,
            online: true,
            memory: Counter::NEW,
            swap: Counter::NEW,
            local: [0; MemcgEvent::COUNT],
            events: [0; MemcgEvent::COUNT],
            kernel: 0,
            references: 0,
            charged_bytes: 0,
            objcg_owner: id,
            objcg_references: 0,
        }
    }
}

/// All groups.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Tree(Vec<Group>);

impl Tree {
    fn group(&self, memcg: MemcgId) -> &Group {
        &self.0[usize::from(memcg.0)]
    }

    fn group_mut(&mut self, memcg: MemcgId) -> &mut Group {
        &mut self.0[usize::from(memcg.0)]
    }

    fn counter_mut(&mut self, memcg: MemcgId, kind: CounterKind) -> &mut Counter {
        let group = self.group_mut(memcg);
        match kind {
            CounterKind::Memory => &mut group.memory,
            CounterKind::Swap => &mut group.swap,
        }
    }

    /// Whether `memcg` is `root` or below it.
    fn is_below(&self, memcg: MemcgId, root: MemcgId) -> bool {
        self.levels(memcg).contains(&root)
    }
}

/// A handle of memory.peak (memcg-slub.md §1.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Peak {
    memcg: MemcgId,
    open: bool,
    /// Its own value once it was written to.
    local: Option<u64>,
}

/// The specification of memory cgroups.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Reference {
    rules: MemcgRules,
    tree: Tree,
    stocks: Vec<Stock>,
    peaks: Vec<Peak>,
}

/// A call in progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Running(State);

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum State {
    Charge(Charge),
    High(High),
    Write(Write),
    Done(MemcgDone),
}

impl Reference {
    /// The root alone, on `cpus` CPUs with empty stocks.
    #[must_use]
    pub fn new(rules: MemcgRules, cpus: u16) -> Self {
        Self {
            rules,
            tree: Tree(vec![Group::new(MemcgId::ROOT, None)]),
            stocks: vec![Stock::default(); usize::from(cpus)],
            peaks: Vec::new(),
        }
    }

    fn stock(&self, cpu: CpuId) -> &Stock {
        &self.stocks[usize::from(cpu.0)]
    }

    fn stock_mut(&mut self, cpu: CpuId) -> &mut Stock {
        &mut self.stocks[usize::from(cpu.0)]
    }

    fn known(&self, memcg: MemcgId) -> bool {
        usize::from(memcg.0) < self.tree.0.len()
    }

    fn online(&self, memcg: MemcgId) -> bool {
        self.known(memcg) && self.tree.group(memcg).online
    }

    /// Whether an objcg can be charged: the root has none, and one that nobody uses any more is gone
    /// with its group.
    fn chargeable(&self, objcg: MemcgId) -> bool {
        objcg != MemcgId::ROOT
            && self.known(objcg)
            && (self.online(objcg) || self.tree.group(objcg).objcg_references > 0)
    }

    /// An event, passed up (memcg-slub.md §6.1).
    fn raise_event(&mut self, memcg: MemcgId, event: MemcgEvent) {
        if memcg == MemcgId::ROOT {
            return;
        }
        let at = event as usize;
        self.tree.group_mut(memcg).local[at] += 1;
        for level in self.tree.levels(memcg) {
            if level == MemcgId::ROOT {
                break;
            }
            self.tree.group_mut(level).events[at] += 1;
            if self.rules.local_events {
                break;
            }
        }
    }

    /// The state that a call begins in, or its end.
    fn state_of(&mut self, cpu: CpuId, call: MemcgCall) -> State {
        let gone = State::Done(MemcgDone::NoGroup);
        let rules = self.rules;
        match call {
            MemcgCall::Charge { memcg, pages, gfp, task, over_high } => {
                if !self.online(memcg) {
                    return gone;
                }
                let task = (gfp, task, over_high);
                State::Charge(Charge::new(&rules, cpu, (memcg, pages), task, Purpose::Folio))
            }
            MemcgCall::ChargeObject { objcg, bytes, gfp, task, over_high } => {
                if !self.chargeable(objcg) {
                    return gone;
                }
                let memcg = self.tree.group(objcg).objcg_owner;
                let nested = task.contains(crate::contract::ChargeTask::NESTED);
                if self.consume_bytes(cpu, objcg, bytes, nested) {
                    self.hold_objcg(objcg, 1);
                    return State::Done(MemcgDone::Charged { memcg, over_high, high_work: None });
                }
                let pages = bytes.div_ceil(objects::PAGE);
                let task = (gfp, task, over_high);
                let purpose = Purpose::Object { objcg, bytes };
                State::Charge(Charge::new(&rules, cpu, (memcg, pages), task, purpose))
            }
            MemcgCall::ChargeKernelPages { objcg, pages, gfp, task, over_high } => {
                if !self.chargeable(objcg) {
                    return gone;
                }
                let memcg = self.tree.group(objcg).objcg_owner;
                let task = (gfp, task, over_high);
                State::Charge(Charge::new(
                    &rules,
                    cpu,
                    (memcg, pages),
                    task,
                    Purpose::Kernel { objcg },
                ))
            }
            MemcgCall::OverHigh { memcg, over_high, task } => {
                if !self.known(memcg) {
                    return gone;
                }
                State::High(High::new(memcg, over_high, task, rules.retries))
            }
            MemcgCall::WriteMax { memcg, pages, nonblock } => {
                if !self.online(memcg) || memcg == MemcgId::ROOT {
                    return gone;
                }
                let pages = pages.min(PAGE_COUNTER_MAX);
                self.tree.group_mut(memcg).memory.max = pages;
                let write = Write::new(cpu, memcg, pages, What::Max, rules.retries);
                if nonblock { State::Done(MemcgDone::Ok) } else { State::Write(write) }
            }
            MemcgCall::WriteHigh { memcg, pages, nonblock } => {
                if !self.online(memcg) || memcg == MemcgId::ROOT {
                    return gone;
                }
                let pages = pages.min(PAGE_COUNTER_MAX);
                self.tree.group_mut(memcg).memory.high = pages;
                let write = Write::new(cpu, memcg, pages, What::High, rules.retries);
                if nonblock { State::Done(MemcgDone::Ok) } else { State::Write(write) }
            }
            MemcgCall::Reclaim { memcg, pages } => {
                if !self.online(memcg) {
                    return gone;
                }
                State::Write(Write::new(cpu, memcg, pages, What::Reclaim, rules.retries))
            }
        }
    }

    /// Go on; the first time without a reply.
    fn step(&mut self, running: &mut Running, reply: Option<MemcgReply>) -> MemcgStep {
        let step = match (&mut running.0, reply) {
            (State::Done(done), _) => return MemcgStep::Done(*done),
            (State::Charge(charge), None) => self.charge_on(charge),
            (State::Charge(charge), Some(reply)) => self.charge_reply(charge, reply),
            (State::High(high), None) => Next::Step(self.high_on(high)),
            (State::High(high), Some(reply)) => Next::Step(self.high_reply(high, reply)),
            (State::Write(write), None) => Next::Step(self.write_on(write)),
            (State::Write(write), Some(reply)) => Next::Step(self.write_reply(write, reply)),
        };
        match step {
            Next::Step(MemcgStep::Done(done)) => {
                if let State::High(High { charge: Some(charge), .. }) = &running.0 {
                    self.account(&charge.clone(), charge.memcg);
                }
                running.0 = State::Done(done);
                MemcgStep::Done(done)
            }
            Next::Step(step) => step,
            Next::High(high) => {
                running.0 = State::High(*high);
                self.step(running, None)
            }
        }
    }
}
