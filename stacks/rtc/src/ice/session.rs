//! An ICE session: an agent with one set of credentials, and its limits.

mod asking;
mod debug;
mod hmac;
mod renewal;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use is::stun::{StunMessage, StunPacket};
use is::{IceAgent, IceAgentEvent, IceCreds, Protocol};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::Rng;

use crate::error::SignalingError;
use crate::log::in_silence;
use crate::sdp::{Candidate, CandidateKind, CandidateTransport};
pub(super) use asking::{Asked, REFLEXIVE_PRIORITY};
pub(super) use hmac::AwsLcHmac;

/// Ta, the shortest time between two checks: the minimum of RFC 8445 section 14.2. The first check is sent at
/// once, and a host has few pairs; a longer Ta would only delay the second.
const TIMING_ADVANCE: Duration = Duration::from_millis(5);
/// RTO, the time to the first retransmission of a check: this, or Ta per pair if that is longer (RFC 8445
/// section 14.3). It doubles with each retransmission. A peer that was not ready need not be waited for: its
/// own check triggers ours again.
const RTO_MIN: Duration = Duration::from_millis(500);
/// The same once a pair has answered: losing a nomination should not cost more.
const ANSWERED_RTO: Duration = Duration::from_millis(100);
/// Checks to an address that never answers (Rc, RFC 8489 section 6.2.1), and the longest time between two of
/// them.
const UNANSWERED_CHECKS: usize = 7;
const UNANSWERED_RTO_MAX: Duration = Duration::from_secs(16);
/// Once a pair works: unanswered requests after which the agent drops a pair, which takes longer than consent
/// lasts.
const UNANSWERED_REQUESTS: usize = 9;
/// Consent is requested every 5 s with 20 % jitter (RFC 7675 section 5.1), never below 4 s.
const CONSENT_INTERVAL_MS: (u64, u64) = (4000, 2000);
/// Most checks per session to addresses that have never answered: an offer with 64 candidates must not cause
/// seven checks to each of them.
const UNANSWERED_MAX: u32 = 256;
/// Difference of the local preference (RFC 8445 section 5.1.2.1) between relays over UDP, TCP and TLS: over
/// TCP and TLS, loss on the way to the relay blocks all later data. It exceeds the range of a candidate type,
/// in which the agent counts down by two.
const BEHIND_PREFERENCE: u32 = 4096;
/// The first bytes of a Binding request (RFC 8489 section 5).
const BINDING_REQUEST: [u8; 2] = [0, 1];
/// Most steps of the agent per run: it processes queued checks one by one.
const STEPS_MAX: usize = 128;

/// A pair of addresses between which datagrams are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) local: SocketAddr,
    pub(crate) remote: SocketAddr,
}

/// An ICE datagram.
#[derive(Debug, Clone)]
pub(crate) struct Datagram {
    pub(crate) path: Path,
    pub(crate) bytes: Vec<u8>,
    /// A check to an address from which no check was answered: see
    /// [`Ice::poll_transmit`](super::Ice::poll_transmit).
    pub(crate) is_to_stranger: bool,
}

/// The ICE part of the peer's description. It contains a password and therefore has no `Debug`.
#[derive(Clone, Copy)]
pub(crate) struct Remote<'a> {
    pub(crate) ufrag: &'a str,
    pub(crate) password: &'a str,
    pub(crate) lite: bool,
}

/// Kind of an authenticated message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Request,
    /// The first request from an address that was not signalled.
    Stranger {
        nominates: bool,
    },
    Response,
}

/// An address of the peer.
#[derive(Debug)]
struct Known {
    address: SocketAddr,
    /// It was signalled in a description or trickled.
    signalled: bool,
    /// An authenticated message came from it.
    validated: bool,
    /// Checks sent to it while neither is true.
    asked: u8,
    /// Checks that may be sent there in return for checks received from there.
    owed: u8,
}

