//! Scripts under schedules.

use super::body::{Judge, Sums, execute, lock_order};
use super::generate::script;
use super::locks::{self, LockClass};
use super::schedulers::{Choice, Record, Recording, Schedule};
use super::shrinking::shrink_case;
use super::subject::{Boot, Subject};
use crate::drive::catch;
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::generate::Rng;
use crate::histories;
use crate::lawful::{Exercised, quiet_laws};
use crate::marks::Marks;
use crate::script::Script;
use mmspec_model::laws::{Numbers, Setting};
use mmspec_model::reference::Reference;
use mmspec_model::vocab::DrainScheme;
use shuttle::scheduler::DfsScheduler;
use shuttle::{Config as ShuttleConfig, FailurePersistence, MaxSteps, Runner};
use std::sync::{Arc, Mutex, PoisonError};

/// How schedules are chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Uniformly at each step.
    Random(u64),
    /// PCT with this seed and bug depth.
    Pct(u64, usize),
    /// All of them, depth first.
    DepthFirst,
    /// This one.
    Replay(Schedule),
}

/// What an exploration of one script did.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Schedules run.
    pub schedules: u64,
    /// All schedules were run.
    pub complete: bool,
    /// What was found, under which schedule.
    pub found: Option<(Finding, Schedule)>,
    /// How often each law compared something.
    pub laws: Exercised,
    /// Situations of calls that met.
    pub marks: Marks,
    /// Locks taken while several threads ran, in the order of [`LockClass::ALL`].
    pub locks: [u64; LockClass::ALL.len()],
}

/// What an execution is judged by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Oracle {
    /// The laws.
    Laws,
    /// An order of the calls that explains all results ([`crate::histories`]).
    Order,
}

/// Steps after which an execution counts as one without end. Executions of the engine's scripts
/// take some hundreds.
const MOST_STEPS: usize = 100_000;

/// The kind of such a finding.
pub(super) const ENDLESS: &str = "endless";

/// Run `script` under at most `most` schedules, stopping at the first finding of `oracle`.
pub fn explore<S: Subject>(
    script: &Script,
    boot: Boot<S>,
    strategy: Strategy,
    most: u64,
    oracle: Oracle,
) -> Explored {
    let booted = Reference::new(&script.machine, script.rules, script.tunables);
    let Ok(booted) = booted else { return Explored::default() };
    let judge = match oracle {
        Oracle::Laws => {
            let numbers = Numbers::of(&booted, script.machine.cpus);
            let setting = Arc::new(Setting::new(&script.machine, script.rules, numbers));
            Judge::Laws(setting, quiet_laws(S::LAWS))
        }
        Oracle::Order => Judge::Order(Box::new(booted)),
    };
    let outcome: Arc<Mutex<Sums>> = Arc::default();
    let (script, shared) = (Arc::new(script.clone()), Arc::clone(&outcome));
    let executed = executions(strategy, most, true, move || {
        // Only this thread touches it; it is not held while threads run.
        let take = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = std::mem::take(&mut *take());
        let found = execute(&script, &judge, boot, &mut sums);
        *take() = sums;
        found
    });
    let mut sums = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    Explored {
        schedules: executed.schedules,
        complete: executed.complete,
        found: executed.found,
        laws: std::mem::take(&mut sums.laws),
        marks: std::mem::take(&mut sums.marks),
        locks: sums.locks,
    }
}

/// What executions came to.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// Schedules run.
    pub schedules: u64,
    /// All schedules were run.
    pub complete: bool,
    /// What was found, under which schedule.
    pub found: Option<(Finding, Schedule)>,
}

