//! RESP2, RESP3 and inline commands, the protocol of Redis, as a codec without I/O.
//!
//! | does | does not |
//! |---|---|
//! | parse commands, as arrays of bulk strings or inline with quotes, in chunks of any size in linear time | read sockets, interpret commands |
//! | write replies in both protocols; RESP3 types are converted in RESP2 as in Redis | RESP3's streamed strings and aggregates, which Redis never sends: refused |
//! | check a limit on every length and depth before storing anything; use Redis' error texts | accept arbitrary two-byte line ends, as Redis does: only CR and LF |
//! | parse a server's replies value by value, without recursion | build trees of them |
//! | | detect HTTP requests of browsers (`POST`, `Host:`): that is left to the server |
//!
//! A server has one [`RequestParser`] per connection and one [`Args`] in total:
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

/// The protocol version of a connection. The default is RESP2; `HELLO 3` selects RESP3.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Protocol {
    /// Supported by every client.
    #[default]
    Resp2,
    /// Adds maps, sets, doubles, booleans, a single null, and push messages.
    Resp3,
}
