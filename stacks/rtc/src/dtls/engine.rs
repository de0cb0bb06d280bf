//! Wraps `dimpl`: records its keys, renumbers its records, and checks the peer's certificate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dimpl::Output;

use super::certificate::{CERTIFICATE_BYTES_MAX, Certificate};
use super::desk::{self, Made};
use super::protection::{Protection, TAG_BYTES};
use super::record::{Alert, content, plain, split};
use super::thirteen::handshake::Thirteen;
use super::transcript::Transcript;
use super::transmits::{Transmits, push};
use super::unverified::Unverified;
use super::version::{Version, Versions};
use super::{DtlsEvent, Fingerprint, Role};
use crate::error::Error;

/// Initial buffer for a datagram of `dimpl` or a certificate.
const OUTPUT_BYTES: usize = 2048;
/// Without a timer, `dimpl` returns a deadline years away.
const DEADLINE_MAX: Duration = Duration::from_secs(3600);
/// Length of a Finished in bytes: a header of 12 and verify_data of 12.
pub(super) const FINISHED_BYTES: usize = 24;

/// One handshake of `dimpl`. An error of a method is the event that ends the handshake.
pub(super) struct Engine {
    certificate: Arc<Certificate>,
    versions: Versions,
    pub role: Role,
    /// The required fingerprint of the peer's certificate.
    peer: Fingerprint,
    dimpl: dimpl::Dtls,
    pub progress: Progress,
    /// Set once the keys of DTLS 1.2 are known.
    pub protection: Option<Protection>,
    /// Set once the keys of DTLS 1.3 are known.
    pub thirteen: Option<Box<Thirteen>>,
    /// Our Finished as plaintext.
    pub finished: [u8; FINISHED_BYTES],
    /// The sequence number of our next record in epoch 0.
    pub next_plain_sequence: u64,
    deadline: Option<Instant>,
    /// The peer's signature, and when it was received.
    unverified: Option<(Unverified, Instant)>,
    /// The hashed part of the handshake.
    transcript: Option<Transcript>,
    /// The peer's verified certificate, until it is taken.
    pub remote_certificate: Option<Box<[u8]>>,
}

/// The progress of the handshake.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Progress {
    /// It has received a message.
    pub fed: bool,
    /// It refused a ClientHello and accepts nothing any more.
    pub refused: bool,
    /// It has sent a message.
    pub answered: bool,
    /// It has sent a message since this was reset.
    pub spoke: bool,
    /// The peer's certificate has the right fingerprint.
    pub verified: bool,
    /// It is complete.
    pub connected: bool,
}

impl Engine {
    /// Starts the handshake; a client's ClientHello is sent at once.
    pub(super) fn new(
        certificate: &Arc<Certificate>,
        versions: Versions,
        role: Role,
        peer: Fingerprint,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<Self, DtlsEvent> {
        let mut engine = Self {
            certificate: Arc::clone(certificate),
            versions,
            role,
            peer,
            dimpl: new_dimpl(certificate, versions, role, now),
            progress: Progress::default(),
            protection: None,
            thirteen: None,
            finished: [0; FINISHED_BYTES],
            next_plain_sequence: 0,
            deadline: None,
            unverified: None,
            transcript: None,
            remote_certificate: None,
        };
        engine.handle_timeout(now, transmits)?;
        Ok(engine)
    }

    /// Starts over. Only for a server that has not answered: then there are no keys, and no sequence number
    /// was used.
    pub(super) fn restart(&mut self, now: Instant) {
        self.dimpl = new_dimpl(&self.certificate, self.versions, self.role, now);
        self.progress = Progress::default();
    }

    /// The version, once negotiated.
    pub(super) fn version(&self) -> Option<Version> {
        match self.versions {
            Versions::Only12 => Some(Version::Dtls12),
            Versions::Only13 => Some(Version::Dtls13),
            Versions::Both => self.dimpl.protocol_version().map(|version| match version {
                dimpl::ProtocolVersion::DTLS1_3 => Version::Dtls13,
                _ => Version::Dtls12,
            }),
        }
    }

    /// Whether there are keys of either version.
    pub(super) fn has_keys(&self) -> bool {
        self.protection.is_some() || self.thirteen.is_some()
    }

    /// Whether it is complete, with all information required.
    pub(super) fn is_done(&self) -> bool {
        self.progress.connected && self.has_keys() && self.unverified.is_none()
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        match self.unverified {
            Some((_, since)) => Some(since),
            None => self.deadline.filter(|_| !self.progress.connected),
        }
    }

    /// Verifies the peer's signature, if that was deferred.
    pub(super) fn verify(&mut self, transmits: &mut Transmits) -> Result<(), DtlsEvent> {
        let Some((unverified, _)) = self.unverified.take() else { return Ok(()) };
        unverified
            .verify()
            .map_err(|error| self.fail(Alert::DECRYPT_ERROR, Error::Dtls(error.to_string()), transmits))
    }

    /// Whether we have offered 1.3 together with 1.2.
    pub(super) fn offers_both(&self) -> bool {
        self.versions == Versions::Both
    }

    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        self.call(now, transmits, |dimpl| dimpl.handle_timeout(now))
    }

