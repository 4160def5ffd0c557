//! The state as plain numbers and lists.

use crate::{
    allocator::PageAllocator,
    pcp::Count,
    platform::{PcpLock, Platform, Word},
    storage::Backing,
    vmstat::Item,
};
use mmspec_model::vocab::{
    CpuId, EventCounters, MigrateType, NumaCounters, Order, PcpFlags, PcpState, Pfn, ZoneIdx,
    ZoneKind, ZoneState,
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Number of populated zones.
    pub fn zone_count(&self) -> usize {
        self.nr_zones
    }

    /// The numbers of one zone.
    pub fn zone_state(&self, zone: ZoneIdx) -> ZoneState {
        let at = zone.index();
        let zone = &self.zones()[at];
        let (mut allocs, mut free_diff, mut cma_diff, mut batch_diff) = (0, 0, 0, 0);
        let (mut miss, mut foreign, mut other) = (0, 0, 0);
        for cpu in self.cpu_ids() {
            let slot = self.slot(cpu, at);
            allocs += slot.lock.lock_remote().allocs;
            free_diff += slot.diff.get(Item::Free);
            cma_diff += slot.diff.get(Item::FreeCma);
            batch_diff += slot.diff.get(Item::Batch);
            let [missed, meant, others] = slot.numa.get();
            miss += missed;
            foreign += meant;
            other += others;
        }
        let rules = &self.geometry.rules;
        let flags = zone.flags();
        zone.peek(|lists| {
            let operations = lists.allocs + allocs;
            ZoneState {
                node: zone.info.node,
                kind: zone.info.kind,
                start_pfn: self.geometry.pfn(zone.info.start).0,
                spanned: u64::from(zone.info.end - zone.info.start),
                present: zone.info.present,
                managed: zone.info.managed,
                cma_pages: zone.info.cma_pages,
                nr_free_pages: lists.now.free,
                nr_free_pages_exact: lists.now.free + free_diff,
                nr_free_cma: lists.now.rare().free_cma,
                nr_free_cma_exact: lists.now.rare().free_cma + cma_diff,
                nr_free_pages_blocks: if rules.free_pages_blocks {
                    lists.free_pages_blocks
                } else {
                    0
                },
                nr_free_highatomic: if rules.highatomic_free_only {
                    lists.now.rare().free_highatomic
                } else {
                    0
                },
                nr_reserved_highatomic: lists.now.rare().reserved_highatomic,
                nr_isolate_pageblock: lists.nr_isolate,
                nr_free: lists.nr_free(),
                marks: core::array::from_fn(|mark| zone.rare.marks[mark].load()),
                boost: lists.now.rare().boost,
                lowmem_reserve: core::array::from_fn(|kind| zone.rare.lowmem_reserve[kind].load()),
                flags,
                numa: NumaCounters {
                    hit: operations - miss,
                    miss,
                    foreign,
                    local: operations - other,
                    other,
                },
                kswapd_wakeups: zone.rare.kswapd_wakeups.load(),
                stat_threshold: lists.threshold as u64,
                nr_alloc_batch: zone.batch(),
                nr_alloc_batch_exact: zone.batch() + batch_diff,
                drift_mark: zone.rare.drift_mark.load(),
            }
        })
    }

    /// The numbers of one CPU's lists.
    pub fn pcp_state(&self, cpu: CpuId, zone: ZoneIdx) -> PcpState {
        let slot = self.slot(cpu, zone.index());
        let drain_queued = self.cpu(cpu).work.is_queued_for(zone);
        let pcp = slot.lock.lock_remote();
        let auto = self.geometry.auto_tuning;
        PcpState {
            count: pcp.count as u64,
            high: pcp.high as u64,
            high_min: pcp.limits.high_min as u64,
            high_max: pcp.limits.high_max as u64,
            batch: pcp.limits.batch as u64,
            flags: if auto { pcp.flags } else { PcpFlags::empty() },
            alloc_factor: pcp.alloc_factor,
            free_factor: if auto { 0 } else { pcp.free_factor },
            free_count: if auto { pcp.free_count as u64 } else { 0 },
            expire: pcp.expire,
            vm_stat_diff: slot.diff.get(Item::Free),
            vm_cma_diff: slot.diff.get(Item::FreeCma),
            drain_queued,
        }
    }

    /// All events, summed over CPUs.
    pub fn events(&self) -> EventCounters {
        let mut events = EventCounters::default();
        for cpu in self.cpu_ids() {
            let slot = self.cpu(cpu);
            events.zones_scanned += slot.counted(Count::ZonesScanned);
            events.batch_reads += slot.counted(Count::BatchReads);
            events.fair_resets += slot.counted(Count::FairResets);
            events.compact_stall += slot.counted(Count::CompactStall);
            events.compact_success += slot.counted(Count::CompactSuccess);
            events.compact_fail += slot.counted(Count::CompactFail);
            events.direct_throttle += slot.counted(Count::DirectThrottle);
            events.oom_kill += slot.counted(Count::OomKill);
            // No request asks for Device.
            for kind in &ZoneKind::ALL[..ZoneKind::Device.index()] {
                events.allocstall[kind.index()] += slot.counted(Count::allocstall(*kind));
            }
        }
        self.kswapd_events(&mut events);
        for (at, zone) in self.zones().iter().enumerate() {
            let (mut pgalloc, mut pgfree) = zone.peek(|lists| (lists.pgalloc, lists.pgfree));
            for cpu in self.cpu_ids() {
                let pcp = self.slot(cpu, at).lock.lock_remote();
                pgalloc += pcp.pgalloc;
                pgfree += pcp.pgfree;
            }
            events.pgalloc[zone.info.kind.index()] += pgalloc;
            events.pgfree += pgfree;
        }
        events
    }

    /// Of [`Self::events`], `zones_scanned` and `fair_resets` of one CPU: what an observer of every
    /// single request can afford to read.
    pub fn fair_work(&self, cpu: CpuId) -> [u64; 2] {
        let slot = self.cpu(cpu);
        [Count::ZonesScanned, Count::FairResets].map(|count| slot.counted(count))
    }

    /// The blocks of one free list, head first. The zone lock is held: `visit` must not call the
    /// allocator.
    pub fn for_each_free(
        &self,
        zone: ZoneIdx,
        order: Order,
        migratetype: MigrateType,
        visit: &mut dyn FnMut(Pfn),
    ) {
        self.zones()[zone.index()].peek(|lists| {
            let list = lists.list(order.get(), migratetype);
            list.blocks.for_each(self.records(), |frame| visit(self.geometry.pfn(frame)));
        });
    }

    /// Number of per-CPU lists under these rules, on this machine.
    pub fn pcp_list_count(&self) -> usize {
        self.geometry.pcp_lists()
    }

    /// The blocks of one per-CPU list, head first. Its lock is held: `visit` must not call the
    /// allocator.
    pub fn for_each_cached(
        &self,
        cpu: CpuId,
        zone: ZoneIdx,
        list: usize,
        visit: &mut dyn FnMut(Pfn),
    ) {
        let pcp = self.slot(cpu, zone.index()).lock.lock_remote();
        let visit = |frame| visit(self.geometry.pfn(frame));
        pcp.lists[list].for_each(self.records(), visit);
    }

    /// The type of the pageblock that holds `pfn`; `None` outside all zones.
    pub fn pageblock_type(&self, pfn: Pfn) -> Option<MigrateType> {
        self.zone_of(pfn)?;
        Some(self.tables().block_type(self.geometry.index(pfn)))
    }
}
