//! One side of a case: groups, and an embedder that charges, reclaims and kills by fixed rules.

use super::language::{CACHE, NONBLOCK, SIGNAL, Verb, task};
use crate::flat::Op;
use mmspec_model::contract::{
    ChargeTask, MemcgCall, MemcgDone, MemcgError, MemcgReply, MemcgStep, MemoryCgroups, OomOutcome,
};
use mmspec_model::laws::{MemcgHeld, MemcgPicture};
use mmspec_model::vocab::{CounterKind, CpuId, Gfp, MAX_MEMCGS, MemcgEvent, MemcgId};
use std::hash::{DefaultHasher, Hash, Hasher};

/// More steps than any call takes.
const MOST_STEPS: usize = 5_000;

/// What an operation came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Came {
    /// It does not apply: nothing was done.
    Skipped,
    /// Done; what it answered, as far as it answers.
    Said(Option<Result<u64, MemcgError>>),
    /// A call.
    Call {
        /// Which.
        call: MemcgCall,
        /// What it asked for.
        steps: Vec<MemcgStep>,
        /// Its end; `None`: it asked too often.
        done: Option<MemcgDone>,
    },
    /// Effective protection: of whom, from which root.
    Protection {
        /// Root of the reclaim.
        root: MemcgId,
        /// Of whom.
        memcg: MemcgId,
        /// emin and elow.
        effective: (u64, u64),
    },
}

/// Groups and their embedder.
#[derive(Clone, Debug)]
pub struct Bench<M> {
    /// The groups under test.
    pub groups: M,
    cpus: u16,
    /// What the embedder holds.
    pub held: Vec<MemcgHeld>,
    /// Of the folios, how many can be reclaimed.
    cache: Vec<u64>,
    /// Bytes of live objects.
    objects: Vec<Vec<u32>>,
    /// Open handles of memory.peak.
    peaks: Vec<bool>,
    /// Pages that one reclaim has at most.
    most: u64,
    killer: bool,
}

impl<M: MemoryCgroups> Bench<M> {
    /// An embedder with nothing charged.
    pub fn new(groups: M, cpus: u16) -> Self {
        Self {
            groups,
            cpus,
            held: vec![MemcgHeld::default()],
            cache: vec![0],
            objects: vec![Vec::new()],
            peaks: Vec::new(),
            most: 1000,
            killer: true,
        }
    }

    /// All that shows.
    pub fn picture(&self) -> MemcgPicture {
        MemcgPicture {
            groups: (0..self.groups.memcg_count())
                .map(|id| self.groups.memcg_state(MemcgId(id as u16)))
                .collect(),
            stocks: (0..self.cpus).map(|cpu| self.groups.stock_state(CpuId(cpu))).collect(),
        }
    }

    /// What shows, and what the embedder has, without what only grows or only tells of the past.
    pub(super) fn key(&self) -> u64 {
        let mut picture = self.picture();
        for group in &mut picture.groups {
            (group.local, group.events) = Default::default();
            for counter in [&mut group.memory, &mut group.swap] {
                (counter.watermark, counter.local_watermark, counter.failcnt) = (0, 0, 0);
            }
        }
        // Always with the same keys.
        let mut hasher = DefaultHasher::new();
        (picture, &self.held, &self.cache, &self.objects).hash(&mut hasher);
        hasher.finish()
    }

    fn held_mut(&mut self, memcg: MemcgId) -> &mut MemcgHeld {
        &mut self.held[usize::from(memcg.0)]
    }

    fn is_below(&self, memcg: MemcgId, root: MemcgId) -> bool {
        let mut at = Some(memcg);
        while let Some(group) = at {
            if group == root {
                return true;
            }
            at = self.groups.memcg_state(group).parent;
        }
        false
    }

    fn below(&self, root: MemcgId) -> Vec<MemcgId> {
        let all = (0..self.held.len()).map(|id| MemcgId(id as u16));
        all.filter(|memcg| self.is_below(*memcg, root)).collect()
    }

