//! Replays the file on startup.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use netdyno_resp::{Args, Progress, RequestParser};

use crate::AofError;
use crate::limits::REPLAY_READ_BYTES;
use crate::storage::{Loader, no_limits};

struct Replay<'a, 'b> {
    file: &'a File,
    path: &'a Path,
    loader: &'a mut Loader<'b>,
    /// Bytes of complete commands so far.
    bytes: u64,
    /// Start of a transaction that has not ended.
    transaction: Option<u64>,
}

/// Returns the length of the complete commands.
pub(super) fn replay(file: &File, path: &Path, loader: &mut Loader<'_>) -> Result<u64, AofError> {
    let mut replay = Replay { file, path, loader, bytes: 0, transaction: None };
    replay.run()?;
    Ok(replay.transaction.unwrap_or(replay.bytes))
}

impl Replay<'_, '_> {
    fn run(&mut self) -> Result<(), AofError> {
        let (mut parser, mut args) = (RequestParser::new(no_limits()), Args::default());
        let (mut input, mut at) = (Vec::new(), 0);
        loop {
            let rest = &input[at..];
            // The file contains no inline commands.
            let zeros = rest.first() == Some(&0);
            if rest.first().is_some_and(|first| *first != b'*') && !zeros {
                return Err(self.damaged("no command starts there".into()));
            }
            let progress = if zeros { Ok(Progress::Partial(1)) } else { parser.parse(rest, &mut args) };
            let progress = match progress {
                // Nothing follows the zeros.
                Err(_) if self.is_torn_before_zeros(rest)? => return Ok(()),
                progress => progress.map_err(|error| self.damaged(error.to_string()))?,
            };
            match progress {
                Progress::Complete(bytes) => {
                    self.execute(&args.iter(rest).collect::<Vec<_>>());
                    at += bytes;
                    self.bytes += bytes as u64;
                }
                Progress::Partial(_) if zeros && rest.iter().any(|byte| *byte != 0) => {
                    return Err(self.damaged("zeros followed by other data".into()));
                }
                Progress::Partial(_) => {
                    input.drain(..at);
                    at = 0;
                    if zeros {
                        input.clear();
                        input.push(0);
                    }
                    if !self.read(&mut input)? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Whether `rest` is the start of a command followed by zeros up to the end of the file: after a crash
    /// some file systems retain the length of a write without all of its blocks.
    fn is_torn_before_zeros(&self, rest: &[u8]) -> Result<bool, AofError> {
        let begin = rest.len() - rest.iter().rev().take_while(|byte| **byte == 0).count();
        let partial = RequestParser::new(no_limits()).parse(&rest[..begin], &mut Args::default());
        if begin == rest.len() || !matches!(partial, Ok(Progress::Partial(_))) {
            return Ok(false);
        }
        let mut further = Vec::new();
        while self.read(&mut further)? {
            if further.iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
            further.clear();
        }
        Ok(true)
    }

    /// Returns false at the end of the file.
    fn read(&self, input: &mut Vec<u8>) -> Result<bool, AofError> {
        let read = self.file.take(REPLAY_READ_BYTES).read_to_end(input);
        let read =
            read.map_err(|source| AofError::Io { action: "read", path: self.path.to_owned(), source })?;
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

    fn damaged(&self, reason: String) -> AofError {
        AofError::Damaged { path: self.path.to_owned(), offset: self.bytes, reason }
    }
}