pub(super) struct Session {
    agent: IceAgent,
    /// The least recently heard first.
    known: Vec<Known>,
    /// Our addresses as the peer sees them.
    mapped: Vec<SocketAddr>,
    known_max: usize,
    pairs_max: usize,
    locals: usize,
    /// Those of them that are TCP's. No address is used for both.
    tcp: Vec<SocketAddr>,
    /// Checks that may still be sent to addresses that have not answered.
    unanswered_left: u32,
    /// The latest check of each pair, until one is nominated.
    checks: Vec<Datagram>,
    is_settled: bool,
    /// A check of ours was answered.
    is_answered: bool,
    /// The peer has sent a check there, which ours should follow.
    triggered: Option<Path>,
    /// The same for a pair that works already but is not nominated, and when.
    reminder: Option<(Instant, Path)>,
    /// The longest time between two requests on a working pair.
    interval: Duration,
    /// The last measurement: the agent only has the round trip of the nominated pair, while that exists.
    round_trip: Option<Duration>,
    /// When all pairs were checked at once.
    asked_at: Option<Instant>,
    /// When the agent was last replaced.
    renewed_at: Option<Instant>,
    started_at: Option<Instant>,
    deadline: Option<Instant>,
}

impl Session {
    pub(super) fn new(credentials: IceCreds, lite: bool) -> Self {
        let mut agent = IceAgent::with_hmac(credentials, &AwsLcHmac);
        agent.set_ice_lite(lite);
        agent.set_timing_advance(TIMING_ADVANCE);
        agent.set_initial_stun_rto(RTO_MIN);
        agent.set_max_stun_rto(UNANSWERED_RTO_MAX);
        agent.set_max_stun_retransmits(UNANSWERED_CHECKS);
        // Checks have about 100 bytes; with the longest accepted user name they still fit.
        agent.set_mtu(800..=1200);
        Self {
            agent,
            known: Vec::new(),
            mapped: Vec::new(),
            known_max: 0,
            pairs_max: 0,
            locals: 0,
            tcp: Vec::new(),
            unanswered_left: UNANSWERED_MAX,
            checks: Vec::new(),
            is_settled: false,
            is_answered: false,
            triggered: None,
            reminder: None,
            interval: UNANSWERED_RTO_MAX,
            round_trip: None,
            asked_at: None,
            renewed_at: None,
            started_at: None,
            deadline: None,
        }
    }

    pub(super) fn configure(&mut self, pairs_max: usize, known_max: usize, tie_breaker: u64) {
        self.agent.set_max_candidate_pairs(pairs_max);
        self.agent.set_control_tie_breaker(tie_breaker);
        (self.pairs_max, self.known_max) = (pairs_max, known_max);
    }

    // -- getters --

    pub(super) fn credentials(&self) -> &IceCreds {
        self.agent.local_credentials()
    }

    pub(super) fn remote_credentials(&self) -> Option<&IceCreds> {
        self.agent.remote_credentials()
    }

    pub(super) fn remote_ufrag(&self) -> Option<&str> {
        self.remote_credentials().map(|credentials| credentials.ufrag.as_str())
    }

    /// Whether a pair was nominated.
    pub(super) fn is_settled(&self) -> bool {
        self.is_settled
    }

    pub(super) fn is_validated(&self, remote: SocketAddr) -> bool {
        self.known.iter().any(|known| known.validated && known.address == remote)
    }

    pub(super) fn has_validated(&self) -> bool {
        self.known.iter().any(|known| known.validated)
    }

    /// Whether our check to this address succeeded.
    pub(super) fn is_valid(&self, remote: SocketAddr) -> bool {
        self.agent.has_viable_remote_candidate(remote)
    }

    /// Whether this local address uses TCP.
    pub(super) fn is_tcp(&self, local: SocketAddr) -> bool {
        self.tcp.contains(&local)
    }

    pub(super) fn accepts(&self, message: &StunMessage<'_>) -> bool {
        // Without remote credentials the agent can only verify requests.
        (message.is_binding_request() || self.remote_ufrag().is_some()) && self.agent.accepts_message(message)
    }

    pub(super) fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// Candidates of the peer, of any origin.
    pub(super) fn remote_candidates(&self) -> impl Iterator<Item = Candidate> {
        // The agent's own type lacks some fields, so its text form is parsed. The foundation of a
        // peer-reflexive candidate contains an underscore, which is not an ice-char (RFC 8839 section 5.1).
        let read = |candidate: is::Candidate| {
            let text = candidate.to_sdp_string().replacen(":tmp_prflx ", ":prflx ", 1);
            Candidate::parse_any(&text).ok().flatten()
        };
        self.agent.remote_candidates().filter_map(read)
    }

    /// When the peer's credentials became known.
    pub(super) fn started_at(&self) -> Option<Instant> {
        self.started_at
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline.into_iter().chain(self.reminder.map(|(at, _)| at)).min()
    }

    // -- commands --

