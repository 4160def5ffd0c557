//! try_charge: today's twenty steps (memcg-slub.md §2.3). What differs in 2014 is in `until`.

use super::{
    Memcg, PAGE_SIZE,
    high::Handler,
    page_counter::Counter,
    running::{Go, ask_reclaim, killed, reclaimed},
};
use crate::{
    platform::{Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::{ChargeTask, MemcgCall, MemcgDone, MemcgReply, MemcgStep},
    vocab::{ChargeReclaim, CounterKind, CpuId, Gfp, MemcgEvent, MemcgId},
};

/// Requests of more pages are costly (`1 << PAGE_ALLOC_COSTLY_ORDER`): reclaim's progress alone does not send
/// them round again, and nobody is killed for them.
const COSTLY_PAGES: u32 = 8;
/// The least that a reclaim is asked for (SWAP_CLUSTER_MAX, §2.3, 9).
const SWAP_CLUSTER_MAX: u32 = 32;

/// What is charged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Purpose {
    Folio,
    Object { objcg: MemcgId, bytes: u32 },
    KernelPages { objcg: MemcgId },
}

/// A charge in progress.
#[derive(Clone, Debug)]
pub(super) struct Charge {
    purpose: Purpose,
    pub(super) cpu: CpuId,
    /// Whom: of an objcg, where it pointed when the charge began.
    memcg: MemcgId,
    pub(super) pages: u32,
    pub(super) gfp: Gfp,
    pub(super) task: ChargeTask,
    over_high: u64,
    /// Pages to charge in one go: a batch, or just those wanted.
    batch: u32,
    pub(super) retries: u32,
    pub(super) drained: bool,
    passed_oom: bool,
    raised: bool,
    /// The level that stopped the last attempt.
    pub(super) over: MemcgId,
    /// Pages that the last reclaim freed, or with rounds all of them.
    pub(super) reclaimed: u64,
    /// Rounds of reclaim ([`ChargeReclaim::UntilOnePage`]).
    pub(super) rounds: u32,
    pub(super) at: At,
}

/// Where a charge stands: what comes when the next reply is there.
#[derive(Clone, Debug)]
pub(super) enum At {
    /// Step 1.
    Retry,
    /// Step 9 was asked for.
    Reclaimed,
    /// Step 17 was asked for.
    Killed,
    /// Charged; the handler of memory.high runs.
    High(Handler),
}

impl Charge {
    pub(super) fn nested(&self) -> bool {
        self.task.contains(ChargeTask::NESTED)
    }

    pub(super) fn is_dying(&self) -> bool {
        self.task.contains(ChargeTask::DYING)
    }

    pub(super) fn is_of_folio(&self) -> bool {
        self.purpose == Purpose::Folio
    }

    pub(super) fn is_costly(&self) -> bool {
        self.pages > COSTLY_PAGES
    }

    fn may_block(&self) -> bool {
        self.gfp.contains(Gfp::DIRECT_RECLAIM)
    }

    /// get_order of the size.
    fn order(&self) -> u8 {
        self.pages.next_power_of_two().trailing_zeros() as u8
    }

    pub(super) fn no_memory(&self) -> Go {
        Go::End(MemcgDone::NoMemory { over_high: self.over_high })
    }

    pub(super) fn charged_to(&self, memcg: MemcgId) -> Go {
        Go::End(MemcgDone::Charged { memcg, over_high: self.over_high, high_work: None })
    }
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// The charge that `call` asks for, or how it ended already.
    pub(super) fn start_charge(&self, cpu: CpuId, call: MemcgCall) -> Result<Charge, MemcgDone> {
        let (purpose, pages, gfp, task, over_high) = match call {
            MemcgCall::Charge { memcg, pages, gfp, task, over_high } => {
                return match self.online(memcg) {
                    None => Err(MemcgDone::NoGroup),
                    Some(_) if memcg == MemcgId::ROOT || pages == 0 => {
                        Err(MemcgDone::Charged { memcg, over_high, high_work: None })
                    }
                    Some(_) => Ok(self.charge_of(
                        cpu,
                        Purpose::Folio,
                        memcg,
                        pages,
                        (gfp, task, over_high),
                    )),
                };
            }
            MemcgCall::ChargeObject { objcg, bytes, gfp, task, over_high } => {
                let pages = bytes.div_ceil(PAGE_SIZE);
                (Purpose::Object { objcg, bytes }, pages, gfp, task, over_high)
            }
            MemcgCall::ChargeKernelPages { objcg, pages, gfp, task, over_high } => {
                (Purpose::KernelPages { objcg }, pages, gfp, task, over_high)
            }
            _ => return Err(MemcgDone::NoGroup),
        };
        let (Purpose::Object { objcg, .. } | Purpose::KernelPages { objcg }) = purpose else {
            return Err(MemcgDone::NoGroup);
        };
        // Read once: that the objcg moves to the root after it must not charge the root (bug M19).
        let memcg = self.group(objcg).ok_or(MemcgDone::NoGroup)?.objcg_owner();
        let charged = MemcgDone::Charged { memcg, over_high, high_work: None };
        if objcg == MemcgId::ROOT || pages == 0 {
            return Err(charged);
        }
        let nested = task.contains(ChargeTask::NESTED);
        if let Purpose::Object { bytes, .. } = purpose
            && self.consume_bytes(cpu, objcg, bytes, nested)
        {
            return Err(charged);
        }
        let charge = self.charge_of(cpu, purpose, memcg, pages, (gfp, task, over_high));
        if memcg == MemcgId::ROOT {
            // Reparented to the root: the stat alone, and for the whole pages that an object takes.
            self.book(&charge);
            return Err(charged);
        }
        Ok(charge)
    }

