//! Taking from a CPU's lists, and fetching a batch when one is empty (page_alloc.md §2.4).

use super::Pcp;
use crate::vmstat::StatDiff;
use crate::{
    allocator::PageAllocator,
    frame::{Allocated, Frame},
    platform::Platform,
    storage::Backing,
    zone::{Mode, Zone},
};
use mmspec_model::vocab::{AllocFlags, MigrateType};

/// What is wanted of a CPU's lists.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Want {
    pub(crate) order: u8,
    pub(crate) migratetype: MigrateType,
    pub(crate) flags: AllocFlags,
    /// The request has the movable gfp bit.
    pub(crate) movable: bool,
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Take a block from one of a CPU's lists, after a refill if need be. Counts the hand-out.
    #[inline(always)]
    pub(crate) fn pcp_take(
        &self,
        zone: &Zone<P>,
        pcp: &mut Pcp,
        diff: &StatDiff,
        list: usize,
        block: Allocated,
        want: impl Fn() -> Want,
    ) -> Option<u32> {
        if pcp.lists[list].is_empty() {
            self.refill(zone, pcp, diff, list, want());
        }
        let tables = self.tables();
        let frame = pcp.lists[list].pop_head(tables.links)?;
        let pages = 1 << block.order;
        pcp.count -= pages;
        pcp.allocs += 1;
        pcp.pgalloc += pages as u64;
        tables.hand_out(frame, block);
        Some(frame)
    }

    /// Fetch blocks from the zone, in the order in which it gives them.
    #[cold]
    fn refill(&self, zone: &Zone<P>, pcp: &mut Pcp, diff: &StatDiff, list: usize, want: Want) {
        let blocks = pcp.refill_blocks(want.order, zone.flags(), self.geometry.auto_tuning);
        let mut locked = zone.lock(self.tables(), diff);
        let mut buddy = locked.buddy();
        let (mut mode, mut fetched) = (Mode::Normal, 0);
        while fetched < blocks {
            if mode == Mode::Normal && !want.flags.contains(AllocFlags::CMA) {
                let left = blocks - fetched;
                fetched += buddy.take_run(want.order, want.migratetype, left, &mut pcp.lists[list]);
                if fetched == blocks {
                    break;
                }
            }
            let found = buddy.rmqueue(want.order, want.migratetype, want.flags, &mut mode);
            let Some((frame, from)) = found else { break };
            buddy.tables.set_frame(frame, Frame::busy(want.order, from));
            pcp.lists[list].push_tail(buddy.tables.links, frame);
            if !self.geometry.accounts_moves && from == MigrateType::Cma {
                buddy.account_cma(-(1 << want.order));
            }
            fetched += 1;
        }
        if !self.geometry.accounts_moves {
            // One update for the batch; the type is one that is not Isolate.
            buddy.account(-(i64::from(fetched) << want.order), MigrateType::Movable);
        }
        pcp.count += (fetched << want.order) as i32;
    }
}
