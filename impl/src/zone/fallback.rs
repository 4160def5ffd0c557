//! Fallback between migratetypes (page_alloc.md §1.10 to §1.12), and the watermark boost (§3.6).

use super::{Buddy, pageblock::Contents};
use crate::platform::Platform;
use mmspec_model::vocab::{AllocFlags, KmemEvent, MigrateType, Order};

/// Whose blocks a type may fall back to, in order (page_alloc.md §1.1).
const fn fallbacks(migratetype: MigrateType) -> [MigrateType; 2] {
    match migratetype {
        MigrateType::Movable => [MigrateType::Reclaimable, MigrateType::Unmovable],
        MigrateType::Reclaimable => [MigrateType::Unmovable, MigrateType::Movable],
        _ => [MigrateType::Reclaimable, MigrateType::Movable],
    }
}

/// A block that fallback found.
#[derive(Clone, Copy, Debug)]
struct Found {
    frame: u32,
    order: u8,
    /// The type of the list that it is on.
    list: MigrateType,
}

impl<P: Platform> Buddy<'_, P> {
    /// The head of the first non-empty fallback list of `order`.
    fn find(&self, order: u8, start: MigrateType) -> Option<Found> {
        let on_order = |list: &MigrateType| self.orders_with(order, *list) >> order & 1 != 0;
        let list = fallbacks(start).into_iter().find(on_order)?;
        Some(Found { frame: self.z.list(order, list).blocks.head(), order, list })
    }

    /// As [`Buddy::find`] in the smallest order of at least `order`.
    fn find_ascending(&self, order: u8, start: MigrateType) -> Option<Found> {
        let [first, second] = fallbacks(start);
        let orders = self.orders_with(order, first) | self.orders_with(order, second);
        (orders != 0).then(|| self.find(orders.trailing_zeros() as u8, start)).flatten()
    }

    /// Whether a block of `order` is worth the attempt to take its whole pageblock.
    fn is_claimable(&self, order: u8, start: MigrateType) -> bool {
        order >= self.geometry.pageblock_order / 2
            || matches!(start, MigrateType::Unmovable | MigrateType::Reclaimable)
            || !self.geometry.grouping
    }

    /// The smallest order that fallback may break.
    fn min_order(&self, order: u8, flags: AllocFlags) -> u8 {
        if flags.contains(AllocFlags::NOFRAGMENT) {
            order.max(self.geometry.pageblock_order)
        } else {
            order
        }
    }

    /// The block to fall back to up to 6.14: the largest there is, but for movable requests that
    /// would only break a small one, the smallest.
    fn find_largest(&self, order: u8, start: MigrateType, flags: AllocFlags) -> Option<Found> {
        let orders = (self.min_order(order, flags)..=self.geometry.max_order).rev();
        let largest = orders.into_iter().find_map(|order| self.find(order, start))?;
        let mixes = start == MigrateType::Movable && largest.order > order;
        if mixes && !self.is_claimable(largest.order, start) {
            return self.find_ascending(order, start);
        }
        Some(largest)
    }

    /// 6.10 to 6.14: decide first, then move.
    pub(super) fn fallback_whole(
        &mut self,
        order: u8,
        start: MigrateType,
        flags: AllocFlags,
    ) -> Option<(u32, MigrateType)> {
        let found = self.find_largest(order, start, flags)?;
        let block_type = self.tables.block_type(found.frame);
        if block_type != MigrateType::HighAtomic {
            if found.order >= self.geometry.pageblock_order {
                let frame = self.take_whole(found, block_type, order, start);
                self.trace_fallback(frame, order, found, start);
                return Some((frame, start));
            }
            self.boost(flags);
            if self.is_claimable(found.order, start)
                && let Some(frame) = self.convert(found, block_type, order, start)
            {
                self.trace_fallback(frame, order, found, start);
                return Some((frame, start));
            }
        }
        let frame = self.take_and_expand(found.order, order, found.list, block_type);
        self.trace_fallback(frame, order, found, start);
        Some((frame, block_type))
    }

    /// 6.15: claim a pageblock, from the largest blocks down.
    pub(super) fn claim(
        &mut self,
        order: u8,
        start: MigrateType,
        flags: AllocFlags,
    ) -> Option<u32> {
        for at in (self.min_order(order, flags)..=self.geometry.max_order).rev() {
            if !self.is_claimable(at, start) {
                return None;
            }
            let Some(found) = self.find(at, start) else { continue };
            let block_type = self.tables.block_type(found.frame);
            let taken = if at >= self.geometry.pageblock_order {
                Some(self.take_whole(found, block_type, order, start))
            } else {
                self.boost(flags);
                self.convert(found, block_type, order, start)
            };
            if let Some(frame) = taken {
                self.trace_fallback(frame, order, found, start);
                return taken;
            }
        }
        None
    }

    /// 6.15: take the smallest block of another type; the pageblock keeps its type.
    pub(super) fn steal(&mut self, order: u8, start: MigrateType) -> Option<(u32, MigrateType)> {
        let found = self.find_ascending(order, start)?;
        let frame = self.take_and_expand(found.order, order, found.list, found.list);
        self.trace_fallback(frame, order, found, start);
        Some((frame, found.list))
    }

    /// mm_page_alloc_extfrag: a fallback is done.
    #[inline(always)]
    fn trace_fallback(&self, frame: u32, order: u8, found: Found, start: MigrateType) {
        P::trace(|| KmemEvent::ExtFrag {
            pfn: self.geometry.pfn(frame),
            alloc_order: Order::of(order),
            fallback_order: Order::of(found.order),
            alloc_migratetype: start,
            fallback_migratetype: found.list,
            change_ownership: self.tables.block_type(frame) == start,
        });
    }

    /// Take a block of at least a pageblock and retype all of it.
    fn take_whole(
        &mut self,
        found: Found,
        block_type: MigrateType,
        order: u8,
        start: MigrateType,
    ) -> u32 {
        self.unlink(found.frame, found.order);
        if self.geometry.accounts_moves {
            self.account(-(1 << found.order), block_type);
        }
        self.tables.set_block_types(found.frame, found.order, start);
        let rest = self.expand(found.frame, order, found.order, start);
        if self.geometry.accounts_moves {
            self.account(rest, start);
        }
        found.frame
    }

    /// Whether enough of a pageblock is free or of the kind of `start` to retype it (half rule).
    fn is_mostly(&self, contents: Contents, block_type: MigrateType, start: MigrateType) -> bool {
        let pages = self.geometry.pageblock_pages();
        let alike = if start == MigrateType::Movable {
            contents.movable
        } else if block_type == MigrateType::Movable {
            pages.saturating_sub(contents.free + contents.movable)
        } else {
            0
        };
        contents.free + alike >= pages / 2 || !self.geometry.grouping
    }

    /// Retype the pageblock of a block if the half rule holds, then take from the own lists.
    fn convert(
        &mut self,
        found: Found,
        block_type: MigrateType,
        order: u8,
        start: MigrateType,
    ) -> Option<u32> {
        let range = self.movable_range(found.frame)?;
        if !self.is_mostly(self.contents(range), block_type, start) {
            return None;
        }
        self.move_free_blocks(range, block_type, start);
        self.tables.set_block_type(found.frame, start);
        self.smallest(order, start)
    }

    /// 6.1 to 6.6: move blocks to the wanted lists first, decide on the pageblock's type after.
    /// Whether there is something on the wanted lists now.
    pub(super) fn fallback_move(
        &mut self,
        order: u8,
        start: MigrateType,
        flags: AllocFlags,
    ) -> bool {
        let Some(found) = self.find_largest(order, start, flags) else { return false };
        let block_type = self.tables.block_type(found.frame);
        let mut moved = false;
        if block_type != MigrateType::HighAtomic {
            if found.order >= self.geometry.pageblock_order {
                self.tables.set_block_types(found.frame, found.order, start);
            } else {
                self.boost(flags);
                if self.is_claimable(found.order, start) {
                    moved = self.move_then_retype(found, block_type, start);
                }
            }
        }
        if !moved {
            self.move_block(found.frame, found.order, block_type, start);
        }
        self.trace_fallback(found.frame, order, found, start);
        true
    }

    /// Move all of a pageblock's free blocks, then retype it if the half rule holds. False if the
    /// pageblock cannot be moved.
    fn move_then_retype(
        &mut self,
        found: Found,
        block_type: MigrateType,
        start: MigrateType,
    ) -> bool {
        let Some(range) = self.movable_range(found.frame) else { return false };
        let contents = self.contents(range);
        if self.move_free_blocks(range, block_type, start) == 0 {
            return false;
        }
        if self.is_mostly(contents, block_type, start) {
            self.tables.set_block_type(found.frame, start);
        }
        true
    }

    /// Raise the watermarks for a while, so that kswapd frees a pageblock's worth
    /// (page_alloc.md §3.6).
    fn boost(&mut self, flags: AllocFlags) {
        let pageblock = u64::from(self.geometry.pageblock_pages());
        let off = self.z.boost_factor == 0 || !self.geometry.rules.boost;
        if off || 4 * pageblock > self.info.managed {
            return;
        }
        let max = super::watermark::mult_frac(
            self.z.now.rare().high,
            u64::from(self.z.boost_factor),
            10_000,
        );
        if max == 0 {
            return;
        }
        self.z.now.rare_mut().boost = (self.z.now.rare().boost + pageblock).min(max.max(pageblock));
        if flags.contains(AllocFlags::KSWAPD) {
            self.z.now.rare_mut().boosted = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fallback_order_is_that_of_the_table() {
        use MigrateType::{Movable, Reclaimable, Unmovable};
        assert_eq!(fallbacks(Unmovable), [Reclaimable, Movable]);
        assert_eq!(fallbacks(Movable), [Reclaimable, Unmovable]);
        assert_eq!(fallbacks(Reclaimable), [Unmovable, Movable]);
    }
}
