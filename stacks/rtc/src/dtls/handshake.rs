//! The handshake: `dimpl` does it; here it is shielded from what the network brings.
//!
//! Every error of `dimpl` is final, and some can be caused by anyone who can send a datagram. So `dimpl` sees only
//!
//! - handshake messages of epoch 0 that can belong at their place (see [`flight`]), of a server that has both versions
//!   the one that decides it first;
//! - the peer's Finished, after it was opened here with the peer's key; of DTLS 1.3 all of epoch 2, likewise;
//! - no alerts: one of epoch 0 is not authenticated, so it is believed only if the peer then stays silent.
//!
//! A server whose ClientHello was refused begins anew. What is left ends the handshake: a wrong signature,
//! certificate, parameter or Finished, or the time limit. Nobody can tell a peer's wrong message of epoch 0 from one
//! that was slipped in; neither version has a remedy for that.
//!
//! A client that offered both versions and is answered with 1.2 looks whether the server says that it has 1.3 (RFC 8446
//! section 4.1.3). As a server we do not say so in turn: the random value is made in `dimpl`, which has no place for it.
//! That is a second line: Finished covers both Hellos, so that nobody can change an offer who cannot break 1.2 itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::certificate::Certificate;
use super::engine::{Engine, FINISHED_BYTES, Progress};
use super::flight::{self, Stage};
use super::protection::Protection;
use super::record::{Alert, HEADER_BYTES, Header, content, split};
use super::thirteen::session::Session;
use super::thirteen::{APPLICATION_EPOCH, HANDSHAKE_EPOCH, record as unified};
use super::transmits::Transmits;
use super::version::{Version, Versions};
use super::{DtlsEvent, Fingerprint, Role};
use crate::error::Error;

/// Records that came before the handshake could tell what to do with them.
const EARLY_RECORDS_MAX: usize = 30;
/// The same, in bytes.
const EARLY_BYTES_MAX: usize = 16_384;
/// Records with pieces of the peer's Finished; one is the rule.
const FINISHED_RECORDS_MAX: usize = 4;

/// A handshake that goes on. What a method gives as an error is the event that ends it.
pub(super) struct Handshake {
    pub engine: Engine,
    /// A HelloVerifyRequest came; the server counts its messages from 1.
    hello_verified: bool,
    /// DTLS 1.3: the server asked, or was asked, for a second ClientHello.
    retried: bool,
    /// The peer's ChangeCipherSpec.
    change: Change,
    /// Records with the peer's Finished, or pieces of it, known to be genuine: `dimpl` drops them while it waits for
    /// something before them.
    finished: VecDeque<Vec<u8>>,
    /// Records for later, as they came.
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
pub(super) enum Outcome {
    Dtls12(Outcome12),
    /// And records of epoch 3 that came too early.
    Dtls13(Session, Vec<Vec<u8>>),
}

/// What is left of one of DTLS 1.2.
pub(super) struct Outcome12 {
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
        versions: Versions,
        role: Role,
        peer: Fingerprint,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<Self, Error> {
        let engine = Engine::new(certificate, versions, role, peer, now, transmits);
        let engine = engine.map_err(|event| match event {
            DtlsEvent::Failed(error) => error,
            DtlsEvent::Connected | DtlsEvent::Closed => Error::Dtls("it ended at once".into()),
        })?;
        let (early, finished) = Default::default();
        let (hello_verified, retried) = (false, false);
        Ok(Self { engine, hello_verified, retried, change: Change::Awaited, finished, early, alert: None })
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.engine.deadline()
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.engine.version()
    }

    /// Seals what a server may say before it knows the client, with DTLS 1.3. None: nothing yet.
    pub(super) fn seal_early(&mut self, content: u8, buffer: &mut [u8], length: usize) -> Option<usize> {
        let thirteen = self.engine.thirteen.as_mut().filter(|_| self.engine.role == Role::Server)?;
        thirteen.protection()?.seal(content, buffer, length)
    }

    /// Whether there is a key for that.
    pub(super) fn seals_early(&self) -> bool {
        let thirteen = self.engine.thirteen.as_ref().filter(|_| self.engine.role == Role::Server);
        thirteen.is_some_and(|thirteen| thirteen.is_done())
    }

