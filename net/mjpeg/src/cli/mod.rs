//! The command-line tool: one file per subcommand.

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

/// The error that ended a subcommand.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An error with its own message.
    #[error("{0}")]
    Message(String),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Serve(#[from] ServerError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("cannot receive from the network: {0}")]
    Network(io::Error),
    #[error("cannot write output: {0}")]
    Output(#[from] io::Error),
}

/// A flag that requests the program to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// The first signal sets the flag, the second one ends the process.
    pub(crate) fn on_signals() -> Result<Self, Failure> {
        let flag = Self::default();
        for signal in TERM_SIGNALS {
            signal_hook::flag::register_conditional_shutdown(*signal, 128 + signal, flag.0.clone())?;
            signal_hook::flag::register(*signal, flag.0.clone())?;
        }
        Ok(flag)
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// The interface with this name or address.
pub(crate) fn interface(named: Option<&str>) -> Result<Option<Interface>, Failure> {
    named.map(Interface::find).transpose().map_err(|error| Failure::Message(error.to_string()))
}

/// Runs the subcommand.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.verb {
        Verb::Send(args) => send::run(args, cli.json),
        Verb::Serve(args) => serve::run(args, cli.json),
        Verb::Receive(args) => receive::run(args, cli.json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // The reader of a pipe has closed it.
        Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("netdyno-mjpeg: {failure}");
            ExitCode::FAILURE
        }
    }
}
