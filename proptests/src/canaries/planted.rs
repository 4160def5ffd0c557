//! The wrapper that plants a [`Fault`] in a right allocator.

use super::Fault;
use crate::script::Script;
use mmspec_model::contract::{
    BatchFree, BulkAlloc, CpuCaches, CpuHotplug, DrainBegun, DrainWork, FaultInjection,
    HighAtomicReserve, Isolation, KswapdReply, KswapdStep, LinuxPolicy, MemoryFailure, Nodes,
    Observe, Outcome, PageAllocator, Request, SlowPath, SlowReply, SlowStep, StatWorker, Tuning,
    Watermarks, ZoneFlagControl,
};
use mmspec_model::laws::{Probe, decides_fast, decides_full};
use mmspec_model::vocab::{
    AllocFlags, CpuId, DrainScheme, EventCounters, Gfp, Mark, MigrateType, NodeId, NodeMask,
    NodeState, Order, PcpState, Pfn, Rules, Tunables, TunablesError, ZoneFlags, ZoneIdx, ZoneKind,
    ZoneState,
};

/// A right allocator with one fault.
#[derive(Clone, Debug)]
pub struct Planted<A> {
    inner: A,
    fault: Fault,
    rules: Rules,
    max_order: Order,
    /// Counts calls, so that the fault shows now and then only.
    turn: u64,
    last: Option<(Pfn, Order)>,
    allocated: u64,
}

impl<A: LinuxPolicy> Planted<A> {
    /// Plant `fault` in `inner`, which was made for `script`.
    pub fn new(inner: A, script: &Script, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            rules: script.rules,
            max_order: script.machine.max_order,
            turn: 0,
            last: None,
            allocated: 0,
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// True for `fault` at every `period`th question.
    fn now(&mut self, fault: Fault, period: u64) -> bool {
        if !self.is(fault) {
            return false;
        }
        self.turn += 1;
        self.turn.is_multiple_of(period)
    }

    /// Leave a page on the CPU's lists.
    fn leave_page(&mut self, cpu: CpuId) {
        if self.is(Fault::LeavesPage) {
            let request =
                Request::new(Order::ZERO, Gfp::KERNEL).at(Mark::Min, AllocFlags::NO_WATERMARKS);
            if let Some(pfn) = self.inner.alloc_pages(cpu, request).page() {
                self.inner.free_pages(cpu, pfn, Order::ZERO);
            }
        }
    }
}

impl<A: LinuxPolicy> PageAllocator for Planted<A> {
    fn alloc_pages(&mut self, cpu: CpuId, mut request: Request) -> Outcome {
        if self.is(Fault::ForgetsMark) && request.attempt.is_none() {
            request = request.at(Mark::Low, AllocFlags::NO_WATERMARKS);
        }
        if self.is(Fault::ForgetsNode) {
            request.node = None;
        }
        if self.is(Fault::ForgetsPolicy) {
            request.nodes = NodeMask::ALL;
        }
        if self.now(Fault::FailsEarly, 23) && request.gfp == Gfp::KERNEL {
            return Outcome::SlowPath;
        }
        if self.now(Fault::HandsOutTwice, 7)
            && let Some((pfn, order)) = self.last
            && order == request.order
        {
            return Outcome::Page(pfn);
        }
        let outcome = self.inner.alloc_pages(cpu, request);
        if let Outcome::Page(pfn) = outcome {
            self.last = Some((pfn, request.order));
            self.allocated += 1;
            if request.order > Order::ZERO && self.now(Fault::Misaligned, 5) {
                return Outcome::Page(pfn.add(1));
            }
        }
        match outcome {
            Outcome::Refused(_) if self.is(Fault::ForgetsRefusal) => Outcome::SlowPath,
            other => other,
        }
    }

    fn free_pages(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        if self.last.is_some_and(|(last, _)| last == pfn) {
            self.last = None;
        }
        if !self.now(Fault::LosesPage, 11) {
            self.inner.free_pages(cpu, pfn, order);
        }
    }
}

impl<A: LinuxPolicy> BatchFree for Planted<A> {
    fn free_batch(&mut self, cpu: CpuId, pages: &[(Pfn, Order)]) {
        self.last = None;
        if self.is(Fault::WrongBatchOrder) {
            let reversed: Vec<_> = pages.iter().rev().copied().collect();
            return self.inner.free_batch(cpu, &reversed);
        }
        self.inner.free_batch(cpu, pages);
    }
}

impl<A: LinuxPolicy> BulkAlloc for Planted<A> {
    fn alloc_bulk(&mut self, cpu: CpuId, gfp: Gfp, slots: &mut [Option<Pfn>]) -> usize {
        let filled = self.inner.alloc_bulk(cpu, gfp, slots);
        filled + usize::from(self.is(Fault::BulkMiscounts))
    }
}

impl<A: LinuxPolicy> CpuCaches for Planted<A> {
    fn drain_cpu(&mut self, by: CpuId, cpu: CpuId) {
        self.inner.drain_cpu(by, cpu);
        self.leave_page(cpu);
    }

