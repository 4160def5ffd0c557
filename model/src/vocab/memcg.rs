//! Memory cgroups: ids, rules that differ between kernels, events, and what a group shows
//! (memcg-slub.md §1 to §3, §6).

use super::CpuId;

/// A memory cgroup. Ids are given in the order of creation and never again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct MemcgId(pub u16);

impl MemcgId {
    /// The root: never charged directly, the last level of every walk.
    pub const ROOT: Self = Self(0);
}

impl core::fmt::Display for MemcgId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "g{}", self.0)
    }
}

/// Pages of no limit: LONG_MAX / PAGE_SIZE with pages of 4 KiB (memcg-slub.md §1.1).
pub const PAGE_COUNTER_MAX: u64 = i64::MAX as u64 / 4096;

/// Groups of one hierarchy at most, the root among them.
pub const MAX_MEMCGS: usize = 1 << 12;

/// Slots of one CPU's page stock where it has several (NR_MEMCG_STOCK).
pub const NR_MEMCG_STOCK: usize = 7;

/// How one CPU's stock of charged pages is kept (memcg-slub.md §2.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum StockForm {
    /// One group at a time; another one's pages are given back first. Up to 6.15 \[mem\].
    Single,
    /// [`NR_MEMCG_STOCK`] groups; when a new one finds no slot, the next in turn is emptied
    /// (`drain_idx`, the tree of mid-2026; 6.17 takes a random one, which a specification that is
    /// replayed cannot: docs/memcg.md).
    #[default]
    Slots,
}

/// How a charge over the limit reclaims (memcg-slub.md §2.3, §2.14).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ChargeReclaim {
    /// Up to 3.18: rounds of 32 pages, at most 100, until a single page is free.
    UntilOnePage,
    /// 3.19, posted 2014: one call for the whole request, then a drain, then again.
    WholeRequest2014,
    /// Today's twenty steps.
    #[default]
    WholeRequest,
}

/// Switches of memory cgroups between kernels. All fields are public: an experiment changes one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemcgRules {
    /// The page stock of a CPU.
    pub stock: StockForm,
    /// MEMCG_CHARGE_BATCH: 64; 32 before 6.0 \[mem\]. At most 127.
    pub batch: u32,
    /// Fruitless reclaims before the OOM killer: 16 since 5.9, 5 before.
    pub retries: u32,
    /// The loop.
    pub reclaim: ChargeReclaim,
    /// A charge of 2014 and before that may not fail, or of a dying task, goes to the root instead
    /// (memcg-slub.md §2.14).
    pub bypass_to_root: bool,
    /// Requests with HIGH that may not wait are charged over the limit: since 5.4, one rule with
    /// NOFAIL since 5.17 \[mem\].
    pub high_may_exceed: bool,
    /// A charge that was forced raises `max` once: since 6.0.
    pub forced_raises_max: bool,
    /// memory.high is handled within a charge when much has piled up: since 5.18 \[mem\].
    pub high_in_charge: bool,
    /// The mount option memory_recursiveprot.
    pub recursive_protection: bool,
    /// The mount option memory_localevents: events are not passed up.
    pub local_events: bool,
}

impl MemcgRules {
    /// 6.17, with default mount options but memory_recursiveprot, which systemd sets.
    pub const LINUX_6_17: Self = Self {
        stock: StockForm::Slots,
        batch: 64,
        retries: 16,
        reclaim: ChargeReclaim::WholeRequest,
        bypass_to_root: false,
        high_may_exceed: true,
        forced_raises_max: true,
        high_in_charge: true,
        recursive_protection: true,
        local_events: false,
    };

    /// 6.12: one group in a stock.
    pub const LINUX_6_12: Self = Self { stock: StockForm::Single, ..Self::LINUX_6_17 };

    /// The base of the change of 2014: 3.18.
    pub const LINUX_3_18: Self = Self {
        stock: StockForm::Single,
        batch: 32,
        retries: 5,
        reclaim: ChargeReclaim::UntilOnePage,
        bypass_to_root: true,
        high_may_exceed: false,
        forced_raises_max: false,
        high_in_charge: false,
        recursive_protection: false,
        local_events: false,
    };

    /// 3.18 with the change of 2014, as 3.19 has it.
    pub const LINUX_3_19: Self =
        Self { reclaim: ChargeReclaim::WholeRequest2014, ..Self::LINUX_3_18 };

