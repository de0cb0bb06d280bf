//! Statistics, by W3C's names (webrtc-stats) where they exist.

use std::time::Duration;

use netdyno_rtc::Stats;
use netdyno_rtc::core::ChannelStats;

/// Statistics of a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_connection_stats {
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
    /// currentRoundTripTime of the path, measured by STUN; 0: not measured yet.
    pub current_round_trip_time_ns: u64,
    /// The smoothed round-trip time of SCTP; 0: not measured yet.
    pub smoothed_rtt_ns: u64,
    /// congestionWindow.
    pub congestion_window_bytes: u64,
    /// Sent and not acknowledged yet.
    pub in_flight_bytes: u64,
    /// Retransmitted DATA chunks.
    pub chunks_retransmitted: u64,
    /// Messages abandoned, on partially reliable channels.
    pub messages_abandoned: u64,
    /// tlsVersion: 0xFEFC is DTLS 1.3, 0xFEFD 1.2; 0: not negotiated yet, or over.
    pub tls_version: u32,
}

/// Statistics of a data channel (RTCDataChannelStats). Bytes are payload.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_channel_stats {
    /// messagesSent.
    pub messages_sent: u64,
    /// bytesSent.
    pub bytes_sent: u64,
    /// messagesReceived.
    pub messages_received: u64,
    /// bytesReceived.
    pub bytes_received: u64,
}

impl From<Stats> for nd_connection_stats {
    fn from(stats: Stats) -> Self {
        let ns = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos() as u64);
        Self {
            data_channels_opened: stats.data_channels_opened,
            data_channels_closed: stats.data_channels_closed,
            packets_sent: stats.packets_sent,
            packets_received: stats.packets_received,
            bytes_sent: stats.bytes_sent,
            bytes_received: stats.bytes_received,
            current_round_trip_time_ns: ns(stats.current_round_trip_time),
            smoothed_rtt_ns: ns(stats.sctp.smoothed_rtt),
            congestion_window_bytes: stats.sctp.congestion_window_bytes as u64,
            in_flight_bytes: stats.sctp.in_flight_bytes as u64,
            chunks_retransmitted: stats.sctp.chunks_retransmitted,
            messages_abandoned: stats.sctp.messages_abandoned,
            tls_version: stats.tls_version.and_then(|text| u32::from_str_radix(text, 16).ok()).unwrap_or(0),
        }
    }
}

impl From<ChannelStats> for nd_channel_stats {
    fn from(stats: ChannelStats) -> Self {
        Self {
            messages_sent: stats.messages_sent,
            bytes_sent: stats.bytes_sent,
            messages_received: stats.messages_received,
            bytes_received: stats.bytes_received,
        }
    }
}
