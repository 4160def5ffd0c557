//! The run.

use super::options::{Engine, Options};
use super::report::CheckReport;
use crate::canaries;
use crate::compaction;
use crate::conformance::{self, Plain, PlainFault, Promise, Subject};
use crate::differential;
use crate::engine::{
    Budget, Case, Config, EngineReport, Failure, Finding, Folder, FolderError, OwnCase,
};
use crate::explorer::{self, Bounds};
use crate::flat::{self, Language};
use crate::lawful::{self, Depth, Exercised};
use crate::memcg::{self, Memcg};
use crate::schedules::{self, Coarse, Fine};
use crate::script::Script;
use crate::slab::Slab;
use crate::trace::selfcheck;
use mmspec_impl::{OwnedAllocator, Platform};
use mmspec_model::contract::Run;
use mmspec_model::reference::Reference;
use mmspec_model::vocab::Order;
use std::path::Path;

/// Scripts are validated before they are booted, so neither boot fails.
fn reference(script: &Script) -> Reference {
    Reference::new(&script.machine, script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

fn owned<P: Platform>(script: &Script) -> OwnedAllocator<P> {
    OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables)
        .unwrap_or_else(|error| panic!("{error}"))
}

type Standard = mmspec_impl::platform::StdPlatform;

/// Run the engines asked for and report.
///
/// # Errors
/// The regression folder cannot be read, or the failure folder cannot be written.
pub fn check(options: &Options<'_>) -> Result<CheckReport, FolderError> {
    let mut reports = Vec::new();
    for engine in Engine::ALL.into_iter().filter(|engine| options.wants(*engine)) {
        let mut config = Config::new(options.seed, options.budget_of(engine));
        config.cancel = options.cancel;
        config.progress = options.progress;
        let mut report = match engine {
            Engine::Regressions => regressions(options)?,
            Engine::Differential => run_differential(&config),
            Engine::Laws => run_laws(&config),
            Engine::Conformance => run_conformance(&config),
            Engine::Explorer => run_explorer(&config),
            Engine::Schedules => run_schedules(&config),
            Engine::Histories => run_histories(&config),
            Engine::Compaction => run_compaction(&config),
            Engine::Memcg => run_memcg(&config),
            Engine::Slab => run_slab(&config),
            Engine::Trace => selfcheck::run(&config),
        };
        if let Some(folder) = &options.failures {
            let folder = Folder::new(folder);
            for failure in report.failures.iter_mut().filter(|failure| failure.file.is_none()) {
                folder.save(failure)?;
            }
        }
        let cancelled = report.cancelled;
        reports.push(report);
        if cancelled {
            break;
        }
    }
    Ok(CheckReport::new(options.seed, reports, options.is_full()))
}

/// Run a stored case again: under its schedule if it has one (by the laws, and by order if it is
/// small enough for that), else on reference and implementation
/// in lockstep and by the laws on both.
///
/// # Errors
/// What is wrong with it.
pub fn replay(case: &Case) -> Result<(), Finding> {
    if let Some(schedule) = &case.schedule {
        return match schedules::replay(&case.script, owned::<Fine>, schedule)
            .or_else(|| schedules::replay(&case.script, owned::<Coarse>, schedule))
        {
            Some(finding) => Err(finding),
            None => Ok(()),
        };
    }
    let script = &case.script;
    let depth = Depth { lists_every: 1, probe_every: 1, ..Depth::default() };
    let mut exercised = Exercised::new();
    lawful::check_script(script, reference, depth, &mut exercised, None)?;
    lawful::check_script(script, owned::<Standard>, depth, &mut exercised, None)?;
    if differential::unspecified(script).is_none() {
        differential::check_script(script, reference, owned::<Standard>, None)?;
    }
    Ok(())
}

fn regressions(options: &Options<'_>) -> Result<EngineReport, FolderError> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions");
    let folder = Folder::new(options.regressions.clone().unwrap_or(own));
    let mut report = EngineReport::new(Engine::Regressions.name());
    let config = Config::new(options.seed, Budget::default());
    let clock = config.clock(report.name);
    for (path, case) in folder.compactions()? {
        report.cases += 1;
        report.operations += case.acts.len() as u64;
        if let Err(finding) = compaction::replay(&case) {
            let (seed, acts) = (options.seed, case.acts.len());
            let mut failure = Failure::own("compaction", finding, case, seed, report.cases, acts);
            failure.file = Some(path);
            report.failures.push(failure);
        }
    }
    flats::<Memcg>(&folder, options.seed, &mut report)?;
    flats::<Slab>(&folder, options.seed, &mut report)?;
    for (path, case) in folder.cases()? {
        report.cases += 1;
        report.operations += case.script.ops.len() as u64;
        if let Err(finding) = replay(&case) {
            report.failures.push(Failure {
                engine: report.name,
                finding,
                operations_before: case.script.ops.len(),
                script: case.script,
                schedule: case.schedule,
                own: None,
                seed: options.seed,
                case: report.cases,
                file: Some(path),
            });
        }
    }
    report.seconds = clock.seconds();
    Ok(report)
}

/// Stored cases of a language of one-line operations.
fn flats<L: Language>(
    folder: &Folder,
    seed: u64,
    report: &mut EngineReport,
) -> Result<(), FolderError>
where
    OwnCase: From<flat::Case<L>>,
{
    for (path, case) in folder.flats::<L>()? {
        report.cases += 1;
        report.operations += case.ops.len() as u64;
        if let Err(finding) = flat::replay(&case) {
            let ops = case.ops.len();
            let mut failure = Failure::own(L::ENGINE, finding, case, seed, report.cases, ops);
            failure.file = Some(path);
            report.failures.push(failure);
        }
    }
    Ok(())
}

fn run_differential(config: &Config<'_>) -> EngineReport {
    let mut report = differential::run(config, reference, owned::<Standard>);
    canaries::of_differential(config, &mut report, owned::<Standard>);
    report
}

/// Half of the time each on the implementation and the reference.
fn run_laws(config: &Config<'_>) -> EngineReport {
    let half = config.budget.time.map(|time| time / 2);
    let config = Config { budget: Budget { time: half, ..config.budget }, ..*config };
    let mut report = lawful::run(&config, Depth::default(), owned::<Standard>);
    let second = lawful::run(&config, Depth::default(), reference);
    report.merge(second);
    canaries::of_laws(&config, &mut report, owned::<Standard>);
    report
}

fn run_compaction(config: &Config<'_>) -> EngineReport {
    let mut report = compaction::run(config);
    canaries::of_compaction(config, &mut report);
    report
}

/// Three quarters of the time for generated cases, one for all short sequences.
fn run_memcg(config: &Config<'_>) -> EngineReport {
    let part = |quarters| {
        let time = config.budget.time.map(|time| time * quarters / 4);
        Config { budget: Budget { time, ..config.budget }, ..*config }
    };
    let mut report = flat::run::<Memcg>(&part(3));
    if report.cancelled {
        return report;
    }
    report.merge(memcg::exhaust(&part(1), memcg::Bounds::default()));
    canaries::of_memcg(config, &mut report);
    report
}

fn run_slab(config: &Config<'_>) -> EngineReport {
    let mut report = flat::run::<Slab>(config);
    canaries::of_slab(config, &mut report);
    report
}

/// The largest order of the frame allocators under test.
const TOP: Order = Order::of(4);

/// A third of the time each: the smallest contract, runs of any length, and all capabilities.
fn run_conformance(config: &Config<'_>) -> EngineReport {
    let third = config.budget.time.map(|time| time / 3);
    let part = Config { budget: Budget { time: third, ..config.budget }, ..*config };
    let promise = Promise::complete(TOP);
    let plain = |memory: &[Run]| Plain::over(memory, TOP);
    let blocks = Subject::frames(|regions| Plain::new(regions, TOP)).counted();
    let mut report = conformance::run(&part, &promise, &blocks);
    report.merge(conformance::run(&part, &promise, &Subject::runs(plain).counted()));
    let all = Subject::runs(plain).counted().resizing().placing();
    report.merge(conformance::run(&part, &promise, &all));
    if report.cancelled {
        return report;
    }
    for fault in PlainFault::ALL {
        let make = |memory: &[Run]| Plain::planted_over(memory, TOP, Some(fault));
        let subject = Subject::runs(make).counted().resizing().placing();
        let hunted = conformance::check(&promise, &subject, config.seed, 20_000);
        report.canary(fault.name(), !hunted.failures.is_empty());
    }
    report
}

fn run_explorer(config: &Config<'_>) -> EngineReport {
    let bounds = Bounds {
        depth: None,
        time: config.budget.time,
        transitions: config.budget.cases,
        ..Bounds::default()
    };
    let mut report = explorer::explore(config, bounds, reference, owned::<Standard>);
    canaries::of_explorer(config, &mut report, owned::<Standard>);
    report
}

/// Scheduling points at locks only: what is read without one is read at one moment.
fn run_histories(config: &Config<'_>) -> EngineReport {
    let mut report = schedules::run_histories(config, owned::<Coarse>);
    canaries::of_histories(config, &mut report);
    report
}

/// Half of the time with scheduling points at locks only, half at every shared word too.
fn run_schedules(config: &Config<'_>) -> EngineReport {
    let half = config.budget.time.map(|time| time / 2);
    let config = Config { budget: Budget { time: half, ..config.budget }, ..*config };
    let mut report = schedules::run(&config, owned::<Coarse>);
    let second = schedules::run(&config, owned::<Fine>);
    report.merge(second);
    canaries::of_schedules(&config, &mut report);
    report
}
