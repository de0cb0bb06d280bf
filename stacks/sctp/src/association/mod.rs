//! The association: set-up, sending and receiving halves, stream resets, path supervision and shutdown.

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

/// State of an association (RFC 9260 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Not started, or ended.
    Closed,
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent.
    CookieEchoed,
    /// Open.
    Established,
    /// One of the four shutdown states.
    ShuttingDown,
}

/// An event for the layer above.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The association is established.
    Connected,
    /// The peer has restarted the association (RFC 9260 section 5.2.4.1). Undelivered data of the old
    /// association is lost, in both directions.
    Restarted,
    /// The buffered amount of a stream has dropped to its low threshold.
    BufferedAmountLow(StreamId),
    /// There is space in the send buffer again after [`SendError::WouldBlock`](crate::SendError::WouldBlock).
    Writable,
    /// The peer has reset these incoming streams, or all if the list is empty (RFC 6525). Reported once all
    /// their messages have been received with [`recv`](Association::recv).
    StreamsReset(Vec<StreamId>),
    /// The peer has accepted the reset of these outgoing streams. They can be reused.
    StreamResetDone(Vec<StreamId>),
    /// The peer refused to reset these outgoing streams. They accept no more messages.
    StreamResetFailed(Vec<StreamId>),
    /// The association has ended: by shutdown or our own `abort` (`None`), or with an error. Messages already
    /// received can still be read.
    Closed(Option<AssociationError>),
}

/// Counters and current values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Stats {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// SCTP packets received and accepted.
    pub packets_received: u64,
    /// Messages passed to `send`.
    pub messages_sent: u64,
    /// Messages delivered or ready for delivery.
    pub messages_received: u64,
    /// Payload bytes passed to `send`.
    pub bytes_sent: u64,
    /// Payload bytes delivered or ready for delivery.
    pub bytes_received: u64,
    /// DATA chunks retransmitted.
    pub chunks_retransmitted: u64,
    /// Messages abandoned (RFC 3758).
    pub messages_abandoned: u64,
    /// T3-rtx expiries.
    pub retransmission_timeouts: u64,
    /// Congestion window.
    pub congestion_window_bytes: usize,
    /// Bytes sent and not acknowledged.
    pub in_flight_bytes: usize,
    /// The peer's receive window.
    pub peer_window_bytes: usize,
    /// The local receive window.
    pub window_bytes: usize,
    /// Bytes held for the application or for reassembly.
    pub held_bytes: usize,
    /// Largest SCTP packet in use.
    pub packet_bytes: usize,
    /// Smoothed round-trip time.
    pub smoothed_rtt: Option<Duration>,
}

/// An SCTP association over a DTLS connection.
///
/// `handle_*` methods take input, commands take requests, and `poll_*` methods return the resulting output:
/// poll after each batch of input or commands. All methods may be called in any order at any time. None of
/// them fails because of the peer's behaviour.
#[derive(Debug)]
pub struct Association {
    config: Arc<Config>,
    rng: ChaCha8Rng,
    cookie_key: Key,
    created_at: Instant,
    phase: Phase,
    /// Verification tag of packets sent to us.
    local_tag: u32,
    local_tsn: Tsn,
    /// Negotiated parameters; empty until the peer is known.
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
    /// How often our cookie was rejected as stale.
    stale_cookies: u32,
    /// When INIT or COOKIE ECHO was sent, if it was sent only once.
    set_up_sent_at: Option<Instant>,
    /// `shutdown` was called before the association was established.
    wants_shutdown: bool,
    max_send_message_bytes: usize,
    /// Messages returned by `recv` since the association was established or restarted.
    messages_taken: u64,
    packets_sent: u64,
    packets_received: u64,
}

impl Association {
    /// Creates an association that waits for the peer or for [`connect`](Self::connect). `seed` is its only
    /// source of randomness: tags, initial TSN and the cookie key.
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

    /// The current state.
    pub fn state(&self) -> State {
        self.phase.state()
    }

    /// Payload bytes of a stream that have not been sent for the first time.
    pub fn buffered_amount(&self, stream: StreamId) -> usize {
        self.outbound.buffered_amount(stream)
    }

    /// Number of outgoing streams; 0 before the association is established.
    pub fn outbound_streams(&self) -> u16 {
        self.terms.outbound_streams
    }

    /// How long incoming packets may be left waiting in order to be handed in together. It is a quarter of a
    /// round trip or 150 us, while the peer sends so fast, and we so little, that SACKs are this far apart;
    /// otherwise zero.
    pub fn max_receive_delay(&self) -> Duration {
        self.inbound.max_receive_delay()
    }

