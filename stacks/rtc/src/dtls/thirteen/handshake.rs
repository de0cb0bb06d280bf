//! The encrypted part of a handshake: filters the records to and from `dimpl`.
//!
//! `dimpl` receives a record of epoch 2 after it was decrypted here too, so that it never receives alerts, or
//! messages longer than its buffers. Its own records of epoch 2 are sent unchanged, since no other records of
//! ours use that epoch; they are also decrypted here, so that they can be repeated after `dimpl` is gone. Its
//! records of epoch 3, which are ACKs, are dropped: that epoch and its ACKs are handled here.
//!
//! A server may send data in epoch 3 before the client's last flight arrives (RFC 8446 section 2, "0.5-RTT"),
//! that is, to an unauthenticated client. Nothing is accepted in that epoch before.

use std::time::Instant;

use super::flight::{ACK_NUMBERS_MAX, Flight, ack};
use super::protection::{Opened, Protection, Reader, Writer};
use super::record::{Unified, split};
use super::schedule::TrafficSecret;
use super::secrets::Secrets;
use super::session::{Control, Last, Session};
use super::{APPLICATION_EPOCH, HANDSHAKE_EPOCH};
use crate::dtls::certificate::CERTIFICATE_BYTES_MAX;
use crate::dtls::flight::Piece;
use crate::dtls::protection::Cipher;
use crate::dtls::record::{Alert, content};
use crate::dtls::transmits::{Transmits, push};
use crate::dtls::{DtlsEvent, Role};

/// The number of a client's alert in epoch 2: far beyond those of `dimpl`, and near enough for the peer to
/// reconstruct. It is the last record sent.
const ALERT_SEQUENCE: u64 = 1 << 14;
/// Parts of a last flight that are kept: `dimpl` splits three messages, each shorter than 2 kB, at 1,150
/// bytes.
const PARTS_MAX: usize = 16;

/// The state of a DTLS 1.3 handshake, once there are keys.
pub(in crate::dtls) struct Thirteen {
    role: Role,
    cipher: Cipher,
    /// Our secret of epoch 2.
    write: TrafficSecret,
    /// Decrypts the peer's records of epoch 2.
    read: Reader,
    /// Decrypts those of `dimpl`.
    own: Reader,
    /// Epoch 3, and its secrets.
    application: Option<(Protection, TrafficSecret, TrafficSecret)>,
    /// The length of the longest message of the peer in bytes.
    pub longest_message: usize,
    /// Record numbers of the peer's handshake messages, for our ACK.
    received: Vec<u64>,
    /// The parts of our last flight: record number and fragment.
    parts: Vec<(u64, Vec<u8>)>,
    next_message: u16,
    peer_message: u16,
}

impl Thirteen {
    /// `None`: the secrets do not match the cipher.
    pub(in crate::dtls) fn new(role: Role, secrets: Secrets) -> Option<Self> {
        let Secrets { cipher, client, server } = secrets;
        let (write, read) = if role == Role::Client { (client, server) } else { (server, client) };
        Some(Self {
            role,
            cipher,
            read: Reader::new(HANDSHAKE_EPOCH, read.key(cipher)?),
            own: Reader::new(HANDSHAKE_EPOCH, write.key(cipher)?),
            write,
            application: None,
            longest_message: 0,
            received: Vec::new(),
            parts: Vec::new(),
            next_message: 0,
            peer_message: 0,
        })
    }

    /// Stores the secrets of epoch 3.
    pub(in crate::dtls) fn keep(&mut self, secrets: Secrets) {
        let Secrets { cipher, client, server } = secrets;
        let (write, read) = if self.role == Role::Client { (client, server) } else { (server, client) };
        if let (Some(write_key), Some(read_key), None) =
            (write.key(cipher), read.key(cipher), &self.application)
            && cipher == self.cipher
        {
            self.application = Some((Protection::new(write_key, read_key), write, read));
        }
    }

    /// Whether everything is known that application data requires.
    pub(in crate::dtls) fn is_done(&self) -> bool {
        self.application.is_some()
    }

    /// The protection of epoch 3.
    pub(in crate::dtls) fn protection(&mut self) -> Option<&mut Protection> {
        self.application.as_mut().map(|(protection, ..)| protection)
    }

