//! The threads of a case under schedules (memcg-slub.md §1.5, §1.7).
//!
//! While they run, what is charged and not given back must fit every limit that does not change, and a failure
//! must be explained by what others had and tried meanwhile. When they are done the laws of quiescence hold, and
//! again when all was given back.

use super::actor::Actor;
use super::language::{Memcg, Verb};
use super::ledger::{Judged, Ledger};
use super::lockstep::judged;
use crate::engine::Finding;
use crate::flat::{Case, columns};
use crate::lawful::Exercised;
use crate::schedules::{self, Executed, Fine, Strategy};
use mmspec_impl::Platform;
use mmspec_impl::memcg::OwnedMemcg;
use mmspec_model::contract::{MemcgDone, MemoryCgroups};
use mmspec_model::laws::{MemcgDid, MemcgPicture, MemcgSeen};
use mmspec_model::vocab::{CpuId, MemcgId};
use std::sync::{Arc, Mutex, PoisonError};

/// Groups and handles of a case at most. Making them is most of a short execution.
const GROUPS: usize = 12;
const PEAKS: usize = 4;

/// Memory cgroups that threads share.
pub trait Groups: Send + Sync + 'static {
    /// One thread's way to them.
    type Handle<'a>: MemoryCgroups;

    /// For a case.
    fn made(case: &Case<Memcg>) -> Self;

    /// One thread's way to them.
    fn handle(&self) -> Self::Handle<'_>;
}

impl<P> Groups for OwnedMemcg<P>
where
    P: Platform + 'static,
    Self: Send + Sync,
{
    type Handle<'a> = &'a Self;

    fn made(case: &Case<Memcg>) -> Self {
        Self::new(usize::from(case.cpus), GROUPS, PEAKS, case.rules)
    }

    fn handle(&self) -> Self::Handle<'_> {
        self
    }
}

/// The groups of `impl`.
pub(super) fn of_implementation(
    case: &Case<Memcg>,
    strategy: Strategy,
    most: u64,
    exercised: &mut Exercised,
) -> Executed {
    explore::<OwnedMemcg<Fine>>(case, strategy, most, exercised)
}

/// Run the threads of a case under at most `most` schedules, up to the first finding.
pub fn explore<G: Groups>(
    case: &Case<Memcg>,
    strategy: Strategy,
    most: u64,
    exercised: &mut Exercised,
) -> Executed {
    let counts: Arc<Mutex<Exercised>> = Arc::default();
    let (case, shared) = (case.clone(), Arc::clone(&counts));
    let executed = schedules::executions(strategy, most, false, move || {
        let mut counts = shared.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody else wants them: it is held while threads run.
        execute::<G>(&case, &mut counts).err()
    });
    let counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
    for (law, count) in counts.iter() {
        *exercised.entry(law).or_default() += count;
    }
    executed
}

/// Verbs whose CPU is somebody that they work on.
const fn is_remote(verb: Verb) -> bool {
    matches!(verb, Verb::Work | Verb::Dead)
}

fn execute<G: Groups>(case: &Case<Memcg>, exercised: &mut Exercised) -> Result<(), Finding> {
    let groups = Arc::new(G::made(case));
    let ledger = Arc::new(Mutex::new(Ledger::new(case.cpus)));
    let (alone, threads) = columns(case, Verb::Together, is_remote);
    let take = || ledger.lock().unwrap_or_else(PoisonError::into_inner);
    {
        let mut actor = Actor::new(groups.handle(), &ledger, 0);
        alone.iter().for_each(|(_, op)| actor.act(op));
    }
    let picture = picture(&groups.handle(), case.cpus);
    {
        let mut ledger = take();
        ledger.ended.clear();
        ledger.finding = None;
        ledger.rules = Judged::of(case, &picture.groups);
    }
    schedules::together(|| {
        let running: Vec<_> = threads
            .into_iter()
            .enumerate()
            .map(|(thread, ops)| {
                let (groups, ledger) = (Arc::clone(&groups), Arc::clone(&ledger));
                shuttle::thread::spawn(move || {
                    let mut actor = Actor::new(groups.handle(), &ledger, thread);
                    for (at, op) in ops {
                        actor.act(&op);
                        if let Some(finding) = &mut actor.ledger().finding {
                            finding.at.get_or_insert(at);
                            return;
                        }
                    }
                })
            })
            .collect();
        for thread in running {
            let _ = thread.join();
        }
    });
    if let Some(finding) = take().finding.take() {
        return Err(finding);
    }
    let mut handle = groups.handle();
    quiet(case, &handle, &mut take(), exercised)?;
    give_back(&mut handle, &mut take());
    for cpu in 0..case.cpus {
        handle.stock_cpu_dead(CpuId(cpu));
    }
    take().ended.clear();
    quiet(case, &handle, &mut take(), exercised)
}

fn picture<M: MemoryCgroups>(groups: &M, cpus: u16) -> MemcgPicture {
    MemcgPicture {
        groups: (0..groups.memcg_count())
            .map(|id| groups.memcg_state(MemcgId(id as u16)))
            .collect(),
        stocks: (0..cpus).map(|cpu| groups.stock_state(CpuId(cpu))).collect(),
    }
}

/// Laws of one call that hold whatever others do.
const OF_CALLS: [&str; 4] = ["memcg-nofail", "memcg-nowait", "memcg-goal", "memcg-sleep"];

/// All threads are done.
fn quiet<M: MemoryCgroups>(
    case: &Case<Memcg>,
    groups: &M,
    ledger: &mut Ledger,
    exercised: &mut Exercised,
) -> Result<(), Finding> {
    let after = picture(groups, case.cpus);
    let finding = |kind: &str, what: String| Finding { kind: kind.to_owned(), what, at: None };
    let seen =
        |did| MemcgSeen { rules: case.rules, before: None, after: &after, held: &ledger.held, did };
    judged(&seen(MemcgDid::Other), |_| true, exercised)
        .map_err(|(law, what)| finding(law, what))?;
    for (call, steps, done) in &ledger.ended {
        if matches!(done, MemcgDone::NoGroup) {
            continue;
        }
        let did = MemcgDid::Call { call: *call, steps, done: *done };
        judged(&seen(did), |law| OF_CALLS.contains(&law), exercised)
            .map_err(|(law, what)| finding(law, what))?;
    }
    for ((id, group), within) in after.groups.iter().enumerate().zip(&ledger.rules.within) {
        if *within && group.memory.usage > group.memory.max {
            let memory = &group.memory;
            let what = format!("g{id} has {} pages and a limit of {}", memory.usage, memory.max);
            return Err(finding("limit-at-rest", what));
        }
    }
    Ok(())
}

/// All that is held.
fn give_back<M: MemoryCgroups>(groups: &mut M, ledger: &mut Ledger) {
    for id in 0..ledger.held.len() {
        let (memcg, held) = (MemcgId(id as u16), std::mem::take(&mut ledger.held[id]));
        if held.folios > 0 {
            groups.uncharge(memcg, held.folios as u32);
        }
        if held.kernel_pages > 0 {
            groups.uncharge_kernel_pages(memcg, held.kernel_pages as u32);
        }
        if held.swap > 0 {
            groups.uncharge_swap(memcg, held.swap as u32);
        }
        for bytes in std::mem::take(&mut ledger.objects[id]) {
            groups.uncharge_object(CpuId(0), memcg, bytes, false);
        }
    }
}
