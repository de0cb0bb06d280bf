//! ICE (RFC 8445, RFC 8838): the agent of crate `is`, with our limits, consent (RFC 7675) and restarts around it.
//!
//! What the agent is not left to do alone:
//! - It keeps every address that an authenticated peer shows it; here the number is bounded, and the oldest are forgotten.
//! - It sends only on a nominated pair; here data may go out on the first pair that is valid (RFC 8445 section 12.1),
//!   which saves the controlled side a round trip.
//! - It stays with a nominated pair until that has failed; here another valid one takes over when it is silent, as after
//!   a NAT gave the peer another address.
//! - It counts the peer's own checks as a sign of life; consent needs a response to ours (RFC 7675 section 5.1).
//! - A restart makes it forget the old pair at once; here the old session goes on until the new one has a pair, and a restart that
//!   was offered and not answered can be withdrawn.
//! - It sends a check again after its own time only; here the peer's check brings ours again (RFC 8445 section 7.3.1.4).
//! - It stays with the pair that was nominated when the peer turns up elsewhere; here it is followed (`moves`).
//! - It keeps the priority of a candidate that it first heard a check from; here the one counts that the peer names it with, also if that comes later.
//!
//! Known: the agent draws its transaction ids from a generator that is not cryptographic and not seeded by us. They
//! are no secret, since a response is believed for its MESSAGE-INTEGRITY alone, which the agent compares in constant
//! time; but two runs of one seed differ in these bytes.

mod locals;
mod moves;
mod session;
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

use self::moves::Move;
use self::session::{Heard, Session};
use crate::config::Config;
use crate::error::{Error, SignalingError};
use crate::limits::UFRAG_CHARS;
use crate::sdp::Candidate;

/// STUN datagrams waiting to be sent; more are dropped, as the network would.
const TRANSMITS_MAX: usize = 256;

/// After so long without consent another valid pair is used: longer than any interval between two requests for it.
const PATH_SILENCE: Duration = Duration::from_secs(7);

/// The least time without consent after which a connection fails. Requests are 4 to 6 s apart, and must not be closer (RFC 7675
/// section 5.1): in this time one may be lost, and most often two.
const CONSENT_TIMEOUT_MIN: Duration = Duration::from_secs(15);

