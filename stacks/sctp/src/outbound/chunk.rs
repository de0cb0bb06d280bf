//! A chunk in flight.

use super::limited::LimitId;
use super::time::Time;
use crate::types::{Ppid, StreamId};

/// B: first fragment of a message.
pub(super) const BEGIN: u8 = 1;
/// E: last fragment of a message.
pub(super) const END: u8 = 2;
/// U: unordered.
pub(super) const UNORDERED: u8 = 4;
/// Abandoned: reported to the peer by FORWARD-TSN.
pub(super) const ABANDONED: u8 = 8;
/// Was acknowledged by a gap block, then reset to outstanding by a timeout. A further acknowledgement says
/// nothing about the path.
pub(super) const RENEGED: u8 = 16;

/// A chunk without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Time of the last transmission.
    pub(super) sent_at: Time,
    /// SSN or MID.
    pub(super) number: u32,
    /// The PPID; for I-DATA fragments except the first, the FSN.
    pub(super) ppid_or_fsn: u32,
    /// The reliability of its message.
    pub(super) limit: LimitId,
    /// Distance to the next fragment of the message, only for messages of limited reliability; 0: not sent.
    pub(super) next_fragment: u32,
    pub(super) stream: StreamId,
    /// Number of transmissions.
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
    /// Whether any of these flags is set.
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
