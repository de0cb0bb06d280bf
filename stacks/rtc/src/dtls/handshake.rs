//! The handshake: `dimpl` does it; here it is shielded from what the network brings.
//!
//! Every error of `dimpl` is final, and some can be caused by anyone who can send a datagram. So `dimpl` sees only
//!
//! - handshake messages of epoch 0 that can belong at their place (see [`flight`]);
//! - the peer's Finished, after it was opened here with the peer's key;
//! - no alerts: one of epoch 0 is not authenticated, so it is believed only if the peer then stays silent.
//!
//! A server whose ClientHello was refused begins anew. What is left ends the handshake: a wrong signature,
//! certificate, parameter or Finished, or the time limit. Nobody can tell a peer's wrong message of epoch 0 from one
//! that was slipped in; DTLS 1.2 has no remedy for that.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::certificate::Certificate;
use super::engine::{Engine, FINISHED_BYTES, Progress, Transmits};
use super::flight;
use super::protection::Protection;
use super::record::{Alert, HEADER_BYTES, Header, content, split};
use super::{DtlsEvent, Fingerprint, Role};
use crate::error::Error;

/// Records of epoch 1 that came before the handshake could tell what to do with them.
const EARLY_RECORDS_MAX: usize = 8;
/// The same, in bytes.
const EARLY_BYTES_MAX: usize = 16_384;
/// Records with pieces of the peer's Finished; one is the rule.
const FINISHED_RECORDS_MAX: usize = 4;

/// A handshake that goes on. What a method gives as an error is the event that ends it.
pub(super) struct Handshake {
    engine: Engine,
    /// A HelloVerifyRequest came; the server counts its messages from 1.
    hello_verified: bool,
    /// The peer's ChangeCipherSpec.
    change: Change,
    /// Records with the peer's Finished, or pieces of it, known to be genuine: `dimpl` drops them while it waits for
    /// something before them.
    finished: VecDeque<Vec<u8>>,
    /// Records of epoch 1 for later, as they came.
    early: Vec<Vec<u8>>,
    /// A fatal alert of epoch 0.
    alert: Option<Alert>,
}

/// The peer's ChangeCipherSpec. It is kept until there are keys, and then given once: `dimpl` keeps all that it is
/// given, so many would fill its queue.
enum Change {
    Awaited,
    Kept(Vec<u8>),
    Given,
}

/// What is left of a handshake that is done.
pub(super) struct Outcome {
    pub protection: Protection,
    /// Records of application data that came too early.
    pub early: Vec<Vec<u8>>,
    /// Our Finished, in the clear.
    pub finished: [u8; FINISHED_BYTES],
    pub next_plain_sequence: u64,
    /// Whether the last flight was ours.
    pub is_server: bool,
}

impl Handshake {
    /// Begins; a client's ClientHello is sent at once.
    pub(super) fn new(
        certificate: &Arc<Certificate>,
        role: Role,
        peer: Fingerprint,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<Self, Error> {
        let engine = Engine::new(certificate, role, peer, now, transmits).map_err(|event| match event {
            DtlsEvent::Failed(error) => error,
            DtlsEvent::Connected | DtlsEvent::Closed => Error::Dtls("it ended at once".into()),
        })?;
        let (early, finished) = Default::default();
        Ok(Self { engine, hello_verified: false, change: Change::Awaited, finished, early, alert: None })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.engine.deadline
    }

    /// What it came to, or itself while it goes on.
    pub(super) fn finish(self: Box<Self>) -> Result<Outcome, Box<Self>> {
        if !self.engine.progress.connected || self.engine.protection.is_none() {
            return Err(self);
        }
        let Self { engine, early, .. } = *self;
        let Engine { protection, finished, next_plain_sequence, role, .. } = engine;
        let protection = protection.expect("looked at above");
        Ok(Outcome { protection, early, finished, next_plain_sequence, is_server: role == Role::Server })
    }

    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        if self.engine.deadline.is_none_or(|deadline| now < deadline) {
            return Ok(());
        }
        // The peer said that it gives up, and has been silent since.
        if let Some(alert) = self.alert {
            return Err(DtlsEvent::Failed(Error::Dtls(alert.reason())));
        }
        self.engine.handle_timeout(now, transmits)
    }

