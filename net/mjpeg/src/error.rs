//! Errors of senders and receivers. What happens to single datagrams is no error: it is counted.

use std::io;
use std::net::SocketAddr;

use netdyno_mjpeg_core::{ConfigError, FrameError, JpegError};

/// Why a sender or a receiver was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No socket at this address.
    #[error("no UDP ports for RTP and RTCP at {address}: {error}; name another address or port")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// The group could not be joined, or not be sent to by the interface.
    #[error("multicast group {group}: {error}; name an interface that carries multicast")]
    Group {
        /// The group.
        group: SocketAddr,
        /// What the system said.
        #[source]
        error: io::Error,
    },
    /// Settings that cannot work.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// RTP and RTCP on one port are for one receiver alone.
    #[error(
        "{0} is a group: RTP and RTCP have a port each there (RFC 5761 section 5.2); leave muxed RTCP out"
    )]
    MuxedGroup(SocketAddr),
    /// Such packets of RTP cannot be told from RTCP where both have one port.
    #[error(
        "payload type {0} cannot go with muxed RTCP (RFC 5761 section 4); it takes 0 to 63, or 96 to 127"
    )]
    MuxedPayloadType(u8),
    /// Another thing that the system did not give, such as random numbers.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Why a picture was not sent. The next one may be fine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// RFC 2435 cannot carry it, or it is damaged.
    #[error(transparent)]
    Jpeg(#[from] JpegError),
    /// It is too long.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Why a description (SDP) is of no use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the description (SDP): {rule}")]
pub struct SdpError {
    pub(crate) rule: String,
}

impl SdpError {
    pub(crate) fn new(rule: impl ToString) -> Self {
        Self { rule: rule.to_string() }
    }
}
