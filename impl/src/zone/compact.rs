//! What compaction does to the free lists: isolate a free block, go along a list, turn a list so that
//! others come first, and divert a block on its way to the lists (compaction.md §1.7, §1.13, §2.2).

use super::{Buddy, LockedZone, Zone};
use crate::{frame::Frame, platform::Platform};
use mmspec_model::vocab::{AllocFlags, Mark, MigrateType, Rules, ZoneKind};

impl<P: Platform> Zone<P> {
    /// Whether 2^`order` pages may be isolated with `free` pages left: an order-0 check of MIN and so
    /// many pages for the lowest zone, CMA counted.
    fn may_isolate(&self, rules: &Rules, order: u8, boosted: bool, free: i64) -> bool {
        let boost = if boosted { self.boost() } else { 0 };
        let check = super::Check {
            order: 0,
            mark: Mark::Min,
            extra: 1 << order,
            highest: ZoneKind::Dma,
            flags: AllocFlags::CMA,
        };
        self.is_ok(rules, &check, self.base_mark(Mark::Min) + boost + check.extra, free)
    }
}

impl<P: Platform> LockedZone<'_, P> {
    /// Take a free block off its list for compaction (`__isolate_free_page`); false if the watermark
    /// refuses. The caller puts it on a list of its own.
    pub(crate) fn isolate_free(&mut self, frame: u32, order: u8, boosted: bool) -> bool {
        let rules = self.tables.geometry.rules;
        let free = self.lists.now.free.max(0);
        let block_type = self.tables.block_type(frame);
        if block_type != MigrateType::Isolate
            && !self.zone.may_isolate(&rules, order, boosted, free)
        {
            return false;
        }
        self.buddy().take_free(frame, order, block_type);
        true
    }
}

impl Buddy<'_> {
    /// Take a free block off its list and the count. Pageblocks that it fills, or half of one, become
    /// Movable.
    fn take_free(&mut self, frame: u32, order: u8, block_type: MigrateType) {
        let list = self.unlink(frame, order);
        let accounted = if self.geometry.accounts_moves { list } else { block_type };
        self.account(-(1 << order), accounted);
        let pageblock_order = self.geometry.pageblock_order;
        if order + 1 >= pageblock_order {
            let end = frame + (1 << order);
            for start in (frame..end).step_by(1 << pageblock_order) {
                if self.tables.block_type(start).is_pcp_type() {
                    self.tables.set_block_type(start, MigrateType::Movable);
                }
            }
        }
        self.tables.set_frame(frame, Frame::busy(order, self.tables.block_type(frame)));
    }

    /// The last block of a list.
    pub(crate) fn list_tail(&self, order: u8, migratetype: MigrateType) -> Option<u32> {
        let list = &self.z.list(order, migratetype).blocks;
        (!list.is_empty()).then(|| list.tail())
    }

    /// The first block of a list.
    pub(crate) fn list_head(&self, order: u8, migratetype: MigrateType) -> Option<u32> {
        let list = &self.z.list(order, migratetype).blocks;
        (!list.is_empty()).then(|| list.head())
    }

    /// The block before one on a list, and the one after it.
    pub(crate) fn neighbours(
        &self,
        frame: u32,
        order: u8,
        migratetype: MigrateType,
    ) -> (Option<u32>, Option<u32>) {
        let list = &self.z.list(order, migratetype).blocks;
        let record = self.tables.links.at(frame);
        let before = (frame != list.head()).then(|| record.prev());
        let after = (frame != list.tail()).then(|| record.next());
        (before, after)
    }

    /// Turn a list so that `frame` is its first: [a, e, b] becomes [e, b, a] (`move_freelist_head`).
    pub(crate) fn turn_to_head(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        let links = self.tables.links;
        self.z.list_mut(order, migratetype).blocks.turn_to_head(links, frame);
    }

    /// Turn a list so that `frame` is its last: [a, e, b] becomes [b, a, e] (`move_freelist_tail`).
    pub(crate) fn turn_to_tail(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        let links = self.tables.links;
        self.z.list_mut(order, migratetype).blocks.turn_to_tail(links, frame);
    }

    /// Merge a block, unless a compactor of this CPU captures it on the way: then it is on no list and
    /// not counted. The block that is to be listed.
    #[cold]
    pub(super) fn merge_or_capture(
        &mut self,
        mut frame: u32,
        mut order: u8,
        migratetype: MigrateType,
    ) -> Option<(u32, u8)> {
        self.tables.set_frame(frame, Frame::TAIL);
        while order < self.geometry.max_order {
            if self.diff.capture.takes(order, migratetype, self.geometry.pageblock_order) {
                self.account(-(1 << order), migratetype);
                self.tables.set_frame(frame, Frame::busy(order, migratetype));
                self.tables.links.at(frame).clear();
                self.diff.capture.fill(frame);
                return None;
            }
            match self.merge_once(frame, order, migratetype) {
                Some(merged) => (frame, order) = (merged, order + 1),
                None => break,
            }
        }
        Some((frame, order))
    }
}
