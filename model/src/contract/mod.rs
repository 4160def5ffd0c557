//! The traits that an allocator under test implements, smallest first.
//!
//! [`FrameAllocator`] (blocks of 2^order frames) or [`RunAllocator`] (runs of any length, bytes of
//! a heap too) is all that the *safe*, *complete* and *returns* laws need. Each further trait is a
//! capability: what an allocator does not implement is not asked of it.
//!
//! Everything takes `&mut self`, so that plain sequential allocators fit; a concurrent allocator
//! implements the traits on a handle. The CPU is always an argument.

mod capability;
mod compact;
mod drain;
mod frame;
mod memcg;
mod request;
mod run;
mod slab;
mod slow;

pub use capability::{
    BatchFree, BulkAlloc, CpuCaches, CpuHotplug, FaultInjection, HighAtomicReserve, Isolation,
    LinuxPolicy, MemoryFailure, Observe, StatWorker, Tuning, Watermarks, ZoneFlagControl,
};
pub use compact::{
    CompactEvent, CompactLock, CompactMode, LruPages, LruUse, Migrated, PageMover, PageUse,
};
pub use drain::{DrainBegun, DrainWork};
pub use frame::{FrameAllocator, FrameCounters, PageAllocator};
pub use memcg::{
    ChargeTask, MemcgCall, MemcgDone, MemcgError, MemcgReply, MemcgStep, MemoryCgroups, OomOutcome,
};
pub use request::{Outcome, Refusal, Request, Task, TaskFlags};
pub use run::{FixedPlace, Resize, Run, RunAllocator};
pub use slab::{SlabCaches, SlabError, SlabPages};
pub use slow::{
    CompactPriority, CompactResult, KswapdReply, KswapdStep, Nodes, SlowPath, SlowReply, SlowStep,
};
