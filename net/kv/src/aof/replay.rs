//! Executes the file at the start.

use std::io::Read;

use netdyno_kv_core::{Engine, Now, SessionId};
use netdyno_resp::{Args, Progress, RequestLimits, RequestParser};

use super::file::LogFile;
use crate::AofError;
use crate::limits::REPLAY_READ_BYTES;

/// What was found in an append-only file at the start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Commands that were executed.
    pub commands: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes that were cut off at the end: a command that is not whole, a transaction without its end, zeros.
    pub cut_bytes: u64,
    /// Commands that failed. They had not, when they were written.
    pub refused: u64,
    /// What the first of them said.
    pub first_refusal: Option<String>,
}

struct Replay<'a> {
    engine: &'a mut Engine,
    session: SessionId,
    done: Replayed,
    /// Where a transaction began that has not ended.
    transaction: Option<u64>,
    out: Vec<u8>,
}

/// The only time there is: no deadline passes.
const NOW: Now = Now { unix_ms: 0, monotonic_us: 0 };

pub(super) fn replay(file: &mut LogFile, engine: &mut Engine) -> Result<Replayed, AofError> {
    let session = engine.open_trusted(NOW);
    let mut replay =
        Replay { engine, session, done: Replayed::default(), transaction: None, out: Vec::new() };
    let result = replay.run(file);
    let Replay { mut done, transaction, .. } = replay;
    engine.close(session);
    while engine.poll_output().is_some() {}
    result?;
    done.bytes = transaction.unwrap_or(done.bytes);
    done.cut_bytes = file.length - done.bytes;
    if done.cut_bytes > 0 {
        file.cut(done.bytes)?;
    }
    Ok(done)
}

/// None: what was written was within bounds then.
fn limits() -> RequestLimits {
    let most = u32::MAX as usize;
    RequestLimits {
        max_request_bytes: most,
        max_bulk_bytes: most,
        max_arguments: most,
        ..RequestLimits::default()
    }
}

impl Replay<'_> {
    fn run(&mut self, file: &mut LogFile) -> Result<(), AofError> {
        let (mut parser, mut args) = (RequestParser::new(limits()), Args::default());
        let (mut input, mut at) = (Vec::new(), 0);
        loop {
            let rest = &input[at..];
            // No inline commands in here.
            let zeros = rest.first() == Some(&0);
            if rest.first().is_some_and(|first| *first != b'*') && !zeros {
                return Err(self.damaged(file, "no command begins there".into()));
            }
            let progress = if zeros { Ok(Progress::Partial(1)) } else { parser.parse(rest, &mut args) };
            let progress = match progress {
                // Nothing comes after the zeros.
                Err(_) if self.is_torn_before_zeros(file, rest)? => return Ok(()),
                progress => progress.map_err(|error| self.damaged(file, error.to_string()))?,
            };
            match progress {
                Progress::Complete(bytes) => {
                    self.execute(&args.iter(rest).collect::<Vec<_>>());
                    at += bytes;
                    self.done.bytes += bytes as u64;
                }
                Progress::Partial(_) if zeros && rest.iter().any(|byte| *byte != 0) => {
                    return Err(self.damaged(file, "zeros, and something after them".into()));
                }
                Progress::Partial(_) => {
                    input.drain(..at);
                    at = 0;
                    if zeros {
                        input.clear();
                        input.push(0);
                    }
                    if !self.read(file, &mut input)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Whether `rest` is the begin of a command and then zeros to the end of the file: some file systems leave the
    /// length of what was written, without all of its blocks.
    fn is_torn_before_zeros(&self, file: &mut LogFile, rest: &[u8]) -> Result<bool, AofError> {
        let begin = rest.len() - rest.iter().rev().take_while(|byte| **byte == 0).count();
        let partial = RequestParser::new(limits()).parse(&rest[..begin], &mut Args::default());
        if begin == rest.len() || !matches!(partial, Ok(Progress::Partial(_))) {
            return Ok(false);
        }
        let mut further = Vec::new();
        while self.read(file, &mut further)? {
            if further.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            further.clear();
        }
        Ok(true)
    }

    /// Whether there was more.
    fn read(&self, file: &mut LogFile, input: &mut Vec<u8>) -> Result<bool, AofError> {
        let read = (&file.file).take(REPLAY_READ_BYTES).read_to_end(input);
        let read = read.map_err(|source| AofError::Io { action: "read", path: file.path.clone(), source })?;
        Ok(read > 0)
    }

    fn execute(&mut self, args: &[&[u8]]) {
        let Some(name) = args.first() else { return };
        if name.eq_ignore_ascii_case(b"MULTI") {
            self.transaction = Some(self.done.bytes);
        } else if name.eq_ignore_ascii_case(b"EXEC") {
            self.transaction = None;
        }
        self.out.clear();
        self.engine.execute(NOW, self.session, args, &mut self.out);
        self.done.commands += 1;
        if self.out.first() == Some(&b'-') {
            self.done.refused += 1;
            let text = || String::from_utf8_lossy(&self.out[1..]).trim_end().to_owned();
            self.done.first_refusal.get_or_insert_with(text);
        }
    }

    fn damaged(&self, file: &LogFile, reason: String) -> AofError {
        AofError::Damaged { path: file.path.clone(), offset: self.done.bytes, reason }
    }
}
