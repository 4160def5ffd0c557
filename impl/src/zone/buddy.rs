//! Splitting and merging (page_alloc.md §1.2 to §1.8).

use super::{Buddy, occupancy_bit};
use crate::{frame::Frame, vmstat::Item};
use mmspec_model::vocab::{MergeRetype, MigrateType, NR_PAGE_ORDERS};

/// Where a freed block goes on its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Placement {
    /// Head, or tail if its buddy is about to come free too (page_alloc.md §1.4).
    ByBuddy,
    /// FPI_TO_TAIL.
    Tail,
}

impl Buddy<'_> {
    /// Account `delta` pages of `migratetype` coming to (or leaving) the free lists
    /// (page_alloc.md §1.8). Pages on HighAtomic lists and in large blocks are counted where lists
    /// change.
    #[inline]
    pub(crate) fn account(&mut self, delta: i64, migratetype: MigrateType) {
        if migratetype == MigrateType::Isolate {
            return;
        }
        self.z.now.free += self.diff.add(Item::Free, delta, self.z.threshold);
        if migratetype == MigrateType::Cma {
            self.account_cma(delta);
        }
    }

    /// The CMA part of [`Buddy::account`] alone.
    pub(crate) fn account_cma(&mut self, delta: i64) {
        self.z.now.free_cma += self.diff.add(Item::FreeCma, delta, self.z.threshold);
    }

    /// Count a block that joins (`sign` 1) or leaves (−1) a list.
    #[inline]
    fn count_block(&mut self, order: u8, migratetype: MigrateType, sign: i64) {
        if order >= self.geometry.pageblock_order && migratetype != MigrateType::Isolate {
            self.z.free_pages_blocks += sign << order;
        }
        if migratetype == MigrateType::HighAtomic {
            let pages = self.z.now.free_highatomic;
            self.z.now.free_highatomic = pages.wrapping_add_signed(sign << order);
        }
    }

    /// Put a block at the head of a list.
    #[inline]
    pub(super) fn link_head(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        self.z.lists[usize::from(order)][migratetype.index()].push_head(self.tables.links, frame);
        self.linked(frame, order, migratetype);
    }

    /// Put a block at the tail of a list.
    #[inline]
    pub(super) fn link_tail(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        self.z.lists[usize::from(order)][migratetype.index()].push_tail(self.tables.links, frame);
        self.linked(frame, order, migratetype);
    }

    #[inline]
    fn linked(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        self.z.nr_free[usize::from(order)][migratetype.index()] += 1;
        self.z.now.occupancy |= occupancy_bit(usize::from(order), migratetype);
        self.count_block(order, migratetype, 1);
        self.tables.set_frame(frame, Frame::free(order, migratetype));
    }

    /// Take a free block off its list; the list's type. Its head becomes part of a larger block or
    /// gets its new state from the caller.
    #[inline]
    pub(super) fn unlink(&mut self, frame: u32, order: u8) -> MigrateType {
        let state = self.tables.frame(frame);
        debug_assert!(state.is_free_of(order), "frame {frame} is {state:?}, not free at {order}");
        let migratetype = state.migratetype();
        let list = &mut self.z.lists[usize::from(order)][migratetype.index()];
        list.unlink(self.tables.links, frame);
        if list.is_empty() {
            self.z.now.occupancy &= !occupancy_bit(usize::from(order), migratetype);
        }
        self.z.nr_free[usize::from(order)][migratetype.index()] -= 1;
        self.count_block(order, migratetype, -1);
        self.tables.set_frame(frame, Frame::TAIL);
        migratetype
    }

    /// Orders of at least `order` with blocks of a type, as bits.
    #[inline]
    pub(super) fn orders_with(&self, order: u8, migratetype: MigrateType) -> u64 {
        debug_assert!(migratetype != MigrateType::Isolate);
        const ORDERS: u64 = (1 << NR_PAGE_ORDERS) - 1;
        let all = self.z.now.occupancy >> (migratetype.index() * NR_PAGE_ORDERS) & ORDERS;
        all >> order << order
    }

    /// Give the upper halves of a block that is on no list back until `low` is left
    /// (page_alloc.md §1.5); the pages given back.
    #[inline]
    pub(super) fn expand(
        &mut self,
        frame: u32,
        low: u8,
        mut high: u8,
        migratetype: MigrateType,
    ) -> i64 {
        let total = (1 << high) - (1 << low);
        while high > low {
            high -= 1;
            self.link_head(frame + (1 << high), high, migratetype);
        }
        total
    }

    /// Take the head block of the smallest sufficient order of a type (page_alloc.md §1.6).
    #[inline]
    pub(crate) fn smallest(&mut self, order: u8, migratetype: MigrateType) -> Option<u32> {
        let orders = self.orders_with(order, migratetype);
        if orders == 0 {
            return None;
        }
        let found = orders.trailing_zeros() as u8;
        Some(self.take_and_expand(found, order, migratetype, migratetype))
    }

    /// Take the head of a list of order `found`, keep the lowest 2^`order` pages and list the rest
    /// as `rest`; one statistics update.
    #[inline]
    pub(super) fn take_and_expand(
        &mut self,
        found: u8,
        order: u8,
        list: MigrateType,
        rest: MigrateType,
    ) -> u32 {
        let frame = self.z.list(found, list).head();
        self.unlink(frame, found);
        self.expand(frame, order, found, rest);
        if self.geometry.accounts_moves {
            self.account(-(1 << order), rest);
        }
        frame
    }

    /// The buddy of a block, if it is free as a whole and in this zone (page_alloc.md §1.2).
    #[inline]
    fn free_buddy(&self, frame: u32, order: u8) -> Option<u32> {
        let buddy = frame ^ (1 << order);
        let free = self.info.contains(buddy) && self.tables.frame(buddy).is_free_of(order);
        free.then_some(buddy)
    }

    /// Free a block whose head has state TAIL: account, merge, list (page_alloc.md §1.3).
    #[inline]
    pub(crate) fn free_block(
        &mut self,
        mut frame: u32,
        mut order: u8,
        migratetype: MigrateType,
        placement: Placement,
    ) {
        debug_assert!(frame & ((1 << order) - 1) == 0, "frame {frame} is unaligned for {order}");
        self.account(1 << order, migratetype);
        let max_order = self.geometry.max_order;
        while order < max_order {
            let Some(buddy) = self.free_buddy(frame, order) else { break };
            if order >= self.geometry.pageblock_order && !self.may_merge(buddy, migratetype) {
                break;
            }
            self.unlink(buddy, order);
            if order >= self.geometry.pageblock_order {
                self.retype_merged(buddy, order, migratetype);
            }
            frame &= buddy;
            order += 1;
        }
        if placement == Placement::Tail || self.is_merge_likely(frame, order) {
            self.link_tail(frame, order, migratetype);
        } else {
            self.link_head(frame, order, migratetype);
        }
    }

    /// Whether blocks may merge across pageblocks: alike, or both of types that mix.
    fn may_merge(&self, buddy: u32, migratetype: MigrateType) -> bool {
        let other = self.tables.block_type(buddy);
        other == migratetype || (other.is_pcp_type() && migratetype.is_pcp_type())
    }

    /// Retype a merged buddy's pageblocks as the rules have it (page_alloc.md §1.3 e).
    fn retype_merged(&mut self, buddy: u32, order: u8, migratetype: MigrateType) {
        if self.tables.block_type(buddy) == migratetype {
            return;
        }
        match self.geometry.rules.merge_retype {
            MergeRetype::Never => {}
            MergeRetype::FirstBlock => self.tables.set_block_type(buddy, migratetype),
            MergeRetype::AllBlocks => self.tables.set_block_types(buddy, order, migratetype),
        }
    }

    /// Whether the block would merge twice if its buddy came free (page_alloc.md §1.4).
    #[inline]
    fn is_merge_likely(&self, frame: u32, order: u8) -> bool {
        if order + 1 >= self.geometry.max_order {
            return false;
        }
        let parent = frame & !(1 << order);
        self.free_buddy(parent, order + 1).is_some()
    }

    /// Free an allocated block past the per-CPU lists, each pageblock by its own type where the
    /// rules say so (page_alloc.md §1.16). `migratetype` overrides the pageblock's type.
    pub(crate) fn free_direct(&mut self, frame: u32, order: u8, migratetype: Option<MigrateType>) {
        let pageblock_order = self.geometry.pageblock_order;
        if order > pageblock_order && self.geometry.rules.split_large_frees {
            self.free_by_pageblock(frame, order);
            return;
        }
        let migratetype = migratetype.unwrap_or_else(|| self.tables.block_type(frame));
        self.free_block(frame, order, migratetype, Placement::ByBuddy);
    }

    /// Free a block larger than a pageblock piece by piece, ascending.
    pub(super) fn free_by_pageblock(&mut self, frame: u32, order: u8) {
        let pageblock_order = self.geometry.pageblock_order;
        for piece in (frame..frame + (1 << order)).step_by(1 << pageblock_order) {
            let migratetype = self.tables.block_type(piece);
            self.free_block(piece, pageblock_order, migratetype, Placement::ByBuddy);
        }
    }
}
