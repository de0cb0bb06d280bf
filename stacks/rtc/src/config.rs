//! What a user of a peer connection may set.

use std::sync::Arc;
use std::time::Duration;

use crate::dtls::{Certificate, Versions};
use crate::limits::{Limits, RESTART_TIMEOUT};

/// Settings of a peer connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Our certificate; one a process will do.
    pub certificate: Arc<Certificate>,
    /// Which versions of DTLS to speak; both by default, the newer one with a peer that has it.
    pub dtls_versions: Versions,
    /// Longest UDP payload to send before the path has shown that it takes more.
    pub datagram_bytes: usize,
    /// Path MTU discovery looks for UDP payloads of up to this length. `datagram_bytes` turns it off.
    pub max_datagram_bytes: usize,
    /// The longest message that we take, told to the peer (`a=max-message-size`).
    pub max_message_bytes: usize,
    /// Answer checks, make none (RFC 8445 section 2.5): for servers with an address that all can reach.
    pub ice_lite: bool,
    /// Without a consent response for so long the connection has failed (RFC 7675 section 5.1: 30 s); also the time for the first
    /// pair of candidates to be found. Not below 15 s, since consent is asked for every 4 to 6 s: less is taken as that.
    pub consent_timeout: Duration,
    /// How long a connection that failed for want of a path (no consent, no pair of candidates that works) is kept with all that it
    /// holds, so that a restart of ICE can bring it back (W3C restartIce). Then it is closed; zero: at once.
    pub restart_timeout: Duration,
    /// Settings of the association, its limits among them; what the fields above decide is overwritten.
    pub sctp: netdyno_sctp::Config,
    /// What a peer can make us hold, beside what `sctp.limits` says.
    pub limits: Limits,
}

impl Config {
    /// The defaults, with this certificate.
    pub fn new(certificate: Arc<Certificate>) -> Self {
        Self {
            certificate,
            dtls_versions: Versions::default(),
            datagram_bytes: 1200,
            max_datagram_bytes: 1200,
            max_message_bytes: 262_144,
            ice_lite: false,
            consent_timeout: Duration::from_secs(30),
            restart_timeout: RESTART_TIMEOUT,
            sctp: netdyno_sctp::Config::default(),
            limits: Limits::default(),
        }
    }
}
