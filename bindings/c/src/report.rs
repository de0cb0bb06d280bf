//! All statistics of a connection at one moment, as extensible structures.
//!
//! Each begins with its type and size: a program reads those that it knows, and the part that it knows of a
//! longer one. Entries are accessed through pointers, so that a longer one does not move the next.

use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use netdyno_rtc::core::{CandidateStats, DtlsRole};
use netdyno_rtc::{Report, Stats};

use crate::error::guarded;

/// nd_stats_peer_connection: one entry.
pub const ND_STATS_PEER_CONNECTION: u32 = 0;
/// nd_stats_transport: one entry.
pub const ND_STATS_TRANSPORT: u32 = 1;
/// nd_stats_sctp: one entry.
pub const ND_STATS_SCTP: u32 = 2;
/// nd_stats_candidate_pair: each pair on which a check was sent or received.
pub const ND_STATS_CANDIDATE_PAIR: u32 = 3;
/// nd_stats_candidate: each local candidate.
pub const ND_STATS_LOCAL_CANDIDATE: u32 = 4;
/// nd_stats_candidate: each remote candidate, including those discovered by checks.
pub const ND_STATS_REMOTE_CANDIDATE: u32 = 5;
/// nd_stats_certificate: the local one, and the peer's once it is known.
pub const ND_STATS_CERTIFICATE: u32 = 6;
/// nd_stats_data_channel: each channel that is not closed.
pub const ND_STATS_DATA_CHANNEL: u32 = 7;

/// The first member of every entry.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct nd_stats {
    /// The type, ND_STATS_... Skip unknown types.
    pub what: u32,
    /// The size in bytes. A field exists if it ends within it.
    pub size: u32,
}

/// RTCPeerConnectionStats.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_peer_connection {
    /// ND_STATS_PEER_CONNECTION.
    pub head: nd_stats,
    /// dataChannelsOpened.
    pub data_channels_opened: u64,
    /// dataChannelsClosed.
    pub data_channels_closed: u64,
}

/// RTCTransportStats. Without the packets and bytes of ICE, as W3C specifies; nd_connection_stats includes
/// them.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_transport {
    /// ND_STATS_TRANSPORT.
    pub head: nd_stats,
    /// packetsSent: UDP datagrams.
    pub packets_sent: u64,
    /// packetsReceived.
    pub packets_received: u64,
    /// bytesSent: UDP payload.
    pub bytes_sent: u64,
    /// bytesReceived.
    pub bytes_received: u64,
    /// iceRole: "unknown", "controlling" or "controlled".
    pub ice_role: *const c_char,
    /// iceState: "new", "checking", "connected", "disconnected" or "failed".
    pub ice_state: *const c_char,
    /// iceLocalUsernameFragment.
    pub ice_local_username_fragment: *const c_char,
    /// dtlsState: "new", "connecting", "connected", "closed" or "failed".
    pub dtls_state: *const c_char,
    /// dtlsRole: "unknown", "client" or "server".
    pub dtls_role: *const c_char,
    /// tlsVersion: "FEFC" is DTLS 1.3, "FEFD" 1.2. NULL: not negotiated yet, or over.
    pub tls_version: *const c_char,
    /// selectedCandidatePairId: the pair in use, or NULL.
    pub selected_candidate_pair: *const nd_stats_candidate_pair,
    /// localCertificateId.
    pub local_certificate: *const nd_stats_certificate,
    /// remoteCertificateId, or NULL.
    pub remote_certificate: *const nd_stats_certificate,
    /// selectedCandidatePairChanges: includes the first selection.
    pub selected_candidate_pair_changes: u32,
}

/// RTCSctpTransportStats: the association that carries the channels.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_sctp {
    /// ND_STATS_SCTP.
    pub head: nd_stats,
    /// smoothedRoundTripTime; 0: not measured yet.
    pub smoothed_round_trip_time_ns: u64,
    /// congestionWindow.
    pub congestion_window_bytes: u64,
    /// receiverWindow: the peer's.
    pub receiver_window_bytes: u64,
    /// Sent and not acknowledged yet.
    pub in_flight_bytes: u64,
    /// Retransmitted DATA chunks.
    pub chunks_retransmitted: u64,
    /// Messages abandoned, on partially reliable channels.
    pub messages_abandoned: u64,
}

