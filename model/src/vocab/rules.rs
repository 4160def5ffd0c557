//! One named switch for every behaviour that differs between kernels.

/// Where a fallback finds its block and what it takes (page_alloc.md §1.10 to §1.12).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fallback {
    /// 6.1 to 6.6: move blocks to the wanted list first, decide on the pageblock's type after,
    /// then search again (bug P13 is part of it; so is P14's cut at the pivot page).
    MoveThenRetype,
    /// 6.10 to 6.14: decide, then move; largest block first; a single block keeps its type.
    Whole,
    /// 6.15 and later: claim whole pageblocks downwards, else steal the smallest block.
    ClaimThenSteal,
}

/// How per-CPU list sizes adapt (page_alloc.md §2.4, §2.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PcpTuning {
    /// 3.16, 3.17: refill `batch`, and at `high` free `batch`; nothing adapts.
    Fixed,
    /// 5.14 to 6.6: a fixed high mark and a factor that grows the amount freed.
    FreeFactor,
    /// 6.7 and later: high moves between `high_min` and `high_max`; alloc_factor; free_count.
    Auto,
}

/// Which orders per-CPU lists hold (page_alloc.md §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PcpOrders {
    /// Up to 5.12: single pages, one list for each of the three types.
    Zero,
    /// 5.13 and later: orders 0 to 3, and huge pages if the machine says so.
    ToCostly,
}

/// The fair zone allocation policy: allocations take turns between a node's zones in proportion to
/// their size (page_alloc.md §5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FairPolicy {
    /// 4.8 and later: none.
    None,
    /// 3.16 ("vanilla"): the fair pass reads every zone's counter and walks past remote zones.
    V3_16,
    /// The posting of 30 June 2014 ("fairzone-v4"): stop at the first remote zone; a flag for depleted
    /// zones; only depleted zones are reset; fair only if the second zone of the list is local.
    Draft,
    /// 3.17: as posted, but every local zone is reset and the first attempt is always fair.
    V3_17,
    /// 4.7: the flag is tested before locality; at the first remote zone reset or go on in the same
    /// pass.
    V4_7,
}

/// How zonelists are ordered (page_alloc.md §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ZonelistOrder {
    /// Node by node, each from its highest zone down. The only way since 4.14 \[mem\].
    Node,
    /// Zone kind by zone kind from the highest down, each on every node. An option of 3.16.
    Zone,
    /// 3.16's default: one of the two by the sizes of low zones.
    Heuristic,
}

/// What a node's load adds to when fallback nodes are ranked (page_alloc.md §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NodeLoad {
    /// 3.16: the chosen node's load is set to a value that decreases.
    Decreasing,
    /// 6.6 and later: it grows by one when the distance differs from that of the node before.
    OnNewDistance,
}

/// The gaps between watermarks (page_alloc.md §3.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MarkGaps {
    /// 3.16, 3.17: LOW = MIN + t/4, HIGH = MIN + t/2, no PROMO.
    Quarters,
    /// 4.6 \[mem\] and later: steps of max(t/4, managed × watermark_scale_factor / 10000).
    ScaleFactor,
}

/// How a watermark check looks at blocks above order 0 (page_alloc.md §3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FreeCheck {
    /// 3.16: for each lower order its blocks are subtracted and the mark is halved.
    HalvePerOrder,
    /// 4.4 \[mem\] and later: some list of the order or above has a block that the request may take.
    Lists,
}

/// Which zone's `lowmem_reserve` entry a check uses (page_alloc.md §3.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReserveIndex {
    /// 3.16: that of the preferred zone (classzone).
    Preferred,
    /// 6.x: that of the request's highest allowed zone.
    Highest,
}

/// Which per-CPU lists hold huge pages (page_alloc.md §2.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ThpLists {
    /// 5.14 to 5.19: one per pcp type.
    PerType,
    /// 6.0 to 6.9: one list for all (bug P9).
    Shared,
    /// 6.10 and later: one for Movable, one for the others.
    MovableOrNot,
}

/// Which type decides the free list of a drained page (page_alloc.md §1.8).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FreeListType {
    /// Up to 6.9: the type cached when the page was freed, re-read only while the zone holds
    /// isolated pageblocks.
    Cached,
    /// 6.10 and later: always the pageblock's type.
    Pageblock,
}

/// What a merge across pageblocks of different type does to the buddy's pageblocks
/// (page_alloc.md §1.3 e).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MergeRetype {
    /// Up to 6.9: nothing (bug P11).
    Never,
    /// 6.10 to 6.18.2: the buddy's first pageblock only.
    FirstBlock,
    /// Later: all of the buddy's pageblocks.
    AllBlocks,
}

