//! __rmqueue: own type, CMA, then other types (§1.9 to §1.12).

use super::arith::{fallbacks, max_boost, may_claim};
use super::{Frame, Reference};
use crate::vocab::{
    AllocFlags, CpuId, Fallback, KmemEvent, MigrateType, Order, Pfn, PfnRange, ZoneFlags,
};

/// How far the attempts of one refill have come (§1.9, 6.18): the next page of the same refill
/// starts where the last one succeeded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Mode {
    #[default]
    Normal,
    Cma,
    Claim,
    Steal,
}

/// What one pageblock holds, for the half rule.
struct Census {
    free: u64,
    movable: u64,
}

impl Reference {
    /// One block of `order` for `migratetype`, zone lock held (§1.9).
    pub(super) fn rmqueue(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        flags: AllocFlags,
        mode: &mut Mode,
    ) -> Option<Pfn> {
        let cma = flags.contains(AllocFlags::CMA);
        if cma && self.cached_cma(z) > self.cached_free(z) / 2 {
            let pfn = self.take_smallest(cpu, z, order, MigrateType::Cma);
            if pfn.is_some() {
                return pfn;
            }
        }
        if self.rules.fallback == Fallback::ClaimThenSteal {
            return self.rmqueue_by_mode(cpu, z, order, migratetype, flags, mode);
        }
        loop {
            if let Some(pfn) = self.take_smallest(cpu, z, order, migratetype) {
                return Some(pfn);
            }
            if cma {
                let pfn = self.take_smallest(cpu, z, order, MigrateType::Cma);
                if pfn.is_some() {
                    return pfn;
                }
            }
            if self.rules.fallback == Fallback::Whole {
                return self.fall_back_whole(cpu, z, order, migratetype, flags);
            }
            if !self.fall_back_by_moving(cpu, z, order, migratetype, flags) {
                return None;
            }
        }
    }

    fn rmqueue_by_mode(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        flags: AllocFlags,
        mode: &mut Mode,
    ) -> Option<Pfn> {
        if *mode == Mode::Normal {
            let pfn = self.take_smallest(cpu, z, order, migratetype);
            if pfn.is_some() {
                return pfn;
            }
        }
        if *mode <= Mode::Cma && flags.contains(AllocFlags::CMA) {
            let pfn = self.take_smallest(cpu, z, order, MigrateType::Cma);
            if pfn.is_some() {
                *mode = Mode::Cma;
                return pfn;
            }
        }
        if *mode <= Mode::Claim {
            let pfn = self.claim(cpu, z, order, migratetype, flags);
            if pfn.is_some() {
                *mode = Mode::Normal;
                return pfn;
            }
        }
        if flags.contains(AllocFlags::NOFRAGMENT) {
            return None;
        }
        let pfn = self.steal(cpu, z, order, migratetype);
        if pfn.is_some() {
            *mode = Mode::Steal;
        }
        pfn
    }

    /// The lowest order that a fallback may look at (§1.10).
    fn lowest_order(&self, order: Order, flags: AllocFlags) -> Order {
        if flags.contains(AllocFlags::NOFRAGMENT) && order < self.machine.pageblock_order {
            self.machine.pageblock_order
        } else {
            order
        }
    }

    /// Head of the first non-empty fallback list of this order, with the list's type.
    fn fallback_head(
        &self,
        z: usize,
        order: Order,
        start: MigrateType,
    ) -> Option<(Pfn, MigrateType)> {
        fallbacks(start).iter().find_map(|&other| {
            self.zones[z].lists[order.index()][other.index()].head().map(|pfn| (pfn, other))
        })
    }

    fn may_claim(&self, order: Order, start: MigrateType) -> bool {
        may_claim(order, start, self.machine.pageblock_order, self.grouping)
    }

