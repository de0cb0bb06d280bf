//! Limits of the `kv` helpers.

use std::time::Duration;

/// Greater values are untested; the bounds of the workload are tighter.
pub(super) const MAX_CONNECTIONS: u64 = 50_000;
pub(super) const MAX_PIPELINE: u64 = 1 << 16;
pub(super) const MAX_VALUE_BYTES: u64 = 16 << 20;
/// A key number and its operation are stored in 32 bits.
pub(super) const MAX_KEYS: u64 = 1 << 31;
pub(super) const MAX_RATE: u64 = 1_000_000_000;
pub(super) const MAX_VERIFY_KEYS: u64 = 1 << 24;

/// The maximum time for a connection and for an answer. A slower server has a connection limit, or hangs.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// File descriptors of a process in addition to its connections.
pub(super) const OTHER_FILES: u64 = 64;

/// Maximum length of an answer's line and of a bulk string.
pub(super) const MAX_LINE_BYTES: usize = 64 << 10;
pub(super) const MAX_BULK_BYTES: usize = 64 << 20;

/// Maximum number of requests in a batch of `verify`.
pub(super) const VERIFY_BATCH: usize = 100;
/// Maximum length of a batch's requests and of its answers. It is less than the smallest socket buffer, so that the two
/// ends cannot deadlock with full buffers.
pub(super) const VERIFY_BATCH_BYTES: usize = 64 << 10;
/// Number of connections to which `verify` writes before it reads from the first.
pub(super) const VERIFY_LINKS: usize = 64;
/// Length of a read.
pub(super) const READ_BYTES: usize = 64 << 10;
/// Maximum time until an external server program answers.
pub(super) const PROGRAM_START_LIMIT: Duration = Duration::from_secs(10);
/// Maximum time until a program ends after SIGTERM; then it is killed.
pub(super) const PROGRAM_END_LIMIT: Duration = Duration::from_secs(2);
