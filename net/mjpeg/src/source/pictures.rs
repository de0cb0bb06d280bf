//! Reads, and what pictures they have.

use std::io::{self, Read};
use std::ops::Range;

use netdyno_mjpeg_core::{Split, Splitter};

use super::SourceError;
use crate::limits::MAX_PICTURE_BYTES;

/// What one read takes at the most, bytes: most pictures by one or two, and little enough to stay in a cache until it is copied.
const READ_BYTES: usize = 256 << 10;

/// The pictures of what is read.
#[derive(Debug)]
pub(super) struct Pictures {
    splitter: Splitter,
    buffer: Box<[u8]>,
    /// What of the buffer is not yet looked at.
    filled: Range<usize>,
}

impl Pictures {
    pub(super) fn new() -> Self {
        Self { splitter: Splitter::new(MAX_PICTURE_BYTES), buffer: vec![0; READ_BYTES].into(), filled: 0..0 }
    }

    /// Puts the next picture of what was read into `into`. False: more has to be read.
    pub(super) fn next(&mut self, name: &str, into: &mut Vec<u8>) -> Result<bool, SourceError> {
        let mut rest = &self.buffer[self.filled.clone()];
        let split = self.splitter.split(&mut rest, into);
        self.filled.start = self.filled.end - rest.len();
        match split {
            Split::Picture => Ok(true),
            Split::More => Ok(false),
            Split::TooLong => {
                let reason =
                    format!("a picture of more than {} MiB; it is left out", MAX_PICTURE_BYTES >> 20);
                Err(SourceError::unusable(name, reason))
            }
        }
    }

    /// Reads once, when [`next`](Self::next) has nothing any more, and gives how many bytes there were; 0 at the end.
    pub(super) fn read(&mut self, from: &mut impl Read) -> io::Result<usize> {
        debug_assert!(self.filled.is_empty());
        let count = from.read(&mut self.buffer)?;
        self.filled = 0..count;
        Ok(count)
    }

    /// At the end: whether `into` has a last picture.
    pub(super) fn finish(&mut self, into: &mut Vec<u8>) -> bool {
        self.splitter.finish(into)
    }

    /// Bytes so far that are of no picture.
    pub(super) fn left_out_bytes(&self) -> u64 {
        self.splitter.left_out_bytes()
    }
}