    /// An alert with the protection that the peer can decrypt: epoch 3 once it has our Finished; for a
    /// client, epoch 2 before. (A peer without our Finished times out.)
    pub(in crate::dtls) fn sealed_alert(&mut self, alert: Alert) -> Vec<u8> {
        match (self.role, &mut self.application) {
            (Role::Server, Some((protection, ..))) => {
                protection.write.sealed(content::ALERT, &alert.to_bytes())
            }
            _ => {
                let key = self.write.key(self.cipher);
                let writer = key.map(|key| Writer::new(HANDSHAKE_EPOCH, key, ALERT_SEQUENCE));
                writer.map(|mut writer| writer.sealed(content::ALERT, &alert.to_bytes())).unwrap_or_default()
            }
        }
    }

    /// Filters protected records of `dimpl`. Moves those to be sent to the front and returns their length.
    /// `None`: they are invalid.
    pub(in crate::dtls) fn pass(&mut self, datagram: &mut [u8]) -> Option<usize> {
        let (mut at, mut kept) = (0, 0);
        while at < datagram.len() {
            let (header, record, _) = split(&mut datagram[at..])?;
            let length = record.len();
            if header.is_of(HANDSHAKE_EPOCH) {
                self.note(header, record)?;
                datagram.copy_within(at..at + length, kept);
                kept += length;
            } else if !header.is_of(APPLICATION_EPOCH) {
                return None;
            }
            at += length;
        }
        Some(kept)
    }

    /// Records a record of `dimpl` that is sent.
    fn note(&mut self, header: Unified, record: &[u8]) -> Option<()> {
        let mut copy = record.to_vec();
        let Opened { content, sequence, text, .. } = self.own.open(header, &mut copy)?;
        if content == content::HANDSHAKE {
            let (piece, _) = Piece::split(text)?;
            // In this epoch, a client sends only its last flight, once.
            if self.role == Role::Client && self.parts.len() < PARTS_MAX {
                self.parts.push((sequence, text.to_vec()));
            }
            self.next_message = self.next_message.max(piece.number.saturating_add(1));
        }
        Some(())
    }

    /// Examines a record of the peer in epoch 2. Returns whether to pass it to `dimpl`, or the event that
    /// ends the handshake.
    pub(in crate::dtls) fn look(&mut self, header: Unified, record: &[u8]) -> Result<bool, DtlsEvent> {
        // `dimpl` requires it encrypted; a copy is decrypted.
        let mut copy = record.to_vec();
        let Some(Opened { content, sequence, text, .. }) = self.read.open(header, &mut copy) else {
            return Ok(false);
        };
        match content {
            content::ALERT => Alert::parse(text).and_then(Alert::event_13).map_or(Ok(false), Err),
            content::HANDSHAKE => Ok(self.take(sequence, text)),
            content => Ok(content == content::ACK),
        }
    }

    /// Examines handshake messages of the peer. False: they must not be passed to `dimpl`.
    fn take(&mut self, sequence: u64, mut text: &[u8]) -> bool {
        let (mut longest, mut next) = (self.longest_message, self.peer_message);
        if text.is_empty() {
            return false;
        }
        while !text.is_empty() {
            let Some((piece, rest)) = Piece::split(text) else { return false };
            if piece.length > CERTIFICATE_BYTES_MAX {
                return false;
            }
            longest = longest.max(piece.length);
            next = next.max(piece.number.saturating_add(1));
            text = rest;
        }
        (self.longest_message, self.peer_message) = (longest, next);
        if self.received.len() < ACK_NUMBERS_MAX {
            self.received.push(sequence);
        }
        true
    }

    /// The session after the handshake. A server also acknowledges the client's flight.
    pub(in crate::dtls) fn finish(self, now: Instant, transmits: &mut Transmits) -> Option<Session> {
        let (role, (protection, write, read)) = (self.role, self.application?);
        let last = match role {
            Role::Server => Last::server(self.read, now),
            Role::Client => {
                let writer = Writer::new(HANDSHAKE_EPOCH, self.write.key(self.cipher)?, self.own.expected());
                Last::Client(Flight::sent(now, self.parts), writer)
            }
        };
        let control = Control {
            role,
            cipher: self.cipher,
            write,
            read,
            next_message: self.next_message,
            peer_message: self.peer_message,
            last,
            ticket_bytes: 0,
            update: None,
        };
        let mut session = Session::new(protection, control);
        if role == Role::Server {
            let ack = ack(HANDSHAKE_EPOCH, &self.received);
            push(transmits, session.protection.write.sealed(content::ACK, &ack));
        }
        Some(session)
    }
}