/// The limit of the high-order atomic reserve (page_alloc.md §1.13).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HighatomicLimit {
    /// Before 4.4: there is no such reserve.
    NoReserve,
    /// Up to 6.6: managed/100 plus one pageblock; a block above the pageblock order reserves one
    /// pageblock only (bugs P17, P18).
    PlusOneBlock,
    /// 6.7 and later: managed/100 rounded up to a pageblock, nothing in zones too small.
    RoundedUp,
}

/// Who may take from the high-order atomic reserve after the normal attempt failed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HighatomicAccess {
    /// 6.6: OOM victims.
    Oom,
    /// 6.12 and later: OOM victims and callers that cannot wait.
    OomOrNonBlock,
}

/// How reserve flags lower the watermark (page_alloc.md §3.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReserveFlags {
    /// Up to 6.2: HIGH halves; then OOM halves, else HARDER takes a quarter.
    Harder,
    /// 6.3 and later: MIN_RESERVE halves, NON_BLOCK on top takes a quarter, OOM halves last.
    MinReserve,
}

/// How one CPU's lists are emptied by a drain (page_alloc.md §2.7).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DrainLoop {
    /// Up to 6.10: all at once under one hold of the pcp lock.
    OneShot,
    /// 6.11 and later: at most `batch << scale_max` pages for each hold.
    Bounded,
}

/// Who empties the lists of other CPUs when all are drained (page_alloc.md §2.7, §2.9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DrainScheme {
    /// Up to 5.19 (read there; since 4.11 from memory only): a work item is queued on each CPU that
    /// has pages, the worker there drains its own lists, and the drainer waits for each of them.
    WorkItem,
    /// 6.0 and later: the drainer takes each CPU's list lock itself and waits for nobody's turn.
    Remote,
}

/// The release whose /proc texts are followed: names and columns differ between builds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Vmstat {
    /// Debian's 6.1 cloud build.
    V6_1,
    /// Debian's 6.12 cloud build.
    V6_12,
    /// A 6.18 build for small virtual machines.
    V6_18,
}

/// The differences between kernels, each a switch. Presets name kernels; a switch set by hand
/// makes a kernel that never was, which is how one policy change is studied alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rules {
    /// Fallback between migratetypes.
    pub fallback: Fallback,
    /// Sizing of per-CPU lists.
    pub pcp_tuning: PcpTuning,
    /// Orders on per-CPU lists.
    pub pcp_orders: PcpOrders,
    /// Per-CPU lists for huge pages.
    pub thp_lists: ThpLists,
    /// Type of the list that a drained page goes to.
    pub free_list_type: FreeListType,
    /// Retyping on merges.
    pub merge_retype: MergeRetype,
    /// Limit of the high-order atomic reserve.
    pub highatomic_limit: HighatomicLimit,
    /// Access to the high-order atomic reserve.
    pub highatomic_access: HighatomicAccess,
    /// Watermark checks subtract only the free part of the high-order atomic reserve (6.12; before,
    /// all of it: bug P16).
    pub highatomic_free_only: bool,
    /// Effect of reserve flags on the watermark.
    pub reserve_flags: ReserveFlags,
    /// The threshold of free_count for a high-order free to flush includes half of high_min (6.18).
    pub free_high_half_min: bool,
    /// Direct frees of pcp-sized pages count in pgfree (6.12; before, not: bug P23).
    pub direct_free_counted: bool,
    /// A page freed past a busy pcp goes to its pageblock's own list (6.6; before, to the list of
    /// the pcp type: bug P8).
    pub direct_free_true_type: bool,
    /// Blocks above the pageblock order are freed pageblock by pageblock (6.10).
    pub split_large_frees: bool,
    /// A pageblock that straddles the zone's edge is never moved or claimed (6.10; before, the
    /// range was cut).
    pub refuse_straddling: bool,
    /// Zones remember that they fell below the high mark (ZONE_BELOW_HIGH, 6.7).
    pub below_high: bool,
    /// Drain of one CPU's lists.
    pub drain_loop: DrainLoop,
    /// Drain of all CPUs' lists.
    pub drain_scheme: DrainScheme,
    /// The raw pcp batch of a small zone is 0 (the consumer uses 1) as up to 6.18; later it is 1.
    pub batch_may_be_zero: bool,
    /// The Movable zone counts as low memory when min_free_kbytes is shared out (6.1, seen in a
    /// recorded zoneinfo: the empty Movable zone shows 0; from 6.6 at the latest its MIN is
    /// managed/1024 clamped to 32..128, and a recorded 6.12 shows 32).
    pub movable_is_lowmem: bool,
    /// zoneinfo prints the promo mark (6.8).
    pub show_promo: bool,
    /// Build has nr_free_pages_blocks, and zoneinfo prints high_min and high_max (6.18).
    pub free_pages_blocks: bool,
    /// The list of vmstat names: the kernel release whose build the texts follow.
    pub vmstat: Vmstat,
    /// The fair zone allocation policy.
    pub fair_policy: FairPolicy,
    /// Order of zonelists.
    pub zonelist_order: ZonelistOrder,
    /// Ranking of fallback nodes.
    pub node_load: NodeLoad,
    /// Gaps between watermarks.
    pub mark_gaps: MarkGaps,
    /// Watermark checks above order 0.
    pub free_check: FreeCheck,
    /// The zone whose reserve a check minds.
    pub reserve_index: ReserveIndex,
    /// Fallbacks boost the watermark (5.0).
    pub boost: bool,
    /// First attempts avoid mixing migratetypes (ALLOC_NOFRAGMENT, 5.0).
    pub nofragment: bool,
    /// With several nodes a first pass skips zones of nodes whose kswapd is awake (6.18).
    pub avoid_awake_nodes: bool,
    /// A retry of the slow path first looks whether cpuset or zonelists changed (6.18; without it bug
    /// P25 is there).
    pub early_restart: bool,
    /// The retry decision passes over zones that the cpuset forbids (6.12).
    pub retry_minds_cpuset: bool,
    /// The high-order atomic reserve is given up whenever a retry is about to be refused (6.12; before,
    /// only at the limit of fruitless rounds: part of bug P17).
    pub unreserve_before_oom: bool,
    /// A costly request with NORETRY gives up where its first compaction is skipped, too, and not only where it
    /// is put off (5.4; page_alloc.md §4.4, compaction.md §1.1).
    pub noretry_minds_skipped: bool,
    /// The slow path gives HIGHATOMIC to requests above order 0 only with `__GFP_HIGH` (6.18; before,
    /// to any that cannot wait).
    pub highatomic_needs_high: bool,
    /// kswapd passes over lower zones that are balanced ("checklow", posted June 2014, not merged).
    pub kswapd_checks_low: bool,
}

