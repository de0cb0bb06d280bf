//! One chunk in flight.

use super::limited::LimitId;
use super::time::Time;
use crate::types::{Ppid, StreamId};

/// B: first fragment of a message.
pub(super) const BEGIN: u8 = 1;
/// E: last fragment of a message.
pub(super) const END: u8 = 2;
/// U: outside the order of its stream.
pub(super) const UNORDERED: u8 = 4;
/// Given up: the peer is told by FORWARD-TSN.
pub(super) const ABANDONED: u8 = 8;
/// Was acknowledged by a gap block once, and put back by a timeout. Says nothing about the path when acknowledged
/// again.
pub(super) const RENEGED: u8 = 16;

/// One chunk, but for its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// When it was sent last.
    pub(super) sent_at: Time,
    /// SSN or MID.
    pub(super) number: u32,
    /// The PPID; of I-DATA, in fragments but the first, the FSN.
    pub(super) ppid_or_fsn: u32,
    /// How reliable its message is.
    pub(super) limit: LimitId,
    /// How far on the next fragment of the message is. Only kept for messages of limited reliability; 0: not sent.
    pub(super) next_fragment: u32,
    pub(super) stream: StreamId,
    /// How often it was sent.
    pub(super) transmits: u16,
    pub(super) flags: u8,
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            sent_at: Time::START,
            number: 0,
            ppid_or_fsn: 0,
            limit: LimitId::NONE,
            next_fragment: 0,
            stream: StreamId(0),
            transmits: 0,
            flags: 0,
        }
    }
}

impl Chunk {
    /// Whether it has one of these flags.
    pub(super) fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// The PPID to send.
    pub(super) fn ppid(&self, interleaving: bool) -> Ppid {
        Ppid(if interleaving && !self.has(BEGIN) { 0 } else { self.ppid_or_fsn })
    }

    /// The FSN to send.
    pub(super) fn fsn(&self) -> u32 {
        if self.has(BEGIN) { 0 } else { self.ppid_or_fsn }
    }
}
