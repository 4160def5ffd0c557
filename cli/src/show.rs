//! Failures and summaries for people.

use crate::suite::{owned, reference};
use crate::summary::Summary;
use crate::table::{number, table};
use mmspec_proptests::drive::catch;
use mmspec_proptests::engine::{EngineReport, Failure};
use mmspec_snapshots::explain;
use std::fmt::Write;

/// A failure: what is wrong, the shrunk script, where it is, how to see it again, and memory
/// before and after the operation that shows it.
pub(crate) fn failure(failure: &Failure) -> String {
    let mut text = String::new();
    let finding = &failure.finding;
    // Writing to a String cannot fail.
    let mut line = |words: &dyn std::fmt::Display| {
        let _ = writeln!(text, "{words}");
    };
    line(&format_args!("violation: {}: {}", finding.kind, finding.what));
    line(&format_args!(
        "  engine {}, seed {}, case {}, shrunk from {} to {} operations",
        failure.engine,
        failure.seed,
        failure.case,
        failure.operations_before,
        failure.script.ops.len()
    ));
    if let Some(file) = &failure.file {
        line(&format_args!("  saved to {}", file.display()));
        line(&format_args!("  replay with: mmspec replay {}", file.display()));
    }
    if let Some(schedule) = &failure.schedule {
        line(&format_args!("  schedule {schedule}"));
    }
    for script_line in failure.script.to_text().lines() {
        line(&format_args!("    {script_line}"));
    }
    if let Some(at) = finding.at.filter(|at| *at < failure.script.ops.len()) {
        let script = &failure.script;
        let op = script.op_text(at).unwrap_or_default();
        let of_impl = || explain::around(script, owned(script), at);
        let of_reference = || explain::around(script, reference(script), at);
        // The allocator that fails may panic on the way: then the reference shows the place.
        let pictures = catch(of_impl).or_else(|_| catch(of_reference));
        if let Ok((before, after)) = pictures {
            line(&format_args!("  memory before operation {at} ({op})\n{before}"));
            line(&format_args!("  memory after it\n{after}"));
        }
    }
    line(&"");
    text
}

/// The table of engines, then what was not met.
pub(crate) fn summary(summary: &Summary<'_>) -> String {
    let head = [
        "engine",
        "result",
        "cases",
        "operations",
        "states",
        "schedules",
        "laws",
        "canaries",
        "seconds",
    ];
    let some = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), number);
    let rows = summary.reports.iter().map(|report| {
        let (found, all) = canaries(report);
        vec![
            report.name.to_owned(),
            result(report),
            number(report.cases),
            number(report.operations),
            some(report.states),
            some(report.schedules),
            number(report.laws.values().filter(|times| **times > 0).count() as u64),
            if all == 0 { "-".to_owned() } else { format!("{found}/{all}") },
            number(report.seconds as u64),
        ]
    });
    let mut text = table(&head, 2, rows);
    text.push('\n');
    for report in summary.reports.iter().filter(|report| !report.canaries_missed.is_empty()) {
        let missed = report.canaries_missed.join(", ");
        let _ = writeln!(text, "{} did not find the planted faults: {missed}", report.name);
    }
    let (laws, marks) = (summary.laws.len(), summary.marks.len());
    let exercised = laws - summary.unexercised().count();
    let reached = marks - summary.unreached().count();
    let _ = writeln!(text, "laws exercised {exercised}/{laws}, marks reached {reached}/{marks}");
    for law in summary.unexercised() {
        let _ = writeln!(text, "  never exercised: {}", law.id);
    }
    for (mark, name, _) in summary.unreached() {
        let _ = writeln!(text, "  never reached: {name} ({})", mark.text());
    }
    if !summary.full {
        text.push_str("not a full run: laws and marks that were not met do not fail it\n");
    }
    text
}

/// Canaries found, and all.
pub(crate) fn canaries(report: &EngineReport) -> (usize, usize) {
    let found = report.canaries_found.len();
    (found, found + report.canaries_missed.len())
}

fn result(report: &EngineReport) -> String {
    match (report.failures.len(), report.canaries_missed.len(), report.cancelled) {
        (0, 0, false) => "ok".to_owned(),
        (0, 0, true) => "ok so far".to_owned(),
        (0, missed, _) => format!("blind to {missed}"),
        (failures, ..) => format!("{failures} violated"),
    }
}