    /// Handles a record, unless the handshake is complete.
    pub(super) fn handle_record(
        &mut self,
        now: Instant,
        record: &[u8],
        transmits: &mut Transmits,
    ) -> Result<(), DtlsEvent> {
        if self.progress.connected {
            return Ok(());
        }
        self.progress.fed = true;
        self.call(now, transmits, |dimpl| {
            // The clock of `dimpl` does not advance between calls.
            dimpl.handle_timeout(now)?;
            dimpl.handle_packet(record)
        })
    }

    /// Calls `dimpl` and processes its output.
    fn call(
        &mut self,
        now: Instant,
        transmits: &mut Transmits,
        call: impl FnOnce(&mut dimpl::Dtls) -> Result<(), dimpl::Error>,
    ) -> Result<(), DtlsEvent> {
        let dimpl = &mut self.dimpl;
        // A server sends nothing that depends on the client's identity.
        let defers = self.role == Role::Client && self.unverified.is_none();
        let (key_pair, transcript) = (&self.certificate.key_pair, self.transcript.take());
        let (result, mut made) = desk::watch_on(key_pair, defers, transcript, || call(dimpl));
        self.transcript = made.transcript.take();
        self.keep(now, made);
        match result {
            Ok(()) | Err(dimpl::Error::ReceiveQueueFull | dimpl::Error::TransmitQueueFull) => {
                self.drain(now, transmits)
            }
            // An invalid ClientHello, or an incomplete one until the time limit.
            Err(_) if self.role == Role::Server && !self.progress.answered => {
                self.progress.refused = true;
                self.deadline = None;
                Ok(())
            }
            Err(dimpl::Error::Timeout(_)) => {
                let why = "the peer does not answer the handshake";
                Err(self.fail(Alert::HANDSHAKE_FAILURE, Error::Dtls(why.into()), transmits))
            }
            Err(error) => Err(self.fail(Alert::HANDSHAKE_FAILURE, Error::Dtls(error.to_string()), transmits)),
        }
    }

    /// Keys are set only once: otherwise the record numbers would start again.
    fn keep(&mut self, now: Instant, made: Made) {
        let role = self.role;
        self.unverified = self.unverified.take().or(made.unverified.map(|unverified| (unverified, now)));
        if let Some(keys) = made.keys {
            self.protection.get_or_insert_with(|| Protection::new(role, keys));
        }
        if let (Some(secrets), None) = (made.handshake, &self.thirteen) {
            self.thirteen = Thirteen::new(role, secrets).map(Box::new);
        }
        if let (Some(secrets), Some(thirteen)) = (made.application, &mut self.thirteen) {
            thirteen.keep(secrets);
        }
    }

    fn drain(&mut self, now: Instant, transmits: &mut Transmits) -> Result<(), DtlsEvent> {
        // With 1.3, `dimpl` panics if the peer's certificate does not fit the buffer.
        let longest = self.thirteen.as_ref().map_or(0, |thirteen| thirteen.longest_message);
        let mut buffer = vec![0; longest.max(OUTPUT_BYTES)];
        loop {
            match self.dimpl.poll_output(&mut buffer) {
                Output::Packet(packet) => {
                    let mut packet = packet.to_vec();
                    let passed = match self.version() {
                        Some(Version::Dtls13) => self.pass(&mut packet),
                        _ => self.reseal(&mut packet),
                    };
                    if passed.is_none() {
                        let why = Error::Dtls("a handshake record is protected with another key".into());
                        return Err(self.fail(Alert::HANDSHAKE_FAILURE, why, transmits));
                    }
                    if !packet.is_empty() {
                        self.progress.answered = true;
                        self.progress.spoke = true;
                        push(transmits, packet);
                    }
                }
                // It precedes the flight that answers it.
                Output::PeerCert(der) => {
                    if Fingerprint::of(der) != self.peer {
                        return Err(self.fail(Alert::BAD_CERTIFICATE, Error::Fingerprint, transmits));
                    }
                    self.progress.verified = true;
                    self.remote_certificate = Some(der.into());
                }
                Output::Connected => {
                    let has_keys = match &self.thirteen {
                        Some(thirteen) => thirteen.is_done(),
                        None => self.protection.is_some(),
                    };
                    if !self.progress.verified || !has_keys {
                        let why = Error::Dtls("the peer presented no certificate".into());
                        return Err(self.fail(Alert::HANDSHAKE_FAILURE, why, transmits));
                    }
                    self.progress.connected = true;
                }
                Output::BufferTooSmall { needed } if needed <= CERTIFICATE_BYTES_MAX => {
                    buffer.resize(needed, 0);
                }
                Output::BufferTooSmall { .. } => {
                    let why = Error::Dtls("the peer's certificate is too long".into());
                    return Err(self.fail(Alert::BAD_CERTIFICATE, why, transmits));
                }
                Output::Timeout(at) => {
                    self.deadline = Some(at).filter(|&at| at < now + DEADLINE_MAX);
                    return Ok(());
                }
                // SRTP is not negotiated, and protected records except Finished are not passed to it.
                _ => {}
            }
        }
    }

