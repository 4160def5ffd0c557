//! The operations in the steps that their locks make of them (§1.16, §2.4 to §2.9, §4.3).
//!
//! Called as a whole, an operation of the reference is one step. On a machine with several CPUs it
//! is not: between the question whether a watermark holds and the hold of a lock that takes the
//! block, other CPUs run. [`Walk`] is an operation cut at exactly these places; within a step
//! nothing else happens. Running all steps of a walk one after another is the operation itself.
//!
//! | operation | steps |
//! |---|---|
//! | alloc | for each zone: under fair rules the look at its turn, and each action of resets and of spending; the watermark check; the CPU's lists with their refill (trylock); the free lists; kswapd's wake-up. At last the high-order atomic reserve |
//! | free | the pageblock's type is read (no lock); the lists with what they give back (trylock), then the zone's BELOW_HIGH flag; or the free lists |
//! | batch free | the frees one by one, those first that no per-CPU list holds |
//! | drain | for each CPU and zone: one step for each bounded hold of the lists' lock |
//! | pcp disable | the switch; each CPU's limits; then the drains |
//! | pcp enable | the switch; each CPU's limits |
//! | worker | for each zone: the fold; the decay of the lists |

use super::alloc::Attempt;
use super::fair::SpendAt;
use super::scan::{Look, Scan};
use super::{Frame, Reference};
use crate::contract::{Outcome, Refusal, Request};
use crate::vocab::{CpuId, FairPolicy, MigrateType, Order, Pfn, ZoneIdx};
use alloc::collections::VecDeque;
use core::hash::{Hash, Hasher};

/// One operation underway.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Walk {
    cpu: CpuId,
    work: Work,
}

