//! Isolation, the atomic reserve, memory failure, zone flags, watermark questions, fault injection.

use crate::{
    allocator::PageAllocator,
    platform::Platform,
    storage::Backing,
    zone::Check,
    zonelist::{Entry, Next},
};
use mmspec_model::vocab::{CpuId, MigrateType, Pfn, ZoneFlags, ZoneIdx};

impl<P: Platform, B: Backing> PageAllocator<P, B> {
    /// Isolate the pageblock of `pfn`; see [`mmspec_model::contract::Isolation::isolate`].
    pub fn isolate(&self, cpu: CpuId, pfn: Pfn, movable: &dyn Fn(Pfn) -> bool) -> bool {
        let Some(at) = self.zone_of(pfn) else { return false };
        let start = self.geometry.pageblock_start(self.geometry.index(pfn));
        let mut locked = self.zones()[at].lock(self.tables(), &self.slot(cpu, at).diff);
        locked.buddy().isolate(start, movable)
    }

    /// Undo an isolation with the type to restore. False if the pageblock is not isolated, or for
    /// types that are not a pageblock's own (Isolate, HighAtomic).
    pub fn unisolate(&self, cpu: CpuId, pfn: Pfn, migratetype: MigrateType) -> bool {
        if matches!(migratetype, MigrateType::Isolate | MigrateType::HighAtomic) {
            return false;
        }
        let Some(at) = self.zone_of(pfn) else { return false };
        let start = self.geometry.pageblock_start(self.geometry.index(pfn));
        let mut locked = self.zones()[at].lock(self.tables(), &self.slot(cpu, at).diff);
        // The free pages go where the pageblock's stored type says.
        locked.buddy().unisolate(start, self.geometry.stored_type(migratetype))
    }

    /// Release one pageblock of the atomic reserve to `migratetype`, the highest zone's first;
    /// `force` also releases a zone's last one. Whether anything moved.
    pub fn unreserve_highatomic(&self, cpu: CpuId, migratetype: MigrateType, force: bool) -> bool {
        let migratetype = self.geometry.stored_type(migratetype);
        let node = self.cpu(cpu).node();
        let mut cursor = self.list_start(node, false);
        loop {
            match self.next_entry(&mut cursor) {
                Next::Entry(Entry { zone: at, .. }) => {
                    let mut locked = self.zone(at).lock(self.tables(), &self.slot(cpu, at).diff);
                    if locked.buddy().unreserve_highatomic(migratetype, force) {
                        return true;
                    }
                }
                Next::End => return false,
                Next::Changed => cursor = self.list_start(node, false),
            }
        }
    }

    /// Take one free page off the lists; see [`mmspec_model::contract::MemoryFailure::take_page_off`].
    pub fn take_page_off(&self, cpu: CpuId, pfn: Pfn) -> bool {
        let Some(at) = self.zone_of(pfn) else { return false };
        let mut locked = self.zones()[at].lock(self.tables(), &self.slot(cpu, at).diff);
        locked.buddy().take_page_off(self.geometry.index(pfn))
    }

    /// kswapd starts or stops its work on `zone`.
    pub fn set_reclaim_active(&self, zone: ZoneIdx, active: bool) {
        let zone = &self.zones()[zone.index()];
        if active {
            zone.set_flag(ZoneFlags::RECLAIM_ACTIVE);
        } else {
            zone.clear_flag(ZoneFlags::RECLAIM_ACTIVE);
        }
    }

    /// The next `times` attempts of `cpu` to lock its own lists fail.
    pub fn fail_trylock(&self, cpu: CpuId, times: u32) {
        self.cpu(cpu).add_failures(times);
    }

    pub(crate) fn is_watermark_ok(&self, zone: ZoneIdx, check: &Check) -> bool {
        self.zones()[zone.index()].watermark_ok(&self.geometry.rules, check)
    }
}
