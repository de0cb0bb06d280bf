//! Statistics for the Python half: W3C's names and units (webrtc-stats), times in seconds.
//!
//! An id identifies the same object in every report of its connection: a candidate by its address, a pair by
//! both addresses, a channel by its number.

use std::net::SocketAddr;
use std::time::Duration;

use netdyno_rtc::core::{CandidateStats, DtlsRole};
use netdyno_rtc::{Report, Stats};
use pyo3::prelude::*;
use pyo3::types::PyDict;

const PEER_CONNECTION: &str = "P";
const TRANSPORT: &str = "T";
const ASSOCIATION: &str = "S";

/// A dictionary with W3C's type, the id and the given entries.
macro_rules! entry {
    ($py:expr, $kind:expr, $id:expr, { $($name:literal: $value:expr),* $(,)? }) => {{
        let entry = PyDict::new($py);
        entry.set_item("type", $kind)?;
        entry.set_item("id", $id)?;
        $(entry.set_item($name, $value)?;)*
        entry
    }};
}

/// All entries of a report, with the association's part from `stats`.
pub(crate) fn listed<'py>(
    py: Python<'py>,
    report: &Report,
    stats: &Stats,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let mut all = vec![
        entry!(py, "peer-connection", PEER_CONNECTION, {
            "dataChannelsOpened": report.peer_connection.data_channels_opened,
            "dataChannelsClosed": report.peer_connection.data_channels_closed,
        }),
        transport(py, report)?,
        entry!(py, "sctp-transport", ASSOCIATION, {
            "transportId": TRANSPORT,
            "smoothedRoundTripTime": stats.sctp.smoothed_rtt.map(|time| time.as_secs_f64()),
            "congestionWindow": stats.sctp.congestion_window_bytes,
            "receiverWindow": stats.sctp.peer_window_bytes,
            "chunksRetransmitted": stats.sctp.chunks_retransmitted,
        }),
    ];
    for at in 0..report.candidate_pairs.len() {
        all.push(pair(py, report, at)?);
    }
    for candidate in &report.local_candidates {
        all.push(self::candidate(py, "local-candidate", local_id(candidate), candidate)?);
    }
    for candidate in &report.remote_candidates {
        all.push(self::candidate(py, "remote-candidate", remote_id(candidate), candidate)?);
    }
    for (at, certificate) in report.certificates.iter().enumerate() {
        all.push(entry!(py, "certificate", certificate_id(report, at), {
            "fingerprint": certificate.fingerprint.to_string(),
            "fingerprintAlgorithm": certificate.fingerprint_algorithm,
            "base64Certificate": &certificate.base64_certificate,
        }));
    }
    for channel in &report.data_channels {
        all.push(entry!(py, "data-channel", format!("D{}", channel.channel.0), {
            "label": &channel.label,
            "protocol": &channel.protocol,
            "dataChannelIdentifier": channel.data_channel_identifier,
            "state": channel.state.name(),
            "messagesSent": channel.messages_sent,
            "bytesSent": channel.bytes_sent,
            "messagesReceived": channel.messages_received,
            "bytesReceived": channel.bytes_received,
        }));
    }
    Ok(all)
}

fn transport<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let transport = &report.transport;
    Ok(entry!(py, "transport", TRANSPORT, {
        "packetsSent": transport.packets_sent,
        "packetsReceived": transport.packets_received,
        "bytesSent": transport.bytes_sent,
        "bytesReceived": transport.bytes_received,
        "iceRole": transport.ice_role.name(),
        "iceLocalUsernameFragment": &transport.ice_local_username_fragment,
        "iceState": transport.ice_state.name(),
        "dtlsState": transport.dtls_state.name(),
        "dtlsRole": transport.dtls_role.map_or("unknown", DtlsRole::name),
        "tlsVersion": transport.tls_version,
        "selectedCandidatePairId": transport.selected_candidate_pair_id.map(|at| pair_id(report, at)),
        "selectedCandidatePairChanges": transport.selected_candidate_pair_changes,
        "localCertificateId": certificate_id(report, transport.local_certificate_id),
        "remoteCertificateId": transport.remote_certificate_id.map(|at| certificate_id(report, at)),
    }))
}

fn pair<'py>(py: Python<'py>, report: &Report, at: usize) -> PyResult<Bound<'py, PyDict>> {
    let pair = &report.candidate_pairs[at];
    Ok(entry!(py, "candidate-pair", pair_id(report, at), {
        "transportId": TRANSPORT,
        "localCandidateId": local_id(&report.local_candidates[pair.local_candidate_id]),
        "remoteCandidateId": remote_id(&report.remote_candidates[pair.remote_candidate_id]),
        "state": pair.state.name(),
        "nominated": pair.nominated,
        "packetsSent": pair.packets_sent,
        "packetsReceived": pair.packets_received,
        "bytesSent": pair.bytes_sent,
        "bytesReceived": pair.bytes_received,
        "totalRoundTripTime": pair.total_round_trip_time.as_secs_f64(),
        "currentRoundTripTime": pair.current_round_trip_time.as_ref().map(Duration::as_secs_f64),
        "requestsReceived": pair.requests_received,
        "requestsSent": pair.requests_sent,
        "responsesReceived": pair.responses_received,
        "responsesSent": pair.responses_sent,
        "consentRequestsSent": pair.consent_requests_sent,
    }))
}

fn candidate<'py>(
    py: Python<'py>,
    kind: &str,
    id: String,
    candidate: &CandidateStats,
) -> PyResult<Bound<'py, PyDict>> {
    Ok(entry!(py, kind, id, {
        "transportId": TRANSPORT,
        "address": candidate.address.to_string(),
        "port": candidate.port,
        "protocol": candidate.protocol,
        "relayProtocol": candidate.relay_protocol,
        "candidateType": candidate.candidate_type.name(),
        "priority": candidate.priority,
        "foundation": &candidate.foundation,
        "relatedAddress": candidate.related_address.map(|related| related.ip().to_string()),
        "relatedPort": candidate.related_address.map(|related: SocketAddr| related.port()),
    }))
}

fn local_id(candidate: &CandidateStats) -> String {
    format!("L{}", candidate.socket_address())
}

fn remote_id(candidate: &CandidateStats) -> String {
    format!("R{}", candidate.socket_address())
}

fn pair_id(report: &Report, at: usize) -> String {
    let pair = &report.candidate_pairs[at];
    let local = &report.local_candidates[pair.local_candidate_id];
    local_id(local) + &remote_id(&report.remote_candidates[pair.remote_candidate_id])
}

fn certificate_id(report: &Report, at: usize) -> String {
    format!("C{}", report.certificates[at].fingerprint)
}
