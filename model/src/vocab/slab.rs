//! Slab caches: what is asked of one, rules that differ between kernels, and how it shows
//! (memcg-slub.md §4).

use super::{Order, Pfn};

/// A slab cache. Ids are given in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct CacheId(pub u16);

impl core::fmt::Display for CacheId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "k{}", self.0)
    }
}

/// The address of an object, bytes: page frame number times 4096 and the offset in the page.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjAddr(pub u64);

impl ObjAddr {
    /// The frame that holds its first byte.
    #[must_use]
    pub const fn pfn(self) -> Pfn {
        Pfn(self.0 >> 12)
    }
}

impl core::fmt::Debug for ObjAddr {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// How slab pages of more than the least order are asked for (memcg-slub.md §4.4).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum HighOrderSlabs {
    /// Before 4.3: like any request, with direct reclaim and compaction.
    Reclaim,
    /// The change of 2015: without waiting, and kswapd is woken.
    WakeOnly,
    /// Since 4.6: neither waits nor wakes kswapd.
    #[default]
    Neither,
}

/// How the order of a cache is computed (memcg-slub.md §4.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SlabOrderRule {
    /// Up to 6.6: fewer and fewer objects, waste of 1/16 to 1/4 \[mem\].
    Counting,
    /// Since 6.7: waste of 1/16 to 1/2 \[mem\].
    #[default]
    Fractions,
}

/// What limits a CPU's list of partial slabs (memcg-slub.md §4.3).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CpuPartialLimit {
    /// Up to 5.15: free objects as counted when a slab was put there, with limits of 2, 6, 13 and 30 \[mem\].
    Objects,
    /// Since 5.16: slabs, with limits of 6, 24, 52 and 120 objects taken as half-full slabs.
    #[default]
    Slabs,
}

/// Switches of the slab allocator between kernels. All fields are public: an experiment changes one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlabRules {
    /// Requests for slab pages.
    pub high_order: HighOrderSlabs,
    /// The order of a cache.
    pub order: SlabOrderRule,
    /// CPU partial lists.
    pub cpu_partial: CpuPartialLimit,
    /// slub_min_order.
    pub min_order: u8,
    /// slub_max_order.
    pub max_order: u8,
    /// slub_min_objects; 0: by the number of CPUs.
    pub min_objects: u32,
    /// remote_node_defrag_ratio: up to 1000; how often of 1024 another node's partial slabs are taken.
    pub remote_node_defrag_ratio: u32,
    /// Free objects of a fresh slab in a random order (CONFIG_SLAB_FREELIST_RANDOM).
    pub random_freelist: bool,
    /// Free pointers are stored encoded (CONFIG_SLAB_FREELIST_HARDENED).
    pub hardened: bool,
}

impl SlabRules {
    /// 6.17, without randomised freelists.
    pub const LINUX_6_17: Self = Self {
        high_order: HighOrderSlabs::Neither,
        order: SlabOrderRule::Fractions,
        cpu_partial: CpuPartialLimit::Slabs,
        min_order: 0,
        max_order: 3,
        min_objects: 0,
        remote_node_defrag_ratio: 1000,
        random_freelist: false,
        hardened: false,
    };
    /// 5.1.
    pub const LINUX_5_1: Self = Self {
        order: SlabOrderRule::Counting,
        cpu_partial: CpuPartialLimit::Objects,
        ..Self::LINUX_6_17
    };
    /// The base of the change of 2015: 4.2.
    pub const LINUX_4_2: Self = Self { high_order: HighOrderSlabs::Reclaim, ..Self::LINUX_5_1 };
    /// 4.2 with the change of 2015, as 4.3 to 4.5 have it.
    pub const LINUX_4_3: Self = Self { high_order: HighOrderSlabs::WakeOnly, ..Self::LINUX_5_1 };

    /// By name.
    pub const PRESETS: [(&'static str, Self); 4] = [
        ("linux_4_2", Self::LINUX_4_2),
        ("linux_4_3", Self::LINUX_4_3),
        ("linux_5_1", Self::LINUX_5_1),
        ("linux_6_17", Self::LINUX_6_17),
    ];
}

impl Default for SlabRules {
    fn default() -> Self {
        Self::LINUX_6_17
    }
}

bitflags::bitflags! {
    /// Flags of a cache (memcg-slub.md §4.1, §4.11).
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct CacheFlags: u8 {
        /// SLAB_RECLAIM_ACCOUNT: pages are asked for as reclaimable and counted so.
        const RECLAIM_ACCOUNT = 1;
        /// SLAB_ACCOUNT: objects are charged to the memory cgroup.
        const ACCOUNT = 2;
        /// SLAB_TYPESAFE_BY_RCU: pages are given back after a grace period; the free pointer is
        /// outside the object.
        const TYPESAFE_BY_RCU = 4;
        /// There is a constructor: the free pointer is outside the object.
        const CTOR = 8;
        /// SLAB_CACHE_DMA.
        const DMA = 16;
        /// Consistency checks, red zones and poison: every list of a CPU is bypassed.
        const DEBUG = 32;
    }
}

/// What is asked of a new cache.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheSpec {
    /// For slabinfo.
    pub name: &'static str,
    /// Bytes of an object.
    pub object_size: u32,
    /// Alignment, a power of two; 1 and less than 8 mean 8.
    pub align: u32,
    /// Flags.
    pub flags: CacheFlags,
}

