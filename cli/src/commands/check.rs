//! `mmspec check`.

use crate::output::Out;
use crate::progress::Progress;
use crate::table::number;
use crate::{Verdict, args, interrupt, show};
use anyhow::Context;
use mmspec_proptests::check::{self, Engine, Options};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) fn run(args: &args::Check, out: &mut Out) -> anyhow::Result<Verdict> {
    let engines: Vec<Engine> =
        args.engine.iter().map(|name| engine(name)).collect::<anyhow::Result<_>>()?;
    let seed = args.seed.unwrap_or_else(any_seed);
    // Before the first line: who has read that may press Ctrl-C.
    let cancel = interrupt::flag();
    if !args.json {
        out.line(format_args!("seed {seed}"))?;
    }
    let progress = Progress::new(args.json);
    let say = |now: mmspec_proptests::engine::Progress| {
        let percent = (now.share * 100.0) as u64;
        let (done, operations) = (number(now.done), number(now.operations));
        progress.say(format!("{} {percent} %: {done} done, {operations} operations", now.engine));
    };
    let mut options = Options::new(seed, Duration::from_secs(args.seconds));
    options.cases = args.cases;
    options.engines = engines;
    options.cancel = Some(&cancel);
    options.progress = Some(&say);
    let report = check::check(&options)?;
    drop(progress);
    if args.json {
        out.line(report.to_json())?;
    } else {
        for failure in &report.failures {
            out.print(show::failure(failure))?;
        }
        out.print(show::check(&report))?;
        let budget = match args.cases {
            Some(cases) => format!("--cases {cases}"),
            None => format!("--seconds {}", args.seconds),
        };
        let mut again = format!("rerun with: mmspec check --seed {seed} {budget}");
        args.engine.iter().for_each(|name| again += &format!(" --engine {name}"));
        out.line(again)?;
        out.line(format_args!("seed {seed}: {}", if report.ok { "ok" } else { "FAILED" }))?;
    }
    Ok(if report.ok { Verdict::Holds } else { Verdict::Violated })
}

fn engine(name: &str) -> anyhow::Result<Engine> {
    let known = Engine::ALL.map(Engine::name).join(", ");
    Engine::from_name(name).with_context(|| format!("no engine {name:?}: use one of {known}"))
}

/// A seed that nobody chose; it is printed, and so can be given again.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) ^ ((now.as_secs() & 0xffff) << 16)
}
