//! The established connection: application data, ACKs, key updates, tickets, alerts (RFC 9147 sections 5.8, 7
//! and 8).
//!
//! Every message here is authenticated. A peer that violates the protocol only harms itself, and is not
//! answered.

use std::time::{Duration, Instant};

use super::flight::{self, Flight};
use super::protection::{Opened, Protection, Reader, Writer};
use super::record::{Unified, split};
use super::schedule::TrafficSecret;
use crate::dtls::flight::{KEY_UPDATE, NEW_SESSION_TICKET, Piece, write_message};
use crate::dtls::protection::Cipher;
use crate::dtls::record::{Alert, content};
use crate::dtls::transmits::{Transmits, push};
use crate::dtls::{DtlsEvent, Role};
use crate::error::Error;

/// How long a server repeats the ACK of the client's last flight: longer than any client retransmits.
const LAST_FLIGHT_KEPT: Duration = Duration::from_secs(60);
/// "update_not_requested" (RFC 8446 section 4.6.3).
const NOT_REQUESTED: u8 = 0;
const REQUESTED: u8 = 1;

/// A connection after its handshake.
#[derive(Debug)]
pub(in crate::dtls) struct Session {
    pub protection: Protection,
    /// Whether a key update was started or is impossible.
    updating: bool,
    control: Box<Control>,
}

/// State that application data does not need.
#[derive(Debug)]
pub(in crate::dtls) struct Control {
    pub role: Role,
    pub cipher: Cipher,
    /// The secret of our sending epoch.
    pub write: TrafficSecret,
    /// The secret of our receiving epoch.
    pub read: TrafficSecret,
    /// The number of our next handshake message.
    pub next_message: u16,
    /// The number of the peer's.
    pub peer_message: u16,
    pub last: Last,
    /// Received bytes of a fragmented ticket.
    pub ticket_bytes: usize,
    /// Our KeyUpdate, until it is acknowledged.
    pub update: Option<Flight>,
}

/// State that remains from the handshake.
#[derive(Debug)]
pub(in crate::dtls) enum Last {
    Nothing,
    /// A client's last flight, until it is acknowledged.
    Client(Flight, Writer),
    /// A server repeats the ACK of the client's last flight, since it may have been lost.
    Server(Reader, Instant),
}

impl Last {
    /// For a server that has just received the client's last flight.
    pub(super) fn server(reader: Reader, now: Instant) -> Self {
        Self::Server(reader, now + LAST_FLIGHT_KEPT)
    }
}

impl Session {
    pub(in crate::dtls) fn new(protection: Protection, control: Control) -> Self {
        Self { protection, updating: false, control: Box::new(control) }
    }

    /// Handles the remaining bytes of a datagram. Returns the event that ends the connection.
    #[inline]
    pub(in crate::dtls) fn handle_datagram(
        &mut self,
        now: Instant,
        mut rest: &mut [u8],
        deliver: &mut impl FnMut(&mut [u8]),
        transmits: &mut Transmits,
    ) -> Option<DtlsEvent> {
        while let Some((header, record, tail)) = split(rest) {
            rest = tail;
            match self.protection.open(header, record) {
                Some(Opened { content: content::APPLICATION_DATA, text, .. }) => {
                    if !text.is_empty() {
                        deliver(text);
                    }
                }
                Some(opened) => {
                    if let Some(event) = self.handle_control(now, opened, transmits) {
                        return Some(event);
                    }
                }
                None => {
                    if let Some(event) = self.handle_stranger(header, record, transmits) {
                        return Some(event);
                    }
                }
            }
        }
        if self.protection.write.is_worn() && !self.updating {
            self.begin_update(now, REQUESTED, transmits);
        }
        None
    }

    pub(in crate::dtls) fn next_deadline(&self) -> Option<Instant> {
        let last = match &self.control.last {
            Last::Nothing => None,
            Last::Client(flight, _) => Some(flight.deadline()),
            Last::Server(_, until) => Some(*until),
        };
        let update = self.control.update.as_ref().map(Flight::deadline);
        [last, update].into_iter().flatten().min()
    }

    /// Retransmits unacknowledged messages. If the last flight is never acknowledged, the layer above detects
    /// the peer's absence.
    pub(in crate::dtls) fn handle_timeout(&mut self, now: Instant, transmits: &mut Transmits) {
        let control = &mut *self.control;
        let goes_on = match &mut control.last {
            Last::Nothing => true,
            Last::Client(flight, writer) => flight.handle_timeout(now, writer, transmits),
            Last::Server(_, until) => now < *until,
        };
        if !goes_on {
            control.last = Last::Nothing;
        }
        let write = &mut self.protection.write;
        // The same message again, because the next one is only read after it. A peer that never acknowledges it
        // ends the connection at the limit of the key.
        if let Some(update) = &mut control.update
            && !update.handle_timeout(now, write, transmits)
        {
            update.restart(now);
        }
    }

    /// An encrypted alert.
    pub(in crate::dtls) fn sealed_alert(&mut self, alert: Alert) -> Vec<u8> {
        self.protection.write.sealed(content::ALERT, &alert.to_bytes())
    }

