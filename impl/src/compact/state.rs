//! What survives between runs, in slices of the embedder.

use super::Place;
use crate::{
    PageAllocator, SetupError, StorageSize,
    platform::{Platform, Word},
    storage::Backing,
    zone::ZoneInfo,
};
use mmspec_model::vocab::{CompactCounters, CompactRules, NodeId, Pfn, ZoneIdx};

/// One zone's record.
pub struct CompactZone<P: Platform> {
    /// `compact_cached_migrate_pfn`, for async runs and for others.
    pub(super) cached_migrate: [P::Word; 2],
    /// `compact_cached_free_pfn`.
    pub(super) cached_free: P::Word,
    /// `compact_init_migrate_pfn` and `compact_init_free_pfn`: 0 until the first flush.
    pub(super) init_migrate: P::Word,
    /// See `init_migrate`.
    pub(super) init_free: P::Word,
    /// `compact_blockskip_flush`.
    pub(super) flush: P::Word,
    /// `compact_considered`, `compact_defer_shift`, `compact_order_failed`.
    pub(super) considered: P::Word,
    /// See `considered`.
    pub(super) defer_shift: P::Word,
    /// See `considered`.
    pub(super) order_failed: P::Word,
}

impl<P: Platform> Default for CompactZone<P> {
    fn default() -> Self {
        let word = || P::Word::new(0);
        // In no zone: the first run begins where the zone does. (The kernel's 0 is in no zone either: none
        // of its zones begins there.)
        let nowhere = || P::Word::new(u64::MAX >> 1);
        Self {
            cached_migrate: [nowhere(), nowhere()],
            cached_free: nowhere(),
            init_migrate: word(),
            init_free: word(),
            flush: word(),
            considered: word(),
            defer_shift: word(),
            order_failed: word(),
        }
    }
}

/// One node's kcompactd.
pub struct CompactNode<P: Platform> {
    /// `kcompactd_max_order`; 0: no work.
    pub(super) max_order: P::Word,
    /// `kcompactd_highest_zoneidx`.
    pub(super) highest: P::Word,
    /// Checks that the proactive part still leaves out.
    pub(super) proactive_skip: P::Word,
}

impl<P: Platform> Default for CompactNode<P> {
    fn default() -> Self {
        Self {
            max_order: P::Word::new(0),
            highest: P::Word::new(u64::from(super::daemon::ANY_ZONE)),
            proactive_skip: P::Word::new(0),
        }
    }
}

/// The slices of [`Compaction`]; fresh records.
pub struct CompactStorage<P: Platform, B: Backing> {
    /// A skip bit for each pageblock: [`StorageSize::blocks`].
    pub skips: B::Slice<P::Word>,
    /// A record for each zone.
    pub zones: B::Slice<CompactZone<P>>,
    /// A record for each node.
    pub nodes: B::Slice<CompactNode<P>>,
}

#[cfg(feature = "std")]
impl<P: Platform> CompactStorage<P, crate::Owned> {
    /// Heap slices of that size.
    #[must_use]
    pub fn on_heap(size: &StorageSize) -> Self {
        Self {
            skips: (0..size.blocks).map(|_| P::Word::new(0)).collect(),
            zones: (0..size.zones).map(|_| CompactZone::default()).collect(),
            nodes: (0..size.nodes).map(|_| CompactNode::default()).collect(),
        }
    }
}

/// The counters, in the order of [`CompactCounters`].
const COUNTERS: usize = 8;

/// A counter of [`CompactCounters`].
#[derive(Clone, Copy)]
pub(super) enum Count {
    MigrateScanned,
    FreeScanned,
    Isolated,
    DaemonWake,
    DaemonMigrateScanned,
    DaemonFreeScanned,
    MigrateSuccess,
    MigrateFail,
}

/// What compaction keeps of an allocator's zones.
pub struct Compaction<P: Platform, B: Backing> {
    storage: CompactStorage<P, B>,
    pub(super) rules: CompactRules,
    counters: [P::Word; COUNTERS],
}

/// One zone's record, as of now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompactZoneState {
    /// `compact_cached_migrate_pfn` of async runs, and of others.
    pub cached_migrate: [Pfn; 2],
    /// `compact_cached_free_pfn`.
    pub cached_free: Pfn,
    /// `compact_init_migrate_pfn`.
    pub init_migrate: Pfn,
    /// `compact_init_free_pfn`.
    pub init_free: Pfn,
    /// `compact_blockskip_flush`.
    pub blockskip_flush: bool,
    /// `compact_considered`.
    pub considered: u64,
    /// `compact_defer_shift`.
    pub defer_shift: u64,
    /// `compact_order_failed`.
    pub order_failed: u64,
}

