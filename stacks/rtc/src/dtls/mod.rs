//! DTLS 1.3 (RFC 9147) and 1.2 (RFC 6347): the handshake by `dimpl`, application data by a separate fast
//! path.
//!
//! | does | does not |
//! |---|---|
//! | ECDHE with ECDSA, AES-GCM and ChaCha20-Poly1305, mutual certificates, extended master secret | DTLS 1.0, resumption, 0-RTT, renegotiation, post-handshake authentication, connection ids, SRTP |
//! | retransmission, fragmentation, ACKs, a replay window of 1,024 records, key updates by either side | cookies: ICE has proved reachability |
//!
//! Handshake bytes and retransmission jitter are the only part of a peer connection that is not a function of
//! its seed: keys, random values and signatures require the system's random bytes.

mod certificate;
mod deferred;
mod desk;
mod engine;
mod flight;
mod handshake;
mod hashes;
mod kept;
mod key_block;
mod last_flight;
mod newest;
mod protection;
mod provider;
mod record;
mod replay;
#[cfg(test)]
mod tests;
mod thirteen;
mod transcript;
mod transmits;
mod unverified;
mod version;

use std::sync::Arc;
use std::time::Instant;

use crate::error::Error;
pub use certificate::{Certificate, Fingerprint};
use engine::sealed_alert;
use handshake::{Handshake, Outcome, Outcome12};
use last_flight::LastFlight;
use protection::{Protection, TAG_BYTES};
use record::{Alert, HEADER_BYTES, Header, content, split};
use thirteen::record as unified;
use thirteen::session::Session;
use transmits::{Transmits, push};
pub use version::{Version, Versions};

/// The DTLS role (`a=setup`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends ClientHello (`active`).
    Client,
    /// Waits for it (`passive`).
    Server,
}

impl Role {
    /// The W3C name (RTCDtlsRole).
    pub fn name(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Events of a DTLS connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DtlsEvent {
    /// The handshake is complete, and the peer's certificate has the expected fingerprint.
    Connected,
    /// The peer sent close_notify.
    Closed,
    /// The connection has failed.
    Failed(Error),
}

/// Most bytes before the plaintext in an encrypted record: record header, and explicit nonce of DTLS 1.2.
pub const HEADROOM: usize = HEADER_BYTES + 8;
/// Most bytes after the plaintext: content type of DTLS 1.3, and tag.
pub const TAILROOM: usize = 1 + TAG_BYTES;
/// Most bytes that encryption adds to a plaintext: DTLS 1.2 with AES-GCM.
pub const OVERHEAD: usize = HEADROOM + TAG_BYTES;

/// A DTLS connection.
pub struct Dtls {
    state: State,
    transmits: Transmits,
    /// `Connected` was not polled yet.
    is_news: bool,
    /// The peer's certificate, once its fingerprint was verified.
    remote_certificate: Option<Box<[u8]>>,
}

enum State {
    Handshake(Box<Handshake>),
    /// Not boxed: it is accessed for each record.
    Connected(Connection),
    /// The same, with DTLS 1.3.
    Connected13(Session),
    /// With the event to poll.
    Over(Option<DtlsEvent>),
}

/// A connection after its handshake.
struct Connection {
    protection: Protection,
    repeat: Option<Box<LastFlight>>,
}

impl Dtls {
    /// Creates a connection whose peer must present the certificate with this fingerprint. A client's first
    /// flight can be polled at once.
    pub fn new(
        certificate: &Arc<Certificate>,
        versions: Versions,
        role: Role,
        peer: Fingerprint,
        now: Instant,
    ) -> Result<Self, Error> {
        let mut transmits = Transmits::new();
        let handshake = Handshake::new(certificate, versions, role, peer, now, &mut transmits)?;
        Ok(Self {
            state: State::Handshake(Box::new(handshake)),
            transmits,
            is_news: false,
            remote_certificate: None,
        })
    }

    /// Whether the handshake is complete: application data can be sent and received.
    #[inline]
    pub fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected(_) | State::Connected13(_))
    }

    /// Whether application data can be encrypted. A DTLS 1.3 server can before it is connected, but its reader is
    /// not authenticated then: send nothing confidential. Nothing is received yet.
    #[inline]
    pub fn can_seal(&self) -> bool {
        match &self.state {
            State::Handshake(handshake) => handshake.seals_early(),
            _ => self.is_connected(),
        }
    }

    /// The negotiated version, until the end.
    pub fn version(&self) -> Option<Version> {
        match &self.state {
            State::Handshake(handshake) => handshake.version(),
            State::Connected(_) => Some(Version::Dtls12),
            State::Connected13(_) => Some(Version::Dtls13),
            State::Over(_) => None,
        }
    }

    /// The peer's certificate (DER), once it has presented one with the expected fingerprint.
    pub fn remote_certificate(&self) -> Option<&[u8]> {
        self.remote_certificate.as_deref()
    }

