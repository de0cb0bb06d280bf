//! One peer connection: signalling, ICE, DTLS, the association and its data channels, by static dispatch.
//!
//! - `signaling`: offers, answers, candidates, and what they agree upon.
//! - `transport`: DTLS and the association, from the first valid pair to the farewell.
//! - `channels`: data channels and their streams. `opening`, `closing`: how they come and go.
//! - `receive`: datagrams in, messages out. `transmit`: datagrams out.
//! - `inspect`: statistics and the like. `pairs`: what is counted for them. `log`: what is told of failures.

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
/// The methods are of four kinds, and may be called in any order: getters; `handle_*`, which take what happened and
/// when; commands ([`create_offer`](Self::create_offer), [`send`](Self::send) and the like); `poll_*`,
/// [`recv`](Self::recv) and [`next_deadline`](Self::next_deadline), which give what there is to do. After any call
/// of the first three, poll until there is nothing more, then sleep until the next deadline or input.
///
/// Choices that the standards leave open:
/// - A channel is [`Open`](ChannelState::Open) at the side that made it as soon as DTLS is up: the first messages then
///   ride with the packet that ends the set-up of SCTP, a round trip sooner than if the peer were asked. A channel
///   that the peer opens is open when it is heard of.
/// - Messages for a stream that has no channel are dropped. They are none of a peer that keeps to RFC 8832, which
///   sends in order until its channel is acknowledged.
/// - DCEP comes in the order of arrival with the messages: while one waits to be taken by [`recv`](Self::recv), the
///   openings behind it wait too.
/// - While an offer of ours waits for its answer, an offer of the peer is refused, unless ours is withdrawn by
///   [`rollback`](Self::rollback) before. An offer of the peer is answered in one step, so that there is none to withdraw.
/// - A connection that [`Failed`](PeerState::Failed) because ICE did is kept for [`Config::restart_timeout`], with its channels and
///   what was not delivered: a restart of ICE brings it back. Then it is closed. Other failures are its end at once; so
///   [`is_over`](Self::is_over) says.
#[derive(Debug)]
pub struct PeerConnection {
    config: Arc<Config>,
    signaling: Signaling,
    ice: Ice,
    transport: Transport,
    channels: Channels,
    events: VecDeque<Event>,
    /// [`Event::Incoming`] among them.
    unpolled_incoming: usize,
    state: PeerState,
    failure: Option<Error>,
    /// Until when a restart of ICE may bring it back.
    kept_until: Option<Instant>,
    is_over: bool,
    ice_told: IceState,
    /// What was polled last is a check to one who has not answered any.
    is_to_stranger: bool,
    counters: Counters,
    pairs: Pairs,
    /// The latest time that we were told: [`recv`](PeerConnection::recv) has none of its own.
    now: Instant,
}

/// All since the beginning.
#[derive(Debug, Default)]
struct Counters {
    traffic: Traffic,
    channels_opened: u64,
    channels_closed: u64,
}

impl PeerConnection {
    /// A new one. All randomness of ours comes from `seed` (32 unguessable bytes); keys of the handshake come from the
    /// cryptographic library, and transaction ids of STUN from the ICE agent's generator.
    pub fn new(config: Arc<Config>, seed: [u8; 32], now: Instant) -> Result<Self, Error> {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let mut sctp_seed = [0; 32];
        rng.fill_bytes(&mut sctp_seed);
        let transport = Transport::new(&config, sctp_seed)?;
        // Below 2^62, as RFC 8829 section 5.2.1 asks for: readers may take it for a signed number.
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

    /// State of the connection.
    pub fn state(&self) -> PeerState {
        self.state
    }

    /// Whether nothing comes or goes any more. A connection that has failed may not be over: see
    /// [`Config::restart_timeout`].
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Why it failed, if it did and a restart of ICE has not brought it back.
    pub fn failure(&self) -> Option<&Error> {
        self.failure.as_ref()
    }

    // -- input --

    /// Whether the datagram is a STUN message with a valid MESSAGE-INTEGRITY for us, so that its source may be believed.
    pub fn accepts_stun(&self, datagram: &[u8]) -> bool {
        !self.is_over() && self.ice.accepts(datagram)
    }

    /// Whether the datagram begins with a record of DTLS that only the peer can have made, newer than all that has come: so that a peer whose
    /// address has changed is known without a check. It is not taken by this. False until the handshake is done.
    pub fn accepts_dtls(&self, datagram: &[u8]) -> bool {
        !self.is_over() && self.transport.dtls.as_ref().is_some_and(|dtls| dtls.is_newest(datagram))
    }

    /// Takes datagrams that came from one address in one go: `segment_bytes` each, the last may be shorter. They are
    /// decrypted in place.
    ///
    /// `local` is the address that they were sent to: one that was [added](Self::add_local_address), or ICE will not
    /// know it. Datagrams of DTLS are dropped unless ICE has authenticated `remote`, or the peer has moved there, as
    /// [`accepts_dtls`](Self::accepts_dtls) tells: then a check goes to `remote`, and what we send when it was answered.
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

    /// Another connection has proven that `remote`, seen from our port, is its peer. Datagrams of DTLS name no connection, so that
    /// only one can have the path: if it was this one's, this one has failed.
    pub fn handle_path_taken(&mut self, now: Instant, remote: SocketAddr) {
        self.now = now;
        if self.ice.selected().is_some_and(|path| path.remote == remote) {
            let why = "another connection between the same two ports has taken its place; each needs a port of its own";
            self.end(now, Some(Error::Ice(why)));
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.now = now;
        if self.is_over() {
            return;
        }
        if self.kept_until.is_some_and(|until| now >= until) {
            log!(WARN, self.session_id(), "nobody restarted ICE in time (restart_timeout): closed");
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
            // What the limit on events held back.
            self.settle(self.now);
        }
        event
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    pub fn next_deadline(&self) -> Option<Instant> {
        if self.is_over() {
            return None;
        }
        let deadlines = [self.ice.next_deadline(), self.transport.next_deadline(), self.kept_until];
        deadlines.into_iter().flatten().min()
    }

    // -- helpers --

    /// After any input: what each layer has to say, told to the next one and to the application.
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

    /// ICE has failed. Kept is what a restart of it can bring back.
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

    /// Queues an event. States beyond the limit take the place of older ones of their kind: the latest counts.
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
