//! What a command answers when it cannot do what was asked, in Redis' words.

use std::borrow::Cow;

/// The text of an error reply: a code in capitals, a space, words for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Cow<'static, str>);

impl Error {
    /// An error whose text is fixed.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// An error whose text names what was wrong.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    /// The text as it is sent.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The key holds another type.
    pub const WRONG_TYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// Words that make no sense here.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// Text that is no integer of 64 bits.
    pub const NOT_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// Text that is no number.
    pub const NOT_FLOAT: Self = Self::fixed("ERR value is not a valid float");
    /// A result that does not fit.
    pub const OVERFLOW: Self = Self::fixed("ERR increment or decrement would overflow");
    /// A sum that is no number.
    pub const NOT_FINITE: Self = Self::fixed("ERR increment would produce NaN or Infinity");
    /// A key that should exist.
    pub const NO_SUCH_KEY: Self = Self::fixed("ERR no such key");
    /// A position outside.
    pub const INDEX: Self = Self::fixed("ERR index out of range");
    /// A number that must not be negative.
    pub const OUT_OF_RANGE: Self = Self::fixed("ERR value is out of range, must be positive");
    /// A cursor that is no number.
    pub const CURSOR: Self = Self::fixed("ERR invalid cursor");
    /// A string longer than the limit.
    pub const TOO_LONG: Self = Self::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    /// No memory left under `maxmemory`.
    pub const OUT_OF_MEMORY: Self = Self::fixed("OOM command not allowed when used memory > 'maxmemory'.");
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
