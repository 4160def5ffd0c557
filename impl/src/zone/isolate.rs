//! Isolation of pageblocks (page_alloc.md §1.15).

use super::{Buddy, Placement, pageblock::BlockRange};
use crate::frame::Frame;
use crate::platform::Platform;
use mmspec_model::vocab::{MigrateType, Pfn};

impl<P: Platform> Buddy<'_, P> {
    /// Isolate the pageblock that starts at `start`. False if it is isolated already, straddles
    /// the zone, holds frames that are not managed, or an allocated one that is not `movable`.
    pub(crate) fn isolate(&mut self, start: u32, movable: &dyn Fn(Pfn) -> bool) -> bool {
        let pages = self.geometry.pageblock_pages();
        let old = self.tables.block_type(start);
        if old == MigrateType::Isolate
            || !self.info.contains_run(start, pages)
            || !self.can_move_all(BlockRange { start, end: start + pages }, movable)
        {
            return false;
        }
        self.retype_isolation(start, old, MigrateType::Isolate);
        self.z.nr_isolate += 1;
        true
    }

    /// Undo [`Buddy::isolate`], with the type to restore. False if it is not isolated.
    pub(crate) fn unisolate(&mut self, start: u32, migratetype: MigrateType) -> bool {
        if self.tables.block_type(start) != MigrateType::Isolate {
            return false;
        }
        match self.mergeable_isolated_block(start) {
            Some(order) => {
                self.unlink(start, order);
                self.tables.set_block_type(start, migratetype);
                self.free_block(start, order, migratetype, Placement::Tail);
            }
            None => self.retype_isolation(start, MigrateType::Isolate, migratetype),
        }
        self.z.nr_isolate -= 1;
        true
    }

    /// The order of the free block at `start` if it is just the pageblock and could merge with a
    /// buddy that is not isolated. A larger one holds other isolated pageblocks, which must stay
    /// (decisions.md, 24).
    fn mergeable_isolated_block(&self, start: u32) -> Option<u8> {
        let state = self.tables.frame(start);
        let order = state.order();
        if !state.is_free()
            || order != self.geometry.pageblock_order
            || order >= self.geometry.max_order
        {
            return None;
        }
        let buddy = start ^ (1 << order);
        let mergeable = self.info.contains(buddy)
            && self.tables.frame(buddy).is_free_of(order)
            && self.tables.block_type(buddy) != MigrateType::Isolate;
        mergeable.then_some(order)
    }

    /// Change a pageblock's type from or to Isolate with its free pages. A free block that is
    /// larger than the pageblock is cut and freed piece by piece.
    fn retype_isolation(&mut self, start: u32, from: MigrateType, to: MigrateType) {
        if let Some((head, order)) = self.larger_free_block(start) {
            self.unlink(head, order);
            self.account(-(1 << order), self.tables.block_type(head));
            self.tables.set_block_type(start, to);
            self.free_by_pageblock(head, order);
            return;
        }
        let range = BlockRange { start, end: start + self.geometry.pageblock_pages() };
        let moved = i64::from(self.move_free_blocks(range, from, to));
        self.tables.set_block_type(start, to);
        if !self.geometry.accounts_moves {
            self.account(-moved, from);
            self.account(moved, to);
        }
    }

    /// Whether every frame of a range is managed and every allocated one `movable`.
    fn can_move_all(&self, range: BlockRange, movable: &dyn Fn(Pfn) -> bool) -> bool {
        let mut frame = range.start;
        while frame < range.end {
            // Only the first block can have its head before the range.
            let Some((head, state)) = self.block_around(frame) else { return false };
            let end = (head + (1 << state.order())).min(range.end);
            let allocated = state.is_busy() && self.tables.links.at(head).allocated(head).is_some();
            if allocated && !(frame..end).all(|at| movable(self.geometry.pfn(at))) {
                return false;
            }
            frame = end;
        }
        true
    }

    /// The head of the block that holds `frame`, and its state; `None` for frames in no block.
    pub(super) fn block_around(&self, frame: u32) -> Option<(u32, Frame)> {
        (0..=self.geometry.max_order).find_map(|order| {
            let head = frame & !((1 << order) - 1);
            let state = self.info.contains(head).then(|| self.tables.frame(head))?;
            (state.is_head() && frame - head < 1 << state.order()).then_some((head, state))
        })
    }
}
