//! DTLS and the association: created on the first valid pair, connected with the fewest round trips, and
//! closed.
//!
//! The side whose DTLS handshake completes first is the server. Its INIT follows its Finished, and channel
//! openings and first messages go with its COOKIE ECHO. The client answers that INIT. If both sent one they
//! would cross (RFC 9260 section 5.2.1), at the cost of three packets. The client therefore sends INIT only
//! if the peer stays silent for [`CONNECT_DELAY`]: some implementations leave it to the client.
//!
//! With DTLS 1.3 the client's handshake completes first, and the server's INIT is sent even earlier, with the
//! server's flight: an INIT is not secret, and its answer is only processed once the client is authenticated.
//! A client that cannot decrypt it yet drops it, so it is repeated when the handshake completes without an
//! answer.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use netdyno_sctp::{Association, AssociationError, Message, State};

use super::signaling::Agreed;
use super::{Event, PeerConnection, PeerState};
use crate::config::Config;
use crate::dtls::{Dtls, DtlsEvent, OVERHEAD, Role, Version};
use crate::error::Error;
use crate::ice::Path;
use crate::log::log;

/// How long the DTLS client waits for the peer's INIT. It is sent with Finished and arrives with it, or
/// slightly later if packets were reordered.
const CONNECT_DELAY: Duration = Duration::from_millis(20);

/// The seed of the association's secrets. `Debug` does not reveal it.
struct Seed([u8; 32]);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}

/// The two layers and their common state.
#[derive(Debug)]
pub(super) struct Transport {
    sctp_seed: Seed,
    pub(super) dtls: Option<Box<Dtls>>,
    pub(super) association: Option<Box<Association>>,
    connected: bool,
    connect_at: Option<Instant>,
    /// A message taken from the association to process what follows it; it is the next to be received.
    pub(super) waiting: Option<super::Message>,
    /// The longest packet that the association may ever write.
    pub(super) widest_packet: usize,
    /// A sealed datagram that exceeded the length of the batch: the first of the next one.
    pub(super) held_over: Vec<u8>,
    /// The peer has still to be notified of the end.
    pub(super) farewell: bool,
    /// ICE has lost the path. Nothing can be sent, so timers are suspended.
    is_cut_off: bool,
    /// The path that data takes.
    path: Option<Path>,
}

