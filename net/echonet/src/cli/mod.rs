//! The tool: one file for each verb.

mod args;
mod bridge;
mod get;
mod home_file;
mod known;
mod names;
mod output;
mod parse;
mod scan;
mod secret;
mod session;
mod set;
mod simulate;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use netdyno_echonet::CallError;
use netdyno_echonet::core::NodeAddress;

use args::{Cli, Verb};
use output::Printer;

/// Why a verb failed: a message with the cause and the remedy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A failure with its own message.
    #[error("{0}")]
    Message(String),
    #[error(transparent)]
    Open(#[from] netdyno_echonet::Error),
    #[error("{0}: {1}")]
    At(NodeAddress, CallError),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
}

impl Failure {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }

    /// Adds the node to an error.
    pub(crate) fn at(node: NodeAddress) -> impl Fn(CallError) -> Self {
        move |error| Self::At(node, error)
    }
}

/// Runs the command line.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    let printer = Printer::new(cli.output.json);
    let result = match cli.output.mra.as_deref().map_or(Ok(()), names::load) {
        Ok(()) => run_verb(&cli, &printer),
        Err(failure) => Err(failure),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // The reader closed the pipe.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(failure) => {
            anstream::eprintln!("netdyno-echonet: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Returns false if a request was refused, or nothing was found.
fn run_verb(cli: &Cli, printer: &Printer) -> Result<bool, Failure> {
    match &cli.verb {
        Verb::Scan { wait } => scan::run(&cli.network, printer, *wait),
        Verb::Get { node, object, properties } => {
            get::run(&cli.network, printer, node, object.as_deref(), properties)
        }
        Verb::Set { node, object, values } => set::run(&cli.network, printer, node, object, values),
        Verb::Names { class } => known::run(printer, class.as_deref()),
        Verb::Watch { nodes, poll } => watch::run(&cli.network, printer, nodes, *poll),
        Verb::Simulate { file, spread, source_limit } => {
            simulate::run(&cli.network, printer, file, *spread, *source_limit)
        }
        Verb::Bridge { mqtt, mqtt_ca, mqtt_cert, mqtt_key, topic, discovery, poll, search } => {
            let own = mqtt_cert.as_deref().zip(mqtt_key.as_deref());
            let tls = bridge::Tls { authorities: mqtt_ca.as_deref(), own };
            let (poll, search) = (*poll, *search);
            let settings = bridge::BridgeSettings { mqtt, tls, topic, discovery, poll, search };
            bridge::run(&cli.network, printer, &settings)
        }
    }
}
