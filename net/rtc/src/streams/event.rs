//! Events of streams, and their owners.

use std::ops::Range;

use netdyno_rtc_core::framing::Framing;

/// The poller's key for streams; no socket has it.
pub(crate) const STREAMS: u32 = u32::MAX;

/// The owner of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A TURN server, for the relay with this index.
    Relay(u32),
    /// A peer that has connected and is not identified yet.
    Stranger,
    /// The peer of the connection with this index.
    Peer(u32),
}

impl Owner {
    pub(super) fn framing(self) -> Framing {
        match self {
            Self::Relay(_) => Framing::Turn,
            Self::Stranger | Self::Peer(_) => Framing::Length,
        }
    }
}

/// An event of a stream.
#[derive(Debug)]
pub(crate) enum StreamEvent {
    /// Frames can be sent.
    Open,
    /// Complete frames were received.
    Frames(Frames),
    /// The stream was lost.
    Lost(StreamError),
}

/// Complete frames in one buffer, and the positions of the datagrams in them.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) bytes: Vec<u8>,
    pub(crate) datagrams: Vec<Range<usize>>,
    /// More frames of the stream have been received.
    pub(super) has_more: bool,
}

impl Frames {
    /// Memory in use. Small datagrams take less than their positions.
    pub(super) fn queued_bytes(&self) -> usize {
        self.bytes.len() + size_of_val(self.datagrams.as_slice())
    }
}

/// Why a stream was lost or could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamError {
    pub(crate) why: String,
    /// Trying again would fail in the same way.
    pub(crate) is_final: bool,
}
