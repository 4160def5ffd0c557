//! The slices that hold all groups, stocks and handles.

use super::{GroupSlot, PeakSlot, byte_stock::ByteStock, page_stock::PageStock};
use crate::{
    platform::{PcpLock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::NR_MEMCG_STOCK;

/// The slices to build [`Memcg`](super::Memcg) in. Their lengths are the bounds.
pub struct MemcgStorage<P: Platform, B: Backing> {
    /// One record for each group there may be, the root among them: [`MAX_MEMCGS`](mmspec_model::vocab::MAX_MEMCGS)
    /// at most are used, and at least one is needed.
    pub groups: B::Slice<GroupSlot<P>>,
    /// One record for each CPU.
    pub cpus: B::Slice<StockCpuSlot<P>>,
    /// One record for each handle of memory.peak that may be open at a time.
    pub peaks: B::Slice<PeakSlot<P>>,
}

/// One CPU's stocks, on cache lines of their own (memcg-slub.md §2.2, §2.9).
#[repr(align(128))]
pub struct StockCpuSlot<P: Platform> {
    pub(super) pages: P::PcpLock<PageStock>,
    pub(super) bytes: P::PcpLock<ByteStock>,
    pub(super) shown: Shown<P>,
}

/// What drains of other CPUs look at without the locks. Written only when it changes, which the hot path
/// does not do: a stock is taken from many times between two changes.
#[repr(align(64))]
pub(super) struct Shown<P: Platform> {
    /// For each slot: the group's id plus 1 if it has pages, else 0.
    pub(super) slots: [P::Ordered; NR_MEMCG_STOCK],
    /// The objcg's id plus 1, or 0.
    pub(super) objcg: P::Ordered,
    /// The FLUSHING bits: a drain is queued or runs.
    pub(super) flushing: P::Ordered,
}

impl<P: Platform> StockCpuSlot<P> {
    /// Empty stocks.
    #[must_use]
    pub fn new() -> Self {
        Self {
            pages: P::PcpLock::new(PageStock::EMPTY),
            bytes: P::PcpLock::new(ByteStock::EMPTY),
            shown: Shown {
                slots: core::array::from_fn(|_| P::Ordered::new(0)),
                objcg: P::Ordered::new(0),
                flushing: P::Ordered::new(0),
            },
        }
    }

    pub(super) fn reset(&self) {
        *self.pages.lock_remote() = PageStock::EMPTY;
        *self.bytes.lock_remote() = ByteStock::EMPTY;
        for word in &self.shown.slots {
            word.store(0);
        }
        self.shown.objcg.store(0);
        self.shown.flushing.store(0);
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        let copy = Self::new();
        *copy.pages.lock_remote() = self.pages.lock_remote().clone();
        *copy.bytes.lock_remote() = self.bytes.lock_remote().clone();
        for (to, from) in copy.shown.slots.iter().zip(&self.shown.slots) {
            to.store(from.load());
        }
        copy.shown.objcg.store(self.shown.objcg.load());
        copy.shown.flushing.store(self.shown.flushing.load());
        copy
    }
}

impl<P: Platform> Default for StockCpuSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}
