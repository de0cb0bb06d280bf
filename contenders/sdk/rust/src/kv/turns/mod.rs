//! An event loop for many connections on one thread. Each iteration (turn) waits, receives and sends.
//!
//! | does | does not |
//! |---|---|
//! | io_uring or epoll ([`Kind`]) | threads |
//! | pass long pieces to the kernel without a copy, and join short ones ([`Outbox`]) | store unsent bytes: the service writes them again |
//! | accept connections, and report closed ones | time limits: the lab detects a server that hangs |

mod epoll;
mod outbox;
mod uring;

use std::net::{TcpListener, TcpStream};

pub use outbox::Outbox;

use crate::Lab;

/// The length of a receive up to which io_uring costs less CPU time than epoll.
const MAX_URING_BYTES: usize = 32 << 10;

/// The kernel interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `io_uring`: one call submits all sends of a turn and waits; received data is placed in a ring of buffers.
    Uring,
    /// `epoll`, edge-triggered: one call per receive and per send.
    Epoll,
}

impl Kind {
    /// Reads the program's argument `--io`: `auto` (the default), `io_uring` or `epoll`. Any other argument is `failed`.
    pub fn from_arguments(lab: Lab, size: Size) -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let kind = match words[..] {
            [] | ["--io", "auto"] => Some(Self::best(size)),
            ["--io", "io_uring"] => Some(Self::Uring),
            ["--io", "epoll"] => Some(Self::Epoll),
            _ => None,
        };
        kind.unwrap_or_else(|| lab.failed("invalid arguments; usage: --io auto | io_uring | epoll"))
    }

    /// Returns the interfaces that this kernel supports, the better one first.
    pub fn supported() -> &'static [Self] {
        if uring::works() { &[Self::Uring, Self::Epoll] } else { &[Self::Epoll] }
    }

    /// Returns the interface with the lower measured CPU time per operation. io_uring is better for short receives, epoll for
    /// long ones, because its single buffer stays in the cache.
    pub fn best(size: Size) -> Self {
        match Self::supported() {
            [Self::Uring, ..] if size.receive_bytes <= MAX_URING_BYTES => Self::Uring,
            _ => Self::Epoll,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uring => "io_uring",
            Self::Epoll => "epoll",
        }
    }
}

/// The expected load of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Number of connections.
    pub connections: usize,
    /// Approximate length of a receive.
    pub receive_bytes: usize,
}

/// How long a turn may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until an event.
    Long,
    /// Until an event or this time of `CLOCK_MONOTONIC`.
    UntilNs(u64),
    /// Does not wait.
    Not,
}

/// The application. Connections are numbered 0, 1, .. in the order in which they were opened; numbers are never reused.
pub trait Service {
    /// Called before each wait. Adds connections that have data to send to `ready`.
    fn turn(&mut self, ready: &mut Vec<usize>) -> Wait;

    /// Handles bytes received at `at_ns`. Returns whether the connection has data to send.
    fn received(&mut self, number: usize, bytes: &[u8], at_ns: u64) -> Result<bool, String>;

    /// Writes the connection's unsent data, as far as `out` has space. Writes the same data again until [`sent`](Self::sent)
    /// is called.
    fn write(&mut self, number: usize, out: &mut Outbox);

    /// Reports how many of the last written bytes have been sent.
    fn sent(&mut self, number: usize, bytes: usize);

    /// Whether the connection has unsent data.
    fn unsent(&self, number: usize) -> bool;

    /// Reports a new connection.
    fn opened(&mut self, number: usize) -> Result<(), String>;

    /// Reports that the peer closed the connection.
    fn closed(&mut self, number: usize, reason: &str) -> Result<(), String>;
}

/// Serves these connections and those that the listener accepts. Returns only with an error.
pub fn run(
    kind: Kind,
    service: &mut impl Service,
    links: Vec<TcpStream>,
    listener: Option<TcpListener>,
    size: Size,
) -> Result<std::convert::Infallible, String> {
    for link in &links {
        link.set_nonblocking(true).map_err(|error| format!("O_NONBLOCK: {error}"))?;
    }
    match kind {
        Kind::Uring => uring::run(service, links, listener, size),
        Kind::Epoll => epoll::run(service, links, listener),
    }
}

/// Describes the end of a connection.
fn hung_up(error: Option<std::io::Error>) -> String {
    error.map_or_else(|| "closed".to_owned(), |error| error.to_string())
}

#[cfg(test)]
mod tests;
