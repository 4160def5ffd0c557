//! What can be seen of the reference.

use super::{Reference, arith};
use crate::contract::Observe;
use crate::vocab::{
    CpuId, EventCounters, MigrateType, NR_MIGRATETYPES, NR_PAGE_ORDERS, Order, PcpState, Pfn,
    ZoneIdx, ZoneState,
};

impl Observe for Reference {
    fn zone_count(&self) -> usize {
        self.zones.len()
    }

    fn zone_state(&self, zone: ZoneIdx) -> ZoneState {
        let z = &self.zones[zone.index()];
        let mut nr_free = [[0; NR_MIGRATETYPES]; NR_PAGE_ORDERS];
        for (order, lists) in z.lists.iter().enumerate() {
            for (mt, list) in lists.iter().enumerate() {
                nr_free[order][mt] = list.len() as u64;
            }
        }
        let blocks = self.machine.pageblock_order.index()..NR_PAGE_ORDERS;
        let in_blocks = blocks
            .map(|order| {
                let listed: u64 = nr_free[order][..MigrateType::Isolate.index()].iter().sum();
                (listed << order) as i64
            })
            .sum();
        let diffs = z.pcps.iter().map(|pcp| pcp.vm_stat_diff).sum::<i64>();
        let cma_diffs = z.pcps.iter().map(|pcp| pcp.vm_cma_diff).sum::<i64>();
        let batch_diffs = z.pcps.iter().map(|pcp| pcp.vm_batch_diff).sum::<i64>();
        ZoneState {
            node: z.node,
            kind: z.kind,
            start_pfn: z.span.start.0,
            spanned: z.span.len(),
            present: z.present,
            managed: z.managed,
            cma_pages: z.cma_pages,
            nr_free_pages: z.nr_free_pages,
            nr_free_pages_exact: z.nr_free_pages + diffs,
            nr_free_cma: z.nr_free_cma,
            nr_free_cma_exact: z.nr_free_cma + cma_diffs,
            nr_free_pages_blocks: if self.rules.free_pages_blocks { in_blocks } else { 0 },
            nr_free_highatomic: z.nr_free_highatomic.max(0) as u64,
            nr_reserved_highatomic: z.nr_reserved_highatomic,
            nr_isolate_pageblock: z.nr_isolate_pageblock,
            nr_free,
            marks: z.marks,
            boost: z.boost,
            lowmem_reserve: z.lowmem_reserve,
            flags: z.flags,
            numa: z.numa,
            kswapd_wakeups: z.kswapd_wakeups,
            stat_threshold: z.stat_threshold,
            nr_alloc_batch: z.nr_alloc_batch,
            nr_alloc_batch_exact: z.nr_alloc_batch + batch_diffs,
            drift_mark: z.drift_mark,
        }
    }

    fn pcp_state(&self, cpu: CpuId, zone: ZoneIdx) -> PcpState {
        let pcp = &self.zones[zone.index()].pcps[cpu.index()];
        let sizes = &pcp.sizes;
        PcpState {
            count: sizes.count,
            high: sizes.high,
            high_min: sizes.high_min,
            high_max: sizes.high_max,
            batch: sizes.batch,
            flags: sizes.flags,
            alloc_factor: sizes.alloc_factor,
            free_factor: sizes.free_factor,
            free_count: sizes.free_count,
            expire: pcp.expire,
            vm_stat_diff: pcp.vm_stat_diff,
            vm_cma_diff: pcp.vm_cma_diff,
            drain_queued: self.queued[cpu.index()].is_some_and(|item| item.covers(zone)),
        }
    }

    fn events(&self) -> EventCounters {
        self.events
    }

    fn for_each_free(
        &self,
        zone: ZoneIdx,
        order: Order,
        migratetype: MigrateType,
        visit: &mut dyn FnMut(Pfn),
    ) {
        self.zones[zone.index()].lists[order.index()][migratetype.index()].iter().for_each(visit);
    }

    fn pcp_list_count(&self) -> usize {
        arith::pcp_list_count(self.machine.thp_order, &self.rules)
    }

    fn for_each_cached(&self, cpu: CpuId, zone: ZoneIdx, list: usize, visit: &mut dyn FnMut(Pfn)) {
        let pcp = &self.zones[zone.index()].pcps[cpu.index()];
        pcp.lists[list].iter().for_each(|block| visit(block.pfn));
    }

    fn pageblock_type(&self, pfn: Pfn) -> Option<MigrateType> {
        self.zone_at(pfn).map(|_| self.block_type(pfn))
    }
}
