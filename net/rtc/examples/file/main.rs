//! Sends a file from one terminal to another, and resumes interrupted transfers. See `--help`.
#![allow(missing_docs)]

mod base64;
mod progress;
mod receiver;
mod sender;
mod signaling;

use std::path::PathBuf;
use std::process::ExitCode;

use netdyno_rtc::tokio::{Endpoint, PeerConnection};
use netdyno_rtc::{Port, Settings};
use sha2::{Digest, Sha256};
use signaling::Signaling;

const HELP: &str = "File: send a file over a data channel, from one terminal to another.

usage: file send PATH [options]
       file receive [options]

  --rendezvous DIR  exchange descriptions through files in this directory;
                    without it, copy and paste them between the terminals
  --into DIR        directory for received files [.]
  --udp ADDRESS     local UDP address [0.0.0.0:0]
  --help            print this help

An interrupted transfer leaves NAME.DIGEST.part in the target directory. Send the
same file again to resume it. The SHA-256 digest of the whole file is verified at
the end.";

/// Any error is printed and ends the program.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

struct Arguments {
    /// The file to send; `None`: receive.
    send: Option<PathBuf>,
    rendezvous: Option<PathBuf>,
    into: PathBuf,
    udp: std::net::SocketAddr,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = match read_arguments() {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(reason) => {
            eprintln!("{reason}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    let done = tokio::select! {
        done = run(arguments) => done,
        // Received data is already on disk; dropping the connection notifies the peer.
        _ = tokio::signal::ctrl_c() => Err("interrupted; repeat the command to resume".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\n{error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Outcome<()> {
    let endpoint = Endpoint::bind(arguments.udp, Settings::new()?)?;
    let connection = PeerConnection::on(&endpoint, Port::Shared)?;
    let signaling = Signaling::new(arguments.rendezvous);
    match arguments.send {
        Some(path) => sender::send(&connection, &signaling, &path).await,
        None => receiver::receive(&connection, &signaling, &arguments.into).await,
    }
}

fn read_arguments() -> Result<Option<Arguments>, String> {
    let mut words = std::env::args().skip(1);
    let mut arguments =
        Arguments { send: None, rendezvous: None, into: PathBuf::from("."), udp: ([0, 0, 0, 0], 0).into() };
    match words.next().as_deref() {
        Some("send") => arguments.send = Some(words.next().ok_or("send: missing PATH")?.into()),
        Some("receive") => {}
        Some("-h" | "--help") => return Ok(None),
        other => return Err(format!("{:?}: expected send or receive", other.unwrap_or_default())),
    }
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word}: missing value"));
        match word.as_str() {
            "-h" | "--help" => return Ok(None),
            "--rendezvous" => arguments.rendezvous = Some(value()?.into()),
            "--into" => arguments.into = value()?.into(),
            "--udp" => arguments.udp = value()?.parse().map_err(|error| format!("{word}: {error}"))?,
            _ => return Err(format!("{word}: unknown option")),
        }
    }
    Ok(Some(arguments))
}

/// The digest in hexadecimal digits.
pub(crate) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
