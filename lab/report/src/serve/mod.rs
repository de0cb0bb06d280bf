//! The pages of the store over HTTP, and runs followed while they go on.
//!
//! | does | does not |
//! |---|---|
//! | answer GET, and one form with a token | change a run, or start one |
//! | listen on loopback, elsewhere with a token alone | encrypt: beyond loopback `ssh -L` does, or a proxy |
//! | look at the store once a second while somebody follows a run | anything while nobody asks |
//!
//! One thread takes connections; pages are made beside it, two at a time. Following goes by server-sent events (WHATWG HTML, section
//! "Server-sent events"): each has the part of the page that changes. On the machine that measures, following costs CPU time
//! after each trial, and a browser costs more.

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
use answer::Answering;
pub use guard::Token;

/// What to serve, and to whom.
#[derive(Debug)]
pub struct Settings {
    /// The store.
    pub store: PathBuf,
    /// The folder of studies, if there is one.
    pub studies: Option<Studies>,
    /// What readers have to know, if anything.
    pub token: Option<Token>,
    /// Names that the server answers to, beside addresses and `localhost`.
    pub names: Vec<String>,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens, and takes nobody yet.
    ///
    /// # Errors
    /// When the address is taken, or not of this machine.
    pub fn bind(address: SocketAddr) -> io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok(Server { listener, address })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until something can be read from `stop`, or its other end is closed.
    ///
    /// # Errors
    /// When the system has no threads or descriptors left at the begin.
    pub fn run(self, settings: Settings, stop: std::os::unix::net::UnixStream) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(limits::PAGES_AT_ONCE)
            .build()?;
        let answering = Arc::new(Answering::new(settings, self.address.port()));
        let result = runtime.block_on(async {
            stop.set_nonblocking(true)?;
            let stop = tokio::net::UnixStream::from_std(stop)?;
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = take(&listener, &answering) => Ok(()),
                stopped = stop.readable() => stopped,
            }
        });
        // Connections end with it; a page that is just being made is not awaited for long.
        runtime.shutdown_timeout(Duration::from_secs(1));
        result
    }
}

/// Takes connections, as many at once as there may be.
async fn take(listener: &tokio::net::TcpListener, answering: &Arc<Answering>) {
    let room = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let answering = Arc::clone(answering);
                tokio::spawn(async move {
                    serve(stream, answering).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of descriptors, as a rule: some will be free again.
                tracing::debug!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// One connection: one request.
async fn serve(stream: tokio::net::TcpStream, answering: Arc<Answering>) {
    let follows = Arc::new(AtomicBool::new(false));
    let service = service_fn(|request| {
        let (answering, follows) = (Arc::clone(&answering), Arc::clone(&follows));
        async move { Ok::<_, std::convert::Infallible>(answering.answer(request, &follows).await) }
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
        Err(_) if follows.load(Ordering::Relaxed) => timeout(limits::FOLLOW_TIME, connection).await,
        ended => ended,
    };
    // Who went away, or sent what is no HTTP, is no error of ours.
    tracing::debug!(?ended, "a connection ended");
}
