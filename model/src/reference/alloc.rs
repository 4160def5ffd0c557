//! The allocation path up to where the slow path would begin (§2.4, §4.2, §4.3, §4.6, D7 to D12,
//! D17, D18).

use super::arith::pcp_list;
use super::fallback::Mode;
use super::pcp::CachedBlock;
use super::scan::Scan;
use super::{Frame, Reference};
use crate::contract::{BulkAlloc, Outcome, PageAllocator, Refusal, Request, Task, TaskFlags};
use crate::vocab::{
    AllocFlags, CpuId, Gfp, HighatomicAccess, KmemEvent, Mark, MigrateType, NodeMask, Order,
    PcpTuning, Pfn, ReserveFlags, ReserveIndex, ZoneFlags, ZoneKind,
};

/// What one attempt carries from zone to zone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Attempt {
    pub(super) order: Order,
    pub(super) migratetype: MigrateType,
    /// The request's gfp asks for movable memory.
    pub(super) movable: bool,
    pub(super) gfp: Gfp,
    /// The zone whose `lowmem_reserve` entry checks use.
    pub(super) reserve: ZoneKind,
    pub(super) mark: Mark,
    pub(super) flags: AllocFlags,
    /// The nodes that CPUSET keeps to.
    pub(super) mems: NodeMask,
    /// The preferred zone.
    pub(super) preferred: usize,
    /// The attempt is a fair one (§5).
    pub(super) fair: bool,
}

impl Attempt {
    /// A success makes the kernel consider a reserve (§1.13, D12).
    pub(super) fn reserves(&self) -> bool {
        self.flags.contains(AllocFlags::HIGHATOMIC) && self.order > Order::ZERO
    }
}

/// The request's flags within the scopes of its task (§4.6).
pub(super) fn in_scope(gfp: Gfp, task: Task) -> Gfp {
    let mut gfp = gfp;
    if task.flags.contains(TaskFlags::NOIO) {
        gfp.remove(Gfp::IO | Gfp::FS);
    }
    if task.flags.contains(TaskFlags::NOFS) {
        gfp.remove(Gfp::FS);
    }
    if task.flags.contains(TaskFlags::PIN) {
        gfp.remove(Gfp::MOVABLE);
    }
    gfp
}

impl Reference {
    /// D7, D8, D32, D33: the attempt that a request makes, and the entries that it may use.
    pub(super) fn plan(&self, cpu: CpuId, request: Request) -> Result<Scan, Refusal> {
        let order = request.order;
        if order > self.machine.max_order {
            return Err(Refusal::OrderTooLarge(order));
        }
        let gfp = in_scope(request.gfp, request.task);
        let highest = gfp.highest_zone()?;
        let asked = gfp.migratetype()?;
        let list = self.list_of(request.node.unwrap_or(self.node_of(cpu)), gfp)?;
        let bound = request.task.mems != NodeMask::ALL;
        let first = request.attempt.is_none();
        let policy = request.nodes != NodeMask::ALL;
        let mask = if first && bound && !policy { request.task.mems } else { request.nodes };
        let entries = self.reachable(list, highest, mask);
        let preferred = *entries.first().ok_or(Refusal::NoZone)?;
        let migratetype = self.request_type(asked);
        let (mark, mut flags) = request.attempt.unwrap_or_else(|| {
            let mut flags = self.nofragment(preferred);
            flags.set(AllocFlags::CPUSET, bound && policy);
            (Mark::Low, flags)
        });
        flags |= self.derived_flags(gfp, migratetype);
        let attempt = Attempt {
            order,
            migratetype,
            movable: asked == MigrateType::Movable,
            gfp,
            reserve: self.reserve_index(highest, preferred),
            mark,
            flags,
            mems: request.task.mems,
            preferred,
            fair: first && self.is_fair(list, preferred),
        };
        Ok(self.begin_scan(attempt, entries))
    }

