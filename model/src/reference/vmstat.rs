//! Accounting: free pages, per-CPU diffs, events (§1.8, §3.8, D13 to D15).

use super::Reference;
use crate::vocab::{CpuId, FreeListType, MigrateType, Order};

/// The zone counters that go through per-CPU diffs.
#[derive(Clone, Copy)]
enum Item {
    FreePages,
    FreeCma,
    AllocBatch,
}

impl Reference {
    /// One accounting step of `delta` pages of `migratetype` on `cpu` (§1.8).
    pub(super) fn account(&mut self, cpu: CpuId, z: usize, delta: i64, migratetype: MigrateType) {
        if migratetype == MigrateType::Isolate {
            return;
        }
        self.update(cpu, z, Item::FreePages, delta);
        if migratetype == MigrateType::Cma {
            self.update(cpu, z, Item::FreeCma, delta);
        }
        if migratetype == MigrateType::HighAtomic && self.rules.highatomic_free_only {
            self.zones[z].nr_free_highatomic += delta;
        }
    }

    /// NR_FREE_PAGES alone: how a refill up to 6.9 accounts its whole batch (D14).
    pub(super) fn account_free_pages(&mut self, cpu: CpuId, z: usize, delta: i64) {
        self.update(cpu, z, Item::FreePages, delta);
    }

    /// NR_FREE_CMA_PAGES alone (D14).
    pub(super) fn account_cma(&mut self, cpu: CpuId, z: usize, delta: i64) {
        self.update(cpu, z, Item::FreeCma, delta);
    }

    /// NR_ALLOC_BATCH (D38).
    pub(super) fn account_batch(&mut self, cpu: CpuId, z: usize, delta: i64) {
        self.update(cpu, z, Item::AllocBatch, delta);
    }

    /// §3.8: x = diff + delta; beyond the threshold all of x goes to the zone.
    fn update(&mut self, cpu: CpuId, z: usize, item: Item, delta: i64) {
        let zone = &mut self.zones[z];
        let pcp = &mut zone.pcps[cpu.index()];
        let (diff, global) = match item {
            Item::FreePages => (&mut pcp.vm_stat_diff, &mut zone.nr_free_pages),
            Item::FreeCma => (&mut pcp.vm_cma_diff, &mut zone.nr_free_cma),
            Item::AllocBatch => (&mut pcp.vm_batch_diff, &mut zone.nr_alloc_batch),
        };
        let x = *diff + delta;
        if x.unsigned_abs() > zone.stat_threshold {
            *global += x;
            *diff = 0;
        } else {
            *diff = x;
        }
    }

    /// Push a CPU's diffs of one zone; whether there was anything to push.
    pub(super) fn fold(&mut self, cpu: CpuId, z: usize) -> bool {
        let zone = &mut self.zones[z];
        let pcp = &mut zone.pcps[cpu.index()];
        let (free, cma) =
            (core::mem::take(&mut pcp.vm_stat_diff), core::mem::take(&mut pcp.vm_cma_diff));
        let batch = core::mem::take(&mut pcp.vm_batch_diff);
        zone.nr_free_pages += free;
        zone.nr_free_cma += cma;
        zone.nr_alloc_batch += batch;
        free != 0 || cma != 0 || batch != 0
    }

    /// NR_FREE_PAGES as the hot paths read it: without diffs, negatives as 0.
    pub(super) fn cached_free(&self, z: usize) -> i64 {
        self.zones[z].nr_free_pages.max(0)
    }

    pub(super) fn cached_cma(&self, z: usize) -> i64 {
        self.zones[z].nr_free_cma.max(0)
    }

    /// NR_FREE_PAGES with every CPU's diff, never below 0 (the snapshot of §3.8).
    pub(super) fn exact_free(&self, z: usize) -> i64 {
        let zone = &self.zones[z];
        let diffs: i64 = zone.pcps.iter().map(|pcp| pcp.vm_stat_diff).sum();
        (zone.nr_free_pages + diffs).max(0)
    }

    /// An allocation of `pages` base pages by `operations` operations on `cpu` came from `z` (§6.1,
    /// D35).
    pub(super) fn count_alloc(
        &mut self,
        cpu: CpuId,
        z: usize,
        preferred: usize,
        pages: u64,
        operations: u64,
    ) {
        self.events.pgalloc[self.zones[z].kind.index()] += pages;
        let node = self.zones[z].node;
        let local = node == self.node_of(cpu);
        if node == self.zones[preferred].node {
            self.zones[z].numa.hit += operations;
        } else {
            self.zones[z].numa.miss += operations;
            self.zones[preferred].numa.foreign += operations;
        }
        let numa = &mut self.zones[z].numa;
        *(if local { &mut numa.local } else { &mut numa.other }) += operations;
    }

    pub(super) fn count_free(&mut self, order: Order) {
        self.events.pgfree += order.pages();
    }

    /// Whether list hygiene holds (6.10 and later): a free block sits on its pageblock's list.
    pub(super) fn hygiene(&self) -> bool {
        self.rules.free_list_type == FreeListType::Pageblock
    }
}
