//! Generated scripts on an allocator of frames.

use super::bench::{Bench, Counters};
use super::generate::script as generate_script;
use super::promise::Promise;
use crate::drive::catch;
use crate::engine::{Budget, Config, EngineReport, Failure, Finding};
use crate::generate::Rng;
use crate::lawful::Exercised;
use crate::script::Script;
use crate::shrink;
use mmspec_model::contract::{FrameAllocator, FrameCounters};
use mmspec_model::vocab::PfnRange;
use std::cell::Cell;

/// Cases of [`expect`].
const CASES: u64 = 5_000;

/// Seed of [`expect`].
const SEED: u64 = 1;

/// Check `cases` generated cases; stops at the first failure, shrunk.
pub fn check<A: FrameAllocator>(
    promise: &Promise,
    make: impl Fn(&[PfnRange]) -> A,
    seed: u64,
    cases: u64,
) -> EngineReport {
    run(&Config::new(seed, Budget::cases(cases)), promise, &make, None)
}

/// As [`check`], with the allocator's counters compared at every step.
pub fn check_counted<A: FrameAllocator + FrameCounters>(
    promise: &Promise,
    make: impl Fn(&[PfnRange]) -> A,
    seed: u64,
    cases: u64,
) -> EngineReport {
    run_counted(&Config::new(seed, Budget::cases(cases)), promise, make)
}

/// As [`check_counted`], within a budget.
pub fn run_counted<A: FrameAllocator + FrameCounters>(
    config: &Config<'_>,
    promise: &Promise,
    make: impl Fn(&[PfnRange]) -> A,
) -> EngineReport {
    let counters = |allocator: &A| (allocator.free_frames(), allocator.managed_frames());
    run(config, promise, &make, Some(&counters))
}

/// Check with the usual number of cases and fail the test with the shrunk case.
///
/// # Panics
/// The promise is broken.
pub fn expect<A: FrameAllocator>(promise: &Promise, make: impl Fn(&[PfnRange]) -> A) {
    demand(&check(promise, make, SEED, CASES));
}

/// As [`expect`], with counters.
///
/// # Panics
/// The promise is broken.
pub fn expect_counted<A: FrameAllocator + FrameCounters>(
    promise: &Promise,
    make: impl Fn(&[PfnRange]) -> A,
) {
    demand(&check_counted(promise, make, SEED, CASES));
}

fn demand(report: &EngineReport) {
    if let Some(failure) = report.failures.first() {
        panic!("{}", failure.to_text("conformance::replay with this text"));
    }
}

/// Run the case in a text again.
///
/// # Errors
/// The text is no script, or the promise is broken.
pub fn replay<A: FrameAllocator>(
    promise: &Promise,
    make: impl Fn(&[PfnRange]) -> A,
    text: &str,
) -> Result<(), String> {
    let script = Script::parse("case", text).map_err(|error| error.to_string())?;
    match look(promise, &script, &make, None, &mut Exercised::new()) {
        Ok(_) => Ok(()),
        Err(finding) => Err(finding.what),
    }
}

fn look<A: FrameAllocator>(
    promise: &Promise,
    script: &Script,
    make: &impl Fn(&[PfnRange]) -> A,
    counters: Counters<'_, A>,
    exercised: &mut Exercised,
) -> Result<u64, Finding> {
    let position = Cell::new(0);
    let bench = Bench::new(promise, script, counters, exercised, &position);
    catch(|| bench.run(script, make)).unwrap_or_else(|what| {
        Err(Finding { kind: "panic".to_owned(), what, at: Some(position.get()) })
    })
}

fn run<A: FrameAllocator>(
    config: &Config<'_>,
    promise: &Promise,
    make: &impl Fn(&[PfnRange]) -> A,
    counters: Counters<'_, A>,
) -> EngineReport {
    let mut report = EngineReport::new("conformance");
    let mut clock = config.clock("conformance");
    while clock.goes_on(report.cases, report.operations) {
        let case = report.cases;
        let script = generate_script(&mut Rng::for_case(config.seed, case), promise);
        report.cases += 1;
        let finding = match look(promise, &script, make, counters, &mut report.laws) {
            Ok(operations) => {
                report.operations += operations;
                continue;
            }
            Err(finding) => finding,
        };
        let again =
            |script: &Script| look(promise, script, make, counters, &mut Exercised::new()).err();
        let inside = |script: &Script| script.machine.max_order == promise.max_order;
        let same = |script: &Script| {
            inside(script) && again(script).is_some_and(|other| other.kind == finding.kind)
        };
        let small = shrink::shrink(&script, config.shrink_runs, same);
        report.failures.push(Failure {
            engine: "conformance",
            finding: again(&small).unwrap_or(finding),
            script: small,
            schedule: None,
            seed: config.seed,
            case,
            operations_before: script.ops.len(),
            file: None,
        });
        break;
    }
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}
