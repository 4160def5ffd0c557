//! Memory failure: one page leaves a free block for good (§1.17, D74).

use super::{Frame, Reference};
use crate::contract::MemoryFailure;
use crate::vocab::{CpuId, Order, Pfn};

impl MemoryFailure for Reference {
    fn take_page_off(&mut self, cpu: CpuId, pfn: Pfn) -> bool {
        let Some(z) = self.zone_at(pfn) else { return false };
        let Some((mut head, mut order)) = self.free_block_around(z, pfn) else { return false };
        let migratetype = self.block_type(head);
        self.list_remove(z, head);
        while order > Order::ZERO {
            order = Order::of(order.get() - 1);
            let upper = head.add(order.pages());
            // The half without the page is free again; the other is cut further.
            let free = if pfn < upper { upper } else { head };
            self.list_add(z, free, order, migratetype, false);
            if pfn >= upper {
                head = upper;
            }
        }
        self.account(cpu, z, -1, migratetype);
        self.zones[z].set_frame(pfn, Frame::Allocated { order: Order::ZERO, movable: false });
        true
    }
}
