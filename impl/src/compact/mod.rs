//! Memory compaction (compaction.md §1 to §3): pages are moved to one end of a zone so that large free
//! blocks come about at the other.
//!
//! | module | |
//! |---|---|
//! | `state` | what survives between runs: cached positions, skip bits, deferral; the slices it lies in |
//! | `suitable` | whether a run is worth it, and whether it may end |
//! | `defer` | exponential back-off after failures |
//! | `run` | one run over a zone, iteration by iteration |
//! | `sources`, `source_search` | the migrate scanner, and its search by free lists |
//! | `targets`, `target_search` | the free scanner, and its search by free lists |
//! | `moves` | migration of a batch |
//! | `flush` | clearing skip bits |
//! | `capture` | the record by which a run gets the block that it makes |
//! | `direct`, `daemon`, `range` | who runs: tasks, kcompactd and the sysctls, contiguous ranges |
//!
//! The allocator does not know of it but for the capture record. What a page is used for, and how it is
//! moved, only its owner knows: [`PageMover`]. Left out: memory cgroups, sections of sparse memory.

mod capture;
mod daemon;
mod defer;
mod direct;
mod flush;
mod moves;
mod range;
mod run;
mod source_search;
mod sources;
mod state;
mod suitable;
mod target_search;
mod targets;

use crate::{PageAllocator, platform::Platform, storage::Backing};
use mmspec_model::{
    contract::{CompactMode, PageMover},
    vocab::{AllocFlags, Mark, MigrateType, Order, ZoneKind},
};

pub(crate) use capture::Capture;
pub use daemon::Daemon;
pub use direct::{Compacted, Direct};
pub use range::RangeError;
pub use run::Run;
pub use state::{CompactNode, CompactStorage, CompactZone, CompactZoneState, Compaction};

/// Pages migrated at once (COMPACT_CLUSTER_MAX), and frames between two looks at signals.
pub(crate) const BATCH: u32 = 32;

/// A frame as a place that scanners reach: a table index, or one before the first.
pub(crate) type Place = i64;

/// What a run is for, and how it goes about it (compaction.md §1.1, §1.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goal {
    /// The order wanted; `None` (the kernel's −1): the whole zone, whatever comes of it.
    pub order: Option<Order>,
    /// The type of the request.
    pub migratetype: MigrateType,
    /// How hard to try.
    pub mode: CompactMode,
    /// The mark of the request, and its flags.
    pub mark: Mark,
    /// See `mark`.
    pub flags: AllocFlags,
    /// The highest zone that the request may use.
    pub highest: ZoneKind,
    /// The request may enter the file system.
    pub may_fs: bool,
    /// For a task that waits, and not for a daemon.
    pub direct: bool,
    /// For proactive compaction: ends by the zone's score.
    pub proactive: Option<u8>,
    /// From one end to the other, whatever was scanned before.
    pub whole_zone: bool,
    /// Do not mind skip bits.
    pub ignore_skip_hint: bool,
    /// Leave skip bits alone.
    pub no_set_skip_hint: bool,
    /// Pageblocks of any type may give targets.
    pub ignore_block_suitable: bool,
    /// Large pages may be isolated whatever their size (contiguous ranges).
    pub alloc_contig: bool,
}

impl Goal {
    /// As a write to `compact_memory` runs: all of a zone, as hard as can be.
    pub const WHOLE: Self = Self {
        order: None,
        migratetype: MigrateType::Unmovable,
        mode: CompactMode::Sync,
        mark: Mark::Min,
        flags: AllocFlags::empty(),
        highest: ZoneKind::Movable,
        may_fs: true,
        direct: false,
        proactive: None,
        whole_zone: true,
        ignore_skip_hint: true,
        no_set_skip_hint: false,
        ignore_block_suitable: false,
        alloc_contig: false,
    };

    /// As kcompactd runs for a block of `order` in zones up to `highest`.
    #[must_use]
    pub const fn daemon(order: Order, highest: ZoneKind) -> Self {
        Self {
            order: Some(order),
            mode: CompactMode::SyncLight,
            highest,
            whole_zone: false,
            ignore_skip_hint: false,
            ..Self::WHOLE
        }
    }

    pub(crate) fn is_async(&self) -> bool {
        self.mode == CompactMode::Async
    }
}

/// The parts that compaction works with.
pub struct Compactor<'a, P: Platform, B: Backing> {
    /// The allocator.
    pub pages: &'a PageAllocator<P, B>,
    /// What is known of its zones.
    pub state: &'a Compaction<P, B>,
    /// Who owns the pages.
    pub owner: &'a dyn PageMover,
}

impl<P: Platform, B: Backing> Clone for Compactor<'_, P, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform, B: Backing> Copy for Compactor<'_, P, B> {}
