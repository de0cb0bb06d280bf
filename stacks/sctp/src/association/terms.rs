//! What the two sides agree on in INIT and INIT ACK.

use crate::config::Config;
use crate::outbound::Peer;
use crate::types::Tsn;
use crate::wire::{Extensions, Init};

const INTERLEAVING: u8 = 1;
const FORWARD_TSN: u8 = 2;
const RE_CONFIG: u8 = 4;
const ZERO_CHECKSUM: u8 = 8;

/// The peer's part, and what both can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Terms {
    /// Verification tag of the packets to the peer.
    pub(super) peer_tag: u32,
    /// The peer's first TSN.
    pub(super) peer_tsn: Tsn,
    /// The peer's receive window.
    pub(super) window_bytes: u32,
    /// Streams that we may send on.
    pub(super) outbound_streams: u16,
    /// Streams that the peer may send on.
    pub(super) inbound_streams: u16,
    /// Data goes in I-DATA, both ways.
    pub(super) interleaving: bool,
    /// We may send FORWARD-TSN, or I-FORWARD-TSN if interleaving.
    pub(super) forward_tsn: bool,
    /// We may send RE-CONFIG.
    pub(super) re_config: bool,
    /// We send packets with a checksum of zero.
    pub(super) zero_checksum: bool,
}

impl Terms {
    /// What follows from the peer's INIT or INIT ACK, and from what we offer.
    pub(super) fn of(init: &Init<'_>, config: &Config) -> Self {
        let theirs = init.extensions;
        Self {
            peer_tag: init.initiate_tag,
            peer_tsn: init.initial_tsn,
            window_bytes: init.window_bytes,
            outbound_streams: init.inbound_streams.min(config.limits.max_streams),
            inbound_streams: init.outbound_streams.min(config.limits.max_streams),
            interleaving: theirs.interleaving && config.interleaving,
            // RFC 8260 section 2.3.1: with I-DATA, who knows FORWARD-TSN knows I-FORWARD-TSN too.
            forward_tsn: theirs.forward_tsn || theirs.interleaved_forward_tsn,
            re_config: theirs.re_config,
            zero_checksum: theirs.zero_checksum && config.zero_checksum,
        }
    }

    /// What the sending half needs of it.
    pub(super) fn peer(&self) -> Peer {
        Peer {
            window_bytes: self.window_bytes,
            streams: self.outbound_streams,
            interleaving: self.interleaving,
            forward_tsn: self.forward_tsn,
        }
    }

    /// The four yes-or-no terms as bits of a cookie.
    pub(super) fn flags(&self) -> u8 {
        let bits = [
            (self.interleaving, INTERLEAVING),
            (self.forward_tsn, FORWARD_TSN),
            (self.re_config, RE_CONFIG),
            (self.zero_checksum, ZERO_CHECKSUM),
        ];
        bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
    }

    /// Terms with the yes-or-no part of a cookie, and nothing else.
    pub(super) fn from_flags(flags: u8) -> Self {
        Self {
            interleaving: flags & INTERLEAVING != 0,
            forward_tsn: flags & FORWARD_TSN != 0,
            re_config: flags & RE_CONFIG != 0,
            zero_checksum: flags & ZERO_CHECKSUM != 0,
            ..Self::default()
        }
    }
}

/// What we offer.
pub(super) fn offer(config: &Config) -> Extensions {
    Extensions {
        re_config: true,
        forward_tsn: true,
        interleaving: config.interleaving,
        interleaved_forward_tsn: config.interleaving,
        zero_checksum: config.zero_checksum,
    }
}
