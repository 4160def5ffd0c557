//! Giving pages back from a CPU's lists (page_alloc.md §2.6, §2.7).

use super::Pcp;
use crate::{
    allocator::{PageAllocator, PcpGuard},
    geometry::NR_LISTS,
    platform::{PcpLock, Platform},
    storage::Backing,
    vmstat::StatDiff,
    zone::Zone,
};
use mmspec_model::vocab::{CpuId, DrainLoop, FreeListType, MigrateType};

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
        let total = pages.min(pcp.count);
        if total <= 0 {
            return;
        }
        let tables = self.tables();
        let mut locked = zone.lock(tables, diff);
        let mut buddy = locked.buddy();
        let reread =
            self.geometry.rules.free_list_type == FreeListType::Pageblock || buddy.z.nr_isolate > 0;
        let lists = self.geometry.pcp_lists();
        // Groups stay within a pageblock, whose type all of it has. Remembered types may differ from
        // block to block: there each goes by itself.
        // A compactor may wait for a block on its way up.
        let grouped = reread && !buddy.diff.capture.is_armed();
        let largest = if grouped { self.geometry.pageblock_order } else { 0 };
        let (mut left, mut at) = (total, first);
        // Every turn either empties a list or satisfies the count, and the count never exceeds
        // what is on the lists: at most one full round, and the first list once more.
        let mut turns = 0;
        while left > 0 {
            // A page freed twice broke the count: going on would search the empty lists for ever.
            assert!(turns <= lists, "the lists hold fewer pages than their count");
            turns += 1;
            let order = self.geometry.pcp_list_order(at);
            let list = &mut pcp.lists[at % NR_LISTS];
            let mut steps = 0;
            while left > 0 {
                let (lowest, group) = if list.ends_in_pair(tables.links, order) {
                    // No more pages than are to go; the last block may have more.
                    let most = largest.min(left.ilog2() as u8).saturating_sub(order);
                    list.pop_tail_group(tables.links, order, most.into())
                } else if let Some(frame) = list.pop_tail(tables.links) {
                    (frame, 0)
                } else {
                    break;
                };
                left -= 1 << (u32::from(order) + group);
                steps += buddy.free_group(lowest, order, group as u8, reread);
            }
            buddy.account_steps(1 << order, steps, MigrateType::Unmovable);
            at = if at + 1 == lists { 0 } else { at + 1 };
        }
        pcp.count -= total - left;
    }

    /// Empty one CPU's lists in one zone, in bounded holds of its lock where the rules bound them.
    pub(crate) fn drain_lists(&self, by: CpuId, cpu: CpuId, zone: usize) {
        let slot = self.slot(cpu, zone);
        self.drain_held(by, zone, || slot.lock.lock_remote());
    }

    /// The same of the CPU's own lists: the owner's side of the lock first.
    pub(crate) fn drain_own_lists(&self, cpu: CpuId, zone: usize) {
        let slot = self.slot(cpu, zone);
        self.drain_held(cpu, zone, || match slot.lock.try_lock() {
            Some(pcp) => pcp,
            None => slot.lock.lock_remote(),
        });
    }

    /// Whether a CPU's lists in a zone hold pages. Counted under the lock: a count that is read
    /// beside it may be of before a refill (bug P20).
    pub(crate) fn holds_pages(&self, cpu: CpuId, zone: usize) -> bool {
        self.slot(cpu, zone).lock.lock_remote().count > 0
    }

    fn drain_held<'a>(&self, by: CpuId, zone: usize, lock: impl Fn() -> PcpGuard<'a, P>) {
        let diff = &self.slot(by, zone).diff;
        loop {
            let mut pcp = lock();
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
