//! Protocol errors. All are fatal for the connection, because the start of the next frame is unknown.

/// A protocol error of the client. Its text is Redis' error reply: send it and close the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The number of arguments is invalid or exceeds the limit.
    #[error("ERR Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    /// The line that starts with `*` exceeds the limit.
    #[error("ERR Protocol error: too big mbulk count string")]
    TooBigMultibulkCount,
    /// An argument does not start with `$`.
    #[error("ERR Protocol error: expected '$', got '{}'", shown(*.0))]
    ExpectedDollar(u8),
    /// The length of an argument is invalid, negative or exceeds the limit.
    #[error("ERR Protocol error: invalid bulk length")]
    InvalidBulkLength,
    /// The line that starts with `$` exceeds the limit.
    #[error("ERR Protocol error: too big bulk count string")]
    TooBigBulkCount,
    /// An argument is not followed by CR and LF. Redis does not check this.
    #[error("ERR Protocol error: expected CRLF after an argument")]
    ExpectedLineEnd,
    /// Too many arguments before authentication.
    #[error("ERR Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    /// An argument is too long before authentication.
    #[error("ERR Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    /// A quote in an inline command is not closed, or its end is not followed by a space.
    #[error("ERR Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// An inline command exceeds the limit.
    #[error("ERR Protocol error: too big inline request")]
    TooBigInline,
    /// The command exceeds the total limit. Redis closes the connection without an error.
    #[error("ERR Protocol error: too big request")]
    TooBigRequest,
}

/// A printable character, otherwise a question mark.
fn shown(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' }
}

/// A protocol error of the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// The type byte is unknown.
    #[error("the server sent a value of unknown type {0:#04x}")]
    UnknownKind(u8),
    /// A length is not a number, or is negative.
    #[error("the server sent an invalid length")]
    InvalidLength,
    /// A length exceeds the limit in `ReplyLimits`.
    #[error("the server sent a length of {0}, which exceeds the limit")]
    TooLong(u64),
    /// A line exceeds the limit, or its CR is not followed by LF.
    #[error("the server sent a line that is not terminated or exceeds the limit")]
    InvalidLine,
    /// An integer, double or boolean is invalid.
    #[error("the server sent an invalid number or boolean")]
    InvalidNumber,
    /// A string is not followed by CR and LF.
    #[error("the server sent a string that does not end with CRLF")]
    ExpectedLineEnd,
    /// A verbatim string lacks its three-letter format.
    #[error("the server sent a verbatim string without a format")]
    InvalidVerbatim,
    /// The nesting of aggregates exceeds the limit.
    #[error("the server sent aggregates nested beyond the limit")]
    TooDeep,
}
