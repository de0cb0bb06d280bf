//! Termination: shutdown (RFC 9260 section 9.2), ABORT (section 9.1), and packets that arrive afterwards
//! (section 8.4).

use std::time::Instant;

use super::state::Phase;
use super::timer::Timer;
use super::{Association, Event};
use crate::error::{AssociationError, ProtocolViolation};
use crate::types::Tsn;
use crate::wire::{
    Abort, Cause, Chunks, CookieAck, Header, OperationError, RawChunk, Shutdown, ShutdownComplete,
};

/// T5 as a multiple of RTO.Max (section 9.2).
const GUARD_RTOS: u32 = 5;
/// Most doublings of the wait for an answer.
const DOUBLINGS_MAX: u32 = 16;
/// Longest reason text in an ABORT.
const ABORT_TEXT_BYTES_MAX: usize = 256;

impl Association {
    /// See [`Association::shutdown`].
    pub(super) fn begin_shutdown(&mut self) {
        match self.phase {
            Phase::Waiting => self.end(None),
            Phase::CookieWait | Phase::CookieEchoed { .. } => self.wants_shutdown = true,
            Phase::Established => {
                self.phase = Phase::ShutdownPending;
                self.advance_shutdown();
            }
            _ => {}
        }
    }

    /// Continues a pending shutdown if all of our data has arrived.
    pub(super) fn advance_shutdown(&mut self) {
        if !self.phase.is_draining() || !self.outbound.is_drained() {
            return;
        }
        self.attempts = 0;
        if matches!(self.phase, Phase::ShutdownPending) {
            self.phase = Phase::ShutdownSent;
            self.control.shutdown = true;
        } else {
            self.phase = Phase::ShutdownAckSent;
            self.control.shutdown_ack = true;
        }
    }

    /// Records that SHUTDOWN or SHUTDOWN ACK was written.
    pub(super) fn shutdown_written(&mut self, now: Instant) {
        let rto = self.outbound.rto();
        let wait =
            rto.saturating_mul(1 << self.attempts.min(DOUBLINGS_MAX)).min(self.config.rto_max.max(rto));
        self.timers.start(Timer::Shutdown, now, wait);
        if !self.timers.is_running(Timer::ShutdownGuard) {
            let guard = self.config.rto_max.saturating_mul(GUARD_RTOS);
            self.timers.start(Timer::ShutdownGuard, now, guard);
        }
    }

    /// T2 has expired.
    pub(super) fn handle_shutdown_timeout(&mut self) {
        self.attempts += 1;
        let (flag, what) = match self.phase {
            Phase::ShutdownSent => (&mut self.control.shutdown, "SHUTDOWN"),
            Phase::ShutdownAckSent => (&mut self.control.shutdown_ack, "SHUTDOWN ACK"),
            _ => return,
        };
        *flag = true;
        if self.attempts > self.config.limits.max_retransmits {
            self.fail(AssociationError::TimedOut(what));
        }
    }

    /// Handles a SHUTDOWN.
    pub(super) fn handle_shutdown(&mut self, now: Instant, shutdown: &Shutdown) {
        match self.phase {
            Phase::Established | Phase::ShutdownPending => self.phase = Phase::ShutdownReceived,
            Phase::ShutdownReceived => {}
            // Both sides shut down at the same time, or our SHUTDOWN ACK was lost.
            Phase::ShutdownSent => {
                self.attempts = 0;
                self.phase = Phase::ShutdownAckSent;
                self.control.shutdown = false;
                self.control.shutdown_ack = true;
            }
            Phase::ShutdownAckSent => self.control.shutdown_ack = true,
            _ => return,
        }
        match self.outbound.handle_cumulative_tsn(now, shutdown.cumulative_tsn) {
            Ok(()) => self.advance_shutdown(),
            Err(violation) => self.violated(violation),
        }
    }

    /// Handles a SHUTDOWN ACK.
    pub(super) fn handle_shutdown_ack(&mut self, tag: u32) {
        match self.phase {
            Phase::ShutdownSent | Phase::ShutdownAckSent => {
                let header = self.header();
                self.push_shutdown_complete(header, false);
                self.end(None);
            }
            // Section 8.5.1, E: the peer ends an association that no longer exists here.
            Phase::Waiting | Phase::CookieWait | Phase::CookieEchoed { .. } | Phase::Ended => {
                let header = Header { verification_tag: tag, ..self.header() };
                self.push_shutdown_complete(header, true);
            }
            _ => {}
        }
    }

