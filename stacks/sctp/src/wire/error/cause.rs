//! Error causes ([RFC 9260 section 3.3.10](https://www.rfc-editor.org/rfc/rfc9260#section-3.3.10)): encoded
//! like parameters, with a code instead of a type.

use std::fmt::{self, Write};

use crate::types::{StreamId, Tsn};
use crate::wire::bytes::{u16_at, u32_at};
use crate::wire::cursor::Cursor;
use crate::wire::parameter::{Parameter, Parameters};
use crate::wire::{Chunks, RawChunk};

const INVALID_STREAM: u16 = 1;
const MISSING_PARAMETER: u16 = 2;
const STALE_COOKIE: u16 = 3;
const UNRECOGNIZED_CHUNK: u16 = 6;
const INVALID_PARAMETER: u16 = 7;
pub(super) const UNRECOGNIZED_PARAMETERS: u16 = 8;
const NO_USER_DATA: u16 = 9;
const COOKIE_WHILE_SHUTTING_DOWN: u16 = 10;
const USER_ABORT: u16 = 12;
const PROTOCOL_VIOLATION: u16 = 13;

/// Most characters of a peer's text that are displayed.
const TEXT_CHARS_MAX: usize = 200;

/// Why an ERROR or ABORT was sent. Causes without special handling are [`Other`](Self::Other).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause<'a> {
    /// Data came on a stream that does not exist (section 3.3.10.1).
    InvalidStream(StreamId),
    /// An INIT or INIT ACK lacks a parameter of this type (section 3.3.10.2).
    MissingParameter(u16),
    /// The cookie expired this many microseconds ago (section 3.3.10.3).
    StaleCookie(u32),
    /// A chunk of unknown type, without padding (section 3.3.10.6).
    UnrecognizedChunk(RawChunk<'a>),
    /// A field or parameter of INIT or INIT ACK has an invalid value (section 3.3.10.7).
    InvalidParameter,
    /// Unknown parameters of an INIT ACK (section 3.3.10.8).
    UnrecognizedParameters(Parameters<'a>),
    /// The chunk of data with this TSN was empty (section 3.3.10.9).
    NoUserData(Tsn),
    /// A COOKIE ECHO arrived during a shutdown (section 3.3.10.10).
    CookieWhileShuttingDown,
    /// The application ended the association, with its own text (section 3.3.10.12).
    UserAbort(&'a [u8]),
    /// A violation without a specific cause, with a text for debugging (section 3.3.10.13).
    ProtocolViolation(&'a [u8]),
    /// Any other cause, and those above with malformed information.
    Other {
        /// Cause code.
        code: u16,
        /// The cause information.
        information: &'a [u8],
    },
}

impl<'a> Cause<'a> {
    /// The mandatory parameter of an INIT ACK: the state cookie.
    pub const MISSING_COOKIE: Self = Self::MissingParameter(7);

    fn parse(parameter: &Parameter<'a>) -> Self {
        let Parameter { kind: code, value: information } = *parameter;
        let cause = match code {
            INVALID_STREAM => {
                exact(information).map(|i: &[u8; 4]| Self::InvalidStream(StreamId(u16_at(i, 0))))
            }
            MISSING_PARAMETER => exact(information)
                .filter(|i: &&[u8; 6]| u32_at(i, 0) == 1)
                .map(|i| Self::MissingParameter(u16_at(i, 4))),
            STALE_COOKIE => exact(information).map(|i| Self::StaleCookie(u32_at::<4>(i, 0))),
            UNRECOGNIZED_CHUNK => {
                Chunks::new(information).next().and_then(Result::ok).map(Self::UnrecognizedChunk)
            }
            INVALID_PARAMETER => Some(Self::InvalidParameter),
            UNRECOGNIZED_PARAMETERS => Some(Self::UnrecognizedParameters(Parameters::new(information))),
            NO_USER_DATA => exact(information).map(|i| Self::NoUserData(Tsn(u32_at::<4>(i, 0)))),
            COOKIE_WHILE_SHUTTING_DOWN => Some(Self::CookieWhileShuttingDown),
            USER_ABORT => Some(Self::UserAbort(information)),
            PROTOCOL_VIOLATION => Some(Self::ProtocolViolation(information)),
            _ => None,
        };
        cause.unwrap_or(Self::Other { code, information })
    }

    fn code(&self) -> u16 {
        match *self {
            Self::InvalidStream(_) => INVALID_STREAM,
            Self::MissingParameter(_) => MISSING_PARAMETER,
            Self::StaleCookie(_) => STALE_COOKIE,
            Self::UnrecognizedChunk(_) => UNRECOGNIZED_CHUNK,
            Self::InvalidParameter => INVALID_PARAMETER,
            Self::UnrecognizedParameters(_) => UNRECOGNIZED_PARAMETERS,
            Self::NoUserData(_) => NO_USER_DATA,
            Self::CookieWhileShuttingDown => COOKIE_WHILE_SHUTTING_DOWN,
            Self::UserAbort(_) => USER_ABORT,
            Self::ProtocolViolation(_) => PROTOCOL_VIOLATION,
            Self::Other { code, .. } => code,
        }
    }

    fn write(&self, cursor: &mut Cursor<'_>) -> Option<()> {
        cursor.parameter(self.code(), |value| match *self {
            Self::InvalidStream(stream) => {
                value.u16(stream.0)?;
                value.u16(0)
            }
            Self::MissingParameter(kind) => {
                value.u32(1)?;
                value.u16(kind)
            }
            Self::StaleCookie(number) | Self::NoUserData(Tsn(number)) => value.u32(number),
            Self::UnrecognizedChunk(chunk) => {
                value.bytes(&chunk.header())?;
                value.bytes(chunk.value)
            }
            Self::InvalidParameter | Self::CookieWhileShuttingDown => Some(()),
            Self::UnrecognizedParameters(mut parameters) => {
                parameters.try_for_each(|parameter| parameter.write(value))
            }
            Self::UserAbort(bytes) | Self::ProtocolViolation(bytes) => value.bytes(bytes),
            Self::Other { information, .. } => value.bytes(information),
        })
    }
}

/// Describes the cause. Texts of the peer are truncated, and their control characters escaped.
impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::InvalidStream(stream) => write!(f, "invalid stream {}", stream.0),
            Self::MissingParameter(kind) => write!(f, "missing parameter {kind:#x}"),
            Self::StaleCookie(us) => write!(f, "stale cookie ({us} us)"),
            Self::UnrecognizedChunk(chunk) => write!(f, "unrecognized chunk type {}", chunk.kind),
            Self::InvalidParameter => write!(f, "invalid mandatory parameter"),
            Self::UnrecognizedParameters(_) => write!(f, "unrecognized parameters"),
            Self::NoUserData(tsn) => write!(f, "no user data in TSN {}", tsn.0),
            Self::CookieWhileShuttingDown => write!(f, "cookie received while shutting down"),
            Self::UserAbort(text) => write_text(f, "user-initiated abort", text),
            Self::ProtocolViolation(text) => write_text(f, "protocol violation", text),
            Self::Other { code, .. } => write!(f, "cause {code}"),
        }
    }
}

