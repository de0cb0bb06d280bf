//! The protocol on a connection to a primary: handshake, copy of all keys, stream of changes.

use netdyno_resp::{Args, Progress, RequestLimits, RequestParser, write_command};

use crate::engine::Engine;
use crate::limits::{LINK_LINE_BYTES, LINK_PART_BYTES};
use crate::rdb::RdbFault;
use crate::replication::LinkState;
use crate::session::{Outcome, SessionId};
use crate::snapshot::Loader;
use crate::timestamp::Timestamp;

const MARK_BYTES: usize = 40;

/// A replica's position in the history of its primary.
#[derive(Debug, Clone, Default)]
pub(crate) struct Position {
    /// The replication ID; `None` before the first copy.
    pub(crate) history: Option<String>,
    /// Offset up to which changes are applied.
    pub(crate) offset: u64,
    /// The session that applies them; it holds the selected database.
    pub(crate) session: Option<SessionId>,
}

/// Why a connection to the primary ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkFailure {
    /// Another attempt may succeed.
    Temporary(String),
    /// The primary has data that is not supported here.
    Permanent(String),
}

/// How a replica identifies itself to its primary.
#[derive(Clone, Default)]
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) password: String,
    /// The port of the replica's clients.
    pub(crate) port: u16,
}

impl std::fmt::Debug for Identity {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("user", &self.user).field("port", &self.port).finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Phase {
    /// The reply to PING, AUTH, REPLCONF or PSYNC is expected.
    Ping,
    Auth,
    Port,
    Capabilities,
    Position,
    /// The length of the copy or its end mark is expected.
    Length,
    Copy(Box<Loader>, CopyEnd),
    Changes,
}

/// How the end of a copy is recognised.
#[derive(Debug, Clone)]
enum CopyEnd {
    /// By the number of remaining bytes.
    After(u64),
    /// By a mark after the snapshot.
    Mark([u8; MARK_BYTES]),
}

/// One connection to a primary.
#[derive(Debug)]
pub(crate) struct PrimaryStream {
    phase: Phase,
    identity: Identity,
    parser: RequestParser,
    args: Args,
    /// Bytes of an incomplete transaction.
    transaction: Option<u64>,
    reply: Vec<u8>,
}

impl PrimaryStream {
    /// Starts the handshake.
    pub(crate) fn new(identity: Identity, output: &mut Vec<u8>) -> Self {
        write_command(output, &[b"PING"]);
        // No limits: the primary has accepted these commands from its clients.
        let most = u32::MAX as usize;
        let limits = RequestLimits {
            max_request_bytes: most,
            max_bulk_bytes: most,
            max_arguments: most,
            ..RequestLimits::default()
        };
        Self {
            phase: Phase::Ping,
            identity,
            parser: RequestParser::new(limits),
            args: Args::default(),
            transaction: None,
            reply: Vec::new(),
        }
    }

    pub(crate) fn state(&self) -> LinkState {
        match self.phase {
            Phase::Changes => LinkState::Connected,
            Phase::Length | Phase::Copy(..) => LinkState::Sync,
            _ => LinkState::Connecting,
        }
    }