    /// The block that fallback up to 6.14 chooses: the largest; for movable requests that could
    /// not take its pageblock over, the smallest. The flag says whether the pageblock may be taken.
    fn choose_fallback(
        &self,
        z: usize,
        order: Order,
        start: MigrateType,
        flags: AllocFlags,
    ) -> Option<(Order, Pfn, MigrateType, bool)> {
        let lowest = self.lowest_order(order, flags);
        let (found, (pfn, other)) = lowest
            .up_to(self.machine.max_order)
            .rev()
            .find_map(|o| self.fallback_head(z, o, start).map(|head| (o, head)))?;
        let claim = self.may_claim(found, start);
        if !claim && start == MigrateType::Movable && found > order {
            let (found, (pfn, other)) = order
                .up_to(self.machine.max_order)
                .find_map(|o| self.fallback_head(z, o, start).map(|head| (o, head)))?;
            return Some((found, pfn, other, self.may_claim(found, start)));
        }
        Some((found, pfn, other, claim))
    }

    /// 6.10 to 6.14 (§1.10): decide, then take.
    fn fall_back_whole(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        start: MigrateType,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let (found, head, other, claim) = self.choose_fallback(z, order, start, flags)?;
        let highatomic = self.block_type(head) == MigrateType::HighAtomic;
        let claimed = if highatomic {
            None
        } else if found >= self.machine.pageblock_order {
            Some(self.claim_whole(cpu, z, head, order, start))
        } else {
            self.boost_for_fallback(z, flags);
            if claim { self.claim_pageblock(cpu, z, head, order, start) } else { None }
        };
        let pfn = claimed.unwrap_or_else(|| {
            // The rest goes to its pageblock's list, whatever list the block lay on: after a merge
            // that retyped the first pageblock only (bug P11's first fix) these differ.
            let rest = self.block_type(head);
            self.take_and_expand_to(cpu, z, head, order, rest);
            head
        });
        self.emit_extfrag(pfn, order, found, start, other);
        Some(pfn)
    }

    /// 6.15 and later (§1.11).
    fn claim(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        start: MigrateType,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let lowest = self.lowest_order(order, flags);
        for found in lowest.up_to(self.machine.max_order).rev() {
            if !self.may_claim(found, start) {
                return None;
            }
            let Some((head, other)) = self.fallback_head(z, found, start) else { continue };
            let pfn = if found >= self.machine.pageblock_order {
                Some(self.claim_whole(cpu, z, head, order, start))
            } else {
                self.boost_for_fallback(z, flags);
                self.claim_pageblock(cpu, z, head, order, start)
            };
            if let Some(pfn) = pfn {
                self.emit_extfrag(pfn, order, found, start, other);
                return Some(pfn);
            }
        }
        None
    }

    /// 6.15 and later (§1.12): the smallest block of another type; the pageblock keeps its type.
    fn steal(&mut self, cpu: CpuId, z: usize, order: Order, start: MigrateType) -> Option<Pfn> {
        let (found, (pfn, other)) = order
            .up_to(self.machine.max_order)
            .find_map(|o| self.fallback_head(z, o, start).map(|head| (o, head)))?;
        self.take_and_expand(cpu, z, pfn, order);
        self.emit_extfrag(pfn, order, found, start, other);
        Some(pfn)
    }

    /// Take over a block of at least a pageblock: retype all it covers, keep the first pages.
    fn claim_whole(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        start: MigrateType,
    ) -> Pfn {
        let (found, list) = self.list_remove(z, pfn);
        self.account(cpu, z, -(found.pages() as i64), list);
        self.set_range_type(pfn, found, start);
        let put_back = self.expand(z, pfn, found, order, start);
        self.account(cpu, z, put_back as i64, start);
        pfn
    }

    /// Take over the pageblock of a smaller block if the half rule allows (§1.10).
    fn claim_pageblock(
        &mut self,
        cpu: CpuId,
        z: usize,
        pfn: Pfn,
        order: Order,
        start: MigrateType,
    ) -> Option<Pfn> {
        let range = self.whole_pageblock(z, pfn)?;
        if !self.half_rule(z, range, start, self.block_type(pfn)) {
            return None;
        }
        self.move_free_blocks(cpu, z, range, start);
        self.set_block_type(pfn, start);
        self.take_smallest(cpu, z, order, start)
    }

