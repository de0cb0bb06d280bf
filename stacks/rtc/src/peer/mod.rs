//! A peer connection: signalling, ICE, DTLS, the association and its data channels, by static dispatch.
//!
//! - `signaling`: offers, answers, candidates, and the negotiated parameters.
//! - `transport`: DTLS and the association, from the first valid pair to the end.
//! - `channels`: data channels and their streams. `opening`, `closing`: their life cycle.
//! - `receive`: incoming datagrams and messages. `transmit`: outgoing datagrams.
//! - `inspect`: statistics. `pairs`: counters per pair. `log`: diagnostics.

mod channels;
mod closing;
mod inspect;
mod log;
mod opening;
mod pairs;
mod receive;
mod signaling;
#[cfg(test)]
mod tests;
mod transmit;
mod transport;
mod types;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub use self::types::{
    ChannelId, ChannelOptions, ChannelState, Event, Kind, Message, PeerState, Reliability,
};

use self::channels::Channels;
use self::pairs::{Pairs, Traffic};
use self::signaling::Signaling;
use self::transport::Transport;
use crate::config::Config;
use crate::error::Error;
use crate::ice::{Ice, IceState, Path};
use crate::log::log;

/// A WebRTC peer connection for data channels.
///
/// There are four kinds of methods, which may be called in any order: getters; `handle_*`, which take an
/// input and its time; commands ([`create_offer`](Self::create_offer), [`send`](Self::send) and others); and
/// `poll_*`, [`recv`](Self::recv) and [`next_deadline`](Self::next_deadline), which return output. After
/// input or commands, poll until nothing is returned, then sleep until the next deadline or input.
///
/// Choices that the standards leave open:
/// - A locally created channel is [`Open`](ChannelState::Open) as soon as DTLS is connected: the first
///   messages then travel with the packet that completes the SCTP set-up, which saves a round trip. A channel
///   opened by the peer is open when it is reported.
/// - Messages for a stream without a channel are dropped. A peer that complies with RFC 8832 sends none,
///   because it sends in order until its channel is acknowledged.
/// - DCEP is processed in the order of arrival with the messages: while a message waits for
///   [`recv`](Self::recv), later channel openings wait too.
/// - While our offer waits for its answer, an offer of the peer is rejected, unless ours is first withdrawn
///   by [`rollback`](Self::rollback). An offer of the peer is answered in one step, so it never needs a
///   rollback.
/// - A connection that [`Failed`](PeerState::Failed) because of ICE is kept for [`Config::restart_timeout`],
///   with its channels and undelivered data: an ICE restart revives it. Then it is closed. Other failures end
///   it at once; [`is_over`](Self::is_over) tells the difference.
#[derive(Debug)]
pub struct PeerConnection {
    config: Arc<Config>,
    signaling: Signaling,
    ice: Ice,
    transport: Transport,
    channels: Channels,
    events: VecDeque<Event>,
    /// The number of [`Event::Incoming`] among them.
    unpolled_incoming: usize,
    state: PeerState,
    failure: Option<Error>,
    /// Until when an ICE restart may revive the connection.
    kept_until: Option<Instant>,
    is_over: bool,
    ice_told: IceState,
    /// The datagram polled last is a check to an address that has not answered any.
    is_to_stranger: bool,
    counters: Counters,
    pairs: Pairs,
    /// The latest time passed in, for [`recv`](PeerConnection::recv), which takes none.
    now: Instant,
}

/// Counters since the beginning.
#[derive(Debug, Default)]
struct Counters {
    traffic: Traffic,
    channels_opened: u64,
    channels_closed: u64,
}

impl PeerConnection {
    /// Creates a peer connection. `seed` (32 unpredictable bytes) is the source of this crate's randomness.
    /// Handshake keys come from the cryptographic library, and STUN transaction ids from the ICE agent's
    /// generator.
    pub fn new(config: Arc<Config>, seed: [u8; 32], now: Instant) -> Result<Self, Error> {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let mut sctp_seed = [0; 32];
        rng.fill_bytes(&mut sctp_seed);
        let transport = Transport::new(&config, sctp_seed)?;
        // Below 2^62, as RFC 8829 section 5.2.1 requires: some parsers use a signed number.
        let session_id = rng.next_u64() >> 2;
        Ok(Self {
            signaling: Signaling::new(session_id),
            ice: Ice::new(&config, rng),
            transport,
            channels: Channels::default(),
            events: VecDeque::new(),
            unpolled_incoming: 0,
            state: PeerState::New,
            failure: None,
            kept_until: None,
            is_over: false,
            ice_told: IceState::New,
            is_to_stranger: false,
            counters: Counters::default(),
            pairs: Pairs::new(config.limits.max_candidate_pairs),
            config,
            now,
        })
    }

    // -- getters --

    /// The state of the connection.
    pub fn state(&self) -> PeerState {
        self.state
    }

    /// Whether the connection has ended. A failed connection may not have ended: see
    /// [`Config::restart_timeout`].
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Why it failed, unless an ICE restart has revived it.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    // -- input --

    /// Whether the datagram is a STUN message with a valid MESSAGE-INTEGRITY for this connection, so that its
    /// source is authentic.
    pub fn accepts_stun(&self, datagram: &[u8]) -> bool {
        !self.is_over() && self.ice.accepts(datagram)
    }

    /// Whether the datagram starts with an authentic DTLS record of the peer that is newer than all before,
    /// which identifies a peer whose address has changed without a check. Does not process the datagram.
    /// False until the handshake is complete.
    pub fn accepts_dtls(&self, datagram: &[u8]) -> bool {
        !self.is_over() && self.transport.dtls.as_ref().is_some_and(|dtls| dtls.is_newest(datagram))
    }

