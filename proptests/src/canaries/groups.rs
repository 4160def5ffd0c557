//! Memory cgroups with one planted fault.

use crate::drive::catch;
use crate::engine::{Config, EngineReport};
use crate::flat::{self, Case};
use crate::memcg::{self, Groups, Memcg};
use crate::schedules::Fine;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_impl::platform::StdPlatform;
use mmspec_model::contract::{
    ChargeTask, MemcgCall, MemcgDone, MemcgError, MemcgReply, MemcgStep, MemoryCgroups,
};
use mmspec_model::reference::memcg::Reference;
use mmspec_model::vocab::{
    CounterKind, CpuId, Gfp, MemcgEvent, MemcgId, MemcgRules, MemcgState, StockState,
};

use super::torn::Torn;

/// What is wrong with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemcgFault {
    /// An uncharge leaves the parent's usage as it is.
    ForgetsParent,
    /// A group's pages are in two slots of a stock.
    SlotTwice,
    /// A charge that may not fail fails.
    NofailFails,
    /// What an earlier reclaim computed for the target of this one is taken for its protection.
    StaleProtection,
    /// A CPU's worker does nothing.
    IdleWorker,
    /// A charge looks whether it fits and then charges whatever came between.
    CheckThenAdd,
}

impl MemcgFault {
    /// Those that show one operation after another.
    pub const ALONE: [Self; 5] = [
        Self::ForgetsParent,
        Self::SlotTwice,
        Self::NofailFails,
        Self::StaleProtection,
        Self::IdleWorker,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ForgetsParent => "memcg-uncharge-forgets-parent",
            Self::SlotTwice => "memcg-slot-used-twice",
            Self::NofailFails => "memcg-nofail-fails",
            Self::StaleProtection => "memcg-stale-protection",
            Self::IdleWorker => "memcg-idle-worker",
            Self::CheckThenAdd => "memcg-check-then-add",
        }
    }
}

/// Groups with a fault.
#[derive(Clone, Debug)]
pub struct FaultyGroups<M> {
    inner: M,
    fault: MemcgFault,
}

impl<M: MemoryCgroups> FaultyGroups<M> {
    fn levels(&self, memcg: MemcgId) -> impl Iterator<Item = MemcgState> {
        std::iter::successors(Some(self.inner.memcg_state(memcg)), |state| {
            state.parent.map(|parent| self.inner.memcg_state(parent))
        })
    }
}

/// Methods of the groups inside.
macro_rules! inner {
    ($($name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)?;)+) => {
        $(
            fn $name(&mut self, $($arg: $type),*) $(-> $result)? {
                self.inner.$name($($arg),*)
            }
        )+
    };
}

impl<M: MemoryCgroups> MemoryCgroups for FaultyGroups<M> {
    type Running = M::Running;

    inner! {
        create(parent: MemcgId) -> Result<MemcgId, MemcgError>;
        offline(cpu: CpuId, memcg: MemcgId) -> Result<(), MemcgError>;
        go_on(running: &mut M::Running, reply: MemcgReply) -> MemcgStep;
        refill(cpu: CpuId, memcg: MemcgId, pages: u32, nested: bool);
        charge_replacement(memcg: MemcgId, pages: u32);
        uncharge_object(cpu: CpuId, objcg: MemcgId, bytes: u32, nested: bool);
        uncharge_kernel_pages(objcg: MemcgId, pages: u32);
        set_min(memcg: MemcgId, pages: u64) -> Result<(), MemcgError>;
        set_low(memcg: MemcgId, pages: u64) -> Result<(), MemcgError>;
        set_max_v1(memcg: MemcgId, kind: CounterKind, pages: u64) -> Result<(), MemcgError>;
        charge_swap(memcg: MemcgId, pages: u32) -> Result<MemcgId, MemcgError>;
        uncharge_swap(memcg: MemcgId, pages: u32);
        drain_all_stock(cpu: CpuId, root: MemcgId);
        stock_cpu_dead(cpu: CpuId);
        raise(memcg: MemcgId, event: MemcgEvent);
        open_peak(memcg: MemcgId) -> u32;
        reset_peak(handle: u32);
        close_peak(handle: u32);
    }