impl Transport {
    /// Fails for invalid settings, before a peer is involved.
    pub(super) fn new(config: &Config, sctp_seed: [u8; 32]) -> Result<Self, Error> {
        let sctp = sctp_config(config, config.sctp.remote_port, u64::MAX);
        sctp.validate()?;
        Ok(Self {
            widest_packet: sctp.max_packet_bytes,
            sctp_seed: Seed(sctp_seed),
            dtls: None,
            association: None,
            connected: false,
            connect_at: None,
            waiting: None,
            held_over: Vec::new(),
            farewell: false,
            is_cut_off: false,
            path: None,
        })
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(super) fn dtls_version(&self) -> Option<Version> {
        self.dtls.as_ref().and_then(|dtls| dtls.version())
    }

    pub(super) fn sctp_stats(&self) -> netdyno_sctp::Stats {
        self.association.as_ref().map(|association| association.stats()).unwrap_or_default()
    }

    /// Sets the path that data takes. A change of the peer's port alone is a NAT rebinding, not another path.
    pub(super) fn use_path(&mut self, now: Instant, path: Path) {
        let before = self.path.replace(path);
        if before.is_some_and(|before| before.local != path.local || before.remote.ip() != path.remote.ip())
            && let Some(association) = &mut self.association
        {
            association.handle_path_changed(now);
        }
    }

    /// Sets whether ICE has a path, once it had one.
    pub(super) fn set_path(&mut self, now: Instant, is_there: bool) {
        if std::mem::replace(&mut self.is_cut_off, !is_there)
            && is_there
            && let Some(association) = &mut self.association
        {
            association.handle_path_restored(now);
        }
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.is_cut_off {
            return;
        }
        let (Some(dtls), Some(association)) = (&mut self.dtls, &mut self.association) else { return };
        dtls.handle_timeout(now, &mut |packet| association.handle_packet(now, packet));
        association.handle_timeout(now);
        if self.connect_at.is_some_and(|at| now >= at) {
            self.connect_at = None;
            // If anything arrived, the peer has started: its INIT is answered, and repeated if lost. Our
            // INIT from before the handshake completed may have arrived too early.
            let is_silent = association.stats().packets_received == 0;
            if is_silent && matches!(association.state(), State::Closed | State::CookieWait) {
                association.connect(now);
            }
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        if self.is_cut_off {
            return None;
        }
        let dtls = self.dtls.as_ref().and_then(|dtls| dtls.next_deadline());
        let association = self.association.as_ref().and_then(|association| association.next_deadline());
        [dtls, association, self.connect_at].into_iter().flatten().min()
    }

    /// The next message of the association.
    pub(super) fn next_message(&mut self) -> Option<Message> {
        self.association.as_mut()?.recv()
    }

    fn begin(&mut self, config: &Config, agreed: Agreed, now: Instant) -> Result<(), Error> {
        let Agreed { role, fingerprint, sctp_port, max_send_message_bytes } = agreed;
        let dtls = Dtls::new(&config.certificate, config.dtls_versions, role, fingerprint, now)?;
        let sctp = sctp_config(config, sctp_port, max_send_message_bytes);
        let association = Association::new(Arc::new(sctp), self.sctp_seed.0, now)?;
        self.dtls = Some(Box::new(dtls));
        self.association = Some(Box::new(association));
        self.sctp_seed = Seed([0; 32]);
        Ok(())
    }

    fn connect(&mut self, now: Instant, role: Role) {
        self.connected = true;
        match (role, &mut self.association) {
            (Role::Server, Some(association)) if association.state() == State::Closed => {
                association.connect(now);
            }
            _ => self.connect_at = Some(now + CONNECT_DELAY),
        }
    }

    /// Sends INIT as soon as it can be encrypted, if that is before the handshake completes.
    fn connect_early(&mut self, now: Instant) {
        if let (false, Some(dtls), Some(association)) = (self.connected, &self.dtls, &mut self.association)
            && dtls.can_seal()
            && association.state() == State::Closed
        {
            association.connect(now);
        }
    }
}

/// The association's settings: the user's, overridden by the descriptions and our own fields.
fn sctp_config(config: &Config, remote_port: u16, max_send_message_bytes: u64) -> netdyno_sctp::Config {
    let packet = |datagram_bytes: usize| datagram_bytes.saturating_sub(OVERHEAD);
    let mut sctp = config.sctp.clone();
    sctp.remote_port = remote_port;
    sctp.packet_bytes = packet(config.datagram_bytes);
    sctp.max_packet_bytes = packet(config.max_datagram_bytes);
    // Not more than the send buffer holds: a longer message could never be sent.
    let largest = u32::try_from(config.sctp.limits.send_buffer_bytes).unwrap_or(u32::MAX);
    sctp.max_send_message_bytes = max_send_message_bytes.min(largest.into()) as usize;
    sctp.limits.max_message_bytes = config.max_message_bytes;
    sctp
}

impl PeerConnection {
    /// Creates the DTLS connection once ICE allows it: the client as soon as there is a pair to send on, the
    /// server as soon as data may arrive.
    pub(super) fn begin_transport(&mut self, now: Instant) {
        let Some(agreed) = self.signaling.agreed.filter(|_| self.transport.dtls.is_none()) else { return };
        let ready = match agreed.role {
            Role::Client => self.ice.selected().is_some(),
            Role::Server => self.ice.has_validated(),
        };
        if !ready {
            return;
        }
        match self.transport.begin(&self.config, agreed, now) {
            Ok(()) => log!(DEBUG, self.session_id(), "DTLS handshake started as {:?}", agreed.role),
            Err(error) => self.end(now, Some(error)),
        }
    }

    pub(super) fn settle_dtls(&mut self, now: Instant) {
        if self.transport.dtls.is_none() {
            self.begin_transport(now);
        }
        self.transport.connect_early(now);
        while let Some(event) = self.transport.dtls.as_mut().and_then(|dtls| dtls.poll_event()) {
            match (event, self.signaling.agreed) {
                (DtlsEvent::Connected, Some(agreed)) => {
                    let version = self.transport.dtls_version().map_or("", Version::name);
                    log!(DEBUG, self.session_id(), "{version} connected");
                    self.transport.connect(now, agreed.role);
                    self.open_waiting_channels(now, agreed.role);
                    self.settle_ice(now);
                }
                (DtlsEvent::Connected, None) => {}
                (DtlsEvent::Closed, _) => {
                    log!(DEBUG, self.session_id(), "the peer has closed DTLS (close_notify)");
                    self.end(now, None);
                }
                (DtlsEvent::Failed(error), _) => self.end(now, Some(error)),
            }
        }
    }

    pub(super) fn settle_association(&mut self, now: Instant) {
        use netdyno_sctp::Event as Sctp;
        while self.has_room_for_events() {
            let Some(association) = &mut self.transport.association else { return };
            let Some(event) = association.poll_event() else { return };
            match event {
                Sctp::Connected => {
                    log!(DEBUG, self.session_id(), "SCTP established");
                    self.association_is_open(now);
                }
                Sctp::Restarted => self.close_all_channels(),
                Sctp::BufferedAmountLow(stream) => self.buffered_amount_is_low(stream),
                Sctp::Writable => self.association_is_writable(now),
                Sctp::StreamsReset(streams) => self.streams_were_reset(&streams),
                Sctp::StreamResetDone(streams) | Sctp::StreamResetFailed(streams) => {
                    self.own_streams_are_reset(now, &streams);
                }
                Sctp::Closed(None) => self.end(now, None),
                Sctp::Closed(Some(AssociationError::Aborted(why))) => {
                    log!(INFO, self.session_id(), "the peer aborted the association: {why:?}");
                    self.end(now, None);
                }
                Sctp::Closed(Some(error)) => self.end(now, Some(Error::Sctp(error))),
                _ => {}
            }
        }
    }

    /// Closes the connection: the peer is notified by one datagram, which the next
    /// [`poll_transmit`](Self::poll_transmit) returns.
    ///
    /// Buffered data is discarded. To close gracefully, wait until the buffered amounts are 0 and the peer
    /// has sent everything required. Messages already received can still be read.
    pub fn close(&mut self, now: Instant) {
        self.now = now;
        self.end(now, None);
    }

    /// Ends the connection, with or without an error. Messages already received can still be read.
    pub(super) fn end(&mut self, now: Instant, error: Option<Error>) {
        if self.is_over() {
            return;
        }
        if let Some(association) = &mut self.transport.association {
            association.abort(now, "closed");
        }
        // Without consent nothing may be sent (RFC 7675 section 5.1).
        let may_send = !matches!(error, Some(Error::Ice(_)));
        self.transport.farewell = may_send && self.transport.dtls.is_some();
        self.transport.connect_at = None;
        (self.is_over, self.kept_until) = (true, None);
        let had_failed = self.state == PeerState::Failed;
        if let Some(error) = error.filter(|error| self.failure.as_ref() != Some(error)) {
            self.log_failure(&error);
            self.failure = Some(error.clone());
            self.tell(Event::Failed(error));
        }
        // A failure that was reported as possibly temporary is followed by a report of the end.
        let has_failed = self.failure.is_some() && !had_failed;
        self.set_state(if has_failed { PeerState::Failed } else { PeerState::Closed });
    }
}
