//! The free path (§1.16, §2.5, D18).

use super::arith::pcp_list;
use super::buddy::Placement;
use super::pcp::{AfterFree, CachedBlock};
use super::{Frame, Reference};
use crate::contract::BatchFree;
use crate::vocab::{
    AllocFlags, CpuId, KmemEvent, Mark, MigrateType, Order, Pfn, ZoneFlags, ZoneKind,
};
use alloc::vec::Vec;

impl Reference {
    /// The prepare checks: the block must be handed out, with this order.
    pub(super) fn prepare_free(&mut self, pfn: Pfn, order: Order) -> usize {
        let z = self.zone_at(pfn).unwrap_or_else(|| panic!("free of {pfn}: in no zone"));
        let frame = self.zones[z].frame(pfn);
        assert!(
            matches!(frame, Frame::Allocated { order: o, .. } if o == order),
            "free of {pfn} with order {order}: the frame is {frame:?}"
        );
        self.emit(|| KmemEvent::PageFree { pfn, order });
        self.zones[z].set_frame(pfn, Frame::Tail);
        z
    }

    /// Free one block (§2.5).
    pub(super) fn free_one(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        let z = self.prepare_free(pfn, order);
        let own = self.block_type(pfn);
        if !self.is_cached_order(order) {
            self.free_direct(cpu, z, pfn, order, own);
            self.count_free(order);
            return;
        }
        if own == MigrateType::Isolate || !self.trylock(cpu) {
            self.free_past_pcp(cpu, z, pfn, order, own);
            return;
        }
        self.commit_to_pcp(cpu, z, pfn, order, own);
    }

    /// A pcp-sized block that goes straight to the buddy: its pageblock is isolated, or the lists
    /// were busy.
    pub(super) fn free_past_pcp(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        own: MigrateType,
    ) {
        let isolated = own == MigrateType::Isolate;
        let listed =
            if self.rules.direct_free_true_type || isolated { own } else { Self::pcp_type(own) };
        self.free_direct(cpu, z, pfn, order, listed);
        if self.rules.direct_free_counted {
            self.count_free(order);
        }
    }

    /// free_one_page: under the zone lock (§1.16). Up to 6.9 the type is re-read only while the zone
    /// holds isolated pageblocks.
    pub(super) fn free_direct(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        listed: MigrateType,
    ) {
        if self.rules.split_large_frees {
            self.free_split(cpu, z, pfn, order, Placement::ByRule);
            return;
        }
        let reread = self.zones[z].nr_isolate_pageblock > 0 || listed == MigrateType::Isolate;
        let migratetype = if reread { self.block_type(pfn) } else { listed };
        self.free_block(cpu, z, pfn, order, migratetype, Placement::ByRule);
    }

    /// free_unref_page_commit (§2.5).
    fn commit_to_pcp(&mut self, cpu: CpuId, z: usize, pfn: Pfn, order: Order, own: MigrateType) {
        if self.put_cached(cpu, z, pfn, order, own) {
            self.note_above_high(z);
        }
    }

    /// With the lists locked: put a block on them and give back what is too much; whether anything
    /// was given back.
    pub(super) fn put_cached(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        own: MigrateType,
    ) -> bool {
        self.count_free(order);
        let list = pcp_list(order, Self::pcp_type(own), self.rules.thp_lists);
        let (tuning, half_min) = (self.tuning(), self.rules.free_high_half_min);
        let zone = &mut self.zones[z];
        zone.set_frame(pfn, Frame::Cached);
        let zone_flags = zone.flags;
        let pcp = &mut zone.pcps[cpu.index()];
        pcp.lists[list].push_front(CachedBlock { pfn, order, migratetype: own });
        let AfterFree::Drain(pages) = pcp.sizes.commit_free(order, zone_flags, tuning, half_min)
        else {
            return false;
        };
        self.free_bulk(cpu, cpu, z, pages, list);
        true
    }

    /// After pages were given back the zone may be above its high mark again.
    pub(super) fn note_above_high(&mut self, z: usize) {
        if self.zones[z].flags.contains(ZoneFlags::BELOW_HIGH)
            && self.check(
                z,
                Order::ZERO,
                self.mark(z, Mark::High),
                ZoneKind::Movable,
                AllocFlags::empty(),
                self.cached_free(z),
            )
        {
            self.zones[z].flags.remove(ZoneFlags::BELOW_HIGH);
            self.revive_kswapd(self.zones[z].node);
        }
    }
}

impl BatchFree for Reference {
    fn free_batch(&mut self, cpu: CpuId, pages: &[(Pfn, Order)]) {
        // First every page's checks; orders that no per-CPU list holds go to the buddy here.
        let mut listed = Vec::new();
        for &(pfn, order) in pages {
            let z = self.prepare_free(pfn, order);
            if self.is_cached_order(order) {
                listed.push((z, pfn, order));
            } else {
                let own = self.block_type(pfn);
                self.free_direct(cpu, z, pfn, order, own);
                self.count_free(order);
            }
        }
        // Then the lists: one lock for as long as the zone stays the same.
        let mut locked: Option<usize> = None;
        for (z, pfn, order) in listed {
            let own = self.block_type(pfn);
            if own == MigrateType::Isolate {
                locked = None;
                self.free_past_pcp(cpu, z, pfn, order, own);
                continue;
            }
            if locked != Some(z) {
                locked = self.trylock(cpu).then_some(z);
                if locked.is_none() {
                    self.free_past_pcp(cpu, z, pfn, order, own);
                    continue;
                }
            }
            self.emit(|| KmemEvent::PageFreeBatched { pfn });
            self.commit_to_pcp(cpu, z, pfn, order, own);
        }
    }
}
