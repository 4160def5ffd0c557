//! Emptying per-CPU lists, the worker, hotplug (§2.6 to §2.8, D16, D19 to D22).

use super::Reference;
use super::buddy::Placement;
use crate::contract::{CpuCaches, CpuHotplug, FaultInjection, StatWorker, Tuning, ZoneFlagControl};
use crate::vocab::{
    CpuId, DrainLoop, FreeListType, KmemEvent, MigrateType, NodeId, PcpTuning, Tunables,
    TunablesError, ZoneFlags, ZoneIdx,
};

impl Reference {
    /// free_pcppages_bulk: free about `count` pages of `cpu`'s lists, beginning with list `start`;
    /// each list is emptied from the tail before the next one is touched (§2.6).
    pub(super) fn free_bulk(&mut self, by: CpuId, cpu: CpuId, z: usize, count: u64, start: usize) {
        let mut left = count.min(self.zones[z].pcps[cpu.index()].sizes.count) as i64;
        let mut list = start;
        while left > 0 {
            let pcp = &mut self.zones[z].pcps[cpu.index()];
            let Some(block) = pcp.lists[list].pop_back() else {
                list = (list + 1) % pcp.lists.len();
                continue;
            };
            pcp.sizes.count -= block.order.pages();
            left -= block.order.pages() as i64;
            let cached = self.rules.free_list_type == FreeListType::Cached
                && self.zones[z].nr_isolate_pageblock == 0;
            let migratetype = if cached { block.migratetype } else { self.block_type(block.pfn) };
            self.free_block(by, z, block.pfn, block.order, migratetype, Placement::ByRule);
            self.emit(|| KmemEvent::PcpuDrain { pfn: block.pfn, order: block.order, migratetype });
        }
    }

    /// drain_pages_zone (§2.7).
    pub(super) fn drain_zone_of(&mut self, by: CpuId, cpu: CpuId, z: usize) {
        while self.drain_once(by, cpu, z) {}
    }

    /// One hold of the lists' lock; whether there is another.
    pub(super) fn drain_once(&mut self, by: CpuId, cpu: CpuId, z: usize) -> bool {
        let sizes = self.zones[z].pcps[cpu.index()].sizes;
        if sizes.count == 0 {
            return false;
        }
        let most = match self.rules.drain_loop {
            DrainLoop::OneShot => sizes.count,
            DrainLoop::Bounded => sizes.count.min(sizes.drain_bound()),
        };
        self.free_bulk(by, cpu, z, most, 0);
        most < sizes.count
    }

    /// New pcp limits for every zone whose pcp is not disabled (§2.3).
    pub(super) fn update_pcp_limits(&mut self) {
        let scale_max = self.tunables.pcp_batch_scale_max;
        for z in 0..self.zones.len() {
            if !self.zones[z].pcp_disabled {
                self.update_pcp_limits_of(z);
            }
            // A constant of the build in the kernel: no limit of the lists, so never held back.
            for pcp in &mut self.zones[z].pcps {
                pcp.sizes.scale_max = scale_max;
            }
        }
    }

    pub(super) fn update_pcp_limits_of(&mut self, z: usize) {
        for cpu in (0..self.machine.cpus).map(CpuId) {
            self.open_lists(z, cpu);
        }
    }

    /// The limits that follow from the zone and the tunables, for one CPU's lists (§2.3).
    pub(super) fn open_lists(&mut self, z: usize, cpu: CpuId) {
        let cpus = self.online_cpus_of(self.zones[z].node);
        let fraction = u64::from(self.tunables.percpu_pagelist_high_fraction);
        let auto = self.rules.pcp_tuning == PcpTuning::Auto;
        let may_be_zero = self.rules.batch_may_be_zero;
        let tuning = self.rules.pcp_tuning;
        let zone = &mut self.zones[z];
        if tuning == PcpTuning::Fixed {
            // §2.2, 3.16: six batches, whatever the marks.
            let raw = super::arith::pcp_batch_fixed(zone.managed);
            let sizes = &mut zone.pcps[cpu.index()].sizes;
            sizes.batch = raw.max(1);
            (sizes.high, sizes.high_min, sizes.high_max) = (6 * raw, 6 * raw, 6 * raw);
            return;
        }
        let batch = super::arith::pcp_batch(zone.managed, may_be_zero).max(1);
        let by_low = super::arith::pcp_high(zone.marks[1] + zone.boost, cpus, batch);
        let by_fraction = |f: u64| super::arith::pcp_high(zone.managed / f, cpus, batch);
        let (low, top) = match (fraction, auto) {
            (0, true) => (by_low, by_fraction(8)),
            (0, false) => (by_low, by_low),
            (f, _) => (by_fraction(f), by_fraction(f)),
        };
        let sizes = &mut zone.pcps[cpu.index()].sizes;
        sizes.high_min = low;
        sizes.high_max = top;
        sizes.batch = batch;
        if !auto {
            sizes.high = low;
        }
    }

    /// The limits of disabled lists: everything goes straight through (§2.3).
    pub(super) fn close_lists(&mut self, z: usize, cpu: CpuId) {
        let sizes = &mut self.zones[z].pcps[cpu.index()].sizes;
        sizes.high_min = 0;
        sizes.high_max = 0;
        sizes.batch = 1;
        if self.rules.pcp_tuning != PcpTuning::Auto {
            sizes.high = 0;
        }
    }

