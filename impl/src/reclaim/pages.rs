//! What becomes of the pages at the end of a list (compaction.md §4.7).

use super::{
    Anon, BATCH, LruFlags, LruList, Reclaim, Shrink, Shrunk, Written,
    balance::{is_inactive_low, note_cost},
    list::{NodeLists, Place},
};
use crate::{
    platform::{Lock, Platform},
    storage::Backing,
};
use mmspec_model::vocab::{CpuId, NodeId, Order, Pfn};

/// Pages of other zones that one look sets aside at most [mem: the kernel's bound is of that kind].
const MOST_SKIPPED: u32 = 1024;

/// Pages taken off a list.
pub(super) struct Taken {
    places: [Option<Place>; BATCH as usize],
    count: usize,
    /// Base pages.
    pages: u64,
}

/// What becomes of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Free,
    Activate,
    /// Back to the head of the inactive list.
    Keep,
    /// To the unevictable list.
    Lock,
}

/// What a look at an inactive list met, in base pages.
#[derive(Clone, Copy, Default)]
struct Met {
    written: u64,
    dirty: u64,
}

impl<P: Platform, B: Backing> Reclaim<'_, P, B> {
    /// Take up to `pages` base pages off the tail of a list. Pages of other zones go back to its head.
    fn isolate(&self, lists: &mut NodeLists, list: LruList, pages: u64, kinds: u8) -> Taken {
        let mut taken = Taken { places: [None; BATCH as usize], count: 0, pages: 0 };
        let links = self.lru.records();
        let (mut skipped, mut first) = (0, None);
        while taken.pages < pages && taken.count < taken.places.len() && skipped < MOST_SKIPPED {
            let Some(frame) = lists.lists[list.index()].pop_tail(links) else { break };
            if first == Some(frame) {
                // All the rest was set aside.
                lists.lists[list.index()].push_tail(links, frame);
                break;
            }
            let flags = &self.lru.storage.flags[frame as usize];
            let Some(place) = Place::of_frame(self.pages, frame) else {
                debug_assert!(false, "frame {frame} is on a list of pages, but not allocated");
                flags.clear();
                continue;
            };
            let size = place.order.pages();
            if kinds >> place.kind.index() & 1 == 0 {
                lists.lists[list.index()].push_head(links, frame);
                lists.counters.pgskip[place.kind.index()] += size;
                first = first.or(Some(frame));
                skipped += 1;
                continue;
            }
            lists.pages[list.index()][place.kind.index()] -= size;
            flags.place(LruFlags::ISOLATED);
            taken.places[taken.count] = Some(place);
            taken.count += 1;
            taken.pages += size;
        }
        lists.isolated[usize::from(list.is_file())] += taken.pages;
        taken
    }

    /// Shrink one list by up to `pages` base pages.
    pub(super) fn shrink_list(
        &self,
        cpu: CpuId,
        node: NodeId,
        list: LruList,
        pages: u64,
        kinds: u8,
        shrink: &Shrink,
    ) -> Shrunk {
        if !list.is_active() {
            return self.shrink_inactive(cpu, node, list.is_file(), pages, kinds, shrink);
        }
        let low = {
            let lists = self.lru.storage.nodes[node.index()].0.lock();
            is_inactive_low(&lists, list.is_file(), kinds)
        };
        if low {
            self.shrink_active(node, list.is_file(), pages, kinds);
        }
        Shrunk::default()
    }

    /// Move pages from an active list to its inactive one. Program text in use stays.
    pub(super) fn shrink_active(&self, node: NodeId, file: bool, pages: u64, kinds: u8) {
        let node = &self.lru.storage.nodes[node.index()].0;
        let active = LruList::of(file, true);
        let taken = self.isolate(&mut node.lock(), active, pages, kinds);
        let mut to = [active; BATCH as usize];
        for (place, to) in taken.places.iter().flatten().zip(&mut to) {
            let uses = self.owner.references(place.page(self.pages, file));
            *to = if uses.locked {
                LruList::Unevictable
            } else if file && uses.executable && uses.times > 0 {
                active
            } else {
                LruList::of(file, false)
            };
        }
        let mut lists = node.lock();
        let mut rotated = 0;
        for (place, to) in taken.places.iter().flatten().zip(to) {
            let size = place.order.pages();
            self.lru.storage.flags[place.frame as usize].set(LruFlags::REFERENCED, false);
            self.lru.link(&mut lists, *place, to);
            if to == active {
                rotated += size;
            } else if to != LruList::Unevictable {
                lists.counters.pgdeactivate += size;
            }
        }
        lists.counters.pgrefill += taken.pages;
        lists.isolated[usize::from(file)] -= taken.pages;
        note_cost(&mut lists, file, rotated);
        self.show_all(&taken, &lists);
    }

    /// Free what can go from the end of an inactive list.
    fn shrink_inactive(
        &self,
        cpu: CpuId,
        node: NodeId,
        file: bool,
        pages: u64,
        kinds: u8,
        shrink: &Shrink,
    ) -> Shrunk {
        let node = &self.lru.storage.nodes[node.index()].0;
        let inactive = LruList::of(file, false);
        let (taken, may_write_files) = {
            let mut lists = node.lock();
            // Others have more in hand than is left: they will free enough.
            let in_hand = lists.isolated[usize::from(file)];
            if !shrink.kswapd && in_hand > lists.size(inactive, u8::MAX) {
                return Shrunk::default();
            }
            let writes = shrink.kswapd && lists.dirty;
            (self.isolate(&mut lists, inactive, pages, kinds), writes)
        };
        let mut met = Met::default();
        let mut fates = [Fate::Keep; BATCH as usize];
        let mut freed = [(Pfn(0), Order::ZERO); BATCH as usize];
        let (mut count, mut reclaimed) = (0, 0);
        for (place, fate) in taken.places.iter().flatten().zip(&mut fates) {
            *fate = self.fate(*place, file, shrink, may_write_files, &mut met);
            if *fate == Fate::Free {
                // From here on the frame may come back as somebody else's.
                self.lru.storage.flags[place.frame as usize].clear();
                freed[count] = (self.pages.geometry.pfn(place.frame), place.order);
                count += 1;
                reclaimed += place.order.pages();
            }
        }
        self.pages.free_batch(cpu, &freed[..count]);
        let mut lists = node.lock();
        for (place, fate) in taken.places.iter().flatten().zip(fates) {
            let to = match fate {
                Fate::Free => continue,
                Fate::Activate => LruList::of(file, true),
                Fate::Keep => inactive,
                Fate::Lock => LruList::Unevictable,
            };
            self.lru.link(&mut lists, *place, to);
            if fate == Fate::Activate {
                lists.counters.pgactivate += place.order.pages();
            }
        }
        lists.isolated[usize::from(file)] -= taken.pages;
        note_cost(&mut lists, file, met.written * BATCH + (taken.pages - reclaimed));
        if shrink.kswapd && file && taken.pages > 0 {
            lists.dirty = met.dirty == taken.pages;
        }
        let counters = &mut lists.counters;
        let (scan, steal) = if shrink.kswapd {
            (&mut counters.pgscan_kswapd, &mut counters.pgsteal_kswapd)
        } else {
            (&mut counters.pgscan_direct, &mut counters.pgsteal_direct)
        };
        *scan += taken.pages;
        *steal += reclaimed;
        self.show_all(&taken, &lists);
        Shrunk { scanned: taken.pages, reclaimed }
    }

    /// Decide about one page, and do what it takes.
    fn fate(
        &self,
        place: Place,
        file: bool,
        shrink: &Shrink,
        may_write_files: bool,
        met: &mut Met,
    ) -> Fate {
        let page = place.page(self.pages, file);
        let flags = &self.lru.storage.flags[place.frame as usize];
        let uses = self.owner.references(page);
        if uses.locked {
            return Fate::Lock;
        }
        let before = flags.has(LruFlags::REFERENCED);
        flags.set(LruFlags::REFERENCED, false);
        if uses.times > 0 {
            // Once is not enough for data of files: only the second time proves that it is in use.
            if !file || before || uses.times > 1 || uses.executable {
                return Fate::Activate;
            }
            flags.set(LruFlags::REFERENCED, true);
            return Fate::Keep;
        }
        if self.owner.is_under_writeback(page) {
            return Fate::Activate;
        }
        let mut dirty = self.owner.is_dirty(page);
        if !file {
            // It was scanned at all because it may be swapped.
            if self.owner.swap(page) == Anon::Stays {
                return Fate::Activate;
            }
            dirty = self.owner.is_dirty(page);
        } else if dirty {
            met.dirty += page.order.pages();
            if before {
                // Used once without a mapping: it goes only if that costs nothing.
                return Fate::Keep;
            }
            if !may_write_files || !flags.has(LruFlags::SEEN) {
                flags.set(LruFlags::SEEN, true);
                return Fate::Activate;
            }
        }
        if !self.owner.unmap(page) {
            return Fate::Activate;
        }
        if dirty {
            if !shrink.may_write {
                return Fate::Keep;
            }
            match self.owner.write(page) {
                Written::Clean => met.written += page.order.pages(),
                Written::Started => {
                    met.written += page.order.pages();
                    return Fate::Keep;
                }
                Written::Failed => return Fate::Activate,
            }
        }
        if self.owner.release(page) { Fate::Free } else { Fate::Keep }
    }

    /// Show what is reclaimable in the zones that pages were taken from.
    fn show_all(&self, taken: &Taken, lists: &NodeLists) {
        let mut shown = 0_u8;
        for place in taken.places.iter().flatten() {
            if shown >> place.kind.index() & 1 == 0 {
                shown |= 1 << place.kind.index();
                self.lru.show(self.pages, *place, lists);
            }
        }
    }
}
