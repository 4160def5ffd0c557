//! try_charge, step by step (memcg-slub.md §2.3; the loops of 2014: §2.14).

use super::{Reference, high::High};
use crate::contract::{ChargeTask, MemcgDone, MemcgReply, MemcgStep, OomOutcome};
use crate::vocab::{ChargeReclaim, CounterKind, CpuId, Gfp, MemcgEvent, MemcgId};
use std::boxed::Box;

/// Pages that a reclaim is asked for at least (SWAP_CLUSTER_MAX).
pub(super) const CLUSTER: u64 = 32;
/// 2^PAGE_ALLOC_COSTLY_ORDER: the largest request that is retried while reclaim makes progress.
const COSTLY: u64 = 8;
/// Rounds of reclaim in one step of the loop of 2014.
const ROUNDS_2014: u32 = 100;

/// What a charge is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Purpose {
    /// A folio.
    Folio,
    /// An object of so many bytes.
    Object { objcg: MemcgId, bytes: u32 },
    /// Whole kernel pages.
    Kernel { objcg: MemcgId },
}

/// Where the charge waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum At {
    Reclaim,
    Oom,
}

/// What comes next of a charge.
pub(super) enum Next {
    /// It asks, or has ended.
    Step(MemcgStep),
    /// It was made, and ends with the handler of memory.high.
    High(Box<High>),
}

/// A charge in progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Charge {
    pub cpu: CpuId,
    pub memcg: MemcgId,
    pub pages: u32,
    pub gfp: Gfp,
    pub task: ChargeTask,
    pub over_high: u64,
    pub purpose: Purpose,
    batch: u32,
    retries: u32,
    drained: bool,
    passed_oom: bool,
    raised: bool,
    over: MemcgId,
    at: At,
    /// Of the loop of 2014: rounds made, and pages that they reclaimed.
    rounds: u32,
    reclaimed: u64,
}

impl Charge {
    pub(super) fn new(
        rules: &crate::vocab::MemcgRules,
        cpu: CpuId,
        (memcg, pages): (MemcgId, u32),
        (gfp, task, over_high): (Gfp, ChargeTask, u64),
        purpose: Purpose,
    ) -> Self {
        Self {
            cpu,
            memcg,
            pages,
            gfp,
            task,
            over_high,
            purpose,
            batch: pages.max(rules.batch),
            retries: rules.retries,
            drained: false,
            passed_oom: false,
            raised: false,
            over: memcg,
            at: At::Reclaim,
            rounds: 0,
            reclaimed: 0,
        }
    }

    fn nested(&self) -> bool {
        self.task.contains(ChargeTask::NESTED)
    }

    fn dying(&self) -> bool {
        self.task.contains(ChargeTask::DYING)
    }

    fn waits(&self) -> bool {
        self.gfp.contains(Gfp::DIRECT_RECLAIM)
    }

    /// The smallest order whose block holds the pages.
    fn order(&self) -> u8 {
        self.pages.next_power_of_two().trailing_zeros() as u8
    }
}

impl Reference {
    /// Steps 1 to 9: until the charge is made, refused, or has to wait.
    pub(super) fn charge_on(&mut self, charge: &mut Charge) -> Next {
        if charge.memcg == MemcgId::ROOT {
            return self.charged(charge, MemcgId::ROOT);
        }
        let today = self.rules.reclaim == ChargeReclaim::WholeRequest;
        loop {
            if self.consume(charge.cpu, charge.memcg, charge.pages, charge.nested()) {
                return self.charged(charge, charge.memcg);
            }
            if today && !charge.gfp.intersects(Gfp::RECLAIM) {
                charge.batch = charge.pages;
            }
            let batch = u64::from(charge.batch);
            let Err(over) = self.tree.try_charge(CounterKind::Memory, charge.memcg, batch) else {
                return self.done(charge);
            };
            charge.over = over;
            if charge.batch == charge.pages {
                break;
            }
            charge.batch = charge.pages;
        }
        if today && charge.task.contains(ChargeTask::MEMALLOC) {
            return self.force(charge);
        }
        // In 2014 the dying went to the root here (§2.14).
        if self.may_bypass(charge) && charge.dying() {
            return self.bypass(charge);
        }
        if !charge.waits() {
            return self.no_memory(charge);
        }
        self.raise_event(charge.over, MemcgEvent::Max);
        charge.raised = true;
        charge.rounds = 0;
        charge.reclaimed = 0;
        Next::Step(self.ask_reclaim(charge))
    }

