//! Drains of all CPUs' lists under both schemes (page_alloc.md §2.7, §2.9): by the drainer's own
//! hand, or by a work item on each CPU.

use crate::{
    allocator::{Drains, PageAllocator},
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use mmspec_model::{
    contract::DrainBegun,
    vocab::{CpuId, DrainScheme, ZoneIdx},
};

/// The guard of the drain lock.
type Turn<'a, P> = <<P as Platform>::ZoneLock<Drains> as Lock<Drains>>::Guard<'a>;

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// How other CPUs' lists are drained.
    #[must_use]
    pub fn drain_scheme(&self) -> DrainScheme {
        self.geometry.rules.drain_scheme
    }

    /// Empty all online CPUs' lists, in one zone or in all. While another drain runs, a drain of
    /// all zones leaves it at that; a drain of one zone waits.
    ///
    /// Under [`DrainScheme::WorkItem`] this waits until every CPU that had pages came to
    /// [`PageAllocator::run_work`]; meanwhile it runs the work of `by`. So no lock that a CPU takes
    /// between two such points may be held by the caller.
    pub fn drain_all(&self, by: CpuId, zone: Option<ZoneIdx>) {
        match self.drain_scheme() {
            DrainScheme::Remote => {
                self.drain_remotely(by, zone);
            }
            DrainScheme::WorkItem => self.drain_by_work(by, zone, false),
        }
    }

    /// [`PageAllocator::drain_all`] up to its wait for other CPUs' workers.
    pub fn drain_begin(&self, by: CpuId, zone: Option<ZoneIdx>) -> DrainBegun {
        match self.drain_scheme() {
            DrainScheme::Remote => self.drain_remotely(by, zone),
            DrainScheme::WorkItem => self.queue_work(by, zone, false).0,
        }
    }

    /// `cpu` comes to a point where its worker may run: its lists are drained if a drain queued
    /// work on it. Whether there was any. To be called by the CPU itself, now and then, under
    /// [`DrainScheme::WorkItem`]; it costs the look at one word that is seldom written.
    #[inline]
    pub fn run_work(&self, cpu: CpuId) -> bool {
        let slot = self.cpu(cpu);
        slot.work.is_pending() && slot.is_online() && self.do_work(cpu, cpu)
    }

    /// Every CPU comes to its worker: for one thread that plays all of them.
    pub fn run_all_work(&self) {
        for cpu in self.cpu_ids() {
            self.run_work(cpu);
        }
    }

    /// Whether `cpu` has work that is queued or running.
    #[must_use]
    pub fn has_work(&self, cpu: CpuId) -> bool {
        self.cpu(cpu).work.is_pending()
    }

    /// Whether no drain waits for any CPU.
    #[must_use]
    pub fn drain_finished(&self) -> bool {
        self.cpu_ids().all(|cpu| !self.has_work(cpu))
    }

    /// Do the work queued on `cpu`, if there is any; whether there was.
    pub(crate) fn do_work(&self, by: CpuId, cpu: CpuId) -> bool {
        let Some(zone) = self.cpu(cpu).work.take() else { return false };
        for at in self.zones_of(zone) {
            if by == cpu {
                self.drain_own_lists(cpu, at);
            } else {
                self.drain_lists(by, cpu, at);
            }
        }
        self.cpu(cpu).work.done();
        true
    }

    fn zones_of(&self, zone: Option<ZoneIdx>) -> core::ops::Range<usize> {
        zone.map_or(0..self.nr_zones, |zone| zone.index()..zone.index() + 1)
    }

    fn drain_remotely(&self, by: CpuId, zone: Option<ZoneIdx>) -> DrainBegun {
        let turn = match zone {
            Some(_) => Some(self.draining.lock()),
            None => self.draining.try_lock(),
        };
        let Some(_turn) = turn else { return DrainBegun::Busy };
        for cpu in self.cpu_ids().filter(|cpu| self.cpu(*cpu).is_online()) {
            for at in self.zones_of(zone) {
                self.drain_lists(by, cpu, at);
            }
        }
        DrainBegun::Done
    }

    /// Queue, and wait until all of it is done. `force`: on every online CPU.
    pub(crate) fn drain_by_work(&self, by: CpuId, zone: Option<ZoneIdx>, force: bool) {
        let mut turns = 0;
        let drain = loop {
            match self.queue_work(by, zone, force) {
                (DrainBegun::Queued { .. }, drain) => break drain,
                (DrainBegun::Waits, _) => self.sleep(by, &mut turns),
                (DrainBegun::Busy | DrainBegun::Done, _) => return,
            }
        };
        for cpu in self.cpu_ids() {
            let work = &self.cpu(cpu).work;
            let mut turns = 0;
            // A later drain begins only when this one is over, so its work need not be waited for.
            while (work.is_pending() && self.drains.load() == drain) || !work.is_done_for(drain) {
                self.sleep(by, &mut turns);
            }
        }
    }

    /// A turn of a wait: `by` runs nothing else meanwhile, so its own worker may.
    fn sleep(&self, by: CpuId, turns: &mut u32) {
        if !self.run_work(by) {
            P::wait(*turns);
            *turns = turns.saturating_add(1);
        }
    }

    /// Queue work on the online CPUs that have pages, or with `force` on all of them. Also the
    /// number of the drain.
    fn queue_work(&self, by: CpuId, zone: Option<ZoneIdx>, force: bool) -> (DrainBegun, u64) {
        let turn = self.draining.lock();
        self.queue_work_in(by, zone, force, turn)
    }

    pub(crate) fn queue_work_in(
        &self,
        by: CpuId,
        zone: Option<ZoneIdx>,
        force: bool,
        mut turn: Turn<'_, P>,
    ) -> (DrainBegun, u64) {
        if !self.drain_finished() {
            return (zone.map_or(DrainBegun::Busy, |_| DrainBegun::Waits), turn.0);
        }
        let drain = turn.0 + 1;
        let mut cpus = 0;
        for cpu in self.cpu_ids().filter(|cpu| self.cpu(*cpu).is_online()) {
            if force || self.zones_of(zone).any(|at| self.holds_pages(cpu, at)) {
                self.cpu(cpu).work.queue(zone, drain);
                cpus += 1;
            }
        }
        if cpus == 0 {
            return (DrainBegun::Done, turn.0);
        }
        turn.0 = drain;
        self.drains.store(drain);
        drop(turn);
        // A CPU that died between the look at it and the queueing runs nothing any more, and whoever
        // buried it may have found nothing.
        for cpu in self.cpu_ids().filter(|cpu| !self.cpu(*cpu).is_online()) {
            self.do_work(by, cpu);
        }
        (DrainBegun::Queued { cpus }, drain)
    }
}
