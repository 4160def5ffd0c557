//! The `mmspec` command. Thin: it reads arguments and files, calls the library crates and prints.

mod args;
mod commands;
mod input;
mod interrupt;
mod json;
mod output;
mod progress;
mod show;
mod table;

use args::{Args, Command};
use clap::Parser;
use output::Out;
use std::process::ExitCode;

/// What a command came to; see `docs/exit-codes.md`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// Nothing was found wrong.
    Holds,
    /// A violation was found.
    Violated,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let mut out = Out::stdout();
    match run(&args.command, &mut out) {
        Ok(Verdict::Holds) => ExitCode::SUCCESS,
        Ok(Verdict::Violated) => ExitCode::from(1),
        Err(error) => {
            output::complain(&format!("mmspec: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn run(command: &Command, out: &mut Out) -> anyhow::Result<Verdict> {
    match command {
        Command::Check(args) => commands::check::run(args, out),
        Command::Replay(args) => commands::replay::run(args, out),
        Command::Laws => commands::laws::run(out),
        Command::Record(args) => commands::record::run(args, out),
        Command::Trace(args) => commands::trace::run(args, out),
        Command::Image(args) => commands::image::run(args, out),
        Command::Explain(args) => commands::explain::run(args, out),
        Command::Experiment(args) => commands::experiment::run(args, out),
    }
}
