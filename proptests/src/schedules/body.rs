//! One execution: make the allocator, run the columns as threads, judge.

use super::subject::{Boot, Subject};
use crate::drive::{Answer, Call, Caller, Held, check_gfp};
use crate::engine::Finding;
use crate::lawful::{Exercised, Quiet};
use crate::script::{Handle, Op, Script};
use mmspec_model::contract::Outcome;
use mmspec_model::laws::{Law, Live, LiveBlock, Past, Probe, Setting, Step};
use mmspec_model::vocab::{CpuId, Gfp, MigrateType, Order, Pfn, Tunables, ZoneIdx};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Which thread runs an operation: its CPU's. `None`: not in concurrent runs (CPUs that come and
/// go are the business of one caller).
#[must_use]
pub fn column_of(op: &Op) -> Option<CpuId> {
    match op {
        Op::CpuDead { .. } | Op::CpuOnline { .. } => None,
        Op::FailTrylock { cpu, .. } => Some(*cpu),
        other => Some(other.cpu().unwrap_or(CpuId(0))),
    }
}

/// A script cut down to what runs concurrently.
#[must_use]
pub fn concurrent_script(mut script: Script) -> Script {
    script.ops.retain(|op| column_of(op).is_some());
    script
}

/// What all threads of one execution share. Not shuttle's: it is no part of what is tested, and it
/// is never held across a scheduling point.
#[derive(Default)]
struct Shared {
    slots: BTreeMap<Handle, Held>,
    live: Live,
    /// Blocks on their way back: nobody needs their content, so isolation need not stop at them.
    leaving: Live,
    past: Past,
    /// All sysctl writes are of one thread, so the last one to end is the last one.
    tunables: Option<Tunables>,
    finding: Option<Finding>,
}

struct Table(Mutex<Shared>);