    fn begin(&mut self, cpu: CpuId, mut call: MemcgCall) -> (M::Running, MemcgStep) {
        if self.fault == MemcgFault::NofailFails
            && let MemcgCall::Charge { gfp, .. } = &mut call
        {
            gfp.remove(Gfp::NOFAIL);
        }
        if self.fault == MemcgFault::CheckThenAdd
            && let MemcgCall::Charge { memcg, pages, over_high, .. } = call
        {
            let fits =
                |state: MemcgState| state.memory.usage + u64::from(pages) <= state.memory.max;
            if memcg != MemcgId::ROOT && self.levels(memcg).all(fits) {
                self.inner.charge_replacement(memcg, pages);
                // A call that does nothing.
                let nothing = MemcgCall::Charge {
                    memcg: MemcgId::ROOT,
                    pages,
                    gfp: Gfp::NOWAIT,
                    task: ChargeTask::empty(),
                    over_high,
                };
                let (running, _) = self.inner.begin(cpu, nothing);
                let done = MemcgDone::Charged { memcg, over_high, high_work: None };
                return (running, MemcgStep::Done(done));
            }
        }
        self.inner.begin(cpu, call)
    }

    fn uncharge(&mut self, memcg: MemcgId, pages: u32) {
        self.inner.uncharge(memcg, pages);
        if self.fault == MemcgFault::ForgetsParent
            && let Some(parent) = self.inner.memcg_state(memcg).parent
        {
            self.inner.charge_replacement(parent, pages);
        }
    }

    fn run_stock_work(&mut self, cpu: CpuId) -> bool {
        if self.fault == MemcgFault::IdleWorker {
            return self.inner.stock_state(cpu).flushing;
        }
        self.inner.run_stock_work(cpu)
    }

    fn protection(&mut self, root: MemcgId, memcg: MemcgId) -> (u64, u64) {
        if self.fault == MemcgFault::StaleProtection && root == memcg {
            let memory = self.inner.memcg_state(memcg).memory;
            return (memory.emin, memory.elow);
        }
        self.inner.protection(root, memcg)
    }

    fn read_peak(&self, handle: u32) -> u64 {
        self.inner.read_peak(handle)
    }

    fn memcg_rules(&self) -> MemcgRules {
        self.inner.memcg_rules()
    }

    fn memcg_count(&self) -> usize {
        self.inner.memcg_count()
    }

    fn memcg_state(&self, memcg: MemcgId) -> MemcgState {
        self.inner.memcg_state(memcg)
    }

    fn stock_state(&self, cpu: CpuId) -> StockState {
        let mut state = self.inner.stock_state(cpu);
        if self.fault == MemcgFault::SlotTwice && state.slots[1].is_none() {
            state.slots[1] = state.slots[0];
        }
        state
    }
}

/// Groups whose charges check first and add then, for threads.
#[derive(Debug)]
struct ChecksFirst(OwnedMemcg<Fine>);

impl Groups for ChecksFirst {
    type Handle<'a> = FaultyGroups<&'a OwnedMemcg<Fine>>;

    fn made(case: &Case<Memcg>) -> Self {
        Self(Groups::made(case))
    }

    fn handle(&self) -> Self::Handle<'_> {
        FaultyGroups { inner: &self.0, fault: MemcgFault::CheckThenAdd }
    }
}

/// Plant every fault and look for it.
pub fn of_memcg(config: &Config<'_>, report: &mut EngineReport) {
    for fault in MemcgFault::ALONE {
        let run = catch(|| {
            flat::hunt::<Memcg>(&super::hunt(config, super::CASES), &|case, exercised| {
                let specified = Reference::new(case.rules, case.cpus);
                let cpus = usize::from(case.cpus);
                let inner = OwnedMemcg::<StdPlatform>::new(cpus, 512, 512, case.rules);
                memcg::play(case, specified, FaultyGroups { inner, fault }, exercised)
            })
        });
        if !super::fate(report, fault.name(), run) {
            return;
        }
    }
    let threads = super::hunt(config, super::SCHEDULES);
    let run = catch(|| flat::hunt_threads::<Memcg>(&threads, &memcg::explore::<ChecksFirst>));
    if !super::fate(report, MemcgFault::CheckThenAdd.name(), run) {
        return;
    }
    let run = catch(|| flat::hunt_threads::<Memcg>(&threads, &memcg::explore::<OwnedMemcg<Torn>>));
    super::fate(report, "memcg-words-in-two-steps", run);
}
