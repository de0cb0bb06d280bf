//! `netdyno-kv`: the server as a program.

mod cli;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use netdyno_kv::{Replayed, Server, Stopper};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// For listeners, files, and clients that are told that there are too many.
const OTHER_DESCRIPTORS: u64 = 256;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("netdyno-kv: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &cli::Cli) -> Result<(), Box<dyn Error>> {
    let builder = cli.builder().map_err(|error| error.text().to_owned())?;
    make_room_for_descriptors(cli.clients());
    // Before clients can connect: from then on a signal is a wish to end in order.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = builder.start()?;
    let stopper = server.stopper();
    std::thread::Builder::new().name("signals".into()).spawn(move || obey(&mut signals, &stopper))?;
    greet(&server);
    server.wait()?;
    eprintln!("netdyno-kv: ended in order");
    Ok(())
}

/// Each client is a descriptor, and by default a process may have 1,024 of them; asked for, it gets more.
fn make_room_for_descriptors(clients: usize) {
    let wanted = clients as u64 + OTHER_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let granted = limit.maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(granted), ..limit });
    let has = if set.is_ok() { granted } else { limit.current.unwrap_or(wanted) };
    if has < wanted {
        let fit = has.saturating_sub(OTHER_DESCRIPTORS);
        eprintln!(
            "netdyno-kv: about {fit} clients fit instead of {clients}: raise `ulimit -n`, or lower --maxclients"
        );
    }
}

/// The first signal ends the server in order, the second at once.
fn obey(signals: &mut Signals, stopper: &Stopper) {
    for (count, signal) in signals.forever().enumerate() {
        if count > 0 {
            std::process::exit(128 + signal);
        }
        eprintln!("netdyno-kv: ends, once what it has is written; again to end at once");
        stopper.stop();
    }
}

fn greet(server: &Server) {
    if let Some(Replayed { commands, bytes, cut_bytes, refused, first_refusal }) = server.replayed() {
        eprintln!("netdyno-kv: {commands} commands of {bytes} bytes read from the append-only file");
        if *cut_bytes > 0 {
            eprintln!(
                "netdyno-kv: its last {cut_bytes} bytes were no whole command, to which nobody had an answer: cut off"
            );
        }
        if let Some(text) = first_refusal {
            eprintln!("netdyno-kv: {refused} of them failed; the first said: {text}");
        }
    }
    if let Some(loaded) = server.loaded() {
        eprintln!(
            "netdyno-kv: {} keys read from the snapshot, {} were past their time",
            loaded.keys, loaded.expired
        );
    }
    let plain = server.addresses().iter().map(ToString::to_string);
    let tls = server.tls_addresses().iter().map(|address| format!("{address} (TLS)"));
    let addresses = plain.chain(tls).collect::<Vec<_>>().join(", ");
    eprintln!("netdyno-kv: listens at {addresses}; Ctrl-C ends it");
}
