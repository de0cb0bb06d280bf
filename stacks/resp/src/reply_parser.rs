//! Parses a server's replies value by value.

use crate::number::parse_integer;
use crate::{ReplyError, ReplyLimits};

/// A value, or the header of an aggregate whose values follow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'b> {
    /// A simple string (`+OK`).
    Simple(&'b [u8]),
    /// An error, simple or as a bulk string.
    Error(&'b [u8]),
    /// An integer.
    Integer(i64),
    /// A byte string.
    Bulk(&'b [u8]),
    /// A null of either protocol.
    Null,
    /// A double.
    Double(f64),
    /// A boolean.
    Boolean(bool),
    /// An integer of any length, in digits.
    BigNumber(&'b [u8]),
    /// A text with its format (`txt`, `mkd`).
    Verbatim([u8; 3], &'b [u8]),
    /// An array of this many values.
    Array(usize),
    /// A map of this many keys with values.
    Map(usize),
    /// A set of this many distinct values.
    Set(usize),
    /// A push message of this many values.
    Push(usize),
    /// An attribute of this many keys with values, which describes the value after it.
    Attribute(usize),
}

/// Parses a server's replies. Use one per connection.
///
/// The parser remembers how much of an incomplete value it has examined, and its position within aggregates.
/// After `None` the input may only grow until the next call; after a value, its bytes must be removed from
/// the input. Parsing cannot continue after an error.
///
/// ```
/// use netdyno_resp::{ReplyLimits, ReplyParser, Value};
///
/// let mut parser = ReplyParser::new(ReplyLimits::default());
/// let mut input = &b"*2\r\n:1\r\n$2\r\nhi\r\n"[..];
/// let mut values = Vec::new();
/// while let Some((value, bytes)) = parser.next(input)? {
///     values.push(value);
///     input = &input[bytes..];
///     if parser.is_whole() {
///         break; // a reply ends here
///     }
/// }
/// assert_eq!(values, [Value::Array(2), Value::Integer(1), Value::Bulk(b"hi")]);
/// # Ok::<(), netdyno_resp::ReplyError>(())
/// ```
#[derive(Debug)]
pub struct ReplyParser {
    limits: ReplyLimits,
    /// Remaining values of each incomplete aggregate, outermost first.
    open: Vec<usize>,
    /// The first line of the input does not end before this offset.
    searched: usize,
}

impl ReplyParser {
    /// A parser for a new connection.
    pub fn new(limits: ReplyLimits) -> Self {
        Self { limits, open: Vec::new(), searched: 0 }
    }

    /// Whether the last value completed a reply.
    pub fn is_whole(&self) -> bool {
        self.open.is_empty()
    }

    /// Parses the first value of `input` and returns it with its length; `None` if it is incomplete.
    ///
    /// # Errors
    ///
    /// The server violated the protocol.
    pub fn next<'b>(&mut self, input: &'b [u8]) -> Result<Option<(Value<'b>, usize)>, ReplyError> {
        let Some((line, next)) = self.line(input)? else { return Ok(None) };
        let Some((kind, text)) = line.split_first() else { return Err(ReplyError::UnknownKind(b'\r')) };
        let value = match kind {
            b'+' => Value::Simple(text),
            b'-' => Value::Error(text),
            b':' => Value::Integer(parse_integer(text).ok_or(ReplyError::InvalidNumber)?),
            b'_' => Value::Null,
            b',' => Value::Double(double(text)?),
            b'#' => Value::Boolean(boolean(text)?),
            b'(' => Value::BigNumber(digits(text)?),
            b'$' | b'*' if text == b"-1" => Value::Null,
            b'$' | b'!' | b'=' => {
                let length = length(text, self.limits.max_bulk_bytes)?;
                return match input.get(next..).and_then(|rest| rest.get(..length + 2)) {
                    None => Ok(None),
                    Some(bytes) => {
                        let bytes = bytes.strip_suffix(b"\r\n").ok_or(ReplyError::ExpectedLineEnd)?;
                        Ok(Some((self.taken(string(*kind, bytes)?)?, next + length + 2)))
                    }
                };
            }
            b'*' => Value::Array(length(text, self.limits.max_aggregate)?),
            b'%' => Value::Map(length(text, self.limits.max_aggregate)?),
            b'~' => Value::Set(length(text, self.limits.max_aggregate)?),
            b'>' => Value::Push(length(text, self.limits.max_aggregate)?),
            b'|' => Value::Attribute(length(text, self.limits.max_aggregate)?),
            other => return Err(ReplyError::UnknownKind(*other)),
        };
        Ok(Some((self.taken(value)?, next)))
    }

    /// The first line of the input without its end, and the offset after it.
    fn line<'b>(&mut self, input: &'b [u8]) -> Result<Option<(&'b [u8], usize)>, ReplyError> {
        let found = memchr::memchr(b'\r', input.get(self.searched..).unwrap_or_default());
        let end = found.map_or(input.len(), |found| self.searched + found);
        if end > self.limits.max_line_bytes {
            return Err(ReplyError::InvalidLine);
        }
        self.searched = end;
        match input.get(end + 1) {
            Some(b'\n') => Ok(Some((&input[..end], end + 2))),
            Some(_) => Err(ReplyError::InvalidLine),
            None => Ok(None),
        }
    }

    /// Counts a value in its aggregate.
    fn taken<'b>(&mut self, value: Value<'b>) -> Result<Value<'b>, ReplyError> {
        self.searched = 0;
        if self.open.is_empty() {
            self.open.push(1);
        }
        // An attribute is not counted; the value it describes follows.
        if !matches!(value, Value::Attribute(_))
            && let Some(missing) = self.open.last_mut()
        {
            *missing -= 1;
        }
        let more = match value {
            Value::Array(length) | Value::Set(length) | Value::Push(length) => length,
            Value::Map(pairs) | Value::Attribute(pairs) => pairs.saturating_mul(2),
            _ => 0,
        };
        if more > 0 {
            if self.open.len() > self.limits.max_depth {
                return Err(ReplyError::TooDeep);
            }
            self.open.push(more);
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        Ok(value)
    }
}

fn length(text: &[u8], limit: usize) -> Result<usize, ReplyError> {
    let length = parse_integer(text).and_then(|length| u64::try_from(length).ok());
    let length = length.ok_or(ReplyError::InvalidLength)?;
    match usize::try_from(length) {
        Ok(length) if length <= limit => Ok(length),
        _ => Err(ReplyError::TooLong(length)),
    }
}

fn string(kind: u8, bytes: &[u8]) -> Result<Value<'_>, ReplyError> {
    match (kind, bytes) {
        (b'=', [a, b, c, b':', text @ ..]) => Ok(Value::Verbatim([*a, *b, *c], text)),
        (b'=', _) => Err(ReplyError::InvalidVerbatim),
        (b'!', _) => Ok(Value::Error(bytes)),
        _ => Ok(Value::Bulk(bytes)),
    }
}

