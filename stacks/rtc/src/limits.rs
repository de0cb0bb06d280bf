//! Everything has a limit, and every limit a name.

use std::time::Duration;

/// Characters of our user name fragment: 48 bits (RFC 8445 section 5.3 asks for 24).
pub(crate) const UFRAG_CHARS: usize = 8;

/// How long a connection whose path was lost waits for a restart of ICE, unless set otherwise: as long again as it takes to lose the
/// path, twice. All that it holds, its buffers too, is held for that time.
pub(crate) const RESTART_TIMEOUT: Duration = Duration::from_secs(60);

/// What a peer, or the application, can make a peer connection hold. What the association holds is limited in
/// [`Config::sctp`](crate::Config::sctp).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a session description.
    pub max_sdp_bytes: usize,
    /// Remote candidates of one description and what is trickled after it; as many of our own.
    pub max_remote_candidates: usize,
    /// Candidate pairs that are checked.
    pub max_candidate_pairs: usize,
    /// Data channels at a time.
    pub max_channels: usize,
    /// Bytes of a label, and of a protocol name, in DCEP.
    pub max_label_bytes: usize,
    /// Events waiting to be polled.
    pub max_events: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_sdp_bytes: 65_536,
            max_remote_candidates: 64,
            max_candidate_pairs: 100,
            max_channels: 65_535,
            max_label_bytes: 1024,
            max_events: 65_536,
        }
    }
}
