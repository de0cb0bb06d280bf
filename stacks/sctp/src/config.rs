//! Configuration of an association.

use std::time::Duration;

use crate::error::ConfigError;
use crate::limits::Limits;

/// Settings of an association. `Config::default()` suits WebRTC.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Local SCTP port; 5000 by convention (RFC 8841 section 5).
    pub local_port: u16,
    /// The peer's SCTP port.
    pub remote_port: u16,
    /// Initial limit for SCTP packets, until path MTU discovery has shown that the path carries longer ones.
    /// 1,163 bytes fill a UDP payload of 1,200 bytes with DTLS 1.2 and AES-GCM.
    pub packet_bytes: usize,
    /// Upper limit of path MTU discovery (RFC 8899); a value equal to `packet_bytes` disables it.
    pub max_packet_bytes: usize,
    /// Largest message that the peer accepts (`a=max-message-size`, RFC 8841 section 6), below 4 GiB.
    pub max_send_message_bytes: usize,
    /// Offer I-DATA (RFC 8260), so that a large message does not block others.
    pub interleaving: bool,
    /// Offer and use zero checksums (RFC 9653); DTLS already protects the packets.
    pub zero_checksum: bool,
    /// Congestion control algorithm.
    pub congestion: Congestion,
    /// How streams share the available bandwidth.
    pub schedule: Schedule,
    /// RTO.Initial (RFC 9260 section 16).
    pub rto_initial: Duration,
    /// RTO.Min.
    pub rto_min: Duration,
    /// RTO.Max.
    pub rto_max: Duration,
    /// Idle time before a HEARTBEAT is sent.
    pub heartbeat_interval: Duration,
    /// Longest delay of a SACK (RFC 9260 section 6.2: at most 500 ms).
    pub sack_delay: Duration,
    /// Resource limits and retry counts.
    pub limits: Limits,
}

/// Congestion control algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Congestion {
    /// BBR, version 3 (draft-ietf-ccwg-bbr): paces by a model of the path's bandwidth and round trip, instead
    /// of reducing a window after each loss.
    #[default]
    Bbr,
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406).
    Cubic,
    /// NewReno as in RFC 9260 section 7.2.
    NewReno,
}

/// How streams share the available bandwidth (RFC 8260 section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// One message per turn (section 3.2); with I-DATA, one chunk per turn.
    #[default]
    RoundRobin,
    /// Bandwidth in proportion to the streams' weights (section 3.6); weights are the priorities of RFC 8831
    /// section 6.4.
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
    /// Checks that the settings are valid and consistent.
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
