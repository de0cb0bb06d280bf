//! All limits of a peer connection, by name.

use std::time::Duration;

/// Length of our user name fragment: 48 bits (RFC 8445 section 5.3 asks for 24).
pub(crate) const UFRAG_CHARS: usize = 8;

/// Default time that a connection whose path was lost waits for an ICE restart: twice the time it takes to
/// lose the path. Its buffers are kept during that time.
pub(crate) const RESTART_TIMEOUT: Duration = Duration::from_secs(60);

/// Bounds on what a peer or the application can make a peer connection hold.
/// [`Config::sctp`](crate::Config::sctp) limits the association.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Longest session description in bytes.
    pub max_sdp_bytes: usize,
    /// Most remote candidates per description including those trickled after it, and most local ones.
    pub max_remote_candidates: usize,
    /// Most candidate pairs that are checked.
    pub max_candidate_pairs: usize,
    /// Most data channels at a time. A label and a protocol name are kept for each, outside the receive window.
    pub max_channels: usize,
    /// Longest label, and longest protocol name, in DCEP.
    pub max_label_bytes: usize,
    /// Most events waiting to be polled.
    pub max_events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sdp_bytes: 65_536,
            max_remote_candidates: 64,
            max_candidate_pairs: 100,
            max_channels: 1024,
            max_label_bytes: 1024,
            max_events: 65_536,
        }
    }
}