    /// D33: NOFRAGMENT for a first attempt (§4.2).
    fn nofragment(&self, preferred: usize) -> AllocFlags {
        let zone = &self.zones[preferred];
        let lower = |other: &super::Zone| {
            other.node == zone.node && other.kind == ZoneKind::Dma32 && other.managed > 0
        };
        let keeps = self.rules.nofragment
            && zone.kind == ZoneKind::Normal
            && (self.nodes.len() == 1 || self.zones.iter().any(lower));
        if keeps { AllocFlags::NOFRAGMENT } else { AllocFlags::empty() }
    }

    /// §3.3: whose reserve entry decides.
    pub(super) fn reserve_index(&self, highest: ZoneKind, preferred: usize) -> ZoneKind {
        match self.rules.reserve_index {
            ReserveIndex::Highest => highest,
            ReserveIndex::Preferred => self.zones[preferred].kind,
        }
    }

    pub(super) fn derived_flags(&self, gfp: Gfp, migratetype: MigrateType) -> AllocFlags {
        let mut flags = AllocFlags::empty();
        flags.set(AllocFlags::KSWAPD, gfp.contains(Gfp::KSWAPD_RECLAIM));
        flags.set(AllocFlags::CMA, self.machine.cma_built && migratetype == MigrateType::Movable);
        flags
    }

    /// get_page_from_freelist (§4.3).
    pub(super) fn get_page(&mut self, cpu: CpuId, mut scan: Scan) -> Option<Pfn> {
        while let Some(z) = self.next_zone(cpu, &mut scan) {
            let attempt = scan.attempt;
            if !self.zone_allows(z, &attempt) {
                continue;
            }
            if let Some(pfn) = self.rmqueue_from(cpu, z, &attempt) {
                if attempt.reserves() {
                    self.reserve_highatomic(cpu, z, pfn, attempt.order);
                }
                return Some(pfn);
            }
        }
        None
    }

    /// Steps 5 and 6 of §4.3.
    pub(super) fn zone_allows(&mut self, z: usize, attempt: &Attempt) -> bool {
        let &Attempt { order, gfp, reserve, mark, flags, .. } = attempt;
        if self.rules.below_high && !self.zones[z].flags.contains(ZoneFlags::BELOW_HIGH) {
            if self.check_fast(z, order, (Mark::High, 0), reserve, flags, gfp) {
                return true;
            }
            self.zones[z].flags |= ZoneFlags::BELOW_HIGH;
        }
        self.check_fast(z, order, (mark, 0), reserve, flags, gfp)
            || flags.contains(AllocFlags::NO_WATERMARKS)
    }

    /// rmqueue: the per-CPU list, else the buddy; then the wake-up of a boosted zone (§3.6).
    fn rmqueue_from(&mut self, cpu: CpuId, z: usize, attempt: &Attempt) -> Option<Pfn> {
        let mut pfn = None;
        if self.is_cached_order(attempt.order) && self.trylock(cpu) {
            pfn = self.take_cached(cpu, z, attempt);
        }
        if pfn.is_none() {
            pfn = self.take_listed(cpu, z, attempt);
        }
        if pfn.is_some() {
            self.spend_batch(cpu, z, attempt.order.pages());
        }
        self.wake_for_boost(z, attempt);
        pfn
    }

    /// With the lists locked: a block from them for the caller.
    pub(super) fn take_cached(&mut self, cpu: CpuId, z: usize, attempt: &Attempt) -> Option<Pfn> {
        let &Attempt { order, migratetype, flags, movable, .. } = attempt;
        self.zones[z].pcps[cpu.index()].sizes.note_alloc(self.rules.pcp_tuning);
        let pfn = self.pop_cached(cpu, z, order, migratetype, flags)?;
        self.count_alloc(cpu, z, attempt.preferred, order.pages(), 1);
        self.hand_out(z, pfn, order, movable);
        Some(pfn)
    }