    fn drain_all(&mut self, by: CpuId, zone: Option<ZoneIdx>) {
        self.inner.drain_all(by, zone);
        self.leave_page(by);
    }

    fn pcp_disable(&mut self, by: CpuId, zone: ZoneIdx) {
        if !self.is(Fault::IgnoresDisable) {
            self.inner.pcp_disable(by, zone);
        }
    }

    fn pcp_enable(&mut self, zone: ZoneIdx) {
        self.inner.pcp_enable(zone);
    }
}

impl<A: LinuxPolicy> DrainWork for Planted<A> {
    fn drain_scheme(&self) -> DrainScheme {
        self.inner.drain_scheme()
    }

    fn drain_begin(&mut self, by: CpuId, zone: Option<ZoneIdx>) -> DrainBegun {
        let begun = self.inner.drain_begin(by, zone);
        if self.is(Fault::DrainsAtOnce) {
            self.inner.run_all_work();
        }
        if begun == DrainBegun::Done {
            self.leave_page(by);
        }
        begun
    }

    fn pcp_disable_begin(&mut self, by: CpuId, zone: ZoneIdx) -> DrainBegun {
        if self.is(Fault::IgnoresDisable) {
            return DrainBegun::Done;
        }
        self.inner.pcp_disable_begin(by, zone)
    }

    fn run_work(&mut self, cpu: CpuId) -> bool {
        if self.is(Fault::SkipsWork) {
            return self.inner.has_work(cpu);
        }
        let worked = self.inner.run_work(cpu);
        if worked {
            self.leave_page(cpu);
        }
        worked
    }

    fn run_all_work(&mut self) {
        self.inner.run_all_work();
    }

    fn has_work(&self, cpu: CpuId) -> bool {
        self.inner.has_work(cpu)
    }

    fn drain_finished(&self) -> bool {
        self.inner.drain_finished()
    }
}

impl<A: LinuxPolicy> FaultInjection for Planted<A> {
    fn fail_trylock(&mut self, cpu: CpuId, times: u32) {
        if !self.is(Fault::IgnoresTrylock) {
            self.inner.fail_trylock(cpu, times);
        }
    }
}

impl<A: LinuxPolicy> Watermarks for Planted<A> {
    fn watermark_ok(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
    ) -> bool {
        if self.is(Fault::WatermarkOffByOne) {
            let mut state = self.inner.zone_state(zone);
            state.nr_free_pages += 1;
            let probe = Probe { zone, order, mark, highest, flags, gfp: Gfp::KERNEL };
            return decides_full(&state, &probe, &self.rules);
        }
        self.inner.watermark_ok(zone, order, mark, highest, flags)
    }

    fn watermark_fast(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
        gfp: Gfp,
    ) -> bool {
        if self.is(Fault::WatermarkOffByOne) {
            let mut state = self.inner.zone_state(zone);
            state.nr_free_pages += 1;
            let probe = Probe { zone, order, mark, highest, flags, gfp };
            return decides_fast(&state, &probe, &self.rules);
        }
        self.inner.watermark_fast(zone, order, mark, highest, flags, gfp)
    }
}

impl<A: LinuxPolicy> Tuning for Planted<A> {
    fn set_tunables(&mut self, tunables: Tunables) -> Result<(), TunablesError> {
        if self.is(Fault::DropsSysctl) {
            return tunables.validate();
        }
        self.inner.set_tunables(tunables)
    }
}

impl<A: LinuxPolicy> ZoneFlagControl for Planted<A> {
    fn set_reclaim_active(&mut self, zone: ZoneIdx, active: bool) {
        self.inner.set_reclaim_active(zone, active);
    }
}

impl<A: LinuxPolicy> StatWorker for Planted<A> {
    fn tick(&mut self, cpu: CpuId) -> bool {
        !self.is(Fault::IdleWorker) && self.inner.tick(cpu)
    }
}

impl<A: LinuxPolicy> Isolation for Planted<A> {
    fn isolate(&mut self, cpu: CpuId, pfn: Pfn, movable: &dyn Fn(Pfn) -> bool) -> bool {
        if self.is(Fault::IsolatesAnything) {
            return self.inner.isolate(cpu, pfn, &|_| true);
        }
        self.inner.isolate(cpu, pfn, movable)
    }

    fn unisolate(&mut self, cpu: CpuId, pfn: Pfn, migratetype: MigrateType) -> bool {
        self.inner.unisolate(cpu, pfn, migratetype)
    }
}

impl<A: LinuxPolicy> MemoryFailure for Planted<A> {
    fn take_page_off(&mut self, cpu: CpuId, pfn: Pfn) -> bool {
        self.inner.take_page_off(cpu, pfn)
    }
}

impl<A: LinuxPolicy> HighAtomicReserve for Planted<A> {
    fn unreserve_highatomic(&mut self, cpu: CpuId, migratetype: MigrateType, force: bool) -> bool {
        self.inner.unreserve_highatomic(cpu, migratetype, force)
    }
}

impl<A: LinuxPolicy> CpuHotplug for Planted<A> {
    fn cpu_dead(&mut self, by: CpuId, cpu: CpuId) -> bool {
        self.inner.cpu_dead(by, cpu)
    }

