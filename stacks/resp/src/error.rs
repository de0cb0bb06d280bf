//! Errors: what the other side sent that cannot be. Each ends the connection, for where the next frame begins is not
//! known.

/// The client broke the protocol. As text it is Redis' error reply: send it, then close.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RequestError {
    /// The number after `*` is none, or too large.
    #[error("ERR Protocol error: invalid multibulk length")]
    InvalidMultibulkLength,
    /// The line that begins with `*` has no end.
    #[error("ERR Protocol error: too big mbulk count string")]
    TooBigMultibulkCount,
    /// An argument does not begin with `$`.
    #[error("ERR Protocol error: expected '$', got '{}'", shown(*.0))]
    ExpectedDollar(u8),
    /// The number after `$` is none, negative, or too large.
    #[error("ERR Protocol error: invalid bulk length")]
    InvalidBulkLength,
    /// The line that begins with `$` has no end.
    #[error("ERR Protocol error: too big bulk count string")]
    TooBigBulkCount,
    /// After an argument stands something else than CR and LF. Redis does not look.
    #[error("ERR Protocol error: expected CRLF after an argument")]
    ExpectedLineEnd,
    /// Too many arguments from a client that has not said who it is.
    #[error("ERR Protocol error: unauthenticated multibulk length")]
    UnauthenticatedMultibulkLength,
    /// Too long an argument from a client that has not said who it is.
    #[error("ERR Protocol error: unauthenticated bulk length")]
    UnauthenticatedBulkLength,
    /// A quote of an inline command is not closed, or a closed one is followed by something else than a space.
    #[error("ERR Protocol error: unbalanced quotes in request")]
    UnbalancedQuotes,
    /// An inline command has no end.
    #[error("ERR Protocol error: too big inline request")]
    TooBigInline,
    /// The command is longer than the limit on all its bytes. Redis closes without a word.
    #[error("ERR Protocol error: too big request")]
    TooBigRequest,
}

/// A byte as a character, or a question mark for what would garble the line.
fn shown(byte: u8) -> char {
    if byte.is_ascii_graphic() || byte == b' ' { char::from(byte) } else { '?' }
}

/// The server broke the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplyError {
    /// No value begins so.
    #[error("the server sent a value of an unknown kind, which begins with byte {0:#04x}")]
    UnknownKind(u8),
    /// A length is no number, or negative.
    #[error("the server sent a length that is none")]
    InvalidLength,
    /// A length is above the limit: raise `ReplyLimits` if it is meant.
    #[error("the server sent a length of {0}, more than the limit")]
    TooLong(u64),
    /// A line has no end, or its CR no LF.
    #[error("the server sent a line that does not end as it must, or is longer than the limit")]
    InvalidLine,
    /// An integer, double or boolean that is none.
    #[error("the server sent a number or boolean that is none")]
    InvalidNumber,
    /// After a string stands something else than CR and LF.
    #[error("the server sent a string that is longer than it said")]
    ExpectedLineEnd,
    /// A verbatim string without a format of three letters.
    #[error("the server sent a verbatim string without a format")]
    InvalidVerbatim,
    /// Aggregates within aggregates beyond the limit.
    #[error("the server sent aggregates within aggregates beyond the limit")]
    TooDeep,
}
