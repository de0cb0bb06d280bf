//! A fast path for complete commands with few and short arguments.

use crate::RequestLimits;

/// Maximum number of arguments.
pub const SHORT_ARGUMENTS: usize = 4;
/// Maximum length of an argument: two digits.
const ARGUMENT_BYTES: usize = 99;
/// Maximum length of such a command.
const REQUEST_BYTES: usize = 4 + SHORT_ARGUMENTS * (ARGUMENT_BYTES + 7);

const ONE_DIGIT: u32 = u32::from_le_bytes(*b"$\0\r\n");
const TWO_DIGITS: u32 = u32::from_le_bytes(*b"$\0\0\r");

/// The maximum number of arguments of commands that cannot exceed a limit; 0 disables the fast path.
pub(crate) fn arguments_within(limits: &RequestLimits) -> usize {
    let bytes = limits.max_bulk_bytes.min(limits.max_unauthenticated_bulk_bytes);
    if bytes < ARGUMENT_BYTES || limits.max_request_bytes < REQUEST_BYTES {
        return 0;
    }
    SHORT_ARGUMENTS.min(limits.max_arguments).min(limits.max_unauthenticated_arguments)
}

/// Parses the first command of `input` if it is complete and has the common form with at most `max_arguments`
/// arguments. Sets the arguments, and returns the length of the command and the number of arguments.
#[inline]
pub(crate) fn parse<'b>(
    input: &'b [u8],
    words: &mut [&'b [u8]; SHORT_ARGUMENTS],
    max_arguments: usize,
) -> Option<(usize, usize)> {
    let [b'*', digit, b'\r', b'\n', rest @ ..] = input else { return None };
    let count = usize::from(digit.wrapping_sub(b'0'));
    if count == 0 || count > max_arguments {
        return None;
    }
    let mut rest = rest;
    for word in &mut words[..count] {
        (*word, rest) = argument(rest)?;
    }
    Some((input.len() - rest.len(), count))
}

/// An argument, and the rest of the input.
#[inline]
fn argument(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, rest) = input.split_first_chunk::<4>()?;
    let head = u32::from_le_bytes(*head);
    let digit = |shift: u32| ((head >> shift) as u8).wrapping_sub(b'0');
    let (length, rest) = if head & 0xffff_00ff == ONE_DIGIT && digit(8) <= 9 {
        (digit(8), rest)
    } else {
        let [b'\n', rest @ ..] = rest else { return None };
        let (ten, one) = (digit(8), digit(16));
        if head & 0xff00_00ff != TWO_DIGITS || ten == 0 || ten > 9 || one > 9 {
            return None;
        }
        (ten * 10 + one, rest)
    };
    let (word, rest) = rest.split_at_checked(usize::from(length))?;
    let [b'\r', b'\n', rest @ ..] = rest else { return None };
    Some((word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestParser;
    use crate::{Args, Progress};

    /// The fast path agrees with the parser.
    fn agrees(input: &[u8]) -> bool {
        let mut parser = RequestParser::new(RequestLimits::default());
        let mut words = [&b""[..]; SHORT_ARGUMENTS];
        let short = parser.parse_short(input, &mut words);
        let mut args = Args::default();
        let whole = parser.parse(input, &mut args);
        if let Some((bytes, count)) = short {
            assert_eq!(whole, Ok(Progress::Complete(bytes)));
            assert_eq!(args.iter(input).collect::<Vec<_>>(), words[..count]);
        }
        short.is_some()
    }

    #[test]
    fn the_fast_path_agrees_with_the_parser() {
        let long = format!("*2\r\n$1\r\nk\r\n$99\r\n{}\r\n", "x".repeat(99));
        for (text, is_short) in [
            ("*3\r\n$3\r\nSET\r\n$10\r\n0123456789\r\n$0\r\n\r\n", true),
            ("*1\r\n$4\r\nPING\r\n*1\r\n", true),
            (&long, true),
            ("*0\r\n", false),
            ("*5\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n", false),
            ("*1\r\n$01\r\nP\r\n", false),
            ("*1\r\n$1:\r\n01234567890\r\n", false),
            ("*1\r\n$:\r\n0123456789\r\n", false),
            ("*1\r\n$-1\r\n", false),
            ("*:\r\n", false),
            ("*1\r\n$4\r\nPING", false),
            ("*1\r\n$4\r\nPINGx\n", false),
            ("PING\r\n", false),
            ("", false),
        ] {
            assert_eq!(agrees(text.as_bytes()), is_short, "{text:?}");
            for end in 0..text.len() {
                agrees(&text.as_bytes()[..end]);
            }
        }
    }

    #[test]
    fn limits_restrict_the_fast_path() {
        let limits = |change: fn(&mut RequestLimits)| {
            let mut limits = RequestLimits::default();
            change(&mut limits);
            arguments_within(&limits)
        };
        assert_eq!(limits(|_| {}), SHORT_ARGUMENTS);
        assert_eq!(limits(|limits| limits.max_arguments = 2), 2);
        assert_eq!(limits(|limits| limits.max_unauthenticated_arguments = 1), 1);
        assert_eq!(limits(|limits| limits.max_bulk_bytes = 98), 0);
        assert_eq!(limits(|limits| limits.max_unauthenticated_bulk_bytes = 98), 0);
        assert_eq!(limits(|limits| limits.max_request_bytes = 400), 0);
    }
}
