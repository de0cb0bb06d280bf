//! ICE (RFC 8445, RFC 8838): wraps the agent of crate `is` with limits, consent (RFC 7675) and restarts.
//!
//! Differences from the agent's own behaviour:
//! - The agent keeps every address that an authenticated peer shows it. Here the number is bounded, and the
//!   oldest are dropped.
//! - The agent sends only on a nominated pair. Here data may be sent on the first valid pair (RFC 8445
//!   section 12.1), which saves the controlled side a round trip.
//! - The agent stays with a nominated pair until that has failed. Here another valid pair replaces a silent
//!   one, such as after a NAT rebinding.
//! - The agent counts the peer's own checks as a sign of life. Consent requires a response to ours (RFC 7675
//!   section 5.1).
//! - On a restart the agent drops the old pair at once. Here the old session continues until the new one has
//!   a pair, and a restart that was offered but not answered can be withdrawn.
//! - The agent repeats a check only when its timer expires. Here the peer's check triggers ours again (RFC
//!   8445 section 7.3.1.4).
//! - The agent stays with the nominated pair when the peer appears elsewhere. Here the peer is followed
//!   (`moves`).
//! - A lite agent trusts the source address of a request. Here that address must answer a check before data
//!   moves there (`proof`).
//! - The agent keeps the priority of a candidate that it first learned of from a check. Here the priority
//!   that the peer signals is used, even if it arrives later.
//!
//! Limitation: the agent's transaction ids come from a non-cryptographic generator outside this crate's seed. They need
//! not be secret, because MESSAGE-INTEGRITY authenticates responses, but they differ between runs with one seed.

mod credentials;
mod locals;
mod moves;
mod proof;
mod session;
mod state;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::IceCreds;
use is::stun::StunMessage;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

pub(crate) use self::session::{Datagram, Path, Remote};

use self::credentials::credentials;
use self::moves::Move;
use self::proof::Proof;
use self::session::{Heard, Session};
use crate::config::Config;
use crate::error::{Error, SignalingError};
use crate::sdp::Candidate;

/// Most STUN datagrams waiting to be sent; further ones are dropped.
const TRANSMITS_MAX: usize = 256;

/// Time without consent after which another valid pair is used: longer than any interval between consent
/// requests.
const PATH_SILENCE: Duration = Duration::from_secs(7);

/// Shortest time without consent after which a connection fails. Requests are 4 to 6 s apart and must not be
/// closer (RFC 7675 section 5.1), so one and usually two may be lost in this time.
const CONSENT_TIMEOUT_MIN: Duration = Duration::from_secs(15);

/// State of ICE (W3C RTCIceConnectionState, without `completed` and `closed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IceState {
    /// No checks yet.
    New,
    /// Checks are in progress.
    Checking,
    /// A pair works.
    Connected,
    /// No response for a while.
    Disconnected,
    /// No pair was found in time, or consent was lost; a restart may find one.
    Failed,
}

/// ICE of a peer connection.
#[derive(Debug)]
pub(crate) struct Ice {
    rng: ChaCha20Rng,
    lite: bool,
    consent_timeout: Duration,
    remotes_max: usize,
    pairs_max: usize,
    tie_breaker: u64,
    controlling: bool,
    locals: Vec<Candidate>,
    session: Session,
    /// The session of a restart that both sides have signalled, until it has a pair.
    restarted: Option<Box<Session>>,
    /// The session of a restart that was offered, until it is answered.
    offered: Option<Box<Session>>,
    selected: Option<Path>,
    /// A path was selected before, even if none is now.
    had_path: bool,
    /// A lite side's check of a path.
    proof: Option<Proof>,
    /// Where the peer may have moved.
    moving: Option<Move>,
    /// Where data was sent before it followed the peer to an unconfirmed location.
    left: Option<Path>,
    /// Data has followed the peer there.
    has_moved: bool,
    /// The local address in use has been removed.
    is_lost: bool,
    /// Last response from the remote address in use, or the start of checks. `None`: no checks are sent.
    consent_at: Option<Instant>,
    state: IceState,
    failure: Option<&'static str>,
    /// ICE failed, and no restart has found a pair since.
    is_down: bool,
    transmits: VecDeque<Datagram>,
}

