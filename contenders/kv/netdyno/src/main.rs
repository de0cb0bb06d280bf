//! The server of the `kv` workload on netdyno-kv, used as in its documentation.

use std::error::Error;

use netdyno_contender::kv::{self, raise_file_limit};
use netdyno_contender::lock_version;
use netdyno_kv::{Backend, Builder, Limits, Server};

fn main() {
    let role = kv::Server::connect();
    let lab = role.lab;
    lab.ready("netdyno-kv", lock_version(include_str!("../Cargo.lock"), "netdyno-kv"), "one thread");
    let server = start(&role).unwrap_or_else(|error| lab.failed(error));
    let port = server.addresses()[0].port();
    std::thread::spawn(move || lab.failed(format!("the server ended: {:?}", server.wait())));
    role.listens(port)
}

fn start(role: &kv::Server) -> Result<Server, Box<dyn Error>> {
    raise_file_limit(role.connections)?;
    let mut limits = Limits::default();
    limits.clients = limits.clients.max(role.connections as usize);
    // Protected mode is off, because a trial has a private network.
    let builder = asked(Server::builder())?.bind((role.local, 0)).protected_mode(false).limits(limits);
    Ok(builder.start()?)
}

/// The library's defaults, except options on the command line.
fn asked(mut builder: Builder) -> Result<Builder, Box<dyn Error>> {
    for argument in std::env::args().skip(1) {
        builder = match argument.split_once('=') {
            Some(("--io", "epoll")) => builder.backend(Backend::Epoll),
            Some(("--io", "io_uring")) => builder.backend(Backend::Uring),
            Some(("--threads", count)) => builder.threads(count.parse()?),
            _ => {
                return Err(format!(
                    "invalid argument {argument}; usage: [--io=epoll|io_uring] [--threads=N]"
                )
                .into());
            }
        };
    }
    Ok(builder)
}