    /// Bytes that encryption adds to a plaintext with the current version and cipher suite (at most
    /// [`OVERHEAD`]).
    #[inline]
    pub fn overhead(&self) -> usize {
        match &self.state {
            State::Connected(connection) => connection.protection.headroom() + TAG_BYTES,
            State::Connected13(_) => unified::HEADER_BYTES + TAILROOM,
            State::Handshake(handshake) if handshake.seals_early() => unified::HEADER_BYTES + TAILROOM,
            _ => OVERHEAD,
        }
    }

    /// Bytes before the plaintext with the current version and cipher suite (5 with DTLS 1.3, 21 with AES-GCM
    /// in 1.2, 13 with ChaCha20-Poly1305).
    #[inline]
    pub fn headroom(&self) -> usize {
        match &self.state {
            State::Connected13(_) => unified::HEADER_BYTES,
            State::Connected(connection) => connection.protection.headroom(),
            State::Handshake(handshake) if handshake.seals_early() => unified::HEADER_BYTES,
            _ => HEADROOM,
        }
    }

    /// Handles one datagram: decrypts in place and passes each application record's plaintext to `deliver`.
    /// Invalid, replayed and forged records are dropped silently.
    ///
    /// A datagram that completes the handshake may also deliver data that arrived with or before it.
    #[inline]
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        datagram: &mut [u8],
        deliver: &mut impl FnMut(&mut [u8]),
    ) {
        let mut rest = datagram;
        loop {
            if let State::Connected13(session) = &mut self.state {
                if let Some(event) = session.handle_datagram(now, rest, deliver, &mut self.transmits) {
                    self.end(event);
                }
                return;
            }
            if rest.first().is_some_and(|&first| unified::is_unified(first)) {
                let Some((header, record, tail)) = unified::split(rest) else { return };
                rest = tail;
                if let State::Handshake(handshake) = &mut self.state {
                    let step = handshake.handle_protected_record(now, header, record, &mut self.transmits);
                    self.follow(now, step, deliver);
                }
                continue;
            }
            let Some((header, record, tail)) = split(rest) else { return };
            rest = tail;
            match &mut self.state {
                State::Connected(connection) if header.content == content::APPLICATION_DATA => {
                    connection.open_data(header, record, deliver);
                }
                State::Handshake(handshake) => {
                    let step = handshake.handle_record(now, header, record, &mut self.transmits);
                    self.follow(now, step, deliver);
                }
                State::Over(_) => return,
                _ => self.handle_control(header, record),
            }
        }
    }

    /// Encrypts one record of application data in place: the plaintext is at `headroom()..headroom() +
    /// length` of `buffer`. Returns the length of the record from the start of `buffer`. Returns 0 if nothing
    /// was encrypted: not connected, more than 2^14 bytes, `buffer` too short, or all 2^48 sequence numbers
    /// used, which also ends the connection.
    #[inline]
    pub fn seal(&mut self, buffer: &mut [u8], length: usize) -> usize {
        let sealed = match &mut self.state {
            State::Connected13(session) => session.protection.seal(content::APPLICATION_DATA, buffer, length),
            State::Connected(connection) => {
                connection.protection.seal(content::APPLICATION_DATA, buffer, length)
            }
            State::Handshake(handshake) => handshake.seal_early(content::APPLICATION_DATA, buffer, length),
            State::Over(_) => None,
        };
        match sealed {
            Some(total) => total,
            None => self.seal_failed(),
        }
    }

    /// Sends close_notify.
    pub fn close(&mut self) {
        match &mut self.state {
            State::Handshake(handshake) => handshake.close(&mut self.transmits),
            State::Connected(connection) => {
                push(&mut self.transmits, sealed_alert(&mut connection.protection, Alert::CLOSE_NOTIFY));
            }
            State::Connected13(session) => {
                push(&mut self.transmits, session.sealed_alert(Alert::CLOSE_NOTIFY));
            }
            State::Over(_) => return,
        }
        self.state = State::Over(None);
    }

    /// Handles expired timers. May complete the handshake and then deliver data that arrived early.
    pub fn handle_timeout(&mut self, now: Instant, deliver: &mut impl FnMut(&mut [u8])) {
        match &mut self.state {
            State::Handshake(handshake) => {
                let step = handshake.handle_timeout(now, &mut self.transmits);
                self.follow(now, step, deliver);
            }
            State::Connected13(session) => session.handle_timeout(now, &mut self.transmits),
            _ => {}
        }
    }

    /// When to call `handle_timeout`; `None` for a server before the handshake has begun, and after the
    /// handshake, except with DTLS 1.3 for unacknowledged messages.
    #[inline]
    pub fn next_deadline(&self) -> Option<Instant> {
        match &self.state {
            State::Handshake(handshake) => handshake.deadline(),
            State::Connected13(session) => session.next_deadline(),
            _ => None,
        }
    }

    /// Writes the next handshake datagram or alert and returns its length, at most 1,150 bytes, if `out` suffices.
    pub fn poll_transmit(&mut self, out: &mut [u8]) -> Option<usize> {
        let datagram = self.transmits.front()?;
        out.get_mut(..datagram.len())?.copy_from_slice(datagram);
        let length = datagram.len();
        self.transmits.pop_front();
        if self.transmits.is_empty() {
            // An idle connection keeps no buffer.
            self.transmits = Transmits::new();
        }
        Some(length)
    }

    /// Whether such a datagram is pending.
    #[inline]
    pub fn has_transmits(&self) -> bool {
        !self.transmits.is_empty()
    }

    /// The next event.
    #[inline]
    pub fn poll_event(&mut self) -> Option<DtlsEvent> {
        if std::mem::take(&mut self.is_news) {
            return Some(DtlsEvent::Connected);
        }
        if let State::Over(end) = &mut self.state { end.take() } else { None }
    }

    /// Applies the result of a handshake step.
    fn follow(&mut self, now: Instant, step: Result<(), DtlsEvent>, deliver: &mut impl FnMut(&mut [u8])) {
        let mut early = Vec::new();
        if let State::Handshake(handshake) = &mut self.state
            && let Some(shown) = handshake.engine.remote_certificate.take()
        {
            self.remote_certificate = Some(shown);
        }
        self.state = match (std::mem::replace(&mut self.state, State::Over(None)), step) {
            (State::Handshake(_), Err(event)) => State::Over(Some(event)),
            (State::Handshake(handshake), Ok(())) => match handshake.finish(now, &mut self.transmits) {
                Ok(Outcome::Dtls12(outcome)) => {
                    let Outcome12 { protection, finished, next_plain_sequence, is_server, .. } = outcome;
                    early = outcome.early;
                    self.is_news = true;
                    let last = || Box::new(LastFlight { finished, next_plain_sequence });
                    State::Connected(Connection { protection, repeat: is_server.then(last) })
                }
                Ok(Outcome::Dtls13(session, kept)) => {
                    early = kept;
                    self.is_news = true;
                    State::Connected13(session)
                }
                Err(handshake) => State::Handshake(handshake),
            },
            (state, _) => state,
        };
        for mut record in early {
            self.handle_early(now, &mut record, deliver);
        }
    }

    /// Handles a record that arrived before the handshake was complete.
    fn handle_early(&mut self, now: Instant, record: &mut [u8], deliver: &mut impl FnMut(&mut [u8])) {
        match &mut self.state {
            State::Connected(connection) => {
                if let Some((header, record, _)) = split(record) {
                    connection.open_data(header, record, deliver);
                }
            }
            State::Connected13(session) => {
                if let Some(event) = session.handle_datagram(now, record, deliver, &mut self.transmits) {
                    self.end(event);
                }
            }
            _ => {}
        }
    }

    /// Handles a record other than application data on an established connection. In epoch 0 anyone can have
    /// sent it.
    #[cold]
    fn handle_control(&mut self, header: Header, record: &mut [u8]) {
        let State::Connected(connection) = &mut self.state else { return };
        if header.epoch() != 1 || !matches!(header.content, content::ALERT | content::HANDSHAKE) {
            return;
        }
        let Some(text) = connection.protection.open(header, record) else { return };
        if header.content == content::HANDSHAKE {
            let wanted = flight::begins_finished(text);
            if let Some(last) = connection.repeat.as_mut().filter(|_| wanted) {
                push(&mut self.transmits, last.datagram(&mut connection.protection));
            }
            return;
        }
        if let Some(event) = Alert::parse(text).and_then(Alert::event) {
            self.end(event);
        }
    }

    /// The peer has ended the connection.
    fn end(&mut self, event: DtlsEvent) {
        if event == DtlsEvent::Closed {
            // "The other party MUST respond with a close_notify alert of its own" (RFC 5246 section 7.2.1).
            // DTLS 1.3 does not require it, but half-closed connections are not used.
            self.close();
        }
        self.state = State::Over(Some(event));
    }

    #[cold]
    fn seal_failed(&mut self) -> usize {
        let is_exhausted = match &self.state {
            State::Connected(connection) => connection.protection.is_exhausted(),
            State::Connected13(session) => session.protection.write.is_exhausted(),
            _ => false,
        };
        if is_exhausted {
            let why = "the key has encrypted as much as the standard allows";
            self.state = State::Over(Some(DtlsEvent::Failed(Error::Dtls(why.into()))));
        }
        0
    }
}

impl Connection {
    #[inline]
    fn open_data(&mut self, header: Header, record: &mut [u8], deliver: &mut impl FnMut(&mut [u8])) {
        let Some(text) = self.protection.open(header, record) else { return };
        if self.repeat.is_some() {
            self.repeat = None;
        }
        if !text.is_empty() {
            deliver(text);
        }
    }
}

impl std::fmt::Debug for Dtls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match self.state {
            State::Handshake(_) => "Handshake",
            State::Connected(_) | State::Connected13(_) => "Connected",
            State::Over(_) => "Over",
        };
        f.debug_struct("Dtls").field("state", &state).finish_non_exhaustive()
    }
}
