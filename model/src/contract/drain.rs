//! Drains of all CPUs' lists, begun and waited for apart.

use super::CpuCaches;
use crate::vocab::{CpuId, DrainScheme, ZoneIdx};

/// What became of a drain that was begun.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DrainBegun {
    /// Another drain is underway and no zone was named: the caller goes on without a drain
    /// (page_alloc.md §2.7).
    Busy,
    /// Another drain is underway, and a drain of one zone waits for its end. Nothing was changed:
    /// begin again later.
    Waits,
    /// A work item is queued on so many CPUs. The drain is finished when all of them ran it.
    Queued {
        /// How many; which ones, [`DrainWork::has_work`] tells.
        cpus: u16,
    },
    /// The drain is finished.
    Done,
}

/// Capability: both schemes of draining other CPUs' lists behind one interface (page_alloc.md §2.7,
/// §2.9; docs/decisions.md 62 to 66).
///
/// Under [`DrainScheme::Remote`] a drain is over when its call returns. Under
/// [`DrainScheme::WorkItem`] it queues one item of work on each online CPU that has pages, and each
/// of these CPUs drains its own lists when it comes to [`DrainWork::run_work`]. What an allocator
/// that only drains remotely needs is `impl DrainWork for It {}`.
///
/// [`CpuCaches::drain_all`] and [`CpuCaches::pcp_disable`] are the whole drains, with the wait. An
/// allocator whose CPUs are threads waits there until the others have run their work, so one thread
/// that plays all CPUs begins drains here instead.
pub trait DrainWork: CpuCaches {
    /// How other CPUs' lists are drained.
    fn drain_scheme(&self) -> DrainScheme {
        DrainScheme::Remote
    }

    /// [`CpuCaches::drain_all`] up to its wait.
    fn drain_begin(&mut self, by: CpuId, zone: Option<ZoneIdx>) -> DrainBegun {
        self.drain_all(by, zone);
        DrainBegun::Done
    }

    /// [`CpuCaches::pcp_disable`] up to its wait; every online CPU gets an item of work, whatever it
    /// holds. [`DrainBegun::Done`] if the zone's lists are disabled already.
    fn pcp_disable_begin(&mut self, by: CpuId, zone: ZoneIdx) -> DrainBegun {
        self.pcp_disable(by, zone);
        DrainBegun::Done
    }

    /// `cpu` comes to a point where its worker runs: it drains its own lists if work is queued on
    /// it. Whether there was any. Nothing for an offline CPU.
    fn run_work(&mut self, _cpu: CpuId) -> bool {
        false
    }

    /// Every CPU comes to its worker, in the order of their numbers: what a caller does who plays
    /// all of them while one of them waits for a drain.
    fn run_all_work(&mut self) {}

    /// Whether `cpu` has work that is queued or running.
    fn has_work(&self, _cpu: CpuId) -> bool {
        false
    }

    /// Whether no drain waits for any CPU.
    fn drain_finished(&self) -> bool {
        true
    }
}