/// Run `body`, which starts threads of shuttle and joins them, under at most `most` schedules, up to the first
/// finding. `ordered`: the order of the page allocator's locks is watched.
pub(crate) fn executions(
    strategy: Strategy,
    most: u64,
    ordered: bool,
    body: impl Fn() -> Option<Finding> + Send + Sync + 'static,
) -> Executed {
    let record = Record::default();
    let choice = match strategy {
        Strategy::Random(seed) => Choice::Random(Rng::new(seed)),
        Strategy::Pct(seed, depth) => Choice::pct(seed, depth),
        Strategy::DepthFirst => Choice::Dfs(DfsScheduler::new(None, false)),
        Strategy::Replay(schedule) => Choice::Replay(schedule, 0),
    };
    let scheduler = Recording { choice, record: record.clone(), most };
    let mut config = ShuttleConfig::new();
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(MOST_STEPS);
    config.silence_warnings = true;
    // The laws keep whole zones' numbers on the stack; shuttle's default is 60 KiB.
    config.stack_size = 1 << 19;
    let outcome: Arc<Mutex<Option<Finding>>> = Arc::default();
    let (inner, shared) = (record.clone(), Arc::clone(&outcome));
    let ended = catch(move || {
        Runner::new(scheduler, config).run(move || {
            if let Some(found) = body() {
                shared.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
                inner.stop();
            }
        })
    });
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match ended {
        Ok(_) => outcome.take(),
        // A wrong order says more than the deadlock that came of it.
        Err(_) if ordered && locks::broken().is_some() => locks::broken().as_ref().map(lock_order),
        Err(what) => {
            let kind = if what.contains("deadlock") {
                "deadlock"
            } else if what.contains("max_steps") {
                ENDLESS
            } else {
                "panic"
            };
            Some(Finding { kind: kind.to_owned(), what, at: None })
        }
    };
    Executed {
        schedules: record.executions(),
        complete: record.complete(),
        found: found.map(|found| (found, record.schedule())),
    }
}

/// Run one script under one schedule: judged by the laws, and by order if its histories can be.
pub fn replay<S: Subject>(script: &Script, boot: Boot<S>, schedule: &Schedule) -> Option<Finding> {
    let judged = |oracle| {
        let strategy = Strategy::Replay(schedule.clone());
        explore(script, boot, strategy, 1, oracle).found.map(|(found, _)| found)
    };
    let by_laws = judged(Oracle::Laws);
    by_laws.or_else(|| histories::fits(script).then(|| judged(Oracle::Order)).flatten())
}

/// Schedules for each script before the next one.
const FOR_EACH: u64 = 48;

/// Generated scripts under random and PCT schedules within the budget, judged by the laws; `cases`
/// of the budget count schedules. Small scripts are also run depth first, as far as a bound allows.
pub fn run<S: Subject>(config: &Config<'_>, boot: Boot<S>) -> EngineReport {
    run_on("schedules", config, boot, Oracle::Laws, script)
}

/// As [`run`] on scripts of [`histories::script`], judged by order.
pub fn run_histories<S: Subject>(config: &Config<'_>, boot: Boot<S>) -> EngineReport {
    run_on("histories", config, boot, Oracle::Order, |rng, _| histories::script(rng))
}

fn run_on<S: Subject>(
    name: &'static str,
    config: &Config<'_>,
    boot: Boot<S>,
    oracle: Oracle,
    script: impl Fn(&mut Rng, u64) -> Script,
) -> EngineReport {
    let mut report = EngineReport::new(name);
    let mut clock = config.clock(name);
    let mut schedules = 0;
    while clock.goes_on(schedules, report.operations) {
        let case = report.cases;
        let script = script(&mut Rng::for_case(config.seed, case), case);
        report.cases += 1;
        if oracle == Oracle::Order && !histories::fits(&script) {
            continue;
        }
        let seed = Rng::for_case(config.seed, case).next_u64();
        let strategy = match case % 4 {
            0 | 1 => Strategy::Random(seed),
            2 => Strategy::Pct(seed, 3),
            // Who waits for a worker looks again and again: there is no end of such schedules.
            _ if script.ops.len() <= 6 && script.rules.drain_scheme == DrainScheme::Remote => {
                Strategy::DepthFirst
            }
            _ => Strategy::Pct(seed, 2),
        };
        let left = config.budget.cases.map_or(FOR_EACH, |cases| (cases - schedules).min(FOR_EACH));
        let explored = explore(&script, boot, strategy, left, oracle);
        schedules += explored.schedules;
        report.operations += explored.schedules * script.ops.len() as u64;
        report.add_laws(&explored.laws);
        report.marks.add(&explored.marks);
        if let Some((finding, schedule)) = explored.found {
            let before = script.ops.len();
            let (finding, script, schedule) =
                shrink_case(&script, boot, finding, schedule, oracle, config.shrink_runs);
            report.failures.push(Failure {
                engine: name,
                finding,
                script,
                schedule: Some(schedule),
                own: None,
                seed: config.seed,
                case,
                operations_before: before,
                file: None,
            });
            if report.failures.len() >= config.failures {
                break;
            }
        }
    }
    report.schedules = Some(schedules);
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}
