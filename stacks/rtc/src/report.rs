//! A snapshot of all statistics of a peer connection, named as in W3C webrtc-stats, in snake_case.
//!
//! A W3C id is an index into a vector of the same [`Report`] here. Bytes are UDP payload bytes, times are
//! [`Duration`]s. Statistics without a counterpart here (media, browser internals) and time stamps are
//! omitted.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::dtls::{Fingerprint, Role};
use crate::ice::IceState;
use crate::peer::{ChannelId, ChannelState};
use crate::sdp::{Candidate, CandidateKind, RelayProtocol};

/// RTCStatsReport.
///
/// It is created on request, at a cost proportional to the number of candidates, pairs and channels. It adds
/// no cost to the data path: datagrams per transport and messages per channel are counted anyway, those of a
/// pair are differences between two readings, and other counters of a pair change only with checks. A pair
/// uses about 200 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// RTCPeerConnectionStats.
    pub peer_connection: PeerConnectionStats,
    /// RTCTransportStats.
    pub transport: TransportStats,
    /// RTCIceCandidatePairStats of pairs on which a check was sent or received; at most
    /// [`Limits::max_candidate_pairs`](crate::Limits::max_candidate_pairs).
    pub candidate_pairs: Vec<CandidatePairStats>,
    /// RTCIceCandidateStats of local candidates ("local-candidate").
    pub local_candidates: Vec<CandidateStats>,
    /// RTCIceCandidateStats of the peer ("remote-candidate"), including those learned from its checks.
    pub remote_candidates: Vec<CandidateStats>,
    /// RTCCertificateStats: the local one, then the peer's once verified.
    pub certificates: Vec<CertificateStats>,
    /// RTCDataChannelStats of channels that are not closed.
    pub data_channels: Vec<DataChannelStats>,
}

/// RTCPeerConnectionStats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct PeerConnectionStats {
    /// dataChannelsOpened.
    pub data_channels_opened: u64,
    /// dataChannelsClosed.
    pub data_channels_closed: u64,
}

/// RTCTransportStats. Excludes ICE traffic, as W3C specifies; [`Stats`](crate::Stats) includes it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TransportStats {
    /// packetsSent: UDP datagrams.
    pub packets_sent: u64,
    /// packetsReceived.
    pub packets_received: u64,
    /// bytesSent: UDP payload.
    pub bytes_sent: u64,
    /// bytesReceived.
    pub bytes_received: u64,
    /// iceRole.
    pub ice_role: IceRole,
    /// iceLocalUsernameFragment of the session in use.
    pub ice_local_username_fragment: String,
    /// iceState.
    pub ice_state: IceState,
    /// dtlsState.
    pub dtls_state: DtlsState,
    /// dtlsRole; `None` (W3C "unknown") until negotiated.
    pub dtls_role: Option<Role>,
    /// tlsVersion: "FEFC" is DTLS 1.3, "FEFD" 1.2. `None` until negotiated, and after the end.
    pub tls_version: Option<&'static str>,
    /// selectedCandidatePairId: an index into [`Report::candidate_pairs`].
    pub selected_candidate_pair_id: Option<usize>,
    /// selectedCandidatePairChanges: how often a pair was selected, including the first time.
    pub selected_candidate_pair_changes: u32,
    /// localCertificateId: an index into [`Report::certificates`].
    pub local_certificate_id: usize,
    /// remoteCertificateId.
    pub remote_certificate_id: Option<usize>,
}

/// RTCIceRole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IceRole {
    /// Not known yet.
    Unknown,
    /// This side selects the pair.
    Controlling,
    /// The peer selects the pair.
    Controlled,
}

impl IceRole {
    /// The W3C name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Controlling => "controlling",
            Self::Controlled => "controlled",
        }
    }
}

impl IceState {
    /// The W3C name.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Checking => "checking",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::Failed => "failed",
        }
    }
}

/// RTCDtlsTransportState.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DtlsState {
    /// Not started.
    New,
    /// The handshake is in progress.
    Connecting,
    /// The handshake is complete, and the peer's certificate matches its description.
    Connected,
    /// Closed.
    Closed,
    /// Ended by a DTLS error.
    Failed,
}

impl DtlsState {
    /// The W3C name.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Closed => "closed",
            Self::Failed => "failed",
        }
    }
}

