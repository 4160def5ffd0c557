//! Watermark checks without the zone lock (page_alloc.md §3.4, §3.5).

use super::{RESERVES, Zone, occupancy_bit};
use crate::platform::{Platform, Word};
use mmspec_model::vocab::{
    AllocFlags, FreeCheck, Gfp, Mark, MigrateType, NR_PAGE_ORDERS, ReserveFlags, Rules, ZoneFlags,
    ZoneKind,
};

/// What is to be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Check {
    pub(crate) order: u8,
    pub(crate) mark: Mark,
    /// Added to the mark.
    pub(crate) extra: u64,
    /// The highest zone that the request may use.
    pub(crate) highest: ZoneKind,
    pub(crate) flags: AllocFlags,
}

/// `value × numerator ÷ denominator` without a wide product, as the marks are computed
/// (page_alloc.md §3.2).
pub(crate) fn mult_frac(value: u64, numerator: u64, denominator: u64) -> u64 {
    (value / denominator) * numerator + (value % denominator) * numerator / denominator
}

/// For each order the occupancy bits of the lists of the three ordinary types that serve it.
const ORDINARY_LISTS: [u64; NR_PAGE_ORDERS] = {
    let mut lists = [0; NR_PAGE_ORDERS];
    let mut order = 0;
    while order < NR_PAGE_ORDERS {
        let serve = (1 << NR_PAGE_ORDERS) - (1_u64 << order);
        let ordinary = occupancy_bit(0, MigrateType::Unmovable)
            | occupancy_bit(0, MigrateType::Movable)
            | occupancy_bit(0, MigrateType::Reclaimable);
        lists[order] = serve * ordinary;
        order += 1;
    }
    lists
};

/// The occupancy bits of the lists that serve orders from `order` up.
fn lists_that_serve(rules: &Rules, order: u8, flags: AllocFlags) -> u64 {
    let from = |migratetype: MigrateType| {
        occupancy_bit(0, migratetype) * ((1 << NR_PAGE_ORDERS) - (1_u64 << order))
    };
    let mut lists = ORDINARY_LISTS[usize::from(order)];
    if flags.contains(AllocFlags::CMA) {
        lists |= from(MigrateType::Cma);
    }
    let reserve = match rules.reserve_flags {
        ReserveFlags::Harder => AllocFlags::NON_BLOCK.union(AllocFlags::OOM),
        ReserveFlags::MinReserve => AllocFlags::HIGHATOMIC.union(AllocFlags::OOM),
    };
    if flags.intersects(reserve) {
        lists |= from(MigrateType::HighAtomic);
    }
    lists
}

/// The mark that is left for a request with these flags.
fn lowered(rules: &Rules, mark: i64, flags: AllocFlags) -> i64 {
    let mut min = mark;
    match rules.reserve_flags {
        ReserveFlags::Harder => {
            if flags.contains(AllocFlags::MIN_RESERVE) {
                min -= min / 2;
            }
            if flags.contains(AllocFlags::OOM) {
                min -= min / 2;
            } else if flags.contains(AllocFlags::NON_BLOCK) {
                min -= min / 4;
            }
        }
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
    }
    min
}

impl<P: Platform> Zone<P> {
    #[inline]
    pub(crate) fn flags(&self) -> ZoneFlags {
        ZoneFlags::from_bits_truncate(self.rare.flags.load() as u8)
    }

    pub(crate) fn set_flag(&self, flag: ZoneFlags) {
        if !self.flags().contains(flag) {
            self.rare.flags.fetch_or(u64::from(flag.bits()));
        }
    }

    /// Clear a flag; whether it was set.
    pub(crate) fn clear_flag(&self, flag: ZoneFlags) -> bool {
        let bits = u64::from(flag.bits());
        self.flags().contains(flag) && self.rare.flags.fetch_and(!bits) & bits != 0
    }

