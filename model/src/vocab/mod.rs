//! The vocabulary: the field's names as types.

mod alloc_flags;
mod compaction;
mod counters;
mod gfp;
mod ids;
mod machine;
mod memcg;
mod migratetype;
mod node;
mod rules;
mod slab;
mod state;
mod thp;
mod tracepoint;
mod tunables;
mod zone;

pub use alloc_flags::{AllocFlags, Mark};
pub use compaction::{CompactCounters, CompactFeatures, CompactFixes, CompactRules};
pub use counters::{CounterDoc, Event, EventCounters, NumaCounters};
pub use gfp::{Gfp, GfpError};
pub use ids::{CpuId, NR_PAGE_ORDERS, Order, Pfn, PfnRange, ZoneIdx};
#[cfg(feature = "alloc")]
pub use machine::Machine;
pub use machine::{MAX_CPUS, MachineError, MachineRef, ZoneSpan};
pub use memcg::{
    ChargeReclaim, CounterKind, MAX_MEMCGS, MemcgEvent, MemcgId, MemcgRules, MemcgState,
    NR_MEMCG_STOCK, PAGE_COUNTER_MAX, PageCounterState, StockForm, StockSlot, StockState,
};
pub use migratetype::{MigrateType, NR_MIGRATETYPES, NR_PCP_TYPES};
pub use node::{LOCAL_DISTANCE, MAX_NODES, NodeId, NodeMask, NodeState, REMOTE_DISTANCE};
pub use rules::{
    DrainLoop, DrainScheme, FairPolicy, Fallback, FreeCheck, FreeListType, HighatomicAccess,
    HighatomicLimit, MarkGaps, MergeRetype, NodeLoad, PcpOrders, PcpTuning, ReserveFlags,
    ReserveIndex, Rules, RulesError, ThpLists, Vmstat, ZonelistOrder,
};
pub use slab::{
    CacheFlags, CacheId, CacheLayout, CacheNodeState, CacheSpec, CpuPartialLimit, HighOrderSlabs,
    ObjAddr, SlabOrderRule, SlabPlace, SlabRules, SlabStat, SlabState,
};
pub use state::{NR_PCP_LISTS_MAX, PcpFlags, PcpState, ZoneFlags, ZoneState};
pub use thp::{ThpCounters, ThpDefrag, ThpEnabled};
pub use tracepoint::KmemEvent;
pub use tunables::{Tunables, TunablesError};
pub use zone::{NR_ZONES, ZoneKind, ZoneName};
