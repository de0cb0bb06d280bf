//! Limits of builds.

use std::time::Duration;

/// Longest build, including waiting for another lab's build.
pub const BUILD_LIMIT: Duration = Duration::from_secs(60 * 60);
/// Longest run time of an input's program.
pub const INPUT_LIMIT: Duration = Duration::from_secs(10 * 60);
/// Longest input, in bytes.
pub const INPUT_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// Time limit of a version query. Go may download a toolchain.
pub const PROBE_LIMIT: Duration = Duration::from_secs(60);
/// Most bytes kept of a query's output.
pub const PROBE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most lines kept of a tool's answer during a build: `go list` prints one for each package.
pub const ANSWER_LINES_MAX: usize = 100_000;
/// Interval of polling a running tool for its end, cancellation and timeout.
pub const POLL: Duration = Duration::from_millis(50);
/// Time between SIGTERM and SIGKILL.
pub const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long output is read after a tool has ended, if one of its children still holds the pipe.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// Most files of a contender with its SDK and local packages.
pub const SOURCE_FILES_MAX: usize = 20_000;
/// Most bytes of those files.
pub const SOURCE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Greatest depth of their folders.
pub const SOURCE_DEPTH_MAX: usize = 32;
/// Most local packages of a contender.
pub const LOCAL_PACKAGES_MAX: usize = 256;
/// Most bytes of a build's log; the rest is dropped.
pub const LOG_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Longest line of a tool; the rest is dropped.
pub const TOOL_LINE_BYTES_MAX: usize = 1024 * 1024;
/// Longest displayed line, in characters.
pub const SHOWN_LINE_CHARS_MAX: usize = 400;
/// Lines of a failed tool's output in an error.
pub const TAIL_LINES: usize = 20;
/// Lines queued between a tool and the log.
pub const LINES_QUEUED_MAX: usize = 256;
/// Longest record of a finished build, in bytes.
pub const RECORD_BYTES_MAX: u64 = 1024 * 1024;
/// Most counted files of a library.
pub const COUNTED_FILES_MAX: usize = 20_000;
/// Most bytes of those files.
pub const COUNTED_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// Most examined packages of a program.
pub const BUILT_PACKAGES_MAX: usize = 10_000;
/// Most packages of one owner that count as a library.
pub const COUNTED_PACKAGES_MAX: usize = 256;
/// The marker of a generated file must be within this many bytes ...
pub const HEAD_BYTES: usize = 4096;
/// ... and lines.
pub const HEAD_LINES: usize = 10;
