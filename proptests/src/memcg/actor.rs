//! One thread of a case: what [`Bench`](super::Bench) does, with a ledger that others write to as well.

use super::bench::asks;
use super::language::{CACHE, NONBLOCK, SIGNAL, Verb, task};
use super::ledger::Ledger;
use crate::engine::Finding;
use crate::flat::Op;
use mmspec_model::contract::{
    ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep, MemoryCgroups, OomOutcome,
};
use mmspec_model::vocab::{CounterKind, CpuId, MAX_MEMCGS, MemcgEvent, MemcgId};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More steps than any call takes.
const MOST_STEPS: usize = 500;

pub(super) struct Actor<'a, M> {
    groups: M,
    ledger: &'a Mutex<Ledger>,
    thread: usize,
}

impl<'a, M: MemoryCgroups> Actor<'a, M> {
    pub(super) fn new(groups: M, ledger: &'a Mutex<Ledger>, thread: usize) -> Self {
        Self { groups, ledger, thread }
    }

    pub(super) fn ledger(&self) -> MutexGuard<'a, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take folios from the ledger, then uncharge them.
    fn drop_folios(&mut self, memcg: MemcgId, pages: u64, cpu: Option<(CpuId, bool)>) -> u64 {
        let taken = {
            let mut ledger = self.ledger();
            let at = usize::from(memcg.0);
            let taken = pages.min(ledger.held[at].folios);
            ledger.held[at].folios -= taken;
            ledger.cache[at] = ledger.cache[at].saturating_sub(taken).min(ledger.held[at].folios);
            taken
        };
        if taken > 0 {
            match cpu {
                Some((cpu, nested)) => self.groups.refill(cpu, memcg, taken as u32, nested),
                None => self.groups.uncharge(memcg, taken as u32),
            }
            self.ledger().lower(memcg, taken);
        }
        taken
    }

    fn reclaim(&mut self, root: MemcgId, goal: u64) -> u64 {
        let (below, most) = {
            let ledger = self.ledger();
            (ledger.below(root), ledger.most)
        };
        let mut left = goal.max(32).min(most);
        let before = left;
        for memcg in below {
            let pages = self.ledger().cache[usize::from(memcg.0)].min(left);
            if pages > 0 {
                left -= self.drop_folios(memcg, pages, None);
            }
        }
        before - left
    }

    fn kill(&mut self, root: MemcgId) -> OomOutcome {
        let victim = {
            let ledger = self.ledger();
            let folios = |memcg: &MemcgId| ledger.held[usize::from(memcg.0)].folios;
            let victim = ledger.below(root).into_iter().max_by_key(folios);
            victim.map(|memcg| (memcg, folios(&memcg))).filter(|_| ledger.killer)
        };
        match victim {
            Some((memcg, pages)) if self.drop_folios(memcg, pages, None) > 0 => {
                self.groups.raise(memcg, MemcgEvent::OomKill);
                OomOutcome::Killed
            }
            _ => OomOutcome::NoVictim,
        }
    }