/// A sequence of error causes. Ends at the first truncated one.
#[derive(Debug, Clone, Copy)]
pub struct Causes<'a> {
    parameters: Parameters<'a>,
}

impl<'a> Causes<'a> {
    pub(in crate::wire) fn new(value: &'a [u8]) -> Self {
        Self { parameters: Parameters::new(value) }
    }
}

impl<'a> Iterator for Causes<'a> {
    type Item = Cause<'a>;

    fn next(&mut self) -> Option<Cause<'a>> {
        self.parameters.next().map(|parameter| Cause::parse(&parameter))
    }
}

/// Equal if they contain the same causes.
impl PartialEq for Causes<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl Eq for Causes<'_> {}

/// Writes the causes that fit.
pub(in crate::wire) fn write_all<'c>(cursor: &mut Cursor<'_>, causes: impl IntoIterator<Item = Cause<'c>>) {
    for cause in causes {
        // One that does not fit changes nothing; a shorter one after it may fit.
        let _ = cause.write(cursor);
    }
}

/// The information, if it has this length.
fn exact<const N: usize>(information: &[u8]) -> Option<&[u8; N]> {
    information.try_into().ok()
}

fn write_text(f: &mut fmt::Formatter<'_>, what: &str, text: &[u8]) -> fmt::Result {
    f.write_str(what)?;
    if text.is_empty() {
        return Ok(());
    }
    f.write_str(": ")?;
    let chars = text.utf8_chunks().flat_map(|part| {
        let replaced = (!part.invalid().is_empty()).then_some(char::REPLACEMENT_CHARACTER);
        part.valid().chars().chain(replaced)
    });
    chars.take(TEXT_CHARS_MAX).try_for_each(|c| match c {
        '"' | '\'' => f.write_char(c),
        _ => write!(f, "{}", c.escape_debug()),
    })
}
