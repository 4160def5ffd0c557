//! Generated cases on an allocator under test.

use super::bench::Bench;
use super::case::Case;
use super::generate::case as generate_case;
use super::shrink::shrink;
use super::{Promise, Subject};
use crate::drive::catch;
use crate::engine::{Budget, Config, EngineReport, Failure, Finding};
use crate::generate::Rng;
use crate::lawful::Exercised;
use std::cell::Cell;

/// Cases of [`expect`].
const CASES: u64 = 5_000;

/// Seed of [`expect`].
const SEED: u64 = 1;

/// Check `cases` generated cases; stops at the first failure, shrunk.
pub fn check<A>(
    promise: &Promise,
    subject: &Subject<'_, A>,
    seed: u64,
    cases: u64,
) -> EngineReport {
    run(&Config::new(seed, Budget::cases(cases)), promise, subject)
}

/// Check with the usual number of cases and fail the test with the shrunk case.
///
/// # Panics
/// The promise is broken.
pub fn expect<A>(promise: &Promise, subject: &Subject<'_, A>) {
    let report = check(promise, subject, SEED, CASES);
    if let Some(failure) = report.failures.first() {
        panic!("{}", failure.to_text(REPLAY));
    }
}

/// How a case of this engine is run again.
pub(crate) const REPLAY: &str = "conformance::replay with this text";

/// Run the case in a text again.
///
/// # Errors
/// The text is no case, or the promise is broken.
pub fn replay<A>(promise: &Promise, subject: &Subject<'_, A>, text: &str) -> Result<(), String> {
    let case = Case::parse("case", text).map_err(|error| error.to_string())?;
    match look(promise, subject, &case, &mut Exercised::new()) {
        Ok(_) => Ok(()),
        Err(finding) => Err(finding.what),
    }
}

fn look<A>(
    promise: &Promise,
    subject: &Subject<'_, A>,
    case: &Case,
    exercised: &mut Exercised,
) -> Result<u64, Finding> {
    let position = Cell::new(usize::MAX);
    let bench = Bench::new(promise, subject, case, exercised, &position);
    let result = catch(|| bench.run(case)).unwrap_or_else(|what| {
        Err(Finding { kind: "panic".to_owned(), what, at: Some(position.get()) })
    });
    // Before the first step and after the last one there is none to name.
    result.map_err(|finding| Finding { at: finding.at.filter(|at| *at != usize::MAX), ..finding })
}

/// Run generated cases within the budget; stops at the first failure, shrunk.
pub fn run<A>(config: &Config<'_>, promise: &Promise, subject: &Subject<'_, A>) -> EngineReport {
    let mut report = EngineReport::new("conformance");
    let mut clock = config.clock("conformance");
    while clock.goes_on(report.cases, report.operations) {
        let number = report.cases;
        let case = generate_case(&mut Rng::for_case(config.seed, number), promise, subject);
        report.cases += 1;
        let finding = match look(promise, subject, &case, &mut report.laws) {
            Ok(operations) => {
                report.operations += operations;
                continue;
            }
            Err(finding) => finding,
        };
        let again = |case: &Case| look(promise, subject, case, &mut Exercised::new()).err();
        let same = |case: &Case| {
            case.suits(promise, subject)
                && again(case).is_some_and(|other| other.kind == finding.kind)
        };
        let small = shrink(&case, config.shrink_runs, same);
        let finding = again(&small).unwrap_or(finding);
        report.failures.push(Failure::own(
            "conformance",
            finding,
            small,
            config.seed,
            number,
            case.steps.len(),
        ));
        break;
    }
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{Fit, Plain};
    use mmspec_model::vocab::Order;

    #[test]
    fn generated_cases_suit_and_reach_every_shape_of_memory() {
        let plain = |memory: &[_]| Plain::over(memory, Order::of(4));
        let all = Subject::runs(plain).resizing().placing();
        for promise in [
            Promise::complete(Order::of(4)),
            Promise::complete(Order::of(4)).fit(Fit::Exact).across_regions(),
            Promise::heap(1024).largest(200).least(64).grain(8).regions(2),
        ] {
            let mut seen = [0; 6];
            for number in 0..2_000 {
                let case = generate_case(&mut Rng::for_case(9, number), &promise, &all);
                assert!(case.suits(&promise, &all), "case {number}:\n{case}");
                assert_eq!(Case::parse("case", &case.to_string()).as_ref(), Ok(&case));
                let memory = &case.memory;
                let touches =
                    |at: usize| memory.iter().any(|other| other.end() == memory[at].start);
                seen[0] += u64::from(memory.iter().any(|run| run.start == 0));
                seen[1] += u64::from((0..memory.len()).any(touches));
                seen[2] += u64::from(!memory.is_sorted());
                seen[3] += u64::from(memory.iter().any(|run| !run.len.is_power_of_two()));
                seen[4] += u64::from(memory.iter().any(|run| !run.start.is_power_of_two()));
                seen[5] += u64::from(memory.len() == 1);
            }
            let one = promise.regions == 1;
            assert!(one || seen.iter().all(|times| *times > 60), "{promise:?}: {seen:?}");
        }
    }
}
