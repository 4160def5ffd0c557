//! The kmem tracepoints (page_alloc.md §6.5).

use super::{Gfp, MigrateType, Order, Pfn};

/// One kmem tracepoint event, without time and CPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum KmemEvent {
    /// `mm_page_alloc`: the end of a single allocation call.
    PageAlloc {
        /// The block handed out; `None` when the request failed.
        pfn: Option<Pfn>,
        /// Its order.
        order: Order,
        /// The flags last used.
        gfp: Gfp,
        /// The migratetype asked for.
        migratetype: MigrateType,
    },
    /// `mm_page_free`: the start of every free.
    PageFree {
        /// The block.
        pfn: Pfn,
        /// Its order.
        order: Order,
    },
    /// `mm_page_free_batched`: a page of a batch free, just before it is put on a per-CPU list.
    PageFreeBatched {
        /// The block; its order is not traced.
        pfn: Pfn,
    },
    /// `mm_page_alloc_zone_locked`: a block taken from a free list of its own type.
    ZoneLocked {
        /// The block taken.
        pfn: Pfn,
        /// The order asked for.
        order: Order,
        /// The list's type.
        migratetype: MigrateType,
        /// The order and type *could* be a per-CPU refill.
        percpu_refill: bool,
    },
    /// `mm_page_pcpu_drain`: a page moved from a per-CPU list to the free lists.
    PcpuDrain {
        /// The block before merging.
        pfn: Pfn,
        /// Its order before merging.
        order: Order,
        /// The type of the list that it went to.
        migratetype: MigrateType,
    },
    /// `mm_page_alloc_extfrag`: a request served from another type's pageblock.
    ExtFrag {
        /// The block handed out.
        pfn: Pfn,
        /// The order asked for.
        alloc_order: Order,
        /// The order of the block found.
        fallback_order: Order,
        /// The type asked for.
        alloc_migratetype: MigrateType,
        /// The type of the block found.
        fallback_migratetype: MigrateType,
        /// The pageblock now has the type asked for.
        change_ownership: bool,
    },
}