/// State of ICE (W3C RTCIceConnectionState, without `completed` and `closed`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IceState {
    /// No checks yet.
    New,
    /// Checks are under way.
    Checking,
    /// A pair works.
    Connected,
    /// No answer for a while.
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
    /// The session of a restart that both sides know of, until it has a pair.
    restarted: Option<Box<Session>>,
    /// The session of a restart that we offered, until there is an answer.
    offered: Option<Box<Session>>,
    selected: Option<Path>,
    /// Where the peer may have gone.
    moving: Option<Move>,
    /// Where data went before it followed the peer to where it may not have gone.
    left: Option<Path>,
    /// Data has followed it there.
    has_moved: bool,
    /// The address that we send from is ours no more.
    is_lost: bool,
    /// When we last had a response from where we send to; before there is a pair, when the checks began. None: no checks are made.
    consent_at: Option<Instant>,
    state: IceState,
    failure: Option<&'static str>,
    /// It failed, and no restart has found a pair since.
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

    /// Whether there was a path, or time enough to find one, and it takes a restart to have one.
    pub(crate) fn is_down(&self) -> bool {
        self.is_down
    }

    /// User name fragment and password that a description of ours carries now.
    pub(crate) fn credentials(&self) -> &IceCreds {
        self.offered.as_deref().unwrap_or_else(|| self.newest()).credentials()
    }

    /// User name fragments of ours that the peer's checks may carry.
    pub(crate) fn local_ufrags(&self) -> impl Iterator<Item = &str> + Clone {
        self.sessions().map(|session| session.credentials().ufrag.as_str())
    }

    /// Candidates of ours, for a description or for trickling.
    pub(crate) fn local_candidates(&self) -> &[Candidate] {
        &self.locals
    }

    /// Candidates of the peer: named in a description, trickled, or seen by its checks.
    pub(crate) fn remote_candidates(&self) -> Vec<Candidate> {
        self.sessions().flat_map(Session::remote_candidates).collect()
    }

    /// Whether we choose the pair, once checks have begun.
    pub(crate) fn is_controlling(&self) -> bool {
        self.controlling
    }

    /// The peer's user name fragment that checks are made with.
    pub(crate) fn remote_ufrag(&self) -> Option<&str> {
        self.newest().remote_ufrag()
    }

    /// Whether a check with the right MESSAGE-INTEGRITY, or a response to one, came from there: only then DTLS is taken
    /// from it.
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

    /// Whether the datagram is a STUN message for us with a valid MESSAGE-INTEGRITY.
    pub(crate) fn accepts(&self, datagram: &[u8]) -> bool {
        StunMessage::parse(datagram)
            .is_ok_and(|message| self.sessions().any(|session| session.accepts(&message)))
    }

    // -- commands --

    /// New credentials, in force with the next pair of descriptions (RFC 8445 section 9).
    pub(crate) fn restart(&mut self) {
        let credentials = credentials(&mut self.rng);
        let session = self.session_with(credentials);
        if self.session.remote_ufrag().is_none() {
            self.session = session;
        } else {
            self.offered = Some(Box::new(session));
        }
    }

    /// An offer of ours is withdrawn: the credentials that it was the first to carry are forgotten.
    pub(crate) fn roll_back(&mut self) {
        if self.session.remote_ufrag().is_none() {
            self.restart();
        }
        self.offered = None;
    }

    /// Both descriptions are known: checks begin. `controlling`: we made the offer. A lite side is always controlled
    /// (RFC 8445 section 6.1.1). `candidates` are those of the description: they are known before the checks are looked at that came
    /// before it, since one that is first heard of by its check has the priority of that (section 7.3.1.3), for good.
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
            // The description kept to the limit. What was heard of in other ways may have taken the room of some.
            let _ = self.newest_mut().add_remote(candidate);
        }
        self.run(now);
    }

    /// A candidate of the peer for the newest session. While a restart of ours waits for its answer, candidates belong to
    /// the session before.
    pub(crate) fn add_remote(&mut self, now: Instant, candidate: &Candidate) -> Result<(), SignalingError> {
        self.newest_mut().add_remote(candidate)?;
        self.run(now);
        Ok(())
    }

    /// Makes no more checks and answers none.
    pub(crate) fn close(&mut self) {
        self.transmits = VecDeque::new();
        self.selected = None;
        self.consent_at = None;
        (self.restarted, self.offered) = (None, None);
    }

    // -- input --

    /// Takes a datagram that may be STUN. Nothing changes unless its MESSAGE-INTEGRITY is right.
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
            // The old path may be gone before the peer has nominated one in the new session.
            if heard == Heard::Response && restarted.is_valid(path.remote) && self.is_silent(now) {
                self.adopt_restarted(now, path);
            }
            return self.run(now);
        }
        self.make_room(now, path.remote, Some(&message));
        let Some(heard) = self.session.handle(now, path, message) else { return };
        // A lite side makes no checks: it has the peer's alone.
        let consents = heard == Heard::Response || self.lite;
        // A valid pair carries data before one is nominated (RFC 8445 section 12.1), and when the nominated one is
        // silent: the agent would stay with it until it has failed.
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

    /// Why it failed, until a restart has begun: no pair, or no consent for too long.
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
        self.sessions().filter_map(Session::deadline).chain([consent]).chain(moving).min()
    }

    // -- helpers --

    fn sessions(&self) -> impl Iterator<Item = &Session> + Clone {
        std::iter::once(&self.session).chain(self.restarted.as_deref()).chain(self.offered.as_deref())
    }

    /// The newest session of which both sides know.
    fn newest(&self) -> &Session {
        self.restarted.as_deref().unwrap_or(&self.session)
    }

    fn newest_mut(&mut self) -> &mut Session {
        self.restarted.as_deref_mut().unwrap_or(&mut self.session)
    }

    /// Silence after which the peer counts as disconnected: never what lies between two requests for consent.
    fn patience(&self) -> Duration {
        (self.consent_timeout / 3).max(PATH_SILENCE)
    }

    /// Lets the agents act, and takes what they say.
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
        self.update_state(now);
    }

    /// The restart has a pair: the old session ends.
    fn adopt_restarted(&mut self, now: Instant, path: Path) {
        let Some(mut restarted) = self.restarted.take() else { return };
        // What is on its way from the old address is still the peer's.
        if let Some(old) = self.selected {
            restarted.validate(old.remote);
        }
        (self.session, self.moving, self.left) = (*restarted, None, None);
        self.select(now, path);
        // It was answered just now, also where it is the old one.
        self.consent_at = Some(now);
    }

    /// The time for consent is over. Who has none does not send (RFC 7675 section 5.1).
    fn fail(&mut self) {
        self.failure = Some(match self.selected.take() {
            None => "no pair of candidates works",
            Some(_) => "the peer's consent was lost (RFC 7675)",
        });
        (self.state, self.is_down) = (IceState::Failed, true);
        (self.consent_at, self.moving) = (None, None);
        self.transmits = VecDeque::new();
    }

    /// The old session has failed, and there is the one of a restart: it has as much time as the first had.
    fn go_on_restarted(&mut self) {
        let Some(restarted) = self.restarted.take() else { return };
        self.consent_at = restarted.started_at();
        self.session = *restarted;
        (self.selected, self.failure) = (None, None);
        (self.state, self.is_down) = (IceState::Checking, true);
    }

    fn update_state(&mut self, now: Instant) {
        let most = self.consent_timeout;
        let is_over = |at: Option<Instant>| at.is_some_and(|at| now.saturating_duration_since(at) >= most);
        let has_time = |restarted: &Session| !is_over(restarted.started_at());
        if is_over(self.consent_at) && self.restarted.as_deref().is_some_and(has_time) {
            self.go_on_restarted();
        }
        if is_over(self.consent_at) {
            return self.fail();
        }
        let Some(consent_at) = self.consent_at else { return };
        self.state = match self.selected {
            None => IceState::Checking,
            Some(_) if now.saturating_duration_since(consent_at) >= self.patience() => IceState::Disconnected,
            Some(_) => IceState::Connected,
        };
    }
}

/// With 144 bits of password (RFC 8445 section 5.3 asks for 128).
fn credentials(rng: &mut ChaCha20Rng) -> IceCreds {
    IceCreds { ufrag: ice_chars(rng, UFRAG_CHARS), pass: ice_chars(rng, 24) }
}

fn ice_chars(rng: &mut ChaCha20Rng, count: usize) -> String {
    const CHARS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (0..count).map(|_| char::from(CHARS[(rng.next_u32() & 63) as usize])).collect()
}
