//! The first state (D1 to D6).

use super::buddy::Placement;
use super::list::FreeList;
use super::pcp::{Pcp, PcpSizes};
use super::{Frame, Node, Reference, Zone, arith};
use crate::vocab::{
    CpuId, EventCounters, Machine, MigrateType, NR_ZONES, NumaCounters, Order, PcpFlags, PcpTuning,
    Pfn, Rules, Tunables, ZoneFlags, ZoneSpan,
};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

pub(super) fn boot(machine: &Machine, rules: Rules, tunables: Tunables) -> Reference {
    let zones = machine.zones.iter().map(|span| empty_zone(machine, &rules, span)).collect();
    let block_pages = machine.pageblock_order.pages();
    let first = machine.zones[0].span.start.0 / block_pages;
    let last = machine.as_ref().end().0.div_ceil(block_pages);
    let mut reference = Reference {
        machine: machine.clone(),
        rules,
        tunables,
        grouping: true,
        min_free_kbytes: 0,
        zones,
        nodes: vec![Node::default(); usize::from(machine.nodes)],
        zonelists_built: 0,
        pageblocks: vec![MigrateType::Movable; (last - first) as usize],
        online: vec![true; usize::from(machine.cpus)],
        trylock_failures: vec![0; usize::from(machine.cpus)],
        queued: vec![None; usize::from(machine.cpus)],
        events: EventCounters::default(),
        took_from: MigrateType::Movable,
        trace: None,
    };
    reference.build_zonelists();
    let managed: u64 = reference.zones.iter().map(|zone| zone.managed).sum();
    let migratetypes = if machine.cma_built { 6 } else { 5 };
    reference.free_boot_memory();
    reference.free_cma();
    reference.grouping = managed >= block_pages * migratetypes;
    reference.update_min_free_kbytes();
    reference.update_marks();
    reference.update_pcp_limits();
    reference.update_thresholds();
    reference
}

fn empty_zone(machine: &Machine, rules: &Rules, zone: &ZoneSpan) -> Zone {
    let view = machine.as_ref();
    let frames = zone.span.start.0..zone.span.end.0;
    let count = |test: &dyn Fn(Pfn) -> bool| frames.clone().filter(|&pfn| test(Pfn(pfn))).count();
    let flags = if rules.pcp_tuning == PcpTuning::Auto && machine.free_high_batch {
        PcpFlags::FREE_HIGH_BATCH
    } else {
        PcpFlags::empty()
    };
    let pcp = Pcp {
        sizes: PcpSizes { batch: 1, flags, ..PcpSizes::default() },
        lists: vec![VecDeque::new(); arith::pcp_list_count(machine.thp_order, rules)],
        ..Pcp::default()
    };
    Zone {
        node: zone.node,
        kind: zone.kind,
        span: zone.span,
        present: count(&|pfn| view.is_present(pfn)) as u64,
        managed: count(&|pfn| view.is_managed(pfn)) as u64,
        cma_pages: count(&|pfn| is_cma(machine, pfn)) as u64,
        frames: vec![Frame::Absent; zone.span.len() as usize],
        lists: core::array::from_fn(|_| core::array::from_fn(|_| FreeList::default())),
        nr_free_pages: 0,
        nr_free_cma: 0,
        nr_free_highatomic: 0,
        nr_reserved_highatomic: 0,
        nr_isolate_pageblock: 0,
        marks: [0; 4],
        boost: 0,
        lowmem_reserve: [0; NR_ZONES],
        flags: ZoneFlags::empty(),
        numa: NumaCounters::default(),
        kswapd_wakeups: 0,
        stat_threshold: 0,
        drift_mark: 0,
        nr_alloc_batch: 0,
        reclaimable: 0,
        pcp_disabled: false,
        pcps: vec![pcp; usize::from(machine.cpus)],
    }
}

fn is_cma(machine: &Machine, pfn: Pfn) -> bool {
    machine.cma.iter().any(|range| range.contains(pfn))
}

impl Reference {
    /// D1: every maximal run of managed frames outside CMA, in ascending blocks, to the tail.
    fn free_boot_memory(&mut self) {
        for z in 0..self.zones.len() {
            let span = self.zones[z].span;
            let mut run: Option<u64> = None;
            let mut runs = Vec::new();
            for pfn in span.start.0..=span.end.0 {
                let frame = Pfn(pfn);
                let given = pfn < span.end.0
                    && self.machine.as_ref().is_managed(frame)
                    && !is_cma(&self.machine, frame);
                match (given, run) {
                    (true, None) => run = Some(pfn),
                    (false, Some(start)) => {
                        runs.push((start, pfn));
                        run = None;
                    }
                    _ => {}
                }
            }
            for (start, end) in runs {
                self.free_boot_run(z, start, end);
            }
        }
    }

    fn free_boot_run(&mut self, z: usize, start: u64, end: u64) {
        let mut at = start;
        while at < end {
            let order = Order::ZERO
                .up_to(self.machine.max_order)
                .rev()
                .find(|&order| Pfn(at).is_aligned(order) && at + order.pages() <= end)
                .unwrap_or(Order::ZERO);
            self.give_to_buddy(z, Pfn(at), order);
            self.free_block(CpuId(0), z, Pfn(at), order, MigrateType::Movable, Placement::Tail);
            self.count_free(order);
            at += order.pages();
        }
    }

    /// D2.
    fn free_cma(&mut self) {
        let order = self.machine.pageblock_order;
        let mut ranges = self.machine.cma.clone();
        ranges.sort();
        for range in ranges {
            let mut at = range.start;
            while at < range.end {
                let z = self.zone_at(at).expect("validated: cma ranges lie in a zone");
                self.set_block_type(at, MigrateType::Cma);
                self.give_to_buddy(z, at, order);
                self.free_block(CpuId(0), z, at, order, MigrateType::Cma, Placement::ByRule);
                self.count_free(order);
                at = at.add(order.pages());
            }
        }
    }

    /// The frames stop being absent.
    fn give_to_buddy(&mut self, z: usize, pfn: Pfn, order: Order) {
        for offset in 0..order.pages() {
            self.zones[z].set_frame(pfn.add(offset), Frame::Tail);
        }
    }
}
