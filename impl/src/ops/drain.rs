//! Draining per-CPU lists, and switching them off (page_alloc.md §2.7, §2.3).

use crate::{
    allocator::PageAllocator,
    pcp::Pcp,
    platform::{Lock, PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::DrainBegun,
    vocab::{CpuId, DrainScheme, ZoneIdx},
};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Empty `cpu`'s lists in every zone; `by` does the work. Nothing for an offline CPU.
    pub fn drain_cpu(&self, by: CpuId, cpu: CpuId) {
        if self.cpu(cpu).is_online() {
            self.drain_all_zones(by, cpu);
        }
    }

    pub(crate) fn drain_all_zones(&self, by: CpuId, cpu: CpuId) {
        for zone in 0..self.nr_zones {
            self.drain_lists(by, cpu, zone);
        }
    }

    /// Switch a zone's per-CPU lists off: from now on every free ends on the free lists. A second
    /// call changes nothing.
    pub fn pcp_disable(&self, by: CpuId, zone: ZoneIdx) {
        let zone = zone.index();
        {
            let mut config = self.lock_config();
            if config.disabled[zone] {
                return;
            }
            config.disabled[zone] = true;
            self.refresh_limits(&config, zone);
        }
        if self.drain_scheme() == DrainScheme::WorkItem {
            return self.drain_by_work(by, Some(ZoneIdx(zone as u8)), true);
        }
        let _turn = self.draining.lock();
        for cpu in self.cpu_ids().filter(|cpu| self.cpu(*cpu).is_online()) {
            self.drain_lists(by, cpu, zone);
        }
    }

    /// [`PageAllocator::pcp_disable`] up to its wait for other CPUs' workers. If it would have to
    /// wait before that, nothing is changed.
    pub fn pcp_disable_begin(&self, by: CpuId, zone: ZoneIdx) -> DrainBegun {
        if self.drain_scheme() == DrainScheme::Remote {
            self.pcp_disable(by, zone);
            return DrainBegun::Done;
        }
        let mut config = self.lock_config();
        if config.disabled[zone.index()] {
            return DrainBegun::Done;
        }
        let turn = self.draining.lock();
        if !self.drain_finished() {
            return DrainBegun::Waits;
        }
        config.disabled[zone.index()] = true;
        self.refresh_limits(&config, zone.index());
        drop(config);
        self.queue_work_in(by, Some(zone), true, turn).0
    }

    /// Switch a zone's per-CPU lists on again, with fresh limits.
    pub fn pcp_enable(&self, zone: ZoneIdx) {
        let zone = zone.index();
        let mut config = self.lock_config();
        if core::mem::take(&mut config.disabled[zone]) {
            self.refresh_limits(&config, zone);
        }
    }

    /// One run of `cpu`'s statistics worker (page_alloc.md §2.8); whether work is left.
    pub fn tick(&self, cpu: CpuId) -> bool {
        if !self.cpu(cpu).is_online() {
            return false;
        }
        let mut left = false;
        for (at, zone) in self.zones().iter().enumerate() {
            let slot = self.slot(cpu, at);
            let folded = self.fold(cpu, at);
            let mut pcp = slot.lock.lock_remote();
            if folded {
                pcp.expire = 3;
                left = true;
            }
            if self.geometry.auto_tuning {
                let excess = pcp.decay();
                if excess > 0 {
                    self.bulk_free(zone, &mut pcp, &slot.diff, excess, 0);
                }
                left |= excess > 0 || pcp.high > pcp.limits.high_min;
            }
            if pcp.expire != 0 && pcp.count != 0 {
                left |= self.expire(cpu, at, &mut pcp);
            }
        }
        left
    }

    /// Count down to the drain of lists that hold another node's pages; whether work is left
    /// (page_alloc.md §2.8).
    fn expire(&self, cpu: CpuId, at: usize, pcp: &mut Pcp) -> bool {
        let zone = self.zone(at);
        if zone.info.node == self.cpu(cpu).node() {
            pcp.expire = 0;
            return false;
        }
        pcp.expire -= 1;
        if pcp.expire > 0 {
            // Up to 6.6 the worker may go to sleep over it (bug B21).
            return self.geometry.auto_tuning;
        }
        let pages = pcp.count.min(pcp.limits.batch);
        self.bulk_free(zone, pcp, &self.slot(cpu, at).diff, pages, 0);
        true
    }

    /// Push a CPU's diffs to the zone; whether there was anything.
    pub(crate) fn fold(&self, cpu: CpuId, at: usize) -> bool {
        use crate::vmstat::Item;
        let diff = &self.slot(cpu, at).diff;
        let mut locked = self.zones()[at].lock(self.tables(), diff);
        let (free, cma) = (diff.take(Item::Free), diff.take(Item::FreeCma));
        let lists = locked.buddy().z;
        lists.now.free += free;
        lists.now.rare_mut().free_cma += cma;
        drop(locked);
        let batch = diff.take(Item::Batch);
        if batch != 0 {
            self.zone(at).counters.batch.fetch_add(batch as u64);
        }
        free != 0 || cma != 0 || batch != 0
    }
}