    /// Step 9, or one round of the loop of 2014.
    fn ask_reclaim(&mut self, charge: &mut Charge) -> MemcgStep {
        charge.at = At::Reclaim;
        let goal = if self.rules.reclaim == ChargeReclaim::UntilOnePage {
            if charge.rounds > 0 {
                self.drain_stocks(charge.cpu, charge.over);
            }
            charge.rounds += 1;
            CLUSTER
        } else {
            u64::from(charge.pages).max(CLUSTER)
        };
        MemcgStep::Reclaim { memcg: charge.over, goal, may_swap: true }
    }

    /// An answer came.
    pub(super) fn charge_reply(&mut self, charge: &mut Charge, reply: MemcgReply) -> Next {
        match charge.at {
            At::Reclaim => {
                let (pages, signal) = match reply {
                    MemcgReply::Reclaimed { pages, signal } => (pages, signal),
                    _ => (0, false),
                };
                charge.task.set(ChargeTask::DYING, signal || charge.dying());
                self.reclaimed(charge, pages)
            }
            At::Oom => match reply {
                MemcgReply::Oom(OomOutcome::Killed) => self.after_oom(charge),
                _ => self.no_memory(charge),
            },
        }
    }

    /// Steps 10 to 17.
    fn reclaimed(&mut self, charge: &mut Charge, pages: u64) -> Next {
        charge.reclaimed += pages;
        let need = u64::from(charge.pages);
        let margin = self.tree.margin(charge.over);
        if self.rules.reclaim == ChargeReclaim::UntilOnePage {
            let fruitless = charge.reclaimed == 0 && charge.rounds >= 2;
            if margin == 0 && !fruitless && charge.rounds < ROUNDS_2014 {
                return Next::Step(self.ask_reclaim(charge));
            }
        }
        if margin >= need {
            return self.charge_on(charge);
        }
        if !charge.drained && self.rules.reclaim != ChargeReclaim::UntilOnePage {
            self.drain_stocks(charge.cpu, charge.over);
            charge.drained = true;
            return self.charge_on(charge);
        }
        if charge.gfp.contains(Gfp::NORETRY) {
            return self.no_memory(charge);
        }
        if charge.reclaimed > 0 && need <= COSTLY {
            return self.charge_on(charge);
        }
        if charge.retries > 0 {
            charge.retries -= 1;
            return self.charge_on(charge);
        }
        if self.may_bypass(charge) && (charge.gfp.contains(Gfp::NOFAIL) || charge.dying()) {
            return self.bypass(charge);
        }
        let today = self.rules.reclaim == ChargeReclaim::WholeRequest;
        let gives_up =
            charge.gfp.contains(Gfp::RETRY_MAYFAIL) || (charge.passed_oom && charge.dying());
        if today && gives_up {
            return self.no_memory(charge);
        }
        let order = charge.order();
        if order > 3 {
            return self.no_memory(charge);
        }
        self.raise_event(charge.over, MemcgEvent::Oom);
        if self.tree.margin(charge.over) >= 1 << order {
            return self.after_oom(charge);
        }
        charge.at = At::Oom;
        Next::Step(MemcgStep::Oom { memcg: charge.over, order })
    }

    /// In 2014 the kill came later, and the charge failed (§2.14).
    fn after_oom(&mut self, charge: &mut Charge) -> Next {
        if self.rules.reclaim != ChargeReclaim::WholeRequest {
            return self.no_memory(charge);
        }
        charge.passed_oom = true;
        charge.retries = self.rules.retries;
        self.charge_on(charge)
    }

