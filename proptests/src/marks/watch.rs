//! Recognizing situations from the numbers before and after a call.

use super::{Mark, Marks};
use crate::drive::{Answer, Call};
use mmspec_model::contract::{DrainBegun, Outcome, Request};
use mmspec_model::laws::{Numbers, Setting};
use mmspec_model::vocab::{AllocFlags, CpuId, MigrateType, Order, Pfn, ZoneFlags, ZoneState};

/// One call with everything around it.
#[derive(Clone, Copy)]
pub struct Moment<'a> {
    /// The machine and its boot state.
    pub setting: &'a Setting,
    /// The numbers before.
    pub before: &'a Numbers,
    /// The numbers after.
    pub now: &'a Numbers,
    /// The call.
    pub call: &'a Call,
    /// Its answer.
    pub answer: &'a Answer,
    /// Frames held after the call.
    pub held: u64,
    /// The type of the pageblock that holds a frame, after the call.
    pub type_of: &'a dyn Fn(Pfn) -> Option<MigrateType>,
}

/// Recognizes situations over one case.
#[derive(Clone, Debug)]
pub struct Watcher {
    /// Attempts of each CPU to lock its lists that are still to fail.
    pending: Vec<u32>,
    /// Calls of each CPU since work was queued on it.
    waits: Vec<Option<u64>>,
}

impl Watcher {
    /// For one case; counts what can be said of its machine.
    #[must_use]
    pub fn new(setting: &Setting, marks: &mut Marks) -> Self {
        watch_machine(marks, setting);
        let cpus = usize::from(setting.machine.cpus);
        Self { pending: vec![0; cpus], waits: vec![None; cpus] }
    }

    /// Count the situations of this moment.
    pub fn watch(&mut self, marks: &mut Marks, moment: &Moment<'_>) {
        let machine = &moment.setting.machine;
        let cacheable = |order: Order| order <= Order::COSTLY || Some(order) == machine.thp_order;
        match (moment.call, moment.answer) {
            (Call::FailTrylock(cpu, times), _) => {
                let pending = &mut self.pending[cpu.index()];
                *pending = pending.saturating_add(*times);
            }
            (Call::Alloc(cpu, request), Answer::Outcome(Outcome::Page(_)))
                if cacheable(request.order) && self.pending[cpu.index()] > 0 =>
            {
                // How many zones were tried is not seen: say only what is sure.
                self.pending[cpu.index()] = 0;
                marks.hit(Mark::TrylockFailedAlloc);
            }
            (Call::Free(cpu, pfn, order), _)
                if cacheable(*order)
                    && self.pending[cpu.index()] > 0
                    && (moment.type_of)(*pfn) != Some(MigrateType::Isolate) =>
            {
                self.pending[cpu.index()] -= 1;
                marks.hit(Mark::TrylockFailedFree);
            }
            (Call::Bulk(cpu, ..), _) => self.pending[cpu.index()] = 0,
            (Call::FreeBatch(cpu, _), _) => self.pending[cpu.index()] = 0,
            _ => {}
        }
        self.work(marks, moment);
        super::nodes::watch(marks, moment);
        watch(marks, moment);
    }

    /// Work that drains queued: how long it waits.
    fn work(&mut self, marks: &mut Marks, moment: &Moment<'_>) {
        match (moment.call, moment.answer) {
            (Call::DrainBegin(..), Answer::Begun(DrainBegun::Busy)) => {
                marks.hit(Mark::DrainFoundBusy);
            }
            (Call::DrainBegin(..), Answer::Begun(DrainBegun::Queued { .. })) => {
                marks.hit(Mark::WorkQueued);
            }
            (Call::CpuDead(_, cpu), Answer::Flag(true)) if moment.before.is_queued(*cpu) => {
                marks.hit(Mark::WorkBuried);
            }
            _ => {}
        }
        let called = moment.call.cpu();
        for (at, wait) in self.waits.iter_mut().enumerate() {
            let cpu = CpuId(at as u16);
            if !moment.now.is_queued(cpu) {
                let waited = wait.take().unwrap_or(0);
                marks.longest_wait = marks.longest_wait.max(waited);
                if waited > 0 && matches!(moment.call, Call::Work(_)) {
                    marks.hit(Mark::WorkLate);
                }
            } else if let Some(calls) = wait {
                *calls += u64::from(called == Some(cpu));
            } else {
                *wait = Some(0);
            }
        }
    }
}

