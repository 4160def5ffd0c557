//! One execution: make the allocator, run the columns as threads, judge.

use super::chance;
use super::locks::{self, LockClass, LockViolation};
use super::subject::{Boot, Subject};
use super::table::Table;
use crate::drive::{Call, Caller, catch};
use crate::engine::Finding;
use crate::histories::{self, End, Explained, History};
use crate::lawful::{Exercised, Quiet};
use crate::marks::{Mark, Marks};
use crate::script::{Op, Script};
use mmspec_model::laws::{Law, Lists, Live, Numbers, Setting, Step};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::{CpuId, DrainScheme, Pfn, ZoneIdx};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Which thread runs an operation: its CPU's. The return of a CPU is another's business; the steps
/// of one node's kswapd are all of one thread, as kswapd is one.
#[must_use]
pub fn column_of(op: &Op) -> CpuId {
    match op {
        Op::CpuOnline { cpu } => CpuId(u16::from(cpu.0 == 0)),
        Op::FailTrylock { cpu, .. } => *cpu,
        Op::Kswapd { node, .. } => CpuId(u16::from(node.0 % 2 == 0)),
        other => other.cpu().unwrap_or(CpuId(0)),
    }
}

/// A script cut down to what runs concurrently: a lone CPU cannot come back by another one.
#[must_use]
pub fn concurrent_script(mut script: Script) -> Script {
    let cpus = script.machine.cpus;
    script.ops.retain(|op| column_of(op).0 < cpus);
    script
}

/// How an execution is judged.
pub(super) enum Judge {
    /// By the laws: of hand-overs, of quiet moments, of emptiness.
    Laws(Arc<Setting>, Vec<&'static Law>),
    /// By the order of operations on this booted reference that explains all results.
    Order(Box<Reference>),
}

/// A broken rule of lock order as a finding.
pub(super) fn lock_order(broken: &LockViolation) -> Finding {
    Finding { kind: "lock-order".to_owned(), what: format!("lock order: {broken}"), at: None }
}

/// What executions did, summed up.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    /// Locks taken, by class.
    pub(super) locks: [u64; LockClass::ALL.len()],
    pub(super) laws: Exercised,
    pub(super) marks: Marks,
}

/// Run `script` on a fresh subject; the first thing found.
pub(super) fn execute<S: Subject>(
    script: &Arc<Script>,
    judge: &Judge,
    boot: Boot<S>,
    sums: &mut Sums,
) -> Option<Finding> {
    let subject = Arc::new(boot(script));
    let recorded = matches!(judge, Judge::Order(_));
    let table = Arc::new(Table::new(script, recorded));
    chance::set_alone(false);
    let threads: Vec<_> = script
        .machine
        .as_ref()
        .cpu_ids()
        .map(|cpu| {
            let (script, subject, table) =
                (Arc::clone(script), Arc::clone(&subject), Arc::clone(&table));
            shuttle::thread::spawn(move || {
                let own = script.ops.iter().enumerate().filter(|(_, op)| column_of(op) == cpu);
                let works = script.rules.drain_scheme == DrainScheme::WorkItem;
                for (at, op) in own {
                    operation(at, cpu, op, &script, &*subject, &table);
                    if works {
                        // Between two calls a CPU with work queued may die.
                        shuttle::thread::sleep(Duration::ZERO);
                    }
                }
                table.with(|shared| shared.busy -= 1);
                if works {
                    idle(cpu, &script, &*subject, &table);
                }
            })
        })
        .collect();
    for thread in threads {
        // A panic of a thread ends the whole execution before this returns.
        let _ = thread.join();
    }
    chance::set_alone(true);
    let seen = chance::seen();
    table.with(|shared| {
        if seen.busy > 0 {
            shared.marks.hit(Mark::ListsBusy);
        }
        if seen.weak_failures > 0 {
            shared.marks.hit(Mark::WeakFailed);
        }
        sums.marks.add(&shared.marks);
        if let Some(broken) = locks::broken() {
            shared.finding.get_or_insert(lock_order(&broken));
        }
    });
    for (sum, taken) in sums.locks.iter_mut().zip(locks::taken()) {
        *sum += taken;
    }
    let overlap = table.with(|shared| shared.finding.take());
    // All threads have ended. A panic from here on is a finding as any other; left to shuttle it
    // would be printed above the report, even that of a canary.
    let judged = catch(|| match judge {
        Judge::Laws(..) if overlap.is_some() => overlap,
        Judge::Laws(setting, laws) => {
            subject.settle();
            let judged = by_laws(script, setting, laws, &*subject, &table, &mut sums.laws);
            judged.err()
        }
        Judge::Order(reference) => {
            // What has two owners has no order: that is the search's to find.
            by_order(script, reference, &*subject, &table, &mut sums.marks).err().or(overlap)
        }
    });
    judged.unwrap_or_else(|what| Some(Finding { kind: "panic".to_owned(), what, at: None }))
}

/// Answers for the table and remembers what it was asked.
struct Asked<'a> {
    table: &'a Table,
    answers: Mutex<Vec<(Pfn, bool)>>,
}