    fn cpu_online(&mut self, cpu: CpuId) -> bool {
        self.inner.cpu_online(cpu)
    }

    fn is_online(&self, cpu: CpuId) -> bool {
        self.inner.is_online(cpu)
    }
}

impl<A: LinuxPolicy> SlowPath for Planted<A> {
    type Walk = A::Walk;

    fn slow_begin(&mut self, cpu: CpuId, request: Request) -> Self::Walk {
        self.inner.slow_begin(cpu, request)
    }

    fn slow_step(&mut self, walk: &mut Self::Walk, reply: Option<SlowReply>) -> SlowStep {
        match self.inner.slow_step(walk, reply) {
            SlowStep::Done(Outcome::Failed) if self.is(Fault::NeverGivesUp) => {
                SlowStep::Reclaim { order: Order::ZERO }
            }
            step => step,
        }
    }

    fn slow_set_mems(&mut self, walk: &mut Self::Walk, mems: NodeMask) {
        self.inner.slow_set_mems(walk, mems);
    }

    fn set_reclaimable(&mut self, zone: ZoneIdx, pages: u64) {
        self.inner.set_reclaimable(zone, pages);
    }
}

impl<A: LinuxPolicy> Nodes for Planted<A> {
    fn node_count(&self) -> usize {
        self.inner.node_count()
    }

    fn node_state(&self, node: NodeId) -> NodeState {
        self.inner.node_state(node)
    }

    fn kswapd_step(&mut self, node: NodeId, reply: Option<KswapdReply>) -> KswapdStep {
        match self.inner.kswapd_step(node, reply) {
            KswapdStep::Asleep if self.is(Fault::NeverSleeps) => KswapdStep::Nap,
            step => step,
        }
    }

    fn for_each_zonelist(&self, node: NodeId, this_node: bool, visit: &mut dyn FnMut(ZoneIdx)) {
        self.inner.for_each_zonelist(node, this_node, visit);
    }

    fn rebuild_zonelists(&mut self) {
        self.inner.rebuild_zonelists();
    }
}

impl<A: LinuxPolicy> Observe for Planted<A> {
    fn zone_count(&self) -> usize {
        self.inner.zone_count()
    }

    fn zone_state(&self, zone: ZoneIdx) -> ZoneState {
        let mut state = self.inner.zone_state(zone);
        if self.is(Fault::MiscountsFree) && self.allocated > 20 {
            state.nr_free_pages += 1;
            state.nr_free_pages_exact += 1;
        }
        if self.is(Fault::MiscountsForeign) && self.allocated > 20 {
            state.numa.foreign += 1;
        }
        if self.is(Fault::SkipsMerge) && self.allocated > 3 && self.max_order > Order::ZERO {
            let top = self.max_order.index();
            for migratetype in MigrateType::ALL {
                let mt = migratetype.index();
                let blocks = std::mem::take(&mut state.nr_free[top][mt]);
                state.nr_free[top - 1][mt] += 2 * blocks;
            }
        }
        state
    }

    fn pcp_state(&self, cpu: CpuId, zone: ZoneIdx) -> PcpState {
        let mut state = self.inner.pcp_state(cpu, zone);
        if self.is(Fault::MiscountsDiff) && self.allocated > 5 {
            state.vm_stat_diff += 1;
        }
        state
    }

    fn events(&self) -> EventCounters {
        let mut events = self.inner.events();
        if self.is(Fault::MiscountsEvent) && self.allocated > 30 {
            events.pgalloc[ZoneKind::Normal.index()] += 1;
        }
        events
    }

    fn for_each_free(
        &self,
        zone: ZoneIdx,
        order: Order,
        migratetype: MigrateType,
        visit: &mut dyn FnMut(Pfn),
    ) {
        if self.is(Fault::WrongEnd) {
            let mut blocks = Vec::new();
            self.inner.for_each_free(zone, order, migratetype, &mut |pfn| blocks.push(pfn));
            return blocks.into_iter().rev().for_each(visit);
        }
        if self.is(Fault::SkipsMerge) && self.allocated > 3 && self.max_order > Order::ZERO {
            let half = self.max_order.pages() / 2;
            if order == self.max_order {
                return;
            }
            if order.get() + 1 == self.max_order.get() {
                self.inner.for_each_free(zone, self.max_order, migratetype, &mut |pfn| {
                    visit(pfn);
                    visit(pfn.add(half));
                });
            }
        }
        self.inner.for_each_free(zone, order, migratetype, visit);
    }

    fn pcp_list_count(&self) -> usize {
        self.inner.pcp_list_count()
    }

    fn for_each_cached(&self, cpu: CpuId, zone: ZoneIdx, list: usize, visit: &mut dyn FnMut(Pfn)) {
        self.inner.for_each_cached(cpu, zone, list, visit);
    }

    fn pageblock_type(&self, pfn: Pfn) -> Option<MigrateType> {
        self.inner.pageblock_type(pfn)
    }

    fn zone_flags(&self, zone: ZoneIdx) -> ZoneFlags {
        self.inner.zone_flags(zone)
    }
}
