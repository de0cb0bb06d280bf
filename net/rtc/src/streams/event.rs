//! What happens to streams, and to whom.

use std::ops::Range;

use netdyno_rtc_core::framing::Framing;

/// The key that a poller tells of streams under; no socket has it.
pub(crate) const STREAMS: u32 = u32::MAX;

/// Who is at the other end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A TURN server, for the relay with this number.
    Relay(u32),
    /// Somebody who has connected, and has not shown yet whose peer he is.
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

/// What happened to a stream.
#[derive(Debug)]
pub(crate) enum News {
    /// Frames can be sent.
    Open,
    /// These frames have come.
    Frames(Frames),
    /// It is gone.
    Lost(Loss),
}

/// Frames side by side, all of them whole, and where the datagrams stand in them.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pub(crate) bytes: Vec<u8>,
    pub(crate) datagrams: Vec<Range<usize>>,
}

/// Why a stream is gone, or could not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) why: String,
    /// It would be the same again.
    pub(crate) is_final: bool,
}
