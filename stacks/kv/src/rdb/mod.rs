//! RDB, the format of Redis' snapshots and of what DUMP gives, as a codec without I/O.
//!
//! | does | does not |
//! |---|---|
//! | read what Redis 2.4 to 7.2 writes (versions 1 to 11): strings, lists, sets, hashes, sorted sets, in every encoding | read streams and modules: the error names the key and its type |
//! | read in pieces of any size, a string at a time; check every length before anything is allocated for it | hold a whole snapshot in memory, recurse |
//! | write version 10, which Redis 7.0 reads, in its plain encodings: Redis packs small values again when it loads them | write listpacks and intsets |
//! | strings as integers, or compressed by LZF, where that is shorter | |
//! | the time of expiry, and how long or how often a key was not used or used | functions: what Redis has of them is left out |
//!
//! A value goes to a [`Sink`], element by element. The format is what `rdb.h`, `rdb.c`, `ziplist.c`, `listpack.c` and `zipmap.c` of
//! Redis say in words; there is no other description of it.

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
pub(crate) use write::{About, ValueWriter, Writer, write_payload};

use crc::{CRC_64_REDIS, Crc, Table};

/// The version that is written.
pub(crate) const VERSION: u16 = 10;
/// The newest version that is read: Redis 7.2 writes it.
pub(crate) const VERSION_MAX: u16 = 11;

/// The checksum of snapshots and payloads ("Jones"), sixteen bytes at a time.
static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// What stands in front of a part of the snapshot.
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

/// What a value is to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    List,
    Set,
    Hash,
    Zset,
}

/// A key, and what is known of it before its value comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) db: usize,
    pub(crate) key: Vec<u8>,
    pub(crate) kind: Kind,
    /// When its time is over, milliseconds since 1970.
    pub(crate) deadline: Option<u64>,
    pub(crate) usage: Usage,
}

/// How much a key was used, for eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Usage {
    #[default]
    Unknown,
    /// Seconds since it was last used.
    Idle(u64),
    /// The logarithmic count of its uses.
    Uses(u8),
}

/// A part of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Part<'a> {
    /// A string, or an element of a list or set.
    Element(&'a [u8]),
    /// A field of a hash, and what it holds.
    Field(&'a [u8], &'a [u8]),
    /// A member of a sorted set with its score.
    Scored(&'a [u8], f64),
}

/// Where keys and values go.
pub(crate) trait Sink {
    /// A key comes.
    fn begin(&mut self, header: Header) -> Result<(), RdbFault>;
    /// More of its value comes.
    fn part(&mut self, part: Part<'_>) -> Result<(), RdbFault>;
    /// That was all of it; a value without any part is empty.
    fn end(&mut self) -> Result<(), RdbFault>;
}
