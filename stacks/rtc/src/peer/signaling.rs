//! Offers, answers and candidates (RFC 8829, with a single data section), and the negotiated parameters.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use super::{Event, PeerConnection};
use crate::dtls::{Fingerprint, Role};
use crate::error::SignalingError;
use crate::ice::Remote;
use crate::log::{self, log};
use crate::sdp::{Candidate, DataSection, Description, Form, RelayProtocol, Section, Setup, hide};

/// Offer/answer state (RFC 8829 section 3.2): only `stable` or `have-local-offer`.
#[derive(Debug)]
pub(super) struct Signaling {
    session_id: u64,
    session_version: u64,
    offered: bool,
    /// The DTLS role in our last description, unless it was withdrawn.
    described: Option<Setup>,
    /// Whether candidates are being gathered from servers; `None` if they never were.
    gathering: Option<bool>,
    /// The sections since the first offer; their order never changes (RFC 8829 section 5.2.2).
    sections: Vec<Section>,
    mid: Option<String>,
    bundled: bool,
    form: Form,
    /// Names that replace local addresses.
    names: Vec<(IpAddr, String)>,
    pub(super) agreed: Option<Agreed>,
}

/// DTLS and SCTP parameters from the descriptions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Agreed {
    pub(super) role: Role,
    pub(super) fingerprint: Fingerprint,
    pub(super) sctp_port: u16,
    pub(super) max_send_message_bytes: u64,
}

impl Signaling {
    pub(super) fn new(session_id: u64) -> Self {
        Self {
            session_id,
            session_version: 1,
            offered: false,
            described: None,
            gathering: None,
            sections: vec![Section::Data],
            mid: Some("0".into()),
            bundled: true,
            form: Form::Rfc8841,
            names: Vec::new(),
            agreed: None,
        }
    }

    /// Checks whether the peer's description is acceptable, and returns what would be negotiated.
    fn agree(
        &self,
        description: &Description,
        role: Role,
        we_are_lite: bool,
    ) -> Result<Agreed, SignalingError> {
        let data = &description.data;
        if we_are_lite && description.ice_lite {
            return Err(SignalingError::State("both sides are ICE-lite: neither would send checks"));
        }
        // RFC 8841 section 6.1: 0 means any length.
        let max_send_message_bytes = match data.max_message_bytes {
            0 => u64::MAX,
            bytes => bytes,
        };
        let (fingerprint, sctp_port) = (data.fingerprint, data.sctp_port);
        let agreed = Agreed { role, fingerprint, sctp_port, max_send_message_bytes };
        match self.agreed {
            Some(before) if before != agreed => Err(SignalingError::State(
                "the peer requests a new DTLS or SCTP association: create a new connection",
            )),
            _ => Ok(agreed),
        }
    }
}

impl PeerConnection {
    // -- signalling --

    /// Adds a local address from which datagrams can be sent, as a host candidate. The unspecified address,
    /// multicast and IPv4 link-local addresses are ignored, and so are addresses beyond
    /// `max_remote_candidates`.
    pub fn add_local_address(&mut self, now: Instant, address: SocketAddr) {
        self.now = now;
        if !self.is_over() && self.ice.add_local(now, address) {
            self.tell_candidate();
        }
    }

    /// Removes a local address. If it was in use, the first candidate pair that answers replaces it, possibly
    /// with an address added later. The peer follows by itself as far as it can, and need not be signalled.
    pub fn remove_local_address(&mut self, now: Instant, address: SocketAddr) {
        self.now = now;
        if !self.is_over() {
            self.ice.remove_local(now, address);
            self.settle(now);
        }
    }

    /// The TCP connection that the peer made from `remote` has closed. If it was in use, the first candidate
    /// pair that answers replaces it.
    pub fn handle_stream_lost(&mut self, now: Instant, remote: SocketAddr) {
        self.now = now;
        if !self.is_over() {
            self.ice.lose_stream(now, remote);
            self.settle(now);
        }
    }

