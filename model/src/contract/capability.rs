//! Capabilities beyond allocate and free.

use super::{DrainWork, Nodes, PageAllocator, SlowPath};
use crate::vocab::{
    AllocFlags, CpuId, EventCounters, Gfp, Mark, MigrateType, Order, PcpState, Pfn, Tunables,
    TunablesError, ZoneFlags, ZoneIdx, ZoneKind, ZoneState,
};

/// Capability: free many blocks in one call (free_unref_folios).
pub trait BatchFree {
    /// Free `pages` in order on `cpu`.
    fn free_batch(&mut self, cpu: CpuId, pages: &[(Pfn, Order)]);
}

/// Capability: allocate many order-0 pages in one call (page_alloc.md §4.6).
pub trait BulkAlloc {
    /// Fill `slots` from the front; returns how many are filled. A full array returns at once.
    fn alloc_bulk(&mut self, cpu: CpuId, gfp: Gfp, slots: &mut [Option<Pfn>]) -> usize;
}

/// Capability: per-CPU lists (page_alloc.md §2).
pub trait CpuCaches {
    /// Empty `cpu`'s lists in every zone; `by` is the CPU that does the work.
    fn drain_cpu(&mut self, by: CpuId, cpu: CpuId);

    /// Empty all online CPUs' lists that hold pages, in one zone or in all: under
    /// [`DrainScheme::Remote`](crate::vocab::DrainScheme) by taking each CPU's lock from `by`, under
    /// `WorkItem` by each CPU's own worker, for which `by` waits ([`DrainWork`] begins without the
    /// wait).
    fn drain_all(&mut self, by: CpuId, zone: Option<ZoneIdx>);

    /// zone_pcp_disable: from now on every free in `zone` ends on the free lists; then a drain
    /// of that zone on every online CPU, with its wait. A second call for the same zone is a no-op.
    fn pcp_disable(&mut self, by: CpuId, zone: ZoneIdx);

    /// zone_pcp_enable. Without a disable before it a no-op.
    fn pcp_enable(&mut self, zone: ZoneIdx);
}

/// Capability: faults injected where the kernel can fail.
pub trait FaultInjection {
    /// The next `times` attempts of `cpu` to lock its own lists fail (an interrupt came upon the
    /// holder). Adds to what is pending.
    fn fail_trylock(&mut self, cpu: CpuId, times: u32);
}

/// Capability: watermark decisions (page_alloc.md §3.4, §3.5).
pub trait Watermarks {
    /// The full check (`zone_watermark_ok` with the cached counter) of `zone` against `mark` for a
    /// request of `order` whose highest zone is `highest`.
    fn watermark_ok(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
    ) -> bool;

    /// The fast check (`zone_watermark_fast`) with the same arguments; `gfp` decides the
    /// exception for boosted marks.
    fn watermark_fast(
        &self,
        zone: ZoneIdx,
        order: Order,
        mark: Mark,
        highest: ZoneKind,
        flags: AllocFlags,
        gfp: Gfp,
    ) -> bool;
}

/// Capability: sysctls written at run time.
pub trait Tuning {
    /// Write all tunables; marks and per-CPU limits are recomputed, boosts end.
    ///
    /// # Errors
    /// A value out of range; nothing is changed.
    fn set_tunables(&mut self, tunables: Tunables) -> Result<(), TunablesError>;
}

/// Capability: zone flags that daemons outside the allocator own.
pub trait ZoneFlagControl {
    /// kswapd starts or stops its work on `zone` (ZONE_RECLAIM_ACTIVE).
    fn set_reclaim_active(&mut self, zone: ZoneIdx, active: bool);
}

/// Capability: the per-CPU statistics worker (page_alloc.md §2.8).
pub trait StatWorker {
    /// One run of `cpu`'s worker: fold diffs, decay high, expire remote lists. Returns whether
    /// work is left.
    fn tick(&mut self, cpu: CpuId) -> bool;
}

/// Capability: pageblock isolation (page_alloc.md §1.15).
pub trait Isolation {
    /// Isolate the pageblock of `pfn`. `movable` answers for each allocated frame whether its
    /// content can move. False (EBUSY) if it is isolated already, straddles the zone, or holds
    /// what cannot move.
    fn isolate(&mut self, cpu: CpuId, pfn: Pfn, movable: &dyn Fn(Pfn) -> bool) -> bool;

