//! Connections by TCP, with TLS where that is asked for: what stands in for a socket where datagrams go in a stream.
//!
//! Frames go in and come out; whose they are, and how long a connection may take to come up, is for who has opened it
//! (`engine/gather/streaming.rs`). Nothing here waits: a turn takes what is there.

#[cfg(any(not(target_os = "linux"), test))]
#[cfg_attr(target_os = "linux", allow(dead_code))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "streams/without_tls.rs"]
mod tls;

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{StreamId, Streams};
#[cfg(target_os = "linux")]
pub(crate) use linux::{StreamId, Streams};
pub(crate) use tls::Secure;

/// The key that a poller tells of streams under; no socket has it.
pub(crate) const STREAMS: u32 = u32::MAX;

/// What happened to a stream.
#[derive(Debug)]
pub(crate) enum News {
    /// Frames can be sent.
    Open,
    /// These frames have come, all of them whole.
    Frames(Vec<u8>),
    /// It is gone.
    Lost(Loss),
}

/// Why a stream is gone, or could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) why: String,
    /// It would be the same again.
    pub(crate) is_final: bool,
}
