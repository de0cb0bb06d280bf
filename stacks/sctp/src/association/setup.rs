//! Association set-up (RFC 9260 section 5), including collisions and restarts.

use std::time::Instant;

use rand::Rng;

use super::cookie::{COOKIE_LIFE, Cookie};
use super::reset::Resets;
use super::state::Phase;
use super::terms::{self, Terms};
use super::timer::Timer;
use super::{Association, Event};
use crate::error::AssociationError;
use crate::inbound::Inbound;
use crate::outbound::Outbound;
use crate::types::Tsn;
use crate::wire::{
    CHUNK_HEADER_BYTES, Cause, CookieEcho, HEADER_BYTES, Header, Init, OperationError, PacketWriter,
    Unrecognized,
};

/// Most doublings of the wait for an answer.
const DOUBLINGS_MAX: u32 = 16;

impl Association {
    /// Starts the set-up, or resends INIT.
    pub(super) fn begin_set_up(&mut self) {
        match self.phase {
            Phase::Waiting => {
                self.phase = Phase::CookieWait;
                self.attempts = 0;
            }
            // It is unknown which of the two is answered, so no round trip is measured.
            Phase::CookieWait => (self.attempts, self.set_up_sent_at) = (self.attempts.max(1), None),
            _ => return,
        }
        self.control.set_up = true;
    }

