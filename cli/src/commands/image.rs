//! `mmspec image`.

use crate::output::Out;
use crate::table::{self, number};
use crate::{Verdict, args, json};
use anyhow::Context;
use mmspec_model::vocab::{CompactRules, Rules};
use mmspec_proptests::image::{FreeList, ImageOptions, ImageReport, compare};
use mmspec_proptests::trace::CompactStep;

pub(crate) fn run(args: &args::Image, out: &mut Out) -> anyhow::Result<Verdict> {
    let rules = match &args.rules {
        Some(name) => Some(Rules::preset(name).with_context(|| unknown(name, &Rules::PRESETS))?),
        None => None,
    };
    let compaction = match &args.compaction {
        Some(name) => Some(
            CompactRules::preset(name).with_context(|| unknown(name, &CompactRules::PRESETS))?,
        ),
        None => None,
    };
    let options = ImageOptions { rules, compaction, hindsight: args.hindsight };
    let report = compare(&args.folder, &options)?;
    if args.json {
        out.line(json::pretty(&json::Image::from(&report))?)?;
    } else {
        text(&report, out)?;
    }
    Ok(if report.is_alike() { Verdict::Holds } else { Verdict::Violated })
}

fn unknown<T>(name: &str, presets: &[(&str, T)]) -> String {
    let known: Vec<&str> = presets.iter().map(|(name, _)| *name).collect();
    format!("no preset {name:?}: use one of {}", known.join(", "))
}

fn text(report: &ImageReport, out: &mut Out) -> anyhow::Result<()> {
    let hindsight = if report.hindsight { ", movable pages by hindsight" } else { "" };
    out.line(format_args!(
        "allocator {}, compaction {}{hindsight}",
        report.rules, report.compaction
    ))?;
    let rows = report.figures.iter().map(|figure| {
        let ratio = format!("{:.4}", figure.ratio());
        vec![figure.name.to_owned(), number(figure.recorded), number(figure.simulated), ratio]
    });
    out.line(table::table(&["counter", "recorded", "simulated", "ratio"], 1, rows))?;
    let rows = report.steps.iter().map(|steps| {
        let counts = [steps.recorded, steps.simulated, steps.same].map(number);
        [steps.zone.to_string(), steps.kind.to_owned()].into_iter().chain(counts).collect()
    });
    out.line(table::table(&["zone at", "step", "recorded", "simulated", "same"], 2, rows))?;
    match &report.first {
        None => out.line("every step is the same")?,
        Some(first) => {
            out.line(format_args!("line {}: the first step that differs", first.line))?;
            out.line(format_args!("    recorded  {}", or_none(first.recorded)))?;
            out.line(format_args!("    simulated {}", or_none(first.simulated)))?;
        }
    }
    if !report.free_lists.is_empty() {
        out.line("free blocks when the run had ended, by order")?;
        out.line(free_lists(&report.free_lists))?;
    }
    if let Some(frames) = report.free_frames {
        out.line(format_args!(
            "free frames then: {} in both, {} simulated only, {} recorded only",
            number(frames.agreed),
            number(frames.only_expected),
            number(frames.only_seen)
        ))?;
    }
    out.line("what the recording does not tell:")?;
    for unknown in &report.unknown {
        let count = unknown.count.map_or(String::new(), |count| format!("{} ", number(count)));
        out.line(format_args!("  {count}{}", unknown.what))?;
        out.line(format_args!("      {}", unknown.effect))?;
    }
    Ok(())
}

fn or_none(step: Option<CompactStep>) -> String {
    step.map_or("nothing more".to_owned(), |step| step.to_string())
}

/// Two lines for each zone.
fn free_lists(lists: &[FreeList]) -> String {
    let mut head = vec!["zone".to_owned(), String::new()];
    let mut rows = Vec::new();
    for zone in lists.chunk_by(|one, other| one.zone == other.zone) {
        let row = |who: &str, count: fn(&FreeList) -> u64| -> Vec<String> {
            let counts = zone.iter().map(|list| number(count(list)));
            [zone[0].zone.to_string(), who.to_owned()].into_iter().chain(counts).collect()
        };
        head.truncate(2);
        head.extend(zone.iter().map(|list| list.order.to_string()));
        rows.push(row("recorded", |list| list.recorded));
        rows.push(row("simulated", |list| list.simulated));
    }
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    table::table(&head, 2, rows.into_iter())
}