fn double(text: &[u8]) -> Result<f64, ReplyError> {
    let text = std::str::from_utf8(text).map_err(|_| ReplyError::InvalidNumber)?;
    text.parse().map_err(|_| ReplyError::InvalidNumber)
}

fn boolean(text: &[u8]) -> Result<bool, ReplyError> {
    match text {
        b"t" => Ok(true),
        b"f" => Ok(false),
        _ => Err(ReplyError::InvalidNumber),
    }
}

fn digits(text: &[u8]) -> Result<&[u8], ReplyError> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let whole = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    if whole { Ok(text) } else { Err(ReplyError::InvalidNumber) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &[u8], expected: Result<&[Value<'_>], ReplyError>) {
        let mut parser =
            ReplyParser::new(ReplyLimits { max_depth: 3, max_bulk_bytes: 100, ..ReplyLimits::default() });
        let (mut at, mut values) = (0, Vec::new());
        let result = loop {
            match parser.next(&input[at..]) {
                Ok(None) => break Ok(&values[..]),
                Ok(Some((value, bytes))) => {
                    values.push(value);
                    at += bytes;
                }
                Err(error) => break Err(error),
            }
        };
        assert_eq!(result, expected, "{}", input.escape_ascii());
    }

    #[test]
    fn values() {
        use Value::*;
        check(b"+OK\r\n-ERR no\r\n:-3\r\n", Ok(&[Simple(b"OK"), Error(b"ERR no"), Integer(-3)]));
        check(
            b"$0\r\n\r\n$2\r\n\r\n\r\n$-1\r\n*-1\r\n_\r\n",
            Ok(&[Bulk(b""), Bulk(b"\r\n"), Null, Null, Null]),
        );
        check(
            b",1.5\r\n,inf\r\n#t\r\n#f\r\n(-12\r\n",
            Ok(&[Double(1.5), Double(f64::INFINITY), Boolean(true), Boolean(false), BigNumber(b"-12")]),
        );
        check(b"=6\r\ntxt:hi\r\n!3\r\nERR\r\n", Ok(&[Verbatim(*b"txt", b"hi"), Error(b"ERR")]));
        check(b"*0\r\n%1\r\n~2\r\n", Ok(&[Array(0), Map(1), Set(2)]));
        check(b">0\r\n|1\r\n", Ok(&[Push(0), Attribute(1)]));
        check(b"+O", Ok(&[]));
        check(b"$3\r\nab", Ok(&[]));
    }

    #[test]
    fn invalid_replies() {
        check(b"\r\n", Err(ReplyError::UnknownKind(b'\r')));
        check(b"?\r\n", Err(ReplyError::UnknownKind(b'?')));
        check(b"+a\rb", Err(ReplyError::InvalidLine));
        check(&[b'+'; 70_000], Err(ReplyError::InvalidLine));
        check(b":1x\r\n", Err(ReplyError::InvalidNumber));
        check(b"#x\r\n", Err(ReplyError::InvalidNumber));
        check(b"(1x\r\n", Err(ReplyError::InvalidNumber));
        check(b",x\r\n", Err(ReplyError::InvalidNumber));
        check(b"$-10\r\n", Err(ReplyError::InvalidLength));
        check(b"*-10\r\n", Err(ReplyError::InvalidLength));
        check(b"$?\r\n", Err(ReplyError::InvalidLength));
        check(b"$101\r\n", Err(ReplyError::TooLong(101)));
        check(b"*3000000000\r\n", Err(ReplyError::TooLong(3_000_000_000)));
        check(b"$1\r\nabc", Err(ReplyError::ExpectedLineEnd));
        check(b"=2\r\nab\r\n", Err(ReplyError::InvalidVerbatim));
        check(&b"*1\r\n".repeat(4), Err(ReplyError::TooDeep));
    }

    #[test]
    fn end_of_a_reply() {
        let mut parser = ReplyParser::new(ReplyLimits::default());
        let mut input = &b"*2\r\n%1\r\n+k\r\n*0\r\n~1\r\n|1\r\n+a\r\n+b\r\n:1\r\n|0\r\n:2\r\n"[..];
        let mut whole = Vec::new();
        while let Some((_, bytes)) = parser.next(input).unwrap() {
            input = &input[bytes..];
            whole.push(u8::from(parser.is_whole()));
        }
        assert_eq!(whole, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
    }
}
