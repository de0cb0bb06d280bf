//! Everything has a limit, and every limit a name. What a sender can make a receiver hold is in the core's limits.

use std::time::Duration;

/// Bytes of a JPEG file, as a source gives it: the most that RFC 2435 can carry, and as much again for what it leaves out (thumbnails,
/// metadata).
pub const MAX_PICTURE_BYTES: usize = 32 << 20;

/// Files of one folder, and of one source.
pub const MAX_FILES: usize = 1 << 20;

/// The longest time that the packets of a frame are spread over: a slower rate shows pictures less often, not later.
pub const MAX_SPREAD: Duration = Duration::from_millis(100);

/// For how long a send waits until the socket has room; what then has not gone is lost.
pub(crate) const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes of a datagram of RTCP that is looked at; a longer one is cut, and then malformed.
pub(crate) const RTCP_BYTES: usize = 1500;

/// Datagrams of RTCP that are taken in one go before pictures go on.
pub(crate) const RTCP_PER_TURN: usize = 64;

/// Attempts to find an even port whose successor is free too.
pub(crate) const PORT_ATTEMPTS: usize = 64;
