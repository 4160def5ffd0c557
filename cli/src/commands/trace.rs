//! `mmspec trace`.

use crate::output::Out;
use crate::progress::Progress;
use crate::table::{self, number};
use crate::{Verdict, args, interrupt, json};
use anyhow::Context;
use mmspec_model::vocab::Rules;
use mmspec_proptests::trace::{Kind, Options, Report, explain};

/// Contradictions shown without `--json`.
const SHOWN: usize = 20;

pub(crate) fn run(args: &args::Trace, out: &mut Out) -> anyhow::Result<Verdict> {
    let rules = match &args.rules {
        Some(name) => Some(Rules::preset(name).with_context(|| unknown(name))?),
        None => None,
    };
    let options = Options { before: args.before.clone(), after: args.after.clone(), rules };
    let cancel = interrupt::flag();
    let progress = Progress::new(args.json);
    let mut show = |events| progress.say(format!("{} events", number(events)));
    let report = explain(&args.file, &options, &cancel, &mut show)?;
    drop(progress);
    if args.json {
        out.line(json::pretty(&json::Trace::from(&report))?)?;
    } else {
        text(&report, out)?;
    }
    Ok(if report.is_consistent() { Verdict::Holds } else { Verdict::Violated })
}

fn unknown(name: &str) -> String {
    let known: Vec<&str> = Rules::PRESETS.iter().map(|(name, _)| *name).collect();
    format!("no preset {name:?}: use one of {}", known.join(", "))
}

fn text(report: &Report, out: &mut Out) -> anyhow::Result<()> {
    let (events, lost) = (number(report.events), number(report.lost_events));
    out.line(format_args!("rules {}, {events} events, {lost} lost", report.rules))?;
    if report.cancelled {
        out.line("ended early: what follows is of the part that was read")?;
    }
    let head =
        ["kind", "zone", "predicted", "inferred", "contradicted", "undecidable", "of decidable"];
    let rows = report.kinds.iter().map(|((kind, zone), counts)| {
        vec![
            kind.name().to_owned(),
            zone.to_string(),
            number(counts.predicted),
            number(counts.inferred),
            number(counts.contradicted),
            number(counts.undecidable),
            table::percent(counts.predicted, counts.decidable()),
        ]
    });
    out.line(table::table(&head, 2, rows))?;
    out.line(format_args!(
        "\"of decidable\" is the share of predicted among predicted, inferred and contradicted; \
         {} events of {} kinds were judged",
        number(Kind::ALL.iter().map(|kind| report.kind(*kind).total()).sum()),
        Kind::ALL.len()
    ))?;
    let late = Kind::ALL.into_iter().filter_map(|kind| {
        let counts = report.after_first_tenth(kind);
        let share = table::percent(counts.decidable(), counts.total());
        (counts.total() > 0).then(|| format!("{} {}", kind.name(), share.trim()))
    });
    let late: Vec<String> = late.collect();
    if !late.is_empty() {
        let late = late.join(", ");
        out.line(format_args!("decidable after the first tenth of the events: {late}"))?;
    }
    out.line(format_args!(
        "ownership contradictions: {}",
        number(report.ownership_contradictions)
    ))?;
    if report.untraced_compaction > 0 {
        out.line(format_args!(
            "compaction isolated {} pages and the trace does not show when: record compaction:mm_compaction_begin and _end too",
            number(report.untraced_compaction)
        ))?;
    }
    for (zone, known, all) in &report.pageblocks {
        out.line(format_args!("{zone}: types of {known} of {all} pageblocks known at the end"))?;
    }
    for shown in report.unexplained.iter().take(SHOWN) {
        out.line(format_args!("line {}: {}", shown.line, shown.rule))?;
        out.line(format_args!("    expected {}", shown.expected))?;
        out.line(format_args!("    seen     {}", shown.seen))?;
    }
    if report.unexplained.len() > SHOWN {
        out.line(format_args!("… and {} more (--json)", report.unexplained.len() - SHOWN))?;
    }
    if let Some(frames) = report.free_frames {
        out.line(format_args!(
            "free frames at the end: {} as in kpageflags after, {} by the trace only, {} there only",
            number(frames.agreed),
            number(frames.only_expected),
            number(frames.only_seen)
        ))?;
    }
    if report.compared > 0 {
        let differing = report.differences.len();
        let compared = number(report.compared);
        out.line(format_args!("/proc after: {compared} figures compared, {differing} differ"))?;
        for difference in &report.differences {
            let by = difference.seen - difference.expected;
            let (name, expected, seen) = (&difference.name, difference.expected, difference.seen);
            out.line(format_args!("    {name}: expected {expected}, seen {seen} ({by:+})"))?;
        }
    }
    Ok(())
}