/// How objects lie in slabs of a cache: all that memcg-slub.md §4.1 to §4.3 computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheLayout {
    /// Bytes from one object to the next (`size`).
    pub stride: u32,
    /// Where in a free object the pointer to the next one is.
    pub free_pointer: u32,
    /// The order asked for first (`oo`).
    pub order: Order,
    /// Objects of such a slab.
    pub objects: u32,
    /// The order fallen back to (`min`).
    pub min_order: Order,
    /// Objects of such a slab.
    pub min_objects: u32,
    /// Empty slabs that a node keeps.
    pub min_partial: u32,
    /// Limit of a CPU's partial list, objects.
    pub cpu_partial: u32,
    /// The same in slabs.
    pub cpu_partial_slabs: u32,
}

/// Where a slab is (memcg-slub.md §4.5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SlabPlace {
    /// A CPU allocates from it.
    Cpu(u16),
    /// On a CPU's partial list.
    CpuPartial(u16),
    /// On its node's partial list.
    NodePartial,
    /// Full: on no list.
    Full,
}

/// A slab as it shows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlabState {
    /// Its first frame.
    pub pfn: Pfn,
    /// Its order.
    pub order: Order,
    /// Objects that it has room for.
    pub objects: u32,
    /// Objects in use, or taken as a list by a CPU.
    pub inuse: u32,
    /// Length of its own list of free objects.
    pub free: u32,
    /// If it is a CPU's slab: the length of that CPU's list.
    pub cpu_free: u32,
    /// Whether it is frozen.
    pub frozen: bool,
    /// Whether it says that it is on a node's list (`partial`).
    pub on_node: bool,
    /// Where it is.
    pub place: SlabPlace,
}

macro_rules! stats {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal,)*) => {
        /// Statistics of a cache (memcg-slub.md §4.12), in the kernel's order.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum SlabStat {
            $($(#[doc = $doc])* $variant,)*
        }

        impl SlabStat {
            /// All, in the kernel's order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant,)*];
            /// How many.
            pub const COUNT: usize = [$($name,)*].len();

            /// The name of its file in sysfs.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

stats! {
    /// Allocations from the CPU's own list.
    AllocFastpath = "alloc_fastpath",
    /// All others.
    AllocSlowpath = "alloc_slowpath",
    /// Objects freed to the CPU's own list.
    FreeFastpath = "free_fastpath",
    /// Calls that freed elsewhere.
    FreeSlowpath = "free_slowpath",
    /// Frees into a slab that some CPU allocates from.
    FreeFrozen = "free_frozen",
    /// Slabs that a free put on the node's list.
    FreeAddPartial = "free_add_partial",
    /// Slabs that a free took off the node's list.
    FreeRemovePartial = "free_remove_partial",
    /// Slabs of the node's list that a CPU took.
    AllocFromPartial = "alloc_from_partial",
    /// Slabs made.
    AllocSlab = "alloc_slab",
    /// CPU lists refilled from their own slab.
    AllocRefill = "alloc_refill",
    /// The CPU's slab was of another node than asked for.
    AllocNodeMismatch = "alloc_node_mismatch",
    /// Slabs given back.
    FreeSlab = "free_slab",
    /// CPU slabs put away by a flush.
    CpuslabFlush = "cpuslab_flush",
    /// Put away full.
    DeactivateFull = "deactivate_full",
    /// Put away empty.
    DeactivateEmpty = "deactivate_empty",
    /// Put away at the head of the node's list.
    DeactivateToHead = "deactivate_to_head",
    /// At its tail.
    DeactivateToTail = "deactivate_to_tail",
    /// Put away while others had freed into it.
    DeactivateRemoteFrees = "deactivate_remote_frees",
    /// Forgotten because nothing was free in it.
    DeactivateBypass = "deactivate_bypass",
    /// Slabs of the least order because the first request failed.
    OrderFallback = "order_fallback",
    /// The CPU's list changed under an operation.
    CmpxchgDoubleCpuFail = "cmpxchg_double_cpu_fail",
    /// A slab changed under an operation.
    CmpxchgDoubleFail = "cmpxchg_double_fail",
    /// Slabs of the CPU's partial list that became its slab.
    CpuPartialAlloc = "cpu_partial_alloc",
    /// Slabs that a free put on a CPU's partial list.
    CpuPartialFree = "cpu_partial_free",
    /// Slabs moved from the node's list to the CPU's.
    CpuPartialNode = "cpu_partial_node",
    /// CPU partial lists emptied because they were full.
    CpuPartialDrain = "cpu_partial_drain",
}

/// The numbers of one cache on one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct CacheNodeState {
    /// Slabs.
    pub nr_slabs: u64,
    /// Objects that they have room for.
    pub total_objects: u64,
    /// Slabs on the partial list.
    pub nr_partial: u64,
    /// Free objects in these.
    pub partial_free: u64,
}
