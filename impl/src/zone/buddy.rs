//! Splitting and merging (page_alloc.md §1.2 to §1.8).

use super::Buddy;
use crate::{frame::Frame, list::List, vmstat::Item};
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

    /// As many steps of [`Buddy::account`].
    #[inline(never)]
    pub(crate) fn account_steps(&mut self, delta: i64, steps: u32, migratetype: MigrateType) {
        let threshold = self.z.threshold;
        match migratetype {
            MigrateType::Isolate => {}
            MigrateType::Cma => (0..steps).for_each(|_| self.account(delta, migratetype)),
            _ => self.z.now.free += self.diff.add_steps(Item::Free, delta, steps, threshold),
        }
    }

    /// The CMA part of [`Buddy::account`] alone.
    pub(crate) fn account_cma(&mut self, delta: i64) {
        self.z.now.rare_mut().free_cma += self.diff.add(Item::FreeCma, delta, self.z.threshold);
    }

    /// Count blocks that join a list, or leave it if there are less than none.
    #[inline(always)]
    fn count_block(&mut self, order: u8, migratetype: MigrateType, blocks: i64) {
        if order >= self.geometry.pageblock_order || migratetype == MigrateType::HighAtomic {
            self.count_special(order, migratetype, blocks);
        }
    }

    #[inline(never)]
    fn count_special(&mut self, order: u8, migratetype: MigrateType, blocks: i64) {
        if order >= self.geometry.pageblock_order && migratetype != MigrateType::Isolate {
            self.z.free_pages_blocks += blocks << order;
        }
        if migratetype == MigrateType::HighAtomic {
            let pages = self.z.now.rare().free_highatomic;
            self.z.now.rare_mut().free_highatomic = pages.wrapping_add_signed(blocks << order);
        }
    }

    /// Put a block at the head of a list.
    #[inline(always)]
    pub(super) fn link_head(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        let list = self.z.list_mut(order, migratetype);
        list.nr_free += 1;
        list.blocks.push_head(self.tables.links, frame);
        let bit = list.bit;
        self.linked(frame, order, migratetype, bit);
    }

    /// Put a block at the tail of a list.
    #[inline(always)]
    pub(super) fn link_tail(&mut self, frame: u32, order: u8, migratetype: MigrateType) {
        let list = self.z.list_mut(order, migratetype);
        list.nr_free += 1;
        list.blocks.push_tail(self.tables.links, frame);
        let bit = list.bit;
        self.linked(frame, order, migratetype, bit);
    }

    #[inline(always)]
    fn linked(&mut self, frame: u32, order: u8, migratetype: MigrateType, bit: u32) {
        self.z.now.occupancy |= 1 << bit;
        self.count_block(order, migratetype, 1);
        self.tables.set_frame(frame, Frame::free(order, migratetype));
    }

    /// Take a free block off its list; the list's type. Its head becomes part of a larger block or
    /// gets its new state from the caller.
    #[inline]
    pub(super) fn unlink(&mut self, frame: u32, order: u8) -> MigrateType {
        let state = self.tables.frame(frame);
        debug_assert!(state.is_free_of(order), "frame {frame} is {state:?}, not free at {order}");
        self.unlink_from(frame, order, state.migratetype())
    }

    /// The same for a block on the list of a known type.
    #[inline(always)]
    fn unlink_from(&mut self, frame: u32, order: u8, migratetype: MigrateType) -> MigrateType {
        let list = self.z.list_mut(order, migratetype);
        list.nr_free -= 1;
        list.blocks.unlink(self.tables.links, frame);
        if list.nr_free == 0 {
            self.z.now.occupancy &= !(1 << list.bit);
        }
        self.count_block(order, migratetype, -1);
        self.tables.set_frame(frame, Frame::TAIL);
        migratetype
    }

    /// Take the head of a list that is not empty.
    #[inline(always)]
    fn pop(&mut self, order: u8, migratetype: MigrateType) -> u32 {
        let list = self.z.list_mut(order, migratetype);
        let frame = list.blocks.head();
        list.blocks.pop_head(self.tables.links);
        list.nr_free -= 1;
        if list.nr_free == 0 {
            self.z.now.occupancy &= !(1 << list.bit);
        }
        self.count_block(order, migratetype, -1);
        frame
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
    #[inline(always)]
    pub(super) fn take_and_expand(
        &mut self,
        found: u8,
        order: u8,
        list: MigrateType,
        rest: MigrateType,
    ) -> u32 {
        let frame = self.pop(found, list);
        self.tables.set_frame(frame, Frame::TAIL);
        self.expand(frame, order, found, rest);
        if self.geometry.accounts_moves {
            self.account(-(1 << order), rest);
        }
        frame
    }

    /// Take up to `most` blocks of one of the pcp types as if one by one, each from the smallest
    /// sufficient order, as long as its own lists have any; they go to the tail of `to`, busy. How
    /// many they are.
    ///
    /// A block that is split serves the following requests too, from its lowest page upwards: no
    /// smaller one was free. So its pieces need not be listed in between, and what is left of it in
    /// the end makes one block for each order.
    pub(crate) fn take_run(
        &mut self,
        order: u8,
        migratetype: MigrateType,
        most: u32,
        to: &mut List,
    ) -> u32 {
        let (links, frames) = (self.tables.links, self.tables.frames);
        let busy = Frame::busy(order, migratetype);
        let mut taken = 0;
        while taken < most {
            let orders = self.orders_with(order, migratetype);
            if orders == 0 {
                break;
            }
            let found = orders.trailing_zeros() as u8;
            if found == order {
                // They lie in a chain already.
                let list = self.z.list_mut(order, migratetype);
                let set_busy = |frame: u32| frames[frame as usize].set(busy);
                let count = to.splice_tail(links, &mut list.blocks, most - taken, set_busy);
                list.nr_free -= count;
                if list.nr_free == 0 {
                    self.z.now.occupancy &= !(1 << list.bit);
                }
                self.count_block(order, migratetype, -i64::from(count));
                taken += count;
                continue;
            }
            let block = self.pop(found, migratetype);
            let pieces = 1 << (found - order);
            let wanted = pieces.min(most - taken);
            let (last, step) = (block + ((wanted - 1) << order), 1 << order);
            let mut piece = block;
            while piece <= last {
                frames[piece as usize].set(busy);
                piece += step;
            }
            to.push_tail_run(links, block, last, step);
            let mut left = wanted;
            while left < pieces {
                let above = left.trailing_zeros() as u8;
                self.link_head(block + (left << order), order + above, migratetype);
                left += 1 << above;
            }
            taken += wanted;
        }
        if self.geometry.accounts_moves {
            self.account_steps(-(1 << order), taken, migratetype);
        }
        taken
    }

    /// The buddy of a block, if it is free as a whole and in this zone (page_alloc.md §1.2).
    #[inline(always)]
    fn free_buddy(&self, frame: u32, order: u8) -> Option<(u32, Frame)> {
        let buddy = frame ^ (1 << order);
        if !self.info.contains_near(buddy) {
            return None;
        }
        let state = self.tables.frame(buddy);
        state.is_free_of(order).then_some((buddy, state))
    }

    /// Free a block whose head has state TAIL: account, merge, list (page_alloc.md §1.3).
    pub(crate) fn free_block(
        &mut self,
        frame: u32,
        order: u8,
        migratetype: MigrateType,
        placement: Placement,
    ) {
        self.account(1 << order, migratetype);
        self.merge(frame, order, migratetype, placement);
    }

    /// Free 2^`group` blocks from a per-CPU list, side by side, with the type of their pageblock or
    /// (not `reread`) the one that the first remembers. How many of them are still to be accounted,
    /// to any of the types that requests ask for.
    ///
    /// They make up an aligned block of one pageblock, and come free as if one by one, upwards or
    /// downwards. What they merge to in between has its buddy among them, and is gone from the lists
    /// in the end: only the whole block remains.
    #[inline(always)]
    pub(crate) fn free_group(&mut self, lowest: u32, order: u8, group: u8, reread: bool) -> u32 {
        let migratetype = if reread {
            self.tables.block_type(lowest)
        } else {
            self.tables.frame(lowest).migratetype()
        };
        for at in 1..1 << group {
            self.tables.set_frame(lowest + (at << order), Frame::TAIL);
        }
        let mut steps = 1 << group;
        if !migratetype.is_pcp_type() {
            self.account_steps(1 << order, steps, migratetype);
            steps = 0;
        }
        self.merge(lowest, order + group, migratetype, Placement::ByBuddy);
        steps
    }

    /// Merge a block with its buddies and list what comes of it. Most blocks find their buddy busy.
    #[inline(always)]
    fn merge(&mut self, frame: u32, order: u8, migratetype: MigrateType, placement: Placement) {
        debug_assert!(frame & ((1 << order) - 1) == 0, "frame {frame} is unaligned for {order}");
        let (frame, order) = if self.diff.capture.is_armed() {
            match self.merge_or_capture(frame, order, migratetype) {
                Some(block) => block,
                None => return,
            }
        } else if order < self.geometry.max_order && self.free_buddy(frame, order).is_some() {
            self.merge_on(frame, order, migratetype)
        } else {
            (frame, order)
        };
        if placement == Placement::Tail || self.is_merge_likely(frame, order) {
            self.link_tail(frame, order, migratetype);
        } else {
            self.link_head(frame, order, migratetype);
        }
    }

    /// Take the buddies off their lists as long as they are free; the block that comes of it.
    #[inline(never)]
    fn merge_on(&mut self, mut frame: u32, mut order: u8, migratetype: MigrateType) -> (u32, u8) {
        self.tables.set_frame(frame, Frame::TAIL);
        while order < self.geometry.max_order {
            let Some(merged) = self.merge_once(frame, order, migratetype) else { break };
            (frame, order) = (merged, order + 1);
        }
        (frame, order)
    }

    /// Merge a block below the largest order with its buddy, if that may be; where the whole begins.
    #[inline(always)]
    pub(super) fn merge_once(
        &mut self,
        frame: u32,
        order: u8,
        migratetype: MigrateType,
    ) -> Option<u32> {
        let (buddy, state) = self.free_buddy(frame, order)?;
        if order >= self.geometry.pageblock_order && !self.may_merge(buddy, migratetype) {
            return None;
        }
        self.unlink_from(buddy, order, state.migratetype());
        if order >= self.geometry.pageblock_order {
            self.retype_merged(buddy, order, migratetype);
        }
        Some(frame & buddy)
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
    #[inline(always)]
    fn is_merge_likely(&self, frame: u32, order: u8) -> bool {
        if order + 1 >= self.geometry.max_order {
            return false;
        }
        let parent = frame & !(1 << order);
        self.free_buddy(parent, order + 1).is_some()
    }

    /// Free an allocated block past the per-CPU lists, each pageblock by its own type where the
    /// rules say so (page_alloc.md §1.16). `migratetype` overrides the pageblock's type.
    #[inline(always)]
    pub(crate) fn free_direct(&mut self, frame: u32, order: u8, migratetype: Option<MigrateType>) {
        let pageblock_order = self.geometry.pageblock_order;
        if order > pageblock_order && self.geometry.rules.split_large_frees {
            self.free_by_pageblock(frame, order);
            return;
        }
        let migratetype = migratetype.unwrap_or_else(|| self.tables.block_type(frame));
        self.account(1 << order, migratetype);
        self.merge(frame, order, migratetype, Placement::ByBuddy);
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
