//! One client: parses and executes its commands, and writes the replies.

use netdyno_io::tcp::Key;
use netdyno_kv_core::{Engine, Outcome, SessionId, Timestamp};
use netdyno_resp::{Args, Progress, Reply, RequestLimits, RequestParser, SHORT_ARGUMENTS};

use crate::limits::{
    AHEAD_ARGUMENTS, AHEAD_COMMANDS, ARGUMENTS_PER_COMMAND, DEBT_BYTES, KEPT_WORDS, MODEST_REPLY_BYTES,
    REPLY_BYTES_PER_ITERATION,
};

/// The state of a client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) key: Key,
    pub(crate) session: SessionId,
    pub(crate) parser: RequestParser,
    /// Time of the last received data, on the server's clock.
    pub(crate) active_ms: u64,
    /// The client is in one of the queues of [`Clients`](crate::clients::Clients).
    pub(crate) queued: bool,
    /// Bytes of replies beyond the allowance of a client that is not costly.
    debt: usize,
    /// The client does not read its replies, so its commands are not executed until it does.
    pub(crate) stalled: bool,
    /// Reading from the socket is paused.
    pub(crate) paused: bool,
    /// A blocking command waits for a key; later commands wait behind it.
    pub(crate) blocked: bool,
    /// The client has closed its sending side.
    pub(crate) ended: bool,
    /// The client has received a message that is not a reply, and therefore may be idle without a timeout.
    pub(crate) receives_messages: bool,
    /// The size of its unread output is recorded, for CLIENT LIST.
    pub(crate) noted: bool,
    authenticated: bool,
}

/// Buffers that are reused between clients, so that steady traffic allocates nothing.
#[derive(Default)]
pub(crate) struct Scratch {
    args: Args,
    words: Vec<&'static [u8]>,
    /// Arguments of commands that are only inspected.
    ahead: Args,
}

/// Why the processing of a client stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// All complete commands were executed.
    Hungry,
    /// The limit of the iteration was reached; more commands may be left.
    More,
    /// A blocking command waits.
    Blocked,
    /// Close the connection after sending the replies.
    Close,
    /// Close the connection immediately.
    Abort,
}

impl Client {
    pub(crate) fn new(key: Key, session: SessionId, parser: RequestParser, active_ms: u64) -> Self {
        let (queued, stalled, paused, blocked, ended, receives_messages) =
            (false, false, false, false, false, false);
        let (noted, authenticated) = (false, false);
        Self {
            key,
            session,
            parser,
            active_ms,
            queued,
            // Connections cost nothing to open, so a new one waits behind clients that are known to be modest.
            debt: 1,
            stalled,
            paused,
            blocked,
            ended,
            receives_messages,
            noted,
            authenticated,
        }
    }

    /// Whether others are served first: the client is new, or its last replies were large.
    #[inline]
    pub(crate) fn is_costly(&self) -> bool {
        self.debt > 0
    }

    /// Adds the cost of executed commands.
    #[inline]
    pub(crate) fn charge(&mut self, commands: usize, reply_bytes: usize) {
        if commands > 0 {
            self.debt = (self.debt + reply_bytes).saturating_sub(MODEST_REPLY_BYTES).min(DEBT_BYTES);
        }
    }

    /// Lifts the limits for unauthenticated clients once the session is authenticated.
    #[inline]
    fn update_authentication(&mut self, engine: &Engine) {
        if !self.authenticated {
            self.authenticated = engine.is_authenticated(self.session);
            self.parser.set_authenticated(self.authenticated);
        }
    }

