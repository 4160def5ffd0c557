//! Generated scripts, one after another.

use super::judge::{Depth, Exercised, judge};
use crate::drive::catch;
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::generate::{self, Rng};
use crate::marks::Marks;
use crate::script::Script;
use crate::shrink;
use mmspec_model::contract::LinuxPolicy;
use std::cell::Cell;

/// Run one script on a fresh allocator; panics are findings.
///
/// # Errors
/// The first law that broke, or the panic, with its place.
pub fn check_script<A: LinuxPolicy>(
    script: &Script,
    boot: impl Fn(&Script) -> A,
    depth: Depth<'_>,
    exercised: &mut Exercised,
    marks: Option<&mut Marks>,
) -> Result<u64, Finding> {
    let position = Cell::new(usize::MAX);
    let result = catch(|| {
        let depth = Depth { position: Some(&position), ..depth };
        judge(script, &mut boot(script), depth, exercised, marks)
    });
    match result {
        Ok(Ok(operations)) => Ok(operations),
        Ok(Err(broke)) => Err(broke.finding()),
        Err(what) => {
            let at = (position.get() != usize::MAX).then_some(position.get());
            Err(Finding { kind: "panic".to_owned(), what, at })
        }
    }
}

/// Run generated scripts within the budget, at the levels of `depth`.
pub fn run<A: LinuxPolicy>(
    config: &Config<'_>,
    depth: Depth<'_>,
    boot: impl Fn(&Script) -> A,
) -> EngineReport {
    let mut report = EngineReport::new("laws");
    let mut clock = config.clock("laws");
    while clock.goes_on(report.cases, report.operations) {
        let case = report.cases;
        let script = generate::script(&mut Rng::for_case(config.seed, case), &config.limits);
        report.cases += 1;
        let (exercised, marks) = (&mut report.laws, &mut report.marks);
        match check_script(&script, &boot, depth, exercised, Some(marks)) {
            Ok(operations) => report.operations += operations,
            Err(finding) => {
                report.failures.push(shrunk(config, depth, case, &script, finding, &boot));
                if report.failures.len() >= config.failures {
                    break;
                }
            }
        }
    }
    report.cancelled = clock.cancelled();
    report.seconds = clock.seconds();
    report
}

/// The smallest script that breaks the same law.
fn shrunk<A: LinuxPolicy>(
    config: &Config<'_>,
    depth: Depth<'_>,
    case: u64,
    script: &Script,
    finding: Finding,
    boot: &impl Fn(&Script) -> A,
) -> Failure {
    let closely = Depth { lists_every: 1, probe_every: 1, ..depth };
    // Who looks closely may meet another broken law first: that one is shrunk then.
    let by = |script: &Script, depth| {
        check_script(script, boot, depth, &mut Exercised::new(), None).err()
    };
    let close = by(script, closely);
    let depth = if close.is_some() { closely } else { depth };
    let finding = close.unwrap_or(finding);
    let look = |script: &Script| by(script, depth);
    let same = |script: &Script| look(script).is_some_and(|other| other.kind == finding.kind);
    let mut start = script.clone();
    if let Some(at) = finding.at {
        start.ops.truncate(at + 1);
    }
    let start = if same(&start) { start } else { script.clone() };
    let small = shrink::shrink(&start, config.shrink_runs, same);
    let finding = look(&small).unwrap_or(finding);
    Failure {
        engine: "laws",
        finding,
        script: small,
        schedule: None,
        own: None,
        seed: config.seed,
        case,
        operations_before: script.ops.len(),
        file: None,
    }
}
