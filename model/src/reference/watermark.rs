//! Watermarks: how they are set and what they decide (§3.1 to §3.5).

use super::Reference;
use super::arith;
use crate::contract::Watermarks;
use crate::vocab::{
    AllocFlags, FreeCheck, Gfp, Mark, MigrateType, NR_ZONES, Order, ReserveFlags, ZoneIdx, ZoneKind,
};
use alloc::vec;

impl Reference {
    /// §3.1: a value given by the user stays; else the formula with the current high marks.
    pub(super) fn update_min_free_kbytes(&mut self) {
        let lowmem: u64 = self
            .zones
            .iter()
            .filter(|zone| zone.kind <= ZoneKind::Normal)
            .map(|zone| zone.managed.saturating_sub(zone.marks[2] + zone.boost))
            .sum();
        self.min_free_kbytes = match self.tunables.min_free_kbytes {
            Some(kbytes) => u64::from(kbytes),
            None => arith::min_free_kbytes(lowmem, self.rules.mark_gaps),
        };
    }

    /// §3.2 and §3.3: all marks, reserves; boosts end.
    pub(super) fn update_marks(&mut self) {
        let lowmem_kind =
            |kind: ZoneKind| kind != ZoneKind::Movable || self.rules.movable_is_lowmem;
        let lowmem: u64 =
            self.zones.iter().filter(|zone| lowmem_kind(zone.kind)).map(|zone| zone.managed).sum();
        let mut managed = vec![[0; NR_ZONES]; self.nodes.len()];
        for zone in &self.zones {
            managed[zone.node.index()][zone.kind.index()] = zone.managed;
        }
        let pages_min = self.min_free_kbytes / 4;
        for zone in &mut self.zones {
            zone.boost = 0;
            let share = (pages_min * zone.managed).checked_div(lowmem).unwrap_or(0);
            zone.marks = arith::marks(zone.kind, zone.managed, share, &self.rules, &self.tunables);
            let of_node = &managed[zone.node.index()];
            zone.lowmem_reserve =
                arith::lowmem_reserve(zone.kind, of_node, &self.tunables.lowmem_reserve_ratio);
        }
        self.refill_batches();
    }

    /// The effective mark: base plus boost.
    pub(super) fn mark(&self, z: usize, mark: Mark) -> i64 {
        (self.zones[z].marks[mark.index()] + self.zones[z].boost) as i64
    }

    /// §3.4: pages that a request of `order` with `flags` must leave out of account.
    fn unusable(&self, z: usize, order: Order, flags: AllocFlags) -> i64 {
        let zone = &self.zones[z];
        let mut pages = order.pages() as i64 - 1;
        let reserve_access = match self.rules.reserve_flags {
            ReserveFlags::MinReserve => flags.intersects(AllocFlags::RESERVES),
            ReserveFlags::Harder => {
                flags.intersects(AllocFlags::NON_BLOCK | AllocFlags::HIGHATOMIC | AllocFlags::OOM)
            }
        };
        if !reserve_access {
            pages += if self.rules.highatomic_free_only {
                zone.nr_free_highatomic
            } else {
                zone.nr_reserved_highatomic as i64
            };
        }
        if !flags.contains(AllocFlags::CMA) {
            pages += self.cached_cma(z);
        }
        pages
    }

    /// §3.4: what is left of a mark for a caller with these flags.
    fn lowered(&self, mark: i64, flags: AllocFlags) -> i64 {
        let mut min = mark;
        match self.rules.reserve_flags {
            ReserveFlags::MinReserve => {
                if flags.contains(AllocFlags::MIN_RESERVE) {
                    min -= min / 2;
                    if flags.contains(AllocFlags::NON_BLOCK) {
                        min -= min / 4;
                    }
                }
                if flags.contains(AllocFlags::OOM) {
                    min -= min / 2;
                }
            }
            ReserveFlags::Harder => {
                if flags.contains(AllocFlags::MIN_RESERVE) {
                    min -= min / 2;
                }
                if flags.contains(AllocFlags::OOM) {
                    min -= min / 2;
                } else if flags.intersects(AllocFlags::NON_BLOCK | AllocFlags::HIGHATOMIC) {
                    min -= min / 4;
                }
            }
        }
        min
    }

