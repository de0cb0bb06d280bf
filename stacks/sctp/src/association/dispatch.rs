//! Incoming packets: to which association they belong (RFC 9260 sections 8.4 and 8.5), and which part handles
//! each chunk.

use std::time::Instant;

use super::Association;
use super::state::Phase;
use crate::error::ProtocolViolation;
use crate::wire::packet::checksum_holds;
use crate::wire::{
    Abort, Cause, Chunk, Chunks, CookieEcho, Data, ForwardTsn, Header, Init, OperationError, RawChunk, Sack,
    ShutdownAck, ShutdownComplete,
};

/// What has been seen in the packet so far.
#[derive(Debug, Default)]
struct Seen {
    data: bool,
    sack: bool,
}

/// Whether to process the following chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Discard,
}

impl Association {
    /// See [`Association::handle_packet`].
    #[inline]
    pub(super) fn take_packet(&mut self, now: Instant, packet: &[u8]) {
        let Ok((header, chunks)) = Header::parse(packet) else { return };
        let is_ours = header.destination_port == self.config.local_port
            && header.source_port == self.config.remote_port;
        // Before INIT or INIT ACK is sent, zero checksums have not been offered; a COOKIE ECHO always
        // needs its checksum.
        let zero_allowed = self.config.zero_checksum && !matches!(self.phase, Phase::Waiting);
        if !is_ours || !checksum_holds(packet, zero_allowed) {
            return;
        }
        if header.verification_tag == self.local_tag && self.phase.has_peer() {
            self.packets_received += 1;
            self.take_chunks(now, header.verification_tag, chunks);
        } else {
            self.take_stray(now, packet, header.verification_tag, chunks);
        }
    }

    /// Processes the chunks of a packet with our tag.
    #[inline]
    fn take_chunks(&mut self, now: Instant, tag: u32, chunks: Chunks<'_>) {
        let mut seen = Seen::default();
        let most = self.config.limits.max_chunks_per_packet;
        for (place, chunk) in chunks.take(most).enumerate() {
            let Ok(chunk) = chunk else { break };
            let next = match chunk.kind {
                Data::KIND | Data::KIND_INTERLEAVED => self.take_data(now, &chunk, &mut seen),
                Sack::KIND => self.take_sack(now, &chunk, &mut seen),
                _ => self.take_control(now, tag, place, &chunk, &mut seen),
            };
            if next == Next::Discard {
                break;
            }
        }
        if seen.data && !matches!(self.phase, Phase::Ended) {
            self.after_data(now);
        }
        if seen.sack {
            self.after_sack(now);
        }
    }

    #[inline]
    fn take_data(&mut self, now: Instant, chunk: &RawChunk<'_>, seen: &mut Seen) -> Next {
        if !self.phase.takes_data() {
            // Section 6: discarded in all other states; timers resend SHUTDOWN ACK or COOKIE ECHO.
            return Next::GoOn;
        }
        let Ok(data) = Data::parse(chunk) else { return self.take_malformed_data(chunk) };
        seen.data = true;
        match self.inbound.handle_data(now, &data) {
            Ok(()) => Next::GoOn,
            Err(violation) => self.discard_for(violation),
        }
    }

    #[cold]
    fn take_malformed_data(&mut self, chunk: &RawChunk<'_>) -> Next {
        if let Some(tsn) = Data::tsn_without_payload(chunk) {
            self.abort_for_no_data(tsn);
        }
        Next::Discard
    }

    #[inline]
    fn take_sack(&mut self, now: Instant, chunk: &RawChunk<'_>, seen: &mut Seen) -> Next {
        let Ok(sack) = Sack::parse(chunk) else { return Next::Discard };
        if !self.phase.is_set_up() {
            return Next::GoOn;
        }
        seen.sack = true;
        let acked_before = self.outbound.cumulative_tsn_acked();
        match self.outbound.handle_sack(now, &sack) {
            Ok(()) => {
                if self.outbound.cumulative_tsn_acked() != acked_before {
                    self.path.note_answer();
                }
                Next::GoOn
            }
            Err(violation) => self.discard_for(violation),
        }
    }

    /// Processes all other chunks.
    fn take_control(
        &mut self,
        now: Instant,
        tag: u32,
        place: usize,
        raw: &RawChunk<'_>,
        seen: &mut Seen,
    ) -> Next {
        let Ok(chunk) = Chunk::parse(raw) else { return Next::Discard };
        match chunk {
            // A cookie comes first, INIT and similar chunks alone (sections 3.3.11 and 6.10); otherwise
            // they are strays.
            Chunk::CookieEcho(echo) if place == 0 => {
                return if self.handle_cookie_echo(now, tag, &echo) { Next::GoOn } else { Next::Discard };
            }
            Chunk::CookieAck(_) => self.handle_cookie_ack(now),
            Chunk::Heartbeat(heartbeat) => self.control.push_echo(heartbeat.info),
            Chunk::HeartbeatAck(heartbeat) if self.phase.is_set_up() => {
                self.handle_heartbeat_ack(now, &heartbeat)
            }
            Chunk::Abort(abort) => return self.take_abort(tag, &abort),
            Chunk::Error(error) => self.take_error(&error),
            Chunk::Shutdown(shutdown) => {
                seen.sack = true;
                self.handle_shutdown(now, &shutdown);
            }
            Chunk::ShutdownAck(_) => self.handle_shutdown_ack(tag),
            Chunk::ShutdownComplete(complete) if place == 0 => {
                if self.is_tag_right(tag, complete.tag_reflected) {
                    self.handle_shutdown_complete();
                }
                return Next::Discard;
            }
            Chunk::ReConfig(chunk) if self.phase.is_set_up() => self.handle_re_config(now, &chunk),
            Chunk::ForwardTsn(forward) if self.phase.takes_data() => {
                seen.data = true;
                return self.take_forward_tsn(now, raw.kind, &forward);
            }
            Chunk::Init(_) | Chunk::InitAck(_) | Chunk::CookieEcho(_) | Chunk::ShutdownComplete(_) => {
                return Next::Discard;
            }
            Chunk::Unknown { raw, .. } => return self.take_unknown(&raw),
            Chunk::HeartbeatAck(_) | Chunk::ReConfig(_) | Chunk::ForwardTsn(_) => {}
            Chunk::Pad(_) | Chunk::Data(_) | Chunk::Sack(_) => {}
        }
        if matches!(self.phase, Phase::Ended) { Next::Discard } else { Next::GoOn }
    }