impl Ice {
    pub(crate) fn new(config: &Config, mut rng: ChaCha20Rng) -> Self {
        let tie_breaker = rng.next_u64();
        let mut ice = Self {
            lite: config.ice_lite,
            consent_timeout: config.consent_timeout.max(CONSENT_TIMEOUT_MIN),
            remotes_max: config.limits.max_remote_candidates,
            pairs_max: config.limits.max_candidate_pairs,
            tie_breaker,
            controlling: false,
            locals: Vec::new(),
            session: Session::new(credentials(&mut rng), config.ice_lite),
            restarted: None,
            offered: None,
            selected: None,
            had_path: false,
            proof: None,
            moving: None,
            left: None,
            has_moved: false,
            is_lost: false,
            consent_at: None,
            state: IceState::New,
            failure: None,
            is_down: false,
            transmits: VecDeque::new(),
            rng,
        };
        ice.session.configure(ice.pairs_max, ice.remotes_max, tie_breaker);
        ice
    }

    // -- getters --

    pub(crate) fn state(&self) -> IceState {
        self.state
    }

    pub(crate) fn selected(&self) -> Option<Path> {
        self.selected
    }

    /// Whether there was a path, or enough time to find one, and only a restart can establish one.
    pub(crate) fn is_down(&self) -> bool {
        self.is_down
    }

    /// The credentials in our current description.
    pub(crate) fn credentials(&self) -> &IceCreds {
        self.offered.as_deref().unwrap_or_else(|| self.newest()).credentials()
    }

    /// Our user name fragments that the peer's checks may carry.
    pub(crate) fn local_ufrags(&self) -> impl Iterator<Item = &str> + Clone {
        self.sessions().map(|session| session.credentials().ufrag.as_str())
    }

    /// Local candidates, for a description or for trickling.
    pub(crate) fn local_candidates(&self) -> &[Candidate] {
        &self.locals
    }

    /// The peer's candidates: from a description, trickled, or learned from its checks.
    pub(crate) fn remote_candidates(&self) -> Vec<Candidate> {
        self.sessions().flat_map(Session::remote_candidates).collect()
    }

    /// Whether this side selects the pair, once checks have begun.
    pub(crate) fn is_controlling(&self) -> bool {
        self.controlling
    }

    /// The peer's user name fragment used in checks.
    pub(crate) fn remote_ufrag(&self) -> Option<&str> {
        self.newest().remote_ufrag()
    }

    /// Whether a check or response with a valid MESSAGE-INTEGRITY came from `remote`: DTLS is only accepted
    /// from there.
    pub(crate) fn is_validated(&self, remote: SocketAddr) -> bool {
        self.sessions().any(|session| session.is_validated(remote))
    }

    /// Whether any address of the peer is validated.
    pub(crate) fn has_validated(&self) -> bool {
        self.sessions().any(Session::has_validated)
    }

    pub(crate) fn round_trip(&self) -> Option<Duration> {
        self.session.round_trip()
    }

    /// Whether the datagram is a STUN message for this connection with a valid MESSAGE-INTEGRITY.
    pub(crate) fn accepts(&self, datagram: &[u8]) -> bool {
        StunMessage::parse(datagram).is_ok_and(|message| {
            self.sessions().any(|session| session.accepts(&message)) || self.is_proof(&message)
        })
    }

    // -- commands --

    /// Creates new credentials, which take effect with the next offer and answer (RFC 8445 section 9).
    pub(crate) fn restart(&mut self) {
        let credentials = credentials(&mut self.rng);
        let session = self.session_with(credentials);
        if self.session.remote_ufrag().is_none() {
            self.session = session;
        } else {
            self.offered = Some(Box::new(session));
        }
    }

    /// Withdraws our offer: credentials first sent in it are discarded.
    pub(crate) fn roll_back(&mut self) {
        if self.session.remote_ufrag().is_none() {
            self.restart();
        }
        self.offered = None;
    }

    /// Both descriptions are known: checks begin. `controlling`: this side made the offer. A lite side is
    /// always controlled (RFC 8445 section 6.1.1). `candidates` are those of the description. They are added
    /// before earlier checks are processed, since a candidate learned from a check permanently has the
    /// priority of that check (section 7.3.1.3).
    pub(crate) fn start(
        &mut self,
        now: Instant,
        remote: Remote<'_>,
        controlling: bool,
        candidates: &[Candidate],
    ) {
        let is_first = self.session.remote_ufrag().is_none();
        if is_first {
            self.controlling = (controlling || remote.lite) && !self.lite;
        }
        let controlling = self.controlling;
        match self.offered.take() {
            Some(mut offered) => {
                offered.start(now, remote, controlling);
                self.restarted = Some(offered);
                if self.state == IceState::Failed {
                    self.go_on_restarted();
                }
            }
            None => self.newest_mut().start(now, remote, controlling),
        }
        if is_first {
            (self.consent_at, self.state) = (Some(now), IceState::Checking);
        }
        for candidate in candidates {
            // The description kept to the limit, but candidates learned otherwise may have used part of
            // it.
            let _ = self.newest_mut().add_remote(candidate);
        }
        self.run(now);
    }