    /// By name.
    pub const PRESETS: [(&'static str, Self); 4] = [
        ("linux_3_18", Self::LINUX_3_18),
        ("linux_3_19", Self::LINUX_3_19),
        ("linux_6_12", Self::LINUX_6_12),
        ("linux_6_17", Self::LINUX_6_17),
    ];
}

impl Default for MemcgRules {
    fn default() -> Self {
        Self::LINUX_6_17
    }
}

/// Keys of memory.events (memcg-slub.md §6.1), in print order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum MemcgEvent {
    /// Reclaimed although protected by memory.low.
    Low,
    /// Reclaimed or throttled because of memory.high.
    High,
    /// A charge met memory.max.
    Max,
    /// A charge could not be served by reclaim.
    Oom,
    /// A process of the group was killed.
    OomKill,
    /// The whole group was killed.
    OomGroupKill,
}

impl MemcgEvent {
    /// All, in print order.
    pub const ALL: [Self; 6] =
        [Self::Low, Self::High, Self::Max, Self::Oom, Self::OomKill, Self::OomGroupKill];
    /// How many.
    pub const COUNT: usize = Self::ALL.len();

    /// The key in memory.events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::Max => "max",
            Self::Oom => "oom",
            Self::OomKill => "oom_kill",
            Self::OomGroupKill => "oom_group_kill",
        }
    }
}

/// Which counter of a group (memcg-slub.md §2.1; of cgroup v2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CounterKind {
    /// `memory`: with protection.
    Memory,
    /// `swap`: without.
    Swap,
}

/// One page counter as it shows (memcg-slub.md §1.1). Pages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PageCounterState {
    /// In use, with all descendants.
    pub usage: u64,
    /// memory.max.
    pub max: u64,
    /// memory.min.
    pub min: u64,
    /// memory.low.
    pub low: u64,
    /// memory.high.
    pub high: u64,
    /// Of `usage`, what `min` claims.
    pub min_usage: u64,
    /// Of `usage`, what `low` claims.
    pub low_usage: u64,
    /// Sum of `min_usage` of the children.
    pub children_min_usage: u64,
    /// Sum of `low_usage` of the children.
    pub children_low_usage: u64,
    /// Effective `min`, as the last reclaim computed it.
    pub emin: u64,
    /// Effective `low`, as the last reclaim computed it.
    pub elow: u64,
    /// Peak of `usage`.
    pub watermark: u64,
    /// Peak since the last reset through a handle of memory.peak.
    pub local_watermark: u64,
    /// Failed attempts that this counter stopped.
    pub failcnt: u64,
}

/// One group as it shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MemcgState {
    /// Its parent; `None`: the root.
    pub parent: Option<MemcgId>,
    /// False once it was removed.
    pub online: bool,
    /// `memory`.
    pub memory: PageCounterState,
    /// `swap`.
    pub swap: PageCounterState,
    /// Own events, [`MemcgEvent::ALL`] order.
    pub local: [u64; MemcgEvent::COUNT],
    /// Events with those of descendants.
    pub events: [u64; MemcgEvent::COUNT],
    /// The stat `kernel` of this group alone, pages: charged for kernel objects of an objcg that points here.
    pub kernel: i64,
    /// Live references: pages in use, stocks, objects, children, swap entries. A removed group with none is gone.
    pub references: u64,
    /// The objcg made with this group: bytes below a page kept centrally (`nr_charged_bytes`).
    pub charged_bytes: u64,
    /// Which group that objcg points at now: itself, or an ancestor after its removal.
    pub objcg_owner: MemcgId,
}

/// One slot of a page stock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StockSlot {
    /// Whose pages.
    pub memcg: MemcgId,
    /// How many: charged, not in use.
    pub pages: u32,
}

/// One CPU's stocks as they show (memcg-slub.md §2.2, §2.9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StockState {
    /// Whose.
    pub cpu: CpuId,
    /// Page slots; the form with one uses the first.
    pub slots: [Option<StockSlot>; NR_MEMCG_STOCK],
    /// The objcg whose bytes are kept, named by the group that it was made with.
    pub objcg: Option<MemcgId>,
    /// Its bytes.
    pub bytes: u32,
    /// A drain was queued for this CPU and has not run.
    pub flushing: bool,
}
