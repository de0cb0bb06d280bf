//! Outgoing packets.

use std::time::Instant;

use super::Association;
use super::state::Phase;
use crate::wire::{CookieAck, HEADER_BYTES, Header, PacketWriter, Shutdown};

/// Smallest buffer that is written to: the smallest packet size that `Config::validate` allows.
const OUT_BYTES_MIN: usize = 508;
/// A SACK without gap blocks.
const SACK_BYTES: usize = 16;

impl Association {
    /// The common header of packets to the peer.
    #[inline]
    pub(super) fn header(&self) -> Header {
        Header {
            source_port: self.config.local_port,
            destination_port: self.config.remote_port,
            verification_tag: self.terms.peer_tag,
        }
    }

    /// See [`Association::poll_transmit`].
    #[inline]
    pub(super) fn write_packet(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        if out.len() < OUT_BYTES_MIN {
            return None;
        }
        if let Some(length) = self.control.pop_alone(out) {
            return Some(length);
        }
        let limit = out.len().min(self.discovery.packet_bytes());
        match self.phase {
            Phase::Waiting | Phase::Ended => None,
            Phase::CookieWait if self.control.set_up => self.write_init(now, &mut out[..limit]),
            Phase::CookieWait => None,
            Phase::CookieEchoed { .. } => self.write_first(now, &mut out[..limit]),
            _ => self.write_open(now, &mut out[..limit]).or_else(|| self.write_probe(now, out)),
        }
    }

    /// Writes COOKIE ECHO and as much data as fits with it (section 5.1). Nothing else is sent until it is
    /// answered.
    fn write_first(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        if !self.control.set_up {
            return None;
        }
        let mut packet = PacketWriter::new(out, self.header());
        if !self.write_cookie_echo(now, &mut packet) {
            return None;
        }
        self.control.write_errors(&mut packet);
        if self.outbound.wants_to_send(now) {
            self.outbound.write(now, &mut packet);
        }
        // RFC 9653 section 5.2: a packet with a COOKIE ECHO has a correct checksum.
        Some(packet.finish(false))
    }

    /// Writes everything that is due in an established association: SACK and other control chunks first
    /// (section 6.10), then data.
    #[inline]
    fn write_open(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        let has_data = self.phase.gives_data() && self.outbound.wants_to_send(now);
        let has_sack = self.inbound.wants_to_send() || (has_data && self.is_sack_welcome(out.len()));
        let has_control = self.has_control();
        if !(has_data || has_sack || has_control) {
            return None;
        }
        let mut packet = PacketWriter::new(out, self.header());
        // It establishes the association for the peer, which would discard chunks before it.
        if self.control.cookie_ack && CookieAck.write(&mut packet) {
            self.control.cookie_ack = false;
        }
        if has_sack {
            self.inbound.write_sack(&mut packet);
        }
        if has_control {
            self.write_control(now, &mut packet);
        }
        if has_data && self.outbound.write(now, &mut packet) {
            self.inbound.answers();
            self.path.note_activity(now);
        }
        (!packet.is_empty()).then(|| packet.finish(self.terms.zero_checksum))
    }

    /// Whether a SACK that is not due may be added: only if it does not displace the data chunk that it would
    /// accompany.
    #[inline]
    fn is_sack_welcome(&self, limit: usize) -> bool {
        self.inbound.has_news() && HEADER_BYTES + SACK_BYTES + self.outbound.next_chunk_bytes() <= limit
    }

    /// Whether anything besides data and SACKs is pending.
    #[inline]
    fn has_control(&self) -> bool {
        !self.control.is_empty() || !self.resets.is_at_rest() || self.path.is_due()
    }

    fn write_control(&mut self, now: Instant, packet: &mut PacketWriter<'_>) {
        let has_shutdown_ack = self.control.shutdown_ack;
        self.control.write(packet);
        if has_shutdown_ack && !self.control.shutdown_ack {
            self.shutdown_written(now);
        }
        if self.control.shutdown {
            let shutdown = Shutdown { cumulative_tsn: self.inbound.cumulative_tsn() };
            if shutdown.write(packet) {
                self.control.shutdown = false;
                self.shutdown_written(now);
            }
        }
        if !self.resets.is_at_rest() {
            self.write_resets(now, packet);
        }
        if self.path.is_due() {
            self.write_heartbeat(now, packet);
        }
    }
}