    /// Adds a candidate and returns its priority, if datagrams can arrive at the address. A reflexive
    /// candidate is not passed to the agent: checks are sent from its base (RFC 8445 section 6.1.2.4).
    pub(super) fn add_local(&mut self, candidate: &Candidate) -> Option<u32> {
        let address = candidate.address;
        if candidate.transport == CandidateTransport::TcpPassive && !self.tcp.contains(&address) {
            self.tcp.push(address);
        }
        let behind = candidate.relay_protocol.map_or(0, |protocol| protocol as u32 * BEHIND_PREFERENCE);
        let preference = move |candidate: &is::Candidate, like: usize| {
            is::default_local_preference(candidate, like).saturating_sub(behind)
        };
        self.agent.set_local_preference(preference);
        let candidate = match candidate.kind {
            CandidateKind::Host => is::Candidate::host(address, candidate.transport.name()),
            // A relayed candidate is its own base and a separate path.
            CandidateKind::Relayed => is::Candidate::relayed(address, address, "udp"),
            CandidateKind::ServerReflexive | CandidateKind::PeerReflexive => return None,
        };
        let priority = self.agent.add_local_candidate(candidate.ok()?).map(is::Candidate::prio);
        self.locals += usize::from(priority.is_some());
        self.set_rto();
        priority
    }

    pub(super) fn start(&mut self, now: Instant, remote: Remote<'_>, controlling: bool) {
        if self.remote_ufrag().is_none() {
            self.agent.set_controlling(controlling);
        }
        let credentials = IceCreds { ufrag: remote.ufrag.into(), pass: remote.password.into() };
        self.at_first_in_silence(|agent| agent.set_remote_credentials(credentials));
        self.started_at.get_or_insert(now);
        self.deadline = Some(now);
    }

    pub(super) fn add_remote(&mut self, candidate: &Candidate) -> Result<(), SignalingError> {
        let address = candidate.address;
        // The session that the candidate belongs to may have ended.
        let other = candidate.ufrag.as_deref().is_some_and(|ufrag| Some(ufrag) != self.remote_ufrag());
        let again = self.known.iter().any(|known| known.signalled && known.address == address);
        if other || again {
            return Ok(());
        }
        self.known_mut(address).ok_or(SignalingError::Limit("candidates"))?.signalled = true;
        let kind = match candidate.kind {
            CandidateKind::Host => is::CandidateKind::Host,
            CandidateKind::ServerReflexive => is::CandidateKind::ServerReflexive,
            CandidateKind::PeerReflexive => is::CandidateKind::PeerReflexive,
            CandidateKind::Relayed => is::CandidateKind::Relayed,
        };
        let (foundation, priority) = (candidate.foundation.clone(), candidate.priority);
        let candidate = is::Candidate::from_parts(
            foundation,
            1,
            Protocol::Udp,
            priority,
            address,
            kind,
            candidate.related,
            None,
            None,
        );
        self.forget_heard(address);
        self.agent.add_remote_candidate(candidate);
        self.set_rto();
        Ok(())
    }

    /// Consent was received. Draws a new interval until the next request, so that connections do not
    /// synchronise.
    pub(super) fn vary_interval(&mut self, rng: &mut ChaCha20Rng) {
        let (least, span) = CONSENT_INTERVAL_MS;
        self.interval = Duration::from_millis(least + rng.next_u64() % span);
        self.agent.set_max_stun_rto(self.interval);
        self.agent.set_max_stun_retransmits(UNANSWERED_REQUESTS);
    }

    // -- input --

    /// Handles a message. `None`: not for this session or not authentic; nothing has changed then.
    pub(super) fn handle(&mut self, now: Instant, path: Path, message: StunMessage<'_>) -> Option<Heard> {
        let request = message.is_binding_request();
        let has_credentials = self.remote_ufrag().is_some();
        let is_stranger = request && !self.knows(path.remote);
        if !self.has_room(path.remote, Some(&message)) || !(request || has_credentials) {
            return None;
        }
        let mapped = message.mapped_address();
        let proto = if self.is_tcp(path.local) { Protocol::Tcp } else { Protocol::Udp };
        let packet = StunPacket { proto, source: path.remote, destination: path.local, message };
        let success = packet.message.is_successful_binding_response();
        let nominates = packet.message.use_candidate();
        if !self.agent.handle_packet(now, packet) {
            return None;
        }
        self.round_trip = self.agent.nominated_pair_rtt().or(self.round_trip);
        // A response from another address than the request went to proves nothing (RFC 8445 section
        // 7.2.5.2.1).
        if request || (success && self.is_valid(path.remote)) {
            self.validate(path.remote);
        }
        if let Some(known) = self.known.iter_mut().find(|known| request && known.address == path.remote) {
            known.owed = known.owed.saturating_add(1);
        }
        if request && !self.is_valid(path.remote) {
            self.triggered = Some(path);
        } else if request && !nominates && !self.is_settled && !self.agent.controlling() {
            self.reminder.get_or_insert((now + TIMING_ADVANCE, path));
        }
        if success && !std::mem::replace(&mut self.is_answered, true) {
            self.set_rto();
        }
        if let Some(mapped) = mapped.filter(|mapped| success && !self.mapped.contains(mapped)) {
            self.mapped.push(mapped);
        }
        Some(match (success, is_stranger) {
            (true, _) => Heard::Response,
            (false, true) => Heard::Stranger { nominates },
            (false, false) => Heard::Request,
        })
    }

