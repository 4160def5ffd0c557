//! Generated cases, one after another.

use super::shrink::shrink;
use super::{Case, Language, hunt_threads};
use crate::compaction::Choices;
use crate::drive::catch;
use crate::engine::{Budget, Config, EngineReport, Failure, Finding, OwnCase};
use crate::generate::Rng;
use crate::lawful::Exercised;
use crate::schedules::Strategy;

/// Operations above this many are cut off, when bytes are text.
const MOST_OPS: usize = 500;

/// Play a case; panics are findings.
fn look<L: Language>(case: &Case<L>, exercised: &mut Exercised) -> Result<u64, Finding> {
    catch(|| L::play(case, exercised))
        .unwrap_or_else(|what| Err(Finding { kind: "panic".to_owned(), what, at: None }))
}

/// Play a case again, under its schedule if it has one.
///
/// # Errors
/// What is wrong with it.
pub fn replay<L: Language>(case: &Case<L>) -> Result<u64, Finding> {
    let Some(schedule) = &case.schedule else { return look(case, &mut Exercised::new()) };
    let strategy = Strategy::Replay(schedule.clone());
    let executed = L::explore(case, strategy, 1, &mut Exercised::new());
    executed.found.map_or(Ok(case.ops.len() as u64), |(finding, _)| Err(finding))
}

/// Play generated cases within the budget: half of the time one operation after another, half of it by threads. Cases
/// of the budget count cases there and schedules here.
pub fn run<L: Language>(config: &Config<'_>) -> EngineReport
where
    OwnCase: From<Case<L>>,
{
    let half = config.budget.time.map(|time| time / 2);
    let config = &Config { budget: Budget { time: half, ..config.budget }, ..*config };
    let mut report = hunt::<L>(config, &|case, exercised| L::play(case, exercised));
    if !report.cancelled && report.failures.len() < config.failures {
        report.merge(hunt_threads::<L>(config, &L::explore));
    }
    report
}

/// How a language plays a case: on its implementation, or on one with a planted fault.
pub type Play<'a, L> = &'a dyn Fn(&Case<L>, &mut Exercised) -> Result<u64, Finding>;

/// The same with another player: of an allocator with a planted fault.
pub fn hunt<L: Language>(config: &Config<'_>, play: Play<'_, L>) -> EngineReport
where
    OwnCase: From<Case<L>>,
{
    let look = |case: &Case<L>, exercised: &mut Exercised| {
        catch(|| play(case, exercised))
            .unwrap_or_else(|what| Err(Finding { kind: "panic".to_owned(), what, at: None }))
    };
    let mut report = EngineReport::new(L::ENGINE);
    let mut clock = config.clock(L::ENGINE);
    while clock.goes_on(report.cases, report.operations) {
        let number = report.cases;
        let case = L::generate(&mut Choices::Random(Rng::for_case(config.seed, number)));
        report.cases += 1;
        let finding = match look(&case, &mut report.laws) {
            Ok(operations) => {
                report.operations += operations;
                continue;
            }
            Err(finding) => finding,
        };
        let again = |case: &Case<L>| look(case, &mut Exercised::new());
        let same = |case: &Case<L>| again(case).is_err_and(|other| other.kind == finding.kind);
        let small = shrink(&case, config.shrink_runs, same);
        let finding = again(&small).err().unwrap_or(finding);
        let before = case.ops.len();
        report.failures.push(Failure::own(L::ENGINE, finding, small, config.seed, number, before));
        if report.failures.len() >= config.failures {
            break;
        }
    }
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}

/// Bytes are a case; it must play, and its text must give it back.
///
/// # Panics
/// It does not; the message holds the case as text.
pub fn fuzz<L: Language>(data: &[u8]) {
    let case = L::generate(&mut Choices::Bytes(data));
    let text = case.to_string();
    assert_eq!(Case::parse("text", &text).as_ref(), Ok(&case), "{text}");
    if let Err(finding) = replay(&case) {
        panic!("{}\n{text}", finding.what);
    }
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(mut case) = Case::<L>::parse("input", text)
    {
        case.ops.truncate(MOST_OPS);
        // Schedules are not for this engine: they run for long.
        case.schedule = None;
        if let Err(finding) = replay(&case) {
            panic!("{}\n{case}", finding.what);
        }
    }
}