    /// Page cache below `root`, in the order of the groups.
    fn reclaim(&mut self, root: MemcgId, goal: u64) -> u64 {
        let mut left = goal.max(32).min(self.most);
        let mut taken = 0;
        for memcg in self.below(root) {
            let pages = self.cache[usize::from(memcg.0)].min(left);
            if pages > 0 {
                self.drop_folios(memcg, pages);
                left -= pages;
                taken += pages;
            }
        }
        taken
    }

    /// Whoever holds most below `root` lets go of all its folios.
    fn kill(&mut self, root: MemcgId) -> OomOutcome {
        let holds = |memcg: &MemcgId| self.held[usize::from(memcg.0)].folios;
        let victim = self.below(root).into_iter().max_by_key(holds);
        match victim.filter(|memcg| self.killer && holds(memcg) > 0) {
            Some(memcg) => {
                self.drop_folios(memcg, holds(&memcg));
                self.groups.raise(memcg, MemcgEvent::OomKill);
                OomOutcome::Killed
            }
            None => OomOutcome::NoVictim,
        }
    }

    fn drop_folios(&mut self, memcg: MemcgId, pages: u64) {
        self.groups.uncharge(memcg, pages as u32);
        let folios = &mut self.held_mut(memcg).folios;
        *folios -= pages;
        let left = *folios;
        let cache = &mut self.cache[usize::from(memcg.0)];
        *cache = cache.saturating_sub(pages).min(left);
    }

    fn call(&mut self, op: &Op<Verb>, call: MemcgCall) -> Came {
        let (mut running, mut step) = self.groups.begin(CpuId(op.cpu), call);
        let mut steps = Vec::new();
        while steps.len() < MOST_STEPS {
            let reply = match step {
                MemcgStep::Done(done) => {
                    self.charged(op, call, done);
                    return Came::Call { call, steps, done: Some(done) };
                }
                MemcgStep::Reclaim { memcg, goal, .. } => MemcgReply::Reclaimed {
                    pages: self.reclaim(memcg, goal),
                    signal: op.flags & SIGNAL != 0 && steps.len() >= 2,
                },
                MemcgStep::Oom { memcg, .. } => MemcgReply::Oom(self.kill(memcg)),
                MemcgStep::Sleep { .. } => MemcgReply::Slept,
            };
            steps.push(step);
            step = self.groups.go_on(&mut running, reply);
        }
        Came::Call { call, steps, done: None }
    }

    /// Note what a call charged.
    fn charged(&mut self, op: &Op<Verb>, call: MemcgCall, done: MemcgDone) {
        let MemcgDone::Charged { memcg, .. } = done else { return };
        match call {
            MemcgCall::Charge { pages, .. } if memcg != MemcgId::ROOT => {
                self.held_mut(memcg).folios += u64::from(pages);
                if op.flags & CACHE != 0 {
                    self.cache[usize::from(memcg.0)] += u64::from(pages);
                }
            }
            MemcgCall::ChargeObject { objcg, bytes, .. } => {
                let held = self.held_mut(objcg);
                held.objects += 1;
                held.bytes += u64::from(bytes);
                self.objects[usize::from(objcg.0)].push(bytes);
            }
            MemcgCall::ChargeKernelPages { objcg, pages, .. } => {
                self.held_mut(objcg).kernel_pages += u64::from(pages);
            }
            _ => {}
        }
    }

