//! The link to a primary, from the first word to the last: what is said, what is read, and when it is over. Without I/O.

use netdyno_kv_core::{Engine, LinkState, Loader, Now, Outcome, RdbFault, SessionId};
use netdyno_resp::{Args, Progress, RequestLimits, RequestParser, write_command};

use crate::limits::{APPLIED_AT_ONCE_BYTES, LINK_LINE_BYTES};

/// Where in the primary's history of changes we are.
#[derive(Debug, Clone, Default)]
pub(super) struct Position {
    /// Its name, forty digits; none before the first copy.
    pub(super) history: Option<String>,
    /// Bytes of it that are applied.
    pub(super) offset: u64,
    /// Who applies them: it knows the database that was chosen last.
    pub(super) session: Option<SessionId>,
}

/// Why a link is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Over {
    /// It may work the next time.
    Again(String),
    /// It would not: what the primary has cannot be had here.
    ForGood(String),
}

/// Who we are to the primary.
#[derive(Debug, Clone, Default)]
pub(super) struct Introduction {
    pub(super) user: String,
    pub(super) password: String,
    /// Where our clients connect.
    pub(super) port: u16,
}

#[derive(Debug)]
enum Phase {
    /// An answer is awaited to: PING, AUTH, who we are, what we can, from where we go on.
    Ping,
    Auth,
    Port,
    Capabilities,
    Position,
    /// How long the copy is, or how its end looks.
    Length,
    Copy(Box<Loader>, End),
    Changes,
}

/// Where a copy ends.
#[derive(Debug, Clone)]
enum End {
    /// After so many bytes more.
    After(u64),
    /// With these.
    Mark([u8; MARK_BYTES]),
}

const MARK_BYTES: usize = 40;

pub(super) struct Link {
    phase: Phase,
    who: Introduction,
    parser: RequestParser,
    args: Args,
    /// Bytes of a transaction that is not whole.
    transaction: Option<u64>,
    answer: Vec<u8>,
}

impl Link {
    /// Begins; `output` is what is said first.
    pub(super) fn new(who: Introduction, output: &mut Vec<u8>) -> Self {
        write_command(output, &[b"PING"]);
        // None: the primary took these commands from its clients.
        let most = u32::MAX as usize;
        let limits = RequestLimits {
            max_request_bytes: most,
            max_bulk_bytes: most,
            max_arguments: most,
            ..RequestLimits::default()
        };
        Self {
            phase: Phase::Ping,
            who,
            parser: RequestParser::new(limits),
            args: Args::default(),
            transaction: None,
            answer: Vec::new(),
        }
    }

    pub(super) fn state(&self) -> LinkState {
        match self.phase {
            Phase::Changes => LinkState::Connected,
            Phase::Length | Phase::Copy(..) => LinkState::Sync,
            _ => LinkState::Connecting,
        }
    }

