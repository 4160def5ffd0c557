//! The buddy core: lists, merge, placement, split (§1.2 to §1.8).

use super::arith::{buddy_of, merge_likely, split_pieces};
use super::{Frame, Reference};
use crate::vocab::{CpuId, KmemEvent, MergeRetype, MigrateType, Order, Pfn};

/// Where a freed block is put (§1.4).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Placement {
    /// Head, or tail if a merge is likely (FPI_NONE).
    ByRule,
    /// FPI_TO_TAIL.
    Tail,
}

impl Reference {
    /// Put a block on a list. No accounting.
    pub(super) fn list_add(
        &mut self,
        z: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
        tail: bool,
    ) {
        let zone = &mut self.zones[z];
        let list = &mut zone.lists[order.index()][migratetype.index()];
        let place = if tail { list.push_tail(pfn) } else { list.push_head(pfn) };
        zone.set_frame(pfn, Frame::Free { order, list: migratetype, place });
    }

    /// Take a free block off its list. No accounting. Its frames are nobody's until the caller
    /// says whose.
    pub(super) fn list_remove(&mut self, z: usize, pfn: Pfn) -> (Order, MigrateType) {
        let zone = &mut self.zones[z];
        let Frame::Free { order, list, place } = zone.frame(pfn) else {
            unreachable!("{pfn} heads no free block");
        };
        zone.lists[order.index()][list.index()].remove(place);
        zone.set_frame(pfn, Frame::Tail);
        (order, list)
    }

    /// Whether a free block of exactly `order` starts at `pfn` in this zone (§1.2).
    pub(super) fn is_free_block(&self, z: usize, pfn: u64, order: Order) -> bool {
        matches!(self.zones[z].frame(Pfn(pfn)), Frame::Free { order: o, .. } if o == order)
    }

    /// Free one block to the lists of `migratetype`, merging (§1.3).
    pub(super) fn free_block(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        migratetype: MigrateType,
        placement: Placement,
    ) {
        self.account(cpu, z, order.pages() as i64, migratetype);
        let max_order = self.machine.max_order;
        let mut head = pfn;
        let mut order = order;
        self.zones[z].set_frame(pfn, Frame::Tail);
        while order < max_order {
            let buddy = Pfn(buddy_of(head.0, order));
            if !self.is_free_block(z, buddy.0, order) {
                break;
            }
            if order >= self.machine.pageblock_order {
                let theirs = self.block_type(buddy);
                if theirs != migratetype && !(theirs.is_pcp_type() && migratetype.is_pcp_type()) {
                    break;
                }
                self.list_remove(z, buddy);
                if theirs != migratetype {
                    match self.rules.merge_retype {
                        MergeRetype::Never => {}
                        MergeRetype::FirstBlock => self.set_block_type(buddy, migratetype),
                        MergeRetype::AllBlocks => self.set_range_type(buddy, order, migratetype),
                    }
                }
            } else {
                self.list_remove(z, buddy);
            }
            head = Pfn(head.0 & buddy.0);
            order = Order::of(order.get() + 1);
        }
        let tail = placement == Placement::Tail
            || merge_likely(head.0, order, max_order, |pfn, order| {
                self.is_free_block(z, pfn, order)
            });
        self.list_add(z, head, order, migratetype, tail);
    }

    /// Free a block pageblock by pageblock, each with its own type (§1.16).
    pub(super) fn free_split(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        placement: Placement,
    ) {
        let piece = order.min(self.machine.pageblock_order);
        let mut at = 0;
        while at < order.pages() {
            let part = pfn.add(at);
            self.free_block(cpu, z, part, piece, self.block_type(part), placement);
            at += piece.pages();
        }
    }

    /// Split a block that was just taken off, from `from` down to `to`; the remainders go to the
    /// heads of `migratetype`'s lists (§1.5). Returns the pages put back. No accounting.
    pub(super) fn expand(
        &mut self,
        z: usize,
        pfn: Pfn,
        from: Order,
        to: Order,
        migratetype: MigrateType,
    ) -> u64 {
        for (piece, order) in split_pieces(pfn.0, from, to) {
            self.list_add(z, Pfn(piece), order, migratetype, false);
        }
        from.pages() - to.pages()
    }

    /// Take the block at `pfn`, keep its first 2^`order` pages, and account as the era does.
    pub(super) fn take_and_expand(&mut self, cpu: CpuId, z: usize, pfn: Pfn, order: Order) {
        let Frame::Free { list, .. } = self.zones[z].frame(pfn) else {
            unreachable!("{pfn} heads no free block");
        };
        self.take_and_expand_to(cpu, z, pfn, order, list);
    }

    /// As `take_and_expand`, with the rest of the block going to the lists of `rest`.
    pub(super) fn take_and_expand_to(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        rest: MigrateType,
    ) {
        let (found, list) = self.list_remove(z, pfn);
        self.took_from = list;
        self.expand(z, pfn, found, order, rest);
        if self.hygiene() {
            self.account(cpu, z, -(order.pages() as i64), rest);
        }
    }

    /// __rmqueue_smallest: the head of the first non-empty list of the type (§1.6).
    pub(super) fn take_smallest(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        migratetype: MigrateType,
    ) -> Option<Pfn> {
        let pfn = order.up_to(self.machine.max_order).find_map(|candidate| {
            self.zones[z].lists[candidate.index()][migratetype.index()].head()
        })?;
        self.take_and_expand(cpu, z, pfn, order);
        let percpu_refill = self.is_cached_order(order) && migratetype.is_pcp_type();
        self.emit(|| KmemEvent::ZoneLocked { pfn, order, migratetype, percpu_refill });
        Some(pfn)
    }

    /// Move a free block to the tail of another type's list; −n old, +n new (§1.8).
    pub(super) fn move_block(&mut self, cpu: CpuId, z: usize, pfn: Pfn, to: MigrateType) -> Order {
        let (order, from) = self.list_remove(z, pfn);
        self.list_add(z, pfn, order, to, true);
        if self.hygiene() {
            self.account(cpu, z, -(order.pages() as i64), from);
            self.account(cpu, z, order.pages() as i64, to);
        }
        order
    }

    /// Move every free block that starts in `range` to `to`'s lists; returns the pages moved.
    pub(super) fn move_free_blocks(
        &mut self,
        cpu: CpuId,
        z: usize,
        range: crate::vocab::PfnRange,
        to: MigrateType,
    ) -> u64 {
        let mut moved = 0;
        let mut at = range.start;
        while at < range.end {
            if let Frame::Free { .. } = self.zones[z].frame(at) {
                let order = self.move_block(cpu, z, at, to);
                moved += order.pages();
                at = at.add(order.pages());
            } else {
                at = at.add(1);
            }
        }
        moved
    }
}