    /// Do it.
    pub fn act(&mut self, op: &Op<Verb>) -> Came {
        let memcg = MemcgId(op.id);
        if usize::from(op.id) >= self.held.len() || usize::from(op.other) >= self.held.len() {
            return Came::Skipped;
        }
        let pages = op.n.min(1 << 20) as u32;
        let held = self.held[usize::from(op.id)];
        let objects = held.objects + held.kernel_pages;
        let nonblock = op.flags & NONBLOCK != 0;
        let nested = op.flags & ChargeTask::NESTED.bits() != 0;
        match op.verb {
            Verb::Create => self.create(memcg),
            Verb::Remove => said(self.groups.offline(CpuId(op.cpu), memcg).map(|()| 0)),
            Verb::Charge if pages > 0 => self.call(op, self.charge_call(op, memcg, pages)),
            Verb::Object if pages > 0 && op.id > 0 && self.in_use(memcg, objects) => {
                let (gfp, task) = asks(op);
                let (objcg, bytes, over_high) = (memcg, pages.min(1 << 16), op.m);
                self.call(op, MemcgCall::ChargeObject { objcg, bytes, gfp, task, over_high })
            }
            Verb::Pages if pages > 0 && op.id > 0 && self.in_use(memcg, objects) => {
                let (gfp, task) = asks(op);
                let (objcg, over_high) = (memcg, op.m);
                self.call(op, MemcgCall::ChargeKernelPages { objcg, pages, gfp, task, over_high })
            }
            Verb::Max => self.call(op, MemcgCall::WriteMax { memcg, pages: op.n, nonblock }),
            Verb::High => self.call(op, MemcgCall::WriteHigh { memcg, pages: op.n, nonblock }),
            Verb::Reclaim => self.call(op, MemcgCall::Reclaim { memcg, pages: op.n }),
            Verb::OverHigh => {
                let call = MemcgCall::OverHigh { memcg, over_high: op.n, task: task(op.flags & 3) };
                self.call(op, call)
            }
            Verb::Min => said(self.groups.set_min(memcg, op.n).map(|()| 0)),
            Verb::Low => said(self.groups.set_low(memcg, op.n).map(|()| 0)),
            Verb::MaxV1 => self.max_v1(memcg, CounterKind::Memory, op.n),
            Verb::SwapMax => self.max_v1(memcg, CounterKind::Swap, op.n),
            Verb::Swap if pages > 0 => {
                let charged = self.groups.charge_swap(memcg, pages);
                if let Ok(target) = charged
                    && target != MemcgId::ROOT
                {
                    self.held_mut(target).swap += u64::from(pages);
                }
                said(charged.map(|target| u64::from(target.0)))
            }
            Verb::Uncharge
            | Verb::Refill
            | Verb::Replace
            | Verb::FreeObject
            | Verb::FreePages
            | Verb::Unswap => self.give_back(op, memcg, pages, nested),
            Verb::Protect => self.protect(memcg, MemcgId(op.other)),
            Verb::OpenPeak | Verb::ResetPeak | Verb::ReadPeak | Verb::ClosePeak => self.peak(op),
            _ => self.rest(op, memcg),
        }
    }

    /// Nobody comes upon a group that is removed and holds nothing.
    fn in_use(&self, memcg: MemcgId, held: u64) -> bool {
        held > 0 || self.groups.memcg_state(memcg).online
    }

    fn rest(&mut self, op: &Op<Verb>, memcg: MemcgId) -> Came {
        match op.verb {
            Verb::Drain => self.groups.drain_all_stock(CpuId(op.cpu), memcg),
            Verb::Work => {
                return said(Ok(u64::from(self.groups.run_stock_work(CpuId(op.cpu)))));
            }
            Verb::Dead => self.groups.stock_cpu_dead(CpuId(op.cpu)),
            Verb::Event if op.id > 0 => {
                let event = MemcgEvent::ALL[op.n as usize % MemcgEvent::COUNT];
                self.groups.raise(memcg, event);
            }
            Verb::Reclaimer => {
                self.most = op.n;
                self.killer = op.m != 0;
            }
            _ => return Came::Skipped,
        }
        Came::Said(None)
    }

    fn charge_call(&self, op: &Op<Verb>, memcg: MemcgId, pages: u32) -> MemcgCall {
        let (gfp, task) = asks(op);
        MemcgCall::Charge { memcg, pages, gfp, task, over_high: op.m }
    }

    fn create(&mut self, parent: MemcgId) -> Came {
        if self.held.len() >= MAX_MEMCGS {
            return Came::Skipped;
        }
        let created = self.groups.create(parent);
        if created.is_ok() {
            self.held.push(MemcgHeld::default());
            self.cache.push(0);
            self.objects.push(Vec::new());
        }
        said(created.map(|memcg| u64::from(memcg.0)))
    }

