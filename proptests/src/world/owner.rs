//! The owner of pages, as reclaim and compaction see it.

use super::{
    Memory,
    tables::{HUGE_PAGES, Place, Tables},
};
use mmspec_impl::reclaim::LruList;
use mmspec_impl::{
    platform::Platform,
    reclaim::{Anon, LruPage, PageOwner, References, Shrinker, Written},
};
use mmspec_model::{
    contract::{
        CompactEvent, CompactLock, CompactMode, LruPages, LruUse, Migrated, PageMover, PageUse,
    },
    vocab::{NodeId, Order, Pfn},
};

impl<P: Platform> PageMover for Memory<P> {
    fn page(&self, pfn: Pfn) -> PageUse {
        let on_list = self.lru.list_of(&self.pages, pfn);
        let tables = self.tables();
        let (frame, order) = (tables.frame(pfn), tables.order(pfn));
        match on_list {
            Some(list) => PageUse::Lru(LruUse {
                order,
                anon: !frame.file,
                pinned: frame.obstacle.pinned,
                dirty_without_handler: frame.dirty && frame.obstacle.no_handler,
                writeback: frame.obstacle.writeback_until > tables.tick,
                unevictable: list == LruList::Unevictable,
            }),
            None if order > Order::ZERO => PageUse::Compound(order),
            None => PageUse::Fixed,
        }
    }

    fn isolate(&self, pfn: Pfn) -> bool {
        let list = self.lru.list_of(&self.pages, pfn);
        if !self.lru.remove(&self.pages, pfn) {
            return false;
        }
        let mut tables = self.tables();
        tables.frame_mut(pfn).isolated = list;
        tables.isolated += tables.size(pfn) as u64;
        true
    }

    fn put_back(&self, pfn: Pfn) {
        let mut tables = self.tables();
        let Some(list) = self.end_isolation(&mut tables, pfn) else { return };
        tables.listed();
        if tables.is_mapped(pfn) {
            drop(tables);
            self.lru.add_to(&self.pages, pfn, list);
        } else {
            self.free(tables, pfn);
        }
    }

    fn migrate(&self, from: Pfn, to: Pfn, mode: CompactMode, pass: u8) -> Migrated {
        let mut tables = self.tables();
        if !tables.is_mapped(from) {
            self.end_isolation(&mut tables, from);
            tables.forget(from);
            return Migrated::Freed;
        }
        let (frame, tick) = (*tables.frame(from), tables.tick);
        let refused = if frame.obstacle.locked_until > tick {
            // Whoever may block waits for the lock.
            (mode == CompactMode::Async || pass < 3).then_some(Migrated::Again)
        } else if frame.obstacle.writeback_until > tick {
            (mode != CompactMode::Sync).then_some(Migrated::Busy)
        } else if frame.obstacle.pinned {
            Some(Migrated::Again)
        } else if frame.dirty && frame.obstacle.no_handler {
            Some(Migrated::NoHandler)
        } else {
            None
        };
        if let Some(refused) = refused {
            tables.meter().failed += 1;
            return refused;
        }
        if frame.obstacle.locked_until.max(frame.obstacle.writeback_until) > tick {
            tables.meter().waits += 1;
            let obstacle = &mut tables.frame_mut(from).obstacle;
            (obstacle.locked_until, obstacle.writeback_until) = (0, 0);
        }
        let list = self.end_isolation(&mut tables, from);
        let pages = tables.size(from) as u64;
        tables.meter().migrated += pages;
        tables.listed();
        tables.move_block(from, to);
        drop(tables);
        if let Some(list) = list {
            self.lru.add_to(&self.pages, to, list);
        }
        Migrated::Done
    }

    fn lru_pages(&self, node: NodeId) -> LruPages {
        let size = |list| self.lru.size(node, list);
        LruPages {
            inactive: size(LruList::InactiveAnon) + size(LruList::InactiveFile),
            active: size(LruList::ActiveAnon) + size(LruList::ActiveFile),
            isolated: self.tables().isolated,
        }
    }

    /// A lock is found taken if another CPU holds it at this moment.
    fn contended(&self, lock: CompactLock) -> bool {
        let now = self.catch_up();
        let mut tables = self.tables();
        let taken = tables.holds.is_taken(lock, tables.cpu.index(), now);
        let meter = tables.meter();
        meter.tries[lock as usize] += 1;
        meter.taken[lock as usize] += u64::from(taken);
        taken
    }

    fn passed(&self, lock: CompactLock, frames: u64, taken: u64) {
        let mut tables = self.tables();
        let meter = tables.meter();
        match lock {
            CompactLock::Lru => meter.migrate_scanned += frames,
            CompactLock::Zone => meter.free_scanned += frames,
        }
        meter.listed += taken;
    }

    fn locks(&self, lock: CompactLock) {
        self.tables().lock(lock);
    }

    fn unlocks(&self, lock: CompactLock) {
        self.tables().unlock(lock);
    }

    fn drain_lru(&self) {
        self.tables().flush_listed();
    }

    fn fatal_signal(&self) -> bool {
        self.tables().signal
    }

    fn needs_resched(&self) -> bool {
        let tables = self.tables();
        let deadline = tables.cpus[tables.cpu.index()].deadline;
        deadline.is_some_and(|deadline| tables.clock(tables.cpu) >= deadline)
    }

