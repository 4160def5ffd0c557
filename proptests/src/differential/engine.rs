//! Generated scripts, one after another.

use super::domain::unspecified;
use super::lockstep::{Options, Stats, lockstep};
use crate::drive::catch;
use crate::engine::{Config, EngineReport, Failure, Finding};
use crate::generate::{self, Rng};
use crate::marks::Marks;
use crate::script::Script;
use crate::shrink;
use mmspec_model::contract::LinuxPolicy;
use std::cell::Cell;

/// What a run of this engine gives.
pub type Report = EngineReport;

/// One case in this many is watched for marks: watching costs a tenth of the time.
const WATCHED: u64 = 8;

/// Run one script on two fresh allocators; panics are findings.
///
/// # Errors
/// The first difference, or the panic, with its place.
pub fn check_script<R: LinuxPolicy, S: LinuxPolicy>(
    script: &Script,
    boot_expected: impl Fn(&Script) -> R,
    boot_got: impl Fn(&Script) -> S,
    marks: Option<&mut Marks>,
) -> Result<Stats, Finding> {
    let fast = attempt(script, &boot_expected, &boot_got, Options::default(), marks);
    let Err(late) = fast else { return fast };
    // Look again, at everything: the first difference may lie before the one noticed.
    let closely = Options { every: 1, touched: u64::MAX, position: None };
    match attempt(script, &boot_expected, &boot_got, closely, None) {
        Err(first) => Err(first),
        Ok(_) => Err(late),
    }
}

fn attempt<R: LinuxPolicy, S: LinuxPolicy>(
    script: &Script,
    boot_expected: &impl Fn(&Script) -> R,
    boot_got: &impl Fn(&Script) -> S,
    options: Options<'_>,
    marks: Option<&mut Marks>,
) -> Result<Stats, Finding> {
    let position = Cell::new(usize::MAX);
    let result = catch(|| {
        let (mut expected, mut got) = (boot_expected(script), boot_got(script));
        let options = Options { position: Some(&position), ..options };
        lockstep(script, &mut expected, &mut got, options, marks)
    });
    match result {
        Ok(Ok(stats)) => Ok(stats),
        Ok(Err(difference)) => Err(difference.finding()),
        Err(what) => {
            let at = (position.get() != usize::MAX).then_some(position.get());
            Err(Finding { kind: "panic".to_owned(), what, at })
        }
    }
}

/// Run generated scripts within the budget.
pub fn run<R: LinuxPolicy, S: LinuxPolicy>(
    config: &Config<'_>,
    boot_expected: impl Fn(&Script) -> R,
    boot_got: impl Fn(&Script) -> S,
) -> Report {
    let mut report = EngineReport::new("differential");
    let mut clock = config.clock("differential");
    while clock.goes_on(report.cases, report.operations) {
        let case = report.cases;
        let script = generate::script(&mut Rng::for_case(config.seed, case), &config.limits);
        if unspecified(&script).is_some() {
            report.cases += 1;
            continue;
        }
        let marks = case.is_multiple_of(WATCHED).then_some(&mut report.marks);
        report.cases += 1;
        match check_script(&script, &boot_expected, &boot_got, marks) {
            Ok(stats) => report.operations += stats.operations,
            Err(finding) => {
                let failure = shrunk(config, case, &script, finding, &boot_expected, &boot_got);
                report.failures.push(failure);
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

/// The smallest script that still shows a finding of the same kind.
fn shrunk<R: LinuxPolicy, S: LinuxPolicy>(
    config: &Config<'_>,
    case: u64,
    script: &Script,
    finding: Finding,
    boot_expected: &impl Fn(&Script) -> R,
    boot_got: &impl Fn(&Script) -> S,
) -> Failure {
    let mut start = script.clone();
    if let Some(at) = finding.at {
        start.ops.truncate(at + 1);
    }
    let look = |script: &Script| check_script(script, boot_expected, boot_got, None).err();
    let same_kind = |script: &Script| look(script).is_some_and(|other| other.kind == finding.kind);
    let start = if same_kind(&start) { start } else { script.clone() };
    let small = shrink::shrink(&start, config.shrink_runs, same_kind);
    let finding = look(&small).unwrap_or(finding);
    Failure {
        engine: "differential",
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
