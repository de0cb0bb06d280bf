//! TCP connections for a server that works in turns, on epoll or io_uring (Linux).
//!
//! | does | does not |
//! |---|---|
//! | accept, connect, receive and send for any number of connections in one thread | own a thread |
//! | hand out what arrived in place, and copy only what is left of it after the turn; read who sends something long into a buffer of its own | parse it |
//! | send what is appended to an output when told so, and the rest when the socket has room | wait for slow peers |
//! | wait by itself, or with other sockets in a [`Poller`](crate::Poller::add_reactor) (epoll) | |
//! | bound what a peer can make it hold ([`Limits`]) | bound how many peers come from one address |
//! | read on after a close, so that no reset overtakes the last answer | encrypt |
//!
//! A turn is: [`wait`](TcpReactor::wait), then [`next_event`](TcpReactor::next_event) until there is none, then
//! [`flush`](TcpReactor::flush). Nothing is sent before it is flushed, so that a caller can take a lock once a turn, and
//! sync a file before anybody has an answer. A connection that is idle holds no buffer.
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

pub use limits::Limits;
pub use listener::{ListenOptions, Listener};
pub use reactor::TcpReactor;
pub use table::Key;

/// How the kernel is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Backend {
    /// io_uring where the kernel has it and permits it, else epoll. By a duel of two servers (netdyno-kv, 50 connections, 3 bytes,
    /// Linux 6.18) io_uring does 1.09 times the requests (1.06 - 1.12) where they come one by one, and about as many
    /// where 16 come together.
    #[default]
    Auto,
    /// epoll, with one call a read and a write.
    Epoll,
    /// io_uring, with one call or two a turn. Needs Linux 6.1, and a kernel and container that permit it.
    Uring,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A connection was accepted, from this address.
    Accepted(Key, SocketAddr),
    /// A connection that [`TcpReactor::connect`] began is there.
    Connected(Key),
    /// Something arrived. Told once a turn, and not again for what is left unconsumed.
    Received(Key),
    /// The peer sends no more. It may still wait for answers: the connection stays until it is closed by
    /// [`TcpReactor::close`].
    Ended(Key),
    /// The connection is over. Told once for each, also for those that we closed; the key does nothing any more.
    Closed(Key, CloseReason),
    /// A [`Waker`](crate::Waker) was used.
    Woken,
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// By [`TcpReactor::close`]. If it was to be flushed first, the kernel has all of the output.
    Asked,
    /// The peer or the network ended it, or it could not be made, or it took too long to be flushed.
    Lost(ErrorKind),
    /// More than [`Limits::input_bytes`] arrived and were not consumed.
    InputLimit,
    /// More than [`Limits::output_bytes`] were not taken by the socket.
    OutputLimit,
}

fn kind_of(error: Errno) -> ErrorKind {
    io::Error::from(error).kind()
}