    fn max_v1(&mut self, memcg: MemcgId, kind: CounterKind, pages: u64) -> Came {
        said(self.groups.set_max_v1(memcg, kind, pages).map(|()| 0))
    }

    /// What is freed is held.
    fn give_back(&mut self, op: &Op<Verb>, memcg: MemcgId, pages: u32, nested: bool) -> Came {
        let cpu = CpuId(op.cpu);
        let held = self.held[usize::from(memcg.0)];
        let of = |held: u64| u64::from(pages).min(held);
        match op.verb {
            Verb::Uncharge if of(held.folios) > 0 => self.drop_folios(memcg, of(held.folios)),
            Verb::Refill if of(held.folios) > 0 => {
                let pages = of(held.folios);
                self.groups.refill(cpu, memcg, pages as u32, nested);
                self.held_mut(memcg).folios -= pages;
                let at = usize::from(memcg.0);
                self.cache[at] = self.cache[at].min(self.held[at].folios);
            }
            Verb::Replace if pages > 0 && (op.id == 0 || self.in_use(memcg, held.folios)) => {
                self.groups.charge_replacement(memcg, pages);
                // The root's are nobody's (bug M20).
                self.held_mut(memcg).folios += if op.id > 0 { u64::from(pages) } else { 0 };
            }
            Verb::FreeObject if held.objects > 0 => {
                let objects = &mut self.objects[usize::from(memcg.0)];
                let bytes = objects.swap_remove(op.n as usize % objects.len());
                self.groups.uncharge_object(cpu, memcg, bytes, nested);
                let held = self.held_mut(memcg);
                held.objects -= 1;
                held.bytes -= u64::from(bytes);
            }
            Verb::FreePages if of(held.kernel_pages) > 0 => {
                self.groups.uncharge_kernel_pages(memcg, of(held.kernel_pages) as u32);
                self.held_mut(memcg).kernel_pages -= of(held.kernel_pages);
            }
            Verb::Unswap if of(held.swap) > 0 => {
                self.groups.uncharge_swap(memcg, of(held.swap) as u32);
                self.held_mut(memcg).swap -= of(held.swap);
            }
            _ => return Came::Skipped,
        }
        Came::Said(None)
    }

    /// From the root of the reclaim down, as a reclaim asks.
    fn protect(&mut self, memcg: MemcgId, root: MemcgId) -> Came {
        if !self.is_below(memcg, root) {
            return Came::Skipped;
        }
        let mut path = vec![memcg];
        while let Some(last) = path.last().copied().filter(|last| *last != root) {
            path.extend(self.groups.memcg_state(last).parent);
        }
        let mut effective = (0, 0);
        for level in path.into_iter().rev() {
            effective = self.groups.protection(root, level);
        }
        Came::Protection { root, memcg, effective }
    }

    fn peak(&mut self, op: &Op<Verb>) -> Came {
        if op.verb == Verb::OpenPeak {
            let handle = self.groups.open_peak(MemcgId(op.id)) as usize;
            self.peaks.resize(self.peaks.len().max(handle + 1), false);
            self.peaks[handle] = true;
            return said(Ok(handle as u64));
        }
        let handle = op.n as u32;
        if self.peaks.get(op.n as usize) != Some(&true) {
            return Came::Skipped;
        }
        match op.verb {
            Verb::ResetPeak => self.groups.reset_peak(handle),
            Verb::ReadPeak => return said(Ok(self.groups.read_peak(handle))),
            _ => {
                self.groups.close_peak(handle);
                self.peaks[op.n as usize] = false;
            }
        }
        Came::Said(None)
    }
}

/// Flags and task of a charge. Who interrupts the holder of a stock never waits.
pub(super) fn asks(op: &Op<Verb>) -> (Gfp, ChargeTask) {
    let task = task(op.flags);
    let mut gfp = op.gfp;
    if task.intersects(ChargeTask::NESTED | ChargeTask::INTERRUPT) {
        gfp.remove(Gfp::DIRECT_RECLAIM);
    }
    (gfp, task)
}

const fn said(result: Result<u64, MemcgError>) -> Came {
    Came::Said(Some(result))
}
