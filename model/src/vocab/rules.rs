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
    /// 5.14 to 6.6: a fixed high mark and a factor that grows the amount freed.
    FreeFactor,
    /// 6.7 and later: high moves between `high_min` and `high_max`; alloc_factor; free_count.
    Auto,
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
}

impl Rules {
    /// Linux 6.1.
    #[must_use]
    pub const fn linux_6_1() -> Self {
        Self {
            fallback: Fallback::MoveThenRetype,
            pcp_tuning: PcpTuning::FreeFactor,
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
            free_high_half_min: false,
            direct_free_counted: true,
            direct_free_true_type: true,
            split_large_frees: true,
            refuse_straddling: true,
            below_high: true,
            drain_loop: DrainLoop::Bounded,
            drain_scheme: DrainScheme::Remote,
            batch_may_be_zero: true,
            movable_is_lowmem: false,
            show_promo: true,
            free_pages_blocks: false,
            vmstat: Vmstat::V6_12,
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
            ..Self::linux_6_12()
        }
    }

    /// The presets by name.
    pub const PRESETS: [(&'static str, Self); 4] = [
        ("linux_6_1", Self::linux_6_1()),
        ("linux_6_12", Self::linux_6_12()),
        ("linux_6_18", Self::linux_6_18()),
        ("linux_6_12_29", Self::linux_6_12_29()),
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
