//! RDB, the format of Redis' snapshots and of DUMP, as a codec without I/O.
//!
//! | does | does not |
//! |---|---|
//! | read versions 1 to 11 (Redis 2.4 to 7.2): strings, lists, sets, hashes, sorted sets, in every encoding | read streams and modules: the error names the key and its type |
//! | read chunks of any size, one string at a time; check every length before allocating | hold a whole snapshot in memory, recurse |
//! | write version 10, which Redis 7.0 reads, in the plain encodings, which Redis converts when it loads them | write listpacks and intsets |
//! | write strings as integers or LZF-compressed where that is shorter | |
//! | deadlines, idle times and access frequencies | functions: they are skipped |
//!
//! Values are passed to a [`Sink`], element by element. The format is defined by Redis' sources: `rdb.h`,
//! `rdb.c`, `ziplist.c`, `listpack.c` and `zipmap.c`.

mod error;
mod lzf;
mod packed;
mod read;
mod text;
mod value;
mod write;

pub use error::{RdbError, RdbFault};
pub(crate) use read::{Reader, check_payload};
pub(crate) use value::ValueReader;
pub(crate) use write::{KeyAttributes, ValueWriter, Writer, write_payload};

use crc::{CRC_64_REDIS, Crc, Table};

/// The version that is written.
pub(crate) const VERSION: u16 = 10;
/// The newest version that is read, of Redis 7.2.
pub(crate) const VERSION_MAX: u16 = 11;

/// The checksum of snapshots and payloads (CRC-64/Jones).
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// Opcodes of the elements of a snapshot.
mod opcode {
    pub(super) const FUNCTION: u8 = 245;
    pub(super) const MODULE: u8 = 247;
    pub(super) const IDLE: u8 = 248;
    pub(super) const USES: u8 = 249;
    pub(super) const AUX: u8 = 250;
    pub(super) const RESIZE: u8 = 251;
    pub(super) const EXPIRES_MS: u8 = 252;
    pub(super) const EXPIRES_S: u8 = 253;
    pub(super) const SELECT: u8 = 254;
    pub(super) const END: u8 = 255;
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    String,
    List,
    Set,
    Hash,
    Zset,
}

/// A key and its attributes, which precede the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) db: usize,
    pub(crate) key: Vec<u8>,
    pub(crate) kind: ValueKind,
    /// Deadline in Unix milliseconds.
    pub(crate) deadline: Option<u64>,
    pub(crate) usage: Usage,
}

/// Access information, for eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Usage {
    #[default]
    Unknown,
    /// Seconds since the last access.
    Idle(u64),
    /// The logarithmic access counter.
    Uses(u8),
}

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part<'a> {
    /// A string, or an element of a list or set.
    Element(&'a [u8]),
    /// A field of a hash with its value.
    Field(&'a [u8], &'a [u8]),
    /// A member of a sorted set with its score.
    Scored(&'a [u8], f64),
}

/// Receives keys and values.
pub(crate) trait Sink {
    /// Starts a key.
    fn begin(&mut self, header: Header) -> Result<(), RdbFault>;
    /// Adds a part of its value.
    fn part(&mut self, part: Part<'_>) -> Result<(), RdbFault>;
    /// Ends the value; one without parts is empty.
    fn end(&mut self) -> Result<(), RdbFault>;
}
