//! The pages of the store over HTTP, with live updates of running runs.
//!
//! | does | does not |
//! |---|---|
//! | answer GET and HEAD, and one form for the token | start or change a run |
//! | listen on loopback, or elsewhere with a token | encrypt: use `ssh -L` or a proxy |
//! | poll the store once per second while a client follows a run | work without clients |
//!
//! One thread handles connections; pages are rendered on up to two further threads. Live updates are
//! server-sent events (WHATWG HTML, section "Server-sent events") with the part of the page that changes. On
//! a machine that measures, each update costs CPU time after a trial, and a browser costs more.

mod answer;
mod follow;
mod guard;
mod limits;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::pages::Studies;
use answer::Responder;
pub use guard::Token;

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
    ///
    /// # Errors
    /// If the address is in use or not of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address })
    }

    /// The address it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves requests until `stop` becomes readable or its peer is closed.
    ///
    /// # Errors
    /// If the runtime cannot be created or the sockets cannot be registered.
    pub fn run(self, settings: ServerSettings, stop: std::os::unix::net::UnixStream) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(limits::PAGES_AT_ONCE)
            .build()?;
        let responder = Arc::new(Responder::new(settings, self.address.port()));
        let result = runtime.block_on(async {
            stop.set_nonblocking(true)?;
            let stop = tokio::net::UnixStream::from_std(stop)?;
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = accept(&listener, &responder) => Ok(()),
                stopped = stop.readable() => stopped,
            }
        });
        // This closes all connections. Pages being rendered get one second to finish.
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }
}

/// Accepts connections, at most [`limits::CONNECTIONS_MAX`] at a time.
async fn accept(listener: &tokio::net::TcpListener, responder: &Arc<Responder>) {
    let slots = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
    loop {
        let Ok(permit) = Arc::clone(&slots).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let responder = Arc::clone(responder);
                tokio::spawn(async move {
                    serve(stream, responder).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Usually the process is out of descriptors. Retry later.
                tracing::debug!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one connection, which carries one request.
async fn serve(stream: tokio::net::TcpStream, responder: Arc<Responder>) {
    let is_follower = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        let (responder, is_follower) = (Arc::clone(&responder), Arc::clone(&is_follower));
        async move { Ok::<_, std::convert::Infallible>(responder.answer(request, &is_follower).await) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(limits::HEAD_TIME)
        .max_buf_size(limits::HEAD_BYTES_MAX)
        .max_headers(limits::HEAD_LINES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let ended = match timeout(limits::ANSWER_TIME, connection.as_mut()).await {
        Err(_) if is_follower.load(Ordering::Relaxed) => timeout(limits::FOLLOW_TIME, connection).await,
        ended => ended,
    };
    // Disconnects and invalid HTTP are not errors of the server.
    tracing::debug!(?ended, "a connection ended");
}
