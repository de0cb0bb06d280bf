//! `netdyno serve`.

use std::os::unix::net::UnixStream;

use super::{CommandResult, GOOD, print, studies};
use crate::cli::ServeArgs;
use netdyno_lab_report::serve::{Server, ServerSettings, Token};
use netdyno_lab_store::Store;

/// Serves the pages of the store until Ctrl-C.
pub(crate) fn run(args: &ServeArgs) -> CommandResult {
    let store = Store::default_path();
    // Report an unreadable store here once, not on each page.
    drop(Store::open(&store)?);
    let (token, text) = match &args.token_file {
        Some(file) => (Some(Token::from_file(file)?), None),
        None if args.listen.ip().is_loopback() => (None, None),
        None => {
            let (token, text) = Token::generate()?;
            (Some(token), Some(text))
        }
    };
    let server = Server::bind(args.listen).map_err(|e| {
        format!("cannot listen on {}: {e}; choose another address with --listen ADDRESS:PORT", args.listen)
    })?;
    let (end, stop) = UnixStream::pair()?;
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::low_level::pipe::register(signal, end.try_clone()?)?;
    }
    print(&format!("http://{}/\n", server.address()));
    if let Some(text) = text {
        print(&format!("token: {text}\n"));
    }
    if !args.listen.ip().is_loopback() {
        print("connections are not encrypted: on untrusted networks, listen on loopback and use `ssh -L`\n");
    }
    let settings =
        ServerSettings { store, studies: studies(args.studies.as_deref()), token, names: args.name.clone() };
    server.run(settings, stop)?;
    Ok(GOOD)
}