impl Caller for Asked<'_> {
    fn is_movable(&self, pfn: Pfn) -> bool {
        let yes = self.table.is_movable(pfn);
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).push((pfn, yes));
        yes
    }
}

/// An idle CPU runs its work until all columns are done.
fn idle<S: Subject>(cpu: CpuId, script: &Script, subject: &S, table: &Table) {
    loop {
        let over = table.with(|shared| shared.busy == 0);
        if subject.inner().has_work(cpu) {
            operation(script.ops.len(), cpu, &Op::Work { cpu }, script, subject, table);
        }
        if over {
            return;
        }
        shuttle::thread::yield_now();
    }
}

/// Pages that a drain left on the lists of CPUs that are online.
fn left_behind<S: Subject>(script: &Script, subject: &S, zone: ZoneIdx) -> u64 {
    let cpus = (0..script.machine.cpus).map(CpuId);
    let online = cpus.filter(|cpu| subject.inner().is_online(*cpu));
    online.map(|cpu| subject.inner().pcp_state(cpu, zone).count).sum()
}

fn operation<S: Subject>(
    at: usize,
    cpu: CpuId,
    op: &Op,
    script: &Script,
    subject: &S,
    table: &Table,
) {
    let call = table.with(|shared| shared.take(cpu, op, script));
    if call == Call::Skip {
        return;
    }
    if script.rules.drain_scheme == DrainScheme::WorkItem && subject.inner().has_work(cpu) {
        table.with(|shared| shared.note_wait(cpu, &call));
    }
    let asked = Asked { table, answers: Mutex::default() };
    // The worker's own CPU is the only one that moves these marks.
    let highs = || -> u64 {
        let zones = (0..script.machine.zones.len()).map(|zone| ZoneIdx(zone as u8));
        zones.map(|zone| subject.inner().pcp_state(cpu, zone).high).sum()
    };
    let before = matches!(call, Call::Tick(_)).then(highs);
    let answer = subject.call(&call, &asked);
    let decayed = before.is_some_and(|before| highs() < before);
    let left = match call {
        Call::DrainAll(_, Some(zone)) => Some(left_behind(script, subject, zone)),
        _ => None,
    };
    let asked = asked.answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    table.with(|shared| {
        let undisturbed =
            shared.flights[cpu.index()].as_ref().is_some_and(|flight| !flight.disturbed);
        if let (Some(left), true) = (left, undisturbed) {
            shared.marks.hit(Mark::DrainJudged);
            if left > 0 {
                let what = format!(
                    "law drain-empties (exact): {left} pages are left on the lists after a drain \
                     beside which nobody allocated or freed"
                );
                let found = Finding { kind: "drain-empties".to_owned(), what, at: Some(at) };
                shared.finding.get_or_insert(found);
            }
        }
        if decayed && shared.flights[cpu.index()].as_ref().is_some_and(|flight| flight.met) {
            shared.marks.hit(Mark::DecayMetCall);
        }
        shared.give(at, cpu, op, answer, asked, script);
    });
}

/// All threads are done: the laws of quiescence, then all is given back and the laws of emptiness.
fn by_laws<S: Subject>(
    script: &Script,
    setting: &Setting,
    laws: &[&'static Law],
    subject: &S,
    table: &Table,
    exercised: &mut Exercised,
) -> Result<(), Finding> {
    let (live, mut past, tunables, offline) = table.with(|shared| {
        (shared.live.clone(), shared.past.clone(), shared.tunables, shared.offline())
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
    for cpu in offline {
        subject.call(&Call::CpuOnline(cpu), table);
    }
    for zone in 0..script.machine.zones.len() {
        subject.call(&Call::PcpEnable(ZoneIdx(zone as u8)), table);
        past.disabled[zone] = false;
    }
    for (pfn, block) in live.iter() {
        subject.call(&Call::Free(CpuId(0), pfn, block.order), table);
        if let Some(zone) = script.machine.as_ref().zone_of(pfn) {
            past.freed_pages[zone.index()] += block.order.pages();
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

/// All threads are done: is there an order that explains what they saw and what is left?
fn by_order<S: Subject>(
    script: &Script,
    reference: &Reference,
    subject: &S,
    table: &Table,
    marks: &mut Marks,
) -> Result<(), Finding> {
    let events = table.with(|shared| shared.history.take()).unwrap_or_default();
    let history = History::new(events);
    let inner = subject.inner();
    let end = End {
        numbers: Numbers::of(&inner, script.machine.cpus),
        lists: Lists::of(&inner, &script.machine),
    };
    let Explained { reordered, mixed, busy } = histories::explain(&history, reference, &end)
        .map_err(|unexplained| Finding {
            kind: "order".to_owned(),
            what: unexplained.tell(script, &history),
            at: None,
        })?;
    if history.overlaps() {
        marks.hit(Mark::Explained);
    }
    for (yes, mark) in
        [(reordered, Mark::Reordered), (mixed, Mark::StepsMixed), (busy, Mark::BusyExplained)]
    {
        if yes {
            marks.hit(mark);
        }
    }
    Ok(())
}
