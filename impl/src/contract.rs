//! The specification's traits for handles: `&PageAllocator`, `OwnedAllocator`, `&OwnedAllocator`.

use crate::{allocator::PageAllocator, platform::Platform, storage::Backing, zone::Check};
use mmspec_model::{
    contract::{
        BatchFree, BulkAlloc, CpuCaches, CpuHotplug, DrainBegun, DrainWork, FaultInjection,
        FrameAllocator, FrameCounters, HighAtomicReserve, Isolation, KswapdReply, KswapdStep,
        MemoryFailure, Nodes, Observe, Outcome, PageAllocator as Contract, Request, SlowPath,
        SlowReply, SlowStep, StatWorker, Tuning, Watermarks, ZoneFlagControl,
    },
    vocab::{
        AllocFlags, CpuId, DrainScheme, EventCounters, Gfp, Mark, MigrateType, NodeId, NodeMask,
        NodeState, Order, PcpState, Pfn, Tunables, TunablesError, ZoneIdx, ZoneKind, ZoneState,
    },
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// The full watermark check; see [`Watermarks::watermark_ok`].
    pub fn watermark_ok(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
    ) -> bool {
        let order = order.get();
        self.is_watermark_ok(zone, &Check { order, mark, extra: 0, highest, flags })
    }

    /// The fast watermark check; see [`Watermarks::watermark_fast`].
    pub fn watermark_fast(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
        gfp: Gfp,
    ) -> bool {
        let check = Check { order: order.get(), mark, extra: 0, highest, flags };
        self.zones()[zone.index()].watermark_fast(&self.geometry.rules, &check, gfp)
    }

    /// Pages on free lists and on per-CPU lists.
    pub fn free_frames(&self) -> u64 {
        let zones = (0..self.zone_count()).map(|at| ZoneIdx(at as u8));
        zones
            .map(|zone| {
                let cached: u64 = self.cpu_ids().map(|cpu| self.pcp_state(cpu, zone).count).sum();
                let state = self.zone_state(zone);
                let listed: u64 =
                    MigrateType::ALL.into_iter().map(|of_type| state.pages_of(of_type)).sum();
                cached + listed
            })
            .sum()
    }

    /// Pages under management.
    pub fn managed_frames(&self) -> u64 {
        self.zones().iter().map(|zone| zone.info.managed).sum()
    }
}

