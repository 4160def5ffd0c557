//! The high-order atomic reserve (page_alloc.md §1.13).

use super::Buddy;
use crate::platform::Platform;
use mmspec_model::vocab::{HighatomicLimit, MigrateType};

impl<P: Platform> Buddy<'_, P> {
    /// Most pages that the reserve may hold; `None` in zones too small for one.
    pub(crate) fn highatomic_limit(
        rule: HighatomicLimit,
        managed: u64,
        pageblock_pages: u64,
    ) -> Option<u64> {
        let percent = managed / 100;
        match rule {
            HighatomicLimit::NoReserve => None,
            HighatomicLimit::PlusOneBlock => Some(percent + pageblock_pages),
            HighatomicLimit::RoundedUp => {
                (percent >= pageblock_pages).then(|| percent.next_multiple_of(pageblock_pages))
            }
        }
    }

    /// Reserve the pageblock of a block just handed out.
    pub(crate) fn reserve_highatomic(&mut self, frame: u32, order: u8, limit: u64) {
        let pageblock = u64::from(self.geometry.pageblock_pages());
        let block_type = self.tables.block_type(frame);
        if self.z.now.rare().reserved_highatomic >= limit || !block_type.is_pcp_type() {
            return;
        }
        let highatomic = MigrateType::HighAtomic;
        let all = self.geometry.rules.highatomic_limit == HighatomicLimit::RoundedUp;
        if all && order >= self.geometry.pageblock_order {
            self.tables.set_block_types(frame, order, highatomic);
            self.z.now.rare_mut().reserved_highatomic += 1 << order;
            return;
        }
        let range = self.movable_range(frame);
        if range.is_none() && self.geometry.rules.refuse_straddling {
            return;
        }
        if let Some(range) = range {
            self.move_free_blocks(range, block_type, highatomic);
        }
        self.tables.set_block_type(frame, highatomic);
        self.z.now.rare_mut().reserved_highatomic += pageblock;
    }

    /// Give one reserved pageblock (or larger block) back to `migratetype`; whether anything moved.
    pub(crate) fn unreserve_highatomic(&mut self, migratetype: MigrateType, force: bool) -> bool {
        let pageblock = u64::from(self.geometry.pageblock_pages());
        if !force && self.z.now.rare().reserved_highatomic <= pageblock {
            return false;
        }
        let highatomic = MigrateType::HighAtomic;
        for order in 0..=self.geometry.max_order {
            let list = self.z.list(order, highatomic).blocks;
            if list.is_empty() {
                continue;
            }
            let frame = list.head();
            let size = pageblock.max(1 << order).min(self.z.now.rare().reserved_highatomic);
            self.z.now.rare_mut().reserved_highatomic -= size;
            let moved = if order < self.geometry.pageblock_order {
                let moved = self
                    .movable_range(frame)
                    .map_or(0, |range| self.move_free_blocks(range, highatomic, migratetype));
                self.tables.set_block_type(frame, migratetype);
                moved
            } else {
                self.move_block(frame, order, highatomic, migratetype);
                self.tables.set_block_types(frame, order, migratetype);
                1 << order
            };
            if moved > 0 {
                return true;
            }
        }
        false
    }
}
