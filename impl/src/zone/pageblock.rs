//! Pageblocks as a whole: counting what is in one, moving its free blocks to another type.

use super::Buddy;
use crate::platform::Platform;
use mmspec_model::vocab::MigrateType;

/// The part of a pageblock that a move works on.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockRange {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What a pageblock holds, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contents {
    pub(super) free: u32,
    pub(super) movable: u32,
}

impl<P: Platform> Buddy<'_, P> {
    /// The pageblock of `pivot` as far as it may be moved; `None` if it may not. A pageblock that
    /// straddles the zone's edge is refused (6.10), or cut: where it starts before the zone the
    /// range begins at the pivot itself (bug P14), where it ends behind the zone nothing moves
    /// (the latter from memory of 6.6).
    pub(super) fn movable_range(&self, pivot: u32) -> Option<BlockRange> {
        let pages = self.geometry.pageblock_pages();
        let start = self.geometry.pageblock_start(pivot);
        if self.info.contains_run(start, pages) {
            return Some(BlockRange { start, end: start + pages });
        }
        if self.geometry.rules.refuse_straddling || !self.info.contains(start + (pages - 1)) {
            return None;
        }
        Some(BlockRange { start: pivot, end: start + pages })
    }

    /// Free pages in a range, and pages that were asked for as movable (page_alloc.md §1.10).
    /// Pages on per-CPU lists are neither.
    pub(super) fn contents(&self, range: BlockRange) -> Contents {
        let mut contents = Contents { free: 0, movable: 0 };
        let mut frame = range.start;
        while frame < range.end {
            let state = self.tables.frame(frame);
            if !state.is_head() {
                frame += 1;
                continue;
            }
            let pages = 1 << state.order();
            if state.is_free() {
                contents.free += pages;
            } else if self.is_movable(frame) {
                contents.movable += pages.min(range.end - frame);
            }
            frame += pages;
        }
        contents
    }

    /// Whether a busy block is allocated and was asked for as movable.
    fn is_movable(&self, frame: u32) -> bool {
        self.tables.links.at(frame).allocated(frame).is_some_and(|block| block.movable)
    }

    /// Move one free block to the tail of the list of its order and the type `to`; `from` is the
    /// type to account it off.
    pub(super) fn move_block(&mut self, frame: u32, order: u8, from: MigrateType, to: MigrateType) {
        self.unlink(frame, order);
        self.link_tail(frame, order, to);
        if self.geometry.accounts_moves {
            self.account(-(1 << order), from);
            self.account(1 << order, to);
        }
    }

    /// Move the free blocks in a range to the lists of `to`, ascending; the pages moved.
    pub(super) fn move_free_blocks(
        &mut self,
        range: BlockRange,
        from: MigrateType,
        to: MigrateType,
    ) -> u32 {
        let (mut frame, mut moved) = (range.start, 0);
        while frame < range.end {
            let state = self.tables.frame(frame);
            let pages = if state.is_head() { 1 << state.order() } else { 1 };
            if state.is_free() {
                self.move_block(frame, state.order(), from, to);
                moved += pages;
            }
            frame += pages;
        }
        moved
    }

    /// The free block that covers the start of a pageblock and is larger than it, if there is one.
    pub(super) fn larger_free_block(&self, start: u32) -> Option<(u32, u8)> {
        (self.geometry.pageblock_order + 1..=self.geometry.max_order).find_map(|order| {
            let head = start & !((1 << order) - 1);
            let free = self.info.contains(head) && self.tables.frame(head).is_free_of(order);
            free.then_some((head, order))
        })
    }
}
