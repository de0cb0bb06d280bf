//! RESP2, RESP3 and inline commands, the protocol of Redis, as a codec without I/O.
//!
//! | does | does not |
//! |---|---|
//! | commands as arrays of bulk strings, and inline with quotes, in pieces of any size, in linear time | read sockets, know what a command means |
//! | replies in both protocols; what RESP3 alone has, as Redis writes it in RESP2 | RESP3's streamed strings and aggregates, which Redis never sends: refused |
//! | bounds on every length and depth, checked before anything is kept; Redis' own texts for what is wrong | follow Redis where it takes any two bytes for a line's end: they are CR and LF |
//! | replies of a server, value by value, without recursion | build trees of them |
//! | | `POST` and `Host:`, by which a server knows a browser: the server's, they are commands to us |
//!
//! A server has one [`RequestParser`] a connection, and one [`Args`] for all:
//!
//! ```
//! use netdyno_resp::{Args, Progress, Protocol, Reply, RequestLimits, RequestParser};
//!
//! let mut parser = RequestParser::new(RequestLimits::default());
//! let mut args = Args::default();
//! let (mut input, mut output) = (&b"*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\nPING\r\n*1\r\n$4\r\nPI"[..], Vec::new());
//! while let Progress::Complete(bytes) = parser.parse(input, &mut args)? {
//!     let mut reply = Reply::new(&mut output, Protocol::Resp2);
//!     match args.get(input, 0) {
//!         b"ECHO" => reply.bulk(args.get(input, 1)),
//!         _ => reply.simple("PONG"),
//!     }
//!     input = &input[bytes..];
//! }
//! assert_eq!((input, &output[..]), (&b"*1\r\n$4\r\nPI"[..], &b"$2\r\nhi\r\n+PONG\r\n"[..]));
//! # Ok::<(), netdyno_resp::RequestError>(())
//! ```
#![forbid(unsafe_code)]

mod args;
mod command;
mod double;
mod error;
mod inline;
mod limits;
mod number;
mod reply;
mod reply_parser;
mod request;
mod short;

pub use args::Args;
pub use command::write_command;
pub use double::write_double;
pub use error::{ReplyError, RequestError};
pub use limits::{ReplyLimits, RequestLimits};
pub use number::parse_integer;
pub use reply::{Later, Reply};
pub use reply_parser::{ReplyParser, Value};
pub use request::{Progress, RequestParser};
pub use short::SHORT_ARGUMENTS;

/// Which of the two protocols a connection speaks. It begins with the second; `HELLO 3` changes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Protocol {
    /// What every client speaks.
    #[default]
    Resp2,
    /// Maps, sets, doubles, booleans, one null, and messages that nobody asked for.
    Resp3,
}
