//! RESP2 answers, except arrays, which no request of the workload returns.

use super::limits::{MAX_BULK_BYTES, MAX_LINE_BYTES};

/// An answer of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer<'a> {
    /// `+`
    Simple(&'a [u8]),
    /// `-`
    Error(&'a [u8]),
    /// `:`
    Integer(&'a [u8]),
    /// `$`
    Bulk(&'a [u8]),
    /// `$-1`
    Null,
}

impl Answer<'_> {
    /// Describes the answer for a message.
    pub fn describe(&self) -> String {
        match self {
            Self::Simple(text) => format!("the simple string `{}`", text.escape_ascii()),
            Self::Error(text) => format!("the error `{}`", text.escape_ascii()),
            Self::Integer(text) => format!("the integer {}", text.escape_ascii()),
            Self::Bulk(bytes) if bytes.len() <= 32 => format!("the bulk string `{}`", bytes.escape_ascii()),
            Self::Bulk(bytes) => format!("a bulk string of {} bytes", bytes.len()),
            Self::Null => "null".to_owned(),
        }
    }
}

/// Parses the first answer of `input` and returns it with its length, or `None` if more bytes are needed.
pub fn parse(input: &[u8]) -> Result<Option<(Answer<'_>, usize)>, String> {
    let Some(end) = line_end(input)? else { return Ok(None) };
    let (Some((kind, line)), next) = (input[..end].split_first(), end + 2) else {
        return Err("empty line instead of an answer".to_owned());
    };
    let answer = match kind {
        b'+' => Answer::Simple(line),
        b'-' => Answer::Error(line),
        b':' => Answer::Integer(line),
        b'$' => match bulk_length(line)? {
            None => Answer::Null,
            Some(length) if input.len() < next + length + 2 => return Ok(None),
            Some(length) if input[next + length..][..2] != *b"\r\n" => {
                return Err(format!("bulk string of {length} bytes without CRLF"));
            }
            Some(length) => return Ok(Some((Answer::Bulk(&input[next..][..length]), next + length + 2))),
        },
        other => {
            return Err(format!("unexpected type of answer: `{}`", other.escape_ascii()));
        }
    };
    Ok(Some((answer, next)))
}

/// Parses the length after `$`: `None` for null.
pub(super) fn bulk_length(line: &[u8]) -> Result<Option<usize>, String> {
    if line == b"-1" {
        return Ok(None);
    }
    let length = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok());
    match length {
        Some(length) if length <= MAX_BULK_BYTES => Ok(Some(length)),
        _ => Err(format!("bulk string of length `{}`", line.escape_ascii())),
    }
}

fn line_end(input: &[u8]) -> Result<Option<usize>, String> {
    let searched = &input[..input.len().min(MAX_LINE_BYTES)];
    match searched.windows(2).position(|pair| pair == b"\r\n") {
        None if searched.len() == MAX_LINE_BYTES => {
            Err(format!("line of more than {MAX_LINE_BYTES} bytes in an answer"))
        }
        end => Ok(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_parsed_wherever_they_are_split() {
        let rows: [(&[u8], Answer<'_>); 7] = [
            (b"+OK\r\n", Answer::Simple(b"OK")),
            (b"-ERR no\r\n", Answer::Error(b"ERR no")),
            (b":12\r\n", Answer::Integer(b"12")),
            (b"$-1\r\n", Answer::Null),
            (b"$0\r\n\r\n", Answer::Bulk(b"")),
            (b"$3\r\na\r\n\r\n", Answer::Bulk(b"a\r\n")),
            (b"$10\r\n0123456789\r\n", Answer::Bulk(b"0123456789")),
        ];
        for (bytes, wanted) in rows {
            for cut in 0..bytes.len() {
                assert_eq!(parse(&bytes[..cut]), Ok(None), "{bytes:?} {cut}");
            }
            let more = [bytes, b"+next"].concat();
            assert_eq!(parse(&more), Ok(Some((wanted, bytes.len()))));
        }
    }

    #[test]
    fn invalid_answers_are_errors() {
        let rows: [&[u8]; 7] = [
            b"\r\n",
            b"*1\r\n",
            b"$x\r\n",
            b"$-2\r\n",
            b"$99999999999\r\n",
            b"$1\r\nabc",
            &[b'+'; MAX_LINE_BYTES],
        ];
        for bytes in rows {
            assert!(parse(bytes).is_err(), "{:?}", &bytes[..bytes.len().min(20)]);
        }
    }
}
