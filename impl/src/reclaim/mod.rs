//! Reclaim as far as an allocator needs it: lists of pages by use, and who shrinks them
//! (compaction.md §4.5 to §4.9, the costs of 6.12).
//!
//! The lists lie in slices of the embedder (nine bytes a frame), a node's behind one lock of the
//! [`Platform`]. What a page is used for only its owner knows: [`PageOwner`] tells and unmaps, and
//! [`Shrinker`]s free what lies in caches. Not here: memory cgroups, the multi-generation lists,
//! refault distances, and waits for writeback.

mod balance;
mod direct;
mod list;
mod node;
mod owner;
mod pages;
mod slab;

use crate::{frame::Links, platform::Platform, storage::Backing};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};
use mmspec_model::vocab::{NR_ZONES, Order, Pfn, ZoneKind};

pub use list::{Lru, LruNode, LruStorage};
pub use owner::{Anon, PageOwner, References, Written};
pub use slab::{Registered, Shrinker};

/// Pages handled under one hold of a node's lock (SWAP_CLUSTER_MAX).
pub(crate) const BATCH: u64 = 32;

/// The five lists of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum LruList {
    /// Anonymous memory, not used lately.
    InactiveAnon = 0,
    /// Anonymous memory in use.
    ActiveAnon = 1,
    /// File pages, not used lately.
    InactiveFile = 2,
    /// File pages in use.
    ActiveFile = 3,
    /// Locked in memory.
    Unevictable = 4,
}

impl LruList {
    /// All lists.
    pub const ALL: [Self; 5] = [
        Self::InactiveAnon,
        Self::ActiveAnon,
        Self::InactiveFile,
        Self::ActiveFile,
        Self::Unevictable,
    ];

    const EVICTABLE: [Self; 4] =
        [Self::InactiveAnon, Self::ActiveAnon, Self::InactiveFile, Self::ActiveFile];

    const fn index(self) -> usize {
        self as usize
    }

    const fn is_file(self) -> bool {
        matches!(self, Self::InactiveFile | Self::ActiveFile)
    }

    const fn is_active(self) -> bool {
        matches!(self, Self::ActiveAnon | Self::ActiveFile)
    }

    /// The list of anonymous or file pages that are active or not.
    const fn of(file: bool, active: bool) -> Self {
        match (file, active) {
            (false, false) => Self::InactiveAnon,
            (false, true) => Self::ActiveAnon,
            (true, false) => Self::InactiveFile,
            (true, true) => Self::ActiveFile,
        }
    }
}

/// A page on the lists, as its owner is asked about it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LruPage {
    /// The first frame.
    pub pfn: Pfn,
    /// The size of its block.
    pub order: Order,
    /// File pages, or anonymous memory.
    pub file: bool,
}

/// What is known of one frame, as the embedder's storage holds it: its list (or that it is on none,
/// or taken off by a shrink), and whether it was referenced and seen dirty.
#[derive(Debug)]
#[repr(transparent)]
pub struct LruFlags(AtomicU8);

impl Default for LruFlags {
    fn default() -> Self {
        Self(AtomicU8::new(Self::NONE))
    }
}

impl LruFlags {
    const LIST: u8 = 7;
    /// In the place of a list: on none; or taken off by a shrink.
    const NONE: u8 = 7;
    const ISOLATED: u8 = 6;
    /// PG_referenced.
    const REFERENCED: u8 = 8;
    /// PG_reclaim: seen dirty at the end of the list.
    const SEEN: u8 = 16;

    fn list(&self) -> Option<LruList> {
        LruList::ALL.get(usize::from(self.0.load(Relaxed) & Self::LIST)).copied()
    }

    fn has(&self, flag: u8) -> bool {
        self.0.load(Relaxed) & flag != 0
    }

    fn set(&self, flag: u8, on: bool) {
        if on {
            self.0.fetch_or(flag, Relaxed);
        } else {
            self.0.fetch_and(!flag, Relaxed);
        }
    }

    /// Put in the place of a list.
    fn place(&self, place: u8) {
        let old = self.0.load(Relaxed);
        self.0.store(old & !Self::LIST | place, Relaxed);
    }

    fn clear(&self) {
        self.0.store(Self::NONE, Relaxed);
    }
}

/// What a shrink may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shrink {
    /// 12 (gentle) to 0: each list is scanned for its size >> priority.
    pub priority: u8,
    /// Pages to reclaim.
    pub target: u64,
    /// The order to reclaim for.
    pub order: Order,
    /// Pages of higher zones are set aside.
    pub highest: ZoneKind,
    /// May write dirty pages.
    pub may_write: bool,
    /// May swap anonymous memory out.
    pub may_swap: bool,
    /// Pages of zones that are balanced are set aside ("checklow").
    pub unbalanced_only: bool,
    /// kswapd's work, and not that of a task that waits.
    pub kswapd: bool,
    /// How much anonymous memory is preferred, 0 to 200; 60 is the kernel's default.
    pub swappiness: u8,
}

/// What a shrink came to, in base pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shrunk {
    /// Looked at.
    pub scanned: u64,
    /// Freed.
    pub reclaimed: u64,
}

/// The counters of reclaim with the kernel's names, in base pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReclaimCounters {
    /// `pgscan_kswapd`: looked at on inactive lists by kswapd.
    pub pgscan_kswapd: u64,
    /// `pgscan_direct`: and by tasks.
    pub pgscan_direct: u64,
    /// `pgsteal_kswapd`: freed by kswapd.
    pub pgsteal_kswapd: u64,
    /// `pgsteal_direct`: and by tasks.
    pub pgsteal_direct: u64,
    /// `pgactivate`: moved to an active list.
    pub pgactivate: u64,
    /// `pgdeactivate`: moved to an inactive list.
    pub pgdeactivate: u64,
    /// `pgrefill`: looked at on active lists.
    pub pgrefill: u64,
    /// `pgskip_<zone>`: set aside because of their zone.
    pub pgskip: [u64; NR_ZONES],
    /// `slabs_scanned`: objects that shrinkers were asked to look at.
    pub slabs_scanned: u64,
}

/// When a shrink for a costly order goes over the node once more (compaction.md §4.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GoesOn {
    /// 5.1: until compact_gap pages were reclaimed in all, while there are more than that inactive;
    /// beyond that until compaction has room.
    UpToGap,
    /// 6.12: until compaction has room.
    #[default]
    UntilSuitable,
}

/// The parts that a shrink works with.
pub struct Reclaim<'a, P: Platform, B: Backing> {
    /// The allocator.
    pub pages: &'a crate::PageAllocator<P, B>,
    /// The lists.
    pub lru: &'a Lru<P, B>,
    /// Who owns the pages.
    pub owner: &'a dyn PageOwner,
    /// Caches that can be made smaller.
    pub shrinkers: &'a [Registered<'a, P>],
    /// When it goes over a node once more.
    pub goes_on: GoesOn,
}

impl<P: Platform, B: Backing> Clone for Reclaim<'_, P, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P: Platform, B: Backing> Copy for Reclaim<'_, P, B> {}

/// The links of frames on the lists are those of the allocator's own lists.
pub(crate) type LruLinks = Links;
