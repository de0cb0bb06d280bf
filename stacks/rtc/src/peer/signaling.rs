//! Offers, answers and candidates (RFC 8829, for one section of data), and what the two sides agree upon.

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use super::{Event, PeerConnection};
use crate::dtls::{Fingerprint, Role};
use crate::error::SignalingError;
use crate::ice::Remote;
use crate::log::{self, log};
use crate::sdp::{Candidate, DataSection, Description, Form, RelayProtocol, Section, Setup, hide};

/// The state of offer and answer (RFC 8829 section 3.2): what RFC 8829 calls `stable`, or `have-local-offer`.
#[derive(Debug)]
pub(super) struct Signaling {
    session_id: u64,
    session_version: u64,
    offered: bool,
    /// What our last description says of DTLS, unless it was withdrawn.
    described: Option<Setup>,
    /// Whether servers are asked for candidates; None if they never were.
    gathering: Option<bool>,
    /// How the sections stand since the first offer; their order never changes (RFC 8829 section 5.2.2).
    sections: Vec<Section>,
    mid: Option<String>,
    bundled: bool,
    form: Form,
    /// What addresses of ours are told as.
    names: Vec<(IpAddr, String)>,
    pub(super) agreed: Option<Agreed>,
}

/// What the descriptions say about DTLS and SCTP.
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

    /// Whether the peer's description can be taken, and what would be agreed upon.
    fn agree(
        &self,
        description: &Description,
        role: Role,
        we_are_lite: bool,
    ) -> Result<Agreed, SignalingError> {
        let data = &description.data;
        if we_are_lite && description.ice_lite {
            return Err(SignalingError::State("both sides are ICE-lite: none would make checks"));
        }
        // RFC 8841 section 6.1: 0 is any length.
        let max_send_message_bytes = match data.max_message_bytes {
            0 => u64::MAX,
            bytes => bytes,
        };
        let (fingerprint, sctp_port) = (data.fingerprint, data.sctp_port);
        let agreed = Agreed { role, fingerprint, sctp_port, max_send_message_bytes };
        match self.agreed {
            Some(before) if before != agreed => Err(SignalingError::State(
                "it asks for a new DTLS or SCTP association: make a new connection",
            )),
            _ => Ok(agreed),
        }
    }
}

impl PeerConnection {
    // -- signalling --

    /// A local address that datagrams can be sent from: becomes a host candidate. The unspecified address, multicast
    /// and IPv4 link-local addresses are passed over, and so is what comes after `max_remote_candidates` of them.
    pub fn add_local_address(&mut self, now: Instant, address: SocketAddr) {
        self.now = now;
        if !self.is_over() && self.ice.add_local(now, address) {
            self.tell_candidate();
        }
    }

    /// A local address is there no more. If the connection went from there, the first pair of candidates that answers takes its place, also one of an
    /// address that is added after this; the peer follows by itself, as far as it can, and need not be told.
    pub fn remove_local_address(&mut self, now: Instant, address: SocketAddr) {
        self.now = now;
        if !self.is_over() {
            self.ice.remove_local(now, address);
            self.settle(now);
        }
    }

    /// The connection by TCP that the peer made from `remote` is over. If it was in use, the first pair of candidates that answers takes its place at
    /// once.
    pub fn handle_stream_lost(&mut self, now: Instant, remote: SocketAddr) {
        self.now = now;
        if !self.is_over() {
            self.ice.lose_stream(now, remote);
            self.settle(now);
        }
    }

    /// The local address `address` is told to the peer as `name`, in all that is described from now on: one of multicast DNS, which whoever may know the
    /// address finds out (draft-ietf-mmusic-mdns-ice-candidates). Bases of reflexive candidates are told no more, once there is such a name. It answers for
    /// no names and asks for none, and [`report`](Self::report) shows addresses.
    pub fn hide_address(&mut self, address: IpAddr, name: &str) {
        let names = &mut self.signaling.names;
        names.retain(|(known, _)| *known != address);
        if names.len() >= self.config.limits.max_remote_candidates {
            // There are never more candidates than that: some stand for none any more.
            let locals = self.ice.local_candidates();
            names.retain(|(known, _)| locals.iter().any(|local| local.address.ip() == *known));
        }
        names.push((address, name.to_owned()));
    }