    /// Replaces the local address `address` by `name` in all later descriptions: an mDNS name, which only
    /// hosts that may know the address can resolve (draft-ietf-mmusic-mdns-ice-candidates). Once there is
    /// such a name, bases of reflexive candidates are omitted. This method neither registers nor resolves
    /// names, and [`report`](Self::report) shows addresses.
    pub fn hide_address(&mut self, address: IpAddr, name: &str) {
        let names = &mut self.signaling.names;
        names.retain(|(known, _)| *known != address);
        if names.len() >= self.config.limits.max_remote_candidates {
            // There are never more local addresses than candidates; some names may be obsolete.
            let locals = self.ice.local_candidates();
            names.retain(|(known, _)| locals.iter().any(|local| local.address.ip() == *known));
        }
        names.push((address, name.to_owned()));
    }

    /// TCP connections are accepted at `address` (RFC 6544). Adds a passive candidate within the same limit:
    /// host, or server-reflexive where others reach `base` through it (host for a lite side). Pass data of
    /// such a connection, framed as in RFC 4571 ([`framing`](crate::framing)), to
    /// [`handle_datagrams`](Self::handle_datagrams) with our end of the connection as local address. Send a
    /// [`Transmit`](crate::Transmit) from that address through the connection with that remote. No local
    /// address may be used for both UDP and TCP.
    pub fn add_tcp_address(&mut self, now: Instant, address: SocketAddr, base: Option<SocketAddr>) {
        self.now = now;
        if !self.is_over() && self.ice.add_tcp(now, address, base) {
            self.tell_candidate();
        }
    }

    /// Others see the local address `base` as `address`, according to a STUN server or the operator of a NAT.
    /// Adds a server-reflexive candidate (host for a lite side) within the same limit.
    pub fn add_reflexive_address(&mut self, now: Instant, address: SocketAddr, base: SocketAddr) {
        self.now = now;
        if !self.is_over() && self.ice.add_reflexive(now, address, base) {
            self.tell_candidate();
        }
    }

    /// A TURN server reached by `protocol` has allocated `address`. UDP is preferred to TCP, and TCP to TLS.
    /// Pass what the peer sends there to [`handle_datagrams`](Self::handle_datagrams) with it as the local
    /// address, and send a [`Transmit`](crate::Transmit) from it through that server.
    pub fn add_relayed_address(&mut self, now: Instant, address: SocketAddr, protocol: RelayProtocol) {
        self.now = now;
        if !self.is_over() && self.ice.add_relayed(now, address, protocol) {
            self.tell_candidate();
        }
    }

    /// Sets whether candidates are being gathered from servers (W3C iceGatheringState). Meanwhile
    /// descriptions do not contain the end of candidates; [`Event::Gathered`] reports it.
    pub fn set_gathering(&mut self, now: Instant, gathering: bool) {
        self.now = now;
        let gathered = self.signaling.gathering == Some(true) && !gathering;
        self.signaling.gathering = Some(gathering);
        if gathered && !self.is_over() {
            self.tell(Event::Gathered);
        }
    }

    /// A server failed: reported to the application as [`Event::ServerFailed`].
    pub fn report_server(&mut self, url: &str, why: &str) {
        if !self.is_over() {
            log!(WARN, self.session_id(), "{url}: {why}");
            self.tell(Event::ServerFailed { url: url.to_owned(), why: why.to_owned() });
        }
    }

    /// Whether candidates are still being gathered from servers.
    pub fn is_gathering(&self) -> bool {
        self.signaling.gathering == Some(true)
    }

    /// Creates an offer with all candidates known now, and sets it as local description. `restart` creates
    /// new ICE credentials; until they have led to a new pair, the connection continues on the old one if
    /// that still works.
    pub fn create_offer(&mut self, now: Instant, restart: bool) -> Result<String, SignalingError> {
        self.now = now;
        self.check_open()?;
        if restart && self.signaling.agreed.is_some() {
            log!(DEBUG, self.session_id(), "an ICE restart is offered");
            self.ice.restart();
        }
        self.signaling.offered = true;
        Ok(self.describe(Setup::ActPass))
    }

    /// Whether our offer waits for its answer (W3C signalingState `have-local-offer`).
    pub fn has_local_offer(&self) -> bool {
        self.signaling.offered
    }

    /// Withdraws our pending offer (RFC 9429 section 4.1.10.2, W3C `setLocalDescription` of type "rollback").
    /// The previous state is restored, and an offer of the peer can be accepted or another one created.
    /// Channels remain, and open with the next descriptions. If both sides offer at once, one of them does
    /// this and accepts the other's offer; the application decides which.
    ///
    /// An answer to the withdrawn offer must not be mistaken for one to a later offer: signalling must preserve
    /// the order.
    pub fn rollback(&mut self, now: Instant) -> Result<(), SignalingError> {
        self.now = now;
        self.check_open()?;
        if !std::mem::take(&mut self.signaling.offered) {
            return Err(SignalingError::State("there is no local offer to withdraw"));
        }
        self.signaling.described = None;
        self.ice.roll_back();
        Ok(())
    }