impl<P: Platform, B: Backing> Compaction<P, B> {
    /// Fresh records of an allocator whose machine needs `size`.
    ///
    /// # Errors
    /// A slice is too short.
    pub fn new(
        size: &StorageSize,
        storage: CompactStorage<P, B>,
        rules: CompactRules,
    ) -> Result<Self, SetupError> {
        for (what, given, needed) in [
            ("skip bits of compaction", storage.skips.len(), size.blocks),
            ("zones of compaction", storage.zones.len(), size.zones),
            ("nodes of compaction", storage.nodes.len(), size.nodes),
        ] {
            if given < needed {
                return Err(SetupError::Storage { what, given, needed });
            }
        }
        Ok(Self { storage, rules, counters: core::array::from_fn(|_| P::Word::new(0)) })
    }

    /// The rules in force.
    pub fn rules(&self) -> CompactRules {
        self.rules
    }

    /// The counters so far.
    pub fn counters(&self) -> CompactCounters {
        let get = |count: Count| self.counters[count as usize].load();
        CompactCounters {
            migrate_scanned: get(Count::MigrateScanned),
            free_scanned: get(Count::FreeScanned),
            isolated: get(Count::Isolated),
            daemon_wake: get(Count::DaemonWake),
            daemon_migrate_scanned: get(Count::DaemonMigrateScanned),
            daemon_free_scanned: get(Count::DaemonFreeScanned),
            pgmigrate_success: get(Count::MigrateSuccess),
            pgmigrate_fail: get(Count::MigrateFail),
        }
    }

    pub(super) fn count(&self, count: Count, by: u64) {
        if by > 0 {
            self.counters[count as usize].fetch_add(by);
        }
    }

    pub(super) fn zone(&self, zone: usize) -> &CompactZone<P> {
        &self.storage.zones[zone]
    }

    pub(super) fn node(&self, node: NodeId) -> &CompactNode<P> {
        &self.storage.nodes[node.index()]
    }

    /// The skip bit of a pageblock, by its number in the tables.
    pub(super) fn skips(&self, block: usize) -> bool {
        self.storage.skips[block].load() != 0
    }

    pub(super) fn set_skip(&self, block: usize) {
        self.storage.skips[block].store(1);
    }

    pub(super) fn clear_skip(&self, block: usize) {
        self.storage.skips[block].store(0);
    }

    /// Set a skip bit; whether it was set.
    pub(super) fn test_and_set_skip(&self, block: usize) -> bool {
        self.storage.skips[block].fetch_or(1) != 0
    }

    /// The skip bit of the pageblock of `pfn`.
    pub fn skip(&self, pages: &PageAllocator<P, B>, pfn: Pfn) -> bool {
        self.skips((pages.geometry.index(pfn) >> pages.geometry.pageblock_order) as usize)
    }

    /// Set or clear the skip bit of the pageblock of `pfn`: it is a hint, and runs must be right
    /// whatever it says.
    pub fn set_skip_hint(&self, pages: &PageAllocator<P, B>, pfn: Pfn, skip: bool) {
        let block = (pages.geometry.index(pfn) >> pages.geometry.pageblock_order) as usize;
        if skip { self.set_skip(block) } else { self.clear_skip(block) }
    }

    /// Set the cached positions of a zone: they are hints too.
    pub fn set_cached(&self, zone: ZoneIdx, migrate: [Pfn; 2], free: Pfn) {
        let zone = self.zone(zone.index());
        zone.cached_migrate[0].store(migrate[0].0);
        zone.cached_migrate[1].store(migrate[1].0);
        zone.cached_free.store(free.0);
    }

    /// The record of a zone.
    pub fn zone_state(&self, zone: ZoneIdx) -> CompactZoneState {
        let zone = self.zone(zone.index());
        CompactZoneState {
            cached_migrate: [0, 1].map(|at: usize| Pfn(zone.cached_migrate[at].load())),
            cached_free: Pfn(zone.cached_free.load()),
            init_migrate: Pfn(zone.init_migrate.load()),
            init_free: Pfn(zone.init_free.load()),
            blockskip_flush: zone.flush.load() != 0,
            considered: zone.considered.load(),
            defer_shift: zone.defer_shift.load(),
            order_failed: zone.order_failed.load(),
        }
    }
}

/// Where a zone lies, for scanners.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: Place,
    pub(super) end: Place,
    pub(super) shift: u8,
}

impl Span {
    pub(super) fn of(info: &ZoneInfo, pageblock_order: u8) -> Self {
        Self { start: info.start.into(), end: info.end.into(), shift: pageblock_order }
    }

    pub(super) fn pageblock(&self) -> Place {
        1 << self.shift
    }

    /// The start of the pageblock of a place.
    pub(super) fn block_start(&self, at: Place) -> Place {
        at >> self.shift << self.shift
    }

    /// One past the end of the pageblock of a place.
    pub(super) fn block_end(&self, at: Place) -> Place {
        self.block_start(at) + self.pageblock()
    }

    pub(super) fn is_block_start(&self, at: Place) -> bool {
        self.block_start(at) == at
    }

    pub(super) fn last_block(&self) -> Place {
        self.block_start(self.end - 1)
    }

    pub(super) fn contains(&self, at: Place) -> bool {
        self.start <= at && at < self.end
    }

    /// The number of a place's pageblock in the tables.
    pub(super) fn number(&self, at: Place) -> usize {
        (at >> self.shift) as usize
    }
}
