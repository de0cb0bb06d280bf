//! Any chunk ([RFC 9260 section 3.2](https://www.rfc-editor.org/rfc/rfc9260#section-3.2)).

use super::{
    Abort, CookieAck, CookieEcho, Data, ForwardTsn, Heartbeat, Init, Malformed, OperationError, Pad,
    RawChunk, ReConfig, Sack, Shutdown, ShutdownAck, ShutdownComplete,
};

/// A chunk of any type, as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunk<'a> {
    /// DATA (0) or I-DATA (64).
    Data(Data<'a>),
    /// INIT (1).
    Init(Init<'a>),
    /// INIT ACK (2).
    InitAck(Init<'a>),
    /// SACK (3).
    Sack(Sack<'a>),
    /// HEARTBEAT (4).
    Heartbeat(Heartbeat<'a>),
    /// HEARTBEAT ACK (5).
    HeartbeatAck(Heartbeat<'a>),
    /// ABORT (6).
    Abort(Abort<'a>),
    /// SHUTDOWN (7).
    Shutdown(Shutdown),
    /// SHUTDOWN ACK (8).
    ShutdownAck(ShutdownAck),
    /// ERROR (9).
    Error(OperationError<'a>),
    /// COOKIE ECHO (10).
    CookieEcho(CookieEcho<'a>),
    /// COOKIE ACK (11).
    CookieAck(CookieAck),
    /// SHUTDOWN COMPLETE (14).
    ShutdownComplete(ShutdownComplete),
    /// RE-CONFIG (130).
    ReConfig(ReConfig<'a>),
    /// PAD (132).
    Pad(Pad),
    /// FORWARD-TSN (192) or I-FORWARD-TSN (194).
    ForwardTsn(ForwardTsn<'a>),
    /// An unknown type: see [`RawChunk::skips_if_unknown`] and [`RawChunk::reports_if_unknown`].
    Unknown {
        /// Its type.
        kind: u8,
        /// The whole chunk.
        raw: RawChunk<'a>,
    },
}

impl<'a> Chunk<'a> {
    /// Parses a chunk. Where most chunks carry data, it is faster to check for [`Data`] and [`Sack`] first.
    pub fn parse(raw: &RawChunk<'a>) -> Result<Self, Malformed> {
        Ok(match raw.kind {
            Data::KIND | Data::KIND_INTERLEAVED => Self::Data(Data::parse(raw)?),
            Init::KIND => Self::Init(Init::parse(raw)?),
            Init::KIND_ACK => Self::InitAck(Init::parse(raw)?),
            Sack::KIND => Self::Sack(Sack::parse(raw)?),
            Heartbeat::KIND => Self::Heartbeat(Heartbeat::parse(raw)?),
            Heartbeat::KIND_ACK => Self::HeartbeatAck(Heartbeat::parse(raw)?),
            Abort::KIND => Self::Abort(Abort::parse(raw)),
            Shutdown::KIND => Self::Shutdown(Shutdown::parse(raw)?),
            ShutdownAck::KIND => Self::ShutdownAck(ShutdownAck),
            OperationError::KIND => Self::Error(OperationError::parse(raw)),
            CookieEcho::KIND => Self::CookieEcho(CookieEcho::parse(raw)),
            CookieAck::KIND => Self::CookieAck(CookieAck),
            ShutdownComplete::KIND => Self::ShutdownComplete(ShutdownComplete::parse(raw)),
            ReConfig::KIND => Self::ReConfig(ReConfig::parse(raw)?),
            Pad::KIND => Self::Pad(Pad::parse(raw)),
            ForwardTsn::KIND | ForwardTsn::KIND_INTERLEAVED => Self::ForwardTsn(ForwardTsn::parse(raw)?),
            kind => Self::Unknown { kind, raw: *raw },
        })
    }
}

impl RawChunk<'_> {
    /// For an unknown type: whether to process the chunks after it (highest bit). If not, the rest of the
    /// packet is discarded.
    pub fn skips_if_unknown(&self) -> bool {
        self.kind & 0x80 != 0
    }

    /// For an unknown type: whether to report it to the sender (second highest bit) in an ERROR with
    /// [`Cause::UnrecognizedChunk`](super::Cause::UnrecognizedChunk).
    pub fn reports_if_unknown(&self) -> bool {
        self.kind & 0x40 != 0
    }
}

#[cfg(test)]
mod tests;
