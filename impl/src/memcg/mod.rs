//! Memory cgroups: who is charged for pages and kernel objects, and how far (memcg-slub.md §1 to §3, §6.1).
//!
//! * Concurrent through `&self`, `no_std`, and nothing allocates: groups, stocks and handles lie in slices
//!   that the embedder provides ([`MemcgStorage`]). The CPU is an argument.
//! * A charge that its CPU's stock can serve takes one lock, that of the stock, and writes no cache line
//!   that other CPUs use.
//! * Calls that may wait are machines that the embedder steps ([`Running`]): plain data that hold no lock
//!   and no reference. [`Memcg::charge`] steps one to its end with an owner of pages.
//!
//! ```
//! use mmspec_impl::memcg::{Memcg, OwnedMemcg};
//! use mmspec_model::{
//!     contract::{ChargeTask, MemcgCall, MemcgDone, MemcgStep},
//!     vocab::{CpuId, Gfp, MemcgId, MemcgRules},
//! };
//!
//! let groups: OwnedMemcg = OwnedMemcg::new(2, 16, 4, MemcgRules::default());
//! let memcg = groups.create(MemcgId::ROOT).unwrap();
//! let task = ChargeTask::empty();
//! let call = MemcgCall::Charge { memcg, pages: 1, gfp: Gfp::KERNEL, task, over_high: 0 };
//! let (_, step) = groups.begin(CpuId(0), call);
//! assert!(matches!(step, MemcgStep::Done(MemcgDone::Charged { .. })));
//! groups.uncharge(memcg, 1);
//! ```
//!
//! How it is laid out, from the bottom up: `storage` (the slices), `group` (one group's record, and who is
//! above whom), `page_counter` (the walks of §1), `events`, `refs` (what keeps a removed group), `limits`
//! (settings and protection), `peak` (handles of memory.peak); `page_stock`, `byte_stock` and `drain` (the
//! per-CPU stocks); `running`, `charge`, `until` (the forms of 2014), `high` and `writes` (the
//! machines); `life` (mkdir, rmdir), `swap`, `batch`, `state` (what shows), `owner` and `contract`.

mod batch;
mod byte_stock;
mod charge;
mod contract;
mod drain;
mod events;
mod group;
mod high;
#[cfg(feature = "std")]
mod host;
mod life;
mod limits;
mod owner;
mod page_counter;
mod page_stock;
mod peak;
mod refs;
mod running;
mod state;
mod storage;
mod swap;
mod until;
mod writes;

pub use batch::UnchargeBatch;
pub use group::GroupSlot;
pub use high::{HZ, delay};
#[cfg(feature = "std")]
pub use host::OwnedMemcg;
pub use owner::MemcgOwner;
pub use peak::PeakSlot;
pub use running::Running;
pub use storage::{MemcgStorage, StockCpuSlot};

use crate::{
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use core::fmt;
use mmspec_model::vocab::{CpuId, MAX_MEMCGS, MemcgId, MemcgRules};

/// Bytes of a page.
const PAGE_SIZE: u32 = 4096;

/// All memory cgroups of one hierarchy.
pub struct Memcg<P: Platform, B: Backing> {
    rules: MemcgRules,
    groups: B::Slice<GroupSlot<P>>,
    cpus: B::Slice<StockCpuSlot<P>>,
    peaks: B::Slice<PeakSlot<P>>,
    /// Groups made so far. Read to publish: a group is whole before it counts.
    count: P::Ordered,
    /// Held to make, remove and reparent groups.
    tree: P::ZoneLock<()>,
    /// Held by the one drain of all stocks that may run at a time (percpu_charge_mutex).
    draining: P::ZoneLock<()>,
    /// Held to set limits that must not fall below usage (memcg_max_mutex).
    limits: P::ZoneLock<()>,
    /// Held to open, reset and close handles of memory.peak (peaks_lock).
    peaks_lock: P::ZoneLock<()>,
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// The root alone, in `storage`. What the records hold before does not matter. The length of each slice is
    /// how many groups (the root among them; at most [`MAX_MEMCGS`]), CPUs and open handles there may be. Of
    /// [`MemcgRules::batch`] and [`MemcgRules::retries`] any value is taken; a batch above 127 is none that a
    /// kernel's stock can hold, and counts as 127 (memcg-slub.md §2.2).
    pub fn new(rules: MemcgRules, storage: MemcgStorage<P, B>) -> Self {
        let MemcgStorage { groups, cpus, peaks } = storage;
        let rules = MemcgRules { batch: rules.batch.clamp(1, 127), ..rules };
        groups.iter().for_each(GroupSlot::reset);
        cpus.iter().for_each(StockCpuSlot::reset);
        peaks.iter().for_each(PeakSlot::reset);
        let all = Self::assemble(rules, MemcgStorage { groups, cpus, peaks }, 0);
        all.make_root();
        all
    }

    fn assemble(rules: MemcgRules, storage: MemcgStorage<P, B>, count: u64) -> Self {
        Self {
            rules,
            groups: storage.groups,
            cpus: storage.cpus,
            peaks: storage.peaks,
            count: P::Ordered::new(count),
            tree: P::ZoneLock::new(()),
            draining: P::ZoneLock::new(()),
            limits: P::ZoneLock::new(()),
            peaks_lock: P::ZoneLock::new(()),
        }
    }

    /// The rules given.
    pub fn rules(&self) -> MemcgRules {
        self.rules
    }

    /// Ids given so far: `0..count` can be asked for. 0 if the storage has no place for the root.
    pub fn count(&self) -> usize {
        self.count.load() as usize
    }

    /// Groups that there may be.
    fn capacity(&self) -> usize {
        self.groups.len().min(MAX_MEMCGS)
    }

    /// The record of a group that was made.
    fn group(&self, memcg: MemcgId) -> Option<&GroupSlot<P>> {
        let at = usize::from(memcg.0);
        if at < self.count() { self.groups.get(at) } else { None }
    }

    /// The record of an online group. Reads one word that changes with mkdir and rmdir alone.
    #[inline]
    fn online(&self, memcg: MemcgId) -> Option<&GroupSlot<P>> {
        self.groups.get(usize::from(memcg.0)).filter(|slot| slot.is_online())
    }

    /// A group that can be charged: not the root, and made.
    fn chargeable(&self, memcg: MemcgId) -> Option<&GroupSlot<P>> {
        if memcg == MemcgId::ROOT { None } else { self.group(memcg) }
    }

    fn cpu(&self, cpu: CpuId) -> Option<&StockCpuSlot<P>> {
        self.cpus.get(usize::from(cpu.0))
    }
}

impl<P: Platform, B: Backing> fmt::Debug for Memcg<P, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memcg")
            .field("rules", &self.rules)
            .field("groups", &self.count())
            .field("cpus", &self.cpus.len())
            .finish_non_exhaustive()
    }
}
