//! The handshake: performed by `dimpl`, which is shielded here from attacks by the network.
//!
//! Every error of `dimpl` is final, and anyone who can send a datagram can cause some of them. `dimpl`
//! therefore receives only:
//!
//! - handshake messages of epoch 0 that are possible at their position (see [`flight`]); if a server supports
//!   both versions, the message that determines the version first;
//! - the peer's Finished, after it was decrypted here with the peer's key; in DTLS 1.3 all of epoch 2,
//!   likewise;
//! - no alerts: those of epoch 0 are not authenticated, and only take effect if the peer stays silent
//!   afterwards.
//!
//! A server that refused a ClientHello starts over. Other failures end the handshake: an invalid signature,
//! certificate, parameter or Finished, or the time limit. A peer's invalid message of epoch 0 cannot be
//! distinguished from an injected one; neither version has a remedy for that.
//!
//! A client that offered both versions and is answered with 1.2 checks whether the server indicates support
//! for 1.3 (RFC 8446 section 4.1.3). As a server we do not indicate it, since `dimpl` generates the random
//! value. This is only a second line of defence: Finished covers both Hellos, so that changing an offer
//! requires breaking 1.2 itself.

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

/// Records that are buffered until the handshake can handle them.
const EARLY_RECORDS_MAX: usize = 30;
/// The same limit in bytes.
const EARLY_BYTES_MAX: usize = 16_384;
/// Records with fragments of the peer's Finished; usually one.
const FINISHED_RECORDS_MAX: usize = 4;

/// A handshake in progress. An error of a method is the event that ends it.
pub(super) struct Handshake {
    pub engine: Engine,
    /// A HelloVerifyRequest was received; the server numbers its messages from 1.
    hello_verified: bool,
    /// DTLS 1.3: a second ClientHello was requested.
    retried: bool,
    /// The peer's ChangeCipherSpec.
    change: Change,
    /// Authenticated records with the peer's Finished, or fragments of it: `dimpl` drops them while an
    /// earlier message is missing.
    finished: VecDeque<Vec<u8>>,
    /// Buffered records, as received.
    early: Vec<Vec<u8>>,
    /// A fatal alert of epoch 0.
    alert: Option<Alert>,
}

/// The peer's ChangeCipherSpec. It is buffered until there are keys, and then passed on once: `dimpl` queues
/// everything it receives, so repetitions would fill its queue.
enum Change {
    Awaited,
    Kept(Vec<u8>),
    Given,
}

/// The result of a completed handshake.
pub(super) enum Outcome {
    Dtls12(Outcome12),
    /// Includes records of epoch 3 that arrived early.
    Dtls13(Session, Vec<Vec<u8>>),
}

/// The result of a handshake with DTLS 1.2.
pub(super) struct Outcome12 {
    pub protection: Protection,
    /// Records of application data that arrived early.
    pub early: Vec<Vec<u8>>,
    /// Our Finished as plaintext.
    pub finished: [u8; FINISHED_BYTES],
    pub next_plain_sequence: u64,
    /// Whether the last flight was ours.
    pub is_server: bool,
}

impl Handshake {
    /// Starts the handshake; a client's ClientHello is sent at once.
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

    /// Encrypts what a DTLS 1.3 server may send before the client is authenticated. `None`: not possible yet.
    pub(super) fn seal_early(&mut self, content: u8, buffer: &mut [u8], length: usize) -> Option<usize> {
        let thirteen = self.engine.thirteen.as_mut().filter(|_| self.engine.role == Role::Server)?;
        thirteen.protection()?.seal(content, buffer, length)
    }

    /// Whether there is a key for that.
    pub(super) fn seals_early(&self) -> bool {
        let thirteen = self.engine.thirteen.as_ref().filter(|_| self.engine.role == Role::Server);
        thirteen.is_some_and(|thirteen| thirteen.is_done())
    }

    /// The result, or the handshake itself while it is in progress.
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
            let session = session.expect("a complete handshake has the keys of application data");
            return Ok(Outcome::Dtls13(session, early));
        }
        let protection = protection.expect("one of them is set, as checked above");
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
        // The peer has sent a fatal alert and has been silent since.
        if let Some(alert) = self.alert {
            return Err(DtlsEvent::Failed(Error::Dtls(alert.reason())));
        }
        self.engine.handle_timeout(now, transmits)
    }

    /// Handles one record.
    pub(super) fn handle_record(
        &mut self,
        now: Instant,
        header: Header,
        record: &mut [u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        self.step(|handshake| handshake.handle_header(now, header, record, transmits))
    }

    /// Handles one record with a unified header.
    pub(super) fn handle_protected_record(
        &mut self,
        now: Instant,
        header: unified::Unified,
        record: &[u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        self.step(|handshake| handshake.handle_unified(now, header, record, transmits))
    }

    /// Handles a record. A peer that answers it has not given up.
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

    /// The messages that are possible now.
    fn stage(&self) -> Stage {
        match (self.engine.version(), self.engine.role) {
            (None, Role::Client) => Stage::Undecided,
            // The client may have been asked for another key, and then offers the versions again.
            (None, Role::Server) => Stage::Dtls13 { retried: self.retried },
            (Some(Version::Dtls12), _) => Stage::Dtls12 { hello_verified: self.hello_verified },
            (Some(Version::Dtls13), _) => Stage::Dtls13 { retried: self.retried },
        }
    }

    /// Announces the end of the connection.
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
        // Before anything was sent, no peer can have refused it or completed its part.
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

    /// Handles messages of epoch 0.
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
            // Only the first answer counts: later ones are repetitions, or would change the numbering of the
            // server's messages.
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
                let why = "the handshake was downgraded: both peers support DTLS 1.3";
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

    /// Handles buffered records after the handshake has progressed.
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

    /// Whether a server should start over: it has not answered, so its state is refused, damaged or
    /// incomplete, and this is a complete ClientHello.
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
                // `dimpl` requires it encrypted; a copy is decrypted.
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

    /// Buffers a record if there is room; this only saves a retransmission by the peer.
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

    /// Passes the peer's ChangeCipherSpec and Finished to `dimpl`, again after each message until the
    /// handshake is complete. Repetitions are dropped by `dimpl`.
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
