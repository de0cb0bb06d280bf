//! Configuration of a peer connection.

use std::sync::Arc;
use std::time::Duration;

use crate::dtls::{Certificate, Versions};
use crate::limits::{Limits, RESTART_TIMEOUT};

/// Settings of a peer connection.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// The local certificate; one per process suffices.
    pub certificate: Arc<Certificate>,
    /// The supported DTLS versions; both by default. The newer one is preferred.
    pub dtls_versions: Versions,
    /// Initial limit for UDP payloads, until path MTU discovery has shown that the path carries longer ones.
    pub datagram_bytes: usize,
    /// Upper limit of path MTU discovery for UDP payloads. A value equal to `datagram_bytes` disables it.
    pub max_datagram_bytes: usize,
    /// Longest message accepted, as announced to the peer (`a=max-message-size`).
    pub max_message_bytes: usize,
    /// Answer checks but send none (RFC 8445 section 2.5): for servers with a public address.
    pub ice_lite: bool,
    /// Time without a consent response after which the connection fails (RFC 7675 section 5.1: 30 s); also
    /// the time allowed for finding the first candidate pair. Values below 15 s count as 15 s, since consent
    /// is requested every 4 to 6 s.
    pub consent_timeout: Duration,
    /// How long a connection that failed for lack of a path (no consent, or no working candidate pair) is
    /// kept with all its data, so that an ICE restart can revive it (W3C restartIce). Then it is closed;
    /// zero: at once.
    pub restart_timeout: Duration,
    /// Settings of the association, including its limits. The fields above override the corresponding ones
    /// here.
    pub sctp: netdyno_sctp::Config,
    /// Limits on what a peer can make us hold, in addition to `sctp.limits`.
    pub limits: Limits,
}

impl Config {
    /// The defaults with this certificate.
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
