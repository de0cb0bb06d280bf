//! Limits of the adapter.

use std::time::Duration;

/// Requests per run and pipelined request, as in the article.
pub const RUN_REQUESTS: u64 = 10_000;
/// Minimum number of requests per connection and run, so that connecting remains a small share of a run.
pub const ROUNDS: u64 = 200;
/// The program counts requests in 32 bits.
pub const MAX_RUN_REQUESTS: u64 = i32::MAX as u64;
/// Maximum duration: reports of about 50 KB/s are stored until the end.
pub const MAX_SECONDS: f64 = 600.0;
/// Maximum length of the report file.
pub const MAX_REPORT_BYTES: u64 = 256 << 20;
/// Maximum number of attempts to read the connections between two ends of runs.
pub const MAX_ATTEMPTS: u32 = 1000;
/// Pause between two attempts.
pub const RETRY_PAUSE: Duration = Duration::from_micros(20);
/// Maximum length of a sock_diag message; the kernel sends at most 32 KiB.
pub const DIAG_BYTES: usize = 64 << 10;
/// Maximum time for an answer of the kernel.
pub const DIAG_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of keys that are read back at the end.
pub const MAX_CHECKED_KEYS: u64 = 1000;
/// Maximum length of an answer in addition to its value.
pub const ANSWER_BYTES: usize = 64;
/// Maximum number of forwarded lines of the program's stderr, and their maximum length.
pub const MAX_PRINTED: u64 = 20;
pub const MAX_LINE_BYTES: u64 = 4096;