/// RTCIceCandidatePairStats. Packets and bytes count data (DTLS) without checks. Data received while this
/// pair is selected is counted here, even from another address of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CandidatePairStats {
    /// localCandidateId: an index into [`Report::local_candidates`].
    pub local_candidate_id: usize,
    /// remoteCandidateId: an index into [`Report::remote_candidates`].
    pub remote_candidate_id: usize,
    /// state.
    pub state: CandidatePairState,
    /// nominated: a check with USE-CANDIDATE was sent or received, and answered.
    pub nominated: bool,
    /// packetsSent.
    pub packets_sent: u64,
    /// packetsReceived.
    pub packets_received: u64,
    /// bytesSent.
    pub bytes_sent: u64,
    /// bytesReceived.
    pub bytes_received: u64,
    /// totalRoundTripTime of all measured checks; the mean is this divided by `responses_received`,
    /// approximately.
    pub total_round_trip_time: Duration,
    /// currentRoundTripTime of the last check; its resolution is the caller's polling interval.
    pub current_round_trip_time: Option<Duration>,
    /// requestsReceived from addresses that ICE has authenticated.
    pub requests_received: u64,
    /// requestsSent, including consent requests (which W3C counts separately).
    pub requests_sent: u64,
    /// responsesReceived.
    pub responses_received: u64,
    /// responsesSent.
    pub responses_sent: u64,
    /// consentRequestsSent (RFC 7675): requests on the pair while it was selected.
    pub consent_requests_sent: u64,
}

/// RTCStatsIceCandidatePairState, without `frozen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidatePairState {
    /// The peer has sent a check, and ours is still to be sent.
    Waiting,
    /// A check was sent and not answered yet.
    InProgress,
    /// ICE has failed, and so has this pair.
    Failed,
    /// A check was answered.
    Succeeded,
}

impl CandidatePairState {
    /// The W3C name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::InProgress => "in-progress",
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
        }
    }
}

/// RTCIceCandidateStats.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CandidateStats {
    /// address.
    pub address: IpAddr,
    /// port.
    pub port: u16,
    /// protocol between the two peers.
    pub protocol: &'static str,
    /// relayProtocol between us and the TURN server, for a local relayed candidate.
    pub relay_protocol: Option<&'static str>,
    /// candidateType.
    pub candidate_type: CandidateKind,
    /// priority (RFC 8445 section 5.1.2).
    pub priority: u32,
    /// foundation (RFC 8445 section 5.1.1.3).
    pub foundation: String,
    /// relatedAddress and relatedPort: the base of a reflexive or relayed candidate.
    pub related_address: Option<SocketAddr>,
}

impl CandidateStats {
    /// The address and port as one value.
    pub fn socket_address(&self) -> SocketAddr {
        SocketAddr::new(self.address, self.port)
    }
}

impl From<&Candidate> for CandidateStats {
    fn from(candidate: &Candidate) -> Self {
        Self {
            address: candidate.address.ip(),
            port: candidate.address.port(),
            protocol: candidate.transport.name(),
            relay_protocol: candidate.relay_protocol.map(RelayProtocol::name),
            candidate_type: candidate.kind,
            priority: candidate.priority,
            foundation: candidate.foundation.clone(),
            related_address: candidate.related,
        }
    }
}

/// RTCIceCandidatePair: the selected candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedPair {
    /// The local candidate.
    pub local: CandidateStats,
    /// The peer's candidate.
    pub remote: CandidateStats,
}

/// RTCCertificateStats.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateStats {
    /// fingerprint.
    pub fingerprint: Fingerprint,
    /// fingerprintAlgorithm.
    pub fingerprint_algorithm: &'static str,
    /// base64Certificate: DER in Base64.
    pub base64_certificate: String,
}

/// RTCDataChannelStats.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataChannelStats {
    /// The channel.
    pub channel: ChannelId,
    /// label.
    pub label: String,
    /// protocol.
    pub protocol: String,
    /// dataChannelIdentifier: the SCTP stream, once known.
    pub data_channel_identifier: Option<u16>,
    /// state.
    pub state: ChannelState,
    /// messagesSent.
    pub messages_sent: u64,
    /// bytesSent: payload.
    pub bytes_sent: u64,
    /// messagesReceived.
    pub messages_received: u64,
    /// bytesReceived.
    pub bytes_received: u64,
}