    fn trace(&self, event: CompactEvent) {
        let mut tables = self.tables();
        match event {
            // Free lists are walked under the zone lock.
            CompactEvent::FastFindMigrate { scanned, .. } => {
                tables.lock(CompactLock::Zone);
                tables.meter().migrate_scanned += scanned;
                tables.unlock(CompactLock::Zone);
            }
            CompactEvent::FastIsolateFree { scanned, taken, .. } => {
                tables.lock(CompactLock::Zone);
                tables.meter().free_scanned += scanned;
                tables.meter().listed += u64::from(taken > 0);
                tables.unlock(CompactLock::Zone);
            }
            // Where they came from is free.
            CompactEvent::Moved { order, .. } => tables.freed(order),
            _ => {}
        }
        drop(tables);
        self.listen(event);
    }
}

impl<P: Platform> PageOwner for Memory<P> {
    fn references(&self, page: LruPage) -> References {
        let mut tables = self.tables();
        tables.looked_at();
        tables.meter().lru_scanned += page.order.pages();
        let used = std::mem::take(&mut tables.frame_mut(page.pfn).accessed);
        References { times: u32::from(used), ..References::default() }
    }

    fn is_dirty(&self, page: LruPage) -> bool {
        self.tables().frame(page.pfn).dirty
    }

    fn is_under_writeback(&self, page: LruPage) -> bool {
        let tables = self.tables();
        tables.frame(page.pfn).obstacle.writeback_until > tables.tick
    }

    fn swap(&self, page: LruPage) -> Anon {
        if !self.config.swap {
            return Anon::Stays;
        }
        self.tables().frame_mut(page.pfn).dirty = true;
        Anon::Swap
    }

    fn unmap(&self, page: LruPage) -> bool {
        let tables = self.tables();
        let obstacle = tables.frame(page.pfn).obstacle;
        !obstacle.pinned && obstacle.locked_until <= tables.tick
    }

    fn write(&self, page: LruPage) -> Written {
        let mut tables = self.tables();
        if tables.frame(page.pfn).obstacle.no_handler {
            return Written::Failed;
        }
        tables.frame_mut(page.pfn).dirty = false;
        Written::Clean
    }

    /// What lay in the page goes to swap, or can be read from its file again.
    fn release(&self, page: LruPage) -> bool {
        let mut tables = self.tables();
        let head = *tables.frame(page.pfn);
        for pfn in tables.block(page.pfn) {
            let frame = *tables.frame(pfn);
            if let Some(home) = frame.home {
                let place = if head.file { Place::Nowhere } else { Place::Swap(frame.content) };
                tables.entry_mut(home).place = place;
                tables.region_mut(home).huge = None;
            }
        }
        tables.thp.swpout += u64::from(head.huge);
        tables.meter().reclaimed += page.order.pages();
        tables.reclaimed();
        tables.freed(page.order);
        tables.forget(page.pfn);
        true
    }
}

/// Huge pages that are mapped in parts are split when memory is short (compaction.md §5.4). What that frees
/// does not count as reclaimed: of what shrinkers free only slab pages do \[mem\].
impl<P: Platform> Shrinker for Memory<P> {
    fn count(&self, _: NodeId) -> u64 {
        self.tables().queue.len() as u64
    }

    fn scan(&self, _: NodeId, objects: u64) -> Option<u64> {
        for _ in 0..objects {
            let Some(head) = self.tables().queue.pop_front() else { break };
            self.tables().frame_mut(head).queued = false;
            self.split(head);
        }
        Some(0)
    }
}

impl<P: Platform> Memory<P> {
    /// The page is in nobody's hands any more; the list that it was taken from.
    fn end_isolation(&self, tables: &mut Tables, pfn: Pfn) -> Option<LruList> {
        let list = tables.frame_mut(pfn).isolated.take()?;
        tables.isolated -= tables.size(pfn) as u64;
        Some(list)
    }

    /// Make base pages of a huge page and free those that nobody maps.
    fn split(&self, head: Pfn) {
        let list = self.lru.list_of(&self.pages, head);
        if !self.lru.remove(&self.pages, head) {
            self.tables().thp.split_page_failed += 1;
            return;
        }
        let cpu = self.cpu();
        self.pages.split_allocated(cpu, head);
        let mut unused = Vec::new();
        let mut tables = self.tables();
        tables.thp.split_page += 1;
        let whole = *tables.frame(head);
        for at in 0..HUGE_PAGES as u64 {
            let frame = tables.frame_mut(head.add(at));
            (frame.huge, frame.accessed) = (false, whole.accessed);
            if frame.home.is_none() {
                *frame = super::tables::Frame::default();
                unused.push((head.add(at), Order::ZERO));
            }
        }
        tables.freed_singles(unused.len() as u64);
        drop(tables);
        let mut unused_at = unused.iter().map(|(pfn, _)| *pfn).peekable();
        for pfn in (0..HUGE_PAGES as u64).map(|at| head.add(at)) {
            if unused_at.next_if_eq(&pfn).is_none()
                && let Some(list) = list
            {
                self.lru.add_to(&self.pages, pfn, list);
            }
        }
        self.pages.free_batch(cpu, &unused);
    }
}