    /// At least half of the pageblock is free or suits the new type.
    fn half_rule(&self, z: usize, range: PfnRange, start: MigrateType, old: MigrateType) -> bool {
        let census = self.census(z, range);
        self.half_rule_of(&census, start, old)
    }

    fn half_rule_of(&self, census: &Census, start: MigrateType, old: MigrateType) -> bool {
        let pages = self.machine.pageblock_order.pages();
        let alike = if start == MigrateType::Movable {
            census.movable
        } else if old == MigrateType::Movable {
            pages - (census.free + census.movable)
        } else {
            0
        };
        census.free + alike >= pages / 2 || !self.grouping
    }

    fn census(&self, z: usize, range: PfnRange) -> Census {
        let mut census = Census { free: 0, movable: 0 };
        let mut at = range.start;
        while at < range.end {
            let left = range.end.0 - at.0;
            match self.zones[z].frame(at) {
                Frame::Free { order, .. } => {
                    census.free += order.pages();
                    at = at.add(order.pages());
                }
                Frame::Allocated { order, movable } => {
                    if movable {
                        census.movable += order.pages().min(left);
                    }
                    at = at.add(order.pages());
                }
                _ => at = at.add(1),
            }
        }
        census
    }

    /// Up to 6.9 (§1.10): move a block, or all of a pageblock, to the wanted lists; the caller
    /// searches those again.
    fn fall_back_by_moving(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        start: MigrateType,
        flags: AllocFlags,
    ) -> bool {
        let Some((found, pfn, other, claim)) = self.choose_fallback(z, order, start, flags) else {
            return false;
        };
        let old = self.block_type(pfn);
        let mut single = true;
        if old == MigrateType::HighAtomic {
        } else if found >= self.machine.pageblock_order {
            self.set_range_type(pfn, found, start);
        } else {
            self.boost_for_fallback(z, flags);
            if claim && let Some(range) = self.movable_range(z, pfn) {
                let census = self.census(z, range);
                let moved = self.move_free_blocks(cpu, z, range, start);
                single = moved == 0;
                if !single && self.half_rule_of(&census, start, old) {
                    self.set_block_type(pfn, start);
                }
            }
        }
        if single {
            self.move_block(cpu, z, pfn, start);
        }
        self.emit_extfrag(pfn, order, found, start, other);
        true
    }

    /// The part of a pageblock that may be moved: whole ones only, or up to 6.9 from the pivot
    /// page on if the pageblock starts before the zone (bug P14).
    pub(super) fn movable_range(&self, z: usize, pivot: Pfn) -> Option<PfnRange> {
        if let Some(range) = self.whole_pageblock(z, pivot) {
            return Some(range);
        }
        let pages = self.machine.pageblock_order.pages();
        let start = pivot.0 & !(pages - 1);
        let span = self.zones[z].span;
        let ends_inside = start + pages <= span.end.0;
        (!self.rules.refuse_straddling && ends_inside)
            .then(|| PfnRange::new(pivot.0.max(start), start + pages))
    }

    /// A fallback below the pageblock order boosts the watermark (§3.6).
    fn boost_for_fallback(&mut self, z: usize, flags: AllocFlags) {
        let pages = self.machine.pageblock_order.pages();
        let factor = self.tunables.watermark_boost_factor;
        if !self.rules.boost {
            return;
        }
        let zone = &mut self.zones[z];
        let Some(max) = max_boost(zone.managed, zone.marks[2], pages, factor) else { return };
        zone.boost = (zone.boost + pages).min(max);
        if flags.contains(AllocFlags::KSWAPD) {
            zone.flags |= ZoneFlags::BOOSTED_WATERMARK;
        }
    }

    fn emit_extfrag(
        &mut self,
        pfn: Pfn,
        alloc_order: Order,
        fallback_order: Order,
        alloc_migratetype: MigrateType,
        fallback_migratetype: MigrateType,
    ) {
        let change_ownership = self.block_type(pfn) == alloc_migratetype;
        self.emit(|| KmemEvent::ExtFrag {
            pfn,
            alloc_order,
            fallback_order,
            alloc_migratetype,
            fallback_migratetype,
            change_ownership,
        });
    }
}
