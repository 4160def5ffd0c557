//! Pageblock isolation (§1.15, D23, D24).

use super::arith::buddy_of;
use super::buddy::Placement;
use super::{Frame, Reference};
use crate::contract::Isolation;
use crate::vocab::{CpuId, MigrateType, Order, Pfn, PfnRange};

impl Reference {
    /// The type that a request or an un-isolation really gets (§1.1).
    pub(super) fn request_type(&self, migratetype: MigrateType) -> MigrateType {
        if !self.grouping && migratetype.is_pcp_type() {
            MigrateType::Unmovable
        } else {
            migratetype
        }
    }

    /// The free block that contains `pfn`, wherever it starts.
    pub(super) fn free_block_around(&self, z: usize, pfn: Pfn) -> Option<(Pfn, Order)> {
        Order::ZERO.up_to(self.machine.max_order).find_map(|order| {
            let head = Pfn(pfn.0 & !(order.pages() - 1));
            match self.zones[z].frame(head) {
                Frame::Free { order: found, .. } if head.0 + found.pages() > pfn.0 => {
                    Some((head, found))
                }
                _ => None,
            }
        })
    }

    /// Nothing in the pageblock keeps it from being isolated.
    fn is_isolatable(&self, z: usize, range: PfnRange, movable: &dyn Fn(Pfn) -> bool) -> bool {
        let mut at = range.start;
        while at < range.end {
            match self.zones[z].frame(at) {
                Frame::Absent => return false,
                Frame::Free { order, .. } => at = at.add(order.pages()),
                Frame::Allocated { order, .. } => {
                    if !movable(at) {
                        return false;
                    }
                    at = at.add(order.pages());
                }
                Frame::Cached => at = at.add(1),
                Frame::Tail => {
                    if let Some(head) = self.allocated_head(z, at)
                        && !movable(head)
                    {
                        return false;
                    }
                    at = at.add(1);
                }
            }
        }
        true
    }

    /// First frame of the handed-out block that contains `pfn`.
    fn allocated_head(&self, z: usize, pfn: Pfn) -> Option<Pfn> {
        Order::ZERO.up_to(self.machine.max_order).find_map(|order| {
            let head = Pfn(pfn.0 & !(order.pages() - 1));
            match self.zones[z].frame(head) {
                Frame::Allocated { order: found, .. } if head.0 + found.pages() > pfn.0 => {
                    Some(head)
                }
                _ => None,
            }
        })
    }

    /// Retype one pageblock and move what is free in it. A free block larger than the pageblock is
    /// cut: taken off, and freed again piece by piece.
    fn retype_isolating(&mut self, cpu: CpuId, z: usize, range: PfnRange, to: MigrateType) {
        let order = self.machine.pageblock_order;
        match self.free_block_around(z, range.start) {
            Some((head, found)) if found > order => {
                let (_, list) = self.list_remove(z, head);
                self.account(cpu, z, -(found.pages() as i64), list);
                self.set_block_type(range.start, to);
                self.free_split(cpu, z, head, found, Placement::ByRule);
            }
            _ => {
                let old = self.block_type(range.start);
                let moved = self.move_free_blocks(cpu, z, range, to) as i64;
                if !self.hygiene() {
                    self.account(cpu, z, -moved, old);
                    self.account(cpu, z, moved, to);
                }
                self.set_block_type(range.start, to);
            }
        }
    }

    fn move_or_cut_back(&mut self, cpu: CpuId, z: usize, range: PfnRange, to: MigrateType) {
        let order = self.machine.pageblock_order;
        if let Frame::Free { order: found, .. } = self.zones[z].frame(range.start) {
            let buddy = buddy_of(range.start.0, found);
            // Exactly the pageblock: a larger block holds isolated pageblocks that stay so (D24).
            let mergeable = found == order
                && found < self.machine.max_order
                && self.is_free_block(z, buddy, found)
                && self.block_type(Pfn(buddy)) != MigrateType::Isolate;
            if mergeable {
                let (_, list) = self.list_remove(z, range.start);
                self.account(cpu, z, -(found.pages() as i64), list);
                self.set_block_type(range.start, to);
                self.free_block(cpu, z, range.start, found, to, Placement::Tail);
                return;
            }
        }
        self.retype_isolating(cpu, z, range, to);
    }
}

impl Isolation for Reference {
    fn isolate(&mut self, cpu: CpuId, pfn: Pfn, movable: &dyn Fn(Pfn) -> bool) -> bool {
        let Some(z) = self.zone_at(pfn) else { return false };
        let Some(range) = self.whole_pageblock(z, pfn) else { return false };
        if self.block_type(pfn) == MigrateType::Isolate || !self.is_isolatable(z, range, movable) {
            return false;
        }
        self.retype_isolating(cpu, z, range, MigrateType::Isolate);
        self.zones[z].nr_isolate_pageblock += 1;
        true
    }

    fn unisolate(&mut self, cpu: CpuId, pfn: Pfn, migratetype: MigrateType) -> bool {
        let Some(z) = self.zone_at(pfn) else { return false };
        let refused = matches!(migratetype, MigrateType::Isolate | MigrateType::HighAtomic);
        if refused || self.block_type(pfn) != MigrateType::Isolate {
            return false;
        }
        let Some(range) = self.whole_pageblock(z, pfn) else { return false };
        self.move_or_cut_back(cpu, z, range, self.request_type(migratetype));
        self.zones[z].nr_isolate_pageblock -= 1;
        true
    }
}
