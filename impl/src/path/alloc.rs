//! Allocation: flags, zones, watermarks, up to where the slow path would begin
//! (page_alloc.md §4.1 to §4.3).

use crate::{
    allocator::PageAllocator,
    frame::Allocated,
    pcp::Want,
    platform::{Platform, Word},
    storage::Backing,
    zone::{Buddy, Check, Zone},
};
use mmspec_model::{
    contract::{Outcome, Refusal, Request},
    vocab::{AllocFlags, CpuId, Gfp, Mark, Order, ZoneFlags, ZoneIdx, ZoneKind},
};

/// A request with everything decided that does not depend on the zone tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    pub(crate) want: Want,
    pub(crate) gfp: Gfp,
    pub(crate) mark: Mark,
    pub(crate) highest: ZoneKind,
    /// Position of the preferred zone: the scan starts there and goes down.
    pub(crate) preferred: usize,
}

impl Attempt {
    /// A check of a zone for this attempt.
    #[inline]
    pub(crate) fn check(&self, mark: Mark) -> Check {
        let (order, flags) = (self.want.order, self.want.flags);
        Check { order, mark, extra: 0, highest: self.highest, flags }
    }
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// One attempt on `cpu`; see [`mmspec_model::contract::PageAllocator::alloc_pages`].
    ///
    /// # Panics
    /// If the machine has no such CPU.
    #[inline]
    pub fn alloc_pages(&self, cpu: CpuId, request: Request) -> Outcome {
        // The parts of the request go on in registers: a request read back from memory that was
        // just written piece by piece would wait for all stores before it.
        let Request { order, gfp, attempt, .. } = request;
        match attempt {
            // The common order as a constant makes the whole way shorter.
            None if order == Order::ZERO => self.alloc_quick(cpu, Order::ZERO, gfp),
            None => self.alloc_order(cpu, order, gfp),
            Some((mark, flags)) => self.alloc_at(cpu, order, gfp, mark, flags),
        }
    }

    /// A first attempt of any order.
    #[inline(never)]
    fn alloc_order(&self, cpu: CpuId, order: Order, gfp: Gfp) -> Outcome {
        if order.get() > self.geometry.max_order {
            return Outcome::Refused(Refusal::OrderTooLarge(order));
        }
        self.alloc_quick(cpu, order, gfp)
    }

    /// A first attempt. All is decided by a table and by one check of the preferred zone; what that
    /// does not settle takes the long way.
    #[inline(always)]
    fn alloc_quick(&self, cpu: CpuId, order: Order, gfp: Gfp) -> Outcome {
        let Some(class) = self.classes.get(gfp) else {
            return self.alloc_slowly(cpu, order, gfp, false);
        };
        let want = class.want(order.get(), gfp);
        let at = usize::from(class.zone);
        let zone = self.zone(at);
        if !zone.has_plenty(order.get(), class.highest)
            && !self.has_room(zone, order.get(), class.highest, want.flags)
        {
            return self.alloc_slowly(cpu, order, gfp, false);
        }
        match self.rmqueue(cpu, at, want) {
            Some(frame) => Outcome::Page(self.geometry.pfn(frame)),
            None => self.alloc_slowly(cpu, order, gfp, true),
        }
    }

    /// Whether a zone has room for a first attempt, to its mark.
    #[cold]
    fn has_room(&self, zone: &Zone<P>, order: u8, highest: ZoneKind, flags: AllocFlags) -> bool {
        let rules = &self.geometry.rules;
        let below = rules.below_high && !zone.flags().contains(ZoneFlags::BELOW_HIGH);
        let mark = if below { Mark::High } else { Mark::Low };
        zone.has_room(rules, order, mark, highest, flags)
    }

