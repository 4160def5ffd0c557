//! `mmspec experiment`.

use crate::output::Out;
use crate::progress::Progress;
use crate::{Verdict, args};
use anyhow::Context;
use mmspec_snapshots::experiments::{by_name, csv, json, text};

pub(crate) fn run(args: &args::Experiment, out: &mut Out) -> anyhow::Result<Verdict> {
    // The arguments were checked against the same list.
    let entry = by_name(&args.name).with_context(|| format!("no experiment {}", args.name))?;
    let progress = Progress::new(false);
    let experiment = (entry.run)(&mut |what| progress.say(what))?;
    drop(progress);
    if args.json {
        out.line(json(&experiment))?;
    } else if args.csv {
        out.print(csv(&experiment))?;
    } else {
        out.print(text(&experiment))?;
    }
    Ok(if experiment.holds() { Verdict::Holds } else { Verdict::Violated })
}
