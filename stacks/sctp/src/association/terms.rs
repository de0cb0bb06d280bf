//! Parameters negotiated by INIT and INIT ACK.

use crate::config::Config;
use crate::outbound::Peer;
use crate::types::Tsn;
use crate::wire::{Extensions, Init};

const INTERLEAVING: u8 = 1;
const FORWARD_TSN: u8 = 2;
const RE_CONFIG: u8 = 4;
const ZERO_CHECKSUM: u8 = 8;

/// The peer's parameters, and the capabilities common to both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Terms {
    /// Verification tag of packets to the peer.
    pub(super) peer_tag: u32,
    /// The peer's initial TSN.
    pub(super) peer_tsn: Tsn,
    /// The peer's receive window.
    pub(super) window_bytes: u32,
    /// Number of outgoing streams.
    pub(super) outbound_streams: u16,
    /// Number of incoming streams.
    pub(super) inbound_streams: u16,
    /// Data is sent as I-DATA in both directions.
    pub(super) interleaving: bool,
    /// We may send FORWARD-TSN, or I-FORWARD-TSN if interleaving.
    pub(super) forward_tsn: bool,
    /// We may send RE-CONFIG.
    pub(super) re_config: bool,
    /// Packets are sent with a checksum of zero.
    pub(super) zero_checksum: bool,
}

impl Terms {
    /// Negotiates from the peer's INIT or INIT ACK and our offer.
    pub(super) fn negotiate(init: &Init<'_>, config: &Config) -> Self {
        let theirs = init.extensions;
        Self {
            peer_tag: init.initiate_tag,
            peer_tsn: init.initial_tsn,
            window_bytes: init.window_bytes,
            outbound_streams: init.inbound_streams.min(config.limits.max_streams),
            inbound_streams: init.outbound_streams.min(config.limits.max_streams),
            interleaving: theirs.interleaving && config.interleaving,
            // RFC 8260 section 2.3.1: with I-DATA, support for FORWARD-TSN implies I-FORWARD-TSN.
            forward_tsn: theirs.forward_tsn || theirs.interleaved_forward_tsn,
            re_config: theirs.re_config,
            zero_checksum: theirs.zero_checksum && config.zero_checksum,
        }
    }

    /// The part that the sending half needs.
    pub(super) fn peer(&self) -> Peer {
        Peer {
            window_bytes: self.window_bytes,
            streams: self.outbound_streams,
            interleaving: self.interleaving,
            forward_tsn: self.forward_tsn,
        }
    }

    /// The four flags as stored in a cookie.
    pub(super) fn flags(&self) -> u8 {
        let bits = [
            (self.interleaving, INTERLEAVING),
            (self.forward_tsn, FORWARD_TSN),
            (self.re_config, RE_CONFIG),
            (self.zero_checksum, ZERO_CHECKSUM),
        ];
        bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| bit).sum()
    }

    /// Restores only the flags from a cookie.
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

/// Our offer.
pub(super) fn offer(config: &Config) -> Extensions {
    Extensions {
        re_config: true,
        forward_tsn: true,
        interleaving: config.interleaving,
        interleaved_forward_tsn: config.interleaving,
        zero_checksum: config.zero_checksum,
    }
}
