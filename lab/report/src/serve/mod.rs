//! The pages of the store over HTTP, with live updates of running runs.
//!
//! | does | does not |
//! |---|---|
//! | answer GET and HEAD, and one form for the token | start or change a run |
//! | listen on loopback, or elsewhere with a token | encrypt: use `ssh -L` or a proxy |
//! | poll the store once per second while a client follows a run | work without clients |
//! | share connections and threads among addresses | distinguish clients with one address, such as that of a proxy |
//!
//! One thread handles connections; pages are rendered on up to two further threads, one for each client at a time.
//! Live updates are server-sent events (WHATWG HTML, section "Server-sent events") with the part of the page that changes.
//! On a machine that measures, each update costs CPU time after a trial, and a browser costs more.

mod answer;
mod connections;
mod follow;
mod guard;
mod limits;
mod permits;
mod reports;
mod state;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::pages::Studies;
use answer::Responder;
pub use guard::Token;
use reports::Reports;

/// ServerSettings of a server.
#[derive(Debug)]
pub struct ServerSettings {
    /// Path of the store.
    pub store: PathBuf,
    /// The folder of studies, if any.
    pub studies: Option<Studies>,
    /// The token that requests must present, if any.
    pub token: Option<Token>,
    /// Accepted host names, in addition to addresses and `localhost`.
    pub names: Vec<String>,
}

/// A listening server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Binds the address. Connections are accepted by [`Server::run`].
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `stop` becomes readable or its peer is closed.
    pub fn run(self, settings: ServerSettings, stop: std::os::unix::net::UnixStream) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(limits::PAGES_AT_ONCE)
            .build()?;
        let reports = Arc::<Reports>::default();
        let responder = Arc::new(Responder::new(settings, self.address.port(), Arc::clone(&reports)));
        let result = runtime.block_on(async {
            stop.set_nonblocking(true)?;
            let stop = tokio::net::UnixStream::from_std(stop)?;
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = connections::accept(&listener, &responder, &reports) => Ok(()),
                stopped = stop.readable() => stopped,
            }
        });
        // This closes all connections. Pages being rendered get one second to finish.
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }
}
