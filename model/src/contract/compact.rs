//! What compaction needs to know of pages and to have done with them, and what it tells.

use super::CompactResult;
use crate::vocab::{NodeId, Order, Pfn, PfnRange, ZoneIdx};

/// How hard a run tries (MIGRATE_*).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CompactMode {
    /// Never blocks.
    Async,
    /// Blocks, but not for writes.
    SyncLight,
    /// Blocks for writes too.
    Sync,
}

/// How a frame is used that heads an allocated block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PageUse {
    /// By nobody who could move it.
    Fixed,
    /// It heads a compound page of this order that is on no LRU list.
    Compound(Order),
    /// On an LRU list.
    Lru(LruUse),
    /// Movable by its driver.
    Driver,
}

/// A page (or folio) on an LRU list, as the migrate scanner asks about it (compaction.md §1.6).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LruUse {
    /// Its size; above 0 a compound page.
    pub order: Order,
    /// Anonymous memory, or a file's page.
    pub anon: bool,
    /// References beyond its mappings: it will not move.
    pub pinned: bool,
    /// Dirty, and its file system has no handler to migrate it.
    pub dirty_without_handler: bool,
    /// A write of it is under way.
    pub writeback: bool,
    /// Locked in memory (mlock).
    pub unevictable: bool,
}

impl LruUse {
    /// An anonymous base page that nothing holds.
    pub const ANON: Self = Self {
        order: Order::ZERO,
        anon: true,
        pinned: false,
        dirty_without_handler: false,
        writeback: false,
        unevictable: false,
    };
}

/// What came of an attempt to migrate a page.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Migrated {
    /// Its content and all mappings are at the target now; the source is nobody's.
    Done,
    /// It was freed meanwhile: only compaction holds it. The target was not used.
    Freed,
    /// Not now: locked, referenced, under writeback. The target was not used.
    Again,
    /// Not now, and perhaps never: it has no handler to migrate it, and its private data could not be
    /// dropped. Whether it is tried again is patch 06's matter. The target was not used.
    NoHandler,
    /// Never in this run. The target was not used.
    Busy,
}

/// The owner of movable pages, as compaction sees it. It is called while no lock of the allocator is held
/// but for [`PageMover::page`] and [`PageMover::isolate`], which must not call the allocator.
///
/// An isolated page is the run's until it was migrated or put back: its owner may still free it, by
/// saying so at [`PageMover::migrate`].
pub trait PageMover: Sync {
    /// How the allocated block that begins at `pfn` is used. An isolated page is on no LRU list:
    /// [`PageUse::Fixed`].
    fn page(&self, pfn: Pfn) -> PageUse;

    /// Take a page off its LRU list; false if it is on none any more.
    fn isolate(&self, pfn: Pfn) -> bool;

    /// Put an isolated page back.
    fn put_back(&self, pfn: Pfn);

    /// Move an isolated page's content and mappings; `pass` counts from 0 in one call, and from 3 on
    /// the page's lock may be waited for unless `mode` is async.
    fn migrate(&self, from: Pfn, to: Pfn, mode: CompactMode, pass: u8) -> Migrated;

    /// Pages of a node on its evictable LRU lists, and pages isolated from them.
    fn lru_pages(&self, node: NodeId) -> LruPages;

    /// Batches that wait to be put on LRU lists are put there (lru_add_drain).
    fn drain_lru(&self) {}

    /// Whether a lock is found taken when it is tried.
    fn contended(&self, lock: CompactLock) -> bool {
        let _ = lock;
        false
    }

    /// A scanner has looked at `frames` more since it last said so, and has taken `taken` pages (for
    /// targets: blocks) off their lists. Said before `lock` is tried or taken, before it is dropped, and at
    /// the end of a range: between [`PageMover::locks`] and [`PageMover::unlocks`] it is work under the lock.
    fn passed(&self, lock: CompactLock, frames: u64, taken: u64) {
        let _ = (lock, frames, taken);
    }

    /// A scanner is about to take a lock, and waits for it.
    fn locks(&self, lock: CompactLock) {
        let _ = lock;
    }

    /// A scanner has dropped a lock.
    fn unlocks(&self, lock: CompactLock) {
        let _ = lock;
    }

    /// Whether a fatal signal is pending for the task that compacts.
    fn fatal_signal(&self) -> bool {
        false
    }

    /// Whether the task that compacts should let others run.
    fn needs_resched(&self) -> bool {
        false
    }

    /// Too many pages are isolated: wait a while. False: they will not become fewer.
    fn wait_isolated(&self) -> bool {
        false
    }

    /// A tracepoint is passed.
    fn trace(&self, event: CompactEvent) {
        let _ = event;
    }
}

/// Pages of a node's LRU lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LruPages {
    /// On inactive lists, anonymous and file.
    pub inactive: u64,
    /// On active lists.
    pub active: u64,
    /// Isolated (nr_isolated_anon + nr_isolated_file).
    pub isolated: u64,
}

/// A lock that async compaction tries first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompactLock {
    /// The zone lock.
    Zone,
    /// The lock of the LRU lists.
    Lru,
}

/// Tracepoints of compaction (compaction.md §6.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CompactEvent {
    /// `mm_compaction_begin`.
    Begin {
        /// The zone.
        zone: ZoneIdx,
        /// Where the migrate scanner begins.
        migrate: Pfn,
        /// Where the free scanner begins.
        free: Pfn,
        /// How hard it tries.
        mode: CompactMode,
    },
    /// `mm_compaction_isolate_migratepages`: a range was scanned for sources.
    IsolateMigrate {
        /// From where to where.
        range: PfnRange,
        /// Frames that count as scanned.
        scanned: u64,
        /// Pages isolated.
        taken: u64,
    },
    /// `mm_compaction_isolate_freepages`: a range was scanned for targets.
    IsolateFree {
        /// From where to where.
        range: PfnRange,
        /// Frames that count as scanned.
        scanned: u64,
        /// Pages isolated.
        taken: u64,
    },
    /// `mm_compaction_fast_isolate_freepages` (6.6): free lists were searched for targets.
    FastIsolateFree {
        /// From where on entries count, to the free scanner's position.
        range: PfnRange,
        /// Entries looked at.
        scanned: u64,
        /// Pages isolated.
        taken: u64,
    },
    /// The free lists were searched for a source (no tracepoint).
    FastFindMigrate {
        /// Entries looked at.
        scanned: u64,
        /// How many were allowed.
        limit: u64,
        /// The pageblock found.
        found: Option<Pfn>,
    },
    /// `mm_compaction_migratepages`.
    Migrate {
        /// Pages migrated.
        migrated: u64,
        /// Pages that could not be: of a batch that ran out of targets all that were left, though
        /// `pgmigrate_fail` counts only the one that found none.
        failed: u64,
    },
    /// A page was moved (no tracepoint).
    Moved {
        /// From here.
        from: Pfn,
        /// To here.
        to: Pfn,
        /// Its size.
        order: Order,
    },
    /// An isolated page had been freed by its owner (no tracepoint).
    Freed {
        /// Where it was.
        pfn: Pfn,
    },
    /// `mm_compaction_finished`.
    Finished {
        /// The zone.
        zone: ZoneIdx,
        /// What the test said; NO_SUITABLE_PAGE prints as continue here.
        result: CompactResult,
    },
    /// `mm_compaction_end`.
    End {
        /// The zone.
        zone: ZoneIdx,
        /// Where the migrate scanner ended.
        migrate: Pfn,
        /// Where the free scanner ended.
        free: Pfn,
        /// The result.
        result: CompactResult,
    },
}