    /// Undo; `migratetype` is the type to restore. False if it is not isolated.
    fn unisolate(&mut self, cpu: CpuId, pfn: Pfn, migratetype: MigrateType) -> bool;
}

/// Capability: the high-order atomic reserve (page_alloc.md §1.13).
pub trait HighAtomicReserve {
    /// Release one reserved pageblock to `migratetype`; `force` also releases the last one.
    /// Whether anything moved.
    fn unreserve_highatomic(&mut self, cpu: CpuId, migratetype: MigrateType, force: bool) -> bool;
}

/// Capability: memory failure (page_alloc.md §1.17).
pub trait MemoryFailure {
    /// take_page_off_buddy: take the one page `pfn` out of the free block that holds it; the other
    /// pages stay free, in the largest blocks that leave it out. False, and nothing changes, if it is
    /// in no free block: handed out, on a per-CPU list, or not managed.
    ///
    /// The page is the caller's from now on, like a block of order 0 that was handed out as unmovable
    /// (no counter says so), and comes back by a free, if it ever does (docs/decisions.md, 75).
    fn take_page_off(&mut self, cpu: CpuId, pfn: Pfn) -> bool;
}

/// Capability: CPUs that come and go.
pub trait CpuHotplug {
    /// `cpu` died: its lists are drained and its diffs folded by `by`; limits are recomputed.
    /// False if it is offline already, or the last one, or `by` itself.
    fn cpu_dead(&mut self, by: CpuId, cpu: CpuId) -> bool;

    /// `cpu` is back. False if it is online.
    fn cpu_online(&mut self, cpu: CpuId) -> bool;

    /// Whether `cpu` is online.
    fn is_online(&self, cpu: CpuId) -> bool;
}

/// Capability: the state can be looked at. Callers look only while no other call runs.
pub trait Observe {
    /// Number of populated zones.
    fn zone_count(&self) -> usize;

    /// The numbers of one zone.
    fn zone_state(&self, zone: ZoneIdx) -> ZoneState;

    /// The numbers of one CPU's lists.
    fn pcp_state(&self, cpu: CpuId, zone: ZoneIdx) -> PcpState;

    /// All events, summed over CPUs.
    fn events(&self) -> EventCounters;

    /// The blocks of one free list, head first.
    fn for_each_free(
        &self,
        zone: ZoneIdx,
        order: Order,
        migratetype: MigrateType,
        visit: &mut dyn FnMut(Pfn),
    );

    /// Number of per-CPU lists under these rules.
    fn pcp_list_count(&self) -> usize;

    /// The blocks of one per-CPU list, head first.
    fn for_each_cached(&self, cpu: CpuId, zone: ZoneIdx, list: usize, visit: &mut dyn FnMut(Pfn));

    /// The stored type of the pageblock that holds `pfn`; Isolate while it is isolated. `None`
    /// outside all zones.
    fn pageblock_type(&self, pfn: Pfn) -> Option<MigrateType>;

    /// Set the flags word of a zone aside for display.
    fn zone_flags(&self, zone: ZoneIdx) -> ZoneFlags {
        self.zone_state(zone).flags
    }
}

/// Everything at once: what the differential driver needs of both sides.
pub trait LinuxPolicy:
    PageAllocator
    + BatchFree
    + BulkAlloc
    + CpuCaches
    + DrainWork
    + FaultInjection
    + Watermarks
    + Tuning
    + ZoneFlagControl
    + StatWorker
    + Isolation
    + HighAtomicReserve
    + MemoryFailure
    + CpuHotplug
    + Nodes
    + SlowPath
    + Observe
{
}

impl<T> LinuxPolicy for T where
    T: PageAllocator
        + BatchFree
        + BulkAlloc
        + CpuCaches
        + DrainWork
        + DrainWork
        + FaultInjection
        + Watermarks
        + Tuning
        + ZoneFlagControl
        + StatWorker
        + Isolation
        + HighAtomicReserve
        + MemoryFailure
        + CpuHotplug
        + Nodes
        + SlowPath
        + Observe
{
}
