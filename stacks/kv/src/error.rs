//! Errors of commands, with Redis' texts.

use std::borrow::Cow;

/// The text of an error reply: an upper-case code, a space, and a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Cow<'static, str>);

impl Error {
    /// An error with a static text.
    pub const fn fixed(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    /// An error with a computed text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(Cow::Owned(text.into()))
    }

    /// The text of the reply.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// The key holds a value of another type.
    pub const WRONG_TYPE: Self =
        Self::fixed("WRONGTYPE Operation against a key holding the wrong kind of value");
    /// Invalid arguments.
    pub const SYNTAX: Self = Self::fixed("ERR syntax error");
    /// The text is not a 64-bit integer.
    pub const NOT_INTEGER: Self = Self::fixed("ERR value is not an integer or out of range");
    /// The text is not a number.
    pub const NOT_FLOAT: Self = Self::fixed("ERR value is not a valid float");
    /// The result of an increment does not fit.
    pub const OVERFLOW: Self = Self::fixed("ERR increment or decrement would overflow");
    /// The result of an increment is NaN or infinite.
    pub const NOT_FINITE: Self = Self::fixed("ERR increment would produce NaN or Infinity");
    /// The key does not exist.
    pub const NO_SUCH_KEY: Self = Self::fixed("ERR no such key");
    /// The index is out of range.
    pub const INDEX: Self = Self::fixed("ERR index out of range");
    /// The number must not be negative.
    pub const OUT_OF_RANGE: Self = Self::fixed("ERR value is out of range, must be positive");
    /// The cursor is not a number.
    pub const CURSOR: Self = Self::fixed("ERR invalid cursor");
    /// The string would exceed the limit.
    pub const TOO_LONG: Self = Self::fixed("ERR string exceeds maximum allowed size (proto-max-bulk-len)");
    /// The memory limit (`maxmemory`) is reached.
    pub const OUT_OF_MEMORY: Self = Self::fixed("OOM command not allowed when used memory > 'maxmemory'.");
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
