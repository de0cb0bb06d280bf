//! Parsing of command arguments: words, numbers, ranges.

use crate::error::Error;
use crate::number;

/// The error for a wrong number of arguments.
pub(crate) fn wrong_arguments(name: &str) -> Error {
    Error::new(format!("ERR wrong number of arguments for '{name}' command"))
}

/// Keys, and the arguments after them.
pub(crate) type Split<'a, 'b> = (&'a [&'b [u8]], &'a [&'b [u8]]);

/// Compares an argument with a word, ignoring case.
pub(crate) fn is(arg: &[u8], word: &str) -> bool {
    arg.eq_ignore_ascii_case(word.as_bytes())
}

pub(crate) fn integer(arg: &[u8]) -> Result<i64, Error> {
    number::integer(arg).ok_or(Error::NOT_INTEGER)
}

pub(crate) fn float(arg: &[u8]) -> Result<f64, Error> {
    number::float(arg).ok_or(Error::NOT_FLOAT)
}

/// A non-negative count.
pub(crate) fn count(arg: &[u8]) -> Result<usize, Error> {
    let value = number::integer(arg).ok_or(Error::OUT_OF_RANGE)?;
    usize::try_from(value).map_err(|_| Error::OUT_OF_RANGE)
}

/// Converts the start and end of LRANGE and similar commands, which count from the end if negative; `None` if
/// the range is empty.
pub(crate) fn range(start: i64, end: i64, len: usize) -> Option<(usize, usize)> {
    let len = i64::try_from(len).ok()?;
    let start = if start < 0 { (start + len).max(0) } else { start };
    let end = if end < 0 { end + len } else { end.min(len - 1) };
    (start <= end && start < len).then_some((start as usize, end as usize))
}
