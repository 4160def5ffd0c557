//! `mmspec replay`.

use crate::output::Out;
use crate::suite::{owned, reference, shuttled};
use crate::{Verdict, args, input, show};
use anyhow::Context;
use mmspec_proptests::engine::{Failure, Finding};
use mmspec_proptests::lawful::{self, Depth};
use mmspec_proptests::schedules::Schedule;
use mmspec_proptests::script::Script;
use mmspec_proptests::{differential, schedules};
use std::collections::BTreeMap;

pub(crate) fn run(args: &args::Replay, out: &mut Out) -> anyhow::Result<Verdict> {
    let text = input::text(&args.file)?;
    let script = Script::parse(&input::name(&args.file), &text)?;
    let schedule = schedule(&text)?;
    let findings = [
        ("comparison of implementation and reference", compare(&script)),
        ("laws on the implementation", judge(&script, owned)),
        ("laws on the reference", judge(&script, reference)),
    ];
    let mut ran: Vec<(&str, Option<Finding>)> = findings.into_iter().collect();
    if let Some(schedule) = &schedule {
        ran.push(("the stored schedule", schedules::replay(&script, shuttled, schedule)));
    }
    let mut verdict = Verdict::Holds;
    for (what, finding) in ran {
        let Some(finding) = finding else {
            out.line(format_args!("{what}: ok"))?;
            continue;
        };
        verdict = Verdict::Violated;
        out.line(format_args!("{what}: FAILED"))?;
        out.print(show::failure(&Failure {
            engine: "replay",
            finding,
            operations_before: script.ops.len(),
            script: script.clone(),
            schedule: None,
            seed: 0,
            case: 0,
            file: Some(args.file.clone()),
        }))?;
    }
    Ok(verdict)
}

/// The schedule that a failure's file carries in a comment.
fn schedule(text: &str) -> anyhow::Result<Option<Schedule>> {
    let line = text.lines().find_map(|line| line.strip_prefix("# schedule: "));
    line.map(|line| line.parse().context("the line `# schedule:` is damaged")).transpose()
}

fn compare(script: &Script) -> Option<Finding> {
    differential::check_script(script, reference, owned, None).err()
}

fn judge<A: mmspec_model::contract::LinuxPolicy>(
    script: &Script,
    boot: impl Fn(&Script) -> A,
) -> Option<Finding> {
    let closely = Depth { lists_every: 1, probe_every: 1, ..Depth::default() };
    lawful::check_script(script, boot, closely, &mut BTreeMap::new(), None).err()
}
