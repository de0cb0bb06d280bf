//! The state of an RTSP connection.

use std::time::Instant;

use netdyno_io::tcp::Key;
use netdyno_rtsp::Peer;

/// An RTSP connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) key: Key,
    pub(super) peer: Peer,
    /// Time of its last request.
    pub(super) last_request: Instant,
    /// Bytes of responses since its output was last empty.
    pub(super) pending_response_bytes: usize,
    /// Whether it has sent a complete message.
    pub(super) has_request: bool,
    /// Whether its requests wait until it has accepted earlier responses.
    pub(super) is_held: bool,
    /// Whether its messages exceeded the limit of the last turn.
    pub(super) is_throttled: bool,
    /// Whether it has ever been throttled.
    pub(super) is_flooding: bool,
    /// Total bytes of responses.
    pub(super) response_bytes: u64,
    /// Pending output minus all responses, at the last check, and the time at which it last changed. Frames are appended only
    /// to empty output; the value is therefore constant only while the client accepts nothing.
    pub(super) frame_backlog: i64,
    pub(super) last_progress: Instant,
}
