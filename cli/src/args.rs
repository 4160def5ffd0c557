//! The command line.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Check page allocators, replay failures and explain kernel traces.
#[derive(Parser, Debug)]
#[command(name = "mmspec", version, about, after_help = EXIT_CODES)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 nothing wrong, 1 a violation was found, 2 usage or input";

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// List the laws: what must hold for any allocator
    Laws,
    /// Tell a script step by step, with a picture of memory
    Explain(Explain),
}

#[derive(clap::Args, Debug)]
pub(crate) struct Explain {
    /// A script (.mms); - reads standard input
    pub(crate) file: PathBuf,
    /// Only the picture of memory at the start and at the end
    #[arg(long)]
    pub(crate) brief: bool,
}
