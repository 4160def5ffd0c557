//! The events that [`Platform::trace`] is told of (page_alloc.md §6.5).

use crate::{
    allocator::PageAllocator, geometry::Geometry, path::in_scope, platform::Platform,
    storage::Backing,
};
use mmspec_model::{
    contract::{Outcome, Request},
    vocab::{KmemEvent, MigrateType, Order},
};

impl Geometry {
    /// A block was taken off a list of its own type.
    pub(crate) fn zone_locked(&self, frame: u32, order: u8, migratetype: MigrateType) -> KmemEvent {
        KmemEvent::ZoneLocked {
            pfn: self.pfn(frame),
            order: Order::of(order),
            migratetype,
            percpu_refill: self.is_pcp_order(order) && migratetype.is_pcp_type(),
        }
    }

    /// A block went from a per-CPU list to the free lists of `migratetype`.
    pub(crate) fn pcpu_drain(&self, frame: u32, order: u8, migratetype: MigrateType) -> KmemEvent {
        KmemEvent::PcpuDrain { pfn: self.pfn(frame), order: Order::of(order), migratetype }
    }
}

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// A single allocation call ended; one that was refused says nothing. The flags are those within
    /// the task's scopes (docs/decisions.md, 58).
    #[inline(always)]
    pub(crate) fn trace_alloc(&self, request: &Request, outcome: Outcome) {
        if matches!(outcome, Outcome::Refused(_)) {
            return;
        }
        P::trace(|| {
            let gfp = in_scope(request.gfp, request.task.flags);
            let asked = gfp.migratetype().unwrap_or(MigrateType::Unmovable);
            let migratetype = self.geometry.stored_type(asked);
            KmemEvent::PageAlloc { pfn: outcome.page(), order: request.order, gfp, migratetype }
        });
    }
}