    /// Handles datagrams received together from one address: `segment_bytes` each, except that the last may
    /// be shorter. They are decrypted in place.
    ///
    /// `local` is the address that they were sent to, which must have been [added](Self::add_local_address).
    /// DTLS datagrams are dropped unless ICE has authenticated `remote` or the peer has moved there, as
    /// [`accepts_dtls`](Self::accepts_dtls) detects. In the latter case a check is sent to `remote`, and our
    /// data follows once that is answered.
    pub fn handle_datagrams(
        &mut self,
        now: Instant,
        local: SocketAddr,
        remote: SocketAddr,
        datagrams: &mut [u8],
        segment_bytes: usize,
    ) {
        self.now = now;
        if !self.is_over() {
            self.receive(now, Path { local, remote }, datagrams, segment_bytes);
            self.settle(now);
        }
    }

    /// Another connection has proved that `remote`, as seen from our port, is its peer. DTLS datagrams do not
    /// identify a connection, so only one can use the path: if this connection used it, it has failed.
    pub fn handle_path_taken(&mut self, now: Instant, remote: SocketAddr) {
        self.now = now;
        if self.ice.selected().is_some_and(|path| path.remote == remote) {
            let why =
                "another connection between the same two ports has replaced it; use a separate port for each";
            self.end(now, Some(Error::Ice(why)));
        }
    }

    /// The source of a request is unproven: another connection uses the path. An ICE-lite side then sends a
    /// check there; other sides check by themselves.
    pub fn prove_path(&mut self, now: Instant, local: SocketAddr, remote: SocketAddr) {
        self.ice.prove(now, Path { local, remote });
    }

    /// Handles expired timers.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if self.is_over() {
            return;
        }
        if self.kept_until.is_some_and(|until| now >= until) {
            log!(WARN, self.session_id(), "no ICE restart within restart_timeout: closed");
            return self.end(now, self.failure.clone());
        }
        self.ice.handle_timeout(now);
        self.transport.handle_timeout(now);
        self.settle(now);
    }

    // -- output --

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        let was_full = !self.has_room_for_events();
        let event = self.events.pop_front();
        self.unpolled_incoming -= usize::from(matches!(event, Some(Event::Incoming(_))));
        if event.is_none() && self.is_over() {
            let closed = self.channels.next_of_all()?;
            self.counters.channels_closed += 1;
            return Some(Event::ChannelClosed(closed));
        }
        if was_full && !self.is_over() {
            // Events held back by the limit.
            self.settle(self.now);
        }
        event
    }

    /// Latest time to call [`handle_timeout`](Self::handle_timeout).
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let deadlines = [self.ice.next_deadline(), self.transport.next_deadline(), self.kept_until];
        deadlines.into_iter().flatten().min()
    }

    // -- helpers --

    /// After any input: passes each layer's output to the next one and to the application.
    fn settle(&mut self, now: Instant) {
        self.settle_ice(now);
        self.settle_dtls(now);
        self.settle_association(now);
        self.pull();
    }

    fn settle_ice(&mut self, now: Instant) {
        if self.is_over() {
            return;
        }
        self.pairs.select(self.ice.selected(), self.counters.traffic);
        if let Some(path) = self.ice.selected() {
            self.transport.use_path(now, path);
        }
        if self.ice.take_moved() {
            self.log_move();
            self.transport.set_path(now, false);
        }
        let ice = self.ice.state();
        if ice != self.ice_told {
            self.ice_told = ice;
            self.log_ice(ice);
            self.tell(Event::Ice(ice));
        }
        if let Some(error) = self.ice.failure() {
            return self.fail(now, error);
        }
        (self.failure, self.kept_until) = (None, None);
        self.transport.set_path(now, !self.ice.is_down());
        let state = match (ice, self.transport.is_connected()) {
            (IceState::New, _) => PeerState::New,
            (IceState::Checking, _) | (_, false) => PeerState::Connecting,
            (IceState::Disconnected, true) => PeerState::Disconnected,
            (_, true) => PeerState::Connected,
        };
        self.set_state(state);
    }

    /// ICE has failed. Keeps what a restart can revive.
    fn fail(&mut self, now: Instant, error: Error) {
        let until = now.checked_add(self.config.restart_timeout);
        if self.config.restart_timeout.is_zero() {
            return self.end(now, Some(error));
        }
        if self.failure.is_none() {
            self.transport.set_path(now, false);
            self.log_failure(&error);
            (self.failure, self.kept_until) = (Some(error.clone()), until);
            self.tell(Event::Failed(error));
            self.set_state(PeerState::Failed);
        }
    }

    fn set_state(&mut self, state: PeerState) {
        if self.state != state {
            log!(INFO, self.session_id(), "state: {state:?}");
            self.state = state;
            self.tell(Event::State(state));
        }
    }

    /// Queues an event. Beyond the limit, a state replaces an older one of its kind: only the latest matters.
    fn tell(&mut self, event: Event) {
        if self.events.len() >= self.config.limits.max_events {
            let kind = std::mem::discriminant(&event);
            let is_state = matches!(event, Event::State(_) | Event::Ice(_));
            let older = self.events.iter_mut().rfind(|older| std::mem::discriminant(*older) == kind);
            if let Some(older) = older.filter(|_| is_state) {
                *older = event;
                return;
            }
        }
        self.events.push_back(event);
    }

    /// Whether events that the peer can cause may be queued.
    fn has_room_for_events(&self) -> bool {
        self.events.len() < self.config.limits.max_events
    }
}
