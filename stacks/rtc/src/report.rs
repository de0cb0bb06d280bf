//! All statistics of a peer connection at one moment, named as the W3C's webrtc-stats names them, in snake_case.
//!
//! What W3C calls an id is the place in a vector of the same [`Report`] here. Units: bytes are those of UDP's payload, times are
//! [`Duration`]s. What does not exist here (media, and what only a browser knows) is left out, and so are time stamps: a report is of the
//! moment that it is asked for.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::dtls::{Fingerprint, Role};
use crate::ice::IceState;
use crate::peer::{ChannelId, ChannelState};
use crate::sdp::{Candidate, CandidateKind, RelayProtocol};

/// RTCStatsReport.
///
/// It is put together when it is asked for, at a cost that grows with the number of candidates, pairs and channels. On the path of data it
/// costs nothing that was not there before: a transport's datagrams and a channel's messages are counted anyway, those of a pair are the
/// difference between two of these counts, and what else is counted of a pair is counted when a check goes or comes. A pair takes some 200 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// RTCPeerConnectionStats.
    pub peer_connection: PeerConnectionStats,
    /// RTCTransportStats.
    pub transport: TransportStats,
    /// RTCIceCandidatePairStats, of the pairs that a check was sent or received on; at most
    /// [`Limits::max_candidate_pairs`](crate::Limits::max_candidate_pairs).
    pub candidate_pairs: Vec<CandidatePairStats>,
    /// RTCIceCandidateStats of ours ("local-candidate").
    pub local_candidates: Vec<CandidateStats>,
    /// Those of the peer ("remote-candidate"), also of what its checks have shown.
    pub remote_candidates: Vec<CandidateStats>,
    /// RTCCertificateStats: ours first, then the peer's once it has shown it.
    pub certificates: Vec<CertificateStats>,
    /// RTCDataChannelStats, of the channels that are not closed.
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

/// RTCTransportStats. Datagrams and bytes of ICE are left out, as W3C says; [`Stats`](crate::Stats) has all.
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
    /// iceLocalUsernameFragment, of the session in use.
    pub ice_local_username_fragment: String,
    /// iceState.
    pub ice_state: IceState,
    /// dtlsState.
    pub dtls_state: DtlsState,
    /// dtlsRole; None (W3C "unknown") until it is agreed upon.
    pub dtls_role: Option<Role>,
    /// tlsVersion: "FEFC" is DTLS 1.3, "FEFD" 1.2. None until it is decided, and after the end.
    pub tls_version: Option<&'static str>,
    /// selectedCandidatePairId: the place in [`Report::candidate_pairs`].
    pub selected_candidate_pair_id: Option<usize>,
    /// selectedCandidatePairChanges: how often another pair was chosen, the first time too.
    pub selected_candidate_pair_changes: u32,
    /// localCertificateId: the place in [`Report::certificates`].
    pub local_certificate_id: usize,
    /// remoteCertificateId.
    pub remote_certificate_id: Option<usize>,
}

/// RTCIceRole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IceRole {
    /// Not known yet.
    Unknown,
    /// Chooses the pair.
    Controlling,
    /// The peer chooses.
    Controlled,
}

impl IceRole {
    /// As W3C names it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Controlling => "controlling",
            Self::Controlled => "controlled",
        }
    }
}

impl IceState {
    /// As W3C names it.
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
    /// Nothing begun.
    New,
    /// The handshake is under way.
    Connecting,
    /// It is done, and the peer's certificate is the one that its description promised.
    Connected,
    /// Over.
    Closed,
    /// Over by an error of DTLS.
    Failed,
}

impl DtlsState {
    /// As W3C names it.
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

/// RTCIceCandidatePairStats. Packets and bytes are those of data: DTLS, no checks. What comes while this pair is the selected one is counted here,
/// also where it comes from another address of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CandidatePairStats {
    /// localCandidateId: the place in [`Report::local_candidates`].
    pub local_candidate_id: usize,
    /// remoteCandidateId: the place in [`Report::remote_candidates`].
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
    /// totalRoundTripTime: of all checks whose round trip was measured; divided by `responses_received` about the mean.
    pub total_round_trip_time: Duration,
    /// currentRoundTripTime: of the last check, in steps of the turns that the caller takes.
    pub current_round_trip_time: Option<Duration>,
    /// requestsReceived, from an address that ICE has authenticated.
    pub requests_received: u64,
    /// requestsSent, those for consent included (W3C has them apart only).
    pub requests_sent: u64,
    /// responsesReceived.
    pub responses_received: u64,
    /// responsesSent.
    pub responses_sent: u64,
    /// consentRequestsSent (RFC 7675): requests on the pair while it was the selected one.
    pub consent_requests_sent: u64,
}

/// RTCStatsIceCandidatePairState, without `frozen`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CandidatePairState {
    /// The peer has made a check, and ours has not gone yet.
    Waiting,
    /// A check was sent, and not answered yet.
    InProgress,
    /// ICE has failed, and so this pair.
    Failed,
    /// A check was answered.
    Succeeded,
}

impl CandidatePairState {
    /// As W3C names it.
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
    /// protocol: between the two peers.
    pub protocol: &'static str,
    /// relayProtocol: how we speak to the TURN server, of a relayed one of ours.
    pub relay_protocol: Option<&'static str>,
    /// candidateType.
    pub candidate_type: CandidateKind,
    /// priority (RFC 8445 section 5.1.2).
    pub priority: u32,
    /// foundation (RFC 8445 section 5.1.1.3).
    pub foundation: String,
    /// relatedAddress and relatedPort: the base of a reflexive or relayed one.
    pub related_address: Option<SocketAddr>,
}

impl CandidateStats {
    /// Where datagrams go to or come from.
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

/// RTCIceCandidatePair: who talks to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedPair {
    /// Ours.
    pub local: CandidateStats,
    /// The peer's.
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
    /// Which one it is.
    pub channel: ChannelId,
    /// label.
    pub label: String,
    /// protocol.
    pub protocol: String,
    /// dataChannelIdentifier: the SCTP stream, once it is known.
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
