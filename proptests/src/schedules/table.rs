//! What all threads of one execution share: blocks held, CPUs online, calls underway.

use super::overlap;
use crate::drive::{Answer, Call, Caller, Held, asked_gfp};
use crate::engine::Finding;
use crate::histories::Event;
use crate::marks::{Mark, Marks};
use crate::script::{Handle, Op, Script};
use mmspec_model::contract::{Outcome, SlowStep};
use mmspec_model::laws::{Live, LiveBlock, Past};
use mmspec_model::vocab::{CpuId, Gfp, MigrateType, Order, Pfn, Tunables, ZoneIdx};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A call underway.
pub(super) struct Flight {
    pub(super) call: Call,
    began: u64,
    /// Another CPU was in a call at some time during this one.
    pub(super) met: bool,
    /// One that may put pages on lists.
    pub(super) disturbed: bool,
}

/// Whether a call may put pages on a CPU's lists.
const fn fills_lists(call: &Call) -> bool {
    matches!(
        call,
        Call::Alloc(..) | Call::Bulk(..) | Call::Free(..) | Call::FreeBatch(..) | Call::Slow(..)
    )
}

/// See the module. Not shuttle's lock: it is no part of what is tested, and it is never held across
/// a scheduling point.
pub(super) struct Shared {
    slots: BTreeMap<Handle, Held>,
    pub(super) live: Live,
    /// Blocks on their way back: nobody needs their content, so isolation need not stop at them.
    leaving: Live,
    pub(super) past: Past,
    /// All sysctl writes are of one thread, so the last one to end is the last one.
    pub(super) tunables: Tunables,
    pub(super) finding: Option<Finding>,
    /// A CPU that is offline runs nothing.
    online: Vec<bool>,
    /// By CPU.
    pub(super) flights: Vec<Option<Flight>>,
    /// Calls of each CPU while work is queued on it.
    pub(super) waits: Vec<u64>,
    /// Threads whose columns are not done.
    pub(super) busy: usize,
    /// Beginnings and ends of calls so far.
    clock: u64,
    /// What happened, if wanted.
    pub(super) history: Option<Vec<Event>>,
    pub(super) marks: Marks,
}

pub(super) struct Table(Mutex<Shared>);

impl Table {
    pub(super) fn new(script: &Script, history: bool) -> Self {
        let zones = script.machine.zones.len();
        let cpus = usize::from(script.machine.cpus);
        Self(Mutex::new(Shared {
            slots: BTreeMap::new(),
            live: Live::default(),
            leaving: Live::default(),
            past: Past::new(zones),
            tunables: script.tunables,
            finding: None,
            online: vec![true; cpus],
            flights: (0..cpus).map(|_| None).collect(),
            waits: vec![0; cpus],
            busy: cpus,
            clock: 0,
            history: history.then(Vec::new),
            marks: Marks::default(),
        }))
    }

