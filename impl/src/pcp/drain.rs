//! Giving pages back from a CPU's lists (page_alloc.md §2.6, §2.7).

use super::Pcp;
use crate::{
    allocator::PageAllocator,
    frame::Frame,
    platform::{PcpLock, Platform},
    storage::Backing,
    vmstat::StatDiff,
    zone::{Placement, Zone},
};
use mmspec_model::vocab::{CpuId, DrainLoop, FreeListType};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Give at least `pages` pages back, oldest first, list by list from `first` on, wrapping
    /// around.
    pub(crate) fn bulk_free(
        &self,
        zone: &Zone<P>,
        pcp: &mut Pcp,
        diff: &StatDiff,
        pages: i32,
        first: usize,
    ) {
        let tables = self.tables();
        let mut left = pages.min(pcp.count);
        let mut locked = zone.lock(tables, diff);
        let mut buddy = locked.buddy();
        let reread =
            self.geometry.rules.free_list_type == FreeListType::Pageblock || buddy.z.nr_isolate > 0;
        let lists = self.geometry.pcp_lists();
        let mut list = first;
        // Every turn either empties a list or satisfies the count, and the count never exceeds
        // what is on the lists: at most one full round, and the first list once more.
        let mut turns = 0;
        while left > 0 {
            // A page freed twice broke the count: going on would search the empty lists for ever.
            assert!(turns <= lists, "the lists hold fewer pages than their count");
            turns += 1;
            let order = self.geometry.pcp_list_order(list);
            while left > 0 {
                let Some(frame) = pcp.lists[list].pop_tail(tables.links) else { break };
                let state = tables.frame(frame);
                let migratetype =
                    if reread { tables.block_type(frame) } else { state.migratetype() };
                left -= 1 << order;
                pcp.count -= 1 << order;
                tables.set_frame(frame, Frame::TAIL);
                buddy.free_block(frame, order, migratetype, Placement::ByBuddy);
            }
            list += 1;
            if list == lists {
                list = 0;
            }
        }
    }

    /// Empty one CPU's lists in one zone, in bounded holds of its lock where the rules bound them.
    pub(crate) fn drain_lists(&self, by: CpuId, cpu: CpuId, zone: usize) {
        let diff = &self.slot(by, zone).diff;
        let slot = self.slot(cpu, zone);
        loop {
            let mut pcp = slot.lock.lock_remote();
            let seen = pcp.count;
            if seen == 0 {
                return;
            }
            let pages = match self.geometry.rules.drain_loop {
                DrainLoop::OneShot => seen,
                DrainLoop::Bounded => seen.min(pcp.limits.most()),
            };
            self.bulk_free(&self.zones()[zone], &mut pcp, diff, pages, 0);
            if pages == seen {
                return;
            }
        }
    }
}