/// What a walk answers at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing.
    Done,
    /// Of an allocation.
    Outcome(Outcome),
    /// Of the worker: whether work is left.
    WorkLeft(bool),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Work {
    Refused(Refusal),
    Alloc { scan: Scan, zone: usize, at: AllocAt },
    Free { blocks: VecDeque<(Pfn, Order)>, at: FreeAt },
    Drain { todo: VecDeque<(CpuId, usize)> },
    Switch { disable: bool, zone: usize, cpu: Option<u16> },
    Tick { zone: usize, folded: Option<bool>, left: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum AllocAt {
    Look,
    Check,
    Lists,
    Zone,
    Spend(Pfn, SpendAt),
    Wake(Option<Pfn>),
    Reserve(Pfn),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum FreeAt {
    Type,
    Lists(MigrateType),
    Zone(MigrateType),
    AboveHigh,
}

impl Walk {
    /// The next step tries to lock the CPU's lists.
    #[must_use]
    pub fn tries_lock(&self) -> bool {
        matches!(
            self.work,
            Work::Alloc { at: AllocAt::Lists, .. } | Work::Free { at: FreeAt::Lists(_), .. }
        )
    }

    /// Between the switch of pcp disable or enable and the last CPU's limits: the lock of the
    /// settings is held, no other such operation goes on.
    #[must_use]
    pub fn holds_settings(&self) -> bool {
        matches!(self.work, Work::Switch { cpu: Some(_), .. })
    }

    /// The next step takes the lock of the settings.
    #[must_use]
    pub fn wants_settings(&self) -> bool {
        matches!(self.work, Work::Switch { cpu: None, .. })
    }
}

impl Reference {
    /// An allocation.
    #[must_use]
    pub fn walk_alloc(&self, cpu: CpuId, request: Request) -> Walk {
        let work = match self.plan(cpu, request) {
            Ok(scan) => Work::Alloc { scan, zone: 0, at: AllocAt::Look },
            Err(refusal) => Work::Refused(refusal),
        };
        Walk { cpu, work }
    }

    /// A free or a batch of them; the blocks leave their owner now. `None`, and nothing happens, if
    /// one of them is not handed out with that order.
    pub fn walk_free(&mut self, cpu: CpuId, blocks: &[(Pfn, Order)]) -> Option<Walk> {
        let handed_out = |&(pfn, order): &(Pfn, Order)| {
            let frame = self.zone_at(pfn).map(|z| self.zones[z].frame(pfn));
            matches!(frame, Some(Frame::Allocated { order: found, .. }) if found == order)
        };
        if !blocks.iter().all(handed_out) {
            return None;
        }
        for (pfn, order) in blocks {
            self.prepare_free(*pfn, *order);
        }
        let listed = |order: Order| self.is_cached_order(order);
        let past = blocks.iter().filter(|(_, order)| !listed(*order));
        let blocks = past.chain(blocks.iter().filter(|(_, order)| listed(*order)));
        let blocks = blocks.copied().collect();
        Some(Walk { cpu, work: Work::Free { blocks, at: FreeAt::Type } })
    }

    /// A drain of `cpu`, or of all CPUs; of one zone, or of all.
    #[must_use]
    pub fn walk_drain(&self, by: CpuId, cpu: Option<CpuId>, zone: Option<ZoneIdx>) -> Walk {
        Walk { cpu: by, work: Work::Drain { todo: self.to_drain(cpu, zone) } }
    }

    fn to_drain(&self, cpu: Option<CpuId>, zone: Option<ZoneIdx>) -> VecDeque<(CpuId, usize)> {
        let cpus = (0..self.machine.cpus).map(CpuId).filter(|c| cpu.is_none_or(|cpu| cpu == *c));
        let zones = (0..self.zones.len()).filter(|z| zone.is_none_or(|zone| zone.index() == *z));
        cpus.flat_map(|cpu| zones.clone().map(move |z| (cpu, z))).collect()
    }

    /// The worker of a CPU.
    #[must_use]
    pub fn walk_tick(&self, cpu: CpuId) -> Walk {
        Walk { cpu, work: Work::Tick { zone: 0, folded: None, left: false } }
    }

    /// The per-CPU lists of a zone are switched off or on.
    #[must_use]
    pub fn walk_switch(&self, by: CpuId, zone: ZoneIdx, disable: bool) -> Walk {
        let zone = zone.index();
        Walk { cpu: by, work: Work::Switch { disable, zone, cpu: None } }
    }

    /// One step; the answer after the last one. `busy`: the lock of the lists is held by somebody
    /// else at this step, so trying to take it fails.
    pub fn step(&mut self, walk: &mut Walk, busy: bool) -> Option<Answer> {
        let cpu = walk.cpu;
        match &mut walk.work {
            Work::Refused(refusal) => Some(Answer::Outcome(Outcome::Refused(*refusal))),
            Work::Alloc { scan, zone, at } => {
                if *at == AllocAt::Look {
                    match self.look_for_zone(cpu, scan) {
                        Look::Zone(z) => (*zone, *at) = (z, AllocAt::Check),
                        Look::Later => return None,
                        Look::End => return Some(Answer::Outcome(Outcome::SlowPath)),
                    }
                    // Without turns the look and the check are one.
                    if self.takes_turns() {
                        return None;
                    }
                }
                match self.step_alloc(cpu, *zone, &scan.attempt, *at, busy) {
                    AllocNext::Go(next) => *at = next,
                    AllocNext::Page(pfn) => return Some(Answer::Outcome(Outcome::Page(pfn))),
                    AllocNext::NextZone if self.takes_turns() => *at = AllocAt::Look,
                    AllocNext::NextZone => {
                        let Some(z) = self.next_zone(cpu, scan) else {
                            return Some(Answer::Outcome(Outcome::SlowPath));
                        };
                        (*zone, *at) = (z, AllocAt::Check);
                    }
                }
                None
            }
            Work::Free { blocks, at } => {
                let Some(&(pfn, order)) = blocks.front() else { return Some(Answer::Done) };
                match self.step_free(cpu, pfn, order, *at, busy) {
                    Some(next) => *at = next,
                    None => {
                        blocks.pop_front();
                        *at = FreeAt::Type;
                    }
                }
                blocks.is_empty().then_some(Answer::Done)
            }
            Work::Drain { todo } => self.step_drain(cpu, todo),
            Work::Switch { disable, zone, cpu: at } => {
                let z = *zone;
                match *at {
                    None if self.zones[z].pcp_disabled == *disable => return Some(Answer::Done),
                    None => {
                        self.zones[z].pcp_disabled = *disable;
                        *at = Some(0);
                    }
                    Some(next) => {
                        if *disable {
                            self.close_lists(z, CpuId(next));
                        } else {
                            self.open_lists(z, CpuId(next));
                        }
                        *at = Some(next + 1);
                        if next + 1 == self.machine.cpus {
                            if !*disable {
                                return Some(Answer::Done);
                            }
                            let todo = self.to_drain(None, Some(ZoneIdx(z as u8)));
                            walk.work = Work::Drain { todo };
                        }
                    }
                }
                None
            }
            Work::Tick { zone, folded, left } => {
                let z = *zone;
                match folded.take() {
                    None => *folded = Some(self.fold(cpu, z)),
                    Some(done) => {
                        *left |= done | self.age_lists(cpu, z, done);
                        *zone += 1;
                    }
                }
                (*zone == self.zones.len()).then_some(Answer::WorkLeft(*left))
            }
        }
    }

    /// Feed everything that a later step can read or that can be seen, but what boot fixed: two
    /// references of one machine that feed the same are in the same state.
    pub fn fingerprint(&self, into: &mut impl Hasher) {
        self.pageblocks.hash(into);
        self.online.hash(into);
        (&self.trylock_failures, &self.queued).hash(into);
        (self.events, self.zonelists_built).hash(into);
        for node in &self.nodes {
            (node.state, &node.kswapd).hash(into);
        }
        for zone in &self.zones {
            for (at, frame) in zone.frames.iter().enumerate() {
                match frame {
                    Frame::Allocated { order, movable } => (at, order, movable).hash(into),
                    Frame::Cached => at.hash(into),
                    // Free blocks follow from the lists.
                    Frame::Absent | Frame::Free { .. } | Frame::Tail => {}
                }
            }
            for list in zone.lists.iter().flatten() {
                list.len().hash(into);
                list.iter().for_each(|pfn| pfn.hash(into));
            }
            (zone.nr_free_pages, zone.nr_free_cma, zone.nr_free_highatomic).hash(into);
            (zone.nr_reserved_highatomic, zone.nr_isolate_pageblock, zone.boost).hash(into);
            (zone.marks, zone.lowmem_reserve, zone.flags, zone.numa).hash(into);
            (zone.kswapd_wakeups, zone.stat_threshold, zone.pcp_disabled).hash(into);
            (zone.drift_mark, zone.nr_alloc_batch, zone.reclaimable).hash(into);
            for pcp in &zone.pcps {
                (pcp.sizes, &pcp.lists, pcp.expire).hash(into);
                (pcp.vm_stat_diff, pcp.vm_cma_diff, pcp.vm_batch_diff).hash(into);
            }
        }
    }

    fn step_drain(&mut self, by: CpuId, todo: &mut VecDeque<(CpuId, usize)>) -> Option<Answer> {
        while let Some(&(cpu, z)) = todo.front() {
            if self.is_up(cpu) {
                if !self.drain_once(by, cpu, z) {
                    todo.pop_front();
                }
                break;
            }
            todo.pop_front();
        }
        todo.is_empty().then_some(Answer::Done)
    }

    fn step_alloc(
        &mut self,
        cpu: CpuId,
        z: usize,
        attempt: &Attempt,
        at: AllocAt,
        busy: bool,
    ) -> AllocNext {
        match at {
            AllocAt::Look => AllocNext::NextZone,
            AllocAt::Check if !self.zone_allows(z, attempt) => AllocNext::NextZone,
            AllocAt::Check if self.is_cached_order(attempt.order) => AllocNext::Go(AllocAt::Lists),
            AllocAt::Check => AllocNext::Go(AllocAt::Zone),
            AllocAt::Lists => {
                let taken = (self.trylock(cpu) && !busy)
                    .then(|| self.take_cached(cpu, z, attempt))
                    .flatten();
                AllocNext::Go(match taken {
                    Some(pfn) => self.after_taking(pfn),
                    None => AllocAt::Zone,
                })
            }
            AllocAt::Zone => {
                let taken = self.take_listed(cpu, z, attempt);
                AllocNext::Go(taken.map_or(AllocAt::Wake(None), |pfn| self.after_taking(pfn)))
            }
            AllocAt::Spend(pfn, spend) => {
                let next = self.spend_step(cpu, z, attempt.order.pages(), spend);
                let next = next.map(|next| AllocAt::Spend(pfn, next));
                AllocNext::Go(next.unwrap_or(AllocAt::Wake(Some(pfn))))
            }
            AllocAt::Wake(taken) => {
                self.wake_for_boost(z, attempt);
                match taken {
                    Some(pfn) if attempt.reserves() => AllocNext::Go(AllocAt::Reserve(pfn)),
                    Some(pfn) => AllocNext::Page(pfn),
                    None => AllocNext::NextZone,
                }
            }
            AllocAt::Reserve(pfn) => {
                self.reserve_highatomic(cpu, z, pfn, attempt.order);
                AllocNext::Page(pfn)
            }
        }
    }

    /// Zones take turns: what decides them is read and written without a lock, action by action.
    fn takes_turns(&self) -> bool {
        self.rules.fair_policy != FairPolicy::None
    }

    /// One look where zones take turns, else all up to the next zone.
    fn look_for_zone(&mut self, cpu: CpuId, scan: &mut Scan) -> Look {
        if self.takes_turns() {
            return self.look(cpu, scan);
        }
        self.next_zone(cpu, scan).map_or(Look::End, Look::Zone)
    }

    fn after_taking(&self, pfn: Pfn) -> AllocAt {
        match self.begin_spending() {
            Some(spend) => AllocAt::Spend(pfn, spend),
            None => AllocAt::Wake(Some(pfn)),
        }
    }

    /// `None` after the last step of a block.
    fn step_free(
        &mut self,
        cpu: CpuId,
        pfn: Pfn,
        order: Order,
        at: FreeAt,
        busy: bool,
    ) -> Option<FreeAt> {
        // A block that was handed out lies in a zone.
        let z = self.zone_at(pfn)?;
        let listed = self.is_cached_order(order);
        match at {
            FreeAt::Type if listed => match self.block_type(pfn) {
                MigrateType::Isolate => Some(FreeAt::Zone(MigrateType::Isolate)),
                own => Some(FreeAt::Lists(own)),
            },
            FreeAt::Type => {
                // All under the zone lock, the type as well.
                let own = self.block_type(pfn);
                self.free_direct(cpu, z, pfn, order, own);
                self.count_free(order);
                None
            }
            FreeAt::Lists(own) => {
                if !self.trylock(cpu) || busy {
                    return Some(FreeAt::Zone(own));
                }
                let gave = self.put_cached(cpu, z, pfn, order, own);
                gave.then_some(FreeAt::AboveHigh)
            }
            FreeAt::Zone(own) => {
                self.free_past_pcp(cpu, z, pfn, order, own);
                None
            }
            FreeAt::AboveHigh => {
                self.note_above_high(z);
                None
            }
        }
    }
}

enum AllocNext {
    Go(AllocAt),
    Page(Pfn),
    NextZone,
}
