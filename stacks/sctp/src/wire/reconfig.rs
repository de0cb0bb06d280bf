//! RE-CONFIG ([RFC 6525 section 3.1](https://www.rfc-editor.org/rfc/rfc6525#section-3.1)) and its parameters
//! ([section 4](https://www.rfc-editor.org/rfc/rfc6525#section-4)).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+-------------------------------+
//! |  type = 130   |   flags = 0   |            length             |
//! +---------------+---------------+-------------------------------+
//! |                 one or two of these parameters                |
//! +===============================+===============================+
//! |   outgoing SSN reset = 13     |            length             |
//! +-------------------------------+-------------------------------+
//! | request number | response number | last TSN | streams, 16 bit |
//! +-------------------------------+-------------------------------+
//! |   incoming SSN reset = 14     |            length             |
//! +-------------------------------+-------------------------------+
//! | request number | streams, 16 bits each                        |
//! +-------------------------------+-------------------------------+
//! |   SSN and TSN reset = 15      |          length = 8           |
//! +-------------------------------+-------------------------------+
//! | request number                                                |
//! +-------------------------------+-------------------------------+
//! |   response = 16               |       length = 12 or 20       |
//! +-------------------------------+-------------------------------+
//! | response number | result | next TSNs: sender's, receiver's    |
//! +-------------------------------+-------------------------------+
//! |   add outgoing = 17, incoming = 18        length = 12         |
//! +-------------------------------+-------------------------------+
//! | request number | streams to add, 16 bits | reserved           |
//! +---------------------------------------------------------------+
//! ```

mod streams;

pub use streams::Streams;

use super::bytes::{u16_at, u32_at};
use super::cursor::Cursor;
use super::parameter::{Parameter, Parameters};
use super::{Malformed, PacketWriter, RawChunk};
use crate::types::Tsn;

const OUTGOING_RESET: u16 = 13;
const INCOMING_RESET: u16 = 14;
const TSN_RESET: u16 = 15;
const RESPONSE: u16 = 16;
const ADD_OUTGOING: u16 = 17;
const ADD_INCOMING: u16 = 18;

/// RFC 6525 section 3.1 allows one or two parameters.
const ITEMS_MAX: usize = 2;

/// Requests to change streams, and their answers.
#[derive(Debug, Clone, Copy)]
pub struct ReConfig<'a> {
    parameters: Parameters<'a>,
}

/// Equal if they contain the same items.
impl PartialEq for ReConfig<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.items().eq(other.items())
    }
}

impl Eq for ReConfig<'_> {}

/// Request sequence number (RFC 6525 section 4.1): modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ReConfigSeq(pub u32);

impl ReConfigSeq {
    /// The next number.
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    /// The previous number.
    pub fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }
}

/// A request, or the answer to one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReConfigItem<'a> {
    /// The sender has reset its outgoing streams, and asks the receiver to reset the corresponding incoming
    /// ones (section 4.1).
    OutgoingReset {
        /// Number of this request.
        request: ReConfigSeq,
        /// If an [`IncomingReset`](Self::IncomingReset) requested this, its number; else the number before
        /// that of the receiver's next request.
        response: ReConfigSeq,
        /// All data sent on the streams before the reset has TSNs up to this.
        last_tsn: Tsn,
        /// The streams; an empty list means all.
        streams: Streams<'a>,
    },
    /// The sender asks the receiver to reset its outgoing streams (section 4.2).
    IncomingReset {
        /// Number of this request.
        request: ReConfigSeq,
        /// The streams; an empty list means all.
        streams: Streams<'a>,
    },
    /// The sender asks to reset all streams and TSNs (section 4.3).
    TsnReset {
        /// Number of this request.
        request: ReConfigSeq,
    },
    /// The answer to a request (section 4.4).
    Response {
        /// Number of the request answered.
        response: ReConfigSeq,
        /// The result.
        result: ReConfigResult,
        /// Only in the answer to a [`TsnReset`](Self::TsnReset): next TSN of the responder, next TSN of the
        /// requester.
        next_tsns: Option<(Tsn, Tsn)>,
    },
    /// The sender requests more outgoing streams (section 4.5).
    AddOutgoing {
        /// Number of this request.
        request: ReConfigSeq,
        /// The number of streams to add.
        streams: u16,
    },
    /// The sender asks the receiver to add outgoing streams (section 4.6).
    AddIncoming {
        /// Number of this request.
        request: ReConfigSeq,
        /// The number of streams to add.
        streams: u16,
    },
}

/// Result of a request (RFC 6525 section 4.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReConfigResult {
    /// Success, nothing to do.
    NothingToDo,
    /// Success, performed.
    Performed,
    /// Denied.
    Denied,
    /// Error: wrong stream number.
    WrongStream,
    /// Error: another request is in progress.
    AlreadyInProgress,
    /// Error: bad sequence number.
    BadSequenceNumber,
    /// In progress: repeat the request with the same number.
    InProgress,
    /// A code that RFC 6525 does not define: 7 or more.
    Other(u32),
}

impl ReConfigResult {
    /// The seven results that RFC 6525 defines, indexed by code.
    const ALL: [Self; 7] = [
        Self::NothingToDo,
        Self::Performed,
        Self::Denied,
        Self::WrongStream,
        Self::AlreadyInProgress,
        Self::BadSequenceNumber,
        Self::InProgress,
    ];

