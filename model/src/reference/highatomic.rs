//! The high-order atomic reserve (§1.13).

use super::Reference;
use crate::contract::HighAtomicReserve;
use crate::vocab::{CpuId, HighatomicLimit, MigrateType, Order, Pfn};

impl Reference {
    /// The most pages that a zone may hold in reserve; `None` if it may hold none at all.
    fn highatomic_limit(&self, z: usize) -> Option<u64> {
        let pages = self.machine.pageblock_order.pages();
        let percent = self.zones[z].managed / 100;
        match self.rules.highatomic_limit {
            HighatomicLimit::NoReserve => None,
            HighatomicLimit::PlusOneBlock => Some(percent + pages),
            HighatomicLimit::RoundedUp if percent < pages => None,
            HighatomicLimit::RoundedUp => Some(percent.next_multiple_of(pages)),
        }
    }

    /// Reserve the pageblock of a block just handed out.
    pub(super) fn reserve_highatomic(&mut self, cpu: CpuId, z: usize, pfn: Pfn, order: Order) {
        let pages = self.machine.pageblock_order.pages();
        let Some(limit) = self.highatomic_limit(z) else { return };
        if self.zones[z].nr_reserved_highatomic >= limit || !self.block_type(pfn).is_pcp_type() {
            return;
        }
        let all_blocks = self.rules.highatomic_limit == HighatomicLimit::RoundedUp;
        if all_blocks && order >= self.machine.pageblock_order {
            self.set_range_type(pfn, order, MigrateType::HighAtomic);
            self.zones[z].nr_reserved_highatomic += order.pages();
            return;
        }
        let range = self.movable_range(z, pfn);
        if range.is_none() && self.rules.refuse_straddling {
            return;
        }
        if let Some(range) = range {
            self.move_free_blocks(cpu, z, range, MigrateType::HighAtomic);
        }
        self.set_block_type(pfn, MigrateType::HighAtomic);
        self.zones[z].nr_reserved_highatomic += pages;
    }

    /// Release one reserved pageblock of one zone to `to`; whether anything moved.
    pub(super) fn unreserve_in(
        &mut self,
        cpu: CpuId,
        z: usize,
        to: MigrateType,
        force: bool,
    ) -> bool {
        let pages = self.machine.pageblock_order.pages();
        if !force && self.zones[z].nr_reserved_highatomic <= pages {
            return false;
        }
        for order in Order::ZERO.up_to(self.machine.max_order) {
            let list = &self.zones[z].lists[order.index()][MigrateType::HighAtomic.index()];
            let Some(pfn) = list.head() else { continue };
            let size = pages.max(order.pages());
            if self.block_type(pfn) == MigrateType::HighAtomic {
                let zone = &mut self.zones[z];
                zone.nr_reserved_highatomic -= size.min(zone.nr_reserved_highatomic);
            }
            if order >= self.machine.pageblock_order {
                self.move_block(cpu, z, pfn, to);
                self.set_range_type(pfn, order, to);
                return true;
            }
            let moved = match self.movable_range(z, pfn) {
                Some(range) => {
                    let moved = self.move_free_blocks(cpu, z, range, to);
                    self.set_block_type(pfn, to);
                    moved
                }
                None => 0,
            };
            if moved > 0 {
                return true;
            }
        }
        false
    }
}

impl HighAtomicReserve for Reference {
    fn unreserve_highatomic(&mut self, cpu: CpuId, migratetype: MigrateType, force: bool) -> bool {
        let to = self.request_type(migratetype);
        let list = self.nodes[self.node_of(cpu).index()].lists.fallback.clone();
        list.into_iter().any(|z| self.unreserve_in(cpu, z, to, force))
    }
}
