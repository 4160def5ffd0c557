//! CPUs that come and go (page_alloc.md §2.7, last item).

use crate::{allocator::PageAllocator, platform::Platform, storage::Backing};
use mmspec_model::vocab::CpuId;

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// `cpu` died; `by` empties its lists and folds its diffs. False if it is offline already, the
    /// last one, or `by` itself.
    pub fn cpu_dead(&self, by: CpuId, cpu: CpuId) -> bool {
        let mut config = self.lock_config();
        if by == cpu || !self.is_online(cpu) || config.online_cpus == 1 {
            return false;
        }
        self.cpu(cpu).set_online(false);
        config.online_cpus -= 1;
        self.drain_all_zones(by, cpu);
        // A drain may wait for the worker of this CPU, which runs no more.
        self.do_work(by, cpu);
        for zone in 0..self.nr_zones {
            self.fold(cpu, zone);
            self.refresh_limits(&config, zone);
        }
        self.refresh_thresholds(&config);
        true
    }

    /// `cpu` is back. False if it is online, or the machine has no such CPU.
    pub fn cpu_online(&self, cpu: CpuId) -> bool {
        let mut config = self.lock_config();
        if cpu.index() >= self.nr_cpus || self.is_online(cpu) {
            return false;
        }
        self.cpu(cpu).set_online(true);
        config.online_cpus += 1;
        for zone in 0..self.nr_zones {
            self.refresh_limits(&config, zone);
        }
        self.refresh_thresholds(&config);
        true
    }

    /// Whether `cpu` is online.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        cpu.index() < self.nr_cpus && self.cpu(cpu).is_online()
    }
}