    /// A block from the free lists for the caller.
    pub(super) fn take_listed(&mut self, cpu: CpuId, z: usize, attempt: &Attempt) -> Option<Pfn> {
        let &Attempt { order, migratetype, flags, movable, .. } = attempt;
        let pfn = self.rmqueue_buddy(cpu, z, order, migratetype, flags)?;
        self.count_alloc(cpu, z, attempt.preferred, order.pages(), 1);
        self.hand_out(z, pfn, order, movable);
        Some(pfn)
    }

    /// The end of rmqueue: a boosted zone has its kswapd woken (§3.6, D44).
    pub(super) fn wake_for_boost(&mut self, z: usize, attempt: &Attempt) {
        let zone = &mut self.zones[z];
        let wakes = attempt.flags.contains(AllocFlags::KSWAPD);
        if wakes && zone.flags.contains(ZoneFlags::BOOSTED_WATERMARK) {
            zone.flags.remove(ZoneFlags::BOOSTED_WATERMARK);
            zone.kswapd_wakeups += 1;
            let kind = zone.kind;
            self.wakeup_kswapd(z, Gfp::empty(), Order::ZERO, kind);
        }
    }

    /// The head of a per-CPU list, refilled if empty (§2.4).
    fn pop_cached(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let list = pcp_list(order, migratetype, self.rules.thp_lists);
        if self.zones[z].pcps[cpu.index()].lists[list].is_empty() {
            self.refill(cpu, z, order, migratetype, flags, list);
        }
        let pcp = &mut self.zones[z].pcps[cpu.index()];
        let block = pcp.lists[list].pop_front()?;
        pcp.sizes.count -= order.pages();
        Some(block.pfn)
    }

    /// rmqueue_bulk (§2.4): blocks appended at the tail in the order in which they came.
    fn refill(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        flags: AllocFlags,
        list: usize,
    ) {
        let zone_flags = self.zones[z].flags;
        let tuning = self.rules.pcp_tuning;
        let blocks = self.zones[z].pcps[cpu.index()].sizes.refill_blocks(order, zone_flags, tuning);
        let mut mode = Mode::default();
        let mut obtained = 0;
        for _ in 0..blocks {
            let Some(pfn) = self.rmqueue(cpu, z, order, migratetype, flags, &mut mode) else {
                break;
            };
            obtained += order.pages();
            // Up to 6.9 a block remembers the type of the list that it came from (D14).
            let from = self.took_from;
            if !self.hygiene() && from == MigrateType::Cma {
                self.account_cma(cpu, z, -(order.pages() as i64));
            }
            self.zones[z].set_frame(pfn, Frame::Cached);
            self.zones[z].pcps[cpu.index()].lists[list].push_back(CachedBlock {
                pfn,
                order,
                migratetype: from,
            });
        }
        if !self.hygiene() {
            self.account_free_pages(cpu, z, -(obtained as i64));
        }
        self.zones[z].pcps[cpu.index()].sizes.count += obtained;
    }

    /// rmqueue_buddy: straight from the free lists, with the high-order atomic reserve (§1.13).
    fn rmqueue_buddy(
        &mut self,
        cpu: CpuId,
        z: usize,
        order: Order,
        migratetype: MigrateType,
        flags: AllocFlags,
    ) -> Option<Pfn> {
        let mut pfn = None;
        if flags.contains(AllocFlags::HIGHATOMIC) {
            pfn = self.take_smallest(cpu, z, order, MigrateType::HighAtomic);
        }
        if pfn.is_none() {
            pfn = self.rmqueue(cpu, z, order, migratetype, flags, &mut Mode::default());
        }
        let last_resort = match self.rules.highatomic_access {
            HighatomicAccess::Oom => AllocFlags::OOM,
            HighatomicAccess::OomOrNonBlock => AllocFlags::OOM | AllocFlags::NON_BLOCK,
        };
        // The 6.1 rules have no last resort: it came with 6.3's flags [mem].
        let resort = self.rules.reserve_flags == ReserveFlags::MinReserve;
        if pfn.is_none() && resort && flags.intersects(last_resort) {
            pfn = self.take_smallest(cpu, z, order, MigrateType::HighAtomic);
        }
        if pfn.is_some() && !self.hygiene() {
            self.account(cpu, z, -(order.pages() as i64), self.took_from);
        }
        pfn
    }

