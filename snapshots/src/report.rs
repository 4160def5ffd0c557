//! What a scenario leaves in /proc.

use crate::{Done, Phase, Session};
use mmspec_model::contract::{LinuxPolicy, Outcome};
use mmspec_model::proc::{Figures, ProcError, ProcFile, View};
use mmspec_model::vocab::CpuId;
use mmspec_proptests::drive::Answer;
use mmspec_proptests::script::Script;
use std::fmt::Write;

/// Play `phases` on a booted allocator. After each phase the report holds what the operations led
/// to, buddyinfo, pagetypeinfo, and every other number that changed; the last phase also shows
/// zoneinfo and vmstat whole.
///
/// # Errors
/// None in practice: what the model renders can be parsed.
pub fn report<T: LinuxPolicy>(
    script: &Script,
    phases: &[Phase],
    allocator: T,
) -> Result<String, ProcError> {
    let mut session = Session::new(script, allocator);
    let mut out = String::new();
    let mut before = Figures::default();
    for (at, phase) in phases.iter().enumerate() {
        section(&mut out, &format!("phase {}", phase.title));
        let done: Vec<Done> = phase.ops.iter().map(|op| session.step(op)).collect();
        summary(&mut out, &done);
        let online = |cpu: CpuId| session.allocator().is_online(cpu);
        let view = View::new(session.allocator(), script.machine.as_ref(), &script.rules)
            .with_online(&online);
        let last = at + 1 == phases.len();
        let files: &[ProcFile] = if last { &ProcFile::ALL } else { &ProcFile::ALL[..2] };
        let figures = Figures::of_view(&view)?;
        if at > 0 {
            section(&mut out, "changed");
            for change in before.changes(&figures).iter().filter(|change| !listed(&change.name)) {
                line(&mut out, &change.to_string());
            }
        }
        before = figures;
        for file in files {
            section(&mut out, file.name());
            for text in view.text(*file).lines() {
                // Some lines end in a blank: shown, so that a review sees them.
                line(&mut out, &text.strip_suffix(' ').map_or(text.into(), |t| format!("{t}·")));
            }
        }
    }
    Ok(out)
}

/// Whether buddyinfo and pagetypeinfo, which are shown whole, hold this number.
fn listed(name: &str) -> bool {
    name.contains(" order ") || name.contains(" pageblocks ")
}

fn section(out: &mut String, title: &str) {
    let gap = if out.is_empty() { "" } else { "\n" };
    line(out, &format!("{gap}-- {title}"));
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

/// How many operations had which kind of end, and the frames handed out, as a sum that any
/// difference changes.
fn summary(out: &mut String, done: &[Done]) {
    let count = |is: &dyn Fn(&Done) -> bool| done.iter().filter(|done| is(done)).count();
    let pages: Vec<u64> = done.iter().flat_map(Done::pages).map(|pfn| pfn.0).collect();
    // Each frame is weighted by its place, so that an exchange shows as well.
    let digest = pages.iter().zip(1_u64..).fold(0_u64, |sum, (pfn, place)| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(pfn ^ place)
    });
    let slow = count(&|done| done.answer == Answer::Outcome(Outcome::SlowPath));
    let refused = count(&|done| matches!(done.answer, Answer::Outcome(Outcome::Refused(_))));
    let skipped = count(&Done::is_skipped);
    line(out, &format!("operations {}", done.len()));
    line(out, &format!("blocks handed out {}, digest {digest:016x}", pages.len()));
    line(out, &format!("to the slow path {slow}, refused {refused}, skipped {skipped}"));
    let told = |done: &&Done| matches!(done.answer, Answer::Flag(_) | Answer::Checks(..));
    for done in done.iter().filter(told) {
        line(out, &format!("answer: {done}"));
    }
}