    fn call(&mut self, op: &Op<Verb>, call: MemcgCall) {
        let charge = match call {
            MemcgCall::Charge { memcg, pages, .. } => Some((memcg, u64::from(pages))),
            MemcgCall::ChargeKernelPages { objcg, pages, .. } => Some((objcg, u64::from(pages))),
            _ => None,
        };
        if let Some((memcg, pages)) = charge {
            self.ledger().begins(self.thread, memcg, pages);
        }
        let (mut running, mut step) = self.groups.begin(CpuId(op.cpu), call);
        let mut steps = Vec::new();
        let done = loop {
            let reply = match step {
                MemcgStep::Done(done) => break Some(done),
                MemcgStep::Reclaim { memcg, goal, .. } => MemcgReply::Reclaimed {
                    pages: self.reclaim(memcg, goal),
                    signal: op.flags & SIGNAL != 0 && steps.len() >= 2,
                },
                MemcgStep::Oom { memcg, .. } => MemcgReply::Oom(self.kill(memcg)),
                MemcgStep::Sleep { .. } => MemcgReply::Slept,
            };
            steps.push(step);
            if steps.len() > MOST_STEPS {
                break None;
            }
            step = self.groups.go_on(&mut running, reply);
        };
        let mut ledger = self.ledger();
        let Some(done) = done else {
            let what = format!("a call asks without end: {:?}", steps.last());
            ledger.finding = Some(Finding { kind: "endless".to_owned(), what, at: None });
            return;
        };
        let charged = matches!(done, MemcgDone::Charged { .. });
        if charged {
            note(&mut ledger, op, call, done);
        }
        if let Some((memcg, pages)) = charge {
            let failed = matches!(done, MemcgDone::NoMemory { .. });
            if memcg == MemcgId::ROOT || !(charged || failed) {
                ledger.rules_out(self.thread, memcg, pages);
            } else {
                ledger.ends(self.thread, memcg, pages, charged);
            }
        }
        ledger.committed();
        ledger.ended.push((call, steps, done));
    }

    /// Do it.
    pub(super) fn act(&mut self, op: &Op<Verb>) {
        let memcg = MemcgId(op.id);
        let (held, removed) = {
            let ledger = self.ledger();
            let groups = ledger.held.len();
            if usize::from(op.id) >= groups || usize::from(op.other) >= groups {
                return;
            }
            (ledger.held[usize::from(op.id)], ledger.removed[usize::from(op.id)])
        };
        let pages = op.n.min(1 << 20) as u32;
        let in_use = !removed || held.objects + held.kernel_pages > 0;
        let nonblock = op.flags & NONBLOCK != 0;
        let (gfp, task_of) = asks(op);
        let (cpu, over_high) = (CpuId(op.cpu), op.m);
        match op.verb {
            Verb::Charge if pages > 0 => {
                self.call(op, MemcgCall::Charge { memcg, pages, gfp, task: task_of, over_high });
            }
            Verb::Object if pages > 0 && op.id > 0 && in_use => {
                let (objcg, bytes) = (memcg, pages.min(1 << 16));
                let call = MemcgCall::ChargeObject { objcg, bytes, gfp, task: task_of, over_high };
                self.call(op, call);
            }
            Verb::Pages if pages > 0 && op.id > 0 && in_use => {
                let (objcg, task) = (memcg, task_of);
                self.call(op, MemcgCall::ChargeKernelPages { objcg, pages, gfp, task, over_high });
            }
            Verb::Max => self.call(op, MemcgCall::WriteMax { memcg, pages: op.n, nonblock }),
            Verb::High => self.call(op, MemcgCall::WriteHigh { memcg, pages: op.n, nonblock }),
            Verb::Reclaim => self.call(op, MemcgCall::Reclaim { memcg, pages: op.n }),
            Verb::OverHigh => {
                let task = task(op.flags & 3);
                self.call(op, MemcgCall::OverHigh { memcg, over_high: op.n, task });
            }
            Verb::Create => {
                if held.folios < u64::MAX
                    && self.groups.memcg_count() < MAX_MEMCGS
                    && let Ok(made) = self.groups.create(memcg)
                {
                    self.ledger().add(usize::from(made.0), Some(op.id));
                }
            }
            Verb::Remove => {
                self.ledger().removed[usize::from(op.id)] = true;
                if self.groups.offline(cpu, memcg).is_err() {
                    let online = self.groups.memcg_state(memcg).online;
                    self.ledger().removed[usize::from(op.id)] = !online;
                }
            }
            Verb::Replace if pages > 0 && op.id > 0 && (!removed || held.folios > 0) => {
                self.ledger().raise(memcg, u64::from(pages));
                self.groups.charge_replacement(memcg, pages);
                self.ledger().held[usize::from(op.id)].folios += u64::from(pages);
            }
            Verb::Uncharge => {
                self.drop_folios(memcg, u64::from(pages), None);
            }
            Verb::Refill if op.id > 0 => {
                let nested = op.flags & ChargeTask::NESTED.bits() != 0;
                self.drop_folios(memcg, u64::from(pages), Some((cpu, nested)));
            }
            _ => self.rest(op, memcg),
        }
    }

