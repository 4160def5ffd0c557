//! What is known of each frame: one dense state byte, and links apart from it.
//!
//! A merge asks "is my buddy free, and of which order?" for frames that are usually busy. The
//! answer lies in the byte alone: 64 neighbours share a cache line, and the links of busy frames
//! stay cold. Both are relaxed atomics (plain moves on common machines) under the owner rule: a
//! frame's record is written by whoever owns the frame (the zone lock for free blocks, the lock of
//! the per-CPU lists for cached ones, the caller for allocated ones), and each change of owner
//! passes through a lock. Reads by others are hints; only "free in this zone" is decided on, and
//! that is stable under the zone lock.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use mmspec_model::vocab::MigrateType;

/// What one frame is. Kind in the high four bits, order in the low four.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame(u8);

impl Frame {
    /// Inside a block, not its head.
    pub(crate) const TAIL: Self = Self(0);
    /// A hole, a reserved frame, or outside all zones.
    pub(crate) const ABSENT: Self = Self(1 << 4);
    const ALLOCATED: u8 = 2;
    const MOVABLE: u8 = 3;
    /// Plus the migratetype: on a per-CPU list.
    const CACHED: u8 = 4;
    /// Plus the migratetype of its list: free.
    const FREE: u8 = 10;

    /// The head of a block in use.
    #[inline]
    pub(crate) const fn allocated(order: u8, movable: bool) -> Self {
        Self((Self::ALLOCATED + movable as u8) << 4 | order)
    }

    /// The head of a block on a per-CPU list; `migratetype` is that of the free list it came from
    /// or of its pageblock when it was freed (page_alloc.md §1.8, up to 6.9).
    #[inline]
    pub(crate) const fn cached(order: u8, migratetype: MigrateType) -> Self {
        Self((Self::CACHED + migratetype as u8) << 4 | order)
    }

    /// The head of a block on the free list of `migratetype`.
    #[inline]
    pub(crate) const fn free(order: u8, migratetype: MigrateType) -> Self {
        Self((Self::FREE + migratetype as u8) << 4 | order)
    }

    /// The block's order, if this is a head.
    #[inline]
    pub(crate) const fn order(self) -> u8 {
        self.0 & 0xf
    }

    const fn kind(self) -> u8 {
        self.0 >> 4
    }

    /// Whether this is the head of a free block.
    #[inline]
    pub(crate) const fn is_free(self) -> bool {
        self.kind() >= Self::FREE
    }

    /// Whether this is the head of a free block of exactly `order`.
    #[inline]
    pub(crate) const fn is_free_of(self, order: u8) -> bool {
        self.is_free() && self.order() == order
    }

    /// Whether this is the head of an allocated block.
    #[inline]
    pub(crate) const fn is_allocated(self) -> bool {
        self.kind() == Self::ALLOCATED || self.kind() == Self::MOVABLE
    }

    /// Whether this is the head of a block allocated as movable.
    pub(crate) const fn is_movable(self) -> bool {
        self.kind() == Self::MOVABLE
    }

    /// Whether this is the head of any block.
    pub(crate) const fn is_head(self) -> bool {
        self.kind() >= Self::ALLOCATED
    }

    /// The type of a free block's list, or the one remembered by a cached block.
    #[inline]
    pub(crate) fn migratetype(self) -> MigrateType {
        let kind = self.kind();
        let base = if kind >= Self::FREE { Self::FREE } else { Self::CACHED };
        debug_assert!(kind >= Self::CACHED, "{self:?} has no migratetype");
        MigrateType::ALL[usize::from(kind.saturating_sub(base))]
    }
}

impl core::fmt::Debug for Frame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let order = self.order();
        match self.kind() {
            0 => f.write_str("inside a block"),
            1 => f.write_str("not managed"),
            Self::ALLOCATED => write!(f, "allocated, order {order}"),
            Self::MOVABLE => write!(f, "allocated as movable, order {order}"),
            Self::FREE.. => write!(f, "free ({}), order {order}", self.migratetype()),
            _ => write!(f, "on a per-CPU list ({}), order {order}", self.migratetype()),
        }
    }
}

/// The state byte of one frame, as the embedder's storage holds it.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct FrameState(AtomicU8);

impl FrameState {
    #[inline]
    pub(crate) fn get(&self) -> Frame {
        Frame(self.0.load(Relaxed))
    }

    #[inline]
    pub(crate) fn set(&self, frame: Frame) {
        self.0.store(frame.0, Relaxed);
    }
}

/// The list links of one frame, as the embedder's storage holds them: indices of its neighbours.
#[derive(Debug, Default)]
pub struct Links {
    next: AtomicU32,
    prev: AtomicU32,
}

impl Links {
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next.load(Relaxed)
    }

    #[inline]
    pub(crate) fn prev(&self) -> u32 {
        self.prev.load(Relaxed)
    }

    #[inline]
    pub(crate) fn set_next(&self, frame: u32) {
        self.next.store(frame, Relaxed);
    }

    #[inline]
    pub(crate) fn set_prev(&self, frame: u32) {
        self.prev.store(frame, Relaxed);
    }
}

/// The type of one pageblock, as the embedder's storage holds it. Written under a zone lock, read
/// without one (a page freed while its pageblock changes goes by the older or the newer type).
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct BlockType(AtomicU8);

impl BlockType {
    #[inline]
    pub(crate) fn get(&self) -> MigrateType {
        MigrateType::ALL[usize::from(self.0.load(Relaxed))]
    }

    #[inline]
    pub(crate) fn set(&self, migratetype: MigrateType) {
        self.0.store(migratetype as u8, Relaxed);
    }
}

#[cfg(feature = "std")]
mod copies {
    //! Copies of quiescent records, for hosts that clone an allocator.
    use super::*;

    impl Clone for FrameState {
        fn clone(&self) -> Self {
            Self(AtomicU8::new(self.0.load(Relaxed)))
        }
    }

    impl Clone for Links {
        fn clone(&self) -> Self {
            Self { next: AtomicU32::new(self.next()), prev: AtomicU32::new(self.prev()) }
        }
    }

    impl Clone for BlockType {
        fn clone(&self) -> Self {
            Self(AtomicU8::new(self.0.load(Relaxed)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_byte_tells_kind_order_and_type_apart() {
        for order in 0..=10 {
            for migratetype in MigrateType::ALL {
                let free = Frame::free(order, migratetype);
                assert!(free.is_free_of(order) && !free.is_free_of(order + 1));
                assert!(!free.is_allocated() && free.is_head());
                assert_eq!(free.migratetype(), migratetype);
                let cached = Frame::cached(order, migratetype);
                assert!(!cached.is_free() && !cached.is_allocated() && cached.is_head());
                assert_eq!((cached.order(), cached.migratetype()), (order, migratetype));
            }
            for movable in [false, true] {
                let used = Frame::allocated(order, movable);
                assert!(used.is_allocated() && !used.is_free());
                assert_eq!((used.order(), used.is_movable()), (order, movable));
            }
        }
        for frame in [Frame::TAIL, Frame::ABSENT] {
            assert!(!frame.is_head() && !frame.is_free() && !frame.is_allocated());
        }
    }
}
