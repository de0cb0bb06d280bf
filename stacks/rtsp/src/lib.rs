//! Sans-I/O server core of RTSP 1.0 (RFC 2326).
//!
//! | does | does not |
//! |---|---|
//! | OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER and SET_PARAMETER for one stream of one medium | ANNOUNCE, RECORD, REDIRECT; RTSP 2.0 |
//! | RTP over UDP unicast, or interleaved with RTSP on its connection (section 10.12) | multicast, SRTP, RTSP over HTTP |
//! | sessions that end on TEARDOWN, when their connection closes (interleaved) or on a timeout (UDP) | authentication: every client that reaches the port can play the stream |
//! | bound everything a client can make the server store ([`limits`]) | seek: all clients receive the same live stream |
//!
//! [`next_message`] splits the bytes of a connection into requests and interleaved packets. [`Sessions`] responds to requests
//! and reports, as events, which clients the stream must be sent to. Any order of calls is valid; poll events after each call.
//!
#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// Tests need a start time.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod limits;
mod message;
mod method;
mod request;
mod response;
mod sessions;
mod status;
mod stream;
mod transport;

pub use message::{INTERLEAVED_HEADER_BYTES, Message, interleaved_header, next_message};
pub use method::Method;
pub use request::Request;
pub use sessions::{SessionEvent, SessionId, Sessions, SessionsConfig, StopReason, host_prefix};
pub use status::Status;
pub use stream::StreamState;
pub use transport::{Peer, Transport};