    /// §3.4: the full check against a mark value, with `free` pages free.
    pub(super) fn check(
        &self,
        z: usize,
        order: Order,
        mark: i64,
        highest: ZoneKind,
        flags: AllocFlags,
        free: i64,
    ) -> bool {
        let free = free - self.unusable(z, order, flags);
        let reserve = self.zones[z].lowmem_reserve[highest.index()] as i64;
        let min = self.lowered(mark, flags);
        if free <= min + reserve {
            return false;
        }
        if order == Order::ZERO {
            return true;
        }
        if self.rules.free_check == FreeCheck::HalvePerOrder {
            return self.passes_by_halves(z, order, min, free);
        }
        let reserve_block = flags.intersects(AllocFlags::HIGHATOMIC | AllocFlags::OOM)
            || (self.rules.reserve_flags == ReserveFlags::Harder
                && flags.contains(AllocFlags::NON_BLOCK));
        order.up_to(self.machine.max_order).any(|o| {
            let lists = &self.zones[z].lists[o.index()];
            let has = |mt: MigrateType| !lists[mt.index()].is_empty();
            MigrateType::PCP.into_iter().any(has)
                || (flags.contains(AllocFlags::CMA) && has(MigrateType::Cma))
                || (reserve_block && has(MigrateType::HighAtomic))
        })
    }

    /// §3.4, 3.16: without the blocks of each lower order, above a mark halved each time.
    fn passes_by_halves(&self, z: usize, order: Order, min: i64, free: i64) -> bool {
        let (mut min, mut free) = (min, free);
        Order::ZERO.up_to(self.machine.max_order).take_while(|o| *o < order).all(|o| {
            let blocks: usize = self.zones[z].lists[o.index()].iter().map(|list| list.len()).sum();
            free -= (blocks as u64 * o.pages()) as i64;
            min /= 2;
            free > min
        })
    }

    /// §3.5: the check of the fast path, against a mark plus some pages.
    pub(super) fn check_fast(
        &self,
        z: usize,
        order: Order,
        (mark, extra): (Mark, i64),
        highest: ZoneKind,
        flags: AllocFlags,
        gfp: Gfp,
    ) -> bool {
        let free = self.cached_free(z);
        let effective = self.mark(z, mark) + extra;
        if order == Order::ZERO {
            let usable = free - free.min(self.unusable(z, order, flags));
            let reserve = self.zones[z].lowmem_reserve[highest.index()] as i64;
            if usable > effective + reserve {
                return true;
            }
        }
        if self.check(z, order, effective, highest, flags, free) {
            return true;
        }
        let boosted = self.zones[z].boost > 0;
        let spared = match self.rules.reserve_flags {
            ReserveFlags::MinReserve => flags.contains(AllocFlags::MIN_RESERVE),
            // Then keyed on __GFP_ATOMIC, which GFP_ATOMIC had and no flag here has (D27).
            ReserveFlags::Harder => gfp.contains(Gfp::ATOMIC) && !gfp.contains(Gfp::DIRECT_RECLAIM),
        };
        if order == Order::ZERO && spared && boosted && mark == Mark::Min {
            let base = self.zones[z].marks[Mark::Min.index()] as i64;
            return self.check(z, order, base, highest, flags, free);
        }
        false
    }
}

impl Watermarks for Reference {
    fn watermark_ok(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
    ) -> bool {
        let z = zone.index();
        self.check(z, order, self.mark(z, mark), highest, flags, self.cached_free(z))
    }

    fn watermark_fast(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
        gfp: Gfp,
    ) -> bool {
        self.check_fast(zone.index(), order, (mark, 0), highest, flags, gfp)
    }
}
