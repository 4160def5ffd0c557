//! Handles of memory.peak (memcg-slub.md §1.6), as the kernel has them: a reset through one handle may lose
//! another one's peak.

use super::Memcg;
use crate::{
    platform::{Lock, Platform, Word},
    storage::Backing,
};
use mmspec_model::vocab::MemcgId;

/// One open handle, as the embedder's storage holds it.
pub struct PeakSlot<P: Platform> {
    /// The group's id plus 1; 0: not open.
    memcg: P::Ordered,
    /// The value since its own last reset plus 1, pages; 0: it was never reset and shows the group's peak.
    value: P::Ordered,
}

impl<P: Platform> PeakSlot<P> {
    /// A handle that is not open.
    #[must_use]
    pub fn new() -> Self {
        Self { memcg: P::Ordered::new(0), value: P::Ordered::new(0) }
    }

    pub(super) fn reset(&self) {
        self.memcg.store(0);
        self.value.store(0);
    }

    #[cfg(feature = "std")]
    pub(super) fn copy(&self) -> Self {
        Self {
            memcg: P::Ordered::new(self.memcg.load()),
            value: P::Ordered::new(self.value.load()),
        }
    }
}

impl<P: Platform> Default for PeakSlot<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform, B: Backing> Memcg<P, B> {
    /// Open memory.peak of `memcg`; the number of the handle, which is the lowest that is not open. `u32::MAX`: the
    /// group was never made, or all handles of the storage are open; such a handle shows 0.
    pub fn open_peak(&self, memcg: MemcgId) -> u32 {
        let _peaks = self.peaks_lock.lock();
        if self.group(memcg).is_none() {
            return u32::MAX;
        }
        let Some(at) = self.peaks.iter().position(|peak| peak.memcg.load() == 0) else {
            return u32::MAX;
        };
        self.peaks[at].value.store(0);
        self.peaks[at].memcg.store(u64::from(memcg.0) + 1);
        at as u32
    }

    fn peak(&self, handle: u32) -> Option<&PeakSlot<P>> {
        self.peaks.get(handle as usize).filter(|peak| peak.memcg.load() != 0)
    }

    /// A write to the handle: from now on it shows the peak since, as far as later resets through other handles
    /// leave it. The group's own peak stays.
    pub fn reset_peak(&self, handle: u32) {
        let _peaks = self.peaks_lock.lock();
        let Some(own) = self.peak(handle) else { return };
        let of = own.memcg.load();
        let Some(slot) = self.group(MemcgId((of - 1) as u16)) else { return };
        let usage = slot.memory.read();
        slot.memory.seen.local_watermark.store(usage);
        for peer in self.peaks.iter().filter(|peer| peer.memcg.load() == of) {
            let value = peer.value.load();
            if value != 0 && value - 1 < usage {
                peer.value.store(usage + 1);
            }
        }
        own.value.store(usage + 1);
    }

    /// What the handle shows, pages. 0 if it is not open.
    pub fn read_peak(&self, handle: u32) -> u64 {
        let Some(peak) = self.peak(handle) else { return 0 };
        let Some(of) = peak.memcg.load().checked_sub(1) else { return 0 };
        let Some(slot) = self.group(MemcgId(of as u16)) else { return 0 };
        match peak.value.load() {
            0 => slot.memory.seen.watermark.load(),
            value => slot.memory.seen.local_watermark.load().max(value - 1),
        }
    }

    /// Close it; in any order.
    pub fn close_peak(&self, handle: u32) {
        let _peaks = self.peaks_lock.lock();
        if let Some(peak) = self.peak(handle) {
            peak.reset();
        }
    }
}