    /// Accepts the peer's offer and returns the answer; both take effect. Sections for audio and video are
    /// rejected.
    pub fn accept_offer(&mut self, now: Instant, offer: &str) -> Result<String, SignalingError> {
        self.now = now;
        self.check_open()?;
        if self.signaling.offered {
            return Err(SignalingError::State(
                "a local offer waits for its answer: withdraw it (rollback), or ignore this one",
            ));
        }
        let description = Description::parse(offer, &self.config.limits)?;
        let before = self.signaling.agreed.map(|agreed| agreed.role);
        // RFC 8842 section 5.3: `active` is the preferred answer, and a later answer keeps the roles.
        let (role, setup) = match (description.data.setup, before) {
            (Setup::ActPass, Some(Role::Server)) | (Setup::Active, _) => (Role::Server, Setup::Passive),
            (Setup::ActPass | Setup::Passive, _) => (Role::Client, Setup::Active),
        };
        let agreed = self.signaling.agree(&description, role, self.config.ice_lite)?;
        self.keep_sections(&description)?;
        let bundled = description.data.mid.as_ref().is_some_and(|mid| description.bundle.contains(mid));
        self.signaling.bundled = bundled;
        self.signaling.form = description.data.form;
        self.signaling.mid = description.data.mid.clone();
        let renewed = self.ice.remote_ufrag().is_some_and(|ufrag| ufrag != description.data.ufrag);
        if renewed {
            self.ice.restart();
        }
        log::candidates(self.session_id(), offer);
        self.put_in_force(now, &description, agreed, false);
        Ok(self.describe(setup))
    }

    /// Accepts the peer's answer to our offer.
    pub fn accept_answer(&mut self, now: Instant, answer: &str) -> Result<(), SignalingError> {
        self.now = now;
        self.check_open()?;
        if !self.signaling.offered {
            return Err(SignalingError::State("there is no local offer to answer"));
        }
        let description = Description::parse(answer, &self.config.limits)?;
        let role = match description.data.setup {
            Setup::Active => Role::Server,
            Setup::Passive => Role::Client,
            Setup::ActPass => {
                return Err(SignalingError::Syntax {
                    line: 0,
                    rule: "setup of an answer is active or passive",
                });
            }
        };
        let agreed = self.signaling.agree(&description, role, self.config.ice_lite)?;
        self.keep_sections(&description)?;
        self.signaling.offered = false;
        log::candidates(self.session_id(), answer);
        self.put_in_force(now, &description, agreed, true);
        Ok(())
    }

    /// Adds a trickled candidate of the peer, starting with "candidate:"; empty for the end of candidates.
    /// Only after the peer's description. Unsupported candidates (see
    /// [`sdp::Candidate::parse`](crate::sdp::Candidate::parse)) are ignored.
    pub fn add_remote_candidate(&mut self, now: Instant, candidate: &str) -> Result<(), SignalingError> {
        self.now = now;
        self.check_open()?;
        if self.signaling.agreed.is_none() {
            return Err(SignalingError::State("candidates are only accepted after their description"));
        }
        let candidate = candidate.strip_prefix("a=").unwrap_or(candidate).trim();
        if candidate.is_empty() || candidate == "end-of-candidates" {
            return Ok(());
        }
        let parsed = Candidate::parse(candidate).map_err(|rule| SignalingError::Syntax { line: 1, rule })?;
        log::candidates(self.session_id(), candidate);
        let Some(candidate) = parsed else { return Ok(()) };
        self.ice.add_remote(now, &candidate)?;
        self.settle(now);
        Ok(())
    }

    /// The last local description, with all candidates known now (W3C localDescription), for waiting until
    /// gathering is complete instead of trickling. `None` before the first one, and after one was withdrawn.
    pub fn local_description(&self) -> Option<String> {
        self.signaling.described.map(|setup| self.described(setup))
    }