fn watch(marks: &mut Marks, moment: &Moment<'_>) {
    match (moment.call, moment.answer) {
        (Call::Alloc(cpu, request), Answer::Outcome(outcome)) => {
            alloc(marks, moment, *cpu, *request, *outcome);
        }
        (Call::Free(cpu, pfn, order), _) => free(marks, moment, *cpu, *pfn, *order),
        (Call::FreeBatch(_, blocks), _) if blocks.len() > 1 => marks.hit(Mark::BatchFreed),
        (Call::Bulk(..), Answer::Bulk(slots, returned)) => {
            marks.hit(if *returned == slots.len() { Mark::BulkFilled } else { Mark::BulkShort });
        }
        (Call::DrainCpu(by, cpu), _) => drain(marks, moment, *by, Some(*cpu)),
        (Call::DrainAll(by, _) | Call::PcpDisable(by, _), _) => drain(marks, moment, *by, None),
        (Call::DrainBegin(by, _), Answer::Begun(DrainBegun::Done)) => {
            drain(marks, moment, *by, None);
        }
        (Call::Tick(cpu), _) => tick(marks, moment, *cpu),
        (Call::Set(_), _) if moment.held > 0 => marks.hit(Mark::SysctlWrite),
        (Call::Isolate(..), Answer::Flag(yes)) => {
            marks.hit(if *yes { Mark::Isolated } else { Mark::IsolateRefused });
        }
        (Call::Unisolate(..), Answer::Flag(true)) => marks.hit(Mark::Unisolated),
        (Call::TakeOff(..), Answer::Flag(yes)) => {
            marks.hit(if *yes { Mark::PageTaken } else { Mark::TakeRefused });
        }
        (Call::Unreserve(..), Answer::Flag(true)) => marks.hit(Mark::Unreserved),
        (Call::CpuDead(_, cpu), Answer::Flag(true)) => {
            let zones = 0..moment.before.zones.len();
            if zones.map(|z| moment.before.pcp(*cpu, z).count).sum::<u64>() > 0 {
                marks.hit(Mark::CpuDied);
            }
        }
        (Call::CpuOnline(_), Answer::Flag(true)) => marks.hit(Mark::CpuReturned),
        _ => {}
    }
    zones(marks, moment);
    let managed: u64 = moment.now.zones.iter().map(|zone| zone.managed).sum();
    if moment.held * 10 >= managed * 9 {
        marks.hit(Mark::FilledUp);
    }
    if moment.held == 0 && matches!(moment.call, Call::Free(..) | Call::FreeBatch(..)) {
        marks.hit(Mark::Emptied);
    }
}

fn watch_machine(marks: &mut Marks, setting: &Setting) {
    if !setting.groups_by_mobility() {
        marks.hit(Mark::GroupingOff);
    }
    let order = setting.machine.pageblock_order.get();
    let shared = setting
        .machine
        .zones
        .windows(2)
        .any(|pair| (pair[0].span.end.0 - 1) >> order == pair[1].span.start.0 >> order);
    if shared {
        marks.hit(Mark::SharedPageblock);
    }
}

fn alloc(marks: &mut Marks, moment: &Moment<'_>, cpu: CpuId, request: Request, outcome: Outcome) {
    let pfn = match outcome {
        Outcome::Page(pfn) => pfn,
        Outcome::Refused(_) => {
            marks.refused += 1;
            return marks.hit(Mark::Refused);
        }
        Outcome::SlowPath | Outcome::Failed => {
            marks.refused += 1;
            let unmarked =
                request.attempt.is_some_and(|(_, flags)| flags.contains(AllocFlags::NO_WATERMARKS));
            return marks.hit(if unmarked { Mark::Exhausted } else { Mark::BelowMark });
        }
    };
    let machine = &moment.setting.machine;
    marks.largest_block = marks.largest_block.max(u64::from(request.order.get()) + 1);
    if request.order == machine.max_order {
        marks.hit(Mark::ServedTop);
    }
    let Some(zone) = machine.as_ref().zone_of(pfn).map(|zone| zone.index()) else { return };
    let (before, now) = (&moment.before.zones[zone], &moment.now.zones[zone]);
    let (list_before, list) = (moment.before.pcp(cpu, zone), moment.now.pcp(cpu, zone));
    let top = machine.max_order;
    if request.order < top && now.blocks(top) < before.blocks(top) {
        marks.hit(Mark::SplitFromTop);
    }
    if list.count + request.order.pages() == list_before.count {
        marks.hit(Mark::FromLists);
    }
    if list.count > list_before.count {
        marks.hit(Mark::Refilled);
    }
    higher_zone(marks, moment, request, zone);
    let own = request.gfp.migratetype();
    let stored = (moment.type_of)(pfn);
    match stored {
        Some(MigrateType::Cma) => marks.hit(Mark::CmaServed),
        Some(MigrateType::HighAtomic)
            if now.nr_reserved_highatomic == before.nr_reserved_highatomic =>
        {
            marks.hit(Mark::ReserveUsed);
        }
        Some(stored) if stored.is_pcp_type() && Ok(stored) != own => {
            marks.hit(Mark::OtherType);
            if now.boost > before.boost {
                marks.hit(Mark::HalfRuleFailed);
            }
        }
        Some(stored) if Ok(stored) == own && now.boost > before.boost => marks.hit(Mark::Claimed),
        _ => {}
    }
}

fn higher_zone(marks: &mut Marks, moment: &Moment<'_>, request: Request, zone: usize) {
    let Ok(highest) = request.gfp.highest_zone() else { return };
    let skipped = |other: &ZoneState| other.kind <= highest && other.managed > 0;
    if moment.now.zones.iter().skip(zone + 1).any(skipped) {
        marks.hit(Mark::OtherZone);
    }
}

