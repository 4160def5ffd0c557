//! `mmspec check`.

use crate::output::Out;
use crate::progress::Progress;
use crate::suite::{self, Plan};
use crate::summary::Summary;
use crate::{Verdict, args, interrupt, json, show};
use anyhow::bail;
use mmspec_proptests::engine::Folder;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where failures are saved, from where the command runs.
const FAILURES: &str = "failures";

pub(crate) fn run(args: &args::Check, out: &mut Out) -> anyhow::Result<Verdict> {
    for name in &args.engine {
        if !suite::ENGINES.contains(&name.as_str()) {
            bail!("no engine {name:?}: use one of {}", suite::ENGINES.join(", "));
        }
    }
    let seed = args.seed.unwrap_or_else(any_seed);
    if !args.json {
        out.line(format_args!("seed {seed}"))?;
    }
    let cancel = interrupt::flag();
    let progress = Progress::new(args.json);
    let plan = Plan {
        seed,
        time: Duration::from_secs(args.seconds),
        engines: &args.engine,
        cancel: &cancel,
        progress: &|text| progress.say(text),
    };
    let mut reports = suite::run(&plan)?;
    drop(progress);
    let folder = Folder::new(FAILURES);
    for failure in reports.iter_mut().flat_map(|report| &mut report.failures) {
        if failure.file.is_none() {
            folder.save(failure)?;
        }
    }
    let summary = Summary::new(seed, &reports, args.engine.is_empty());
    if args.json {
        out.line(json::pretty(&json::Check::from(&summary))?)?;
    } else {
        for failure in reports.iter().flat_map(|report| &report.failures) {
            out.print(show::failure(failure))?;
        }
        out.print(show::summary(&summary))?;
        let mut again =
            format!("rerun with: mmspec check --seed {seed} --seconds {}", args.seconds);
        args.engine.iter().for_each(|name| again += &format!(" --engine {name}"));
        out.line(again)?;
        let word = if summary.ok() { "ok" } else { "FAILED" };
        out.line(format_args!("seed {seed}: {word}"))?;
    }
    Ok(if summary.ok() { Verdict::Holds } else { Verdict::Violated })
}

/// A seed that nobody chose; it is printed, and so can be given again.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ (now.as_secs() & 0xffff) << 16
}