/// RTCIceCandidatePairStats. Packets and bytes are those of data, without checks.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_candidate_pair {
    /// ND_STATS_CANDIDATE_PAIR.
    pub head: nd_stats,
    /// localCandidateId.
    pub local: *const nd_stats_candidate,
    /// remoteCandidateId.
    pub remote: *const nd_stats_candidate,
    /// state: "waiting", "in-progress", "failed" or "succeeded".
    pub state: *const c_char,
    /// packetsSent.
    pub packets_sent: u64,
    /// packetsReceived.
    pub packets_received: u64,
    /// bytesSent.
    pub bytes_sent: u64,
    /// bytesReceived.
    pub bytes_received: u64,
    /// totalRoundTripTime: the sum over all measured checks.
    pub total_round_trip_time_ns: u64,
    /// currentRoundTripTime: of the latest check; 0: not measured yet.
    pub current_round_trip_time_ns: u64,
    /// requestsReceived.
    pub requests_received: u64,
    /// requestsSent, including consent checks.
    pub requests_sent: u64,
    /// responsesReceived.
    pub responses_received: u64,
    /// responsesSent.
    pub responses_sent: u64,
    /// consentRequestsSent.
    pub consent_requests_sent: u64,
    /// nominated: not 0 if true.
    pub nominated: u32,
}

/// RTCIceCandidateStats.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_candidate {
    /// ND_STATS_LOCAL_CANDIDATE or ND_STATS_REMOTE_CANDIDATE.
    pub head: nd_stats,
    /// address.
    pub address: *const c_char,
    /// candidateType: "host", "srflx", "prflx" or "relay".
    pub candidate_type: *const c_char,
    /// protocol: between the peers.
    pub protocol: *const c_char,
    /// foundation (RFC 8445 section 5.1.1.3).
    pub foundation: *const c_char,
    /// relatedAddress: the base of a reflexive or relayed candidate, or NULL.
    pub related_address: *const c_char,
    /// priority (RFC 8445 section 5.1.2).
    pub priority: u32,
    /// port.
    pub port: u16,
    /// relatedPort.
    pub related_port: u16,
    /// relayProtocol: to the TURN server of a local relayed candidate, "udp", "tcp" or "tls"; otherwise NULL.
    pub relay_protocol: *const c_char,
}

/// RTCCertificateStats.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_certificate {
    /// ND_STATS_CERTIFICATE.
    pub head: nd_stats,
    /// fingerprint: "AB:CD:..".
    pub fingerprint: *const c_char,
    /// fingerprintAlgorithm: "sha-256".
    pub fingerprint_algorithm: *const c_char,
    /// base64Certificate: DER in Base64.
    pub base64_certificate: *const c_char,
}

/// RTCDataChannelStats. Bytes are payload.
#[repr(C)]
#[derive(Debug)]
pub struct nd_stats_data_channel {
    /// ND_STATS_DATA_CHANNEL.
    pub head: nd_stats,
    /// label.
    pub label: *const c_char,
    /// Its length in bytes, without the terminating NUL: it may contain NUL bytes.
    pub label_length: usize,
    /// protocol.
    pub protocol: *const c_char,
    /// Its length in bytes.
    pub protocol_length: usize,
    /// state: "connecting", "open" or "closing".
    pub state: *const c_char,
    /// messagesSent.
    pub messages_sent: u64,
    /// bytesSent.
    pub bytes_sent: u64,
    /// messagesReceived.
    pub messages_received: u64,
    /// bytesReceived.
    pub bytes_received: u64,
    /// dataChannelIdentifier: the SCTP stream; -1: not known yet.
    pub data_channel_identifier: i32,
}

/// An immutable report. Any thread may read it.
#[derive(Debug)]
pub struct nd_report {
    list: Vec<*const nd_stats>,
    // What the list points to; entries also point to each other. Nothing is added once an address is taken.
    _kept: Kept,
}

#[derive(Debug)]
struct Kept {
    _peer_connection: Vec<nd_stats_peer_connection>,
    _transport: Vec<nd_stats_transport>,
    _sctp: Vec<nd_stats_sctp>,
    _pairs: Vec<nd_stats_candidate_pair>,
    _locals: Vec<nd_stats_candidate>,
    _remotes: Vec<nd_stats_candidate>,
    _certificates: Vec<nd_stats_certificate>,
    _channels: Vec<nd_stats_data_channel>,
    _texts: Texts,
}

