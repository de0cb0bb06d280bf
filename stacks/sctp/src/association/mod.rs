//! The association: set-up, the two halves, stream resets, the path, and the end.

mod control;
mod cookie;
mod discovery;
mod dispatch;
mod events;
mod path;
mod reset;
mod setup;
mod shutdown;
mod state;
mod terms;
mod timer;
mod transmit;

use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::config::Config;
use crate::error::{AssociationError, ConfigError, ResetError, SendError};
use crate::inbound::{Inbound, Message};
use crate::outbound::{Outbound, OutboundEvent, SendOptions};
use crate::types::{Ppid, StreamId, Tsn};

use control::Control;
use cookie::Key;
use discovery::Discovery;
use events::Events;
use path::Path;
use reset::Resets;
use state::Phase;
use terms::Terms;
use timer::{Timer, Timers};

/// Where an association stands (RFC 9260 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing sent yet, or over.
    Closed,
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent.
    CookieEchoed,
    /// Open.
    Established,
    /// One of the four states of a shutdown.
    ShuttingDown,
}

/// What the layer above is told.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The association is open.
    Connected,
    /// The peer has begun anew (RFC 9260 section 5.2.4.1): nothing of before will be delivered, and what was sent or
    /// waited to be sent is gone.
    Restarted,
    /// The buffered amount of a stream has fallen to its low threshold.
    BufferedAmountLow(StreamId),
    /// `send` said "not now"; there is room again.
    Writable,
    /// The peer has reset these incoming streams, or all if none is named (RFC 6525). It is told once all of their
    /// messages were taken with [`recv`](Association::recv).
    StreamsReset(Vec<StreamId>),
    /// The peer has taken the reset of these outgoing streams of ours. They can be used anew.
    StreamResetDone(Vec<StreamId>),
    /// The peer refused to reset these outgoing streams. They take no more messages.
    StreamResetFailed(Vec<StreamId>),
    /// Over: by shutdown or by our own `abort` (`None`), or because of an error. Messages that have come can still be
    /// taken.
    Closed(Option<AssociationError>),
}

/// Counters and gauges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// SCTP packets received and accepted.
    pub packets_received: u64,
    /// Messages handed to `send`.
    pub messages_sent: u64,
    /// Messages delivered or waiting.
    pub messages_received: u64,
    /// Payload bytes handed to `send`.
    pub bytes_sent: u64,
    /// Payload bytes delivered or waiting.
    pub bytes_received: u64,
    /// DATA chunks sent again.
    pub chunks_retransmitted: u64,
    /// Messages given up (RFC 3758).
    pub messages_abandoned: u64,
    /// T3-rtx expiries.
    pub retransmission_timeouts: u64,
    /// Congestion window.
    pub congestion_window_bytes: usize,
    /// Sent and not acknowledged.
    pub in_flight_bytes: usize,
    /// The peer's receive window.
    pub peer_window_bytes: usize,
    /// Our receive window.
    pub window_bytes: usize,
    /// Bytes held for the application or for missing ones.
    pub held_bytes: usize,
    /// Longest SCTP packet in use.
    pub packet_bytes: usize,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
}

/// One SCTP association over one DTLS connection.
///
/// Input goes into `handle_*`, wishes into the commands, and what follows from both comes out of `poll_*`: poll after
/// each batch of the former. All of them may be called in any order, at any time, and none of them fails because of
/// what the peer does.
#[derive(Debug)]
pub struct Association {
    config: Arc<Config>,
    rng: ChaCha8Rng,
    cookie_key: Key,
    created_at: Instant,
    phase: Phase,
    /// Verification tag of the packets to us.
    local_tag: u32,
    local_tsn: Tsn,
    /// What was agreed on; nothing before the peer is known.
    terms: Terms,
    outbound: Outbound,
    inbound: Inbound,
    control: Control,
    timers: Timers,
    path: Path,
    discovery: Discovery,
    resets: Resets,
    events: Events,
    /// Retransmissions of INIT or COOKIE ECHO, or of SHUTDOWN or SHUTDOWN ACK.
    attempts: u32,
    /// Times that our cookie came too late.
    stale_cookies: u32,
    /// When INIT or COOKIE ECHO was sent, if it was sent once.
    set_up_sent_at: Option<Instant>,
    /// `shutdown` was called before the association was open.
    wants_shutdown: bool,
    max_send_message_bytes: usize,
    /// Messages handed to the application since the association began, or began anew.
    messages_taken: u64,
    packets_sent: u64,
    packets_received: u64,
}

