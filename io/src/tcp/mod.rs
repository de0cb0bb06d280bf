//! TCP connections for a server that works in turns, on epoll or io_uring (Linux).
//!
//! | does | does not |
//! |---|---|
//! | accepts, connects, receives and sends for any number of connections in one thread | own a thread |
//! | provides input in place, and copies only what is left of it after the turn; reads long frames directly into the connection's own buffer | parse it |
//! | sends appended output on request, and the rest when the socket has space | wait for slow peers |
//! | waits by itself, or together with other sockets in a [`Poller`](crate::Poller::add_reactor) (epoll) | |
//! | bounds what a peer can make it hold ([`Limits`]) | limit the connections per address |
//! | reads on after a close, so that no reset overtakes the last answer | encrypt |
//!
//! A turn consists of [`wait`](TcpReactor::wait), [`next_event`](TcpReactor::next_event) until there is none,
//! and [`flush`](TcpReactor::flush). Nothing is sent before the flush, so a caller can take a lock once per
//! turn, or sync a file before any answer leaves. Idle connections hold no buffers.
//!
//! ```
//! use netdyno_io::tcp::{Backend, Event, Limits, ListenOptions, TcpReactor};
//! use std::io::{Read, Write};
//!
//! # fn main() -> std::io::Result<()> {
//! let mut reactor = TcpReactor::new(Backend::Auto, Limits::default())?;
//! let listener = reactor.listen("127.0.0.1:0".parse().unwrap(), &ListenOptions::default())?;
//! let mut client = std::net::TcpStream::connect(reactor.local_address(listener))?;
//! client.write_all(b"hello")?;
//!
//! let mut answered = false;
//! while !answered {
//!     reactor.wait(None)?;
//!     while let Some(event) = reactor.next_event() {
//!         if let Event::Received(key) = event {
//!             let (input, output) = reactor.buffers(key);
//!             output.extend_from_slice(input);
//!             let count = input.len();
//!             reactor.consume(key, count);
//!             answered = true;
//!         }
//!     }
//!     reactor.flush()?;
//! }
//! # reactor.wait(Some(std::time::Duration::ZERO))?;
//! let mut answer = [0; 5];
//! client.read_exact(&mut answer)?;
//! assert_eq!(&answer, b"hello");
//! # Ok(())
//! # }
//! ```

mod append;
mod buffers;
mod connection;
mod epoll;
mod limits;
mod listener;
mod pool;
mod reactor;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod uring;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use rustix::io::Errno;

pub use buffers::BufferSizes;
pub use limits::Limits;
pub use listener::{ListenOptions, Listener};
pub use reactor::TcpReactor;
pub use table::Key;

/// The kernel interface of a reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// io_uring if the kernel provides and permits it, otherwise epoll.
    #[default]
    Auto,
    /// epoll, with one system call per read and per write.
    Epoll,
    /// io_uring, with one or two system calls per turn. Requires Linux 6.1, and a kernel and container that
    /// permit it.
    Uring,
}

/// An event of a connection or reactor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection was accepted from this address.
    Accepted(Key, SocketAddr),
    /// A connection started by [`TcpReactor::connect`] is established.
    Connected(Key),
    /// Input arrived. Reported once per turn; input left unconsumed is not reported again.
    Received(Key),
    /// The peer closed its sending side. It may still expect answers: the connection stays open until
    /// [`TcpReactor::close`].
    Ended(Key),
    /// The connection is closed. Reported once per connection, including those closed by the caller; the key
    /// is no longer valid.
    Closed(Key, CloseReason),
    /// A [`Waker`](crate::Waker) was used.
    Woken,
}

/// Why a connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// [`TcpReactor::close`] was called. If it was closed after a flush, the kernel has accepted all output.
    Requested,
    /// The peer or the network closed it, it could not be established, or flushing it took too long.
    Lost(ErrorKind),
    /// More than [`Limits::input_bytes`] arrived without being consumed.
    InputLimit,
    /// More than [`Limits::output_bytes`] were not accepted by the socket.
    OutputLimit,
}

fn kind_of(error: Errno) -> ErrorKind {
    io::Error::from(error).kind()
}
