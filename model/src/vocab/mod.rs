//! The vocabulary: the field's names as types.

mod alloc_flags;
mod counters;
mod gfp;
mod ids;
mod machine;
mod migratetype;
mod rules;
mod state;
mod tracepoint;
mod tunables;
mod zone;

pub use alloc_flags::{AllocFlags, Mark};
pub use counters::{CounterDoc, Event, EventCounters, NumaCounters};
pub use gfp::{Gfp, GfpError};
pub use ids::{CpuId, NR_PAGE_ORDERS, Order, Pfn, PfnRange, ZoneIdx};
#[cfg(feature = "alloc")]
pub use machine::Machine;
pub use machine::{MAX_CPUS, MachineError, MachineRef, ZoneSpan};
pub use migratetype::{MigrateType, NR_MIGRATETYPES, NR_PCP_TYPES};
pub use rules::{
    DrainLoop, DrainScheme, Fallback, FreeListType, HighatomicAccess, HighatomicLimit, MergeRetype,
    PcpTuning, ReserveFlags, Rules, RulesError, ThpLists, Vmstat,
};
pub use state::{NR_PCP_LISTS_MAX, PcpFlags, PcpState, ZoneFlags, ZoneState};
pub use tracepoint::KmemEvent;
pub use tunables::{Tunables, TunablesError};
pub use zone::{NR_ZONES, ZoneKind};
