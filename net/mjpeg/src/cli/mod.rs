//! The tool: one file a verb.

mod args;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Verb};

/// Runs what was typed.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    match cli.verb {
        Verb::Send => ExitCode::SUCCESS,
    }
}
