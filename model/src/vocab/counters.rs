//! Counters with the kernel's names.

use super::{NR_ZONES, ZoneKind};

/// A vm event that the page allocator counts, all in base pages unless said otherwise
/// (page_alloc.md §6.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    /// `pgalloc_<zone>`: pages handed out from that zone.
    PgAlloc(ZoneKind),
    /// `pgfree`: pages given back, counted when the checks passed; also at boot.
    PgFree,
}

/// All events: monotonic, summed over CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EventCounters {
    /// `pgalloc_<zone>` by zone kind.
    pub pgalloc: [u64; NR_ZONES],
    /// `pgfree`.
    pub pgfree: u64,
    /// `allocstall_<zone>`: entries into direct reclaim, by the highest zone asked for.
    pub allocstall: [u64; NR_ZONES],
    /// `compact_stall`: direct compaction ran.
    pub compact_stall: u64,
    /// `compact_success`: and a page was got.
    pub compact_success: u64,
    /// `compact_fail`: and none was.
    pub compact_fail: u64,
    /// `pgscan_direct_throttle`: requests held back while reserves were low.
    pub direct_throttle: u64,
    /// `oom_kill`: kills that the OOM killer reported as progress.
    pub oom_kill: u64,
    /// `pageoutrun`: rounds of kswapd begun.
    pub pageoutrun: u64,
    /// `kswapd_low_wmark_hit_quickly`: kswapd's nap was cut short.
    pub kswapd_low_wmark_hit_quickly: u64,
    /// `kswapd_high_wmark_hit_quickly`: the node was out of balance right after the nap.
    pub kswapd_high_wmark_hit_quickly: u64,
    /// Zones that attempts looked at, in lists of zones (no kernel counter: the cost that the fair
    /// policy's change of 2014 is about).
    pub zones_scanned: u64,
    /// Times that a node's allocation batches were reset (no kernel counter).
    pub fair_resets: u64,
    /// Reads of a zone's shared batch counter (no kernel counter).
    pub batch_reads: u64,
}

impl EventCounters {
    /// The value of one event.
    #[must_use]
    pub const fn get(&self, event: Event) -> u64 {
        match event {
            Event::PgAlloc(kind) => self.pgalloc[kind.index()],
            Event::PgFree => self.pgfree,
        }
    }

    /// Pages handed out from all zones.
    #[must_use]
    pub fn pgalloc_total(&self) -> u64 {
        self.pgalloc.iter().sum()
    }
}

/// The numa counters of one zone: one count for each allocation *operation*, whatever its order.
/// With one node only hit and local move.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct NumaCounters {
    /// `numa_hit`: served by the node that was preferred.
    pub hit: u64,
    /// `numa_miss`: served here although another node was preferred.
    pub miss: u64,
    /// `numa_foreign`: preferred here, served elsewhere.
    pub foreign: u64,
    /// `numa_local`: served on the running CPU's node.
    pub local: u64,
    /// `numa_other`: served on another node.
    pub other: u64,
}

/// What a counter means, in one line, and where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CounterDoc {
    /// The kernel's name.
    pub name: &'static str,
    /// Its meaning, with the unit.
    pub meaning: &'static str,
}

impl CounterDoc {
    /// The counters of /proc/vmstat and /proc/zoneinfo that move in this model.
    pub const ALL: [Self; 21] = [
        Self {
            name: "nr_free_pages",
            meaning: "pages on free lists except Isolate, without per-CPU diffs",
        },
        Self {
            name: "nr_free_pages_blocks",
            meaning: "free pages in blocks of at least a pageblock (6.15+)",
        },
        Self { name: "nr_free_cma", meaning: "free pages on CMA lists" },
        Self { name: "numa_hit", meaning: "allocations served by the preferred node" },
        Self { name: "numa_miss", meaning: "allocations served by another node than preferred" },
        Self { name: "numa_foreign", meaning: "allocations meant for this node, served elsewhere" },
        Self { name: "numa_local", meaning: "allocations served by the running CPU's node" },
        Self { name: "numa_other", meaning: "allocations served by another node than the CPU's" },
        Self { name: "pgalloc_<zone>", meaning: "base pages handed out from the zone" },
        Self { name: "pgfree", meaning: "base pages given back, boot included" },
        Self { name: "nr_managed", meaning: "pages that belong to the allocator" },
        Self {
            name: "nr_alloc_batch",
            meaning: "pages left of the zone's turn under a fair policy (3.12 to 4.7)",
        },
        Self { name: "allocstall_<zone>", meaning: "entries into direct reclaim" },
        Self { name: "compact_stall", meaning: "direct compactions that were not skipped" },
        Self { name: "compact_success", meaning: "of these, those that gave a block" },
        Self { name: "compact_fail", meaning: "of these, those that did not" },
        Self { name: "pgscan_direct_throttle", meaning: "requests held back for low reserves" },
        Self { name: "oom_kill", meaning: "kills of the OOM killer" },
        Self { name: "pageoutrun", meaning: "rounds of kswapd begun" },
        Self {
            name: "kswapd_low_wmark_hit_quickly",
            meaning: "naps of kswapd that an allocation cut short",
        },
        Self {
            name: "kswapd_high_wmark_hit_quickly",
            meaning: "times that kswapd found its node out of balance when about to sleep",
        },
    ];
}