    /// The local candidates known now, each starting with "candidate:", for trickling. Later ones are
    /// reported by [`Event::Candidate`].
    pub fn local_candidates(&self) -> Vec<String> {
        self.ice.local_candidates().iter().map(|candidate| self.line(candidate)).collect()
    }

    /// The session id in the `o=` line of all descriptions of this connection (`<sess-id>`), which log events
    /// contain.
    pub fn session_id(&self) -> u64 {
        self.signaling.session_id
    }

    /// The local ICE user name fragment: the first part of USERNAME in checks for this connection (for
    /// several connections on one port). A restart changes it while checks with the old one may still arrive:
    /// [`local_ufrags`](Self::local_ufrags).
    pub fn local_ufrag(&self) -> &str {
        &self.ice.credentials().ufrag
    }

    /// All local user name fragments that checks may carry, at most three: of the session in use, of a
    /// restart in progress, and of an offered restart.
    pub fn local_ufrags(&self) -> impl Iterator<Item = &str> + Clone {
        self.ice.local_ufrags()
    }

    // -- helpers --

    fn line(&self, candidate: &Candidate) -> String {
        let line = Candidate { ufrag: Some(self.local_ufrag().to_owned()), ..candidate.clone() }.to_string();
        hide(&line, &self.signaling.names)
    }

    /// A local candidate was added. It is not trickled if the first description will contain it.
    fn tell_candidate(&mut self) {
        let is_described = self.signaling.session_version > 1;
        let line = self.ice.local_candidates().last().filter(|_| is_described).map(|last| self.line(last));
        line.into_iter().for_each(|line| self.tell(Event::Candidate(line)));
        self.settle(self.now);
    }

    fn check_open(&self) -> Result<(), SignalingError> {
        if self.is_over() { Err(SignalingError::State("the peer connection is closed")) } else { Ok(()) }
    }

    /// The sections of a description must match the previous ones, in order; later offers may add some.
    fn keep_sections(&mut self, description: &Description) -> Result<(), SignalingError> {
        let data = |sections: &[Section]| sections.iter().position(|section| *section == Section::Data);
        let known = self.signaling.agreed.is_some() || self.signaling.offered;
        let moved = data(&description.sections) != data(&self.signaling.sections);
        let fewer = description.sections.len() < self.signaling.sections.len();
        let more = self.signaling.offered && description.sections.len() > self.signaling.sections.len();
        if known && (moved || fewer || more) {
            return Err(SignalingError::State(
                "sections differ in order or kind from the previous description",
            ));
        }
        if !self.signaling.offered {
            self.signaling.sections.clone_from(&description.sections);
        }
        Ok(())
    }

    fn put_in_force(&mut self, now: Instant, description: &Description, agreed: Agreed, we_offered: bool) {
        let data = &description.data;
        self.signaling.agreed = Some(agreed);
        let remote = Remote { ufrag: &data.ufrag, password: &data.password, lite: description.ice_lite };
        self.ice.start(now, remote, we_offered, &data.candidates);
        self.settle(now);
    }

    /// Creates a local description; its version is one more than that of the previous one.
    fn describe(&mut self, setup: Setup) -> String {
        self.signaling.session_version += 1;
        self.signaling.described = Some(setup);
        self.described(setup)
    }

    fn described(&self, setup: Setup) -> String {
        let Signaling { session_id, session_version, .. } = self.signaling;
        let mid = self.signaling.mid.clone();
        let credentials = self.ice.credentials();
        let data = DataSection {
            mid: mid.clone(),
            form: self.signaling.form,
            ufrag: credentials.ufrag.clone(),
            password: credentials.pass.clone(),
            fingerprint: *self.config.certificate.fingerprint(),
            setup,
            sctp_port: self.config.sctp.local_port,
            max_message_bytes: self.config.max_message_bytes as u64,
            candidates: self.ice.local_candidates().to_vec(),
            // Otherwise addresses may still be added; a lite side has no others (RFC 8445 section 2.5).
            end_of_candidates: self.signaling.gathering.map_or(self.config.ice_lite, |gathering| !gathering),
        };
        let description = Description {
            session_id,
            session_version,
            ice_lite: self.config.ice_lite,
            trickle: true,
            bundle: mid.into_iter().filter(|_| self.signaling.bundled).collect(),
            sections: self.signaling.sections.clone(),
            data,
        };
        hide(&description.to_string(), &self.signaling.names)
    }
}
