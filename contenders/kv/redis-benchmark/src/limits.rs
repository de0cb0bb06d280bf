//! Bounds of the adapter.

use std::time::Duration;

/// Requests of a run, for each that may be under way on a connection: the article's 10,000 ...
pub const RUN_REQUESTS: u64 = 10_000;
/// ... or so many a connection where there are more than fifty, so that connecting stays the same small share of a run.
pub const ROUNDS: u64 = 200;
/// The program keeps its count of requests in 32 bits.
pub const MAX_RUN_REQUESTS: u64 = i32::MAX as u64;
/// Its reports are kept until the end: some 50 KB a second.
pub const MAX_SECONDS: f64 = 600.0;
/// Longest report file that is read.
pub const MAX_REPORT_BYTES: u64 = 256 << 20;
/// How often a look at the connections is repeated that met a run's end.
pub const MAX_LOOKS: u32 = 1000;
/// Pause between two of these.
pub const LOOK_AGAIN: Duration = Duration::from_micros(20);
/// Longest message of the kernel about its connections; it sends at most 32 KiB at a time.
pub const DIAG_BYTES: usize = 64 << 10;
/// How long the kernel may take for it.
pub const DIAG_TIMEOUT: Duration = Duration::from_secs(5);
/// Keys that are read back at the end.
pub const MAX_CHECKED_KEYS: u64 = 1000;
/// Longest answer to one of these, beside its value.
pub const ANSWER_BYTES: usize = 64;
/// Lines of the program's stderr that are handed on, and their length.
pub const MAX_TOLD: u64 = 20;
pub const MAX_LINE_BYTES: u64 = 4096;
