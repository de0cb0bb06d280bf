//! Splits reads into pictures.

use std::io::{self, Read};
use std::ops::Range;

use netdyno_mjpeg_core::{Split, Splitter};

use super::SourceError;
use crate::limits::MAX_PICTURE_BYTES;

/// Maximum length of a read: one or two reads for most pictures, and small enough to stay in the cache until it is copied.
const READ_BYTES: usize = 256 << 10;

/// Splits the data of a reader into pictures.
#[derive(Debug)]
pub(super) struct Pictures {
    splitter: Splitter,
    buffer: Box<[u8]>,
    /// The part of the buffer that has not been split.
    filled: Range<usize>,
}

impl Pictures {
    pub(super) fn new() -> Self {
        Self { splitter: Splitter::new(MAX_PICTURE_BYTES), buffer: vec![0; READ_BYTES].into(), filled: 0..0 }
    }

    /// Copies the next picture into `into`. Returns `false` if more data must be read.
    pub(super) fn next(&mut self, name: &str, into: &mut Vec<u8>) -> Result<bool, SourceError> {
        let mut rest = &self.buffer[self.filled.clone()];
        let split = self.splitter.split(&mut rest, into);
        self.filled.start = self.filled.end - rest.len();
        match split {
            Split::Picture => Ok(true),
            Split::More => Ok(false),
            Split::TooLong => {
                let reason = format!(
                    "skipped a picture of more than {} MiB; use smaller pictures",
                    MAX_PICTURE_BYTES >> 20
                );
                Err(SourceError::unusable(name, reason))
            }
        }
    }

    /// Reads once after [`next`](Self::next) has returned `false`. Returns the number of bytes, 0 at the end.
    pub(super) fn read(&mut self, from: &mut impl Read) -> io::Result<usize> {
        debug_assert!(self.filled.is_empty());
        let count = from.read(&mut self.buffer)?;
        self.filled = 0..count;
        Ok(count)
    }

    /// Handles the end of the data. Returns whether `into` contains a last picture.
    pub(super) fn finish(&mut self, into: &mut Vec<u8>) -> bool {
        self.splitter.finish(into)
    }

    /// Number of bytes that belong to no picture.
    pub(super) fn skipped_bytes(&self) -> u64 {
        self.splitter.skipped_bytes()
    }
}
