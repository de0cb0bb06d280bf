//! The program `netdyno-kv`.

mod cli;

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use netdyno_kv::{Replayed, Server, Stopper};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Reserved for listeners, files, and clients that are refused because of the client limit.
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
    raise_descriptor_limit(cli.clients());
    // Installed before clients can connect: from then on a signal requests a graceful shutdown.
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    let server = builder.start()?;
    let stopper = server.stopper();
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || handle_signals(&mut signals, &stopper))?;
    report_start(&server);
    server.wait()?;
    let _ = writeln!(std::io::stderr(), "netdyno-kv: shut down");
    Ok(())
}

/// Raises the soft limit on open files: each client needs a descriptor, and the default limit is often 1,024.
fn raise_descriptor_limit(clients: usize) {
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
            "netdyno-kv: the limit on open files allows about {fit} clients, not {clients}: raise `ulimit -n` or lower --maxclients"
        );
    }
}

/// Shuts the server down gracefully on the first signal, and exits immediately on the second.
fn handle_signals(signals: &mut Signals, stopper: &Stopper) {
    for (count, signal) in signals.forever().enumerate() {
        if count > 0 {
            std::process::exit(128 + signal);
        }
        stopper.stop();
        // A closed stderr must not end this thread.
        let _ = writeln!(
            std::io::stderr(),
            "netdyno-kv: shutting down after pending writes; send the signal again to exit immediately"
        );
    }
}

fn report_start(server: &Server) {
    if let Some(Replayed { commands, bytes, cut_bytes, refused, first_refusal }) = server.replayed() {
        eprintln!("netdyno-kv: replayed {commands} commands ({bytes} bytes) from the append-only file");
        if *cut_bytes > 0 {
            eprintln!(
                "netdyno-kv: truncated {cut_bytes} bytes of an incomplete command at its end; no client had received a reply to it"
            );
        }
        if let Some(text) = first_refusal {
            eprintln!("netdyno-kv: {refused} of them failed; first error: {text}");
        }
    }
    if let Some(loaded) = server.loaded() {
        eprintln!(
            "netdyno-kv: loaded {} keys from the snapshot; skipped {} expired keys",
            loaded.keys, loaded.expired
        );
    }
    let plain = server.addresses().iter().map(ToString::to_string);
    let tls = server.tls_addresses().iter().map(|address| format!("{address} (TLS)"));
    let addresses = plain.chain(tls).collect::<Vec<_>>().join(", ");
    eprintln!("netdyno-kv: listening on {addresses}; press Ctrl-C to stop");
}