    fn charge_of(
        &self,
        cpu: CpuId,
        purpose: Purpose,
        memcg: MemcgId,
        pages: u32,
        (gfp, task, over_high): (Gfp, ChargeTask, u64),
    ) -> Charge {
        Charge {
            purpose,
            cpu,
            memcg,
            pages,
            gfp,
            task,
            over_high,
            batch: pages.max(self.rules.batch),
            retries: self.rules.retries,
            drained: false,
            passed_oom: false,
            raised: false,
            over: memcg,
            reclaimed: 0,
            rounds: 0,
            at: At::Retry,
        }
    }

    /// One part.
    pub(super) fn charge_part(&self, charge: &mut Charge, reply: Option<MemcgReply>) -> Go {
        match &mut charge.at {
            At::Retry => self.attempt(charge),
            At::Reclaimed => {
                let (pages, signal) = reply.map_or((0, false), reclaimed);
                if signal {
                    charge.task |= ChargeTask::DYING;
                }
                match self.rules.reclaim {
                    ChargeReclaim::UntilOnePage => self.round_done(charge, pages),
                    ChargeReclaim::WholeRequest2014 | ChargeReclaim::WholeRequest => {
                        charge.reclaimed = pages;
                        self.after_reclaim(charge)
                    }
                }
            }
            At::Killed => {
                if self.is_of_2014() || !reply.is_some_and(killed) {
                    return self.nomem(charge);
                }
                self.passed_oom(charge)
            }
            At::High(handler) => match self.high_part(handler, reply) {
                Go::End(_) => {
                    self.book(charge);
                    charge.charged_to(charge.memcg)
                }
                go => go,
            },
        }
    }

    /// Steps 1 to 8, and the question of step 9.
    fn attempt(&self, charge: &mut Charge) -> Go {
        let (memcg, pages) = (charge.memcg, charge.pages);
        if self.consume(charge.cpu, memcg, pages, charge.nested()) {
            if !charge.is_of_folio() {
                // The pages leave the stock, and an object or the like counts in their place.
                self.change_refs(memcg, -i64::from(pages));
            }
            self.book(charge);
            return charge.charged_to(memcg);
        }
        if !self.is_of_2014() && !charge.gfp.intersects(Gfp::RECLAIM) {
            charge.batch = pages;
        }
        match self.try_charge_counter(memcg, CounterKind::Memory, charge.batch) {
            Ok(()) => return self.charged(charge),
            Err(over) => charge.over = over,
        }
        if charge.batch > pages {
            charge.batch = pages;
            return Go::On;
        }
        if let Some(go) = self.before_reclaim_2014(charge) {
            return go;
        }
        if !self.is_of_2014() && charge.task.contains(ChargeTask::MEMALLOC) {
            return self.force(charge);
        }
        if !charge.may_block() {
            return self.nomem(charge);
        }
        self.raise(charge.over, MemcgEvent::Max);
        charge.raised = true;
        charge.at = At::Reclaimed;
        self.begin_rounds(charge).unwrap_or_else(|| {
            ask_reclaim(charge.over, u64::from(charge.pages.max(SWAP_CLUSTER_MAX)))
        })
    }

