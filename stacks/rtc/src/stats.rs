//! Statistics, named as in W3C `getStats` (webrtc-stats).

use std::time::Duration;

/// Statistics of a peer connection: RTCPeerConnectionStats, RTCTransportStats, RTCIceCandidatePairStats and
/// RTCSctpTransportStats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// dataChannelsOpened.
    pub data_channels_opened: u64,
    /// dataChannelsClosed.
    pub data_channels_closed: u64,
    /// packetsSent: UDP datagrams.
    pub packets_sent: u64,
    /// packetsReceived.
    pub packets_received: u64,
    /// bytesSent: UDP payload.
    pub bytes_sent: u64,
    /// bytesReceived.
    pub bytes_received: u64,
    /// tlsVersion: "FEFC" is DTLS 1.3, "FEFD" 1.2. `None` until negotiated, and after the end.
    pub tls_version: Option<&'static str>,
    /// currentRoundTripTime of the selected pair, measured by STUN.
    pub current_round_trip_time: Option<Duration>,
    /// Statistics of the association.
    pub sctp: netdyno_sctp::Stats,
}

/// Statistics of a data channel: RTCDataChannelStats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ChannelStats {
    /// messagesSent.
    pub messages_sent: u64,
    /// bytesSent: payload.
    pub bytes_sent: u64,
    /// messagesReceived.
    pub messages_received: u64,
    /// bytesReceived.
    pub bytes_received: u64,
}
