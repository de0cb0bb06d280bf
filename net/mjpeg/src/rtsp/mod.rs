//! RTSP 1.0 (RFC 2326), a server's side, without I/O, clock or randomness but a seed.
//!
//! | does | does not |
//! |---|---|
//! | OPTIONS, DESCRIBE, SETUP, PLAY, PAUSE, TEARDOWN, GET_PARAMETER and SET_PARAMETER for one stream of one medium | ANNOUNCE, RECORD, REDIRECT; RTSP 2.0 |
//! | RTP over UDP unicast, or interleaved with RTSP on its connection (section 10.12) | multicast, SRTP, RTSP over HTTP |
//! | sessions that end by TEARDOWN, with their connection (interleaved) or by time (UDP) | authentication: who reaches the port may watch |
//! | bound all that a peer sends or makes it keep ([`limits`]) | seek: all clients see one stream, from now on |
//!
//! [`next_unit`] cuts what a connection sent into requests and interleaved packets; [`Sessions`] answers the requests, and tells
//! by events whom to send the stream.

mod answer;
pub mod limits;
mod message;
mod sdp;
mod sessions;
mod stream;
mod transport;

pub use message::{INTERLEAVED_HEADER_BYTES, Method, Request, Status, Unit, interleaved_header, next_unit};
pub use sessions::{SessionEvent, SessionId, Sessions, SessionsConfig, Why, host_of};
pub use stream::Stream;
pub use transport::{Delivery, Peer};