    fn from_code(code: u32) -> Self {
        let known = usize::try_from(code).ok().and_then(|code| Self::ALL.get(code));
        known.copied().unwrap_or(Self::Other(code))
    }

    fn code(self) -> u32 {
        match self {
            Self::NothingToDo => 0,
            Self::Performed => 1,
            Self::Denied => 2,
            Self::WrongStream => 3,
            Self::AlreadyInProgress => 4,
            Self::BadSequenceNumber => 5,
            Self::InProgress => 6,
            Self::Other(code) => code,
        }
    }
}

impl<'a> ReConfig<'a> {
    /// Chunk type.
    pub const KIND: u8 = 130;

    /// Parses a RE-CONFIG.
    pub fn parse(chunk: &RawChunk<'a>) -> Result<Self, Malformed> {
        let this = Self { parameters: Parameters::new(chunk.value) };
        match this.items().next() {
            Some(_) => Ok(this),
            None => {
                Err(Malformed { what: "RE-CONFIG", rule: "must begin with a parameter of types 13 to 18" })
            }
        }
    }

    /// The requests and answers: one or two. Ends before an unknown type (whose high bits mean: stop, and do
    /// not report), and before a malformed parameter.
    pub fn items(&self) -> impl Iterator<Item = ReConfigItem<'a>> + use<'a> {
        self.parameters.take(ITEMS_MAX).map_while(|parameter| ReConfigItem::parse(&parameter))
    }

    /// Writes a RE-CONFIG of one or two items. Returns false and writes nothing if they do not fit or there
    /// are none.
    #[must_use]
    pub fn write(packet: &mut PacketWriter<'_>, items: &[ReConfigItem<'_>]) -> bool {
        debug_assert!(items.len() <= ITEMS_MAX, "RFC 6525 section 3.1");
        if items.is_empty() {
            return false;
        }
        packet.chunk_within(Self::KIND, 0, |value| {
            let mut cursor = Cursor::new(value);
            items.iter().try_for_each(|item| item.write(&mut cursor))?;
            Some(cursor.length())
        })
    }
}

impl<'a> ReConfigItem<'a> {
    fn parse(parameter: &Parameter<'a>) -> Option<Self> {
        let (first, rest) = parameter.value.split_first_chunk::<4>()?;
        let request = ReConfigSeq(u32_at(first, 0));
        Some(match parameter.kind {
            OUTGOING_RESET => {
                let (fields, streams) = rest.split_first_chunk::<8>()?;
                Self::OutgoingReset {
                    request,
                    response: ReConfigSeq(u32_at(fields, 0)),
                    last_tsn: Tsn(u32_at(fields, 4)),
                    streams: Streams::parse(streams)?,
                }
            }
            INCOMING_RESET => Self::IncomingReset { request, streams: Streams::parse(rest)? },
            TSN_RESET if rest.is_empty() => Self::TsnReset { request },
            RESPONSE => {
                let (result, tsns) = rest.split_first_chunk::<4>()?;
                let next_tsns = match tsns {
                    [] => None,
                    tsns => {
                        let tsns = <&[u8; 8]>::try_from(tsns).ok()?;
                        Some((Tsn(u32_at(tsns, 0)), Tsn(u32_at(tsns, 4))))
                    }
                };
                let result = ReConfigResult::from_code(u32_at(result, 0));
                Self::Response { response: request, result, next_tsns }
            }
            ADD_OUTGOING => Self::AddOutgoing { request, streams: added_streams(rest)? },
            ADD_INCOMING => Self::AddIncoming { request, streams: added_streams(rest)? },
            _ => return None,
        })
    }

    fn write(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.parameter(self.kind(), |value| match *self {
            Self::OutgoingReset { request, response, last_tsn, mut streams } => {
                value.u32(request.0)?;
                value.u32(response.0)?;
                value.u32(last_tsn.0)?;
                streams.try_for_each(|stream| value.u16(stream.0))
            }
            Self::IncomingReset { request, mut streams } => {
                value.u32(request.0)?;
                streams.try_for_each(|stream| value.u16(stream.0))
            }
            Self::TsnReset { request } => value.u32(request.0),
            Self::Response { response, result, next_tsns } => {
                value.u32(response.0)?;
                value.u32(result.code())?;
                if let Some((sender, receiver)) = next_tsns {
                    value.u32(sender.0)?;
                    value.u32(receiver.0)?;
                }
                Some(())
            }
            Self::AddOutgoing { request, streams } | Self::AddIncoming { request, streams } => {
                value.u32(request.0)?;
                value.u16(streams)?;
                value.u16(0)
            }
        })
    }

    fn kind(&self) -> u16 {
        match self {
            Self::OutgoingReset { .. } => OUTGOING_RESET,
            Self::IncomingReset { .. } => INCOMING_RESET,
            Self::TsnReset { .. } => TSN_RESET,
            Self::Response { .. } => RESPONSE,
            Self::AddOutgoing { .. } => ADD_OUTGOING,
            Self::AddIncoming { .. } => ADD_INCOMING,
        }
    }
}

/// How many streams a request wants to add, from the four bytes that say so.
fn added_streams(bytes: &[u8]) -> Option<u16> {
    let fields = <&[u8; 4]>::try_from(bytes).ok()?;
    Some(u16_at(fields, 0))
}

#[cfg(test)]
mod tests;