    /// Steps 10 to 17.
    pub(super) fn after_reclaim(&self, charge: &mut Charge) -> Go {
        charge.at = At::Retry;
        if self.margin(charge.over) >= u64::from(charge.pages) {
            return Go::On;
        }
        if !charge.drained && self.rules.reclaim != ChargeReclaim::UntilOnePage {
            self.drain_all_stock(charge.cpu, charge.over);
            charge.drained = true;
            return Go::On;
        }
        if charge.gfp.contains(Gfp::NORETRY) {
            return self.nomem(charge);
        }
        if charge.reclaimed > 0 && !charge.is_costly() {
            return Go::On;
        }
        if charge.retries > 0 {
            charge.retries -= 1;
            return Go::On;
        }
        if let Some(go) = self.before_oom_2014(charge) {
            return go;
        }
        if !self.is_of_2014() {
            let gives_up = charge.gfp.contains(Gfp::RETRY_MAYFAIL);
            if gives_up || (charge.passed_oom && charge.is_dying()) {
                return self.nomem(charge);
            }
        }
        self.oom(charge)
    }

    /// Step 17.
    fn oom(&self, charge: &mut Charge) -> Go {
        if charge.is_costly() {
            return self.nomem(charge);
        }
        let (memcg, order) = (charge.over, charge.order());
        self.raise(memcg, MemcgEvent::Oom);
        if self.margin(memcg) >= 1 << order {
            return if self.is_of_2014() { self.nomem(charge) } else { self.passed_oom(charge) };
        }
        charge.at = At::Killed;
        Go::Ask(MemcgStep::Oom { memcg, order })
    }

    fn passed_oom(&self, charge: &mut Charge) -> Go {
        charge.passed_oom = true;
        charge.retries = self.rules.retries;
        charge.at = At::Retry;
        Go::On
    }

    /// Step 18.
    pub(super) fn nomem(&self, charge: &mut Charge) -> Go {
        let must = if self.rules.high_may_exceed { Gfp::NOFAIL | Gfp::HIGH } else { Gfp::NOFAIL };
        if !charge.gfp.intersects(must) {
            return charge.no_memory();
        }
        self.bypass(charge).unwrap_or_else(|| self.force(charge))
    }

    /// Step 19.
    fn force(&self, charge: &mut Charge) -> Go {
        if !charge.raised && self.rules.forced_raises_max {
            self.raise(charge.over, MemcgEvent::Max);
        }
        if charge.is_of_folio() {
            self.change_refs(charge.memcg, i64::from(charge.pages));
        }
        self.charge_counter(charge.memcg, CounterKind::Memory, charge.pages);
        self.book(charge);
        charge.charged_to(charge.memcg)
    }

    /// Step 20.
    fn charged(&self, charge: &mut Charge) -> Go {
        let (memcg, rest) = (charge.memcg, charge.batch - charge.pages);
        let counted = if charge.is_of_folio() { charge.batch } else { rest };
        if counted > 0 {
            self.change_refs(memcg, i64::from(counted));
        }
        self.refill_stock(charge.cpu, memcg, rest, charge.nested());
        let is_over = |counter: &Counter<P>| counter.read() > counter.set.high.load();
        let interrupt = charge.task.contains(ChargeTask::INTERRUPT);
        let mut high_work = None;
        for (level, slot) in self.below_root(memcg) {
            if is_over(&slot.memory) {
                if interrupt {
                    high_work = Some(level);
                    break;
                }
            } else if interrupt || !is_over(&slot.swap) {
                continue;
            }
            charge.over_high = charge.over_high.saturating_add(u64::from(charge.batch));
            break;
        }
        let much = charge.over_high > u64::from(self.rules.batch);
        let may_wait = charge.may_block() && !charge.task.contains(ChargeTask::MEMALLOC);
        if self.rules.high_in_charge && much && may_wait {
            let due = core::mem::take(&mut charge.over_high);
            let dying = charge.is_dying();
            charge.at = At::High(Handler::new(memcg, due, self.rules.retries, dying));
            return Go::On;
        }
        // Bytes come to their stock after all that: they may push pages out, which the limit counted still.
        self.book(charge);
        Go::End(MemcgDone::Charged { memcg, over_high: charge.over_high, high_work })
    }

    /// The pages are charged: what an objcg keeps of it.
    fn book(&self, charge: &Charge) {
        match charge.purpose {
            Purpose::Folio => {}
            Purpose::Object { objcg, bytes } => {
                self.add_kernel(charge.memcg, i64::from(charge.pages));
                // Of the last page.
                let rest = bytes.wrapping_neg() % PAGE_SIZE;
                self.object_charged(charge.cpu, objcg, rest, charge.nested());
            }
            Purpose::KernelPages { objcg } => {
                self.add_kernel(charge.memcg, i64::from(charge.pages));
                self.change_objcg_refs(objcg, i64::from(charge.pages));
            }
        }
    }

    /// mem_cgroup_margin, pages.
    pub(super) fn margin(&self, memcg: MemcgId) -> u64 {
        let Some(slot) = self.group(memcg) else { return 0 };
        let usage = slot.memory.read();
        slot.memory.set.max.load().saturating_sub(usage)
    }
}
