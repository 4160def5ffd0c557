//! The state of a slab, in one word (memcg-slub.md §4.5).
//!
//! The kernel changes a pointer and a counter word together. Here a free object is named by its
//! number in the slab, so all fits 64 bits and one compare-exchange of ordinary width.

/// No object.
pub(super) const NO_INDEX: u16 = u16::MAX;

/// The state of a slab.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct State {
    /// The first object on the slab's own list, [`NO_INDEX`] if it is empty.
    pub(super) head: u16,
    /// Objects in use, or taken as a list by a CPU.
    pub(super) inuse: u16,
    /// Objects that it has room for, at most 32767.
    pub(super) objects: u16,
    /// A CPU allocates from it.
    pub(super) frozen: bool,
}

impl State {
    #[inline]
    pub(super) fn pack(self) -> u64 {
        u64::from(self.head)
            | u64::from(self.inuse) << 16
            | u64::from(self.objects) << 32
            | u64::from(self.frozen) << 48
    }

    #[inline]
    pub(super) fn unpack(word: u64) -> Self {
        Self {
            head: word as u16,
            inuse: (word >> 16) as u16,
            objects: (word >> 32) as u16,
            frozen: word >> 48 & 1 != 0,
        }
    }

    /// All taken by a CPU.
    #[inline]
    pub(super) fn taken(self, frozen: bool) -> Self {
        Self { head: NO_INDEX, inuse: self.objects, frozen, ..self }
    }

    /// Length of the slab's own list (law L13).
    #[inline]
    pub(super) fn free(self) -> u16 {
        self.objects.wrapping_sub(self.inuse)
    }
}