    /// Whether a transaction has come in part.
    pub(super) fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Takes what came, a part at a time. Gives how many bytes are done with; none: more has to come.
    pub(super) fn receive(
        &mut self,
        engine: &mut Engine,
        now: Now,
        position: &mut Position,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, Over> {
        match &mut self.phase {
            Phase::Changes => self.apply(engine, now, position, input, output),
            Phase::Copy(loader, end) => {
                let (done, whole) = copy(loader, end, engine, now, input)?;
                if whole {
                    engine.end_copy(true);
                    if let Some(old) = position.session.replace(engine.open_primary(now)) {
                        engine.close(old);
                    }
                    self.phase = Phase::Changes;
                    acknowledge(position, output);
                }
                Ok(done)
            }
            _ => self.line(engine, now, position, input, output),
        }
    }

    fn line(
        &mut self,
        engine: &mut Engine,
        now: Now,
        position: &mut Position,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, Over> {
        let Some(end) = input.iter().take(LINK_LINE_BYTES).position(|byte| *byte == b'\n') else {
            let long = input.len() >= LINK_LINE_BYTES;
            return if long { Err(again("the primary's answer is too long", input)) } else { Ok(0) };
        };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        // While it prepares, the primary sends empty lines, so that we know that it is there.
        if !line.is_empty() {
            self.answered(engine, now, position, line, output)?;
        }
        Ok(end + 1)
    }

    /// The answer to what was said last; says the next.
    fn answered(
        &mut self,
        engine: &mut Engine,
        now: Now,
        position: &mut Position,
        line: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), Over> {
        let refused = line.first() == Some(&b'-');
        match self.phase {
            Phase::Ping => {
                let asks = line.starts_with(b"-NOAUTH") || line.starts_with(b"-NOPERM");
                if refused && !asks {
                    return Err(again("the primary does not answer PING", line));
                }
                let Introduction { user, password, .. } = &self.who;
                match (user.as_str(), password.as_str()) {
                    (_, "") => return self.tell_port(output),
                    ("", password) => write_command(output, &[b"AUTH", password.as_bytes()]),
                    (user, password) => {
                        write_command(output, &[b"AUTH", user.as_bytes(), password.as_bytes()])
                    }
                }
                self.phase = Phase::Auth;
            }
            Phase::Auth if refused => return Err(again("the primary refuses masterauth", line)),
            Phase::Auth => self.tell_port(output)?,
            // An old one does not know what it is told: it need not.
            Phase::Port => {
                write_command(output, &[b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"]);
                self.phase = Phase::Capabilities;
            }
            Phase::Capabilities => {
                let offset = (position.offset + 1).to_string();
                match position.history.as_deref().filter(|_| position.session.is_some()) {
                    Some(history) => {
                        write_command(output, &[b"PSYNC", history.as_bytes(), offset.as_bytes()])
                    }
                    None => write_command(output, &[b"PSYNC", b"?", b"-1"]),
                }
                self.phase = Phase::Position;
            }
            Phase::Position => self.positioned(position, line)?,
            Phase::Length => self.begin_copy(engine, now, line)?,
            Phase::Copy(..) | Phase::Changes => {}
        }
        Ok(())
    }

    fn tell_port(&mut self, output: &mut Vec<u8>) -> Result<(), Over> {
        write_command(output, &[b"REPLCONF", b"listening-port", self.who.port.to_string().as_bytes()]);
        self.phase = Phase::Port;
        Ok(())
    }

    /// `+FULLRESYNC history offset`: a copy comes. `+CONTINUE history`: what we have not had of the changes comes.
    fn positioned(&mut self, position: &mut Position, line: &[u8]) -> Result<(), Over> {
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["+FULLRESYNC", history, offset] if is_history(history) => {
                let offset = offset.parse().map_err(|_| again("the primary's offset is no number", line))?;
                *position = Position { history: Some(history.to_owned()), offset, session: position.session };
                self.phase = Phase::Length;
            }
            ["+CONTINUE"] => self.phase = Phase::Changes,
            ["+CONTINUE", history] if is_history(history) => {
                position.history = Some(history.to_owned());
                self.phase = Phase::Changes;
            }
            _ => return Err(again("the primary does not let us follow it", line)),
        }
        Ok(())
    }

    fn begin_copy(&mut self, engine: &mut Engine, now: Now, line: &[u8]) -> Result<(), Over> {
        let damaged = || again("the primary does not say how long its copy is", line);
        let end = if let Some(mark) = line.strip_prefix(b"$EOF:") {
            End::Mark(mark.try_into().map_err(|_| damaged())?)
        } else {
            let digits = line.strip_prefix(b"$").and_then(|digits| std::str::from_utf8(digits).ok());
            End::After(digits.and_then(|digits| digits.parse().ok()).ok_or_else(damaged)?)
        };
        engine.begin_copy(now);
        self.phase = Phase::Copy(Box::new(Loader::new()), end);
        Ok(())
    }

    /// Executes what the primary has executed.
    fn apply(
        &mut self,
        engine: &mut Engine,
        now: Now,
        position: &mut Position,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, Over> {
        let Some(session) = position.session else { return Err(Over::Again("there is no session".into())) };
        let mut at = 0;
        while at < APPLIED_AT_ONCE_BYTES {
            let rest = &input[at..];
            let bytes = match self.parser.parse(rest, &mut self.args) {
                Ok(Progress::Complete(bytes)) => bytes,
                Ok(Progress::Partial(_)) => break,
                Err(error) => {
                    return Err(Over::Again(format!("what the primary sends is no command: {error}")));
                }
            };
            let args = std::mem::take(&mut self.args);
            let words: Vec<&[u8]> = args.iter(rest).collect();
            self.execute(engine, now, session, &words, position, output)?;
            at += bytes;
            // Up to a transaction's begin, we could go on from there.
            match &mut self.transaction {
                Some(held) => *held += bytes as u64,
                None => position.offset += bytes as u64,
            }
            if words.first().is_some_and(|name| name.eq_ignore_ascii_case(b"EXEC")) {
                position.offset += self.transaction.take().unwrap_or(0);
            }
            self.args = args;
        }
        Ok(at)
    }

    fn execute(
        &mut self,
        engine: &mut Engine,
        now: Now,
        session: SessionId,
        words: &[&[u8]],
        position: &Position,
        output: &mut Vec<u8>,
    ) -> Result<(), Over> {
        let Some(name) = words.first() else { return Ok(()) };
        if name.eq_ignore_ascii_case(b"REPLCONF") {
            if words.get(1).is_some_and(|word| word.eq_ignore_ascii_case(b"GETACK")) {
                acknowledge(position, output);
            }
            return Ok(());
        }
        if name.eq_ignore_ascii_case(b"MULTI") {
            self.transaction = Some(0);
        }
        self.answer.clear();
        let outcome = engine.apply(now, session, words, &mut self.answer);
        if self.answer.first() == Some(&b'-') {
            let text = String::from_utf8_lossy(&self.answer[1..]);
            let name = String::from_utf8_lossy(&name[..name.len().min(32)]);
            let why = format!("{name}, which the primary has executed, fails here: {}", text.trim_end());
            return Err(Over::ForGood(why));
        }
        match outcome {
            Outcome::Continue => Ok(()),
            Outcome::Blocked | Outcome::Close => Err(Over::Again("the primary's session was ended".into())),
        }
    }
}

/// Tells the primary how far we are.
pub(super) fn acknowledge(position: &Position, output: &mut Vec<u8>) {
    write_command(output, &[b"REPLCONF", b"ACK", position.offset.to_string().as_bytes()]);
}

/// Reads on in the primary's copy. Gives how many bytes are done with, and whether that was all.
fn copy(
    loader: &mut Loader,
    end: &mut End,
    engine: &mut Engine,
    now: Now,
    input: &[u8],
) -> Result<(usize, bool), Over> {
    let most = match end {
        End::After(left) => usize::try_from(*left).unwrap_or(usize::MAX).min(input.len()),
        End::Mark(_) => input.len(),
    };
    let most = most.min(APPLIED_AT_ONCE_BYTES);
    let mut done = 0;
    if !loader.is_done() {
        done = loader.feed(engine, now, &input[..most]).map_err(|error| {
            let why = format!("the primary's copy cannot be read: {error}");
            match error.fault {
                RdbFault::Damaged(_) | RdbFault::Checksum | RdbFault::CutOff => Over::Again(why),
                _ => Over::ForGood(why),
            }
        })?;
    }
    let damaged = || Over::Again("the primary's copy does not end where it says".into());
    match end {
        End::After(left) => {
            *left -= done as u64;
            if loader.is_done() && *left > 0 || !loader.is_done() && *left == 0 {
                Err(damaged())
            } else {
                Ok((done, *left == 0))
            }
        }
        End::Mark(mark) => match input[done..].first_chunk::<MARK_BYTES>() {
            _ if !loader.is_done() => Ok((done, false)),
            Some(found) if found == mark => Ok((done + MARK_BYTES, true)),
            Some(_) => Err(damaged()),
            None => Ok((done, false)),
        },
    }
}

fn again(why: &str, line: &[u8]) -> Over {
    let line = String::from_utf8_lossy(&line[..line.len().min(128)]);
    Over::Again(format!("{why}: {line}"))
}

fn is_history(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
