//! Failures and reports for people.

use crate::table::{number, table};
use mmspec_impl::OwnedAllocator;
use mmspec_model::contract::LinuxPolicy;
use mmspec_model::picture::LEGEND;
use mmspec_model::reference::Reference;
use mmspec_proptests::check::{CheckReport, EngineLine};
use mmspec_proptests::drive::catch;
use mmspec_proptests::engine::{Failure, OwnCase};
use mmspec_proptests::script::Script;
use mmspec_snapshots::explain;
use std::fmt::{Display, Write};

/// A failure: what is wrong, the shrunk script, where it is, how to see it again, and memory
/// before and after the operation that shows it.
pub(crate) fn failure(failure: &Failure) -> String {
    let mut text = String::new();
    let mut line = |words: &dyn Display| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{words}");
    };
    let finding = &failure.finding;
    line(&format_args!("violation: {}: {}", finding.kind, finding.what));
    if let Some(file) = &failure.file {
        line(&format_args!(
            "  engine {}, seed {}, case {}, shrunk from {} to {} operations",
            failure.engine,
            failure.seed,
            failure.case,
            failure.operations_before,
            failure.operations()
        ));
        line(&format_args!("  saved to {}", file.display()));
        if failure.own.as_ref().is_none_or(OwnCase::replays) {
            line(&format_args!("  replay with: mmspec replay {}", file.display()));
        }
    }
    for script_line in failure.case_text().lines() {
        line(&format_args!("    {script_line}"));
    }
    if let Some(at) = finding.at.filter(|at| *at < failure.script.ops.len()) {
        let op = failure.script.op_text(at).unwrap_or_default();
        if let Some((before, after)) = pictures(&failure.script, at) {
            line(&format_args!("  memory before operation {} ({op})\n{before}", at + 1));
            line(&format_args!("  memory after it\n{after}\n{LEGEND}"));
        }
    }
    text
}

/// Memory around an operation: of the implementation, or, if it panics on the way, of the
/// reference.
fn pictures(script: &Script, at: usize) -> Option<(String, String)> {
    fn of<T: LinuxPolicy, E>(
        script: &Script,
        booted: Result<T, E>,
        at: usize,
    ) -> Option<(String, String)> {
        Some(explain::around(script, booted.ok()?, at))
    }
    let (machine, rules, tunables) = (&script.machine, script.rules, script.tunables);
    let of_impl = || of(script, OwnedAllocator::<Std>::new(machine.as_ref(), rules, tunables), at);
    let of_reference = || of(script, Reference::new(machine, rules, tunables), at);
    catch(of_impl).or_else(|_| catch(of_reference)).ok().flatten()
}

type Std = mmspec_impl::platform::StdPlatform;

/// The table of engines, then what is wrong besides failures.
pub(crate) fn check(report: &CheckReport) -> String {
    let head = ["engine", "result", "cases", "operations", "states", "schedules", "canaries", "s"];
    let rows = report.engines.iter().map(|engine| {
        vec![
            engine.name.to_owned(),
            result(engine),
            number(engine.cases),
            number(engine.operations),
            or_dash(engine.states, number(engine.states)),
            or_dash(engine.schedules, number(engine.schedules)),
            or_dash(engine.canaries, format!("{}/{}", engine.canaries_found, engine.canaries)),
            number(engine.seconds),
        ]
    });
    let mut text = table(&head, 2, rows);
    let met = |counts: &mut dyn Iterator<Item = u64>| counts.filter(|count| *count > 0).count();
    let exercised = met(&mut report.laws.iter().map(|law| law.exercised));
    let reached = met(&mut report.marks.iter().map(|mark| mark.reached));
    let (laws, marks) = (report.laws.len(), report.marks.len());
    let _ = writeln!(text, "\nlaws exercised {exercised}/{laws}, marks reached {reached}/{marks}");
    let sum = |get: fn(&EngineLine) -> u64| report.engines.iter().map(get).sum::<u64>();
    let (made, possible) = (sum(|line| line.blocks_made), sum(|line| line.blocks_possible));
    if let Some(percent) = (100 * made).checked_div(possible) {
        let (made, possible) = (number(made), number(possible));
        let _ = writeln!(
            text,
            "compaction made {made} of {possible} blocks that could be made ({percent} %)"
        );
    }
    for complaint in &report.complaints {
        let _ = writeln!(text, "{complaint}");
    }
    if report.cancelled {
        text.push_str("ended early: laws, marks and canaries that were not met do not count\n");
    }
    text
}

fn or_dash(value: u64, text: String) -> String {
    if value == 0 { "-".to_owned() } else { text }
}

fn result(engine: &EngineLine) -> String {
    match (engine.violations, engine.canaries - engine.canaries_found) {
        (0, 0) => "ok".to_owned(),
        (0, missed) => format!("blind to {missed}"),
        (violations, _) => format!("{violations} violated"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mmspec_proptests::engine::Finding;

    #[test]
    fn a_failure_shows_the_law_the_script_its_replay_and_memory() {
        let text = "mms 1\nmachine cpus=1 max_order=5\nzone Normal 0x0..0x200\n\
                    a1 = alloc cpu=0 order=5 gfp=GFP_KERNEL\nfree cpu=0 a1\n";
        let failure = super::failure(&Failure {
            engine: "laws",
            finding: Finding { kind: "merged".into(), what: "two buddies".into(), at: Some(1) },
            script: Script::parse("case.mms", text).expect("parses"),
            schedule: None,
            own: None,
            seed: 7,
            case: 3,
            operations_before: 40,
            file: Some("failures/laws-merged-0.mms".into()),
        });
        for part in [
            "violation: merged: two buddies",
            "seed 7, case 3, shrunk from 40 to 2 operations",
            "replay with: mmspec replay failures/laws-merged-0.mms",
            "    free cpu=0 a1",
            "memory before operation 2 (free cpu=0 a1)",
            "UUUUUUUU",
        ] {
            assert!(failure.contains(part), "{part} is missing:\n{failure}");
        }
    }

    #[test]
    fn a_missed_canary_shows_even_without_a_violation() {
        let engine = |violations, canaries_found| EngineLine {
            longest_wait: 0,
            blocks_possible: 0,
            blocks_made: 0,
            name: "laws",
            cases: 1,
            operations: 1,
            states: 0,
            schedules: 0,
            violations,
            canaries_found,
            canaries: 3,
            marks: Vec::new(),
            seconds: 0,
        };
        let shown = [engine(0, 3), engine(0, 1), engine(2, 1)].map(|engine| result(&engine));
        assert_eq!(shown, ["ok", "blind to 2", "2 violated"]);
    }
}