    /// Step 18.
    fn no_memory(&mut self, charge: &mut Charge) -> Next {
        let high = self.rules.high_may_exceed && charge.gfp.contains(Gfp::HIGH);
        if high || charge.gfp.contains(Gfp::NOFAIL) {
            return if self.may_bypass(charge) { self.bypass(charge) } else { self.force(charge) };
        }
        Next::Step(MemcgStep::Done(MemcgDone::NoMemory { over_high: charge.over_high }))
    }

    /// Step 19.
    fn force(&mut self, charge: &mut Charge) -> Next {
        if !charge.raised && self.rules.forced_raises_max {
            self.raise_event(charge.over, MemcgEvent::Max);
        }
        let pages = u64::from(charge.pages);
        self.tree.charge_forced(CounterKind::Memory, charge.memcg, pages);
        self.charged(charge, charge.memcg)
    }

    /// Objects cannot: their pages are somebody's.
    fn may_bypass(&self, charge: &Charge) -> bool {
        self.rules.bypass_to_root && charge.purpose == Purpose::Folio
    }

    /// Until 3.19 or so: the root takes it, that is, nobody.
    fn bypass(&mut self, charge: &Charge) -> Next {
        self.charged(charge, MemcgId::ROOT)
    }

    /// Step 20.
    fn done(&mut self, charge: &mut Charge) -> Next {
        if charge.batch > charge.pages {
            let rest = charge.batch - charge.pages;
            self.refill_stock(charge.cpu, charge.memcg, rest, charge.nested());
        }
        let over = |level: &MemcgId| {
            let counter = &self.tree.group(*level).memory;
            counter.used() > counter.high
        };
        let high = self.tree.levels(charge.memcg).into_iter().find(over);
        if let Some(level) = high
            && charge.task.contains(ChargeTask::INTERRUPT)
        {
            return self.charged_with(charge, charge.memcg, Some(level));
        }
        if high.is_some() {
            charge.over_high += u64::from(charge.batch);
        }
        // Whatever this charge met: what has piled up is dealt with.
        if self.rules.high_in_charge
            && charge.over_high > u64::from(self.rules.batch)
            && !charge.task.contains(ChargeTask::MEMALLOC)
            && charge.waits()
        {
            return Next::High(Box::new(High::in_charge(charge, self.rules.retries)));
        }
        self.charged(charge, charge.memcg)
    }

    /// The charge is made: what it was for.
    fn charged(&mut self, charge: &Charge, memcg: MemcgId) -> Next {
        self.charged_with(charge, memcg, None)
    }

    fn charged_with(
        &mut self,
        charge: &Charge,
        memcg: MemcgId,
        high_work: Option<MemcgId>,
    ) -> Next {
        self.account(charge, memcg);
        let over_high = charge.over_high;
        Next::Step(MemcgStep::Done(MemcgDone::Charged { memcg, over_high, high_work }))
    }

    /// After try_charge, the handler of memory.high in it included (§2.9).
    pub(super) fn account(&mut self, charge: &Charge, memcg: MemcgId) {
        let pages = charge.pages;
        match charge.purpose {
            Purpose::Folio if memcg == MemcgId::ROOT => {}
            Purpose::Folio => self.hold(memcg, u64::from(pages)),
            Purpose::Kernel { objcg } => {
                self.tree.group_mut(memcg).kernel += i64::from(pages);
                self.hold_objcg(objcg, u64::from(pages));
            }
            Purpose::Object { objcg, bytes } => {
                self.tree.group_mut(memcg).kernel += i64::from(pages);
                self.hold_objcg(objcg, 1);
                let rest = pages * super::objects::PAGE - bytes;
                self.refill_bytes(charge.cpu, objcg, rest, false, charge.nested());
            }
        }
    }
}