    /// Counters and current values.
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

    /// Handles one decrypted SCTP packet. Invalid packets are dropped silently.
    #[inline]
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        self.take_packet(now, packet);
    }

    /// Data takes another path from now on: what was measured on the old one no longer counts. Not for a mere
    /// change of port, as after a NAT rebinding (RFC 9000 section 9.4).
    pub fn handle_path_changed(&mut self, now: Instant) {
        if self.phase.is_set_up() {
            self.outbound.handle_path_changed(now, self.config.rto_initial);
            self.restart_path(now);
        }
    }

    /// A path is available again, possibly a different one, after a period in which
    /// [`handle_timeout`](Self::handle_timeout) was not called. Silence in that period does not count against
    /// the peer, and data in flight is considered lost.
    pub fn handle_path_restored(&mut self, now: Instant) {
        if self.phase.is_set_up() {
            self.outbound.handle_path_restored(now);
            self.restart_path(now);
        }
    }

    /// Handles expired timers.
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

    /// Sends INIT. Both sides may do so (RFC 8841 section 10.3; collisions: RFC 9260 section 5.2). Called
    /// again before an answer, it resends INIT at once, for callers that know that the peer was not ready.
    /// After that it has no effect.
    pub fn connect(&mut self, _now: Instant) {
        self.begin_set_up();
    }

    /// Queues a message and copies it once. Before the association is established, messages wait and are sent
    /// with the COOKIE ECHO.
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

    /// Returns the next complete message. Receiving opens the receive window; not receiving slows down the
    /// peer.
    #[inline]
    pub fn recv(&mut self) -> Option<Message> {
        let message = self.inbound.recv()?;
        self.messages_taken += 1;
        Some(message)
    }

    /// Sets the threshold of [`Event::BufferedAmountLow`], which occurs when the buffered amount drops to it.
    /// Initially 0.
    pub fn set_buffered_amount_low_threshold(&mut self, stream: StreamId, bytes: usize) {
        self.outbound.set_buffered_amount_low_threshold(stream, bytes);
    }

    /// Sets the weight of a stream under [`Schedule::WeightedFair`](crate::Schedule::WeightedFair).
    pub fn set_priority(&mut self, stream: StreamId, priority: u16) {
        self.outbound.set_priority(stream, priority);
    }

    /// Sets the largest message that the peer accepts, once it is known (`a=max-message-size`).
    pub fn set_max_send_message_bytes(&mut self, bytes: usize) {
        self.max_send_message_bytes = bytes.min(u32::MAX as usize);
    }

    /// Resets outgoing streams after all their data has arrived (RFC 6525 section 5.1.2). Until the peer has
    /// answered they accept no messages. Unknown streams and streams already being reset are ignored.
    pub fn reset_streams(&mut self, streams: &[StreamId]) -> Result<(), ResetError> {
        self.close_streams(streams)
    }

    /// Closes the association after all data has arrived (RFC 9260 section 9.2). An association that is being
    /// set up is established first; one that has not started ends at once.
    pub fn shutdown(&mut self, _now: Instant) {
        self.begin_shutdown();
    }

    /// Ends the association immediately with an ABORT.
    pub fn abort(&mut self, _now: Instant, reason: &str) {
        self.abort_by_user(reason);
    }

    // -- output --

    /// Writes the next SCTP packet into `out` and returns its length; `None` if there is nothing to send now.
    /// Writes at most what the path carries and at most `out.len()` bytes: pass `config.max_packet_bytes`.
    /// Nothing is written into less than 508 bytes.
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

    /// Latest time to call [`handle_timeout`](Self::handle_timeout).
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        if matches!(self.phase, Phase::Ended) {
            return None;
        }
        let deadlines = [self.inbound.next_deadline(), self.outbound.next_deadline(), self.timers.first()];
        deadlines.into_iter().flatten().min()
    }

    /// Passes the round trip measured by the sending half to the receiving half, which sizes its window by
    /// it.
    #[inline]
    fn share_rtt(&mut self) {
        if let Some(rtt) = self.outbound.stats().smoothed_rtt {
            self.inbound.set_rtt(rtt);
        }
    }
}

/// Draws a verification tag: any number except 0 (RFC 9260 section 5.3.1).
fn new_tag(rng: &mut ChaCha8Rng) -> u32 {
    rng.next_u32().max(1)
}
