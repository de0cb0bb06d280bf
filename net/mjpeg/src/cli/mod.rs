//! The tool: one file a verb.

mod args;
mod receive;
mod send;
mod serve;
mod source;
mod status;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use netdyno_mjpeg::server::ServerError;
use netdyno_mjpeg::source::SourceError;
use netdyno_mjpeg::{Interface, OpenError};
use signal_hook::consts::TERM_SIGNALS;

use args::{Cli, Verb};

/// Why a verb ended early: what is told, with the cause and what helps.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Anything that has its own words.
    #[error("{0}")]
    Told(String),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Serve(#[from] ServerError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("the network cannot be read: {0}")]
    Network(io::Error),
    #[error("nothing more can be written: {0}")]
    Output(#[from] io::Error),
}

/// Set once somebody wants the program to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct End(Arc<AtomicBool>);

impl End {
    /// The first signal sets it, the second ends the process.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let end = Self::default();
        for signal in TERM_SIGNALS {
            signal_hook::flag::register_conditional_shutdown(*signal, 128 + signal, end.0.clone())?;
            signal_hook::flag::register(*signal, end.0.clone())?;
        }
        Ok(end)
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The interface of that name or address.
pub(crate) fn interface(named: Option<&str>) -> Result<Option<Interface>, Failure> {
    named.map(Interface::find).transpose().map_err(|error| Failure::Told(error.to_string()))
}

/// Runs what was typed.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.verb {
        Verb::Send(args) => send::run(args, cli.json),
        Verb::Serve(args) => serve::run(args, cli.json),
        Verb::Receive(args) => receive::run(args, cli.json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads has had enough.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("netdyno-mjpeg: {failure}");
            ExitCode::FAILURE
        }
    }
}