    /// Assigns our sequence numbers to the protected records in a datagram of `dimpl`. Its own count from 0
    /// and would collide with those of application data in the peer's replay window.
    fn reseal(&mut self, mut datagram: &mut [u8]) -> Option<()> {
        while let Some((header, record, rest)) = split(datagram) {
            datagram = rest;
            if header.epoch() == 0 {
                self.next_plain_sequence = self.next_plain_sequence.max(header.sequence() + 1);
            } else {
                let finished = &mut self.finished;
                self.protection.as_mut()?.reseal(header, record, |text| {
                    if let Some(text) = text.first_chunk() {
                        *finished = *text;
                    }
                })?;
            }
        }
        Some(())
    }

    /// Filters a datagram of `dimpl` in DTLS 1.3. The remaining records are sent.
    fn pass(&mut self, datagram: &mut Vec<u8>) -> Option<()> {
        let mut kept = 0;
        while let Some((header, record, _)) = split(&mut datagram[kept..]) {
            self.next_plain_sequence = self.next_plain_sequence.max(header.sequence() + 1);
            kept += record.len();
        }
        if kept < datagram.len() {
            kept += self.thirteen.as_mut()?.pass(&mut datagram[kept..])?;
        }
        datagram.truncate(kept);
        Some(())
    }

    /// Sends an alert to the peer; returns the event.
    pub(super) fn fail(&mut self, alert: Alert, error: Error, transmits: &mut Transmits) -> DtlsEvent {
        self.send_alert(alert, transmits);
        DtlsEvent::Failed(error)
    }

    /// Sends an alert with the protection that the peer expects, if there was any contact with it.
    pub(super) fn send_alert(&mut self, alert: Alert, transmits: &mut Transmits) {
        if let Some(thirteen) = &mut self.thirteen {
            return push(transmits, thirteen.sealed_alert(alert));
        }
        match &mut self.protection {
            Some(protection) if protection.is_used() => push(transmits, sealed_alert(protection, alert)),
            _ if self.progress.answered || self.progress.fed => {
                push(transmits, plain(content::ALERT, self.next_plain_sequence, &alert.to_bytes()));
                self.next_plain_sequence += 1;
            }
            _ => {}
        }
    }
}

/// A record of epoch 1 with our own content.
pub(super) fn sealed(protection: &mut Protection, content: u8, fragment: &[u8]) -> Vec<u8> {
    let mut record = vec![0; protection.headroom()];
    record.extend_from_slice(fragment);
    record.resize(record.len() + TAG_BYTES, 0);
    let length = protection.seal(content, &mut record, fragment.len()).unwrap_or(0);
    record.truncate(length);
    record
}

pub(super) fn sealed_alert(protection: &mut Protection, alert: Alert) -> Vec<u8> {
    sealed(protection, content::ALERT, &alert.to_bytes())
}

fn new_dimpl(certificate: &Certificate, versions: Versions, role: Role, now: Instant) -> dimpl::Dtls {
    // Signing uses the key of the provider.
    let owned = dimpl::DtlsCertificate { certificate: certificate.der.clone(), private_key: Vec::new() };
    let make = || {
        let new = match versions {
            Versions::Both => dimpl::Dtls::new_auto,
            Versions::Only12 => dimpl::Dtls::new_12,
            Versions::Only13 => dimpl::Dtls::new_13,
        };
        let mut dimpl = new(Arc::clone(&certificate.config), owned, now);
        dimpl.set_active(role == Role::Client);
        dimpl
    };
    desk::watch(&certificate.key_pair, false, make).0
}
