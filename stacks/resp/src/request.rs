//! Parses a client's commands.

use crate::args::Span;
use crate::number::parse_integer;
use crate::short::{self, SHORT_ARGUMENTS};
use crate::{Args, RequestError, RequestLimits, inline};

/// The result of parsing the first command of the input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// The command is complete: the arguments are set, and this many bytes are consumed. There are no
    /// arguments for an empty line, which should be ignored.
    Complete(usize),
    /// At least this many more bytes are needed. Use it only as a hint for reading: a client can claim any
    /// length.
    Partial(usize),
}

/// Parses a client's commands. Use one per connection.
///
/// The parser remembers how much of an incomplete command it has examined, so parsing byte by byte takes
/// linear time. After [`Progress::Partial`] the input may only grow until the next call; after
/// [`Progress::Complete`] the consumed bytes must be removed from the input. Parsing cannot continue after an
/// error: send it and close the connection.
#[derive(Debug)]
pub struct RequestParser {
    limits: RequestLimits,
    /// Arguments that [`parse_short`](Self::parse_short) accepts.
    short_arguments: usize,
    authenticated: bool,
    /// State of the incomplete command.
    state: State,
    /// Its arguments so far; the caller's buffer is shared by all connections.
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Everything before this offset has been parsed.
    at: usize,
    /// A line that starts at `at` does not end before this offset.
    searched: usize,
    /// Remaining arguments; `None` before the header.
    missing: Option<usize>,
}

/// A length line, or an incomplete one.
enum Line {
    Number { value: Option<i64>, next: usize },
    Unfinished,
}

impl RequestParser {
    /// A parser for an authenticated client; see [`set_authenticated`](Self::set_authenticated).
    pub fn new(limits: RequestLimits) -> Self {
        let short_arguments = short::arguments_within(&limits);
        Self { limits, short_arguments, authenticated: true, state: State::default(), spans: Vec::new() }
    }

    /// Sets whether the client is authenticated. Until then lower limits apply.
    pub fn set_authenticated(&mut self, authenticated: bool) {
        self.authenticated = authenticated;
    }

    /// Parses the first command of `input` if it is complete and has the common form: few and short arguments. Sets the
    /// arguments, and returns the length of the command and the number of arguments. For everything else, including errors,
    /// returns `None`: call [`parse`](Self::parse).
    #[inline]
    pub fn parse_short<'b>(
        &self,
        input: &'b [u8],
        words: &mut [&'b [u8]; SHORT_ARGUMENTS],
    ) -> Option<(usize, usize)> {
        if self.is_partial() {
            return None;
        }
        short::parse(input, words, self.short_arguments)
    }

    /// Whether a command is incomplete.
    pub fn is_partial(&self) -> bool {
        self.state.at > 0 || self.state.searched > 0
    }

    /// Parses the first command of `input`.
    ///
    /// # Errors
    ///
    /// The client violated the protocol.
    #[inline]
    pub fn parse(&mut self, input: &[u8], args: &mut Args) -> Result<Progress, RequestError> {
        args.clear();
        match input.first() {
            None => Ok(Progress::Partial(1)),
            Some(b'*') => self.multibulk(input, args),
            Some(_) => self.inline(input, args),
        }
    }

    fn multibulk(&mut self, input: &[u8], args: &mut Args) -> Result<Progress, RequestError> {
        let mut state = self.state;
        if state.missing.is_some() {
            std::mem::swap(&mut self.spans, &mut args.spans);
        }
        let missing = match state.missing {
            Some(missing) => missing,
            None => match self.head(input, &mut state)? {
                Some(missing) => missing,
                None => return Ok(self.partial(state, args, 1)),
            },
        };
        for left in (1..=missing).rev() {
            match self.bulk(input, &mut state)? {
                Ok(span) => args.spans.push(span),
                Err(more) => {
                    state.missing = Some(left);
                    return Ok(self.partial(state, args, more));
                }
            }
        }
        if self.is_partial() {
            self.state = State::default();
            self.spans = Vec::new();
        }
        Ok(Progress::Complete(state.at))
    }

    /// Parses the `*N` line; `None` if it is incomplete.
    #[inline]
    fn head(&self, input: &[u8], state: &mut State) -> Result<Option<usize>, RequestError> {
        let (value, next) = match input {
            [b'*', digit @ b'0'..=b'9', b'\r', b'\n', ..] => (i64::from(digit - b'0'), 4),
            _ => match self.line(input, state, RequestError::TooBigMultibulkCount)? {
                Line::Unfinished => return Ok(None),
                Line::Number { value, next } => (value.ok_or(RequestError::InvalidMultibulkLength)?, next),
            },
        };
        // As in Redis, zero or a negative number is an empty command.
        let missing = usize::try_from(value.max(0)).unwrap_or(usize::MAX);
        if missing > self.limits.max_arguments {
            return Err(RequestError::InvalidMultibulkLength);
        }
        if !self.authenticated && missing > self.limits.max_unauthenticated_arguments {
            return Err(RequestError::UnauthenticatedMultibulkLength);
        }
        (state.at, state.searched) = (next, 0);
        Ok(Some(missing))
    }

