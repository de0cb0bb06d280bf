//! Many connections' bytes on one thread, in turns: wait, take what has come, send what is to be sent.
//!
//! | does | does not |
//! |---|---|
//! | io_uring or epoll ([`Kind`]) | threads |
//! | lend long pieces to the kernel, copy short ones together ([`Outbox`]) | keep what a socket has no room for: it is asked for again |
//! | accept, and tell who hung up | time limits: a server that hangs is the lab's to notice |

mod epoll;
mod outbox;
mod uring;

use std::net::{TcpListener, TcpStream};

pub use outbox::Outbox;

use crate::Lab;

/// Up to this much at a time io_uring costs less.
const MAX_URING_BYTES: usize = 32 << 10;

/// What moves the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `io_uring`: all sends of a turn and the wait are one call; what comes is put into buffers of a ring.
    Uring,
    /// `epoll`, edge-triggered: a call a receive, a call a send.
    Epoll,
}

impl Kind {
    /// By the program's argument `--io`: `auto` (also without it), `io_uring` or `epoll`. Any other argument is `failed`.
    pub fn of_arguments(lab: Lab, size: Size) -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let kind = match words[..] {
            [] | ["--io", "auto"] => Some(Self::best(size)),
            ["--io", "io_uring"] => Some(Self::Uring),
            ["--io", "epoll"] => Some(Self::Epoll),
            _ => None,
        };
        kind.unwrap_or_else(|| lab.failed("the arguments are: --io auto | io_uring | epoll"))
    }

    /// Those that this kernel has, the better one first.
    pub fn here() -> &'static [Self] {
        if uring::works() { &[Self::Uring, Self::Epoll] } else { &[Self::Epoll] }
    }

    /// What costs less CPU time an operation, as measured: io_uring where little comes at a time, by some 5 to 15 %; epoll,
    /// with its one buffer that stays in the cache, where it is more, by some 10 %.
    pub fn best(size: Size) -> Self {
        match Self::here() {
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

/// What a program expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Connections.
    pub connections: usize,
    /// About how much comes on a connection at a time.
    pub receive_bytes: usize,
}

/// How long a turn may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until something comes.
    Long,
    /// Or until this moment of `CLOCK_MONOTONIC`.
    UntilNs(u64),
    /// Not at all.
    Not,
}

/// What the connections are for. They are numbered 0, 1, .. in the order in which they came; no number is used twice.
pub trait Service {
    /// Comes before each wait. Who has something to send by now is put into `ready`.
    fn turn(&mut self, ready: &mut Vec<usize>) -> Wait;

    /// Takes what has come on a connection, at `at_ns`. Says whether the connection has something to send.
    fn received(&mut self, number: usize, bytes: &[u8], at_ns: u64) -> Result<bool, String>;

    /// Writes what the connection has to send, as much as there is room for; nothing, if it has nothing. The same again until it
    /// was [`sent`](Self::sent).
    fn write(&mut self, number: usize, out: &mut Outbox);

    /// So many of the bytes written last have been sent.
    fn sent(&mut self, number: usize, bytes: usize);

    /// Whether the connection has something to send still.
    fn unsent(&self, number: usize) -> bool;

    /// There is one more connection.
    fn opened(&mut self, number: usize) -> Result<(), String>;

    /// The other end has hung up.
    fn closed(&mut self, number: usize, reason: &str) -> Result<(), String>;
}

/// Serves these connections, and those that the listener accepts. Ends with an error only.
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

/// What the end of a connection is called.
fn hung_up(error: Option<std::io::Error>) -> String {
    error.map_or_else(|| "closed".to_owned(), |error| error.to_string())
}

#[cfg(test)]
mod tests;
