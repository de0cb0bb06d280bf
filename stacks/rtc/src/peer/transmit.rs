//! Outgoing datagrams.

use std::time::Instant;

use super::PeerConnection;
use crate::dtls::{TAILROOM, Version};
use crate::ice::Path;
use crate::log::log;
use crate::transmit::{Arena, MAX_SEGMENTS, Transmit};

impl PeerConnection {
    /// Fills the arena with up to `max_segments` datagrams for one destination. `None`: nothing to send now.
    ///
    /// STUN and the DTLS handshake are sent first, one datagram at a time.
    pub fn poll_transmit(
        &mut self,
        now: Instant,
        arena: &mut Arena,
        max_segments: usize,
    ) -> Option<Transmit> {
        self.now = now;
        self.is_to_stranger = false;
        let transmit = match self.is_over() {
            true => self.transmit_farewell(now, arena),
            false => self
                .transmit_stun(now, arena)
                .or_else(|| self.transmit_handshake(now, arena))
                .or_else(|| self.transmit_packets(now, arena, max_segments.clamp(1, MAX_SEGMENTS))),
        }?;
        self.counters.traffic.bytes_sent += transmit.length as u64;
        self.counters.traffic.packets_sent += transmit.length.div_ceil(transmit.segment_bytes) as u64;
        Some(transmit)
    }

    /// Whether the last result of [`poll_transmit`](Self::poll_transmit) is an unsolicited check: to an
    /// address that has answered none and sent none. An attacker who can supply descriptions can direct as
    /// many of these at a third party as a connection sends, at most 256. A server with many connections
    /// should limit their total and drop the excess: checks are repeated, and a check by the peer causes one
    /// that is not unsolicited.
    pub fn is_to_stranger(&self) -> bool {
        self.is_to_stranger
    }

    fn transmit_stun(&mut self, now: Instant, arena: &mut Arena) -> Option<Transmit> {
        let datagram = self.ice.poll_transmit()?;
        self.is_to_stranger = datagram.is_to_stranger;
        let bytes = arena.bytes_mut().get_mut(..datagram.bytes.len())?;
        bytes.copy_from_slice(&datagram.bytes);
        if self.pairs.sent(now, datagram.path, bytes) {
            let Path { local, remote } = datagram.path;
            log!(DEBUG, self.session_id(), "first check to {remote} from {local}");
        }
        Some(one(datagram.path, bytes.len()))
    }

    /// A handshake datagram. The last one of a DTLS 1.3 flight has space for data of the association, which
    /// saves the peer a datagram and this side a delay.
    fn transmit_handshake(&mut self, now: Instant, arena: &mut Arena) -> Option<Transmit> {
        let path = self.ice.selected()?;
        let transport = &mut self.transport;
        let dtls = transport.dtls.as_mut()?;
        let bytes = arena.bytes_mut();
        let length = dtls.poll_transmit(bytes)?;
        let association = transport.association.as_mut();
        let is_last = !dtls.has_transmits() && dtls.version() == Some(Version::Dtls13) && dtls.can_seal();
        let Some(association) = association.filter(|_| is_last && transport.held_over.is_empty()) else {
            return Some(one(path, length));
        };
        let (headroom, rest) = (dtls.headroom(), &mut bytes[length..]);
        let packet = association.poll_transmit(now, &mut rest[headroom..headroom + transport.widest_packet]);
        let sealed = packet.map_or(0, |packet| dtls.seal(rest, packet));
        if length + sealed <= self.config.datagram_bytes {
            return Some(one(path, length + sealed));
        }
        transport.held_over.extend_from_slice(&rest[..sealed]);
        Some(one(path, length))
    }

    /// Consecutive packets of the association, each sealed in place.
    fn transmit_packets(&mut self, now: Instant, arena: &mut Arena, max_segments: usize) -> Option<Transmit> {
        let path = self.ice.selected()?;
        let transport = &mut self.transport;
        let dtls = transport.dtls.as_mut().filter(|dtls| dtls.can_seal())?;
        let association = transport.association.as_mut()?;
        let bytes = arena.bytes_mut();
        let headroom = dtls.headroom();
        // The longest packet, and the longest one that is not a path MTU probe.
        let widest = transport.widest_packet;
        let usual = association.stats().packet_bytes.min(widest);
        let mut filled = transport.held_over.len();
        let mut segment_bytes = filled;
        bytes[..filled].copy_from_slice(&transport.held_over);
        transport.held_over.clear();
        let mut segments = usize::from(filled > 0);
        while segments < max_segments {
            let rest = &mut bytes[filled..];
            let room = rest.len().saturating_sub(headroom + TAILROOM).min(widest);
            if room < usual {
                break;
            }
            let Some(length) = association.poll_transmit(now, &mut rest[headroom..headroom + room]) else {
                break;
            };
            let sealed = dtls.seal(rest, length);
            if sealed == 0 {
                break;
            }
            if segments == 0 {
                segment_bytes = sealed;
            } else if sealed > segment_bytes {
                // Space for an unusually long packet is not kept.
                transport.held_over.shrink_to(usual + headroom + TAILROOM);
                transport.held_over.extend_from_slice(&rest[..sealed]);
                break;
            }
            filled += sealed;
            segments += 1;
            if sealed < segment_bytes {
                break;
            }
        }
        (filled > 0).then_some(Transmit {
            local: path.local,
            remote: path.remote,
            length: filled,
            segment_bytes,
        })
    }

    /// The association's ABORT and close_notify in one datagram, as two DTLS records.
    fn transmit_farewell(&mut self, now: Instant, arena: &mut Arena) -> Option<Transmit> {
        if !std::mem::take(&mut self.transport.farewell) {
            return None;
        }
        let path = self.ice.selected();
        self.ice.close();
        let mut dtls = self.transport.dtls.take()?;
        let (path, bytes) = (path?, arena.bytes_mut());
        let mut filled = 0;
        if let Some(association) = self.transport.association.as_mut().filter(|_| dtls.is_connected()) {
            let (headroom, widest) = (dtls.headroom(), self.transport.widest_packet);
            let out = &mut bytes[headroom..headroom + widest];
            if let Some(length) = association.poll_transmit(now, out) {
                filled = dtls.seal(bytes, length);
            }
        }
        dtls.close();
        while let Some(length) = dtls.poll_transmit(&mut bytes[filled..]) {
            filled += length;
        }
        (filled > 0).then(|| one(path, filled))
    }
}

fn one(path: Path, length: usize) -> Transmit {
    Transmit { local: path.local, remote: path.remote, length, segment_bytes: length }
}
