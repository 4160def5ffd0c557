//! What can be seen of an allocator's state: plain numbers, comparable field by field.

use super::{MigrateType, NR_MIGRATETYPES, NR_PAGE_ORDERS, NodeId, NumaCounters, Order, ZoneKind};

/// Most per-CPU lists that any rules need: 12 for orders 0 to 3, and 3 for huge pages.
pub const NR_PCP_LISTS_MAX: usize = 15;

bitflags::bitflags! {
    /// Zone flags that the allocator sets and reads.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct ZoneFlags: u8 {
        /// ZONE_BOOSTED_WATERMARK: a fallback boosted the watermark; kswapd is to be woken.
        const BOOSTED_WATERMARK = 1;
        /// ZONE_BELOW_HIGH: free pages fell below the high mark; per-CPU lists shrink.
        const BELOW_HIGH = 2;
        /// ZONE_RECLAIM_ACTIVE: kswapd works on the zone; per-CPU lists free early.
        const RECLAIM_ACTIVE = 4;
        /// ZONE_FAIR_DEPLETED: the zone's allocation batch is used up (3.17 to 4.7).
        const FAIR_DEPLETED = 8;
    }
}

bitflags::bitflags! {
    /// Flags of one CPU's lists (page_alloc.md §2.1).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct PcpFlags: u8 {
        /// PCPF_PREV_FREE_HIGH_ORDER: the last free was of order 1 to 3.
        const PREV_FREE_HIGH_ORDER = 1;
        /// PCPF_FREE_HIGH_BATCH: keep a batch before flushing high-order frees.
        const FREE_HIGH_BATCH = 2;
    }
}

/// The numbers of one zone. Pages are base pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ZoneState {
    /// The zone's node.
    pub node: NodeId,
    /// The zone's kind.
    pub kind: ZoneKind,
    /// First spanned frame.
    pub start_pfn: u64,
    /// Spanned, present and managed pages.
    pub spanned: u64,
    /// Pages that exist.
    pub present: u64,
    /// Pages that belong to the allocator.
    pub managed: u64,
    /// Pages given to CMA.
    pub cma_pages: u64,
    /// NR_FREE_PAGES without per-CPU diffs; may be negative.
    pub nr_free_pages: i64,
    /// NR_FREE_PAGES with all per-CPU diffs folded.
    pub nr_free_pages_exact: i64,
    /// NR_FREE_CMA_PAGES without per-CPU diffs.
    pub nr_free_cma: i64,
    /// NR_FREE_CMA_PAGES with all diffs folded.
    pub nr_free_cma_exact: i64,
    /// NR_FREE_PAGES_BLOCKS with all diffs folded; 0 under rules without it.
    pub nr_free_pages_blocks: i64,
    /// Free pages on HighAtomic lists (6.12); 0 under rules without it.
    pub nr_free_highatomic: u64,
    /// Pages in HighAtomic pageblocks.
    pub nr_reserved_highatomic: u64,
    /// Isolated pageblocks.
    pub nr_isolate_pageblock: u64,
    /// Blocks on free lists, by order and migratetype.
    pub nr_free: [[u64; NR_MIGRATETYPES]; NR_PAGE_ORDERS],
    /// The watermarks MIN, LOW, HIGH, PROMO without boost.
    pub marks: [u64; 4],
    /// The watermark boost, added to every mark.
    pub boost: u64,
    /// `lowmem_reserve` against requests whose highest zone is DMA, DMA32, Normal, Movable, Device.
    pub lowmem_reserve: [u64; super::NR_ZONES],
    /// Flags.
    pub flags: ZoneFlags,
    /// numa counters.
    pub numa: NumaCounters,
    /// Times that kswapd was woken for this zone (no kernel counter; the embedder's wake-ups).
    pub kswapd_wakeups: u64,
    /// The per-CPU diff at which updates are pushed to the zone.
    pub stat_threshold: u64,
    /// NR_ALLOC_BATCH without per-CPU diffs: what the fair policy leaves to the zone, negative when
    /// overdrawn; 0 under rules without the policy.
    pub nr_alloc_batch: i64,
    /// NR_ALLOC_BATCH with all diffs folded.
    pub nr_alloc_batch_exact: i64,
    /// Free pages below which exact counts decide (percpu_drift_mark); 0: never.
    pub drift_mark: u64,
}

impl ZoneState {
    /// Blocks of `order` on free lists of all types.
    #[must_use]
    pub fn blocks(&self, order: Order) -> u64 {
        self.nr_free[order.index()].iter().sum()
    }

    /// Pages on free lists of `migratetype`.
    #[must_use]
    pub fn pages_of(&self, migratetype: MigrateType) -> u64 {
        self.nr_free
            .iter()
            .enumerate()
            .map(|(order, by_type)| by_type[migratetype.index()] << order)
            .sum()
    }
}

/// The numbers of one CPU's lists in one zone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PcpState {
    /// Base pages on the lists.
    pub count: u64,
    /// The current high mark, as stored.
    pub high: u64,
    /// Lower bound of `high` (equal to it without auto-tuning).
    pub high_min: u64,
    /// Upper bound of `high`.
    pub high_max: u64,
    /// Refill and drain unit, as the consumer uses it (never 0).
    pub batch: u64,
    /// Flags; empty under rules without auto-tuning.
    pub flags: PcpFlags,
    /// Doublings of the next refill (6.7).
    pub alloc_factor: u8,
    /// Doublings of the next bulk free (up to 6.6).
    pub free_factor: u8,
    /// Pages freed lately (6.7).
    pub free_count: u64,
    /// Ticks until a remote zone's lists are drained.
    pub expire: u8,
    /// This CPU's diff of NR_FREE_PAGES for the zone.
    pub vm_stat_diff: i64,
    /// This CPU's diff of NR_FREE_CMA_PAGES for the zone.
    pub vm_cma_diff: i64,
    /// A drain's work item for this zone is queued on the CPU and has not run yet (only under
    /// [`DrainScheme::WorkItem`](super::DrainScheme::WorkItem); no kernel counter).
    pub drain_queued: bool,
}
