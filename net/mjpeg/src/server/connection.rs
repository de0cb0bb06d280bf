//! The state of an RTSP connection.

use std::time::Instant;

use netdyno_io::tcp::Key;

use crate::rtsp::Peer;

/// A connection of RTSP.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) key: Key,
    pub(super) peer: Peer,
    /// When it last asked something.
    pub(super) asked: Instant,
    /// Bytes of answers since it last had taken all.
    pub(super) answers: usize,
    /// Its requests wait until it has taken answers.
    pub(super) is_held: bool,
    /// Bytes of all answers.
    pub(super) answered: u64,
    /// What it had to take when last looked at, without answers; and when that last changed. Frames are only added once all is
    /// taken, so that it is the same only if nothing was.
    pub(super) pending: i64,
    pub(super) taken: Instant,
}