    /// What it came to, or itself while it goes on.
    pub(super) fn finish(
        self: Box<Self>,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<Outcome, Box<Self>> {
        if !self.engine.is_done() {
            return Err(self);
        }
        let Self { engine, early, .. } = *self;
        let Engine { protection, thirteen, finished, next_plain_sequence, role, .. } = engine;
        if let Some(thirteen) = thirteen {
            let session = thirteen.finish(now, transmits);
            let session = session.expect("nobody is connected without the keys of data");
            return Ok(Outcome::Dtls13(session, early));
        }
        let protection = protection.expect("one or the other is there, as asked above");
        let is_server = role == Role::Server;
        Ok(Outcome::Dtls12(Outcome12 { protection, early, finished, next_plain_sequence, is_server }))
    }

    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        self.engine.verify(transmits)?;
        if self.engine.deadline().is_none_or(|deadline| now < deadline) {
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
        self.step(|handshake| handshake.handle_header(now, header, record, transmits))
    }

    /// Takes one record with a unified header.
    pub(super) fn handle_protected_record(
        &mut self,
        now: Instant,
        header: unified::Unified,
        record: &[u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        self.step(|handshake| handshake.handle_unified(now, header, record, transmits))
    }

    /// Takes a record. One that is answered is not of a peer that gave up.
    fn step(&mut self, take: impl FnOnce(&mut Self) -> Result<(), DtlsEvent>) -> Result<(), DtlsEvent> {
        self.engine.progress.spoke = false;
        take(self)?;
        if self.engine.progress.spoke {
            self.alert = None;
        }
        Ok(())
    }

    fn handle_header(
        &mut self,
        now: Instant,
        header: Header,
        record: &mut [u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        match header.epoch() {
            0 => self.handle_plain(now, header, record, transmits),
            1 => self.handle_protected(now, header, record, transmits),
            _ => Ok(()),
        }
    }

    /// What can come now.
    fn stage(&self) -> Stage {
        match (self.engine.version(), self.engine.role) {
            (None, Role::Client) => Stage::Undecided,
            // It may have been asked for another key, and then says the version anew.
            (None, Role::Server) => Stage::Dtls13 { retried: self.retried },
            (Some(Version::Dtls12), _) => Stage::Dtls12 { hello_verified: self.hello_verified },
            (Some(Version::Dtls13), _) => Stage::Dtls13 { retried: self.retried },
        }
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
        let belongs = || flight::belongs(self.engine.role, self.stage(), fragment);
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
        let stage = self.stage();
        if stage == Stage::Undecided && !flight::decides_version(fragment) {
            self.keep(record);
            return Ok(());
        }
        if flight::is_hello_verify(fragment) {
            // The first answer or none: later ones are repetitions, or would change how the server's messages count.
            if self.engine.progress.fed {
                return Ok(());
            }
            self.hello_verified = true;
        }
        let is_13 = matches!(stage, Stage::Dtls13 { .. });
        if self.engine.role == Role::Client {
            if is_13 && self.engine.thirteen.is_some() {
                return Ok(());
            }
            if !is_13 && self.engine.offers_both() && flight::is_downgrade(fragment) {
                let why = "the peer has DTLS 1.3, but was made to believe that we do not";
                return Err(self.engine.fail(Alert::ILLEGAL_PARAMETER, Error::Dtls(why.into()), transmits));
            }
            self.retried |= flight::is_hello_retry(fragment);
        }
        let had_keys = self.engine.has_keys();
        self.engine.handle_record(now, record, transmits)?;
        let has_keys = self.engine.has_keys();
        if self.engine.role == Role::Server && is_13 && self.engine.version() != Some(Version::Dtls12) {
            self.retried |= self.engine.progress.answered && !has_keys;
        }
        if stage == Stage::Undecided || had_keys != has_keys {
            self.open_early(now, transmits)?;
        }
        self.offer_finished(now, transmits)
    }

    /// More is known now: takes what came before.
    fn open_early(&mut self, now: Instant, transmits: &mut Transmits) -> Result<(), DtlsEvent> {
        for mut record in std::mem::take(&mut self.early) {
            if let Some((header, record, _)) = unified::split(&mut record) {
                self.handle_unified(now, header, record, transmits)?;
            } else if let Some((header, record, _)) = split(&mut record) {
                self.handle_header(now, header, record, transmits)?;
            }
        }
        Ok(())
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
            if matches!(header.content, content::ALERT | content::HANDSHAKE | content::APPLICATION_DATA) {
                self.keep(record);
            }
            return Ok(());
        };
        match header.content {
            content::APPLICATION_DATA => self.keep(record),
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

    fn handle_unified(
        &mut self,
        now: Instant,
        header: unified::Unified,
        record: &[u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        let Some(thirteen) = self.engine.thirteen.as_mut().filter(|_| header.is_of(HANDSHAKE_EPOCH)) else {
            if header.is_of(HANDSHAKE_EPOCH) || header.is_of(APPLICATION_EPOCH) {
                self.keep(record);
            }
            return Ok(());
        };
        if thirteen.look(header, record)? {
            self.engine.handle_record(now, record, transmits)?;
        }
        Ok(())
    }

    /// Keeps a record for later, if there is room: it saves the peer's retransmission, no more.
    fn keep(&mut self, record: &[u8]) {
        let has_room =
            self.early.len() < EARLY_RECORDS_MAX && self.early_bytes() + record.len() <= EARLY_BYTES_MAX;
        if has_room {
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
