//! Executes the file at the start.

use std::io::Read;

use netdyno_resp::{Args, Progress, RequestParser};

use super::file::LogFile;
use crate::AofError;
use crate::limits::REPLAY_READ_BYTES;
use crate::storage::{Loader, no_limits};

struct Replay<'a, 'b> {
    loader: &'a mut Loader<'b>,
    /// Bytes of whole commands so far.
    bytes: u64,
    /// Where a transaction began that has not ended.
    transaction: Option<u64>,
}

pub(super) fn replay(file: &mut LogFile, loader: &mut Loader<'_>) -> Result<(), AofError> {
    let mut replay = Replay { loader, bytes: 0, transaction: None };
    replay.run(file)?;
    let whole = replay.transaction.unwrap_or(replay.bytes);
    let found = &mut loader.found;
    (found.bytes, found.cut_bytes) = (whole, file.length - whole);
    if found.cut_bytes > 0 {
        file.cut(whole)?;
    }
    Ok(())
}

impl Replay<'_, '_> {
    fn run(&mut self, file: &mut LogFile) -> Result<(), AofError> {
        let (mut parser, mut args) = (RequestParser::new(no_limits()), Args::default());
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
                    self.bytes += bytes as u64;
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
        let partial = RequestParser::new(no_limits()).parse(&rest[..begin], &mut Args::default());
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
            self.transaction = Some(self.bytes);
        } else if name.eq_ignore_ascii_case(b"EXEC") {
            self.transaction = None;
        }
        self.loader.execute(args);
    }

    fn damaged(&self, file: &LogFile, reason: String) -> AofError {
        AofError::Damaged { path: file.path.clone(), offset: self.bytes, reason }
    }
}
