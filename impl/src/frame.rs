//! What is known of each frame: one dense state byte, and a record of links.
//!
//! A merge asks "is my buddy free, and of which order?" for frames that are usually busy. The
//! answer lies in the byte alone: 64 neighbours share a cache line, and the records of busy frames
//! stay cold. The byte changes only under the zone lock. Whether a busy block is allocated or on a
//! per-CPU list is told by its links: an allocated frame is linked to itself. So the fast paths
//! touch one record and never write to the dense lines that other CPUs' frames share.
//!
//! Both are relaxed atomics (plain moves on common machines) under the owner rule: a frame's record
//! is written by whoever owns the frame (the zone lock for free blocks, the lock of the per-CPU
//! lists for cached ones, the caller for allocated ones), and each change of owner passes through a
//! lock. What others read of busy blocks are hints.

use core::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use mmspec_model::vocab::MigrateType;

/// What one frame is. Kind in the high four bits, order in the low four.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame(u8);

impl Frame {
    /// Inside a block, not its head.
    pub(crate) const TAIL: Self = Self(0);
    /// A hole, or outside all zones.
    pub(crate) const ABSENT: Self = Self(1 << 4);
    /// Memory that does not belong to the allocator.
    pub(crate) const RESERVED: Self = Self(2 << 4);
    /// Plus a migratetype: allocated or on a per-CPU list.
    const BUSY: u8 = 4;
    /// Plus the migratetype of its list: free.
    const FREE: u8 = 10;

    /// The head of a block that is allocated or on a per-CPU list. `migratetype` is that of the
    /// free list it came from, or of its pageblock when it was last freed (page_alloc.md §1.8, up
    /// to 6.9; later rules do not look at it).
    #[inline]
    pub(crate) const fn busy(order: u8, migratetype: MigrateType) -> Self {
        Self((Self::BUSY + migratetype as u8) << 4 | order)
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
        // One comparison for each: a kind from FREE up is a byte from there up.
        self.0 >= Self::FREE << 4 && self.order() == order
    }

    /// Whether this is the head of a block that is allocated or on a per-CPU list.
    pub(crate) const fn is_busy(self) -> bool {
        self.kind() >= Self::BUSY && !self.is_free()
    }

    /// Whether this is the head of such a block of exactly `order`.
    pub(crate) const fn is_busy_of(self, order: u8) -> bool {
        self.is_busy() && self.order() == order
    }

    /// Whether this is the head of any block.
    pub(crate) const fn is_head(self) -> bool {
        self.kind() >= Self::BUSY
    }

    /// The type of a free block's list, or the one that a busy block remembers.
    #[inline]
    pub(crate) fn migratetype(self) -> MigrateType {
        /// By kind, so that any byte finds an entry and no check is needed.
        const BY_KIND: [MigrateType; 16] = {
            let mut types = [MigrateType::Unmovable; 16];
            let mut at = 0;
            while at < MigrateType::ALL.len() {
                types[Frame::BUSY as usize + at] = MigrateType::ALL[at];
                types[Frame::FREE as usize + at] = MigrateType::ALL[at];
                at += 1;
            }
            types
        };
        debug_assert!(self.is_head(), "{self:?} has no migratetype");
        BY_KIND[usize::from(self.kind())]
    }
}

impl core::fmt::Debug for Frame {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let order = self.order();
        match self.kind() {
            0 => f.write_str("inside a block"),
            1 => f.write_str("no memory"),
            2 => f.write_str("reserved"),
            Self::FREE.. => write!(f, "free ({}), order {order}", self.migratetype()),
            _ => write!(f, "busy ({}), order {order}", self.migratetype()),
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

/// The record of one frame, as the embedder's storage holds it: its neighbours on a list, or, if it
/// heads an allocated block, itself as `next` and what was asked for as `prev`.
#[derive(Debug, Default)]
#[repr(align(8))]
pub struct Links {
    next: AtomicU32,
    prev: AtomicU32,
}

/// What an allocated block was asked for as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Allocated {
    pub(crate) order: u8,
    pub(crate) movable: bool,
}

impl Links {
    /// On no list and not allocated.
    #[inline]
    pub(crate) fn clear(&self) {
        self.set_next(u32::MAX);
    }

