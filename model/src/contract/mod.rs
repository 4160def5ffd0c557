//! The traits that an allocator under test implements, smallest first.
//!
//! [`FrameAllocator`] is all that the *safe*, *complete* and *returns* laws need. Each further
//! trait is a capability: what an allocator does not implement is not asked of it.
//!
//! Everything takes `&mut self`, so that plain sequential allocators fit; a concurrent allocator
//! implements the traits on a handle. The CPU is always an argument.

mod capability;
mod frame;
mod request;

pub use capability::{
    BatchFree, BulkAlloc, CpuCaches, CpuHotplug, FaultInjection, HighAtomicReserve, Isolation,
    LinuxPolicy, Observe, StatWorker, Tuning, Watermarks, ZoneFlagControl,
};
pub use frame::{FrameAllocator, FrameCounters, PageAllocator};
pub use request::{Outcome, Refusal, Request};
