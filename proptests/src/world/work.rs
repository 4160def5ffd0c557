//! What CPUs do that takes time, and the locks that they hold for it.

use super::{Meter, tables::Tables};
use mmspec_model::{
    contract::CompactLock,
    vocab::{CpuId, Order},
};

/// Pages that go to LRU lists at once (PAGEVEC_SIZE) \[mem\].
const LRU_BATCH: u64 = 15;

/// Pages that reclaim takes off a list at once (SWAP_CLUSTER_MAX, compaction.md §0.2).
const RECLAIM_BATCH: u64 = 32;

/// The batch of per-CPU lists (page_alloc.md §2.2).
pub(super) fn pcp_batch(managed: u64) -> u64 {
    let quarter = ((managed >> 10).min(256) / 4).max(1);
    let about = quarter + quarter / 2;
    ((1 << about.ilog2()) - 1).max(1)
}

/// What is known of a CPU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cpu {
    pub(super) meter: Meter,
    /// Its clock less the cost of what it did.
    pub(super) ahead: u64,
    /// When the running task should let others run.
    pub(super) deadline: Option<u64>,
    /// Single pages allocated since its list was filled, and freed since it was emptied.
    allocated: u64,
    freed: u64,
    /// Pages that wait to be put on or taken off LRU lists together.
    to_list: u64,
    /// Pages that reclaim looked at since it took some off a list, and kept of those.
    looked: u64,
    kept: u64,
}

impl Tables {
    /// What the CPU that acts has done.
    pub(super) fn meter(&mut self) -> &mut Meter {
        &mut self.cpus[self.cpu.index()].meter
    }

    /// The clock of a CPU, ns.
    pub(super) fn clock(&self, cpu: CpuId) -> u64 {
        let cpu = &self.cpus[cpu.index()];
        cpu.ahead + cpu.meter.cost(&self.costs)
    }

    /// The CPU that acts takes a lock; it waits for those who hold it.
    pub(super) fn lock(&mut self, lock: CompactLock) {
        let (cpu, now) = (self.cpu, self.clock(self.cpu));
        let from = self.holds.free_from(lock, cpu.index(), now);
        self.meter().lock_ns += from - now;
        self.holds.take(cpu.index(), from);
    }

    /// It drops it.
    pub(super) fn unlock(&mut self, lock: CompactLock) {
        let (cpu, now) = (self.cpu, self.clock(self.cpu));
        self.holds.drop(lock, cpu.index(), now);
    }

    /// It changes `entries` of lists under a lock.
    fn list(&mut self, lock: CompactLock, entries: u64) {
        self.lock(lock);
        self.meter().listed += entries;
        self.unlock(lock);
    }

    /// A block was allocated: single pages come from the CPU's list, which is filled by the batch.
    pub(super) fn allocated(&mut self, order: Order) {
        let batch = self.batch;
        let cpu = &mut self.cpus[self.cpu.index()];
        if order > Order::ZERO {
            return self.list(CompactLock::Zone, 1);
        }
        // The first one of a batch is what fills the list.
        let fills = cpu.allocated.is_multiple_of(batch);
        cpu.allocated += 1;
        if fills {
            self.list(CompactLock::Zone, batch);
        }
    }

    /// A block was freed.
    pub(super) fn freed(&mut self, order: Order) {
        if order > Order::ZERO {
            return self.list(CompactLock::Zone, 1);
        }
        self.freed_singles(1);
    }

    /// Single pages were freed: they go to the CPU's list, which is emptied by the batch.
    pub(super) fn freed_singles(&mut self, pages: u64) {
        let batch = self.batch;
        let cpu = &mut self.cpus[self.cpu.index()];
        cpu.freed += pages;
        let batches = cpu.freed / batch;
        cpu.freed %= batch;
        for _ in 0..batches {
            self.list(CompactLock::Zone, batch);
        }
    }

    /// A page goes to an LRU list, or off one: with others.
    pub(super) fn listed(&mut self) {
        let cpu = &mut self.cpus[self.cpu.index()];
        cpu.to_list += 1;
        if cpu.to_list >= LRU_BATCH {
            self.flush_listed();
        }
    }

    /// Those that wait do so now.
    pub(super) fn flush_listed(&mut self) {
        let waiting = std::mem::take(&mut self.cpus[self.cpu.index()].to_list);
        if waiting > 0 {
            self.list(CompactLock::Lru, waiting);
        }
    }

    /// Reclaim looks at a page, which it took off its list with others. Those that it does not free go back
    /// together.
    pub(super) fn looked_at(&mut self) {
        let cpu = &mut self.cpus[self.cpu.index()];
        let begins = cpu.looked == 0;
        cpu.looked = (cpu.looked + 1) % RECLAIM_BATCH;
        let back = if begins { std::mem::take(&mut cpu.kept) } else { 0 };
        cpu.kept += 1;
        if back > 0 {
            self.list(CompactLock::Lru, back);
        }
        if begins {
            self.list(CompactLock::Lru, RECLAIM_BATCH);
        }
    }

    /// Reclaim frees the page that it looked at.
    pub(super) fn reclaimed(&mut self) {
        let cpu = &mut self.cpus[self.cpu.index()];
        cpu.kept = cpu.kept.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// page_alloc.md §2.2.
    #[test]
    fn batches_are_those_of_the_fact_sheet() {
        let batches = [8192, 16_384, 65_536, 262_144, 1 << 22].map(pcp_batch);
        assert_eq!(batches, [1, 3, 15, 63, 63]);
    }
}