impl Rules {
    /// Linux 3.17: its policy of zones (fair turns, zonelists, marks, reserves, checks, fixed per-CPU
    /// lists of single pages). What the fact sheet does not describe of that kernel follows 6.1:
    /// fallback between migratetypes, with no MIGRATE_RESERVE, and the slow path. Its drains interrupt the
    /// other CPUs, which then drain at once: as with remote drains, nobody waits for a CPU's work.
    #[must_use]
    pub const fn linux_3_17() -> Self {
        Self {
            pcp_tuning: PcpTuning::Fixed,
            pcp_orders: PcpOrders::Zero,
            highatomic_limit: HighatomicLimit::NoReserve,
            fair_policy: FairPolicy::V3_17,
            zonelist_order: ZonelistOrder::Heuristic,
            node_load: NodeLoad::Decreasing,
            mark_gaps: MarkGaps::Quarters,
            free_check: FreeCheck::HalvePerOrder,
            reserve_index: ReserveIndex::Preferred,
            noretry_minds_skipped: false,
            boost: false,
            nofragment: false,
            ..Self::linux_6_1()
        }
    }

    /// Linux 6.1.
    #[must_use]
    pub const fn linux_6_1() -> Self {
        Self {
            fallback: Fallback::MoveThenRetype,
            pcp_tuning: PcpTuning::FreeFactor,
            pcp_orders: PcpOrders::ToCostly,
            thp_lists: ThpLists::Shared,
            free_list_type: FreeListType::Cached,
            merge_retype: MergeRetype::Never,
            highatomic_limit: HighatomicLimit::PlusOneBlock,
            highatomic_access: HighatomicAccess::Oom,
            highatomic_free_only: false,
            reserve_flags: ReserveFlags::Harder,
            free_high_half_min: false,
            direct_free_counted: false,
            direct_free_true_type: false,
            split_large_frees: false,
            refuse_straddling: false,
            below_high: false,
            drain_loop: DrainLoop::OneShot,
            drain_scheme: DrainScheme::Remote,
            batch_may_be_zero: true,
            movable_is_lowmem: true,
            show_promo: false,
            free_pages_blocks: false,
            vmstat: Vmstat::V6_1,
            fair_policy: FairPolicy::None,
            zonelist_order: ZonelistOrder::Node,
            node_load: NodeLoad::OnNewDistance,
            mark_gaps: MarkGaps::ScaleFactor,
            free_check: FreeCheck::Lists,
            reserve_index: ReserveIndex::Highest,
            boost: true,
            nofragment: true,
            avoid_awake_nodes: false,
            early_restart: false,
            retry_minds_cpuset: false,
            noretry_minds_skipped: true,
            unreserve_before_oom: false,
            highatomic_needs_high: false,
            kswapd_checks_low: false,
        }
    }

