//! The tool: one file a verb.

mod args;
mod serve;
mod source;

use std::process::ExitCode;

use clap::Parser;
use netdyno_mjpeg::server::ServerError;
use netdyno_mjpeg::source::SourceError;

use args::{Cli, Verb};

/// Why a verb ended early: what is told, with the cause and what helps.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Serve(#[from] ServerError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// Runs what was typed.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.verb {
        Verb::Send(args) => args.open().map(drop),
        Verb::Serve(args) => serve::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("netdyno-mjpeg: {failure}");
            ExitCode::FAILURE
        }
    }
}