impl Table {
    fn with<T>(&self, body: impl FnOnce(&mut Shared) -> T) -> T {
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

/// Run `script` on a fresh subject; the first thing found.
pub(super) fn execute<S: Subject>(
    script: &Arc<Script>,
    setting: &Setting,
    laws: &[&'static Law],
    boot: Boot<S>,
    exercised: &mut Exercised,
) -> Option<Finding> {
    let subject = Arc::new(boot(script));
    let zones = script.machine.zones.len();
    let table = Arc::new(Table(Mutex::new(Shared {
        tunables: Some(script.tunables),
        past: Past {
            disabled: vec![false; zones],
            grants: vec![0; zones],
            granted_pages: vec![0; zones],
            freed_pages: vec![0; zones],
            ..Past::default()
        },
        ..Shared::default()
    })));
    let threads: Vec<_> = script
        .machine
        .as_ref()
        .cpu_ids()
        .map(|cpu| {
            let (script, subject, table) =
                (Arc::clone(script), Arc::clone(&subject), Arc::clone(&table));
            shuttle::thread::spawn(move || {
                let own =
                    script.ops.iter().enumerate().filter(|(_, op)| column_of(op) == Some(cpu));
                for (at, op) in own {
                    operation(at, op, &script, &*subject, &table);
                }
            })
        })
        .collect();
    for thread in threads {
        // A panic of a thread ends the whole execution before this returns.
        let _ = thread.join();
    }
    if let Some(finding) = table.with(|shared| shared.finding.take()) {
        return Some(finding);
    }
    subject.settle();
    judge(script, setting, laws, &*subject, &table, exercised).err()
}

fn operation<S: Subject>(at: usize, op: &Op, script: &Script, subject: &S, table: &Table) {
    let call = table.with(|shared| take(op, shared, script));
    if call == Call::Skip {
        return;
    }
    let answer = subject.call(&call, table);
    table.with(|shared| give(at, op, &call, &answer, shared, script));
}

fn zone_of(script: &Script, pfn: Pfn) -> Option<usize> {
    script.machine.as_ref().zone_of(pfn).map(ZoneIdx::index)
}

/// The call; what it frees leaves its owner now.
fn take(op: &Op, shared: &mut Shared, script: &Script) -> Call {
    let free = |handle: &Handle, shared: &mut Shared| {
        let held = shared.slots.remove(handle)?;
        let block = shared.live.remove(held.pfn)?;
        shared.leaving.insert(held.pfn, block);
        if let Some(zone) = zone_of(script, held.pfn) {
            shared.past.freed_pages[zone] += held.order.pages();
        }
        Some((held.pfn, held.order))
    };
    match op {
        Op::Free { cpu, handle } => match free(handle, shared) {
            Some((pfn, order)) => Call::Free(*cpu, pfn, order),
            None => Call::Skip,
        },
        Op::FreeBatch { cpu, handles } => {
            let blocks = handles.iter().filter_map(|handle| free(handle, shared)).collect();
            Call::FreeBatch(*cpu, blocks)
        }
        Op::Alloc { cpu, request, .. } => Call::Alloc(*cpu, *request),
        Op::Bulk { cpu, gfp, handles } => Call::Bulk(*cpu, *gfp, handles.len()),
        Op::DrainCpu { by, cpu } => Call::DrainCpu(*by, *cpu),
        Op::DrainAll { by, zone } => Call::DrainAll(*by, *zone),
        Op::PcpDisable { by, zone } => Call::PcpDisable(*by, *zone),
        Op::PcpEnable { zone } => Call::PcpEnable(*zone),
        Op::FailTrylock { cpu, times } => Call::FailTrylock(*cpu, *times),
        Op::Tick { cpu } => Call::Tick(*cpu),
        Op::Set { tunables } => Call::Set(*tunables),
        Op::ReclaimActive { zone, active } => Call::ReclaimActive(*zone, *active),
        Op::Isolate { cpu, pfn } => Call::Isolate(*cpu, *pfn),
        Op::Unisolate { cpu, pfn, migratetype } => Call::Unisolate(*cpu, *pfn, *migratetype),
        Op::Unreserve { cpu, migratetype, force } => Call::Unreserve(*cpu, *migratetype, *force),
        Op::CpuDead { .. } | Op::CpuOnline { .. } => Call::Skip,
        Op::Check { zone, order, mark, highest, flags } => Call::Check(Probe {
            zone: *zone,
            order: *order,
            mark: *mark,
            highest: *highest,
            flags: *flags,
            gfp: check_gfp(*flags),
        }),
    }
}

/// What came back belongs to the caller from now on: it must overlap nothing that is held.
fn give(at: usize, op: &Op, call: &Call, answer: &Answer, shared: &mut Shared, script: &Script) {
    let own = |handle: Handle, pfn: Pfn, order: Order, gfp: Gfp, shared: &mut Shared| {
        if let Some((other, block)) = shared.live.overlapping(pfn, order) {
            let what = format!(
                "law no-overlap (safe): {pfn}@{order} was handed out while {other}@{} is held",
                block.order
            );
            let found = Finding { kind: "no-overlap".to_owned(), what, at: Some(at) };
            shared.finding.get_or_insert(found);
        }
        let movable = gfp.migratetype() == Ok(MigrateType::Movable);
        shared.live.insert(pfn, LiveBlock { order, movable });
        shared.slots.insert(handle, Held { pfn, order, movable });
        if let Some(zone) = zone_of(script, pfn) {
            shared.past.grants[zone] += 1;
            shared.past.granted_pages[zone] += order.pages();
        }
    };
    match (op, call, answer) {
        (_, Call::Free(_, pfn, _), _) => {
            shared.leaving.remove(*pfn);
        }
        (_, Call::FreeBatch(_, blocks), _) => {
            for (pfn, _) in blocks {
                shared.leaving.remove(*pfn);
            }
        }
        (Op::Alloc { handle, request, .. }, _, Answer::Outcome(Outcome::Page(pfn))) => {
            own(*handle, *pfn, request.order, request.gfp, shared);
            shared.past.highatomic |= request.attempt.is_some();
        }
        (Op::Bulk { handles, gfp, .. }, _, Answer::Bulk(slots, _)) => {
            for (handle, slot) in handles.iter().zip(slots) {
                if let Some(pfn) = slot {
                    own(*handle, *pfn, Order::ZERO, *gfp, shared);
                }
            }
        }
        (_, Call::Isolate(..) | Call::Unisolate(..), _) => shared.past.isolated = true,
        (_, Call::Unreserve(..), _) => shared.past.highatomic = true,
        (_, Call::PcpDisable(_, zone), _) => shared.past.disabled[zone.index()] = true,
        (_, Call::Set(tunables), Answer::Set(Ok(()))) => shared.tunables = Some(*tunables),
        _ => {}
    }
}

/// All threads are done: the laws of quiescence, then all is given back and the laws of emptiness.
fn judge<S: Subject>(
    script: &Script,
    setting: &Setting,
    laws: &[&'static Law],
    subject: &S,
    table: &Table,
    exercised: &mut Exercised,
) -> Result<(), Finding> {
    let (live, mut past, tunables) = table.with(|shared| {
        let tunables = shared.tunables.unwrap_or(script.tunables);
        (shared.live.clone(), shared.past.clone(), tunables)
    });
    for op in &script.ops {
        // Whether an enable came before or after a disable of another thread is not known.
        if let Op::PcpEnable { zone } = op {
            past.disabled[zone.index()] = false;
        }
    }
    let mut allocator = subject.inner();
    let moment = Quiet { script, setting, tunables: &tunables, laws };
    moment
        .judge(&allocator, &live, &past, Step::Other, exercised)
        .map_err(|broke| broke.finding())?;
    for zone in 0..script.machine.zones.len() {
        subject.call(&Call::PcpEnable(ZoneIdx(zone as u8)), table);
        past.disabled[zone] = false;
    }
    for (pfn, block) in live.iter() {
        subject.call(&Call::Free(CpuId(0), pfn, block.order), table);
        if let Some(zone) = zone_of(script, pfn) {
            past.freed_pages[zone] += block.order.pages();
        }
    }
    subject.settle();
    for cpu in script.machine.as_ref().cpu_ids() {
        crate::drive::perform(&mut allocator, &Call::DrainCpu(CpuId(0), cpu), table);
    }
    moment
        .judge(&allocator, &Live::default(), &past, Step::Emptied, exercised)
        .map_err(|broke| broke.finding())
}