    /// Whether a transaction is incomplete.
    pub(crate) fn is_in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Processes a part of the input and returns its length; 0 if more input is needed.
    pub(crate) fn receive(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        position: &mut Position,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, LinkFailure> {
        match &mut self.phase {
            Phase::Changes => self.apply(engine, now, position, input, output),
            Phase::Copy(loader, end) => {
                let (consumed, complete) = load_copy(loader, end, engine, now, input)?;
                if complete {
                    engine.end_copy(true);
                    if let Some(old) = position.session.replace(engine.open_primary(now)) {
                        engine.close(old);
                    }
                    self.phase = Phase::Changes;
                    acknowledge(position, output);
                }
                Ok(consumed)
            }
            _ => self.line(engine, now, position, input, output),
        }
    }

    fn line(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        position: &mut Position,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, LinkFailure> {
        let Some(end) = input.iter().take(LINK_LINE_BYTES).position(|byte| *byte == b'\n') else {
            let long = input.len() >= LINK_LINE_BYTES;
            return if long { Err(temporary("the primary's reply is too long", input)) } else { Ok(0) };
        };
        let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
        // The primary sends empty lines as keepalives while it prepares the copy.
        if !line.is_empty() {
            self.reply_received(engine, now, position, line, output)?;
        }
        Ok(end + 1)
    }

    /// Processes the reply to the last command of the handshake, and sends the next one.
    fn reply_received(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        position: &mut Position,
        line: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<(), LinkFailure> {
        let is_error = line.first() == Some(&b'-');
        match self.phase {
            Phase::Ping => {
                let needs_auth = line.starts_with(b"-NOAUTH") || line.starts_with(b"-NOPERM");
                if is_error && !needs_auth {
                    return Err(temporary("the primary refuses PING", line));
                }
                let Identity { user, password, .. } = &self.identity;
                match (user.as_str(), password.as_str()) {
                    (_, "") => self.send_port(output),
                    ("", password) => {
                        write_command(output, &[b"AUTH", password.as_bytes()]);
                        self.phase = Phase::Auth;
                    }
                    (user, password) => {
                        write_command(output, &[b"AUTH", user.as_bytes(), password.as_bytes()]);
                        self.phase = Phase::Auth;
                    }
                }
            }
            Phase::Auth if is_error => return Err(temporary("the primary refuses masterauth", line)),
            Phase::Auth => self.send_port(output),
            // Old versions refuse REPLCONF, which is not required.
            Phase::Port => {
                write_command(output, &[b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"]);
                self.phase = Phase::Capabilities;
            }
            Phase::Capabilities => {
                let offset = (position.offset + 1).to_string();
                match position.history.as_deref().filter(|_| position.session.is_some()) {
                    Some(history) => {
                        write_command(output, &[b"PSYNC", history.as_bytes(), offset.as_bytes()]);
                    }
                    None => write_command(output, &[b"PSYNC", b"?", b"-1"]),
                }
                self.phase = Phase::Position;
            }
            Phase::Position => self.set_position(position, line)?,
            Phase::Length => self.begin_copy(engine, now, line)?,
            Phase::Copy(..) | Phase::Changes => {}
        }
        Ok(())
    }

    fn send_port(&mut self, output: &mut Vec<u8>) {
        write_command(output, &[b"REPLCONF", b"listening-port", self.identity.port.to_string().as_bytes()]);
        self.phase = Phase::Port;
    }

    /// `+FULLRESYNC history offset` announces a copy; `+CONTINUE history` the changes after our offset.
    fn set_position(&mut self, position: &mut Position, line: &[u8]) -> Result<(), LinkFailure> {
        let text = String::from_utf8_lossy(line);
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["+FULLRESYNC", history, offset] if is_history(history) => {
                let offset =
                    offset.parse().map_err(|_| temporary("the primary's offset is not a number", line))?;
                *position = Position { history: Some(history.to_owned()), offset, session: position.session };
                self.phase = Phase::Length;
            }
            ["+CONTINUE"] => self.phase = Phase::Changes,
            ["+CONTINUE", history] if is_history(history) => {
                position.history = Some(history.to_owned());
                self.phase = Phase::Changes;
            }
            _ => return Err(temporary("the primary refuses PSYNC", line)),
        }
        Ok(())
    }

    fn begin_copy(&mut self, engine: &mut Engine, now: Timestamp, line: &[u8]) -> Result<(), LinkFailure> {
        let invalid = || temporary("the length of the primary's copy is invalid", line);
        let end = if let Some(mark) = line.strip_prefix(b"$EOF:") {
            CopyEnd::Mark(mark.try_into().map_err(|_| invalid())?)
        } else {
            let digits = line.strip_prefix(b"$").and_then(|digits| std::str::from_utf8(digits).ok());
            CopyEnd::After(digits.and_then(|digits| digits.parse().ok()).ok_or_else(invalid)?)
        };
        engine.begin_copy(now);
        self.phase = Phase::Copy(Box::default(), end);
        Ok(())
    }

    /// Executes commands of the primary.
    fn apply(
        &mut self,
        engine: &mut Engine,
        now: Timestamp,
        position: &mut Position,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> Result<usize, LinkFailure> {
        let Some(session) = position.session else {
            return Err(LinkFailure::Temporary("there is no session for the primary's changes".into()));
        };
        let mut at = 0;
        while at < LINK_PART_BYTES {
            let rest = &input[at..];
            let bytes = match self.parser.parse(rest, &mut self.args) {
                Ok(Progress::Complete(bytes)) => bytes,
                Ok(Progress::Partial(_)) => break,
                Err(error) => {
                    return Err(LinkFailure::Temporary(format!(
                        "the primary sent an invalid command: {error}"
                    )));
                }
            };
            let args = std::mem::take(&mut self.args);
            let words: Vec<&[u8]> = args.iter(rest).collect();
            self.execute(engine, now, session, &words, position, output)?;
            at += bytes;
            // A link can resume at the start of a transaction, not within it.
            match &mut self.transaction {
                Some(pending) => *pending += bytes as u64,
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
        now: Timestamp,
        session: SessionId,
        words: &[&[u8]],
        position: &Position,
        output: &mut Vec<u8>,
    ) -> Result<(), LinkFailure> {
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
        self.reply.clear();
        let outcome = engine.apply(now, session, words, &mut self.reply);
        if self.reply.first() == Some(&b'-') {
            let text = String::from_utf8_lossy(&self.reply[1..]);
            let name = String::from_utf8_lossy(&name[..name.len().min(32)]);
            let reason = format!("{name} from the primary fails on this replica: {}", text.trim_end());
            return Err(LinkFailure::Permanent(reason));
        }
        match outcome {
            Outcome::Continue => Ok(()),
            Outcome::Blocked | Outcome::Close => {
                Err(LinkFailure::Temporary("the session for the primary's changes was closed".into()))
            }
        }
    }
}

/// Sends the applied offset to the primary.
pub(crate) fn acknowledge(position: &Position, output: &mut Vec<u8>) {
    write_command(output, &[b"REPLCONF", b"ACK", position.offset.to_string().as_bytes()]);
}

/// Loads a part of the primary's copy. Returns the number of bytes consumed, and whether the copy is complete.
fn load_copy(
    loader: &mut Loader,
    end: &mut CopyEnd,
    engine: &mut Engine,
    now: Timestamp,
    input: &[u8],
) -> Result<(usize, bool), LinkFailure> {
    let most = match end {
        CopyEnd::After(left) => usize::try_from(*left).unwrap_or(usize::MAX).min(input.len()),
        CopyEnd::Mark(_) => input.len(),
    };
    let most = most.min(LINK_PART_BYTES);
    let mut consumed = 0;
    if !loader.is_done() {
        consumed = loader.feed(engine, now, &input[..most]).map_err(|error| {
            let reason = format!("cannot load the primary's copy: {error}");
            match error.fault {
                RdbFault::Damaged(_) | RdbFault::Checksum | RdbFault::CutOff => {
                    LinkFailure::Temporary(reason)
                }
                _ => LinkFailure::Permanent(reason),
            }
        })?;
    }
    let misplaced = || LinkFailure::Temporary("the primary's copy does not end where announced".into());
    match end {
        CopyEnd::After(left) => {
            *left -= consumed as u64;
            let complete = *left == 0;
            if loader.is_done() == complete { Ok((consumed, complete)) } else { Err(misplaced()) }
        }
        CopyEnd::Mark(mark) => match input[consumed..].first_chunk::<MARK_BYTES>() {
            _ if !loader.is_done() => Ok((consumed, false)),
            Some(found) if found == mark => Ok((consumed + MARK_BYTES, true)),
            Some(_) => Err(misplaced()),
            None => Ok((consumed, false)),
        },
    }
}

fn temporary(reason: &str, line: &[u8]) -> LinkFailure {
    let line = String::from_utf8_lossy(&line[..line.len().min(128)]);
    LinkFailure::Temporary(format!("{reason}: {line}"))
}

fn is_history(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
