//! Return routability for ICE lite.
//!
//! A lite agent sends no connectivity checks (RFC 8445 section 2.5), so the source address of a request is all
//! that it knows of a path. The peer can forge that address, and anyone can replay a request from another one.
//! The first path is used at once, because DTLS completes its handshake only with a peer that receives there.
//! Before data moves to another address, that address must answer a check, as consent requires (RFC 7675
//! section 5.1). Full agents answer checks whatever mode the sender has (RFC 8445 section 7.3).

use std::time::{Duration, Instant};

use is::IceCreds;
use is::stun::{StunMessage, TransId};
use rand_chacha::rand_core::Rng;

use super::session::{AwsLcHmac, Datagram, REFLEXIVE_PRIORITY};
use super::{Ice, Path, TRANSMITS_MAX};

/// Checks besides those sent in return for a request, and the pause before the first; it doubles.
const REPEATS: u8 = 2;
const REPEAT_AFTER: Duration = Duration::from_millis(500);
/// Upper bound of the length of a check.
const CHECK_BYTES_MAX: usize = 800;
/// A Binding indication without attributes (RFC 8489 section 5), up to the transaction id.
const INDICATION: [u8; 8] = [0x00, 0x11, 0, 0, 0x21, 0x12, 0xa4, 0x42];

/// A check of a lite agent that has not been answered.
#[derive(Debug)]
pub(super) struct Proof {
    path: Path,
    id: TransId,
    check: Vec<u8>,
    /// Data moves there with the answer.
    selects: bool,
    repeats: u8,
    repeat_at: Option<Instant>,
}

impl Ice {
    /// Sends a check to an address of which only requests are known. Does nothing for a full agent, which
    /// checks by itself.
    pub(crate) fn prove(&mut self, now: Instant, path: Path) {
        if self.lite {
            self.check_path(now, path, false);
        }
    }

    /// Selects this path once it is proven. Returns false if it needs no proof.
    pub(super) fn select_proven(&mut self, now: Instant, path: Path) -> bool {
        let is_same_address = self.selected.is_some_and(|in_use| in_use.remote == path.remote);
        // TCP's own handshake is a proof.
        if !self.lite || !self.had_path || is_same_address || self.session.is_tcp(path.local) {
            // Data stays there, or moves there now.
            self.proof.iter_mut().for_each(|proof| proof.selects = false);
            return false;
        }
        self.check_path(now, path, true);
        true
    }

    /// Another request came from there: repeats the check, which may be lost.
    pub(super) fn requested_from(&mut self, path: Path) {
        if self.proof.as_ref().is_some_and(|proof| proof.path == path) {
            self.send_proof(false);
        }
    }

    /// Whether this message answers the check.
    pub(super) fn is_proof(&self, message: &StunMessage<'_>) -> bool {
        let hmac =
            |key: &[u8], payloads: &[&[u8]]| is::Sha1HmacProvider::sha1_hmac(&AwsLcHmac, key, payloads);
        let Some(remote) = self.session.remote_credentials() else { return false };
        message.is_successful_binding_response()
            && self.proof.as_ref().is_some_and(|proof| proof.id == message.trans_id())
            && message.verify(remote.pass.as_bytes(), hmac)
    }

    /// Handles the answer to a check. One from another address proves nothing.
    pub(super) fn handle_proof(&mut self, now: Instant, path: Path) {
        if let Some(proof) = self.proof.take_if(|proof| proof.path == path).filter(|proof| proof.selects) {
            self.use_path(now, proof.path);
            self.has_moved = true;
        }
    }

    pub(super) fn proof_deadline(&self) -> Option<Instant> {
        self.proof.as_ref()?.repeat_at
    }

    /// Repeats the check if it is time to.
    pub(super) fn repeat_proof(&mut self, now: Instant) {
        let Some(proof) = self.proof.as_mut().filter(|proof| proof.repeat_at.is_some_and(|at| at <= now))
        else {
            return;
        };
        proof.repeats += 1;
        proof.repeat_at = (proof.repeats < REPEATS).then(|| now + REPEAT_AFTER * 2);
        self.send_proof(true);
    }

    fn check_path(&mut self, now: Instant, path: Path, selects: bool) {
        if let Some(proof) = self.proof.as_mut().filter(|proof| proof.path == path) {
            proof.selects |= selects;
            return;
        }
        let Some((id, check)) = self.new_check() else { return };
        let repeat_at = Some(now + REPEAT_AFTER);
        self.proof = Some(Proof { path, id, check, selects, repeats: 0, repeat_at });
        self.send_proof(false);
    }

    /// The transaction id must be unknown to a peer that does not receive the check, so it comes from this
    /// agent's generator. The STUN implementation takes such an id only from a message.
    fn new_check(&mut self) -> Option<(TransId, Vec<u8>)> {
        let mut header = [0; 20];
        header[..INDICATION.len()].copy_from_slice(&INDICATION);
        self.rng.fill_bytes(&mut header[INDICATION.len()..]);
        let id = StunMessage::parse(&header).ok()?.trans_id();
        let (local, remote) = (self.session.credentials(), self.session.remote_credentials()?);
        let IceCreds { ufrag, pass } = remote;
        let username = format!("{ufrag}:{}", local.ufrag);
        let message =
            StunMessage::binding_request(&username, id, false, self.tie_breaker, REFLEXIVE_PRIORITY, false);
        let mut check = vec![0; CHECK_BYTES_MAX];
        let hmac =
            |key: &[u8], payloads: &[&[u8]]| is::Sha1HmacProvider::sha1_hmac(&AwsLcHmac, key, payloads);
        let length = message.to_bytes(Some(pass.as_bytes()), &mut check, hmac).ok()?;
        check.truncate(length);
        Some((id, check))
    }

    /// `is_to_stranger`: it is sent without a request from there.
    fn send_proof(&mut self, is_to_stranger: bool) {
        let Some(proof) = &self.proof else { return };
        if self.transmits.len() < TRANSMITS_MAX {
            let (path, bytes) = (proof.path, proof.check.clone());
            self.transmits.push_back(Datagram { path, bytes, is_to_stranger });
        }
    }
}