    fn take_abort(&mut self, tag: u32, abort: &Abort<'_>) -> Next {
        if self.is_tag_right(tag, abort.tag_reflected) {
            self.handle_abort(abort);
        }
        Next::Discard
    }

    /// ABORT and SHUTDOWN COMPLETE carry our tag, or with the T bit that of the peer (section 8.5.1).
    fn is_tag_right(&self, tag: u32, is_reflected: bool) -> bool {
        match is_reflected {
            false => tag == self.local_tag,
            true => self.phase.has_peer() && tag == self.terms.peer_tag,
        }
    }

    fn take_error(&mut self, error: &OperationError<'_>) {
        if { error.causes }.any(|cause| matches!(cause, Cause::StaleCookie(_))) {
            self.handle_stale_cookie();
        }
    }

    fn take_forward_tsn(&mut self, now: Instant, kind: u8, forward: &ForwardTsn<'_>) -> Next {
        if (kind == ForwardTsn::KIND_INTERLEAVED) != self.terms.interleaving {
            let rule = "I-FORWARD-TSN comes with I-DATA, FORWARD-TSN without";
            return self.discard_for(ProtocolViolation { section: "RFC 8260 section 2.3.1", rule });
        }
        match self.inbound.handle_forward_tsn(now, forward.new_cumulative_tsn, forward.skipped) {
            Ok(()) => Next::GoOn,
            Err(violation) => self.discard_for(violation),
        }
    }

    /// Handles a chunk of unknown type according to its two high bits (section 3.2).
    fn take_unknown(&mut self, chunk: &RawChunk<'_>) -> Next {
        if chunk.reports_if_unknown() {
            self.control.push_error(Cause::UnrecognizedChunk(*chunk));
        }
        if chunk.skips_if_unknown() { Next::GoOn } else { Next::Discard }
    }

    #[cold]
    fn discard_for(&mut self, violation: ProtocolViolation) -> Next {
        self.violated(violation);
        Next::Discard
    }

    /// Called after the data of a packet has been processed.
    #[inline]
    fn after_data(&mut self, now: Instant) {
        self.inbound.end_of_packet(now);
        if self.resets.is_deferred() {
            self.resume_deferred_reset();
        }
        while let Some(stream) = self.inbound.poll_invalid_stream() {
            self.control.push_error(Cause::InvalidStream(stream));
        }
        if matches!(self.phase, Phase::ShutdownSent) {
            // Section 9.2: answered with a SHUTDOWN at once, and T2 restarts.
            self.control.shutdown = true;
            self.attempts = 0;
        }
    }

    /// Called after data of ours has been acknowledged.
    #[inline]
    fn after_sack(&mut self, now: Instant) {
        self.path.note_activity(now);
        self.share_rtt();
        self.advance_shutdown();
    }

    /// Handles a packet with a wrong tag, or without an association. Its first chunk decides.
    #[cold]
    fn take_stray(&mut self, now: Instant, packet: &[u8], tag: u32, chunks: Chunks<'_>) {
        let mut rest = chunks.clone();
        let Some(Ok(raw)) = rest.next() else { return };
        let is_alone = rest.clone().next().is_none();
        match raw.kind {
            // RFC 9653 section 5.2: an INIT must have a correct checksum.
            Init::KIND if tag == 0 && is_alone && checksum_holds(packet, false) => {
                if let Ok(init) = Init::parse(&raw) {
                    self.packets_received += 1;
                    self.handle_init(now, &init);
                }
            }
            Init::KIND => {}
            Init::KIND_ACK => {
                if let Ok(init) = Init::parse(&raw)
                    && is_alone
                    && tag == self.local_tag
                {
                    self.packets_received += 1;
                    self.handle_init_ack(now, &init);
                }
            }
            // RFC 9653 section 5.2: so must a COOKIE ECHO.
            CookieEcho::KIND if !matches!(self.phase, Phase::Ended) => {
                let is_checked = checksum_holds(packet, false);
                if is_checked && self.handle_cookie_echo(now, tag, &CookieEcho::parse(&raw)) {
                    self.packets_received += 1;
                    self.take_chunks(now, tag, rest);
                }
            }
            Abort::KIND => {
                self.take_abort(tag, &Abort::parse(&raw));
            }
            ShutdownComplete::KIND => {
                let is_reflected = ShutdownComplete::parse(&raw).tag_reflected;
                if is_alone && self.is_tag_right(tag, is_reflected) {
                    self.handle_shutdown_complete();
                }
            }
            ShutdownAck::KIND if !self.phase.is_set_up() => self.handle_shutdown_ack(tag),
            _ if matches!(self.phase, Phase::Ended) => self.answer_after_the_end(tag, chunks),
            _ => {}
        }
    }
}