    /// Handles a record of the peer other than application data.
    #[cold]
    fn handle_control(
        &mut self,
        now: Instant,
        opened: Opened<'_>,
        transmits: &mut Transmits,
    ) -> Option<DtlsEvent> {
        let Opened { content, epoch, sequence, text } = opened;
        match content {
            content::ALERT => return Alert::parse(text).and_then(Alert::event_13),
            content::ACK => self.handle_ack(text),
            content::HANDSHAKE => {
                let (taken, requested) = self.handle_messages(text);
                if taken {
                    self.acknowledge(epoch, sequence, transmits);
                }
                if requested && !self.updating {
                    self.begin_update(now, NOT_REQUESTED, transmits);
                }
            }
            _ => {}
        }
        None
    }

    /// Handles a record outside the epochs of application data, or a forged one.
    #[cold]
    fn handle_stranger(
        &mut self,
        header: Unified,
        record: &mut [u8],
        transmits: &mut Transmits,
    ) -> Option<DtlsEvent> {
        if self.protection.is_besieged() {
            let why = "too many records were forged";
            return Some(DtlsEvent::Failed(Error::Dtls(why.into())));
        }
        let Last::Server(reader, _) = &mut self.control.last else { return None };
        let Opened { content, epoch, sequence, text } = reader.open(header, record)?;
        match content {
            content::HANDSHAKE => self.acknowledge(epoch, sequence, transmits),
            content::ALERT => return Alert::parse(text).and_then(Alert::event_13),
            _ => {}
        }
        None
    }

    /// Handles the messages of a record. Returns whether all were accepted, now or before, and whether the
    /// peer requests new keys of us.
    fn handle_messages(&mut self, mut fragment: &[u8]) -> (bool, bool) {
        let mut requested = false;
        while !fragment.is_empty() {
            let Some((piece, rest)) = Piece::split(fragment) else { return (false, requested) };
            let body = &fragment[fragment.len() - rest.len() - piece.bytes..][..piece.bytes];
            let taken = match (piece.number.cmp(&self.control.peer_message), piece.kind) {
                (std::cmp::Ordering::Less, _) => true,
                (std::cmp::Ordering::Equal, KEY_UPDATE) => match body {
                    &[wanted @ (NOT_REQUESTED | REQUESTED)] if piece.is_whole() => {
                        requested |= wanted == REQUESTED;
                        self.update_read().is_some()
                    }
                    _ => false,
                },
                (std::cmp::Ordering::Equal, NEW_SESSION_TICKET) if self.control.role == Role::Client => {
                    self.take_ticket(&piece)
                }
                _ => false,
            };
            if !taken {
                return (false, requested);
            }
            fragment = rest;
        }
        (true, requested)
    }

    /// Tickets are not used, but counted, since each has a number.
    fn take_ticket(&mut self, piece: &Piece) -> bool {
        let control = &mut *self.control;
        if piece.start > control.ticket_bytes {
            return false;
        }
        control.ticket_bytes = control.ticket_bytes.max(piece.start + piece.bytes);
        if control.ticket_bytes >= piece.length {
            control.ticket_bytes = 0;
            return control.count_message().is_some();
        }
        true
    }

    /// The peer sends with its next key from now on.
    fn update_read(&mut self) -> Option<()> {
        let control = &mut *self.control;
        let next = control.read.next()?;
        let key = next.key(control.cipher)?;
        control.count_message()?;
        control.read = next;
        self.protection.next_read(key);
        Some(())
    }

    /// Announces our next key, which is used once the peer has acknowledged it (RFC 9147 section 8).
    #[cold]
    fn begin_update(&mut self, now: Instant, request: u8, transmits: &mut Transmits) {
        self.updating = true;
        let control = &mut *self.control;
        // When all message numbers are used, the key stays the same.
        let Some(next_message) = control.next_message.checked_add(1) else { return };
        let message = write_message(KEY_UPDATE, control.next_message, &[request]);
        control.next_message = next_message;
        control.update = Some(Flight::send(now, message, &mut self.protection.write, transmits));
    }

    fn handle_ack(&mut self, ack: &[u8]) {
        let control = &mut *self.control;
        if let Last::Client(flight, writer) = &mut control.last
            && flight.acknowledge(writer.epoch(), ack)
        {
            control.last = Last::Nothing;
        }
        let epoch = self.protection.write.epoch();
        if control.update.as_mut().is_some_and(|update| update.acknowledge(epoch, ack)) {
            control.update = None;
            let next = control.write.next().and_then(|next| Some((next.key(control.cipher)?, next)));
            if let Some((key, next)) = next {
                control.write = next;
                self.protection.next_write(key);
                self.updating = false;
            }
        }
    }

    fn acknowledge(&mut self, epoch: u64, sequence: u64, transmits: &mut Transmits) {
        let ack = flight::ack(epoch, &[sequence]);
        push(transmits, self.protection.write.sealed(content::ACK, &ack));
    }
}

impl Control {
    /// A message of the peer was accepted. `None`: it had the last number.
    fn count_message(&mut self) -> Option<()> {
        self.peer_message = self.peer_message.checked_add(1)?;
        Some(())
    }
}