    /// Connections by TCP are accepted at `address` (RFC 6544): becomes a passive candidate, a host's or, where others reach `base` by
    /// it, a server-reflexive one (of a lite side a host candidate), within the same limit. What comes by a connection, framed as RFC 4571 has it
    /// ([`framing`](crate::framing)), is to come to [`handle_datagrams`](Self::handle_datagrams) with our end of it as the local address, and a
    /// [`Transmit`](crate::Transmit) from there is to go by the connection with that remote. No local address may be both UDP's and TCP's.
    pub fn add_tcp_address(&mut self, now: Instant, address: SocketAddr, base: Option<SocketAddr>) {
        self.now = now;
        if !self.is_over() && self.ice.add_tcp(now, address, base) {
            self.tell_candidate();
        }
    }

    /// Others see the local address `base` as `address`: a STUN server has said so, or the operator of a NAT that leads there. Becomes a
    /// server-reflexive candidate (of a lite side a host candidate), within the same limit.
    pub fn add_reflexive_address(&mut self, now: Instant, address: SocketAddr, base: SocketAddr) {
        self.now = now;
        if !self.is_over() && self.ice.add_reflexive(now, address, base) {
            self.tell_candidate();
        }
    }

    /// A TURN server that we speak to by `protocol` has given us `address`: UDP is preferred to TCP, and that to TLS. What the peer sends there is to come to [`handle_datagrams`](Self::handle_datagrams) with it as
    /// the local address, and a [`Transmit`](crate::Transmit) from there is to go by way of that server.
    pub fn add_relayed_address(&mut self, now: Instant, address: SocketAddr, protocol: RelayProtocol) {
        self.now = now;
        if !self.is_over() && self.ice.add_relayed(now, address, protocol) {
            self.tell_candidate();
        }
    }

    /// Whether servers are being asked for candidates (W3C iceGatheringState). While they are, descriptions do not say that there are no
    /// more; the end is told by [`Event::Gathered`].
    pub fn set_gathering(&mut self, now: Instant, gathering: bool) {
        self.now = now;
        let gathered = self.signaling.gathering == Some(true) && !gathering;
        self.signaling.gathering = Some(gathering);
        if gathered && !self.is_over() {
            self.tell(Event::Gathered);
        }
    }

    /// A server was of no use: the application is told ([`Event::ServerFailed`]).
    pub fn report_server(&mut self, url: &str, why: &str) {
        if !self.is_over() {
            log!(WARN, self.session_id(), "{url}: {why}");
            self.tell(Event::ServerFailed { url: url.to_owned(), why: why.to_owned() });
        }
    }

    /// Whether servers are still being asked for candidates.
    pub fn is_gathering(&self) -> bool {
        self.signaling.gathering == Some(true)
    }

    /// An offer with all candidates known by now; sets it as local description. `restart` makes new ICE credentials;
    /// until they have led to a new pair, the connection goes on over the old one, if that still works.
    pub fn create_offer(&mut self, now: Instant, restart: bool) -> Result<String, SignalingError> {
        self.now = now;
        self.check_open()?;
        if restart && self.signaling.agreed.is_some() {
            log!(DEBUG, self.session_id(), "a restart of ICE is offered");
            self.ice.restart();
        }
        self.signaling.offered = true;
        Ok(self.describe(Setup::ActPass))
    }

    /// Whether an offer of ours waits for its answer (W3C signalingState `have-local-offer`).
    pub fn has_local_offer(&self) -> bool {
        self.signaling.offered
    }

    /// Withdraws the offer of ours that waits for its answer (RFC 9429 section 4.1.10.2, W3C `setLocalDescription` of type
    /// "rollback"): all is as before it, and an offer of the peer can be taken, or another one made. Channels stay, and open with the
    /// next descriptions. When both sides offer at once, one of them does this and takes the other's offer; which one, they have agreed
    /// upon before.
    ///
    /// An answer to the offer withdrawn must not be taken for one to a later offer: the way to the peer keeps the order.
    pub fn rollback(&mut self, now: Instant) -> Result<(), SignalingError> {
        self.now = now;
        self.check_open()?;
        if !std::mem::take(&mut self.signaling.offered) {
            return Err(SignalingError::State("there is no offer of ours to withdraw"));
        }
        self.signaling.described = None;
        self.ice.roll_back();
        Ok(())
    }