    /// Adds a candidate of the peer to the newest session. While our restart waits for its answer, candidates
    /// belong to the previous session.
    pub(crate) fn add_remote(&mut self, now: Instant, candidate: &Candidate) -> Result<(), SignalingError> {
        self.newest_mut().add_remote(candidate)?;
        self.run(now);
        Ok(())
    }

    /// Stops sending and answering checks.
    pub(crate) fn close(&mut self) {
        self.transmits = VecDeque::new();
        (self.selected, self.proof) = (None, None);
        self.consent_at = None;
        (self.restarted, self.offered) = (None, None);
    }

    // -- input --

    /// Handles a datagram that may be STUN. Nothing changes unless its MESSAGE-INTEGRITY is valid.
    pub(crate) fn handle_stun(&mut self, now: Instant, path: Path, datagram: &[u8]) {
        let Ok(message) = StunMessage::parse(datagram) else { return };
        // It waits there for the answer that it has overtaken.
        if let Some(offered) = &mut self.offered
            && offered.handle(now, path, message).is_some()
        {
            return;
        }
        if self.state == IceState::Failed {
            return;
        }
        if let Some(restarted) = &mut self.restarted
            && let Some(heard) = restarted.handle(now, path, message)
        {
            // The old path may fail before the peer has nominated one in the new session.
            if heard == Heard::Response && restarted.is_valid(path.remote) && self.is_silent(now) {
                self.adopt_restarted(now, path);
            }
            return self.run(now);
        }
        if self.is_proof(&message) {
            self.handle_proof(now, path);
            return self.run(now);
        }
        self.make_room(now, path.remote, Some(&message));
        let Some(heard) = self.session.handle(now, path, message) else { return };
        if heard != Heard::Response {
            self.requested_from(path);
        }
        // A lite side sends no checks, so only the peer's count.
        let consents = heard == Heard::Response || self.lite;
        // A valid pair carries data before one is nominated (RFC 8445 section 12.1), and when the
        // nominated one is silent: the agent would stay with it until it has failed.
        if consents && (self.selected.is_none() || self.is_silent(now)) && self.session.is_valid(path.remote)
        {
            self.select(now, path);
        }
        match heard {
            Heard::Response => self.answered(now, path),
            Heard::Stranger { nominates } => self.heard_at(now, path, nominates),
            Heard::Request => {}
        }
        if consents && self.selected == Some(path) {
            self.consent_at = Some(now);
            self.session.vary_interval(&mut self.rng);
        }
        self.run(now);
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        self.run(now);
    }

    // -- output --

    pub(crate) fn poll_transmit(&mut self) -> Option<Datagram> {
        self.transmits.pop_front()
    }

    /// Why ICE failed, until a restart has begun: no pair, or no consent for too long.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.map(Error::Ice)
    }

    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let consent_at = self.consent_at?;
        let consent = match self.state {
            IceState::Failed => return None,
            IceState::Connected => consent_at + self.patience(),
            _ => consent_at + self.consent_timeout,
        };
        let moving = self.moving.as_ref().map(Move::deadline);
        let proof = self.proof_deadline();
        self.sessions().filter_map(Session::deadline).chain([consent]).chain(moving).chain(proof).min()
    }

    // -- helpers --

    fn sessions(&self) -> impl Iterator<Item = &Session> + Clone {
        std::iter::once(&self.session).chain(self.restarted.as_deref()).chain(self.offered.as_deref())
    }

    /// The newest session that both sides have signalled.
    fn newest(&self) -> &Session {
        self.restarted.as_deref().unwrap_or(&self.session)
    }

    fn newest_mut(&mut self) -> &mut Session {
        self.restarted.as_deref_mut().unwrap_or(&mut self.session)
    }

    /// Silence after which the peer counts as disconnected: always longer than the interval between consent
    /// requests.
    fn patience(&self) -> Duration {
        (self.consent_timeout / 3).max(PATH_SILENCE)
    }

    /// Runs the agents and processes their output.
    fn run(&mut self, now: Instant) {
        if self.consent_at.is_none() {
            return;
        }
        let room = TRANSMITS_MAX;
        if let Some(path) = self.session.run(now, &mut self.transmits, room) {
            self.left = None;
            self.select(now, path);
        }
        if let Some(restarted) = &mut self.restarted
            && let Some(path) = restarted.run(now, &mut self.transmits, room)
        {
            self.adopt_restarted(now, path);
        }
        self.move_on(now);
        self.repeat_proof(now);
        self.update_state(now);
    }
}
