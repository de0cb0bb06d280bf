//! Everything has a limit, and every limit a name.

use std::time::Duration;

/// Connections beyond those of as many clients as are served: for who only asks, or is on the way in or out.
pub(super) const SPARE_CONNECTIONS: usize = 64;

/// The same of one host.
pub(super) const SPARE_CONNECTIONS_PER_HOST: usize = 8;

/// Bytes that a connection may have sent and we have not dealt with: a unit, and what came together with its end.
pub(super) const INPUT_BYTES: usize = 2 * crate::rtsp::limits::MAX_UNIT_BYTES;

/// Bytes for a connection that it has not taken: the largest frame (RFC 2435's offset has 24 bits) with its headers, and answers.
pub(super) const OUTPUT_BYTES: usize = 32 << 20;

/// Bytes that the kernel takes of us for a connection beyond those under way: what waits longer waits in our queue, where old frames
/// give way to new ones.
pub(super) const UNSENT_BYTES: u32 = 128 << 10;

/// Bytes of answers that a connection has not taken; with more its requests wait.
pub(super) const ANSWER_BYTES: usize = 64 << 10;

/// Frames that wait for a connection, beside the one on its way; the oldest gives way to the newest. They are shared: each costs
/// 8 bytes a client.
pub(super) const QUEUE_FRAMES: usize = 4;

/// How long a connection without a session may be silent, or take for a request.
pub(super) const SILENCE: Duration = Duration::from_secs(30);

/// After so much silence the kernel asks whether a client is still there.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(30);

/// How often sessions, reports and silent connections are looked at.
pub(super) const HOUSEKEEPING: Duration = Duration::from_secs(1);

/// For how long the end of the server waits until connections have taken what is theirs.
pub(super) const FAREWELL: Duration = Duration::from_secs(1);

/// Receives at the port of RTP in one turn, of what some clients send there to open a way for it.
pub(super) const RTP_RECEIVES: usize = 16;

/// Bytes of a datagram of RTCP that we send.
pub(super) const REPORT_BYTES: usize = 512;

/// Pictures in a row that cannot be had or served, after which the source is given up.
pub(super) const FAILURES: u32 = 100;

/// How long a source that failed is left alone.
pub(super) const FAILURE_PAUSE: Duration = Duration::from_millis(20);

/// For how long the first picture is waited for before clients are heard; those who then ask before it is there are answered by 503.
pub(super) const FIRST_PICTURE: Duration = Duration::from_secs(1);

/// Pictures, and complaints about them, that wait for the network.
pub(super) const FED: usize = 2;

/// Interval between frames that come at a time of their own, until it is known; and the longest that counts.
pub(super) const LIVE_INTERVAL: Duration = Duration::from_millis(33);
pub(super) const MAX_LIVE_INTERVAL: Duration = Duration::from_secs(1);
