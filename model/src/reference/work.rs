//! Drains by work items, and the two schemes behind one interface (§2.7, §2.9, D62 to D66).

use super::Reference;
use crate::contract::{CpuCaches, DrainBegun, DrainWork};
use crate::vocab::{CpuId, DrainScheme, ZoneIdx};
use core::ops::Range;

/// A drain that waits for a CPU's worker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct WorkItem {
    /// The zone to drain; all, if none is named.
    pub(super) zone: Option<ZoneIdx>,
}

impl WorkItem {
    /// Whether the item drains the lists of this zone.
    pub(super) fn covers(self, zone: ZoneIdx) -> bool {
        self.zone.is_none_or(|only| only == zone)
    }
}

impl Reference {
    fn zones_of(&self, zone: Option<ZoneIdx>) -> Range<usize> {
        match zone {
            Some(zone) => zone.index()..zone.index() + 1,
            None => 0..self.zones.len(),
        }
    }

    fn all_cpus(&self) -> impl Iterator<Item = CpuId> + use<> {
        (0..self.machine.cpus).map(CpuId)
    }

    fn holds_pages(&self, cpu: CpuId, zone: Option<ZoneIdx>) -> bool {
        self.zones_of(zone).any(|z| self.zones[z].pcps[cpu.index()].sizes.count > 0)
    }

    /// Queue work on the online CPUs that have pages; with `force` on all of them.
    fn queue(&mut self, zone: Option<ZoneIdx>, force: bool) -> DrainBegun {
        let mut cpus = 0;
        for cpu in self.all_cpus() {
            if self.is_up(cpu) && (force || self.holds_pages(cpu, zone)) {
                self.queued[cpu.index()] = Some(WorkItem { zone });
                cpus += 1;
            }
        }
        if cpus == 0 { DrainBegun::Done } else { DrainBegun::Queued { cpus } }
    }

    /// Begin until it has begun, then wait: the drainer sleeps, and so every CPU comes to its worker.
    fn drain_whole(&mut self, mut begin: impl FnMut(&mut Self) -> DrainBegun) {
        let mut begun = begin(self);
        while begun == DrainBegun::Waits {
            self.run_all_work();
            begun = begin(self);
        }
        if let DrainBegun::Queued { .. } = begun {
            self.run_all_work();
        }
    }

    /// Drain by the drainer's own hand.
    fn drain_remotely(&mut self, by: CpuId, zone: Option<ZoneIdx>) {
        for cpu in self.all_cpus() {
            if self.is_up(cpu) {
                for z in self.zones_of(zone) {
                    self.drain_zone_of(by, cpu, z);
                }
            }
        }
    }
}

impl CpuCaches for Reference {
    fn drain_cpu(&mut self, by: CpuId, cpu: CpuId) {
        if self.is_up(cpu) {
            for z in 0..self.zones.len() {
                self.drain_zone_of(by, cpu, z);
            }
        }
    }

    fn drain_all(&mut self, by: CpuId, zone: Option<ZoneIdx>) {
        self.drain_whole(|reference| reference.drain_begin(by, zone));
    }

    fn pcp_disable(&mut self, by: CpuId, zone: ZoneIdx) {
        self.drain_whole(|reference| reference.pcp_disable_begin(by, zone));
    }

    fn pcp_enable(&mut self, zone: ZoneIdx) {
        if self.zones[zone.index()].pcp_disabled {
            self.zones[zone.index()].pcp_disabled = false;
            self.update_pcp_limits_of(zone.index());
        }
    }
}

impl DrainWork for Reference {
    fn drain_scheme(&self) -> DrainScheme {
        self.rules.drain_scheme
    }

    fn drain_begin(&mut self, by: CpuId, zone: Option<ZoneIdx>) -> DrainBegun {
        match self.rules.drain_scheme {
            DrainScheme::Remote => {
                self.drain_remotely(by, zone);
                DrainBegun::Done
            }
            DrainScheme::WorkItem if self.drain_finished() => self.queue(zone, false),
            DrainScheme::WorkItem if zone.is_some() => DrainBegun::Waits,
            DrainScheme::WorkItem => DrainBegun::Busy,
        }
    }

    fn pcp_disable_begin(&mut self, by: CpuId, zone: ZoneIdx) -> DrainBegun {
        let z = zone.index();
        if self.zones[z].pcp_disabled {
            return DrainBegun::Done;
        }
        if !self.drain_finished() {
            return DrainBegun::Waits;
        }
        self.zones[z].pcp_disabled = true;
        for cpu in self.all_cpus() {
            self.close_lists(z, cpu);
        }
        match self.rules.drain_scheme {
            DrainScheme::Remote => {
                self.drain_remotely(by, Some(zone));
                DrainBegun::Done
            }
            DrainScheme::WorkItem => self.queue(Some(zone), true),
        }
    }

    fn run_work(&mut self, cpu: CpuId) -> bool {
        if !self.is_up(cpu) {
            return false;
        }
        let Some(item) = self.queued[cpu.index()].take() else { return false };
        for z in self.zones_of(item.zone) {
            self.drain_zone_of(cpu, cpu, z);
        }
        true
    }

    fn run_all_work(&mut self) {
        for cpu in self.all_cpus() {
            self.run_work(cpu);
        }
    }

    fn has_work(&self, cpu: CpuId) -> bool {
        self.queued[cpu.index()].is_some()
    }

    fn drain_finished(&self) -> bool {
        self.queued.iter().all(Option::is_none)
    }
}
