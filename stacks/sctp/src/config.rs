//! What a user of an association may set.

use std::time::Duration;

use crate::error::ConfigError;
use crate::limits::Limits;

/// Settings of an association. `Config::default()` is right for WebRTC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// SCTP port of ours; 5000 by convention (RFC 8841 section 5).
    pub local_port: u16,
    /// SCTP port of the peer.
    pub remote_port: u16,
    /// SCTP packets are at most this long until discovery has shown that the path takes more. 1,163 bytes fill a UDP
    /// payload of 1,200 bytes with DTLS 1.2 and AES-GCM.
    pub packet_bytes: usize,
    /// Path MTU discovery (RFC 8899) looks for SCTP packets of up to this length; `packet_bytes` turns it off.
    pub max_packet_bytes: usize,
    /// The largest message that the peer takes (`a=max-message-size`, RFC 8841 section 6), below 4 GiB.
    pub max_send_message_bytes: usize,
    /// Offer I-DATA (RFC 8260), so that a large message does not hold up the others.
    pub interleaving: bool,
    /// Offer and use zero checksums (RFC 9653); DTLS protects the packets already.
    pub zero_checksum: bool,
    /// Congestion control.
    pub congestion: Congestion,
    /// How the streams share what may be sent.
    pub schedule: Schedule,
    /// RTO.Initial (RFC 9260 section 16).
    pub rto_initial: Duration,
    /// RTO.Min.
    pub rto_min: Duration,
    /// RTO.Max.
    pub rto_max: Duration,
    /// Time that an idle association goes without a HEARTBEAT.
    pub heartbeat_interval: Duration,
    /// Longest time that a SACK waits for company (RFC 9260 section 6.2: at most 500 ms).
    pub sack_delay: Duration,
    /// What a peer can make us hold, and how long we try.
    pub limits: Limits,
}

/// Congestion control algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path's rate and round trip, with pacing, in place of a window that
    /// shrinks by loss.
    #[default]
    Bbr,
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406).
    Cubic,
    /// NewReno as of RFC 9260 section 7.2.
    NewReno,
}

/// How the streams share what may be sent (RFC 8260 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// A message each in turn (section 3.2); with I-DATA a chunk each.
    #[default]
    RoundRobin,
    /// Bytes in proportion to the streams' weights (section 3.6); weights are the priorities of RFC 8831 section 6.4.
    WeightedFair,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            local_port: 5000,
            remote_port: 5000,
            packet_bytes: 1163,
            max_packet_bytes: 1163,
            max_send_message_bytes: 262_144,
            interleaving: true,
            zero_checksum: true,
            congestion: Congestion::default(),
            schedule: Schedule::default(),
            rto_initial: Duration::from_millis(500),
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(10),
            heartbeat_interval: Duration::from_secs(30),
            sack_delay: Duration::from_millis(20),
            limits: Limits::default(),
        }
    }
}

impl Config {
    /// Whether the settings can work together.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let rows = [
            ("packet_bytes", (508..=16_384).contains(&self.packet_bytes), "508 to 16,384"),
            (
                "max_packet_bytes",
                (self.packet_bytes..=16_384).contains(&self.max_packet_bytes),
                "packet_bytes to 16,384",
            ),
            (
                "max_send_message_bytes",
                (1..=u32::MAX as usize).contains(&self.max_send_message_bytes),
                "1 to 4294967295",
            ),
            (
                "rto_min",
                self.rto_min > Duration::ZERO && self.rto_min <= self.rto_initial,
                "above 0, up to rto_initial",
            ),
            ("rto_max", self.rto_max >= self.rto_initial, "at least rto_initial"),
            ("limits.max_streams", self.limits.max_streams > 0, "at least 1"),
            ("sack_delay", self.sack_delay <= Duration::from_millis(500), "at most 500 ms"),
        ];
        match rows.iter().find(|(_, holds, _)| !holds) {
            Some(&(field, _, rule)) => Err(ConfigError { field, rule }),
            None => Ok(()),
        }
    }
}
