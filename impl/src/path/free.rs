//! Freeing: to the CPU's lists, or past them (page_alloc.md §2.5, §4.6).

use crate::{
    allocator::{PageAllocator, PcpGuard},
    frame::{BlockType, Frame},
    geometry::NR_LISTS,
    kswapd::HOPELESS,
    pcp::{FreeRules, Pcp},
    platform::{Platform, Word},
    storage::Backing,
    zone::{Check, Zone},
};
use mmspec_model::vocab::{
    AllocFlags, CpuId, KmemEvent, Mark, MigrateType, NodeId, Order, PcpTuning, Pfn, ZoneFlags,
    ZoneKind,
};

/// A block given back that passed the checks.
#[derive(Clone, Copy, Debug)]
struct Freed {
    frame: u32,
    order: u8,
    zone: usize,
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Free a block on `cpu`, with the order that it was allocated with. Debug builds check that it
    /// is so; a release build trusts the caller as far as the frame lies in a zone.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn free_pages(&self, cpu: CpuId, pfn: Pfn, order: Order) {
        // The common order as a constant makes the whole way shorter.
        if order == Order::ZERO {
            self.free_block(cpu, pfn, Order::ZERO);
        } else {
            self.free_order(cpu, pfn, order);
        }
    }

    #[inline(never)]
    fn free_order(&self, cpu: CpuId, pfn: Pfn, order: Order) {
        self.free_block(cpu, pfn, order);
    }

    #[inline(always)]
    fn free_block(&self, cpu: CpuId, pfn: Pfn, order: Order) {
        let Some(freed) = self.accept(pfn, order) else { return };
        P::trace(|| KmemEvent::PageFree { pfn, order });
        // The next allocation waits for the list that this frame goes to: the number of its type
        // leads there with one look-up less than the type.
        let block_type = self.tables().block_type_number(freed.frame);
        let Some(list) = self.geometry.pcp_list_of(freed.order, block_type) else {
            return self.free_past_lists(cpu, freed.zone, freed.frame, freed.order, block_type);
        };
        match self.try_lock_lists(cpu, self.slot(cpu, freed.zone)) {
            Some(mut pcp) => self.commit(cpu, &mut pcp, freed, block_type, list),
            None => self.free_past_lists(cpu, freed.zone, freed.frame, freed.order, block_type),
        }
    }

    /// Free `pages` in order; see [`mmspec_model::contract::BatchFree::free_batch`]. The lock of
    /// the lists is kept from page to page of a zone.
    ///
    /// # Panics
    /// If the machine has no such CPU.
    pub fn free_batch(&self, cpu: CpuId, pages: &[(Pfn, Order)]) {
        for &(pfn, order) in pages {
            P::trace(|| KmemEvent::PageFree { pfn, order });
        }
        let on_lists = |order: Order| self.geometry.is_pcp_order(order.get());
        // Blocks that no per-CPU list holds go first, as the kernel sorts them out beforehand.
        for &(pfn, order) in pages.iter().filter(|(_, order)| !on_lists(*order)) {
            if let Some(freed) = self.accept(pfn, order) {
                self.free_past_lists(
                    cpu,
                    freed.zone,
                    freed.frame,
                    freed.order,
                    MigrateType::Unmovable as u8,
                );
            }
        }
        let mut held: Option<(usize, PcpGuard<'_, P>)> = None;
        for &(pfn, order) in pages.iter().filter(|(_, order)| on_lists(*order)) {
            let Some(freed) = self.accept(pfn, order) else { continue };
            let block_type = self.tables().block_type_number(freed.frame);
            let Some(list) = self.geometry.pcp_list_of(freed.order, block_type) else {
                held = None;
                self.free_past_lists(cpu, freed.zone, freed.frame, freed.order, block_type);
                continue;
            };
            if held.as_ref().is_none_or(|(zone, _)| *zone != freed.zone) {
                // Never two of these locks at once.
                drop(held.take());
                let slot = self.slot(cpu, freed.zone);
                held = self.try_lock_lists(cpu, slot).map(|pcp| (freed.zone, pcp));
            }
            match &mut held {
                Some((_, pcp)) => {
                    P::trace(|| KmemEvent::PageFreeBatched { pfn });
                    self.commit(cpu, pcp, freed, block_type, list);
                }
                None => self.free_past_lists(cpu, freed.zone, freed.frame, freed.order, block_type),
            }
        }
    }

    /// Check a block that is given back, and take it out of its owner's hands.
    #[inline]
    fn accept(&self, pfn: Pfn, order: Order) -> Option<Freed> {
        let zone = self.zone_of(pfn);
        debug_assert!(zone.is_some(), "free of frame {pfn}, which no zone spans");
        let zone = zone?;
        let frame = self.geometry.index(pfn);
        self.check_free(frame, order.get());
        Some(Freed { frame, order: order.get(), zone })
    }

    /// Put a block on the CPU's lists, then give back what is too much.
    #[inline(always)]
    fn commit(&self, cpu: CpuId, pcp: &mut Pcp, freed: Freed, block_type: u8, list: usize) {
        let Freed { frame, order, zone } = freed;
        if !self.geometry.accounts_moves {
            self.remember_type(frame, order, BlockType::type_of(block_type));
        }
        pcp.lists[list % NR_LISTS].push_head(self.records(), frame);
        let rules = FreeRules {
            auto_tuning: self.geometry.auto_tuning,
            fixed: self.geometry.rules.pcp_tuning == PcpTuning::Fixed,
            half_min: self.geometry.rules.free_high_half_min,
        };
        let flags = self.zone(zone).flags();
        if let Some(excess) = pcp.freed(order, flags, rules) {
            self.flush(cpu, zone, pcp, excess, list);
        }
    }

    /// Up to 6.9 a block is drained to the type that its pageblock had when it was freed.
    fn remember_type(&self, frame: u32, order: u8, block_type: MigrateType) {
        let state = Frame::busy(order, block_type);
        if self.tables().frame(frame) != state {
            self.tables().set_frame(frame, state);
        }
    }

    /// Give pages back to the zone; it may be above its high mark again.
    #[cold]
    fn flush(&self, cpu: CpuId, at: usize, pcp: &mut Pcp, pages: i32, list: usize) {
        let zone = self.zone(at);
        self.bulk_free(zone, pcp, &self.slot(cpu, at).diff, pages, list);
        if zone.flags().contains(ZoneFlags::BELOW_HIGH) && self.is_above_high(zone) {
            zone.clear_flag(ZoneFlags::BELOW_HIGH);
            self.give_hope(zone.info.node);
        }
    }

    /// A zone came back above its HIGH mark: a node without hope has some again, if it is not the
    /// only one with memory (6.18; docs/decisions.md, 61).
    fn give_hope(&self, node: NodeId) {
        let slot = self.node(node);
        let others =
            || self.zones().iter().any(|zone| zone.info.node != node && zone.info.managed > 0);
        if self.geometry.rules.avoid_awake_nodes && slot.failures.load() >= HOPELESS && others() {
            slot.failures.store(0);
        }
    }

    fn is_above_high(&self, zone: &Zone<P>) -> bool {
        let check = Check {
            order: 0,
            mark: Mark::High,
            extra: 0,
            highest: ZoneKind::Movable,
            flags: AllocFlags::empty(),
        };
        zone.watermark_ok(&self.geometry.rules, &check)
    }

    /// Free a block to the zone's lists: no per-CPU list holds its order, its pageblock (which had
    /// `block_type`) is isolated, or the lists are busy. The block comes in parts: put together in
    /// memory and read at once, it would have to wait for its parts.
    #[inline(never)]
    fn free_past_lists(&self, cpu: CpuId, zone: usize, frame: u32, order: u8, block_type: u8) {
        let rules = &self.geometry.rules;
        let pcp_sized = self.geometry.is_pcp_order(order);
        let mut locked = self.zone(zone).lock(self.tables(), &self.slot(cpu, zone).diff);
        let mut buddy = locked.buddy();
        buddy.tables.links.at(frame).clear();
        buddy.tables.set_frame(frame, Frame::TAIL);
        if rules.direct_free_counted || !pcp_sized {
            buddy.z.pgfree += 1 << order;
        }
        // Up to 6.1 the type that the lists would have used replaces the pageblock's (bug P8),
        // unless the zone holds isolated pageblocks, or held one when the type was read: only the
        // zone lock keeps isolation from ending.
        let list_type = if pcp_sized && !rules.direct_free_true_type && buddy.z.nr_isolate == 0 {
            list_type(BlockType::type_of(block_type))
        } else {
            None
        };
        buddy.free_direct(frame, order, list_type);
    }
}

/// The type as which pages of a pageblock are cached; `None` for isolated ones, which are not.
fn list_type(block_type: MigrateType) -> Option<MigrateType> {
    match block_type {
        MigrateType::Isolate => None,
        MigrateType::HighAtomic | MigrateType::Cma => Some(MigrateType::Movable),
        pcp_type => Some(pcp_type),
    }
}