    /// Parses an argument, or returns the minimum number of missing bytes.
    #[inline]
    fn bulk(&self, input: &[u8], state: &mut State) -> Result<Result<Span, usize>, RequestError> {
        let rest = input.get(state.at..).unwrap_or_default();
        let (length, start) = match rest {
            [b'$', digit @ b'0'..=b'9', b'\r', b'\n', ..] => (usize::from(digit - b'0'), state.at + 4),
            [b'$', ten @ b'1'..=b'9', one @ b'0'..=b'9', b'\r', b'\n', ..] => {
                (usize::from(ten - b'0') * 10 + usize::from(one - b'0'), state.at + 5)
            }
            [] => return Ok(Err(1)),
            [b'$', ..] => match self.line(input, state, RequestError::TooBigBulkCount)? {
                Line::Unfinished => return Ok(Err(1)),
                Line::Number { value, next } => {
                    let length = value.and_then(|value| usize::try_from(value).ok());
                    (length.ok_or(RequestError::InvalidBulkLength)?, next)
                }
            },
            [other, ..] => return Err(RequestError::ExpectedDollar(*other)),
        };
        self.check_length(length, start)?;
        let end = start + length;
        match input.get(end..end + 2) {
            Some(b"\r\n") => {
                (state.at, state.searched) = (end + 2, 0);
                Ok(Ok(Span::new(start, length)))
            }
            Some(_) => Err(RequestError::ExpectedLineEnd),
            None => Ok(Err(end + 2 - input.len())),
        }
    }

    /// Checks the length of an argument and of the request.
    #[inline]
    fn check_length(&self, length: usize, start: usize) -> Result<(), RequestError> {
        if length > self.limits.max_bulk_bytes {
            return Err(RequestError::InvalidBulkLength);
        }
        if !self.authenticated && length > self.limits.max_unauthenticated_bulk_bytes {
            return Err(RequestError::UnauthenticatedBulkLength);
        }
        if start.saturating_add(length) > self.limits.max_request_bytes.min(u32::MAX as usize - 2) {
            return Err(RequestError::TooBigRequest);
        }
        Ok(())
    }

    /// Parses a length line from `state.at`.
    fn line(&self, input: &[u8], state: &mut State, endless: RequestError) -> Result<Line, RequestError> {
        let searched = state.searched.max(state.at + 1);
        let Some(found) = memchr::memchr(b'\r', input.get(searched..).unwrap_or_default()) else {
            state.searched = input.len();
            return if input.len() - state.at > self.limits.max_line_bytes {
                Err(endless)
            } else {
                Ok(Line::Unfinished)
            };
        };
        let end = searched + found;
        if end - state.at > self.limits.max_line_bytes {
            return Err(endless);
        }
        match input.get(end + 1) {
            None => {
                state.searched = end;
                Ok(Line::Unfinished)
            }
            Some(b'\n') => {
                Ok(Line::Number { value: parse_integer(&input[state.at + 1..end]), next: end + 2 })
            }
            // CR without LF, so the number is invalid.
            Some(_) => Ok(Line::Number { value: None, next: end + 2 }),
        }
    }

    fn inline(&mut self, input: &[u8], args: &mut Args) -> Result<Progress, RequestError> {
        let searched = self.state.searched;
        let limit = self.limits.max_line_bytes;
        match memchr::memchr(b'\n', input.get(searched..).unwrap_or_default()) {
            Some(found) if searched + found <= limit => {
                let end = searched + found;
                self.state = State::default();
                let line = &input[..end];
                inline::split(line.strip_suffix(b"\r").unwrap_or(line), args)?;
                Ok(Progress::Complete(end + 1))
            }
            None if input.len() <= limit => {
                self.state.searched = input.len();
                Ok(Progress::Partial(1))
            }
            _ => Err(RequestError::TooBigInline),
        }
    }

    /// Saves the state for the next call.
    #[cold]
    fn partial(&mut self, state: State, args: &mut Args, more: usize) -> Progress {
        if state.missing.is_some() {
            std::mem::swap(&mut self.spans, &mut args.spans);
        }
        self.state = state;
        Progress::Partial(more)
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