/// Implement every trait for a handle type by the allocator's methods of the same names.
macro_rules! handle {
    ([$($generics:tt)*] $handle:ty, $backing:ty) => {
        impl<$($generics)*> FrameAllocator for $handle {
            fn allocate(&mut self, order: Order) -> Option<Pfn> {
                PageAllocator::<P, $backing>::alloc_pages(self, CpuId(0), Request::new(order, Gfp::KERNEL)).page()
            }

            fn free(&mut self, pfn: Pfn, order: Order) {
                PageAllocator::<P, $backing>::free_pages(self, CpuId(0), pfn, order);
            }
        }

        impl<$($generics)*> FrameCounters for $handle {
            fn free_frames(&self) -> u64 {
                PageAllocator::<P, $backing>::free_frames(self)
            }

            fn managed_frames(&self) -> u64 {
                PageAllocator::<P, $backing>::managed_frames(self)
            }
        }

        impl<$($generics)*> Contract for $handle {
            #[inline]
            fn alloc_pages(&mut self, cpu: CpuId, request: Request) -> Outcome {
                PageAllocator::<P, $backing>::alloc_pages(self, cpu, request)
            }

            #[inline]
            fn free_pages(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
                PageAllocator::<P, $backing>::free_pages(self, cpu, pfn, order);
            }
        }

        impl<$($generics)*> SlowPath for $handle {
            type Walk = crate::Walk;

            fn slow_begin(&mut self, cpu: CpuId, request: Request) -> crate::Walk {
                PageAllocator::<P, $backing>::slow_begin(self, cpu, request)
            }

            fn slow_step(&mut self, walk: &mut crate::Walk, reply: Option<SlowReply>) -> SlowStep {
                PageAllocator::<P, $backing>::slow_step(self, walk, reply)
            }

            fn slow_set_mems(&mut self, walk: &mut crate::Walk, mems: NodeMask) {
                PageAllocator::<P, $backing>::slow_set_mems(self, walk, mems);
            }

            fn set_reclaimable(&mut self, zone: ZoneIdx, pages: u64) {
                PageAllocator::<P, $backing>::set_reclaimable(self, zone, pages);
            }
        }

        impl<$($generics)*> Nodes for $handle {
            fn node_count(&self) -> usize {
                PageAllocator::<P, $backing>::node_count(self)
            }

            fn node_state(&self, node: NodeId) -> NodeState {
                PageAllocator::<P, $backing>::node_state(self, node)
            }

            fn kswapd_step(&mut self, node: NodeId, reply: Option<KswapdReply>) -> KswapdStep {
                PageAllocator::<P, $backing>::kswapd_step(self, node, reply)
            }

            fn for_each_zonelist(
                &self,
                node: NodeId,
                this_node: bool,
                visit: &mut dyn FnMut(ZoneIdx),
            ) {
                PageAllocator::<P, $backing>::for_each_zonelist(self, node, this_node, visit);
            }

            fn rebuild_zonelists(&mut self) {
                PageAllocator::<P, $backing>::rebuild_zonelists(self);
            }
        }

        impl<$($generics)*> BatchFree for $handle {
            fn free_batch(&mut self, cpu: CpuId, pages: &[(Pfn, Order)]) {
                PageAllocator::<P, $backing>::free_batch(self, cpu, pages);
            }
        }

        impl<$($generics)*> BulkAlloc for $handle {
            fn alloc_bulk(&mut self, cpu: CpuId, gfp: Gfp, slots: &mut [Option<Pfn>]) -> usize {
                PageAllocator::<P, $backing>::alloc_bulk(self, cpu, gfp, slots)
            }
        }

        impl<$($generics)*> CpuCaches for $handle {
            fn drain_cpu(&mut self, by: CpuId, cpu: CpuId) {
                PageAllocator::<P, $backing>::drain_cpu(self, by, cpu);
            }

            fn drain_all(&mut self, by: CpuId, zone: Option<ZoneIdx>) {
                PageAllocator::<P, $backing>::drain_all(self, by, zone);
            }

            fn pcp_disable(&mut self, by: CpuId, zone: ZoneIdx) {
                PageAllocator::<P, $backing>::pcp_disable(self, by, zone);
            }

            fn pcp_enable(&mut self, zone: ZoneIdx) {
                PageAllocator::<P, $backing>::pcp_enable(self, zone);
            }
        }

        impl<$($generics)*> DrainWork for $handle {
            fn drain_scheme(&self) -> DrainScheme {
                PageAllocator::<P, $backing>::drain_scheme(self)
            }

            fn drain_begin(&mut self, by: CpuId, zone: Option<ZoneIdx>) -> DrainBegun {
                PageAllocator::<P, $backing>::drain_begin(self, by, zone)
            }

            fn pcp_disable_begin(&mut self, by: CpuId, zone: ZoneIdx) -> DrainBegun {
                PageAllocator::<P, $backing>::pcp_disable_begin(self, by, zone)
            }

            fn run_work(&mut self, cpu: CpuId) -> bool {
                PageAllocator::<P, $backing>::run_work(self, cpu)
            }

            fn run_all_work(&mut self) {
                PageAllocator::<P, $backing>::run_all_work(self);
            }

            fn has_work(&self, cpu: CpuId) -> bool {
                PageAllocator::<P, $backing>::has_work(self, cpu)
            }

            fn drain_finished(&self) -> bool {
                PageAllocator::<P, $backing>::drain_finished(self)
            }
        }

        impl<$($generics)*> FaultInjection for $handle {
            fn fail_trylock(&mut self, cpu: CpuId, times: u32) {
                PageAllocator::<P, $backing>::fail_trylock(self, cpu, times);
            }
        }

        impl<$($generics)*> Watermarks for $handle {
            fn watermark_ok(
                &self,
                zone: ZoneIdx,
                order: Order,
                mark: Mark,
                highest: ZoneKind,
                flags: AllocFlags,
            ) -> bool {
                PageAllocator::<P, $backing>::watermark_ok(self, zone, order, mark, highest, flags)
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
                PageAllocator::<P, $backing>::watermark_fast(self, zone, order, mark, highest, flags, gfp)
            }
        }

        impl<$($generics)*> Tuning for $handle {
            fn set_tunables(&mut self, tunables: Tunables) -> Result<(), TunablesError> {
                PageAllocator::<P, $backing>::set_tunables(self, tunables)
            }
        }

        impl<$($generics)*> ZoneFlagControl for $handle {
            fn set_reclaim_active(&mut self, zone: ZoneIdx, active: bool) {
                PageAllocator::<P, $backing>::set_reclaim_active(self, zone, active);
            }
        }

        impl<$($generics)*> StatWorker for $handle {
            fn tick(&mut self, cpu: CpuId) -> bool {
                PageAllocator::<P, $backing>::tick(self, cpu)
            }
        }

        impl<$($generics)*> Isolation for $handle {
            fn isolate(&mut self, cpu: CpuId, pfn: Pfn, movable: &dyn Fn(Pfn) -> bool) -> bool {
                PageAllocator::<P, $backing>::isolate(self, cpu, pfn, movable)
            }

            fn unisolate(&mut self, cpu: CpuId, pfn: Pfn, migratetype: MigrateType) -> bool {
                PageAllocator::<P, $backing>::unisolate(self, cpu, pfn, migratetype)
            }
        }

        impl<$($generics)*> MemoryFailure for $handle {
            fn take_page_off(&mut self, cpu: CpuId, pfn: Pfn) -> bool {
                PageAllocator::<P, $backing>::take_page_off(self, cpu, pfn)
            }
        }

        impl<$($generics)*> HighAtomicReserve for $handle {
            fn unreserve_highatomic(
                &mut self,
                cpu: CpuId,
                migratetype: MigrateType,
                force: bool,
            ) -> bool {
                PageAllocator::<P, $backing>::unreserve_highatomic(self, cpu, migratetype, force)
            }
        }

        impl<$($generics)*> CpuHotplug for $handle {
            fn cpu_dead(&mut self, by: CpuId, cpu: CpuId) -> bool {
                PageAllocator::<P, $backing>::cpu_dead(self, by, cpu)
            }

            fn cpu_online(&mut self, cpu: CpuId) -> bool {
                PageAllocator::<P, $backing>::cpu_online(self, cpu)
            }

            fn is_online(&self, cpu: CpuId) -> bool {
                PageAllocator::<P, $backing>::is_online(self, cpu)
            }
        }

        impl<$($generics)*> Observe for $handle {
            fn zone_count(&self) -> usize {
                PageAllocator::<P, $backing>::zone_count(self)
            }

            fn zone_state(&self, zone: ZoneIdx) -> ZoneState {
                PageAllocator::<P, $backing>::zone_state(self, zone)
            }

            fn pcp_state(&self, cpu: CpuId, zone: ZoneIdx) -> PcpState {
                PageAllocator::<P, $backing>::pcp_state(self, cpu, zone)
            }

            fn events(&self) -> EventCounters {
                PageAllocator::<P, $backing>::events(self)
            }

            fn for_each_free(
                &self,
                zone: ZoneIdx,
                order: Order,
                migratetype: MigrateType,
                visit: &mut dyn FnMut(Pfn),
            ) {
                PageAllocator::<P, $backing>::for_each_free(self, zone, order, migratetype, visit);
            }

            fn pcp_list_count(&self) -> usize {
                PageAllocator::<P, $backing>::pcp_list_count(self)
            }

            fn for_each_cached(
                &self,
                cpu: CpuId,
                zone: ZoneIdx,
                list: usize,
                visit: &mut dyn FnMut(Pfn),
            ) {
                PageAllocator::<P, $backing>::for_each_cached(self, cpu, zone, list, visit);
            }

            fn pageblock_type(&self, pfn: Pfn) -> Option<MigrateType> {
                PageAllocator::<P, $backing>::pageblock_type(self, pfn)
            }
        }
    };
}

handle!([P: Platform, B: Backing] &PageAllocator<P, B>, B);
#[cfg(feature = "std")]
handle!([P: Platform] crate::OwnedAllocator<P>, crate::Owned);
#[cfg(feature = "std")]
handle!([P: Platform] &crate::OwnedAllocator<P>, crate::Owned);