    /// Linux 6.12 as released, and up to 6.12.28.
    #[must_use]
    pub const fn linux_6_12() -> Self {
        Self {
            fallback: Fallback::Whole,
            pcp_tuning: PcpTuning::Auto,
            thp_lists: ThpLists::MovableOrNot,
            free_list_type: FreeListType::Pageblock,
            merge_retype: MergeRetype::FirstBlock,
            highatomic_limit: HighatomicLimit::RoundedUp,
            highatomic_access: HighatomicAccess::OomOrNonBlock,
            highatomic_free_only: true,
            reserve_flags: ReserveFlags::MinReserve,
            direct_free_counted: true,
            direct_free_true_type: true,
            split_large_frees: true,
            refuse_straddling: true,
            below_high: true,
            drain_loop: DrainLoop::Bounded,
            movable_is_lowmem: false,
            show_promo: true,
            vmstat: Vmstat::V6_12,
            retry_minds_cpuset: true,
            noretry_minds_skipped: true,
            unreserve_before_oom: true,
            ..Self::linux_6_1()
        }
    }

    /// Linux 6.12.29 and later of that series: the stable tree took over the fallback of 6.15 (claim a
    /// whole pageblock, or steal from the smallest block), posted for review as part of 6.12.29 on
    /// 12 May 2025. That 6.12.117 has it is shown by a recording (`docs/trace.md`).
    #[must_use]
    pub const fn linux_6_12_29() -> Self {
        Self { fallback: Fallback::ClaimThenSteal, ..Self::linux_6_12() }
    }

    /// Linux 6.18.
    #[must_use]
    pub const fn linux_6_18() -> Self {
        Self {
            fallback: Fallback::ClaimThenSteal,
            free_high_half_min: true,
            free_pages_blocks: true,
            vmstat: Vmstat::V6_18,
            avoid_awake_nodes: true,
            early_restart: true,
            highatomic_needs_high: true,
            ..Self::linux_6_12()
        }
    }

    /// The presets by name.
    pub const PRESETS: [(&'static str, Self); 5] = [
        ("linux_6_1", Self::linux_6_1()),
        ("linux_6_12", Self::linux_6_12()),
        ("linux_6_18", Self::linux_6_18()),
        ("linux_6_12_29", Self::linux_6_12_29()),
        ("linux_3_17", Self::linux_3_17()),
    ];

    /// Up to 6.9 and from 6.10 on lists, types and accounting are kept in two ways, and the switches
    /// behind them belong together.
    ///
    /// # Errors
    /// A switch of the other way. Allocators refuse such rules: no kernel says what they mean.
    pub fn validate(&self) -> Result<(), RulesError> {
        let old = matches!(self.fallback, Fallback::MoveThenRetype);
        let wants = |switch, value, holds: bool| {
            let fallback = if old { "move_then_retype" } else { "whole or claim_then_steal" };
            if holds { Ok(()) } else { Err(RulesError { switch, value, fallback }) }
        };
        let lists_old = matches!(self.free_list_type, FreeListType::Cached);
        if old {
            wants("free_list_type", "cached", lists_old)?;
            wants("highatomic_free_only", "off", !self.highatomic_free_only)?;
            wants("split_large_frees", "off", !self.split_large_frees)
        } else {
            wants("free_list_type", "pageblock", !lists_old)?;
            wants("direct_free_true_type", "on", self.direct_free_true_type)?;
            wants("split_large_frees", "on", self.split_large_frees)?;
            wants("refuse_straddling", "on", self.refuse_straddling)
        }
    }

    /// The preset with that name.
    #[must_use]
    pub fn preset(name: &str) -> Option<Self> {
        Self::PRESETS.iter().find(|(known, _)| *known == name).map(|(_, rules)| *rules)
    }

    /// The name of the preset that this is, if it is one.
    #[must_use]
    pub fn preset_name(&self) -> Option<&'static str> {
        Self::PRESETS.iter().find(|(_, rules)| rules == self).map(|(name, _)| *name)
    }
}

/// Switches of two eras.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "no kernel keeps its lists so: with fallback={fallback}, {switch} must be {value}; change one of the two"
)]
pub struct RulesError {
    /// The switch that does not fit.
    pub switch: &'static str,
    /// The value that would.
    pub value: &'static str,
    /// The fallback that asks for it.
    pub fallback: &'static str,
}

impl Default for Rules {
    fn default() -> Self {
        Self::linux_6_12()
    }
}