    /// §3.8: the normal threshold of every zone, its drift mark, and the pressure threshold where
    /// kswapd is up.
    pub(super) fn update_thresholds(&mut self) {
        let cpus = self.online_cpus();
        for z in 0..self.zones.len() {
            let zone = &mut self.zones[z];
            zone.stat_threshold = super::arith::stat_threshold(zone.managed, cpus);
            let (gap, high) = (zone.marks[1] - zone.marks[0], zone.marks[2] + zone.boost);
            // Once set it is never taken back.
            if let Some(mark) = super::arith::drift_mark(high, gap, cpus, zone.stat_threshold) {
                zone.drift_mark = mark;
            }
        }
        for node in (0..self.machine.nodes).map(NodeId) {
            self.set_node_thresholds(node);
        }
    }

    /// A node's zones with a drift mark: the pressure threshold while its kswapd is up, else the
    /// normal one.
    pub(super) fn set_node_thresholds(&mut self, node: NodeId) {
        let cpus = self.online_cpus();
        let up = self.nodes[node.index()].kswapd.is_up();
        for zone in self.zones.iter_mut().filter(|zone| zone.node == node && zone.drift_mark > 0) {
            zone.stat_threshold = if up {
                super::arith::pressure_threshold(zone.marks[1] - zone.marks[0], cpus)
            } else {
                super::arith::stat_threshold(zone.managed, cpus)
            };
        }
    }

    /// The part of the worker that holds the lists' lock (§2.8); whether work is left.
    pub(super) fn age_lists(&mut self, cpu: CpuId, z: usize, folded: bool) -> bool {
        let mut work = false;
        if folded {
            self.zones[z].pcps[cpu.index()].expire = 3;
        }
        if self.rules.pcp_tuning == PcpTuning::Auto {
            let (excess, above) = self.zones[z].pcps[cpu.index()].sizes.decay();
            if excess > 0 {
                self.free_bulk(cpu, cpu, z, excess, 0);
            }
            work = excess > 0 || above;
        }
        work | self.expire_lists(cpu, z)
    }

    /// The lists of remote zones are drained when the CPU has not used them for a while (§2.8, D37);
    /// whether that leaves work.
    fn expire_lists(&mut self, cpu: CpuId, z: usize) -> bool {
        let local = self.zones[z].node == self.node_of(cpu);
        let auto = self.rules.pcp_tuning == PcpTuning::Auto;
        let pcp = &mut self.zones[z].pcps[cpu.index()];
        if pcp.expire == 0 || pcp.sizes.count == 0 {
            return false;
        }
        if local {
            pcp.expire = 0;
            return false;
        }
        pcp.expire -= 1;
        if pcp.expire > 0 {
            // Up to 6.6 the countdown did not keep the worker going (bug P21).
            return auto;
        }
        let batch = pcp.sizes.batch;
        self.free_bulk(cpu, cpu, z, batch, 0);
        true
    }

    /// Which CPU is the one and only that a local trylock may fail for: consume one failure.
    pub(super) fn trylock(&mut self, cpu: CpuId) -> bool {
        let pending = &mut self.trylock_failures[cpu.index()];
        if *pending > 0 {
            *pending -= 1;
            false
        } else {
            true
        }
    }

    /// The list type of a page that goes to a per-CPU list: HighAtomic and CMA pages are kept with
    /// the Movable ones (§1.13).
    pub(super) fn pcp_type(of: MigrateType) -> MigrateType {
        if of.is_pcp_type() { of } else { MigrateType::Movable }
    }
}

impl FaultInjection for Reference {
    fn fail_trylock(&mut self, cpu: CpuId, times: u32) {
        let pending = &mut self.trylock_failures[cpu.index()];
        *pending = pending.saturating_add(times);
    }
}

impl Tuning for Reference {
    fn set_tunables(&mut self, tunables: Tunables) -> Result<(), TunablesError> {
        tunables.validate()?;
        self.tunables = tunables;
        self.update_min_free_kbytes();
        self.update_marks();
        self.update_pcp_limits();
        Ok(())
    }
}

impl ZoneFlagControl for Reference {
    fn set_reclaim_active(&mut self, zone: ZoneIdx, active: bool) {
        self.zones[zone.index()].flags.set(ZoneFlags::RECLAIM_ACTIVE, active);
    }
}

impl StatWorker for Reference {
    fn tick(&mut self, cpu: CpuId) -> bool {
        if !self.is_up(cpu) {
            return false;
        }
        let mut work = false;
        for z in 0..self.zones.len() {
            let folded = self.fold(cpu, z);
            work |= folded | self.age_lists(cpu, z, folded);
        }
        work
    }
}

impl CpuHotplug for Reference {
    fn cpu_dead(&mut self, by: CpuId, cpu: CpuId) -> bool {
        if by == cpu || !self.is_up(by) || !self.is_up(cpu) {
            return false;
        }
        self.drain_cpu(by, cpu);
        // Whatever work was queued on it is done with that.
        self.queued[cpu.index()] = None;
        for z in 0..self.zones.len() {
            self.fold(cpu, z);
        }
        self.online[cpu.index()] = false;
        self.update_pcp_limits();
        self.update_thresholds();
        true
    }

    fn cpu_online(&mut self, cpu: CpuId) -> bool {
        if cpu.0 >= self.machine.cpus || self.is_up(cpu) {
            return false;
        }
        self.online[cpu.index()] = true;
        self.update_pcp_limits();
        self.update_thresholds();
        true
    }

    fn is_online(&self, cpu: CpuId) -> bool {
        self.is_up(cpu)
    }
}