    /// The cached NR_FREE_PAGES, never negative.
    #[inline]
    pub(crate) fn cached_free(&self) -> i64 {
        (self.counters.free.load() as i64).max(0)
    }

    /// A mark with its boost.
    #[inline]
    pub(crate) fn mark(&self, mark: Mark) -> u64 {
        self.rare.marks[mark.index()].load() + self.rare.boost.load()
    }

    /// A mark without its boost.
    pub(crate) fn base_mark(&self, mark: Mark) -> u64 {
        self.rare.marks[mark.index()].load()
    }

    /// What is added to every mark until kswapd worked it off.
    pub(crate) fn boost(&self) -> u64 {
        self.rare.boost.load()
    }

    /// NR_ALLOC_BATCH without the per-CPU diffs.
    pub(crate) fn batch(&self) -> i64 {
        self.counters.batch.load() as i64
    }

    /// Free pages that a request may not use.
    #[inline]
    fn unusable(&self, rules: &Rules, order: u8, flags: AllocFlags) -> i64 {
        let mut pages = (1 << order) - 1;
        if !flags.intersects(AllocFlags::RESERVES) {
            let reserve = if rules.highatomic_free_only {
                self.counters.free_highatomic.load()
            } else {
                self.rare.reserved_highatomic.load()
            };
            pages += reserve as i64;
        }
        if !flags.contains(AllocFlags::CMA) {
            pages += (self.counters.free_cma.load() as i64).max(0);
        }
        pages
    }

    /// The full check with `free` pages against `mark` pages.
    pub(super) fn is_ok(&self, rules: &Rules, check: &Check, mark: u64, free: i64) -> bool {
        let free = free - self.unusable(rules, check.order, check.flags);
        let min = lowered(rules, mark as i64, check.flags);
        let reserve = self.rare.lowmem_reserve[check.highest.index()].load() as i64;
        if free <= min + reserve {
            return false;
        }
        check.order == 0
            || match rules.free_check {
                FreeCheck::Lists => {
                    let lists = lists_that_serve(rules, check.order, check.flags);
                    self.counters.occupancy.load() & lists != 0
                }
                FreeCheck::HalvePerOrder => self.has_enough_above(check.order, free, min),
            }
    }

    /// The check of 3.16 above order 0: blocks too small do not count, and half of the mark is
    /// enough of each higher order. Counts of blocks are behind the zone lock.
    #[cold]
    fn has_enough_above(&self, order: u8, mut free: i64, mut min: i64) -> bool {
        self.peek(|lists| {
            (0..order).all(|lower| {
                free -= (lists.blocks_of(lower) << lower) as i64;
                min >>= 1;
                free > min
            })
        })
    }

    /// The full check with a count of free pages that the caller has.
    pub(crate) fn watermark_with(&self, rules: &Rules, check: &Check, free: i64) -> bool {
        self.is_ok(rules, check, self.mark(check.mark) + check.extra, free)
    }

    /// The full check with the cached counter (`zone_watermark_ok`).
    pub(crate) fn watermark_ok(&self, rules: &Rules, check: &Check) -> bool {
        self.is_ok(rules, check, self.mark(check.mark) + check.extra, self.cached_free())
    }

    /// Whether there are pages above the HIGH mark for a request that opens no reserve and for all
    /// that it may not use: then every check for it passes and changes nothing.
    #[inline(always)]
    pub(crate) fn has_plenty(&self, order: u8, highest: usize) -> bool {
        let reserve = self.rare.lowmem_reserve[highest % RESERVES].load() as i64;
        let room = self.counters.room.load() as i64 - ((1 << order) - 1) > reserve;
        let lists = self.counters.occupancy.load() & ORDINARY_LISTS[usize::from(order)];
        // No branch for an order that nobody can foretell.
        room & ((order == 0) | (lists != 0))
    }

