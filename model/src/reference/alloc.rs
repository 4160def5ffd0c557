//! The allocation path up to where the slow path would begin (§2.4, §4.2, §4.3, §4.6, D7 to D12,
//! D17, D18).

use super::arith::{is_pcp_order, pcp_list};
use super::fallback::Mode;
use super::pcp::CachedBlock;
use super::{Frame, Reference};
use crate::contract::{BulkAlloc, Outcome, PageAllocator, Refusal, Request};
use crate::vocab::{
    AllocFlags, CpuId, Gfp, HighatomicAccess, KmemEvent, Mark, MigrateType, Order, PcpTuning, Pfn,
    ReserveFlags, ZoneFlags, ZoneKind,
};
use alloc::vec::Vec;

/// What one attempt carries from zone to zone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Attempt {
    pub(super) order: Order,
    migratetype: MigrateType,
    /// The request's gfp asks for movable memory.
    movable: bool,
    gfp: Gfp,
    highest: ZoneKind,
    mark: Mark,
    pub(super) flags: AllocFlags,
}

impl Attempt {
    /// A success makes the kernel consider a reserve (§1.13, D12).
    pub(super) fn reserves(&self) -> bool {
        self.flags.contains(AllocFlags::HIGHATOMIC) && self.order > Order::ZERO
    }
}

impl Reference {
    /// D7, D8: the attempt that a request makes, and its zonelist.
    pub(super) fn plan(&self, request: Request) -> Result<(Attempt, Vec<usize>), Refusal> {
        let order = request.order;
        if order > self.machine.max_order {
            return Err(Refusal::OrderTooLarge(order));
        }
        let highest = request.gfp.highest_zone()?;
        let asked = request.gfp.migratetype()?;
        let zonelist: Vec<usize> = (0..self.zones.len())
            .rev()
            .filter(|&z| self.zones[z].managed > 0 && self.zones[z].kind <= highest)
            .collect();
        let preferred = *zonelist.first().ok_or(Refusal::NoZone)?;
        let migratetype = self.request_type(asked);
        let (mark, mut flags) = request.attempt.unwrap_or_else(|| {
            let normal = self.zones[preferred].kind == ZoneKind::Normal;
            let nofragment = if normal { AllocFlags::NOFRAGMENT } else { AllocFlags::empty() };
            (Mark::Low, nofragment)
        });
        flags |= self.derived_flags(request.gfp, migratetype);
        let movable = asked == MigrateType::Movable;
        let gfp = request.gfp;
        Ok((Attempt { order, migratetype, movable, gfp, highest, mark, flags }, zonelist))
    }

    fn derived_flags(&self, gfp: Gfp, migratetype: MigrateType) -> AllocFlags {
        let mut flags = AllocFlags::empty();
        flags.set(AllocFlags::KSWAPD, gfp.contains(Gfp::KSWAPD_RECLAIM));
        flags.set(AllocFlags::CMA, self.machine.cma_built && migratetype == MigrateType::Movable);
        flags
    }

    /// get_page_from_freelist (§4.3).
    fn get_page(&mut self, cpu: CpuId, attempt: Attempt, zonelist: &[usize]) -> Option<Pfn> {
        let mut attempt = attempt;
        loop {
            for &z in zonelist {
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
            if !attempt.flags.contains(AllocFlags::NOFRAGMENT) {
                return None;
            }
            attempt.flags.remove(AllocFlags::NOFRAGMENT);
        }
    }

    /// Steps 5 and 6 of §4.3.
    pub(super) fn zone_allows(&mut self, z: usize, attempt: &Attempt) -> bool {
        let &Attempt { order, gfp, highest, mark, flags, .. } = attempt;
        if self.rules.below_high && !self.zones[z].flags.contains(ZoneFlags::BELOW_HIGH) {
            if self.check_fast(z, order, (Mark::High, 0), highest, flags, gfp) {
                return true;
            }
            self.zones[z].flags |= ZoneFlags::BELOW_HIGH;
        }
        self.check_fast(z, order, (mark, 0), highest, flags, gfp)
            || flags.contains(AllocFlags::NO_WATERMARKS)
    }

    /// rmqueue: the per-CPU list, else the buddy; then the wake-up of a boosted zone (§3.6).
    fn rmqueue_from(&mut self, cpu: CpuId, z: usize, attempt: &Attempt) -> Option<Pfn> {
        let mut pfn = None;
        if is_pcp_order(attempt.order, self.machine.thp_order) && self.trylock(cpu) {
            pfn = self.take_cached(cpu, z, attempt);
        }
        if pfn.is_none() {
            pfn = self.take_listed(cpu, z, attempt);
        }
        self.wake_kswapd(z, attempt);
        pfn
    }

    /// With the lists locked: a block from them for the caller.
    pub(super) fn take_cached(&mut self, cpu: CpuId, z: usize, attempt: &Attempt) -> Option<Pfn> {
        let &Attempt { order, migratetype, flags, movable, .. } = attempt;
        self.zones[z].pcps[cpu.index()].sizes.note_alloc(self.rules.pcp_tuning);
        let pfn = self.pop_cached(cpu, z, order, migratetype, flags)?;
        self.count_alloc(z, order.pages(), 1);
        self.hand_out(z, pfn, order, movable);
        Some(pfn)
    }

    /// A block from the free lists for the caller.
    pub(super) fn take_listed(&mut self, cpu: CpuId, z: usize, attempt: &Attempt) -> Option<Pfn> {
        let &Attempt { order, migratetype, flags, movable, .. } = attempt;
        let pfn = self.rmqueue_buddy(cpu, z, order, migratetype, flags)?;
        self.count_alloc(z, order.pages(), 1);
        self.hand_out(z, pfn, order, movable);
        Some(pfn)
    }

    pub(super) fn wake_kswapd(&mut self, z: usize, attempt: &Attempt) {
        let zone = &mut self.zones[z];
        let wakes = attempt.flags.contains(AllocFlags::KSWAPD);
        if wakes && zone.flags.contains(ZoneFlags::BOOSTED_WATERMARK) {
            zone.flags.remove(ZoneFlags::BOOSTED_WATERMARK);
            zone.kswapd_wakeups += 1;
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

    fn emit_alloc(&mut self, pfn: Option<Pfn>, request: Request) {
        let migratetype =
            self.request_type(request.gfp.migratetype().unwrap_or(MigrateType::Unmovable));
        let (order, gfp) = (request.order, request.gfp);
        self.emit(|| KmemEvent::PageAlloc { pfn, order, gfp, migratetype });
    }
}

impl PageAllocator for Reference {
    fn alloc_pages(&mut self, cpu: CpuId, request: Request) -> Outcome {
        if !self.is_up(cpu) {
            return Outcome::SlowPath;
        }
        let (attempt, zonelist) = match self.plan(request) {
            Ok(plan) => plan,
            Err(refusal) => return Outcome::Refused(refusal),
        };
        let pfn = self.get_page(cpu, attempt, &zonelist);
        self.emit_alloc(pfn, request);
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
        let Ok((attempt, zonelist)) = self.plan(request) else { return false };
        let preferred = self.zones[zonelist[0]].kind;
        let flags = attempt.flags & AllocFlags::CMA;
        let mark = (Mark::Low, empty as i64);
        let chosen = zonelist
            .into_iter()
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
        }
        self.count_alloc(z, taken, taken);
        taken > 0
    }

    /// Whether the tuning is the automatic one.
    pub(super) fn tuning(&self) -> PcpTuning {
        self.rules.pcp_tuning
    }
}
