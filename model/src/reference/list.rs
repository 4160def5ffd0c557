//! A free list: blocks in order, with removal from the middle.

use crate::vocab::Pfn;
use alloc::collections::BTreeMap;

/// Blocks by place. The head is the lowest place, the tail the highest.
#[derive(Clone, Default, Debug)]
pub(super) struct FreeList {
    blocks: BTreeMap<i64, Pfn>,
}

impl FreeList {
    /// Put `pfn` at the head; returns its place.
    pub(super) fn push_head(&mut self, pfn: Pfn) -> i64 {
        let place = self.blocks.first_key_value().map_or(0, |(first, _)| first - 1);
        self.blocks.insert(place, pfn);
        place
    }

    /// Put `pfn` at the tail; returns its place.
    pub(super) fn push_tail(&mut self, pfn: Pfn) -> i64 {
        let place = self.blocks.last_key_value().map_or(0, |(last, _)| last + 1);
        self.blocks.insert(place, pfn);
        place
    }

    /// The block at the head.
    pub(super) fn head(&self) -> Option<Pfn> {
        self.blocks.first_key_value().map(|(_, pfn)| *pfn)
    }

    /// Take out the block at `place`.
    pub(super) fn remove(&mut self, place: i64) {
        self.blocks.remove(&place);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// The blocks, head first.
    pub(super) fn iter(&self) -> impl Iterator<Item = Pfn> + '_ {
        self.blocks.values().copied()
    }
}