    /// The fast check for flags that open no reserve, as far as it goes without looking twice: what
    /// passes here passes there.
    #[inline(never)]
    pub(crate) fn has_room(
        &self,
        rules: &Rules,
        order: u8,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
    ) -> bool {
        let free = self.counters.free.load() as i64;
        let limit = self.mark(mark) + self.rare.lowmem_reserve[highest.index()].load();
        free - self.unusable(rules, order, flags) > limit as i64
            && (order == 0
                || self.counters.occupancy.load() & ORDINARY_LISTS[usize::from(order)] != 0)
    }

    /// The fast check (`zone_watermark_fast`).
    pub(crate) fn watermark_fast(&self, rules: &Rules, check: &Check, gfp: Gfp) -> bool {
        let free = self.cached_free();
        let mark = self.mark(check.mark) + check.extra;
        if check.order == 0 {
            let usable = free - free.min(self.unusable(rules, 0, check.flags));
            let reserve = self.rare.lowmem_reserve[check.highest.index()].load();
            if usable > (mark + reserve) as i64 {
                return true;
            }
        }
        self.watermark_slow(rules, check, gfp, mark, free)
    }

    #[cold]
    fn watermark_slow(&self, rules: &Rules, check: &Check, gfp: Gfp, mark: u64, free: i64) -> bool {
        if self.is_ok(rules, check, mark, free) {
            return true;
        }
        // An urgent order-0 request need not wait for the boost to be worked off. Up to 6.2 it is
        // told by the atomic gfp bit, which no flag here is (decisions.md, 27).
        let urgent = match rules.reserve_flags {
            ReserveFlags::Harder => {
                gfp.contains(Gfp::ATOMIC) && !gfp.intersects(Gfp::DIRECT_RECLAIM)
            }
            ReserveFlags::MinReserve => check.flags.contains(AllocFlags::MIN_RESERVE),
        };
        if check.order != 0 || !urgent || check.mark != Mark::Min || self.rare.boost.load() == 0 {
            return false;
        }
        let unboosted = self.rare.marks[Mark::Min.index()].load() + check.extra;
        self.is_ok(rules, check, unboosted, free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_lower_the_mark_as_in_the_fact_sheet() {
        // page_alloc.md §8.4.
        let (high, now, oom) = (AllocFlags::MIN_RESERVE, AllocFlags::NON_BLOCK, AllocFlags::OOM);
        let new = Rules::linux_6_12();
        for (flags, expected) in [
            (AllocFlags::empty(), 100),
            (high, 50),
            (high | now, 38),
            (oom, 50),
            (high | now | oom, 19),
            (now, 100),
            (AllocFlags::HIGHATOMIC, 100),
        ] {
            assert_eq!(lowered(&new, 100, flags), expected, "{flags:?}");
        }
        let old = Rules::linux_6_1();
        for (flags, expected) in [(high, 50), (now, 75), (high | now, 38), (high | oom, 25)] {
            assert_eq!(lowered(&old, 100, flags), expected, "{flags:?} up to 6.2");
        }
    }

    #[test]
    fn only_lists_that_can_serve_count() {
        let rules = Rules::linux_6_12();
        let none = AllocFlags::empty();
        let movable = occupancy_bit(3, MigrateType::Movable);
        assert!(lists_that_serve(&rules, 3, none) & movable != 0);
        assert!(lists_that_serve(&rules, 4, none) & movable == 0);
        let cma = occupancy_bit(10, MigrateType::Cma);
        assert!(lists_that_serve(&rules, 3, none) & cma == 0);
        assert!(lists_that_serve(&rules, 3, AllocFlags::CMA) & cma != 0);
        let reserve = occupancy_bit(3, MigrateType::HighAtomic);
        assert!(lists_that_serve(&rules, 3, AllocFlags::NON_BLOCK) & reserve == 0);
        assert!(lists_that_serve(&rules, 3, AllocFlags::HIGHATOMIC) & reserve != 0);
    }
}