    /// Takes the peer's offer and gives the answer; both are in force then. Sections for audio and video are rejected.
    pub fn accept_offer(&mut self, now: Instant, offer: &str) -> Result<String, SignalingError> {
        self.now = now;
        self.check_open()?;
        if self.signaling.offered {
            return Err(SignalingError::State(
                "an offer of ours waits for its answer: withdraw it (rollback), or leave this one unanswered",
            ));
        }
        let description = Description::parse(offer, &self.config.limits)?;
        let before = self.signaling.agreed.map(|agreed| agreed.role);
        // RFC 8842 section 5.3: `active` is the better answer, and a new answer keeps the roles.
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

    /// Takes the peer's answer to the offer of ours.
    pub fn accept_answer(&mut self, now: Instant, answer: &str) -> Result<(), SignalingError> {
        self.now = now;
        self.check_open()?;
        if !self.signaling.offered {
            return Err(SignalingError::State("there is no offer of ours to answer"));
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

    /// A trickled candidate of the peer, from "candidate:" on; empty for the end of candidates. Only after the peer's
    /// description. What this stack cannot check (see [`sdp::Candidate::parse`](crate::sdp::Candidate::parse)) is
    /// passed over.
    pub fn add_remote_candidate(&mut self, now: Instant, candidate: &str) -> Result<(), SignalingError> {
        self.now = now;
        self.check_open()?;
        if self.signaling.agreed.is_none() {
            return Err(SignalingError::State("candidates come after the description that they belong to"));
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

    /// The description that was made last, now with all candidates that are known (W3C localDescription): for those who wait until there are no
    /// more, in place of trickling. None before the first one, and after one was withdrawn.
    pub fn local_description(&self) -> Option<String> {
        self.signaling.described.map(|setup| self.described(setup))
    }

    /// Candidates of ours known by now, as lines from "candidate:" on, for those who trickle. Later ones are told by
    /// [`Event::Candidate`].
    pub fn local_candidates(&self) -> Vec<String> {
        self.ice.local_candidates().iter().map(|candidate| self.line(candidate)).collect()
    }

    /// The number of this connection in the `o=` line of all its descriptions (`<sess-id>`), which log events name.
    pub fn session_id(&self) -> u64 {
        self.signaling.session_id
    }

    /// Our ICE user name fragment: the first part of USERNAME in checks that are for us (one port for many). A restart
    /// changes it, while checks with the old one may still come: [`local_ufrags`](Self::local_ufrags).
    pub fn local_ufrag(&self) -> &str {
        &self.ice.credentials().ufrag
    }

    /// All user name fragments of ours that checks may carry, at the most three: of the session in use, of a restart under way, and of
    /// a restart that is offered.
    pub fn local_ufrags(&self) -> impl Iterator<Item = &str> + Clone {
        self.ice.local_ufrags()
    }

    // -- helpers --

    fn line(&self, candidate: &Candidate) -> String {
        let line = Candidate { ufrag: Some(self.local_ufrag().to_owned()), ..candidate.clone() }.to_string();
        hide(&line, &self.signaling.names)
    }

    /// There is one candidate more. Nobody has to trickle what the first description will have.
    fn tell_candidate(&mut self) {
        let is_described = self.signaling.session_version > 1;
        let line = self.ice.local_candidates().last().filter(|_| is_described).map(|last| self.line(last));
        line.into_iter().for_each(|line| self.tell(Event::Candidate(line)));
        self.settle(self.now);
    }

    fn check_open(&self) -> Result<(), SignalingError> {
        if self.is_over() { Err(SignalingError::State("the peer connection is over")) } else { Ok(()) }
    }

    /// The sections of a description must be those of before, in order; later offers may add some.
    fn keep_sections(&mut self, description: &Description) -> Result<(), SignalingError> {
        let data = |sections: &[Section]| sections.iter().position(|section| *section == Section::Data);
        let known = self.signaling.agreed.is_some() || self.signaling.offered;
        let moved = data(&description.sections) != data(&self.signaling.sections);
        let fewer = description.sections.len() < self.signaling.sections.len();
        let more = self.signaling.offered && description.sections.len() > self.signaling.sections.len();
        if known && (moved || fewer || more) {
            return Err(SignalingError::State("sections do not stand as in the description before"));
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

    /// A description of ours; its version is one more than that of the one before.
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
            // Else addresses may still be added; a lite side has no others (RFC 8445 section 2.5).
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
