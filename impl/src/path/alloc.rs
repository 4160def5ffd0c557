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
    vocab::{AllocFlags, CpuId, Gfp, Mark, MigrateType, ZoneFlags, ZoneKind},
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
        match self.prepare(request) {
            Ok(mut attempt) => self.get_page(cpu, &mut attempt),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Decide flags, type and preferred zone, or refuse.
    #[inline]
    pub(crate) fn prepare(&self, request: Request) -> Result<Attempt, Refusal> {
        let (order, gfp) = (request.order.get(), request.gfp);
        if order > self.geometry.max_order {
            return Err(Refusal::OrderTooLarge(request.order));
        }
        let highest = gfp.highest_zone()?;
        let asked = gfp.migratetype()?;
        let preferred = self.preferred[highest.index()].ok_or(Refusal::NoZone)?;
        let preferred = usize::from(preferred);
        let migratetype = if self.geometry.grouping { asked } else { MigrateType::Unmovable };
        let (mark, mut flags) = match request.attempt {
            Some(given) => given,
            None if self.zones()[preferred].info.kind == ZoneKind::Normal => {
                (Mark::Low, AllocFlags::NOFRAGMENT)
            }
            None => (Mark::Low, AllocFlags::empty()),
        };
        if gfp.contains(Gfp::KSWAPD_RECLAIM) {
            flags |= AllocFlags::KSWAPD;
        }
        if self.geometry.cma_built && migratetype == MigrateType::Movable {
            flags |= AllocFlags::CMA;
        }
        let movable = asked == MigrateType::Movable;
        let want = Want { order, migratetype, flags, movable };
        Ok(Attempt { want, gfp, mark, highest, preferred })
    }

    /// Try the zones from the preferred one down; once more without NOFRAGMENT.
    #[inline]
    pub(crate) fn get_page(&self, cpu: CpuId, attempt: &mut Attempt) -> Outcome {
        loop {
            for at in (0..=attempt.preferred).rev() {
                let zone = &self.zones()[at];
                if zone.info.managed == 0 || !self.may_take(zone, attempt) {
                    continue;
                }
                if let Some(frame) = self.rmqueue(cpu, at, &attempt.want) {
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
    #[inline]
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
    #[inline]
    fn rmqueue(&self, cpu: CpuId, at: usize, want: &Want) -> Option<u32> {
        let zone = &self.zones()[at];
        let slot = self.slot(cpu, at);
        let mut frame = None;
        if self.geometry.is_pcp_order(want.order)
            && let Some(mut pcp) = self.try_lock_lists(cpu, slot)
        {
            pcp.free_count >>= 1;
            pcp.free_factor >>= 1;
            frame = self.pcp_take(zone, &mut pcp, &slot.diff, want);
        }
        if frame.is_none() {
            frame = self.rmqueue_direct(cpu, at, want);
        }
        if want.flags.contains(AllocFlags::KSWAPD) && zone.clear_flag(ZoneFlags::BOOSTED_WATERMARK)
        {
            zone.rare.kswapd_wakeups.fetch_add(1);
        }
        let reserves = want.flags.contains(AllocFlags::HIGHATOMIC) && want.order > 0;
        if let (Some(frame), true) = (frame, reserves) {
            self.reserve_highatomic(cpu, at, frame, want.order);
        }
        frame
    }

    /// Take a block from the zone's lists.
    #[cold]
    fn rmqueue_direct(&self, cpu: CpuId, at: usize, want: &Want) -> Option<u32> {
        let mut locked = self.zones()[at].lock(self.tables(), &self.slot(cpu, at).diff);
        let frame = locked.buddy().rmqueue_direct(want.order, want.migratetype, want.flags)?;
        self.hand_out(frame, Allocated { order: want.order, movable: want.movable });
        Some(frame)
    }

    /// Perhaps reserve the pageblock of a block just handed out (page_alloc.md §1.13).
    #[cold]
    fn reserve_highatomic(&self, cpu: CpuId, at: usize, frame: u32, order: u8) {
        let zone = &self.zones()[at];
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