    /// Our INIT or INIT ACK.
    fn our_init<'a>(&self, tag: u32, tsn: Tsn, cookie: Option<&'a [u8]>) -> Init<'a> {
        let streams = self.config.limits.max_streams;
        Init {
            initiate_tag: tag,
            window_bytes: self.inbound.window_bytes().max(Init::WINDOW_BYTES_MIN),
            outbound_streams: streams,
            inbound_streams: streams,
            initial_tsn: tsn,
            extensions: terms::offer(&self.config),
            cookie,
            unrecognized: Unrecognized::default(),
        }
    }

    /// Writes INIT, alone in its packet and with tag 0 (section 8.5.1).
    pub(super) fn write_init(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        self.control.set_up = false;
        let header = Header { verification_tag: 0, ..self.header() };
        let mut packet = PacketWriter::new(out, header);
        if !self.our_init(self.local_tag, self.local_tsn, None).write(&mut packet) {
            return None;
        }
        self.set_up_sent(now);
        Some(packet.finish(false))
    }

    /// Writes COOKIE ECHO if it is due; returns whether it did.
    pub(super) fn write_cookie_echo(&mut self, now: Instant, packet: &mut PacketWriter<'_>) -> bool {
        let Phase::CookieEchoed { cookie } = &self.phase else { return false };
        if !self.control.set_up || !(CookieEcho { cookie }).write(packet) {
            return false;
        }
        self.control.set_up = false;
        self.set_up_sent(now);
        true
    }

    /// Records that INIT or COOKIE ECHO was written.
    fn set_up_sent(&mut self, now: Instant) {
        self.set_up_sent_at = Some(now).filter(|_| self.attempts == 0);
        let wait = self.config.rto_initial.saturating_mul(1 << self.attempts.min(DOUBLINGS_MAX));
        let wait = wait.min(self.config.rto_max);
        self.timers.start(Timer::SetUp, now, wait);
    }

    /// T1 has expired.
    pub(super) fn handle_set_up_timeout(&mut self) {
        self.attempts += 1;
        let what = match self.phase {
            Phase::CookieWait => "INIT",
            Phase::CookieEchoed { .. } => "COOKIE ECHO",
            _ => return,
        };
        if self.attempts > self.config.limits.max_init_retransmits {
            self.fail(AssociationError::TimedOut(what));
        } else {
            self.control.set_up = true;
        }
    }

    /// Handles an INIT that is alone in its packet, with tag 0 and a correct checksum. It changes no state:
    /// its contents go into the cookie of the answer.
    pub(super) fn handle_init(&mut self, now: Instant, init: &Init<'_>) {
        let header = Header { verification_tag: init.initiate_tag, ..self.header() };
        if init.broken_rule().is_some() {
            self.push_abort(header, false, Cause::InvalidParameter);
            return;
        }
        // Tags for this association as it is or will be, and for a restart by the peer.
        let (local_tag, local_tsn, tie_tags) = match self.phase {
            Phase::Ended => {
                let cause = Cause::ProtocolViolation(b"the association has ended");
                self.push_abort(header, false, cause);
                return;
            }
            // Section 9.2: the peer has lost our SHUTDOWN ACK.
            Phase::ShutdownAckSent => {
                self.control.shutdown_ack = true;
                return;
            }
            Phase::Waiting | Phase::CookieWait => (self.local_tag, self.local_tsn, (0, 0)),
            Phase::CookieEchoed { .. } => {
                (self.local_tag, self.local_tsn, (self.local_tag, self.terms.peer_tag))
            }
            _ => {
                let tie_tags = (self.local_tag, self.terms.peer_tag);
                (super::new_tag(&mut self.rng), Tsn(self.rng.next_u32()), tie_tags)
            }
        };
        let made_at = now.saturating_duration_since(self.created_at);
        let cookie =
            Cookie { made_at, local_tag, local_tsn, tie_tags, terms: Terms::negotiate(init, &self.config) };
        let cookie = cookie.seal(&self.cookie_key);
        let answer = self.our_init(local_tag, local_tsn, Some(&cookie));
        self.control.push_alone(header, |packet| answer.write_ack(packet, init.unrecognized));
    }

    /// Handles an INIT ACK that is alone in its packet, with our tag.
    pub(super) fn handle_init_ack(&mut self, now: Instant, init: &Init<'_>) {
        if !matches!(self.phase, Phase::CookieWait) {
            return;
        }
        let header = Header { verification_tag: init.initiate_tag, ..self.header() };
        let Some(cookie) = init.cookie else {
            self.push_abort(header, false, Cause::MISSING_COOKIE);
            self.end(Some(AssociationError::Unsupported("INIT ACK without a cookie")));
            return;
        };
        if let Some(rule) = init.broken_rule() {
            self.push_abort(header, false, Cause::InvalidParameter);
            self.end(Some(AssociationError::Unsupported(rule)));
            return;
        }
        if cookie.len() > self.discovery.packet_bytes() - HEADER_BYTES - CHUNK_HEADER_BYTES {
            self.push_abort(
                header,
                false,
                Cause::ProtocolViolation(b"the cookie does not fit into a packet"),
            );
            self.end(Some(AssociationError::Unsupported("a cookie longer than a packet")));
            return;
        }
        let terms = Terms::negotiate(init, &self.config);
        if self.refuses_terms(&terms) {
            return;
        }
        self.phase = Phase::CookieEchoed { cookie: cookie.into() };
        self.take_terms(terms);
        self.note_set_up_answer(now);
        self.timers.stop(Timer::SetUp);
        self.attempts = 0;
        self.control.set_up = true;
        self.control.push_unrecognized(init.unrecognized);
    }

    /// Handles a COOKIE ECHO that is first in a packet with this tag. Returns whether to process the chunks
    /// after it.
    pub(super) fn handle_cookie_echo(&mut self, now: Instant, tag: u32, echo: &CookieEcho<'_>) -> bool {
        let Some(cookie) = Cookie::open(echo.cookie, &self.cookie_key) else { return false };
        if cookie.local_tag != tag || matches!(self.phase, Phase::Ended) {
            return false;
        }
        if !self.is_cookie_fresh(now, &cookie) {
            return false;
        }
        match self.match_cookie(&cookie) {
            Match::New => {
                if self.refuses_terms(&cookie.terms) {
                    return false;
                }
                self.take_terms(cookie.terms);
                self.open(now);
            }
            Match::Same => {
                if matches!(self.phase, Phase::CookieEchoed { .. }) {
                    self.open(now);
                }
            }
            Match::Restart if matches!(self.phase, Phase::ShutdownAckSent) => {
                // Section 5.2.4, action A: no restart during a shutdown.
                self.control.shutdown_ack = true;
                self.control.push_error(Cause::CookieWhileShuttingDown);
                return false;
            }
            Match::Restart => self.restart(now, &cookie),
            Match::None => return false,
        }
        self.control.cookie_ack = true;
        true
    }

    /// Handles a COOKIE ACK.
    pub(super) fn handle_cookie_ack(&mut self, now: Instant) {
        if matches!(self.phase, Phase::CookieEchoed { .. }) {
            self.note_set_up_answer(now);
            self.open(now);
        }
    }

    /// Our cookie was stale (section 5.2.6): starts again with the remaining attempts.
    pub(super) fn handle_stale_cookie(&mut self) {
        if matches!(self.phase, Phase::CookieEchoed { .. }) {
            self.timers.stop(Timer::SetUp);
            self.phase = Phase::CookieWait;
            // Bounds the attempts with a peer whose cookies are always stale.
            self.stale_cookies += 1;
            if self.stale_cookies > self.config.limits.max_init_retransmits {
                self.fail(AssociationError::TimedOut("COOKIE ECHO, except with stale cookies"));
            } else {
                self.control.set_up = true;
            }
        }
    }

    /// Checks the cookie's lifetime (section 5.1.5, step 4). A cookie of the existing association is accepted
    /// even when late, because COOKIE ACK may have been lost repeatedly.
    fn is_cookie_fresh(&mut self, now: Instant, cookie: &Cookie) -> bool {
        let age = now.saturating_duration_since(self.created_at).saturating_sub(cookie.made_at);
        if age <= COOKIE_LIFE || matches!(self.match_cookie(cookie), Match::Same) {
            return true;
        }
        let late_by = u32::try_from((age - COOKIE_LIFE).as_micros()).unwrap_or(u32::MAX);
        let header = Header { verification_tag: cookie.terms.peer_tag, ..self.header() };
        self.control
            .push_alone(header, |packet| OperationError::write(packet, [Cause::StaleCookie(late_by)]));
        false
    }

    /// Relation of the cookie to the existing association (section 5.2.4, table 12).
    fn match_cookie(&self, cookie: &Cookie) -> Match {
        let is_local = cookie.local_tag == self.local_tag;
        let is_peer = self.phase.has_peer() && cookie.terms.peer_tag == self.terms.peer_tag;
        let is_tied = self.phase.has_peer() && cookie.tie_tags == (self.local_tag, self.terms.peer_tag);
        match (is_local, is_peer) {
            // Action D.
            (true, true) => Match::Same,
            // Action B: simultaneous set-up. Once established, such a cookie is a late one from a failed
            // attempt: the cookie of a restarting peer carries a new tag of ours (section 5.2.2).
            (true, false) if !self.phase.is_set_up() => Match::New,
            // Action A.
            (false, false) if is_tied => Match::Restart,
            // Action C, and everything not in the table.
            _ => Match::None,
        }
    }

    /// Data sent with a COOKIE ECHO cannot be resent under different parameters. A peer has no reason to
    /// change them during the set-up, so this ends the association.
    fn refuses_terms(&mut self, terms: &Terms) -> bool {
        let refuses = !self.outbound.agrees_with(terms.peer());
        if refuses {
            let header = Header { verification_tag: terms.peer_tag, ..self.header() };
            self.push_abort(
                header,
                false,
                Cause::ProtocolViolation(b"the parameters changed during the set-up"),
            );
            self.end(Some(AssociationError::Unsupported("parameters that change during the set-up")));
        }
        refuses
    }

    /// Adopts the negotiated parameters.
    fn take_terms(&mut self, terms: Terms) {
        self.terms = terms;
        self.resets = Resets::new(self.local_tsn, terms.peer_tsn);
        self.inbound = Inbound::new(&self.config);
        self.inbound.open(terms.peer_tsn, terms.inbound_streams, terms.interleaving);
        self.outbound.open(terms.peer());
    }

    /// The association is established.
    fn open(&mut self, now: Instant) {
        self.timers.stop(Timer::SetUp);
        self.control.set_up = false;
        self.attempts = 0;
        self.phase = if self.wants_shutdown { Phase::ShutdownPending } else { Phase::Established };
        self.events.push(Event::Connected);
        self.start_path(now);
        self.share_rtt();
        self.advance_shutdown();
    }

    /// Restarts the association after the peer did, discarding all earlier state (section 5.2.4.1).
    fn restart(&mut self, now: Instant, cookie: &Cookie) {
        let wants_shutdown = matches!(self.phase, Phase::ShutdownPending | Phase::ShutdownSent);
        self.timers.stop_all();
        self.control.clear_chunks();
        self.events.forget_resets();
        self.messages_taken = 0;
        self.attempts = 0;
        self.local_tag = cookie.local_tag;
        self.local_tsn = cookie.local_tsn;
        self.outbound = Outbound::after(&self.outbound, &self.config, cookie.local_tsn);
        self.discovery.reset();
        self.take_terms(cookie.terms);
        self.phase = if wants_shutdown { Phase::ShutdownPending } else { Phase::Established };
        self.events.push_once(Event::Restarted);
        self.start_path(now);
        self.advance_shutdown();
    }

    /// INIT or COOKIE ECHO was answered: a round-trip sample, if it was sent only once (section 6.3.1, rule
    /// C5).
    fn note_set_up_answer(&mut self, now: Instant) {
        if let Some(sent_at) = self.set_up_sent_at.take() {
            self.outbound.handle_rtt(now.saturating_duration_since(sent_at));
        }
    }
}

/// Relation of a cookie to the association.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    /// It establishes the association, or replaces what an INIT ACK announced.
    New,
    /// It belongs to the association.
    Same,
    /// The peer has restarted.
    Restart,
    /// It does not match.
    None,
}
