//! Errors of senders and receivers. Faults of single datagrams are counted instead.

use std::io;
use std::net::SocketAddr;

use netdyno_mjpeg_core::{ConfigError, FrameError, JpegError};

/// An error that keeps a sender or receiver from being created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The UDP ports at this address could not be bound.
    #[error("cannot bind UDP ports for RTP and RTCP at {address}: {error}; choose another address or port")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The multicast group could not be joined, or the interface cannot send to it.
    #[error("cannot use multicast group {group}: {error}; choose an interface that supports multicast")]
    Group {
        /// The group.
        group: SocketAddr,
        /// The system's error.
        #[source]
        error: io::Error,
    },
    /// The settings are invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// RTP and RTCP cannot share a port for a multicast group.
    #[error(
        "RTP and RTCP cannot share a port for the multicast group {0} (RFC 5761 section 5.2); disable RTCP multiplexing"
    )]
    MuxedGroup(SocketAddr),
    /// RTP packets of this payload type cannot be distinguished from RTCP on a shared port.
    #[error(
        "payload type {0} cannot be used with RTCP multiplexing (RFC 5761 section 4); use 0 to 63 or 96 to 127"
    )]
    MuxedPayloadType(u8),
    /// Another operation of the system failed, such as reading random numbers.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Why a frame was not sent. Later frames are unaffected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PictureError {
    /// RFC 2435 cannot carry this JPEG, or it is damaged.
    #[error(transparent)]
    Jpeg(#[from] JpegError),
    /// The frame is too long.
    #[error(transparent)]
    Frame(#[from] FrameError),
}
