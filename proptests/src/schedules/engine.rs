//! Scripts under schedules.

use super::body::{concurrent_script, execute};
use super::schedulers::{Choice, Record, Recording, Schedule};
use super::shrinking::shrink_case;
use super::subject::{Boot, Subject};
use crate::drive::catch;
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::generate::{self, Limits, Rng};
use crate::lawful::{Exercised, quiet_laws};
use crate::script::{Op, Script};
use mmspec_impl::OwnedAllocator;
use mmspec_model::laws::{Numbers, Setting};
use mmspec_model::vocab::{CpuId, Machine, MigrateType, Order, ZoneKind};
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
}

/// Steps after which an execution counts as one without end. Executions of the engine's scripts
/// take some hundreds.
const MOST_STEPS: usize = 200_000;

/// Run `script` under at most `most` schedules, stopping at the first finding.
pub fn explore<S: Subject>(
    script: &Script,
    boot: Boot<S>,
    strategy: Strategy,
    most: u64,
) -> Explored {
    let booted = OwnedAllocator::<mmspec_impl::platform::StdPlatform>::new(
        script.machine.as_ref(),
        script.rules,
        script.tunables,
    );
    let Ok(booted) = booted else { return Explored::default() };
    let numbers = Numbers::of(&booted, script.machine.cpus);
    let setting = Arc::new(Setting::new(&script.machine, script.rules, numbers));
    let asked = quiet_laws(S::LAWS);
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
    let outcome: Arc<Mutex<(Option<Finding>, Exercised)>> = Arc::default();
    let (script, inner, shared) = (Arc::new(script.clone()), record.clone(), Arc::clone(&outcome));
    let ended = catch(move || {
        Runner::new(scheduler, config).run(move || {
            // Only this thread touches it; it is not held while threads run.
            let take = || shared.lock().unwrap_or_else(PoisonError::into_inner);
            let mut laws = std::mem::take(&mut take().1);
            let found = execute(&script, &setting, &asked, boot, &mut laws);
            let mut outcome = take();
            outcome.1 = laws;
            if let Some(found) = found {
                outcome.0.get_or_insert(found);
                inner.stop();
            }
        })
    });
    let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
    let found = match ended {
        Ok(_) => outcome.0.take(),
        Err(what) => {
            let kind = if what.contains("deadlock") {
                "deadlock"
            } else if what.contains("max_steps") {
                "endless"
            } else {
                "panic"
            };
            Some(Finding { kind: kind.to_owned(), what, at: None })
        }
    };
    Explored {
        schedules: record.executions(),
        complete: record.complete(),
        found: found.map(|found| (found, record.schedule())),
        laws: std::mem::take(&mut outcome.1),
    }
}

/// Run one script under one schedule.
pub fn replay<S: Subject>(script: &Script, boot: Boot<S>, schedule: &Schedule) -> Option<Finding> {
    explore(script, boot, Strategy::Replay(schedule.clone()), 1).found.map(|(found, _)| found)
}

/// Schedules for each script before the next one.
const FOR_EACH: u64 = 96;

/// Operations of one script, for each CPU about a third of them.
const OPERATIONS: usize = 24;

/// Generated scripts under random and PCT schedules within the budget; `cases` of the budget count
/// schedules. Small scripts are also run depth first, as far as a bound allows.
pub fn run<S: Subject>(config: &Config<'_>, boot: Boot<S>) -> EngineReport {
    let mut report = EngineReport::new("schedules");
    let mut clock = config.clock("schedules");
    let mut schedules = 0;
    while clock.goes_on(schedules, report.operations) {
        let case = report.cases;
        let script = script(&mut Rng::for_case(config.seed, case), case);
        report.cases += 1;
        let seed = Rng::for_case(config.seed, case).next_u64();
        let strategy = match case % 4 {
            0 | 1 => Strategy::Random(seed),
            2 => Strategy::Pct(seed, 3),
            _ if script.ops.len() <= 6 => Strategy::DepthFirst,
            _ => Strategy::Pct(seed, 2),
        };
        let left = config.budget.cases.map_or(FOR_EACH, |cases| (cases - schedules).min(FOR_EACH));
        let explored = explore(&script, boot, strategy, left);
        schedules += explored.schedules;
        report.operations += explored.schedules * script.ops.len() as u64;
        report.add_laws(&explored.laws);
        if let Some((finding, schedule)) = explored.found {
            let before = script.ops.len();
            let (finding, script, schedule) =
                shrink_case(&script, boot, finding, schedule, config.shrink_runs);
            report.failures.push(Failure {
                engine: "schedules",
                finding,
                script,
                schedule: Some(schedule),
                runs: None,
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

/// How often, in a hundred, the machine is large enough for a refill batch above 1
/// (page_alloc.md §2.2): some races need one. Booting it takes longer than running the threads.
const LARGE_PERCENT: u64 = 4;

/// A script for threads: mostly a small machine with two or three CPUs, so that they meet.
#[must_use]
pub fn script(rng: &mut Rng, case: u64) -> Script {
    let cpus = if rng.percent(60) { 3 } else { 2 };
    let max_order = rng.between(2, 5) as u8;
    let pageblock = rng.between(2, u64::from(max_order)) as u8;
    let frames = *rng.pick(&[16, 31, 64, 64, 128]);
    let mut machine = Machine::small(cpus, frames, max_order, pageblock);
    machine.thp_order = None;
    if rng.percent(20) {
        let middle = frames / 2 + 1;
        machine.zones =
            Machine::new(1, &[(ZoneKind::Dma32, 0, middle), (ZoneKind::Normal, middle, frames)])
                .zones;
    }
    machine.pageblock_order = Order::of(pageblock);
    if rng.percent(LARGE_PERCENT) {
        machine = Machine::small(cpus, 16_384, 10, 9);
    }
    let operations = if case % 4 == 3 { 6 } else { OPERATIONS };
    let limits = Limits { ops: operations, rules: None };
    let mut script = concurrent_script(generate::script_on(rng, machine, &limits));
    if rng.percent(20) {
        season(rng, &mut script);
    }
    script
}

/// Isolation and frees past the per-CPU lists meet seldom by chance: strew in a few of each, at one
/// of the pageblocks from which blocks are handed out first.
fn season(rng: &mut Rng, script: &mut Script) {
    let machine = &script.machine;
    if machine.pageblock_order < Order::COSTLY {
        // See `differential::unspecified`.
        return;
    }
    let span = rng.pick(&machine.zones).span;
    let pfn = span.start.add(rng.below(span.len().min(2 * machine.pageblock_order.pages())));
    for _ in 0..rng.between(2, 4) {
        let cpu = CpuId(rng.below(u64::from(machine.cpus)) as u16);
        let op = match rng.weighted(&[2, 1, 2]) {
            0 => Op::Isolate { cpu, pfn },
            1 => Op::Unisolate { cpu, pfn, migratetype: MigrateType::Movable },
            _ => Op::FailTrylock { cpu, times: 1 },
        };
        let at = rng.below(script.ops.len() as u64 + 1) as usize;
        script.ops.insert(at, op);
    }
}