    /// Runs the agent. Returns the pair that it has newly selected for sending, if any.
    pub(super) fn run(
        &mut self,
        now: Instant,
        transmits: &mut VecDeque<Datagram>,
        room: usize,
    ) -> Option<Path> {
        self.remote_ufrag()?;
        let mut chosen = None;
        for _ in 0..STEPS_MAX {
            self.at_first_in_silence(|agent| agent.handle_timeout(now));
            while let Some(transmit) = self.agent.poll_transmit() {
                let path = Path { local: transmit.source, remote: transmit.destination };
                if transmits.len() < room && self.may_send(path.remote) {
                    let datagram = self.datagram(path, transmit.contents.into());
                    self.keep_check(&datagram);
                    transmits.push_back(datagram);
                }
            }
            while let Some(event) = self.at_first_in_silence(IceAgent::poll_event) {
                if let IceAgentEvent::NominatedSend { source, destination, .. } = event {
                    self.settle();
                    chosen = Some(Path { local: source, remote: destination });
                }
            }
            self.deadline = self.agent.poll_timeout();
            // None: the agent has not finished the queue of checks that came before the description.
            if self.deadline.is_some_and(|deadline| deadline > now) {
                break;
            }
        }
        // A triggered check (RFC 8445 section 7.3.1.4): repeats the unanswered check there, which may have
        // arrived before the peer had our description.
        let again = self.triggered.take().filter(|path| !self.is_valid(path.remote));
        let reminder = self.reminder.filter(|(at, _)| *at <= now).map(|(_, path)| path);
        if let Some(bytes) =
            again.or(reminder).and_then(|path| self.check_of(path)).map(|it| it.bytes.clone())
            && let Some(path) = again.or(reminder).filter(|_| transmits.len() < room)
        {
            transmits.push_back(self.datagram(path, bytes));
        }
        if reminder.is_some() {
            self.settle();
        }
        chosen
    }

    // -- helpers --

    /// Runs an action of the agent. At the start it logs passwords (level TRACE), so its log is suppressed
    /// until a check is answered.
    fn at_first_in_silence<T>(&mut self, act: impl FnOnce(&mut IceAgent) -> T) -> T {
        if self.is_answered { act(&mut self.agent) } else { in_silence(|| act(&mut self.agent)) }
    }

    /// Sets the RTO for the maximum number of pairs (RFC 8445 section 14.3), until one answers.
    fn set_rto(&mut self) {
        let pairs = (self.locals * self.known.len()).min(self.pairs_max);
        let before = RTO_MIN.max(TIMING_ADVANCE * pairs as u32);
        self.agent.set_initial_stun_rto(if self.is_answered { ANSWERED_RTO } else { before });
    }

    /// A pair is nominated, or the peer was asked to nominate it: from now on only the agent sends checks.
    fn settle(&mut self) {
        (self.is_settled, self.checks, self.reminder) = (true, Vec::new(), None);
    }

    fn knows(&self, address: SocketAddr) -> bool {
        self.known.iter().any(|known| known.address == address)
    }

    /// The entry of an address, created if there is space.
    fn known_mut(&mut self, address: SocketAddr) -> Option<&mut Known> {
        let at = match self.known.iter().position(|known| known.address == address) {
            Some(at) => at,
            None if self.known.len() < self.known_max => {
                self.known.push(Known { address, signalled: false, validated: false, asked: 0, owed: 0 });
                self.known.len() - 1
            }
            None => return None,
        };
        self.known.get_mut(at)
    }
}
