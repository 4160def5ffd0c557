//! Real memory: free objects hold the pointers themselves.
#![allow(unsafe_code)] // The words of free objects are reached by address; see the arguments.

use super::memory::{FreeSlot, ObjectMemory};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An arena in the memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct RawMemory {
    base: *mut u8,
}

// SAFETY: the pointer is only ever used for words of free objects, which belong to the allocator;
// it hands them from thread to thread through its locks and its ordered words.
unsafe impl Send for RawMemory {}
// SAFETY: as above.
unsafe impl Sync for RawMemory {}

impl RawMemory {
    /// The arena whose byte for address 0 (frame 0) would lie at `base`.
    ///
    /// # Safety
    /// Every byte of every frame that the slab allocator is given by its
    /// [`SlabPages`](mmspec_model::contract::SlabPages) is readable and writable at `base` plus its
    /// address for as long as the allocator exists; `base` is aligned to a page. Nobody else
    /// touches these frames, but for the bytes of objects while these are handed out. Objects are
    /// given back once, by whoever holds them, and are not touched afterwards.
    #[must_use]
    pub const unsafe fn new(base: *mut u8) -> Self {
        Self { base }
    }

    /// Where an address lies.
    #[inline(always)]
    pub(crate) fn pointer(self, address: u64) -> *mut u8 {
        self.base.wrapping_add(address as usize)
    }
}

impl ObjectMemory for RawMemory {
    #[inline(always)]
    fn load(&self, at: FreeSlot) -> u64 {
        // SAFETY: a `FreeSlot` names 8 aligned bytes of a free object, which `new` promises to be
        // memory that the allocator alone uses; all its accesses are atomic.
        unsafe { AtomicU64::from_ptr(self.pointer(at.0).cast()) }.load(Relaxed)
    }

    #[inline(always)]
    fn store(&self, at: FreeSlot, pointer: u64) {
        // SAFETY: as for `load`.
        unsafe { AtomicU64::from_ptr(self.pointer(at.0).cast()) }.store(pointer, Relaxed);
    }
}