    /// Record that the block headed by `frame`, whose record this is, is handed out.
    #[inline]
    pub(crate) fn set_allocated(&self, frame: u32, block: Allocated) {
        self.set_next(frame);
        self.set_prev(u32::from(block.order) << 1 | u32::from(block.movable));
    }

    /// The block that `frame`, whose record this is, heads, if it is an allocated one.
    #[inline]
    pub(crate) fn allocated(&self, frame: u32) -> Option<Allocated> {
        if self.next() != frame {
            return None;
        }
        let prev = self.prev();
        Some(Allocated { order: (prev >> 1) as u8, movable: prev & 1 != 0 })
    }

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
        Self::type_of(self.number())
    }

    /// The type as a number, for tables by type.
    #[inline]
    pub(crate) fn number(&self) -> u8 {
        self.0.load(Relaxed)
    }

    /// The type of a number.
    #[inline]
    pub(crate) fn type_of(number: u8) -> MigrateType {
        /// A power of two of entries, so that the mask proves the index good.
        const TYPES: [MigrateType; 8] = {
            let mut types = [MigrateType::Isolate; 8];
            let mut at = 0;
            while at < MigrateType::ALL.len() {
                types[at] = MigrateType::ALL[at];
                at += 1;
            }
            types
        };
        TYPES[usize::from(number) % TYPES.len()]
    }

    #[inline]
    pub(crate) fn set(&self, migratetype: MigrateType) {
        self.0.store(migratetype as u8, Relaxed);
    }
}

/// How the records of frames lie in [`Storage::links`](crate::Storage::links).
///
/// A record is written at each allocation and each free of its frame. Side by side, eight share a
/// cache line: a refill often gives two CPUs the buddies of one block, and from then on each of
/// their allocations takes the line from the other. Apart, no two CPUs write the same line, at 64
/// bytes a frame, which is what the kernel's `struct page` takes (docs/drains.md has the figures).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Spread {
    /// Side by side, 8 bytes a frame: for one CPU, or where memory is dearer than time.
    #[default]
    Dense,
    /// A cache line of 64 bytes for each: for CPUs that allocate pages of the same type at once.
    Apart,
}

impl Spread {
    /// Records of [`Storage::links`](crate::Storage::links) for `frames` frames.
    #[must_use]
    pub const fn records(self, frames: usize) -> usize {
        frames << self.shift()
    }

    const fn shift(self) -> u8 {
        match self {
            Self::Dense => 0,
            Self::Apart => 3,
        }
    }
}

/// The records of all frames, with how they lie.
#[derive(Clone, Copy)]
pub(crate) struct Records<'a> {
    links: &'a [Links],
    shift: u8,
}

impl<'a> Records<'a> {
    #[inline(always)]
    pub(crate) const fn new(links: &'a [Links], spread: Spread) -> Self {
        Self { links, shift: spread.shift() }
    }

    #[inline(always)]
    pub(crate) fn at(self, frame: u32) -> &'a Links {
        &self.links[(frame as usize) << (self.shift & 3)]
    }

    /// For how many frames there are records.
    pub(crate) const fn frames(self) -> usize {
        self.links.len() >> self.shift
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
                assert!(!free.is_busy() && free.is_head());
                assert_eq!((free.order(), free.migratetype()), (order, migratetype));
                let busy = Frame::busy(order, migratetype);
                assert!(!busy.is_free() && busy.is_busy() && busy.is_head());
                assert_eq!((busy.order(), busy.migratetype()), (order, migratetype));
            }
        }
        for frame in [Frame::TAIL, Frame::ABSENT, Frame::RESERVED] {
            assert!(!frame.is_head() && !frame.is_free() && !frame.is_busy());
        }
    }

    #[test]
    fn an_allocated_frame_is_linked_to_itself() {
        let record = Links::default();
        for (order, movable) in [(0, false), (0, true), (10, true), (9, false)] {
            record.set_allocated(7, Allocated { order, movable });
            assert_eq!(record.allocated(7), Some(Allocated { order, movable }));
            record.clear();
            assert_eq!(record.allocated(7), None);
        }
    }
}
