//! Commands of a client, as they come.

use crate::args::Span;
use crate::number::parse_integer;
use crate::short::{self, SHORT_ARGUMENTS};
use crate::{Args, RequestError, RequestLimits, inline};

/// What the input holds of its first command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// All of it: the arguments are set, and so many bytes are done with. There may be no arguments (an empty line):
    /// nothing is to be done then.
    Complete(usize),
    /// Not all: at least so many more bytes are needed. A hint for reading, and no reason to set memory aside: a
    /// client can claim anything.
    Partial(usize),
}

/// Finds commands in what a client sends. One for each connection.
///
/// It keeps how far an incomplete command was looked at, so that one that comes byte by byte costs no more than one
/// that comes whole. Between [`Progress::Partial`] and the next call the input may only grow; after
/// [`Progress::Complete`] so many bytes are to be taken off. After an error there is nothing more to be found: send
/// it, and close.
#[derive(Debug)]
pub struct RequestParser {
    limits: RequestLimits,
    /// Of a command that [`parse_short`](Self::parse_short) takes.
    short_arguments: usize,
    authenticated: bool,
    /// Of the command that is not complete.
    state: State,
    /// Its arguments so far. Not the caller's, which serve all connections.
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Everything before is understood.
    at: usize,
    /// A line that begins at `at` does not end before.
    searched: usize,
    /// Arguments that are still to come; `None` before the head.
    missing: Option<usize>,
}

/// The end of a line and what it says, or that it is not there yet.
enum Line {
    Number { value: Option<i64>, next: usize },
    Unfinished,
}

impl RequestParser {
    /// For a client that need not say who it is. Of one that must, see [`set_authenticated`](Self::set_authenticated).
    pub fn new(limits: RequestLimits) -> Self {
        let short_arguments = short::arguments_within(&limits);
        Self { limits, short_arguments, authenticated: true, state: State::default(), spans: Vec::new() }
    }

    /// Whether the client has said who it is, or need not. Until then its commands are kept small.
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

    /// Whether a command was begun and is not complete.
    pub fn is_partial(&self) -> bool {
        self.state.at > 0 || self.state.searched > 0
    }

    /// Looks for the first command of `input`.
    ///
    /// # Errors
    ///
    /// The client broke the protocol.
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

    /// The line `*N`; how many arguments follow, if it is there.
    #[inline]
    fn head(&self, input: &[u8], state: &mut State) -> Result<Option<usize>, RequestError> {
        let (value, next) = match input {
            [b'*', digit @ b'0'..=b'9', b'\r', b'\n', ..] => (i64::from(digit - b'0'), 4),
            _ => match self.line(input, state, RequestError::TooBigMultibulkCount)? {
                Line::Unfinished => return Ok(None),
                Line::Number { value, next } => (value.ok_or(RequestError::InvalidMultibulkLength)?, next),
            },
        };
        // As in Redis, no arguments or fewer are a command of nothing.
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

    /// One argument, or how many bytes of it are missing at least.
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

    /// Whether an argument may be so long, and the request with it.
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

    /// A kind, a number and the line's end, from `state.at` on.
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
            // Not the end of a line, so that what stands before is no number.
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

    /// Keeps what was understood for the next call.
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
