//! The limits of this crate. [`core::limits`](crate::core::limits) bounds the state that a sender can make a receiver store.

use std::time::Duration;

/// Maximum length of a JPEG file: the maximum that RFC 2435 can carry, and the same again for metadata.
pub const MAX_PICTURE_BYTES: usize = 32 << 20;

/// Maximum number of files of a folder and of a source.
pub const MAX_FILES: usize = 1 << 20;

/// Maximum time over which the packets of a frame are spread; it bounds the latency at low frame rates.
pub const MAX_SPREAD: Duration = Duration::from_millis(100);

/// Maximum wait for space in the send buffer; the remaining packets are lost.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Maximum length of a received RTCP datagram; a longer one is truncated and then malformed.
pub(crate) const RTCP_BYTES: usize = 1500;

/// Maximum number of RTCP datagrams received per turn.
pub(crate) const RTCP_PER_TURN: usize = 64;

/// Attempts to find a free even port whose successor is free.
pub(crate) const PORT_ATTEMPTS: usize = 64;
