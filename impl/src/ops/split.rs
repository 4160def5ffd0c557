//! Making single pages of an allocated block.

use crate::{
    allocator::PageAllocator,
    frame::{Allocated, Frame},
    platform::Platform,
    storage::Backing,
};
use mmspec_model::vocab::{CpuId, Pfn};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Make single pages of the allocated block at `pfn`, each to be freed by itself (as the split of
    /// a huge page does). Free lists and counters stay. False if no allocated block begins there.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    pub fn split_allocated(&self, cpu: CpuId, pfn: Pfn) -> bool {
        let Some(at) = self.zone_of(pfn) else { return false };
        let head = self.geometry.index(pfn);
        // The states of frames change under the zone lock only.
        let _locked = self.zone(at).lock(self.tables(), &self.slot(cpu, at).diff);
        let Some(block) = self.records().at(head).allocated(head) else { return false };
        let single = Frame::busy(0, self.tables().frame(head).migratetype());
        for frame in head..head + (1 << block.order) {
            self.tables().set_frame(frame, single);
            self.records().at(frame).set_allocated(frame, Allocated { order: 0, ..block });
        }
        true
    }
}
