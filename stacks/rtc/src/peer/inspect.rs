//! Introspection of a peer connection: statistics, the selected pair, certificates.

use std::net::SocketAddr;

use base64ct::{Base64, Encoding};

use super::pairs::Pair;
use super::{ChannelState, PeerConnection};
use crate::dtls::{Fingerprint, Version};
use crate::error::Error;
use crate::ice::IceState;
use crate::report::{
    CandidatePairState, CandidatePairStats, CandidateStats, CertificateStats, DataChannelStats, DtlsState,
    IceRole, PeerConnectionStats, Report, SelectedPair, TransportStats,
};
use crate::sdp::Candidate;
use crate::stats::Stats;

impl PeerConnection {
    // -- getters --

    /// Basic statistics of the connection; allocates nothing.
    pub fn stats(&self) -> Stats {
        let counters = &self.counters;
        Stats {
            data_channels_opened: counters.channels_opened,
            data_channels_closed: counters.channels_closed,
            packets_sent: counters.traffic.packets_sent,
            packets_received: counters.traffic.packets_received,
            bytes_sent: counters.traffic.bytes_sent,
            bytes_received: counters.traffic.bytes_received,
            tls_version: self.transport.dtls_version().map(Version::tls_version),
            current_round_trip_time: self.ice.round_trip(),
            sctp: self.transport.sctp_stats(),
        }
    }

    /// All statistics, as in W3C getStats.
    pub fn report(&self) -> Report {
        let (locals, remotes) = (self.ice.local_candidates(), self.ice.remote_candidates());
        let at = |candidates: &[Candidate], address: SocketAddr| {
            candidates.iter().position(|candidate| candidate.address == address)
        };
        let mut selected = None;
        let mut candidate_pairs = Vec::new();
        for pair in self.pairs.iter() {
            // The candidates of a pair from before a restart may no longer exist.
            let (Some(local), Some(remote)) = (at(locals, pair.path.local), at(&remotes, pair.path.remote))
            else {
                continue;
            };
            if self.ice.selected() == Some(pair.path) {
                selected = Some(candidate_pairs.len());
            }
            candidate_pairs.push(self.pair_stats(pair, local, remote));
        }
        let ours = certificate_stats(*self.config.certificate.fingerprint(), self.config.certificate.der());
        let theirs = self.remote_certificate().map(|der| certificate_stats(Fingerprint::of(der), der));
        let certificates: Vec<_> = [ours].into_iter().chain(theirs).collect();
        let remote_certificate_id = (certificates.len() > 1).then_some(1);
        Report {
            peer_connection: PeerConnectionStats {
                data_channels_opened: self.counters.channels_opened,
                data_channels_closed: self.counters.channels_closed,
            },
            transport: self.transport_stats(selected, remote_certificate_id),
            candidate_pairs,
            local_candidates: locals.iter().map(CandidateStats::from).collect(),
            remote_candidates: remotes.iter().map(CandidateStats::from).collect(),
            certificates,
            data_channels: self.data_channel_stats(),
        }
    }

    /// The selected candidate pair.
    pub fn selected_pair(&self) -> Option<SelectedPair> {
        let path = self.ice.selected()?;
        let of = |candidates: &[Candidate], address, is_like: &dyn Fn(&CandidateStats) -> bool| {
            let mut there = candidates.iter().filter(|candidate| candidate.address == address);
            there.find_map(|candidate| Some(CandidateStats::from(candidate)).filter(is_like))
        };
        let local = of(self.ice.local_candidates(), path.local, &|_| true)?;
        // A peer may have the same address for UDP.
        let is_like = |remote: &CandidateStats| remote.protocol == local.protocol;
        let remote = of(&self.ice.remote_candidates(), path.remote, &is_like)?;
        Some(SelectedPair { local, remote })
    }

    /// The address that data is sent to.
    pub fn remote_address(&self) -> Option<SocketAddr> {
        self.ice.selected().map(|path| path.remote)
    }

    /// The fingerprint of the local certificate.
    pub fn local_fingerprint(&self) -> Fingerprint {
        *self.config.certificate.fingerprint()
    }