    /// Executes commands from `input` and appends their replies to `output`, up to the limits of an iteration.
    /// Returns the number of bytes consumed and of commands executed.
    pub(crate) fn serve(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        (input, output): (&[u8], &mut Vec<u8>),
        scratch: &mut Scratch,
        most_commands: usize,
    ) -> (usize, usize, End) {
        let mut words = recycle(std::mem::take(&mut scratch.words));
        let mut short = [&b""[..]; SHORT_ARGUMENTS];
        let (mut at, start, mut end) = (0, output.len(), End::More);
        self.update_authentication(engine);
        let ahead = engine.prefetch_pays(self.session);
        let mut batch = engine.batch(now, self.session);
        // A command with many arguments counts as several.
        let (mut commands, mut command) = (0, 0);
        while commands < most_commands {
            if output.len() - start > REPLY_BYTES_PER_ITERATION {
                break;
            }
            let rest = &input[at..];
            if ahead && command % AHEAD_COMMANDS == 0 && !self.parser.is_partial() {
                announce(batch.engine(), self.session, rest, &mut scratch.ahead);
            }
            let outcome = if let Some((bytes, count)) = self.parser.parse_short(rest, &mut short) {
                at += bytes;
                batch.execute(&short[..count], output)
            } else {
                self.update_authentication(batch.engine());
                match self.parser.parse(rest, &mut scratch.args) {
                    Ok(Progress::Complete(bytes)) => at += bytes,
                    Ok(Progress::Partial(_)) => {
                        end = End::Hungry;
                        break;
                    }
                    Err(error) => {
                        Reply::new(output, batch.engine().protocol(self.session)).error_display(error);
                        end = End::Close;
                        break;
                    }
                }
                if scratch.args.is_empty() {
                    commands += 1;
                    continue;
                }
                commands += scratch.args.len() / ARGUMENTS_PER_COMMAND;
                if let Some(args) = scratch.args.in_input(rest) {
                    words.clear();
                    words.extend(args);
                    batch.execute(&words, output)
                } else {
                    let words: Vec<_> = scratch.args.iter(rest).collect();
                    if is_http(words[0]) {
                        end = End::Abort;
                        break;
                    }
                    batch.execute(&words, output)
                }
            };
            (commands, command) = (commands + 1, command + 1);
            match outcome {
                Outcome::Continue => {}
                Outcome::Blocked => {
                    end = End::Blocked;
                    break;
                }
                Outcome::Close => {
                    end = End::Close;
                    break;
                }
            }
        }
        scratch.words = recycle(words);
        (at, commands, end)
    }
}

/// Announces the first keys of the next commands to the engine, which prefetches them. This is only a hint:
/// invalid or long commands are left to the main parser.
fn announce(engine: &Engine, session: SessionId, mut rest: &[u8], args: &mut Args) {
    let limits = RequestLimits { max_arguments: AHEAD_ARGUMENTS, ..RequestLimits::default() };
    let mut parser = RequestParser::new(limits);
    for _ in 0..AHEAD_COMMANDS {
        if rest.first() != Some(&b'*') {
            return;
        }
        let mut words = [&b""[..]; SHORT_ARGUMENTS];
        if let Some((bytes, count)) = parser.parse_short(rest, &mut words) {
            words[1..count].iter().take(1).for_each(|key| engine.prefetch(session, key));
            rest = &rest[bytes..];
            continue;
        }
        let Ok(Progress::Complete(bytes)) = parser.parse(rest, args) else { return };
        if args.len() > 1 {
            engine.prefetch(session, args.get(rest, 1));
        }
        rest = &rest[bytes..];
    }
}

/// A web page can make a browser send an HTTP request here whose body contains commands. Such a request
/// starts with one of these words.
fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"POST") || word.eq_ignore_ascii_case(b"HOST:")
}

/// Reuses the allocation for slices with another lifetime. The standard library collects in place.
fn recycle<'b>(mut words: Vec<&[u8]>) -> Vec<&'b [u8]> {
    words.clear();
    words.shrink_to(KEPT_WORDS);
    words.into_iter().map(|_| -> &'b [u8] { unreachable!("there are none") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn announcing_accepts_any_input() {
        let now = Timestamp { unix_ms: 1, monotonic_us: 0 };
        let mut engine = Engine::new(netdyno_kv_core::Config::default(), 1);
        let session = engine.open(now, "test");
        let mut args = Args::default();
        let whole = b"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*0\r\n*1\r\n$4\r\nPING\r\nGET k\r\n*-1\r\n*99\r\n$x\r\n";
        for from in 0..whole.len() {
            for to in from..=whole.len() {
                announce(&engine, session, &whole[from..to], &mut args);
            }
        }
        assert_eq!((engine.keys(), engine.sessions()), (0, 1));
    }

    #[test]
    fn capacity_for_arguments_is_kept() {
        let mut words = Vec::with_capacity(20);
        words.push(&b"word"[..]);
        let place = words.as_ptr().addr();
        let words = recycle(words);
        assert_eq!((words.as_ptr().addr(), words.capacity(), words.len()), (place, 20, 0));
    }
}
