//! The limits of the server.

use std::time::Duration;

/// Connections in addition to the maximum number of clients, for clients without a session.
pub(super) const SPARE_CONNECTIONS: usize = 64;

/// Connections of one host in addition to its maximum number of clients.
pub(super) const SPARE_CONNECTIONS_PER_HOST: usize = 8;

/// Unprocessed input of a connection: an incomplete message, and data received together with its end.
pub(super) const INPUT_BYTES: usize = 2 * netdyno_rtsp::limits::MAX_MESSAGE_BYTES;

/// Pending output of a connection: the longest frame (24-bit offset) with its headers, and responses.
pub(super) const OUTPUT_BYTES: usize = 32 << 20;

/// TCP_NOTSENT_LOWAT: unsent bytes that the kernel buffers per connection. Further frames wait in the server's queue, where new
/// frames replace old ones.
pub(super) const UNSENT_BYTES: u32 = 128 << 10;

/// Pending responses of a connection beyond which its requests wait.
pub(super) const RESPONSE_BYTES: usize = 64 << 10;

/// Messages of a connection that are handled in one turn; the rest wait for the next turn, so that no connection delays others.
pub(super) const MESSAGES_PER_TURN: usize = 64;

/// Maximum delay of the next turn while messages wait for it.
pub(super) const THROTTLE_DELAY: Duration = Duration::from_millis(1);

/// Rejection events per second; more are only counted, so that a client cannot flood the log.
pub(super) const REJECTION_EVENTS: u32 = 10;

/// Queued frames per connection in addition to the one being sent; a new frame replaces the oldest. Frames are shared, so that an
/// entry takes 8 bytes.
pub(super) const QUEUE_FRAMES: usize = 4;

/// Time for a connection without a session to send a complete request.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Idle time before TCP keep-alive probes.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(30);

/// Interval of checks of sessions, reports and idle connections.
pub(super) const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// Time for connections to accept their remaining output when the server stops.
pub(super) const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Receive calls per turn on the RTP port. Some clients send packets there to open a firewall.
pub(super) const RTP_RECEIVES: usize = 16;

/// Maximum length of a sent RTCP datagram.
pub(super) const REPORT_BYTES: usize = 512;

/// Consecutive pictures that cannot be read or packetized before the server stops.
pub(super) const MAX_FAILURES: u32 = 100;

/// Delay before a source is read again after a failure.
pub(super) const RETRY_DELAY: Duration = Duration::from_millis(20);

/// Time to wait for the first picture before connections are accepted. DESCRIBE fails with 503 until it is available.
pub(super) const FIRST_PICTURE_TIMEOUT: Duration = Duration::from_secs(1);

/// Events of the source thread that wait for the network thread.
pub(super) const FEEDER_EVENTS: usize = 2;

/// Assumed frame interval of a live source until it has been measured.
pub(super) const LIVE_INTERVAL: Duration = Duration::from_millis(33);

/// Maximum frame interval of a live source that enters the mean.
pub(super) const MAX_LIVE_INTERVAL: Duration = Duration::from_secs(1);
