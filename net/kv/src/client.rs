//! One client: its commands found, executed and answered.

use netdyno_io::tcp::Key;
use netdyno_kv_core::{Engine, Now, Outcome, SessionId};
use netdyno_resp::{Args, Progress, Reply, RequestLimits, RequestParser, SHORT_ARGUMENTS};

use crate::limits::{AHEAD_ARGUMENTS, AHEAD_COMMANDS, KEPT_WORDS, TURN_ANSWER_BYTES, TURN_COMMANDS};

/// What is known of a client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) key: Key,
    pub(crate) session: SessionId,
    pub(crate) parser: RequestParser,
    /// When it last sent something, on the server's clock.
    pub(crate) active_ms: u64,
    /// It waits for its turn: commands of it are left from the last.
    pub(crate) queued: bool,
    /// It does not take its answers: it waits until it does.
    pub(crate) stalled: bool,
    /// Nothing is read from it.
    pub(crate) paused: bool,
    /// It waits for something to happen to a key; its next commands wait with it.
    pub(crate) blocked: bool,
    /// It sends no more.
    pub(crate) ended: bool,
    /// It was sent something that it did not ask for: it listens, and may well be silent.
    pub(crate) told: bool,
    /// It was noted that it has not taken its answers.
    pub(crate) noted: bool,
    authenticated: bool,
}

/// What is used again from client to client, so that nothing is allocated in a steady flow.
#[derive(Default)]
pub(crate) struct Scratch {
    args: Args,
    words: Vec<&'static [u8]>,
    /// Of commands that are only looked at.
    ahead: Args,
}

/// Where a client's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// No further command has arrived.
    Hungry,
    /// There may be more; others come first.
    More,
    /// It waits for something to happen.
    Blocked,
    /// It is to be closed once it has its answers.
    Close,
    /// It is to be closed at once.
    Abort,
}

impl Client {
    pub(crate) fn new(key: Key, session: SessionId, parser: RequestParser, active_ms: u64) -> Self {
        let (queued, stalled, paused, blocked, ended, told) = (false, false, false, false, false, false);
        let (noted, authenticated) = (false, false);
        Self {
            key,
            session,
            parser,
            active_ms,
            queued,
            stalled,
            paused,
            blocked,
            ended,
            told,
            noted,
            authenticated,
        }
    }

    /// Until it has said who it is its commands are held to be short.
    #[inline]
    fn look_who_it_is(&mut self, engine: &Engine) {
        if !self.authenticated {
            self.authenticated = engine.is_authenticated(self.session);
            self.parser.set_authenticated(self.authenticated);
        }
    }

    /// Executes commands of `input` and appends their answers to `output`, for as long as a turn may last. Gives how
    /// many bytes are done with.
    pub(crate) fn serve(
        &mut self,
        engine: &mut Engine,
        now: Now,
        (input, output): (&[u8], &mut Vec<u8>),
        scratch: &mut Scratch,
    ) -> (usize, End) {
        let mut words = recycle(std::mem::take(&mut scratch.words));
        let mut short = [&b""[..]; SHORT_ARGUMENTS];
        let (mut at, start, mut end) = (0, output.len(), End::More);
        self.look_who_it_is(engine);
        let ahead = engine.wants_warmth(self.session);
        let mut turn = engine.turn(now, self.session);
        for command in 0..TURN_COMMANDS {
            if output.len() - start > TURN_ANSWER_BYTES {
                break;
            }
            let rest = &input[at..];
            if ahead && command % AHEAD_COMMANDS == 0 && !self.parser.is_partial() {
                announce(turn.engine(), self.session, rest, &mut scratch.ahead);
            }
            let outcome = if let Some((bytes, count)) = self.parser.parse_short(rest, &mut short) {
                at += bytes;
                turn.execute(&short[..count], output)
            } else {
                self.look_who_it_is(turn.engine());
                match self.parser.parse(rest, &mut scratch.args) {
                    Ok(Progress::Complete(bytes)) => at += bytes,
                    Ok(Progress::Partial(_)) => {
                        end = End::Hungry;
                        break;
                    }
                    Err(error) => {
                        Reply::new(output, turn.engine().protocol(self.session)).error_display(error);
                        end = End::Close;
                        break;
                    }
                }
                if scratch.args.is_empty() {
                    continue;
                }
                if let Some(args) = scratch.args.in_input(rest) {
                    words.clear();
                    words.extend(args);
                    turn.execute(&words, output)
                } else {
                    let words: Vec<_> = scratch.args.iter(rest).collect();
                    if is_http(words[0]) {
                        end = End::Abort;
                        break;
                    }
                    turn.execute(&words, output)
                }
            };
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
        (at, end)
    }
}

/// Tells the engine the first keys of the commands that come next, so that it has them in the cache. A guess that costs
/// nothing if it is wrong: what breaks the protocol, or is long, is for the parser that counts.
fn announce(engine: &Engine, session: SessionId, mut rest: &[u8], args: &mut Args) {
    let limits = RequestLimits { max_arguments: AHEAD_ARGUMENTS, ..RequestLimits::default() };
    let mut parser = RequestParser::new(limits);
    for _ in 0..AHEAD_COMMANDS {
        if rest.first() != Some(&b'*') {
            return;
        }
        let mut words = [&b""[..]; SHORT_ARGUMENTS];
        if let Some((bytes, count)) = parser.parse_short(rest, &mut words) {
            words[1..count].iter().take(1).for_each(|key| engine.warm(session, key));
            rest = &rest[bytes..];
            continue;
        }
        let Ok(Progress::Complete(bytes)) = parser.parse(rest, args) else { return };
        if args.len() > 1 {
            engine.warm(session, args.get(rest, 1));
        }
        rest = &rest[bytes..];
    }
}

/// A page in a browser can make it send requests here, whose body could then be commands. They begin so.
fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"POST") || word.eq_ignore_ascii_case(b"HOST:")
}

/// The same room, for words that live for another time. The standard library collects in place.
fn recycle<'b>(mut words: Vec<&[u8]>) -> Vec<&'b [u8]> {
    words.clear();
    words.shrink_to(KEPT_WORDS);
    words.into_iter().map(|_| -> &'b [u8] { unreachable!("there are none") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_comes_can_be_looked_at() {
        let now = Now { unix_ms: 1, monotonic_us: 0 };
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
    fn room_for_words_is_kept() {
        let mut words = Vec::with_capacity(20);
        words.push(&b"word"[..]);
        let place = words.as_ptr().addr();
        let words = recycle(words);
        assert_eq!((words.as_ptr().addr(), words.capacity(), words.len()), (place, 20, 0));
    }
}