    /// The fingerprint required of the peer's certificate, once its description is accepted. A
    /// [`Connected`](super::PeerState::Connected) peer has proved that it owns it.
    pub fn remote_fingerprint(&self) -> Option<Fingerprint> {
        self.signaling.agreed.map(|agreed| agreed.fingerprint)
    }

    /// The peer's certificate (DER), from its verification against the fingerprint until the end of the
    /// connection.
    pub fn remote_certificate(&self) -> Option<&[u8]> {
        self.transport.dtls.as_ref()?.remote_certificate()
    }

    // -- helpers --

    fn pair_stats(&self, pair: &Pair, local: usize, remote: usize) -> CandidatePairStats {
        let data = self.pairs.data_of(pair, self.counters.traffic);
        let state = match pair {
            _ if self.ice.state() == IceState::Failed => CandidatePairState::Failed,
            Pair { responses_received: 1.., .. } => CandidatePairState::Succeeded,
            Pair { requests_sent: 1.., .. } => CandidatePairState::InProgress,
            _ => CandidatePairState::Waiting,
        };
        CandidatePairStats {
            local_candidate_id: local,
            remote_candidate_id: remote,
            state,
            nominated: pair.nominated,
            packets_sent: data.packets_sent,
            packets_received: data.packets_received,
            bytes_sent: data.bytes_sent,
            bytes_received: data.bytes_received,
            total_round_trip_time: pair.total_round_trip,
            current_round_trip_time: pair.current_round_trip,
            requests_received: pair.requests_received,
            requests_sent: pair.requests_sent,
            responses_received: pair.responses_received,
            responses_sent: pair.responses_sent,
            consent_requests_sent: pair.consent_requests_sent,
        }
    }

    fn transport_stats(&self, selected: Option<usize>, remote_certificate: Option<usize>) -> TransportStats {
        let data = self.pairs.data(self.counters.traffic);
        let ice_role = match (self.ice.state(), self.ice.is_controlling()) {
            (IceState::New, _) => IceRole::Unknown,
            (_, true) => IceRole::Controlling,
            (_, false) => IceRole::Controlled,
        };
        TransportStats {
            packets_sent: data.packets_sent,
            packets_received: data.packets_received,
            bytes_sent: data.bytes_sent,
            bytes_received: data.bytes_received,
            ice_role,
            ice_local_username_fragment: self.local_ufrags().next().unwrap_or_default().to_owned(),
            ice_state: self.ice.state(),
            dtls_state: self.dtls_state(),
            dtls_role: self.signaling.agreed.map(|agreed| agreed.role),
            tls_version: self.transport.dtls_version().map(Version::tls_version),
            selected_candidate_pair_id: selected,
            selected_candidate_pair_changes: self.pairs.changes,
            local_certificate_id: 0,
            remote_certificate_id: remote_certificate,
        }
    }

    fn dtls_state(&self) -> DtlsState {
        match &self.failure {
            Some(Error::Dtls(_) | Error::Fingerprint) => return DtlsState::Failed,
            _ if self.is_over => return DtlsState::Closed,
            _ => {}
        }
        match &self.transport.dtls {
            None => DtlsState::New,
            Some(dtls) if dtls.is_connected() => DtlsState::Connected,
            Some(_) => DtlsState::Connecting,
        }
    }

    fn data_channel_stats(&self) -> Vec<DataChannelStats> {
        let ids =
            self.channels.ids().into_iter().filter(|&id| self.channel_state(id) != ChannelState::Closed);
        let of = |id| {
            let counts = self.channel_stats(id);
            DataChannelStats {
                channel: id,
                label: self.label(id).to_owned(),
                protocol: self
                    .channel_options(id)
                    .map(|options| options.protocol.clone())
                    .unwrap_or_default(),
                data_channel_identifier: self.stream(id),
                state: self.channel_state(id),
                messages_sent: counts.messages_sent,
                bytes_sent: counts.bytes_sent,
                messages_received: counts.messages_received,
                bytes_received: counts.bytes_received,
            }
        };
        ids.map(of).collect()
    }
}

fn certificate_stats(fingerprint: Fingerprint, der: &[u8]) -> CertificateStats {
    let base64_certificate = Base64::encode_string(der);
    CertificateStats { fingerprint, fingerprint_algorithm: "sha-256", base64_certificate }
}
