//! The smallest contract, and the one with CPUs and gfp flags.

use super::{Outcome, Request};
use crate::vocab::{CpuId, Order, Pfn};

/// An allocator of naturally aligned runs of page frames. The smallest contract: ten lines adapt
/// most allocators.
pub trait FrameAllocator {
    /// Allocate 2^`order` frames that start at a multiple of 2^`order`; `None` if that can't be.
    fn allocate(&mut self, order: Order) -> Option<Pfn>;

    /// Give back what [`FrameAllocator::allocate`] returned, with the same order.
    fn free(&mut self, pfn: Pfn, order: Order);
}

/// Capability: the allocator shows how many frames (units, for an allocator of runs) it holds free.
pub trait FrameCounters {
    /// Frames that are free, cached ones included.
    fn free_frames(&self) -> u64;

    /// Frames under management, allocated or not.
    fn managed_frames(&self) -> u64;
}

/// An allocator that knows CPUs, gfp flags and watermarks.
///
/// A block that was asked for as movable ([`crate::vocab::Gfp::migratetype`]) counts as movable
/// memory (on an LRU list, in the kernel's terms) from the moment it is handed out until it is
/// freed. The kernel learns this from the page's owner a moment later; fallback's half rule and
/// isolation are the only readers.
pub trait PageAllocator {
    /// One attempt on `cpu`. It ends where the kernel's slow path would begin.
    fn alloc_pages(&mut self, cpu: CpuId, request: Request) -> Outcome;

    /// Free a block on `cpu`, with the order that it was allocated with.
    fn free_pages(&mut self, cpu: CpuId, pfn: Pfn, order: Order);
}
