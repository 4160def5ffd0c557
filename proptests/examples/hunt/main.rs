//! Run the engines on this tree's allocator and say which one sees something wrong, how soon, and
//! how small the case gets. `proptests/bugs/run` builds it on trees with a bug put back.
//!
//! `hunt --seconds N --seed S [--engines a,b,…] [--all] [--save DIR]` gives N seconds, in equal
//! parts, to the engines in the order named (what one leaves over goes to the next), stops at the
//! first finding unless `--all`, and prints one line of tab-separated fields for each engine run:
//!
//! engine, `found`/`clean`, kind of finding, seconds to it (shrinking not counted), operations,
//! schedules or cases to it, which of these, operations before and after shrinking, context
//! switches after shrinking, file, what is wrong.
//!
//! The exit code is 1 if anything was found. Everything but the seconds is a function of the seed.
//! `hunt once FILE` runs one script as every engine does; see `watch`.

mod engines;
mod watch;

use engines::{Engine, Found};
use std::fmt::Display;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// What the command line asks for.
struct Options {
    time: Duration,
    seed: u64,
    engines: Vec<Engine>,
    all: bool,
    save: Option<PathBuf>,
}

fn parse() -> Result<Options, String> {
    let mut options = Options {
        time: Duration::from_secs(60),
        seed: 1,
        engines: Engine::ALL.to_vec(),
        all: false,
        save: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let wrong = |error: &dyn Display| format!("{error}");
        match arg.as_str() {
            "--seconds" => {
                let seconds: f64 = value()?.parse().map_err(|error| wrong(&error))?;
                options.time = Duration::try_from_secs_f64(seconds).map_err(|e| wrong(&e))?;
            }
            "--seed" => options.seed = value()?.parse().map_err(|error| wrong(&error))?,
            "--engines" => {
                let named = value()?;
                let engines = named.split(',').map(|name| {
                    Engine::from_name(name).ok_or_else(|| format!("no engine {name:?}"))
                });
                options.engines = engines.collect::<Result<_, _>>()?;
            }
            "--all" => options.all = true,
            "--save" => options.save = Some(PathBuf::from(value()?)),
            _ => return Err(format!("what is {arg:?}?")),
        }
    }
    Ok(options)
}

fn line(engine: Engine, seconds: f64, done: u64, found: Option<&Found>) {
    let unit = engine.unit();
    let name = engine.name();
    match found {
        None => println!("{name}\tclean\t-\t{seconds:.3}\t{done}\t{unit}\t-\t-\t-\t-\t-"),
        Some(found) => {
            let file = found.file.as_ref().map_or("-".into(), |file| file.display().to_string());
            let switches = found.switches.map_or("-".into(), |switches| switches.to_string());
            let what = found.what.split_whitespace().collect::<Vec<_>>().join(" ");
            println!(
                "{name}\tfound\t{}\t{seconds:.3}\t{done}\t{unit}\t{}\t{}\t{switches}\t{file}\t{what}",
                found.kind, found.before, found.after
            );
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if let [_, once, file] = args.as_slice()
        && once == "once"
    {
        return watch::once(file);
    }
    let options = match parse() {
        Ok(options) => options,
        Err(why) => {
            eprintln!("hunt: {why}");
            return ExitCode::from(2);
        }
    };
    let end = Instant::now() + options.time;
    let mut shrinking = Duration::ZERO;
    let mut any = false;
    for (at, engine) in options.engines.iter().enumerate() {
        let left = (end + shrinking).saturating_duration_since(Instant::now());
        let time = left / (options.engines.len() - at) as u32;
        let hunted = engines::hunt(*engine, options.seed, time, options.save.as_deref());
        shrinking += hunted.shrinking;
        line(*engine, hunted.seconds, hunted.done, hunted.found.as_ref());
        any |= hunted.found.is_some();
        if hunted.hung || (any && !options.all) {
            break;
        }
    }
    ExitCode::from(u8::from(any))
}