    /// A first attempt zone by zone. With `failed`, the preferred zone was allowed and had nothing.
    #[cold]
    fn alloc_slowly(&self, cpu: CpuId, order: Order, gfp: Gfp, failed: bool) -> Outcome {
        match self.prepare(order, gfp) {
            Ok(mut attempt) => self.get_page(cpu, &mut attempt, failed),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// An attempt at a given mark with given flags.
    #[cold]
    fn alloc_at(
        &self,
        cpu: CpuId,
        order: Order,
        gfp: Gfp,
        mark: Mark,
        flags: AllocFlags,
    ) -> Outcome {
        match self.prepare(order, gfp) {
            Ok(mut attempt) => {
                attempt.mark = mark;
                attempt.want.flags = (attempt.want.flags - AllocFlags::NOFRAGMENT) | flags;
                self.get_page(cpu, &mut attempt, false)
            }
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Decide flags, type and preferred zone of a first attempt, or refuse.
    pub(crate) fn prepare(&self, order: Order, gfp: Gfp) -> Result<Attempt, Refusal> {
        if order.get() > self.geometry.max_order {
            return Err(Refusal::OrderTooLarge(order));
        }
        let Some(class) = self.classes.get(gfp) else {
            gfp.highest_zone()?;
            gfp.migratetype()?;
            return Err(Refusal::NoZone);
        };
        Ok(Attempt {
            want: class.want(order.get(), gfp),
            gfp,
            mark: Mark::Low,
            highest: class.highest,
            preferred: usize::from(class.zone),
        })
    }

    /// Try the zones from the preferred one down; once more without NOFRAGMENT. With `failed`, the
    /// first turn leaves out the preferred zone.
    pub(crate) fn get_page(&self, cpu: CpuId, attempt: &mut Attempt, failed: bool) -> Outcome {
        let mut left_out = failed.then_some(attempt.preferred);
        loop {
            for at in (0..=attempt.preferred).rev() {
                let zone = self.zone(at);
                if left_out.take() == Some(at)
                    || zone.info.managed == 0
                    || !self.may_take(zone, attempt)
                {
                    continue;
                }
                if let Some(frame) = self.rmqueue(cpu, at, attempt.want) {
                    return Outcome::Page(self.geometry.pfn(frame));
                }
            }
            if !attempt.want.flags.contains(AllocFlags::NOFRAGMENT) {
                return Outcome::SlowPath;
            }
            attempt.want.flags -= AllocFlags::NOFRAGMENT;
        }
    }

    /// Whether the watermarks let the attempt have a zone's pages.
    fn may_take(&self, zone: &Zone<P>, attempt: &Attempt) -> bool {
        let rules = &self.geometry.rules;
        if rules.below_high && !zone.flags().contains(ZoneFlags::BELOW_HIGH) {
            if zone.watermark_fast(rules, &attempt.check(Mark::High), attempt.gfp) {
                return true;
            }
            zone.set_flag(ZoneFlags::BELOW_HIGH);
        }
        zone.watermark_fast(rules, &attempt.check(attempt.mark), attempt.gfp)
            || attempt.want.flags.contains(AllocFlags::NO_WATERMARKS)
    }

    /// Take a block from one zone: the CPU's lists first, then the zone's.
    #[inline(always)]
    fn rmqueue(&self, cpu: CpuId, at: usize, want: Want) -> Option<u32> {
        let zone = self.zone(at);
        let slot = self.slot(cpu, at);
        let mut frame = None;
        if let Some(list) = self.geometry.pcp_list(want.order, want.migratetype)
            && let Some(mut pcp) = self.try_lock_lists(cpu, slot)
        {
            pcp.free_count >>= 1;
            pcp.free_factor >>= 1;
            frame = self.pcp_take(zone, &mut pcp, &slot.diff, list, want);
        }
        if frame.is_none() {
            frame = self.rmqueue_direct(cpu, at, want);
        }
        if want.flags.contains(AllocFlags::KSWAPD) && zone.clear_flag(ZoneFlags::BOOSTED_WATERMARK)
        {
            zone.rare.kswapd_wakeups.fetch_add(1);
            P::wake_kswapd(ZoneIdx(at as u8));
        }
        let reserves = want.flags.contains(AllocFlags::HIGHATOMIC) && want.order > 0;
        if let (Some(frame), true) = (frame, reserves) {
            self.reserve_highatomic(cpu, at, frame, want.order);
        }
        frame
    }

    /// Take a block from the zone's lists.
    #[inline(never)]
    fn rmqueue_direct(&self, cpu: CpuId, at: usize, want: Want) -> Option<u32> {
        let mut locked = self.zone(at).lock(self.tables(), &self.slot(cpu, at).diff);
        let frame = locked.buddy().rmqueue_direct(want.order, want.migratetype, want.flags)?;
        self.tables().hand_out(frame, Allocated { order: want.order, movable: want.movable });
        Some(frame)
    }

    /// Perhaps reserve the pageblock of a block just handed out (page_alloc.md §1.13).
    #[cold]
    fn reserve_highatomic(&self, cpu: CpuId, at: usize, frame: u32, order: u8) {
        let zone = self.zone(at);
        let limit = Buddy::highatomic_limit(
            self.geometry.rules.highatomic_limit,
            zone.info.managed,
            u64::from(self.geometry.pageblock_pages()),
        );
        let Some(limit) = limit else { return };
        if zone.rare.reserved_highatomic.load() < limit {
            let mut locked = zone.lock(self.tables(), &self.slot(cpu, at).diff);
            locked.buddy().reserve_highatomic(frame, order, limit);
        }
    }
}
