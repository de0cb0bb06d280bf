//! TCP connections, optionally with TLS, that carry datagrams as frames.
//!
//! The contents of frames are handled elsewhere: those of TURN servers in `engine/gather/streaming.rs`, those
//! of peers in `engine/tcp.rs`. Nothing here waits: a turn processes what is available.

mod event;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "streams/without_tls.rs"]
mod tls;
#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(target_os = "linux", allow(dead_code))]
mod unsupported;

pub(crate) use event::{Frames, Owner, STREAMS, StreamError, StreamEvent};
#[cfg(target_os = "linux")]
pub(crate) use linux::{StreamId, Streams};
pub(crate) use tls::Secure;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{StreamId, Streams};
