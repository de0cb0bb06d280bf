//! Sends a file from one terminal to another, and goes on where it was broken off. See `--help`.
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

const HELP: &str = "File: sends a file over a data channel, from one terminal to another.

usage: file send PATH [options]
       file receive [options]

  --rendezvous DIR  exchange descriptions through files in this directory;
                    without it, copy and paste them between the terminals
  --into DIR        where to put what is received [.]
  --udp ADDRESS     where datagrams come in [0.0.0.0:0]
  --help            this

What was received before a transfer was broken off is kept beside its place as
NAME.DIGEST.part. Send the same file again, and it goes on from there. The SHA-256
digest of the whole is checked in the end.";

/// Anything that can go wrong here is told, and ends the program.
pub(crate) type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

struct Arguments {
    /// The file to send; none to receive.
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
        // What is being received is on the disk already; dropping the connection tells the peer.
        _ = tokio::signal::ctrl_c() => Err("broken off; do the same again to go on".into()),
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
        Some("send") => arguments.send = Some(words.next().ok_or("send what?")?.into()),
        Some("receive") => {}
        Some("-h" | "--help") => return Ok(None),
        other => return Err(format!("{}: send or receive?", other.unwrap_or_default())),
    }
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word}: a value is missing"));
        match word.as_str() {
            "-h" | "--help" => return Ok(None),
            "--rendezvous" => arguments.rendezvous = Some(value()?.into()),
            "--into" => arguments.into = value()?.into(),
            "--udp" => arguments.udp = value()?.parse().map_err(|error| format!("{word}: {error}"))?,
            _ => return Err(format!("{word}: not understood")),
        }
    }
    Ok(Some(arguments))
}

/// The digest in hexadecimal digits.
pub(crate) fn hex(digest: Sha256) -> String {
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
