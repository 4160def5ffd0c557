//! All engines, one after another, each with its share of the time.

use crate::table::number;
use mmspec_impl::OwnedAllocator;
use mmspec_impl::platform::StdPlatform;
use mmspec_model::reference::Reference;
use mmspec_proptests::engine::{
    Budget, Config, EngineReport, Failure, Folder, FolderError, Progress,
};
use mmspec_proptests::explorer::{self, Bounds};
use mmspec_proptests::lawful::Depth;
use mmspec_proptests::schedules::Fine;
use mmspec_proptests::script::Script;
use mmspec_proptests::{canaries, differential, lawful, schedules};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The engines in the order in which they run.
pub(crate) const ENGINES: [&str; 5] =
    ["regressions", "differential", "laws", "explorer", "schedules"];

/// Stored cases, from where the command runs.
const REGRESSIONS: &str = "proptests/regressions";

/// What to run.
pub(crate) struct Plan<'a> {
    pub(crate) seed: u64,
    /// For all engines together; looking for canaries comes on top.
    pub(crate) time: Duration,
    /// The engines wanted; none: all.
    pub(crate) engines: &'a [String],
    pub(crate) cancel: &'a AtomicBool,
    pub(crate) progress: &'a dyn Fn(String),
}

/// The share of the time that an engine gets, in relation to the others. Stored cases take what
/// they need.
fn weight(engine: &str) -> u32 {
    match engine {
        "differential" => 3,
        "laws" | "schedules" => 2,
        "explorer" => 1,
        _ => 0,
    }
}

/// Run the plan.
pub(crate) fn run(plan: &Plan<'_>) -> Result<Vec<EngineReport>, FolderError> {
    let wanted = |name: &&&str| plan.engines.is_empty() || plan.engines.iter().any(|e| e == **name);
    let engines: Vec<&str> = ENGINES.iter().filter(wanted).copied().collect();
    let weights: u32 = engines.iter().map(|engine| weight(engine)).sum();
    let mut reports = Vec::new();
    for engine in engines {
        if plan.cancel.load(Ordering::Relaxed) {
            break;
        }
        let time = plan.time * weight(engine) / weights.max(1);
        reports.push(one(plan, engine, time)?);
    }
    Ok(reports)
}

fn one(plan: &Plan<'_>, engine: &str, time: Duration) -> Result<EngineReport, FolderError> {
    let say = |progress: Progress| {
        let percent = (progress.share * 100.0) as u64;
        let (done, operations) = (number(progress.done), number(progress.operations));
        let name = progress.engine;
        (plan.progress)(format!("{name} {percent} %: {done} cases, {operations} operations"));
    };
    let config = Config {
        cancel: Some(plan.cancel),
        progress: Some(&say),
        ..Config::new(plan.seed, Budget::time(time))
    };
    let canary = || {
        (plan.progress)(format!("{engine}: looking for the canaries"));
        !plan.cancel.load(Ordering::Relaxed)
    };
    let report = match engine {
        "regressions" => regressions(&config)?,
        "differential" => {
            let mut report = differential::run(&config, reference, owned);
            if canary() {
                canaries::of_differential(&config, &mut report, reference);
            }
            report
        }
        "laws" => {
            let half = Config { budget: Budget::time(time / 2), ..config };
            let mut report = lawful::run(&half, Depth::default(), owned);
            add(&mut report, lawful::run(&half, Depth::default(), reference));
            if canary() {
                canaries::of_laws(&config, &mut report, reference);
            }
            report
        }
        "explorer" => {
            let bounds = Bounds { time: Some(time), ..Bounds::default() };
            explorer::explore(&config, bounds, reference, owned)
        }
        _ => {
            let mut report = schedules::run(&config, shuttled);
            if canary() {
                canaries::of_schedules(&config, &mut report);
            }
            report
        }
    };
    Ok(report)
}

/// Stored cases: comparison and laws.
fn regressions(config: &Config<'_>) -> Result<EngineReport, FolderError> {
    let started = Instant::now();
    let mut report = EngineReport::new("regressions");
    for (path, script) in Folder::new(REGRESSIONS).scripts()? {
        report.cases += 1;
        report.operations += script.ops.len() as u64;
        let compared = differential::check_script(&script, reference, owned, None).map(|_| ());
        let judged = lawful::check_script(
            &script,
            owned,
            Depth::default(),
            &mut report.laws,
            Some(&mut report.marks),
        );
        if let Err(finding) = compared.and(judged.map(|_| ())) {
            report.failures.push(Failure {
                engine: "regressions",
                finding,
                operations_before: script.ops.len(),
                script,
                schedule: None,
                seed: config.seed,
                case: report.cases - 1,
                file: Some(path),
            });
        }
    }
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// The same engine on another allocator.
fn add(report: &mut EngineReport, other: EngineReport) {
    report.cases += other.cases;
    report.operations += other.operations;
    report.seconds += other.seconds;
    report.cancelled |= other.cancelled;
    report.failures.extend(other.failures);
    report.add_laws(&other.laws);
    report.marks.add(&other.marks);
}

/// The specification. Engines run valid scripts only: booting one cannot fail.
pub(crate) fn reference(script: &Script) -> Reference {
    Reference::new(&script.machine, script.rules, script.tunables).expect("a valid script boots")
}

/// The implementation on std.
pub(crate) fn owned(script: &Script) -> OwnedAllocator {
    OwnedAllocator::<StdPlatform>::new(script.machine.as_ref(), script.rules, script.tunables)
        .expect("a valid script boots")
}

/// The implementation under shuttle.
pub(crate) fn shuttled(script: &Script) -> OwnedAllocator<Fine> {
    OwnedAllocator::new(script.machine.as_ref(), script.rules, script.tunables)
        .expect("a valid script boots")
}