    /// The block now belongs to the caller.
    fn hand_out(&mut self, z: usize, pfn: Pfn, order: Order, movable: bool) {
        self.zones[z].set_frame(pfn, Frame::Allocated { order, movable });
    }

    pub(super) fn emit_alloc(
        &mut self,
        pfn: Option<Pfn>,
        order: Order,
        gfp: Gfp,
        migratetype: MigrateType,
    ) {
        self.emit(|| KmemEvent::PageAlloc { pfn, order, gfp, migratetype });
    }
}

impl PageAllocator for Reference {
    fn alloc_pages(&mut self, cpu: CpuId, request: Request) -> Outcome {
        if !self.is_up(cpu) {
            return Outcome::SlowPath;
        }
        let scan = match self.plan(cpu, request) {
            Ok(scan) => scan,
            Err(refusal) => return Outcome::Refused(refusal),
        };
        let Attempt { order, gfp, migratetype, .. } = scan.attempt;
        let pfn = self.get_page(cpu, scan);
        self.emit_alloc(pfn, order, gfp, migratetype);
        pfn.map_or(Outcome::SlowPath, Outcome::Page)
    }

    fn free_pages(&mut self, cpu: CpuId, pfn: Pfn, order: Order) {
        self.free_one(cpu, pfn, order);
    }
}

impl BulkAlloc for Reference {
    fn alloc_bulk(&mut self, cpu: CpuId, gfp: Gfp, slots: &mut [Option<Pfn>]) -> usize {
        let filled = |slots: &[Option<Pfn>]| slots.iter().flatten().count();
        let empty = slots.len() - filled(slots);
        if empty == 0 || !self.is_up(cpu) {
            return filled(slots);
        }
        let done = empty > 1 && self.bulk_from_lists(cpu, gfp, slots, empty);
        if !done
            && let Outcome::Page(pfn) = self.alloc_pages(cpu, Request::new(Order::ZERO, gfp))
            && let Some(slot) = slots.iter_mut().find(|slot| slot.is_none())
        {
            *slot = Some(pfn);
        }
        filled(slots)
    }
}

impl Reference {
    /// The batched part of D17: false if the single path must be taken instead.
    fn bulk_from_lists(
        &mut self,
        cpu: CpuId,
        gfp: Gfp,
        slots: &mut [Option<Pfn>],
        empty: usize,
    ) -> bool {
        let request = Request::new(Order::ZERO, gfp).at(Mark::Low, AllocFlags::empty());
        let Ok(scan) = self.plan(cpu, request) else { return false };
        let attempt = scan.attempt;
        let preferred = self.zones[attempt.preferred].kind;
        let flags = attempt.flags & AllocFlags::CMA;
        let mark = (Mark::Low, empty as i64);
        // The first remote zone ends the search (§4.6).
        let chosen = scan
            .list
            .iter()
            .copied()
            .take_while(|&z| !self.is_remote(z, &scan))
            .find(|&z| self.check_fast(z, Order::ZERO, mark, preferred, flags, attempt.gfp));
        let Some(z) = chosen else { return false };
        if !self.trylock(cpu) {
            return false;
        }
        let mut taken = 0;
        for slot in slots.iter_mut().filter(|slot| slot.is_none()) {
            let migratetype = attempt.migratetype;
            let Some(pfn) = self.pop_cached(cpu, z, Order::ZERO, migratetype, flags) else {
                break;
            };
            self.hand_out(z, pfn, Order::ZERO, attempt.movable);
            *slot = Some(pfn);
            taken += 1;
            self.spend_batch(cpu, z, 1);
        }
        self.count_alloc(cpu, z, attempt.preferred, taken, taken);
        taken > 0
    }

    /// How per-CPU lists are sized.
    pub(super) fn tuning(&self) -> PcpTuning {
        self.rules.pcp_tuning
    }
}