    /// Takes one record.
    pub(super) fn handle_record(
        &mut self,
        now: Instant,
        header: Header,
        record: &mut [u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        self.engine.progress.spoke = false;
        match header.epoch() {
            0 => self.handle_plain(now, header, record, transmits)?,
            1 => self.handle_protected(now, header, record, transmits)?,
            _ => {}
        }
        if self.engine.progress.spoke {
            // The peer did not give up: it was answered.
            self.alert = None;
        }
        Ok(())
    }

    /// Says that it is over.
    pub(super) fn close(&mut self, transmits: &mut Transmits) {
        self.engine.send_alert(Alert::CLOSE_NOTIFY, transmits);
    }

    fn handle_plain(
        &mut self,
        now: Instant,
        header: Header,
        record: &[u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        let fragment = &record[HEADER_BYTES..];
        let belongs = || flight::belongs(self.engine.role, self.hello_verified, fragment);
        // Before anything was sent no peer can have refused it, or be done with its part.
        let answered = self.engine.progress.answered;
        match header.content {
            content::HANDSHAKE if belongs() => self.handle_messages(now, record, transmits),
            content::CHANGE_CIPHER_SPEC if fragment == [1] && answered => {
                if let Change::Awaited = self.change {
                    self.change = Change::Kept(record.to_vec());
                }
                self.offer_finished(now, transmits)
            }
            content::ALERT if answered => {
                self.alert = Alert::parse(fragment).filter(|alert| alert.fatal).or(self.alert);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Takes messages of epoch 0.
    fn handle_messages(
        &mut self,
        now: Instant,
        record: &[u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        let fragment = &record[HEADER_BYTES..];
        if self.is_new_attempt(fragment) {
            self.engine.restart(now);
        }
        if flight::is_hello_verify(fragment) {
            // The first answer or none: later ones are repetitions, or would change how the server's messages count.
            if self.engine.progress.fed {
                return Ok(());
            }
            self.hello_verified = true;
        }
        let had_keys = self.engine.protection.is_some();
        self.engine.handle_record(now, record, transmits)?;
        if !had_keys && self.engine.protection.is_some() {
            for mut record in std::mem::take(&mut self.early) {
                if let Some((header, record, _)) = split(&mut record) {
                    self.handle_protected(now, header, record, transmits)?;
                }
            }
        }
        self.offer_finished(now, transmits)
    }

    /// Whether a server should forget what it was told so far: it has not answered, so what it has is refused, damaged
    /// or a piece, and here is a whole ClientHello.
    fn is_new_attempt(&self, fragment: &[u8]) -> bool {
        let Progress { fed, answered, refused, .. } = self.engine.progress;
        self.engine.role == Role::Server && fed && !answered && (refused || flight::is_whole(fragment))
    }

    fn handle_protected(
        &mut self,
        now: Instant,
        header: Header,
        record: &mut [u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        let Some(protection) = &mut self.engine.protection else {
            self.keep(header, record);
            return Ok(());
        };
        match header.content {
            content::APPLICATION_DATA => self.keep(header, record),
            content::HANDSHAKE => {
                // `dimpl` wants it sealed; what is opened is a copy.
                let mut copy = record.to_vec();
                if protection.open(header, &mut copy).is_some_and(|text| flight::is_finished(text)) {
                    if self.finished.len() == FINISHED_RECORDS_MAX {
                        self.finished.pop_front();
                    }
                    self.finished.push_back(record.to_vec());
                    return self.offer_finished(now, transmits);
                }
            }
            content::ALERT => {
                if let Some(alert) = protection.open(header, record).and_then(|text| Alert::parse(text)) {
                    return alert.event().map_or(Ok(()), Err);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Keeps a record for later, if there is room: it saves the peer's retransmission, no more.
    fn keep(&mut self, header: Header, record: &[u8]) {
        let known = matches!(header.content, content::ALERT | content::HANDSHAKE | content::APPLICATION_DATA);
        let has_room =
            self.early.len() < EARLY_RECORDS_MAX && self.early_bytes() + record.len() <= EARLY_BYTES_MAX;
        if known && has_room {
            self.early.push(record.to_vec());
        }
    }

    pub(super) fn early_bytes(&self) -> usize {
        self.early.iter().map(Vec::len).sum()
    }

    /// Shows `dimpl` the peer's ChangeCipherSpec, and its Finished, again after each message until it is done. It drops
    /// what it has seen.
    fn offer_finished(&mut self, now: Instant, transmits: &mut Transmits) -> Result<(), DtlsEvent> {
        if self.engine.protection.is_none() {
            return Ok(());
        }
        match std::mem::replace(&mut self.change, Change::Given) {
            Change::Awaited => {
                self.change = Change::Awaited;
                return Ok(());
            }
            Change::Kept(record) => self.engine.handle_record(now, &record, transmits)?,
            Change::Given => {}
        }
        for record in &self.finished {
            self.engine.handle_record(now, record, transmits)?;
        }
        Ok(())
    }
}
