//! Inline commands: a line of words with optional quotes, as typed in telnet.

use crate::args::Span;
use crate::{Args, RequestError};

/// Splits `line` into words, as Redis does:
/// - `"..."` may contain spaces and the escapes `\n`, `\r`, `\t`, `\b`, `\a`, `\xff`; a backslash before any
///   other character quotes it;
/// - `'...'` is literal except for `\'`;
/// - a quote may start within a word; its end is the end of the word.
pub(crate) fn split(line: &[u8], args: &mut Args) -> Result<(), RequestError> {
    args.inline = true;
    let mut rest = line.trim_ascii_start_all();
    while !rest.is_empty() {
        let at = args.unquoted.len();
        rest = word(rest, &mut args.unquoted)?;
        args.spans.push(Span::new(at, args.unquoted.len() - at));
        rest = rest.trim_ascii_start_all();
    }
    Ok(())
}

/// Parses the first word of `line`, which is not empty, and returns the rest.
fn word<'a>(mut line: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], RequestError> {
    loop {
        match line {
            [] => return Ok(line),
            [b'"', rest @ ..] => return check_word_end(double_quoted(rest, out)?),
            [b'\'', rest @ ..] => return check_word_end(single_quoted(rest, out)?),
            [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] => return Ok(rest),
            [byte, rest @ ..] => {
                out.push(*byte);
                line = rest;
            }
        }
    }
}

/// A closing quote must be followed by a space or the end.
fn check_word_end(rest: &[u8]) -> Result<&[u8], RequestError> {
    match rest.first() {
        Some(byte) if !is_space(*byte) => Err(RequestError::UnbalancedQuotes),
        _ => Ok(rest),
    }
}

fn double_quoted<'a>(mut line: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], RequestError> {
    loop {
        match line {
            [] => return Err(RequestError::UnbalancedQuotes),
            [b'"', rest @ ..] => return Ok(rest),
            [b'\\', b'x', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                out.push(hex(*high) << 4 | hex(*low));
                line = rest;
            }
            [b'\\', escaped, rest @ ..] => {
                out.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                line = rest;
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                line = rest;
            }
        }
    }
}

fn single_quoted<'a>(mut line: &'a [u8], out: &mut Vec<u8>) -> Result<&'a [u8], RequestError> {
    loop {
        match line {
            [] => return Err(RequestError::UnbalancedQuotes),
            [b'\'', rest @ ..] => return Ok(rest),
            [b'\\', b'\'', rest @ ..] => {
                out.push(b'\'');
                line = rest;
            }
            [byte, rest @ ..] => {
                out.push(*byte);
                line = rest;
            }
        }
    }
}

fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

/// The whitespace of C's `isspace`.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

trait TrimStart {
    fn trim_ascii_start_all(&self) -> &Self;
}

impl TrimStart for [u8] {
    fn trim_ascii_start_all(&self) -> &Self {
        let at = self.iter().position(|byte| !is_space(*byte)).unwrap_or(self.len());
        &self[at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: Option<&[&str]>) {
        let mut args = Args::default();
        let result = split(line.as_bytes(), &mut args);
        let words: Vec<_> = args.iter(b"").map(|word| word.escape_ascii().to_string()).collect();
        match expected {
            Some(expected) => assert_eq!(
                (words, result),
                (expected.iter().map(|word| word.to_string()).collect(), Ok(())),
                "{line:?}"
            ),
            None => assert_eq!(result, Err(RequestError::UnbalancedQuotes), "{line:?}"),
        }
    }

    #[test]
    fn words_and_quotes() {
        check("", Some(&[]));
        check("  \t ", Some(&[]));
        check("PING", Some(&["PING"]));
        check("  SET  k\tv ", Some(&["SET", "k", "v"]));
        check(r#"SET "a b" 'c d'"#, Some(&["SET", "a b", "c d"]));
        check(r#"a"" ''"#, Some(&["a", ""]));
        check(r#""\x41\xfF\x4g\n\r\t\b\a\"\\\q""#, Some(&[r#"A\xffx4g\n\r\t\x08\x07\"\\q"#]));
        check(r"'\'\n'", Some(&[r"\'\\n"]));
        check(r"'a\\'", None);
        check(r"a\n", Some(&[r"a\\n"]));
        check(r#"ab"c d""#, Some(&["abc d"]));
        check(r#""a"b"#, None);
        check(r#""a"#, None);
        check(r#""a\""#, None);
        check(r"'a", None);
        check(r"'a'b", None);
        check(r#"set """test-key""" test-value"#, None);
    }
}