/// Pages on free lists of all types.
fn listed(zone: &ZoneState) -> u64 {
    Order::ZERO.up_to(Order::MAX).map(|order| zone.blocks(order) * order.pages()).sum()
}

fn free(marks: &mut Marks, moment: &Moment<'_>, cpu: CpuId, pfn: Pfn, order: Order) {
    let machine = &moment.setting.machine;
    let Some(zone) = machine.as_ref().zone_of(pfn).map(|zone| zone.index()) else { return };
    let (before, now) = (&moment.before.zones[zone], &moment.now.zones[zone]);
    let (list_before, list) = (moment.before.pcp(cpu, zone), moment.now.pcp(cpu, zone));
    merges(marks, before, now, order, machine.max_order);
    let cacheable = order <= Order::COSTLY || Some(order) == machine.thp_order;
    if !cacheable {
        return;
    }
    if (moment.type_of)(pfn) == Some(MigrateType::Isolate) {
        return marks.hit(Mark::IsolatedFree);
    }
    if order > Order::COSTLY && list.count == list_before.count + order.pages() {
        marks.hit(Mark::HugeCached);
    }
    if list.high_max == 0 {
        return marks.hit(Mark::DisabledFree);
    }
    let direct = listed(now) == listed(before) + order.pages() && list.count == list_before.count;
    if list.count < list_before.count + order.pages() && !direct {
        marks.hit(Mark::Flushed);
        if order > Order::ZERO && order <= Order::COSTLY && list.count == 0 {
            marks.hit(Mark::HighOrderFlush);
        }
    }
}

fn merges(marks: &mut Marks, before: &ZoneState, now: &ZoneState, order: Order, top: Order) {
    let grown = order.up_to(top).rev().find(|o| now.blocks(*o) > before.blocks(*o));
    let Some(grown) = grown.filter(|grown| *grown > order) else { return };
    marks.merges[grown.index()] += 1;
    if grown == top {
        marks.hit(Mark::MergedToTop);
    }
}

fn drain(marks: &mut Marks, moment: &Moment<'_>, by: CpuId, only: Option<CpuId>) {
    let (mut own, mut remote) = (0, 0);
    for zone in 0..moment.before.zones.len() {
        for cpu in moment.setting.machine.as_ref().cpu_ids() {
            if only.is_some_and(|only| only != cpu) {
                continue;
            }
            let count = |numbers: &Numbers| numbers.pcp(cpu, zone).count;
            let gone = count(moment.before).saturating_sub(count(moment.now));
            *(if cpu == by { &mut own } else { &mut remote }) += gone;
        }
    }
    if own + remote == 0 {
        return marks.hit(Mark::DrainedNothing);
    }
    marks.hit(Mark::DrainedPages);
    if remote > 0 {
        marks.hit(Mark::DrainedRemote);
    }
}

fn tick(marks: &mut Marks, moment: &Moment<'_>, cpu: CpuId) {
    for zone in 0..moment.before.zones.len() {
        let (before, now) = (moment.before.pcp(cpu, zone), moment.now.pcp(cpu, zone));
        if before.vm_stat_diff != 0 || before.vm_cma_diff != 0 {
            marks.hit(Mark::DiffFolded);
        }
        if now.high < before.high {
            marks.hit(Mark::Decayed);
        }
    }
}

fn zones(marks: &mut Marks, moment: &Moment<'_>) {
    for (zone, (before, now)) in moment.before.zones.iter().zip(&moment.now.zones).enumerate() {
        if now.boost > before.boost {
            marks.hit(Mark::Boosted);
            if before.flags.contains(ZoneFlags::RECLAIM_ACTIVE) && before.boost > 0 {
                marks.hit(Mark::BoostedMeanwhile);
            }
        }
        if now.kswapd_wakeups > before.kswapd_wakeups {
            marks.hit(Mark::KswapdWoken);
        }
        match (
            before.flags.contains(ZoneFlags::BELOW_HIGH),
            now.flags.contains(ZoneFlags::BELOW_HIGH),
        ) {
            (false, true) => marks.hit(Mark::BelowHighSet),
            (true, false) => marks.hit(Mark::BelowHighCleared),
            _ => {}
        }
        if now.nr_reserved_highatomic > before.nr_reserved_highatomic {
            marks.hit(Mark::Reserved);
        }
        let pairs = moment.before.pcps_of(zone).iter().zip(moment.now.pcps_of(zone));
        for (before, now) in pairs {
            marks.deepest_cache = marks.deepest_cache.max(now.count);
            if now.alloc_factor > before.alloc_factor {
                marks.hit(Mark::FactorGrew);
            }
            if now.high != before.high && now.high_max == before.high_max {
                marks.hit(Mark::HighMoved);
            }
            if before.vm_stat_diff != 0
                && now.vm_stat_diff == 0
                && !matches!(moment.call, Call::Tick(_))
            {
                marks.hit(Mark::DiffPushed);
            }
        }
    }
}
