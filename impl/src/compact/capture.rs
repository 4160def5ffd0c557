//! The record by which a compactor gets the block that it makes before others do (compaction.md §1.13).

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use mmspec_model::vocab::MigrateType;

/// What a compactor on a CPU waits for in a zone, and what it got. Written and read under the zone lock
/// only: a record is never seen half made, and none is filled after it was withdrawn.
#[derive(Debug, Default)]
pub(crate) struct Capture(AtomicU64);

impl Capture {
    const ARMED: u64 = 1 << 63;
    const FILLED: u64 = 1 << 62;
    /// The requester's own pages are movable, and the rules let it have Movable pageblocks' parts.
    const TAKES_MOVABLE: u64 = 1 << 61;

    /// Publish: a block of `order` is wanted.
    pub(crate) fn arm(&self, order: u8, takes_movable: bool) {
        let movable = if takes_movable { Self::TAKES_MOVABLE } else { 0 };
        self.0.store(Self::ARMED | movable | u64::from(order), Relaxed);
    }

    /// Withdraw; the block that was captured.
    pub(crate) fn withdraw(&self) -> Option<u32> {
        let word = self.0.swap(0, Relaxed);
        (word & Self::FILLED != 0).then_some(word as u32)
    }

    /// Whether a record is published and empty.
    #[inline]
    pub(crate) fn is_armed(&self) -> bool {
        self.0.load(Relaxed) & Self::ARMED != 0
    }

    /// Whether a block that is being freed is what is waited for.
    pub(crate) fn takes(&self, order: u8, migratetype: MigrateType, pageblock_order: u8) -> bool {
        let word = self.0.load(Relaxed);
        if word & Self::ARMED == 0 || word as u8 != order {
            return false;
        }
        match migratetype {
            MigrateType::Cma | MigrateType::Isolate => false,
            // A part of a movable pageblock would let other types in.
            MigrateType::Movable => order >= pageblock_order || word & Self::TAKES_MOVABLE != 0,
            _ => true,
        }
    }

    /// Put the block in.
    pub(crate) fn fill(&self, frame: u32) {
        self.0.store(Self::FILLED | u64::from(frame), Relaxed);
    }
}