    pub(super) fn with<T>(&self, body: impl FnOnce(&mut Shared) -> T) -> T {
        body(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Caller for Table {
    fn is_movable(&self, pfn: Pfn) -> bool {
        self.with(|shared| {
            shared.live.is_movable(pfn) || shared.leaving.overlapping(pfn, Order::ZERO).is_some()
        })
    }
}

fn zone_of(script: &Script, pfn: Pfn) -> Option<usize> {
    script.machine.as_ref().zone_of(pfn).map(ZoneIdx::index)
}

impl Shared {
    /// CPUs that are offline.
    pub(super) fn offline(&self) -> Vec<CpuId> {
        let cpus = self.online.iter().enumerate();
        cpus.filter(|(_, online)| !**online).map(|(cpu, _)| CpuId(cpu as u16)).collect()
    }

    /// The call that `cpu`'s thread makes for `op` now; what it frees leaves its owner.
    pub(super) fn take(&mut self, cpu: CpuId, op: &Op, script: &Script) -> Call {
        if !self.online[cpu.index()] {
            return Call::Skip;
        }
        let call = self.resolve(op, script);
        if call == Call::Skip {
            return call;
        }
        self.clock += 1;
        let mut flight =
            Flight { call: call.clone(), began: self.clock, met: false, disturbed: false };
        for other in self.flights.iter_mut().flatten() {
            other.met = true;
            flight.met = true;
            other.disturbed |= fills_lists(&call);
            flight.disturbed |= fills_lists(&other.call);
            overlap::watch(&mut self.marks, script, &call, &other.call);
            overlap::watch(&mut self.marks, script, &other.call, &call);
        }
        self.flights[cpu.index()] = Some(flight);
        call
    }

    fn resolve(&mut self, op: &Op, script: &Script) -> Call {
        match op {
            Op::Free { cpu, handle } => match self.leave(handle, script) {
                Some((pfn, order)) => Call::Free(*cpu, pfn, order),
                None => Call::Skip,
            },
            Op::FreeBatch { cpu, handles } => {
                let blocks = handles.iter().filter_map(|handle| self.leave(handle, script));
                Call::FreeBatch(*cpu, blocks.collect())
            }
            Op::CpuDead { by, cpu } => {
                // A CPU dies between its calls, and whoever buries it is another one that lives.
                // From here on its thread runs nothing.
                let dies = by != cpu && self.online[cpu.index()];
                if !dies || self.flights[cpu.index()].is_some() {
                    return Call::Skip;
                }
                self.online[cpu.index()] = false;
                Call::CpuDead(*by, *cpu)
            }
            Op::CpuOnline { cpu } => {
                let dead = !self.online[cpu.index()];
                let dying = self.flights.iter().flatten().any(
                    |flight| matches!(flight.call, Call::CpuDead(_, dying) | Call::CpuOnline(dying) if dying == *cpu),
                );
                if dead && !dying { Call::CpuOnline(*cpu) } else { Call::Skip }
            }
            other => Call::without_blocks(other).unwrap_or(Call::Skip),
        }
    }

    /// `cpu` makes this call while work is queued on it, or does the work by it.
    pub(super) fn note_wait(&mut self, cpu: CpuId, call: &Call) {
        let wait = &mut self.waits[cpu.index()];
        if matches!(call, Call::Work(_)) {
            self.marks.longest_wait = self.marks.longest_wait.max(std::mem::take(wait));
        } else {
            *wait += 1;
        }
    }

    fn leave(&mut self, handle: &Handle, script: &Script) -> Option<(Pfn, Order)> {
        let held = self.slots.remove(handle)?;
        let block = self.live.remove(held.pfn)?;
        self.leaving.insert(held.pfn, block);
        if let Some(zone) = zone_of(script, held.pfn) {
            self.past.freed_pages[zone] += held.order.pages();
        }
        Some((held.pfn, held.order))
    }

    /// The call of operation `at` is over. What came back belongs to the caller from now on: it
    /// must overlap nothing that is held. `asked`: frames of which it was asked whether they move.
    pub(super) fn give(
        &mut self,
        at: usize,
        cpu: CpuId,
        op: &Op,
        answer: Answer,
        asked: Vec<(Pfn, bool)>,
        script: &Script,
    ) {
        let Some(flight) = self.flights[cpu.index()].take() else { return };
        match (op, &flight.call, &answer) {
            (_, Call::Free(_, pfn, _), _) => {
                self.leaving.remove(*pfn);
            }
            (_, Call::FreeBatch(_, blocks), _) => {
                for (pfn, _) in blocks {
                    self.leaving.remove(*pfn);
                }
            }
            (Op::Alloc { handle, request, .. }, _, Answer::Outcome(Outcome::Page(pfn))) => {
                self.own(at, *handle, *pfn, request.order, asked_gfp(request), script);
                self.past.highatomic |= request.attempt.is_some();
            }
            (Op::Slow { handle, request, .. }, _, Answer::Walk(steps, outcome)) => {
                if let Outcome::Page(pfn) = outcome {
                    self.own(at, *handle, *pfn, request.order, asked_gfp(request), script);
                }
                if steps.contains(&SlowStep::DrainWait) {
                    self.marks.hit(Mark::WalkWaited);
                }
                // A walk without a page may have released a reserve.
                self.past.highatomic = true;
            }
            (Op::Bulk { handles, gfp, .. }, _, Answer::Bulk(slots, _)) => {
                for (handle, slot) in handles.iter().zip(slots) {
                    if let Some(pfn) = slot {
                        self.own(at, *handle, *pfn, Order::ZERO, *gfp, script);
                    }
                }
            }
            (Op::TakeOff { handle, .. }, Call::TakeOff(_, pfn), Answer::Flag(true)) => {
                self.hold(at, *handle, *pfn, Order::ZERO, false);
                if let Some(zone) = zone_of(script, *pfn) {
                    self.past.taken_pages[zone] += 1;
                }
            }
            (_, Call::Isolate(..) | Call::Unisolate(..), _) => self.past.isolated = true,
            (_, Call::Unreserve(..), _) => self.past.highatomic = true,
            (_, Call::PcpDisable(_, zone), _) => self.past.disabled[zone.index()] = true,
            (_, Call::Set(tunables), Answer::Set(Ok(()))) => self.tunables = *tunables,
            (_, Call::CpuDead(_, dead), Answer::Flag(died)) => self.online[dead.index()] = !*died,
            (_, Call::CpuOnline(back), Answer::Flag(true)) => self.online[back.index()] = true,
            _ => {}
        }
        self.clock += 1;
        if let Some(history) = &mut self.history {
            let (began, ended) = (flight.began, self.clock);
            history.push(Event { op: at, cpu, call: flight.call, answer, asked, began, ended });
        }
    }

    fn own(
        &mut self,
        at: usize,
        handle: Handle,
        pfn: Pfn,
        order: Order,
        gfp: Gfp,
        script: &Script,
    ) {
        self.hold(at, handle, pfn, order, gfp.migratetype() == Ok(MigrateType::Movable));
        if let Some(zone) = zone_of(script, pfn) {
            self.past.grants[zone] += 1;
            self.past.granted_pages[zone] += order.pages();
        }
    }

    /// The block is its caller's, who must be the only one.
    fn hold(&mut self, at: usize, handle: Handle, pfn: Pfn, order: Order, movable: bool) {
        if let Some((other, block)) = self.live.overlapping(pfn, order) {
            let what = format!(
                "law no-overlap (safe): {pfn}@{order} was handed out while {other}@{} is held",
                block.order
            );
            let found = Finding { kind: "no-overlap".to_owned(), what, at: Some(at) };
            self.finding.get_or_insert(found);
        }
        self.live.insert(pfn, LiveBlock { order, movable });
        self.slots.insert(handle, Held { pfn, order, movable });
    }
}