    fn rest(&mut self, op: &Op<Verb>, memcg: MemcgId) {
        let (cpu, at) = (CpuId(op.cpu), usize::from(op.id));
        match op.verb {
            // What these answer is the business of the laws at rest.
            Verb::Min => drop(self.groups.set_min(memcg, op.n)),
            Verb::Low => drop(self.groups.set_low(memcg, op.n)),
            Verb::MaxV1 => drop(self.groups.set_max_v1(memcg, CounterKind::Memory, op.n)),
            Verb::SwapMax => drop(self.groups.set_max_v1(memcg, CounterKind::Swap, op.n)),
            Verb::FreeObject => {
                let bytes = {
                    let mut ledger = self.ledger();
                    let objects = &mut ledger.objects[at];
                    if objects.is_empty() {
                        return;
                    }
                    let bytes = objects.swap_remove(op.n as usize % objects.len());
                    ledger.held[at].objects -= 1;
                    ledger.held[at].bytes -= u64::from(bytes);
                    bytes
                };
                let nested = op.flags & ChargeTask::NESTED.bits() != 0;
                self.groups.uncharge_object(cpu, memcg, bytes, nested);
            }
            Verb::FreePages => {
                let pages = {
                    let held = &mut self.ledger().held[at];
                    let pages = op.n.min(held.kernel_pages);
                    held.kernel_pages -= pages;
                    pages
                };
                if pages > 0 {
                    self.groups.uncharge_kernel_pages(memcg, pages as u32);
                    self.ledger().lower(memcg, pages);
                }
            }
            Verb::Swap if op.n > 0 => {
                let pages = op.n.min(1 << 20);
                if let Ok(target) = self.groups.charge_swap(memcg, pages as u32)
                    && target != MemcgId::ROOT
                {
                    self.ledger().held[usize::from(target.0)].swap += pages;
                }
            }
            Verb::Unswap => {
                let pages = {
                    let held = &mut self.ledger().held[at];
                    let pages = op.n.min(held.swap);
                    held.swap -= pages;
                    pages
                };
                if pages > 0 {
                    self.groups.uncharge_swap(memcg, pages as u32);
                }
            }
            Verb::Drain => self.groups.drain_all_stock(cpu, memcg),
            Verb::Work => drop(self.groups.run_stock_work(cpu)),
            Verb::Dead => self.groups.stock_cpu_dead(cpu),
            Verb::Event if op.id > 0 => {
                let event = MemcgEvent::ALL[op.n as usize % MemcgEvent::COUNT];
                self.groups.raise(memcg, event);
            }
            Verb::Reclaimer => {
                let mut ledger = self.ledger();
                ledger.most = op.n;
                ledger.killer = op.m != 0;
            }
            // Handles and effective protection are for one at a time.
            _ => {}
        }
    }
}

/// Note what a call charged.
fn note(ledger: &mut Ledger, op: &Op<Verb>, call: MemcgCall, done: MemcgDone) {
    let MemcgDone::Charged { memcg: owner, .. } = done else { return };
    match call {
        MemcgCall::Charge { memcg, pages, .. } if owner != MemcgId::ROOT => {
            let at = usize::from(memcg.0);
            ledger.held[at].folios += u64::from(pages);
            if op.flags & CACHE != 0 {
                ledger.cache[at] += u64::from(pages);
            }
        }
        MemcgCall::ChargeObject { objcg, bytes, .. } => {
            let at = usize::from(objcg.0);
            ledger.held[at].objects += 1;
            ledger.held[at].bytes += u64::from(bytes);
            ledger.objects[at].push(bytes);
        }
        MemcgCall::ChargeKernelPages { objcg, pages, .. } => {
            ledger.held[usize::from(objcg.0)].kernel_pages += u64::from(pages);
        }
        _ => {}
    }
}