    /// Handles a SHUTDOWN COMPLETE with a valid tag.
    pub(super) fn handle_shutdown_complete(&mut self) {
        if matches!(self.phase, Phase::ShutdownAckSent) {
            self.end(None);
        }
    }

    /// Handles an ABORT with a valid tag.
    pub(super) fn handle_abort(&mut self, abort: &Abort<'_>) {
        match self.phase {
            Phase::Waiting => return,
            // All data has arrived in both directions and the peer has ended the association: the ABORT
            // answers a late packet of ours. Its SHUTDOWN COMPLETE is in flight or lost.
            Phase::ShutdownAckSent => return self.end(None),
            _ => {}
        }
        let reason = { abort.causes }.next().map_or_else(|| "no reason given".to_owned(), |c| c.to_string());
        self.end(Some(AssociationError::Aborted(reason)));
    }

    /// See [`Association::abort`].
    pub(super) fn abort_by_user(&mut self, reason: &str) {
        if self.phase.has_peer() {
            // The peer would truncate it too.
            let end = reason.floor_char_boundary(ABORT_TEXT_BYTES_MAX);
            let header = self.header();
            self.push_abort(header, false, Cause::UserAbort(&reason.as_bytes()[..end]));
        }
        self.end(None);
    }

    /// The peer violated a rule: reports the rule and ends the association.
    #[cold]
    pub(super) fn violated(&mut self, violation: ProtocolViolation) {
        let text = violation.to_string();
        let header = self.header();
        self.push_abort(header, false, Cause::ProtocolViolation(text.as_bytes()));
        self.end(Some(violation.into()));
    }

    /// Aborts because of a DATA chunk without data.
    #[cold]
    pub(super) fn abort_for_no_data(&mut self, tsn: Tsn) {
        let header = self.header();
        self.push_abort(header, false, Cause::NoUserData(tsn));
        let rule = "a DATA chunk has at least one byte of user data";
        self.end(Some(ProtocolViolation { section: "RFC 9260 section 6.2", rule }.into()));
    }

    /// The peer does not answer. Still sends an ABORT, in case it receives us.
    pub(super) fn fail(&mut self, error: AssociationError) {
        if self.phase.has_peer() {
            let header = self.header();
            self.push_abort(header, false, Cause::ProtocolViolation(error.to_string().as_bytes()));
        }
        self.end(Some(error));
    }

    /// Ends the association.
    pub(super) fn end(&mut self, error: Option<AssociationError>) {
        if !matches!(self.phase, Phase::Ended) {
            self.phase = Phase::Ended;
            self.timers.stop_all();
            self.control.clear_chunks();
            self.events.push(Event::Closed(error));
        }
    }

    /// Answers a packet for an association that has ended (section 8.4). Each packet causes at most one
    /// answer, and packets that may be answers themselves cause none.
    pub(super) fn answer_after_the_end(&mut self, tag: u32, chunks: Chunks<'_>) {
        let is_answer = |chunk: RawChunk<'_>| {
            [Abort::KIND, ShutdownComplete::KIND, CookieAck::KIND, OperationError::KIND].contains(&chunk.kind)
        };
        let mut chunks = chunks.take(self.config.limits.max_chunks_per_packet);
        if !chunks.any(|chunk| chunk.is_ok_and(is_answer)) {
            let header = Header { verification_tag: tag, ..self.header() };
            self.push_abort(header, true, Cause::ProtocolViolation(b"the association has ended"));
        }
    }

    /// Queues an ABORT as a separate packet.
    pub(super) fn push_abort(&mut self, header: Header, tag_reflected: bool, cause: Cause<'_>) {
        self.control.push_alone(header, |packet| Abort::write(packet, tag_reflected, [cause]));
    }

    fn push_shutdown_complete(&mut self, header: Header, tag_reflected: bool) {
        self.control.push_alone(header, |packet| ShutdownComplete { tag_reflected }.write(packet));
    }
}
