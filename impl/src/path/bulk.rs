//! Bulk allocation of single pages (page_alloc.md §4.6).

use super::attempt::Attempt;
use crate::{
    allocator::PageAllocator,
    frame::Allocated,
    platform::Platform,
    storage::Backing,
    zonelist::{Entry, Next},
};
use mmspec_model::{
    contract::Request,
    vocab::{AllocFlags, CpuId, FairPolicy, Gfp, Mark, Order, Pfn},
};

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
        let request = Request::new(Order::ZERO, gfp);
        let Ok(mut attempt) = self.prepare(cpu, &request) else { return filled };
        if wanted > 1 {
            let got = self.alloc_from_lists(cpu, attempt, wanted as u64, slots);
            if got > 0 {
                return filled + got;
            }
        }
        let outcome = self.get_page(cpu, &mut attempt, false);
        self.trace_alloc(&request, outcome);
        let page = outcome.page();
        let free = slots.iter_mut().find(|slot| slot.is_none());
        if let (Some(slot), Some(page)) = (free, page) {
            *slot = Some(page);
            return filled + 1;
        }
        filled
    }

    /// The first zone on the preferred zone's node with enough room for all that is wanted.
    fn roomy_zone(&self, attempt: &Attempt, wanted: u64) -> Option<Entry> {
        let mut check = attempt.check(Mark::Low);
        check.flags = attempt.want.flags & AllocFlags::CMA;
        check.extra = wanted;
        check.highest = attempt.preferred.kind;
        let mut cursor = attempt.start();
        loop {
            match self.next_entry(&mut cursor) {
                Next::Entry(entry) if attempt.passes_over(entry) => {}
                Next::Entry(entry) if entry.node == attempt.preferred.node => {
                    let zone = self.zone(entry.zone);
                    if zone.watermark_fast(&self.geometry.rules, &check, attempt.gfp) {
                        return Some(entry);
                    }
                }
                // What other nodes have is for the single path, and so are lists that changed.
                Next::Entry(_) | Next::End | Next::Changed => return None,
            }
        }
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
        let Some(entry) = self.roomy_zone(&attempt, wanted) else { return 0 };
        let (zone, slot) = (self.zone(entry.zone), self.slot(cpu, entry.zone));
        let Some(mut pcp) = self.try_lock_lists(cpu, slot) else { return 0 };
        let Some(list) = self.geometry.pcp_list(want.order, want.migratetype) else { return 0 };
        let block = Allocated { order: want.order, movable: want.movable };
        let mut got = 0;
        for free in slots.iter_mut().filter(|slot| slot.is_none()) {
            let taken = self.pcp_take(zone, &mut pcp, &slot.diff, list, block, || want);
            let Some(frame) = taken else { break };
            *free = Some(self.geometry.pfn(frame));
            self.count_numa(cpu, attempt.preferred, entry);
            if self.geometry.rules.fair_policy != FairPolicy::None {
                self.take_batch(cpu, entry.zone, 1);
            }
            got += 1;
        }
        got
    }
}