/// NUL-terminated texts.
#[derive(Debug, Default)]
struct Texts(Vec<Vec<u8>>);

impl Texts {
    fn keep(&mut self, text: &str) -> *const c_char {
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        let at = bytes.as_ptr();
        self.0.push(bytes);
        at.cast()
    }

    fn keep_any(&mut self, text: Option<&str>) -> *const c_char {
        text.map_or(ptr::null(), |text| self.keep(text))
    }
}

fn head<T>(what: u32) -> nd_stats {
    nd_stats { what, size: size_of::<T>() as u32 }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn address_of<T>(list: &[T], at: Option<usize>) -> *const T {
    at.and_then(|at| list.get(at)).map_or(ptr::null(), ptr::from_ref)
}

impl nd_report {
    pub(crate) fn new(report: &Report, stats: &Stats) -> Self {
        let texts = &mut Texts::default();
        let locals = candidates(texts, ND_STATS_LOCAL_CANDIDATE, &report.local_candidates);
        let remotes = candidates(texts, ND_STATS_REMOTE_CANDIDATE, &report.remote_candidates);
        let pairs = pairs(texts, report, &locals, &remotes);
        let certificates = certificates(texts, report);
        let transport = vec![transport(texts, report, &pairs, &certificates)];
        let channels = channels(texts, report);
        let peer_connection = vec![nd_stats_peer_connection {
            head: head::<nd_stats_peer_connection>(ND_STATS_PEER_CONNECTION),
            data_channels_opened: report.peer_connection.data_channels_opened,
            data_channels_closed: report.peer_connection.data_channels_closed,
        }];
        let sctp = vec![sctp(stats)];
        let mut list = Vec::new();
        add(&mut list, &peer_connection);
        add(&mut list, &transport);
        add(&mut list, &sctp);
        add(&mut list, &pairs);
        add(&mut list, &locals);
        add(&mut list, &remotes);
        add(&mut list, &certificates);
        add(&mut list, &channels);
        let _kept = Kept {
            _peer_connection: peer_connection,
            _transport: transport,
            _sctp: sctp,
            _pairs: pairs,
            _locals: locals,
            _remotes: remotes,
            _certificates: certificates,
            _channels: channels,
            _texts: std::mem::take(texts),
        };
        Self { list, _kept }
    }
}

/// Each entry begins with an `nd_stats`.
fn add<T>(list: &mut Vec<*const nd_stats>, entries: &[T]) {
    list.extend(entries.iter().map(|entry| ptr::from_ref(entry).cast()));
}

fn candidates(texts: &mut Texts, what: u32, of: &[CandidateStats]) -> Vec<nd_stats_candidate> {
    let one = |candidate: &CandidateStats| nd_stats_candidate {
        head: head::<nd_stats_candidate>(what),
        address: texts.keep(&candidate.address.to_string()),
        candidate_type: texts.keep(candidate.candidate_type.name()),
        protocol: texts.keep(candidate.protocol),
        foundation: texts.keep(&candidate.foundation),
        related_address: texts.keep_any(candidate.related_address.map(|it| it.ip().to_string()).as_deref()),
        priority: candidate.priority,
        port: candidate.port,
        related_port: candidate.related_address.map_or(0, |related| related.port()),
        relay_protocol: texts.keep_any(candidate.relay_protocol),
    };
    of.iter().map(one).collect()
}

fn pairs(
    texts: &mut Texts,
    report: &Report,
    locals: &[nd_stats_candidate],
    remotes: &[nd_stats_candidate],
) -> Vec<nd_stats_candidate_pair> {
    let pairs = report.candidate_pairs.iter().map(|pair| nd_stats_candidate_pair {
        head: head::<nd_stats_candidate_pair>(ND_STATS_CANDIDATE_PAIR),
        local: address_of(locals, Some(pair.local_candidate_id)),
        remote: address_of(remotes, Some(pair.remote_candidate_id)),
        state: texts.keep(pair.state.name()),
        packets_sent: pair.packets_sent,
        packets_received: pair.packets_received,
        bytes_sent: pair.bytes_sent,
        bytes_received: pair.bytes_received,
        total_round_trip_time_ns: ns(pair.total_round_trip_time),
        current_round_trip_time_ns: pair.current_round_trip_time.map_or(0, ns),
        requests_received: pair.requests_received,
        requests_sent: pair.requests_sent,
        responses_received: pair.responses_received,
        responses_sent: pair.responses_sent,
        consent_requests_sent: pair.consent_requests_sent,
        nominated: pair.nominated.into(),
    });
    pairs.collect()
}

fn certificates(texts: &mut Texts, report: &Report) -> Vec<nd_stats_certificate> {
    let all = report.certificates.iter().map(|certificate| nd_stats_certificate {
        head: head::<nd_stats_certificate>(ND_STATS_CERTIFICATE),
        fingerprint: texts.keep(&certificate.fingerprint.to_string()),
        fingerprint_algorithm: texts.keep(certificate.fingerprint_algorithm),
        base64_certificate: texts.keep(&certificate.base64_certificate),
    });
    all.collect()
}

fn transport(
    texts: &mut Texts,
    report: &Report,
    pairs: &[nd_stats_candidate_pair],
    certificates: &[nd_stats_certificate],
) -> nd_stats_transport {
    let transport = &report.transport;
    nd_stats_transport {
        head: head::<nd_stats_transport>(ND_STATS_TRANSPORT),
        packets_sent: transport.packets_sent,
        packets_received: transport.packets_received,
        bytes_sent: transport.bytes_sent,
        bytes_received: transport.bytes_received,
        ice_role: texts.keep(transport.ice_role.name()),
        ice_state: texts.keep(transport.ice_state.name()),
        ice_local_username_fragment: texts.keep(&transport.ice_local_username_fragment),
        dtls_state: texts.keep(transport.dtls_state.name()),
        dtls_role: texts.keep(transport.dtls_role.map_or("unknown", DtlsRole::name)),
        tls_version: texts.keep_any(transport.tls_version),
        selected_candidate_pair: address_of(pairs, transport.selected_candidate_pair_id),
        local_certificate: address_of(certificates, Some(transport.local_certificate_id)),
        remote_certificate: address_of(certificates, transport.remote_certificate_id),
        selected_candidate_pair_changes: transport.selected_candidate_pair_changes,
    }
}

fn sctp(stats: &Stats) -> nd_stats_sctp {
    nd_stats_sctp {
        head: head::<nd_stats_sctp>(ND_STATS_SCTP),
        smoothed_round_trip_time_ns: stats.sctp.smoothed_rtt.map_or(0, ns),
        congestion_window_bytes: stats.sctp.congestion_window_bytes as u64,
        receiver_window_bytes: stats.sctp.peer_window_bytes as u64,
        in_flight_bytes: stats.sctp.in_flight_bytes as u64,
        chunks_retransmitted: stats.sctp.chunks_retransmitted,
        messages_abandoned: stats.sctp.messages_abandoned,
    }
}

fn channels(texts: &mut Texts, report: &Report) -> Vec<nd_stats_data_channel> {
    let all = report.data_channels.iter().map(|channel| nd_stats_data_channel {
        head: head::<nd_stats_data_channel>(ND_STATS_DATA_CHANNEL),
        label: texts.keep(&channel.label),
        label_length: channel.label.len(),
        protocol: texts.keep(&channel.protocol),
        protocol_length: channel.protocol.len(),
        state: texts.keep(channel.state.name()),
        messages_sent: channel.messages_sent,
        bytes_sent: channel.bytes_sent,
        messages_received: channel.messages_received,
        bytes_received: channel.bytes_received,
        data_channel_identifier: channel.data_channel_identifier.map_or(-1, Into::into),
    });
    all.collect()
}

/// Returns the entries, starting with one each of the first three types. They and all that they point to
/// belong to the report. For NULL, returns NULL and sets `*count` to 0.
#[unsafe(no_mangle)]
pub extern "C" fn nd_report_entries(
    report: Option<&nd_report>,
    count: Option<&mut std::mem::MaybeUninit<usize>>,
) -> *const *const nd_stats {
    guarded(ptr::null(), || {
        let found = report.map_or(&[][..], |report| &report.list);
        count?.write(found.len());
        report.map(|_| found.as_ptr())
    })
}

/// Frees the report. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn nd_report_free(report: Option<Box<nd_report>>) {
    guarded((), || report.map(drop));
}