impl Association {
    /// An association that waits for the peer, or for [`connect`](Self::connect). All of its randomness comes from
    /// `seed`: tags, first TSN, the key of the cookie.
    pub fn new(config: Arc<Config>, seed: [u8; 32], now: Instant) -> Result<Self, ConfigError> {
        config.validate()?;
        let mut rng = ChaCha8Rng::from_seed(seed);
        let cookie_key = Key::new(&mut rng);
        let local_tag = new_tag(&mut rng);
        let local_tsn = Tsn(rng.next_u32());
        Ok(Self {
            outbound: Outbound::new(&config, local_tsn),
            inbound: Inbound::new(&config),
            discovery: Discovery::new(config.packet_bytes, config.max_packet_bytes),
            events: Events::new(config.limits.max_events, config.limits.max_streams),
            max_send_message_bytes: config.max_send_message_bytes,
            config,
            rng,
            cookie_key,
            created_at: now,
            phase: Phase::Waiting,
            local_tag,
            local_tsn,
            terms: Terms::default(),
            control: Control::default(),
            timers: Timers::default(),
            path: Path::default(),
            resets: Resets::new(local_tsn, Tsn(0)),
            attempts: 0,
            stale_cookies: 0,
            set_up_sent_at: None,
            wants_shutdown: false,
            messages_taken: 0,
            packets_sent: 0,
            packets_received: 0,
        })
    }

    // -- getters --

    /// Where it stands.
    pub fn state(&self) -> State {
        self.phase.state()
    }

    /// Payload bytes of a stream that were not yet sent for the first time.
    pub fn buffered_amount(&self, stream: StreamId) -> usize {
        self.outbound.buffered_amount(stream)
    }

    /// Streams that we may send on; 0 before the association is open.
    pub fn outbound_streams(&self) -> u16 {
        self.terms.outbound_streams
    }

    /// How long packets of the peer may be left where they are, to be handed in together: a quarter of a round trip or 150 us, while it sends so
    /// fast, and we so little, that this is how long SACKs are apart; zero otherwise.
    pub fn patience(&self) -> Duration {
        self.inbound.patience()
    }

    /// Counters and gauges.
    pub fn stats(&self) -> Stats {
        let (sent, received) = (self.outbound.stats(), self.inbound.stats());
        Stats {
            packets_sent: self.packets_sent,
            packets_received: self.packets_received,
            messages_sent: sent.messages_sent,
            messages_received: received.messages_received,
            bytes_sent: sent.bytes_sent,
            bytes_received: received.bytes_received,
            chunks_retransmitted: sent.chunks_retransmitted,
            messages_abandoned: sent.messages_abandoned,
            retransmission_timeouts: sent.retransmission_timeouts,
            congestion_window_bytes: sent.congestion_window_bytes,
            in_flight_bytes: sent.in_flight_bytes,
            peer_window_bytes: sent.peer_window_bytes,
            window_bytes: received.window_bytes,
            held_bytes: received.held_bytes,
            packet_bytes: self.discovery.packet_bytes(),
            smoothed_rtt: sent.smoothed_rtt,
        }
    }

    // -- input --

