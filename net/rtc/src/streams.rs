//! Connections by TCP, with TLS where that is asked for: what stands in for a socket where datagrams go in a stream.
//!
//! Frames go in and come out; what is in them is for others: of those to TURN servers `engine/gather/streaming.rs`, of those that peers
//! have made `engine/tcp.rs`. Nothing here waits: a turn takes what is there.

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

pub(crate) use event::{Frames, Loss, News, Owner, STREAMS};
#[cfg(target_os = "linux")]
pub(crate) use linux::{StreamId, Streams};
pub(crate) use tls::Secure;
#[cfg(not(target_os = "linux"))]
pub(crate) use unsupported::{StreamId, Streams};
