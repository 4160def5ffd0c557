//! Where free objects keep the pointer to the next one.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use mmspec_model::vocab::ObjAddr;

/// No object: what the last one on a list points to.
pub(super) const NONE: u64 = u64::MAX;

/// A place in a free object that holds the pointer to the next. Only the allocator makes one, and
/// only for objects on its lists, so that a memory may trust it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FreeSlot(pub(super) u64);

impl FreeSlot {
    /// Its address: a multiple of 8.
    #[must_use]
    #[inline]
    pub const fn address(self) -> ObjAddr {
        ObjAddr(self.0)
    }
}

/// Memory of objects, as far as the allocator uses it.
///
/// A real heap keeps the pointers in the free objects themselves ([`RawMemory`](super::RawMemory));
/// a simulated machine has no memory there and keeps them in a table ([`WordTable`], or
/// [`SparseTable`] on hosts).
pub trait ObjectMemory: Send + Sync + 'static {
    /// What was stored there last.
    fn load(&self, at: FreeSlot) -> u64;

    /// Store a pointer, perhaps an encoded one.
    fn store(&self, at: FreeSlot, pointer: u64);
}

/// A table with one word for each 8 bytes of memory from frame 0 on. An address beyond the table (a
/// list overwritten by its user can lead to one) reads as the end of a list.
#[derive(Clone, Copy, Debug)]
pub struct WordTable(pub &'static [AtomicU64]);

impl ObjectMemory for WordTable {
    fn load(&self, at: FreeSlot) -> u64 {
        self.0.get((at.0 / 8) as usize).map_or(NONE, |word| word.load(Relaxed))
    }

    fn store(&self, at: FreeSlot, pointer: u64) {
        if let Some(word) = self.0.get((at.0 / 8) as usize) {
            word.store(pointer, Relaxed);
        }
    }
}

#[cfg(feature = "std")]
pub use sparse::SparseTable;

#[cfg(feature = "std")]
mod sparse {
    use super::{AtomicU64, FreeSlot, NONE, ObjectMemory, Relaxed};
    use mmspec_model::vocab::MachineRef;
    use std::{boxed::Box, sync::OnceLock};

    type Words = Box<[AtomicU64; 512]>;

    /// The same on a host: words of a frame are made when one of its objects is first freed.
    pub struct SparseTable {
        base: u64,
        frames: Box<[OnceLock<Words>]>,
    }

    impl SparseTable {
        /// A table for all frames of a machine.
        #[must_use]
        pub fn of(machine: &MachineRef<'_>) -> Self {
            let base = machine.zones.iter().map(|zone| zone.span.start.0).min().unwrap_or(0);
            let frames = machine.end().0.saturating_sub(base);
            Self { base, frames: (0..frames).map(|_| OnceLock::new()).collect() }
        }

        fn word(&self, at: FreeSlot, make: bool) -> Option<&AtomicU64> {
            let frame = self.frames.get((at.0 >> 12).wrapping_sub(self.base) as usize)?;
            let words = if make {
                frame.get_or_init(|| Box::new([const { AtomicU64::new(NONE) }; 512]))
            } else {
                frame.get()?
            };
            Some(&words[(at.0 >> 3) as usize % 512])
        }
    }

    impl ObjectMemory for SparseTable {
        fn load(&self, at: FreeSlot) -> u64 {
            self.word(at, false).map_or(NONE, |word| word.load(Relaxed))
        }

        fn store(&self, at: FreeSlot, pointer: u64) {
            if let Some(word) = self.word(at, true) {
                word.store(pointer, Relaxed);
            }
        }
    }

    impl Clone for SparseTable {
        fn clone(&self) -> Self {
            let copy = |words: &Words| -> Words {
                Box::new(core::array::from_fn(|at| AtomicU64::new(words[at].load(Relaxed))))
            };
            let frames = self.frames.iter().map(|frame| {
                frame.get().map_or_else(OnceLock::new, |words| OnceLock::from(copy(words)))
            });
            Self { base: self.base, frames: frames.collect() }
        }
    }

    impl core::fmt::Debug for SparseTable {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            let made = self.frames.iter().filter(|frame| frame.get().is_some()).count();
            write!(f, "SparseTable({made} of {} frames)", self.frames.len())
        }
    }
}
