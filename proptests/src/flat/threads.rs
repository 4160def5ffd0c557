//! Generated cases by threads, under schedules.

use super::shrink::shrink;
use super::{Case, Field, Language, Op};
use crate::compaction::Choices;
use crate::engine::{Config, EngineReport, Failure, OwnCase};
use crate::generate::Rng;
use crate::lawful::Exercised;
use crate::schedules::{Executed, Strategy};

/// Schedules for each case before the next one.
const FOR_EACH: u64 = 32;
/// Schedules that a smaller case has to fail in.
const SHRINK_FOR_EACH: u64 = 200;
/// Smaller cases tried at most.
const SHRINK_TRIALS: usize = 150;

/// What one thread does: operations with their places in the case.
pub type Thread<V> = Vec<(usize, Op<V>)>;

/// A case cut in two: what is done alone first, and what each thread does. `apart`: the verb from which on threads run,
/// and which others' CPU is no thread's.
pub fn columns<L: Language>(
    case: &Case<L>,
    apart: L::Verb,
    remote: impl Fn(L::Verb) -> bool,
) -> (Thread<L::Verb>, Vec<Thread<L::Verb>>) {
    let mut threads = vec![Vec::new(); usize::from(case.cpus)];
    let mut ops = case.ops.iter().copied().enumerate();
    let alone = ops.by_ref().take_while(|(_, op)| op.verb != apart).collect();
    let mut thread = 0;
    for (at, op) in ops.filter(|(_, op)| op.verb != apart) {
        if Case::<L>::words(op.verb).1.contains(&Field::Cpu) && !remote(op.verb) {
            thread = usize::from(op.cpu);
        }
        threads[thread].push((at, op));
    }
    (alone, threads)
}

/// How a language runs threads: that of its implementation, or one with a planted fault.
pub type Explore<'a, L> = &'a dyn Fn(&Case<L>, Strategy, u64, &mut Exercised) -> Executed;

/// Run generated cases under random and PCT schedules within the budget; `cases` of it count schedules.
pub fn hunt<L: Language>(config: &Config<'_>, explore: Explore<'_, L>) -> EngineReport
where
    OwnCase: From<Case<L>>,
{
    let mut report = EngineReport::new(L::ENGINE);
    let mut clock = config.clock(L::ENGINE);
    let (mut schedules, mut number) = (0, 0);
    while clock.goes_on(schedules, report.operations) {
        // Other cases than those without threads.
        let mut rng = Rng::for_case(config.seed ^ 0x7468_7265, number);
        let seed = rng.next_u64();
        let case = L::generate_threads(&mut Choices::Random(rng));
        number += 1;
        let strategy = match number % 3 {
            0 => Strategy::Pct(seed, 3),
            1 => Strategy::Pct(seed, 2),
            _ => Strategy::Random(seed),
        };
        let left = config.budget.cases.map_or(FOR_EACH, |cases| (cases - schedules).min(FOR_EACH));
        let executed = explore(&case, strategy, left, &mut report.laws);
        schedules += executed.schedules;
        report.operations += executed.schedules * case.ops.len() as u64;
        let Some((finding, schedule)) = executed.found else { continue };
        let again = |case: &Case<L>| {
            let seed = config.seed;
            let strategies = [Strategy::Pct(seed, 3), Strategy::Random(seed)];
            strategies.into_iter().find_map(|strategy| {
                explore(case, strategy, SHRINK_FOR_EACH, &mut Exercised::new())
                    .found
                    .filter(|(other, _)| other.kind == finding.kind)
            })
        };
        let trials = config.shrink_runs.min(SHRINK_TRIALS);
        let mut small = case.clone();
        let mut found = (finding.clone(), schedule);
        if trials > 0 {
            let smaller = shrink(&case, trials, |case| again(case).is_some());
            if let Some(other) = again(&smaller) {
                (small, found) = (smaller, other);
            }
        }
        small.schedule = Some(found.1);
        let before = case.ops.len();
        report.failures.push(Failure::own(
            L::ENGINE,
            found.0,
            small,
            config.seed,
            number - 1,
            before,
        ));
        if report.failures.len() >= config.failures {
            break;
        }
    }
    report.schedules = Some(schedules);
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}