    /// Takes one SCTP packet, as DTLS decrypted it. Noise is dropped without a sign.
    #[inline]
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        self.take_packet(now, packet);
    }

    /// There is a path again, perhaps another one, after a time without any in which [`handle_timeout`](Self::handle_timeout) was not
    /// called: silence of before does not count against the peer, and what is on its way is lost.
    pub fn handle_path_restored(&mut self, now: Instant) {
        if self.phase.is_set_up() {
            self.outbound.handle_path_restored(now);
            self.restart_path(now);
        }
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        let is_due = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if matches!(self.phase, Phase::Ended) {
            return;
        }
        if is_due(self.inbound.next_deadline()) {
            self.inbound.handle_timeout(now);
        }
        if is_due(self.outbound.next_deadline()) {
            self.outbound.handle_timeout(now);
            self.check_path();
            self.advance_shutdown();
        }
        for _ in Timer::ALL {
            let Some(timer) = self.timers.take_expired(now) else { break };
            match timer {
                Timer::SetUp => self.handle_set_up_timeout(),
                Timer::Shutdown => self.handle_shutdown_timeout(),
                Timer::ShutdownGuard => self.fail(AssociationError::TimedOut("the shutdown")),
                Timer::Heartbeat => self.handle_heartbeat_timeout(now),
                Timer::HeartbeatAnswer => self.handle_heartbeat_loss(),
                Timer::Probe => self.handle_probe_timeout(now),
                Timer::Reset => self.handle_reset_timeout(),
            }
        }
    }

    // -- commands --

    /// Sends INIT. Both sides may (RFC 8841 section 10.3; collisions: RFC 9260 section 5.2). While it is not answered it is
    /// said again at once, for one who knows that the peer was not ready; after that nothing is done.
    pub fn connect(&mut self, _now: Instant) {
        self.begin_set_up();
    }

    /// Takes a message; copies it once. Before the association is open it is kept, and goes out with the COOKIE ECHO.
    #[inline]
    pub fn send(
        &mut self,
        now: Instant,
        stream: StreamId,
        ppid: Ppid,
        message: &[u8],
        options: SendOptions,
    ) -> Result<(), SendError> {
        if !self.phase.takes_messages() || self.wants_shutdown {
            return Err(SendError::NotOpen);
        }
        if message.len() > self.max_send_message_bytes {
            return Err(SendError::TooLong { length: message.len(), limit: self.max_send_message_bytes });
        }
        self.outbound.send(now, stream, ppid, message, options)
    }

    /// The next whole message. Taking it opens the receive window; leaving it holds the peer back.
    #[inline]
    pub fn recv(&mut self) -> Option<Message> {
        let message = self.inbound.recv()?;
        self.messages_taken += 1;
        Some(message)
    }

    /// At or below which [`Event::BufferedAmountLow`] is told. 0 at first.
    pub fn set_buffered_amount_low_threshold(&mut self, stream: StreamId, bytes: usize) {
        self.outbound.set_buffered_amount_low_threshold(stream, bytes);
    }

    /// Weight of a stream under [`Schedule::WeightedFair`](crate::Schedule::WeightedFair).
    pub fn set_priority(&mut self, stream: StreamId, priority: u16) {
        self.outbound.set_priority(stream, priority);
    }

    /// The largest message that the peer takes, once it is known (`a=max-message-size`).
    pub fn set_max_send_message_bytes(&mut self, bytes: usize) {
        self.max_send_message_bytes = bytes.min(u32::MAX as usize);
    }

    /// Asks to reset outgoing streams once all of their data has arrived (RFC 6525 section 5.1.2). Until the peer has
    /// answered they take no messages. Streams that do not exist, or are being reset already, are passed over.
    pub fn reset_streams(&mut self, streams: &[StreamId]) -> Result<(), ResetError> {
        self.close_streams(streams)
    }

    /// Ends the association once all data has arrived (RFC 9260 section 9.2). One that is being set up is opened first,
    /// one that waits is over at once.
    pub fn shutdown(&mut self, _now: Instant) {
        self.begin_shutdown();
    }

    /// Ends the association now, with an ABORT.
    pub fn abort(&mut self, _now: Instant, reason: &str) {
        self.abort_by_user(reason);
    }

    // -- output --

    /// Writes the next SCTP packet into `out` and gives its length; `None` if there is nothing to send now. Writes at
    /// most what the path takes, and at most `out.len()` bytes: offer `config.max_packet_bytes`. Into less than 508
    /// bytes nothing is written.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let length = self.write_packet(now, out)?;
        self.packets_sent += 1;
        Some(length)
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.events.pop(self.messages_taken) {
            return Some(event);
        }
        self.outbound.poll_event().map(|event| match event {
            OutboundEvent::BufferedAmountLow(stream) => Event::BufferedAmountLow(stream),
            OutboundEvent::Writable => Event::Writable,
        })
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if matches!(self.phase, Phase::Ended) {
            return None;
        }
        let deadlines = [self.inbound.next_deadline(), self.outbound.next_deadline(), self.timers.first()];
        deadlines.into_iter().flatten().min()
    }

    /// The receiving half sizes its window by the round trip that the sending half measures.
    #[inline]
    fn share_rtt(&mut self) {
        if let Some(rtt) = self.outbound.stats().smoothed_rtt {
            self.inbound.set_rtt(rtt);
        }
    }
}

/// A verification tag: any number but 0 (RFC 9260 section 5.3.1).
fn new_tag(rng: &mut ChaCha8Rng) -> u32 {
    rng.next_u32().max(1)
}
