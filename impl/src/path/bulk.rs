//! Bulk allocation of single pages (page_alloc.md §4.6).

use super::alloc::Attempt;
use crate::{allocator::PageAllocator, platform::Platform, storage::Backing};
use mmspec_model::vocab::{AllocFlags, CpuId, Gfp, Mark, Order, Pfn};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Fill empty slots with single pages; the number of filled slots. See
    /// [`mmspec_model::contract::BulkAlloc::alloc_bulk`].
    ///
    /// # Panics
    /// If the machine has no such CPU.
    pub fn alloc_bulk(&self, cpu: CpuId, gfp: Gfp, slots: &mut [Option<Pfn>]) -> usize {
        let wanted = slots.iter().filter(|slot| slot.is_none()).count();
        let filled = slots.len() - wanted;
        if wanted == 0 {
            return filled;
        }
        let Ok(mut attempt) = self.prepare(Order::ZERO, gfp) else { return filled };
        if wanted > 1 {
            let got = self.alloc_from_lists(cpu, attempt, wanted as u64, slots);
            if got > 0 {
                return filled + got;
            }
        }
        let page = self.get_page(cpu, &mut attempt, false).page();
        let free = slots.iter_mut().find(|slot| slot.is_none());
        if let (Some(slot), Some(page)) = (free, page) {
            *slot = Some(page);
            return filled + 1;
        }
        filled
    }

    /// Fill the slots from the CPU's lists of one zone; the number of pages got, 0 where the
    /// single path has to help.
    fn alloc_from_lists(
        &self,
        cpu: CpuId,
        attempt: Attempt,
        wanted: u64,
        slots: &mut [Option<Pfn>],
    ) -> usize {
        let mut want = attempt.want;
        want.flags &= AllocFlags::CMA;
        let mut check = attempt.check(Mark::Low);
        check.flags = want.flags;
        check.extra = wanted;
        check.highest = self.zone(attempt.preferred).info.kind;
        let passes = |at: &usize| {
            let zone = self.zone(*at);
            zone.info.managed > 0 && zone.watermark_fast(&self.geometry.rules, &check, attempt.gfp)
        };
        let Some(at) = (0..=attempt.preferred).rev().find(passes) else { return 0 };
        let (zone, slot) = (self.zone(at), self.slot(cpu, at));
        let Some(mut pcp) = self.try_lock_lists(cpu, slot) else { return 0 };
        let Some(list) = self.geometry.pcp_list(want.order, want.migratetype) else { return 0 };
        let mut got = 0;
        for free in slots.iter_mut().filter(|slot| slot.is_none()) {
            let Some(frame) = self.pcp_take(zone, &mut pcp, &slot.diff, list, want) else { break };
            *free = Some(self.geometry.pfn(frame));
            got += 1;
        }
        got
    }
}
