//! Giving pages back from a CPU's lists (page_alloc.md §2.6, §2.7).

use super::Pcp;
use crate::{
    allocator::PageAllocator,
    geometry::NR_LISTS,
    platform::{PcpLock, Platform},
    storage::Backing,
    vmstat::StatDiff,
    zone::Zone,
};
use mmspec_model::vocab::{CpuId, DrainLoop, FreeListType};

/// Groups looked up at once.
const CHUNK: usize = 64;

/// Blocks side by side on their way back to the zone: the first of them, the order of each and the
/// binary logarithm of their number, as one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(u64);

impl Group {
    #[inline]
    fn new(lowest: u32, order: u8, group: u32) -> Self {
        Self(u64::from(lowest) | u64::from(order) << 32 | u64::from(group) << 40)
    }

    /// The parts in the order of their description.
    #[inline]
    pub(crate) fn parts(self) -> (u32, u8, u8) {
        (self.0 as u32, (self.0 >> 32) as u8, (self.0 >> 40) as u8)
    }
}

/// A part of a bulk free, and how far the whole is.
struct Chunk {
    groups: [Group; CHUNK],
    len: usize,
    /// Pages still to be popped.
    left: i32,
    /// The list to go on with.
    list: usize,
    /// Lists that were found empty.
    turns: usize,
}

impl Chunk {
    fn new(left: i32, list: usize) -> Self {
        Self { groups: [Group(0); CHUNK], len: 0, left, list, turns: 0 }
    }
}

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
        let mut chunk = Chunk::new(pages.min(pcp.count), first);
        // What goes is looked up before the zone lock is taken, as far as one chunk.
        self.pop_chunk(pcp, &mut chunk);
        if chunk.len == 0 {
            return;
        }
        let mut locked = zone.lock(self.tables(), diff);
        let mut buddy = locked.buddy();
        let reread =
            self.geometry.rules.free_list_type == FreeListType::Pageblock || buddy.z.nr_isolate > 0;
        while chunk.len > 0 {
            buddy.free_groups(&chunk.groups[..chunk.len.min(CHUNK)], reread);
            self.pop_chunk(pcp, &mut chunk);
        }
    }

    /// Take the next groups off the lists.
    #[inline(never)]
    fn pop_chunk(&self, pcp: &mut Pcp, chunk: &mut Chunk) {
        let lists = self.geometry.pcp_lists();
        let links = &*self.storage.links;
        // Groups stay within a pageblock, whose type all of it has. Remembered types may differ from
        // block to block: there each goes by itself.
        let largest = if self.geometry.accounts_moves { self.geometry.pageblock_order } else { 0 };
        let (mut left, mut len) = (chunk.left, 0);
        while left > 0 && len < CHUNK {
            let order = self.geometry.pcp_list_order(chunk.list);
            let list = &mut pcp.lists[chunk.list % NR_LISTS];
            while left > 0 && len < CHUNK {
                let (lowest, group) = if list.ends_in_pair(links, order) {
                    // No more pages than are to go; the last block may have more.
                    let most = largest.min(left.ilog2() as u8).saturating_sub(order);
                    list.pop_tail_group(links, order, most.into())
                } else if let Some(frame) = list.pop_tail(links) {
                    (frame, 0)
                } else {
                    // Every turn either empties a list or satisfies the count, and the count never
                    // exceeds what is on the lists: at most one full round, and the first list once
                    // more. A page freed twice broke the count: going on would search for ever.
                    assert!(chunk.turns <= lists, "the lists hold fewer pages than their count");
                    chunk.turns += 1;
                    chunk.list = if chunk.list + 1 == lists { 0 } else { chunk.list + 1 };
                    break;
                };
                chunk.groups[len] = Group::new(lowest, order, group);
                len += 1;
                left -= 1 << (u32::from(order) + group);
            }
        }
        pcp.count -= chunk.left - left;
        (chunk.left, chunk.len) = (left, len);
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
