//! Bounds of the `kv` workload's helpers.

use std::time::Duration;

/// Beyond these nothing was tried; the workload's own bounds are tighter.
pub(super) const MAX_CONNECTIONS: u64 = 50_000;
pub(super) const MAX_PIPELINE: u64 = 1 << 16;
pub(super) const MAX_VALUE_BYTES: u64 = 16 << 20;
/// A key's number and its operation are kept in 32 bits.
pub(super) const MAX_KEYS: u64 = 1 << 31;
pub(super) const MAX_RATE: u64 = 1_000_000_000;
pub(super) const MAX_VERIFY_KEYS: u64 = 1 << 24;

/// What a server may take for a connection, and for an answer: beyond that it has a limit, or hangs.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Descriptors of a process beside its connections.
pub(super) const OTHER_FILES: u64 = 64;

/// Longest line of an answer, and the longest bulk string.
pub(super) const MAX_LINE_BYTES: usize = 64 << 10;
pub(super) const MAX_BULK_BYTES: usize = 64 << 20;

/// Requests of a batch in `verify`, where values are short.
pub(super) const VERIFY_BATCH: usize = 100;
/// Requests of a batch in `verify`, and their answers: less than the smallest socket buffers, so that no end waits for the other
/// with both of them full.
pub(super) const VERIFY_BATCH_BYTES: usize = 64 << 10;
/// Connections that are written to in `verify` before the first is read.
pub(super) const VERIFY_LINKS: usize = 64;
/// How much is read at a time.
pub(super) const READ_BYTES: usize = 64 << 10;
/// How long a server that is a program of its own may take until it answers.
pub(super) const PROGRAM_START_LIMIT: Duration = Duration::from_secs(10);
/// How long it may take to end when it is asked to; then it is ended.
pub(super) const PROGRAM_END_LIMIT: Duration = Duration::from_secs(2);
