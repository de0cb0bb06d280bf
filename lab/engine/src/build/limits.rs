//! Every limit on a build.

use std::time::Duration;

/// The longest that one build may take, its wait for another lab's build included.
pub const BUILD_LIMIT: Duration = Duration::from_secs(60 * 60);
/// The longest that an input's program may take.
pub const INPUT_LIMIT: Duration = Duration::from_secs(10 * 60);
/// The longest input, in bytes.
pub const INPUT_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// The longest that a tool may take to say its version. Go may fetch a toolchain meanwhile.
pub const PROBE_LIMIT: Duration = Duration::from_secs(60);
/// The most bytes that are kept of what a probe prints.
pub const PROBE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How often a running tool is looked at: whether it is done, cancelled or out of time.
pub const POLL: Duration = Duration::from_millis(50);
/// How long a tool has to end after SIGTERM before it is killed.
pub const KILL_GRACE: Duration = Duration::from_secs(2);
/// How long output is read after a tool has ended, where something that it started still holds the pipe.
pub const DRAIN_LIMIT: Duration = Duration::from_secs(2);
/// The most files of a contender with its SDK and local packages.
pub const SOURCE_FILES_MAX: usize = 20_000;
/// The most bytes of those files.
pub const SOURCE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// The deepest folder among them.
pub const SOURCE_DEPTH_MAX: usize = 32;
/// The most local packages that a contender may depend on.
pub const LOCAL_PACKAGES_MAX: usize = 256;
/// The most bytes of a build's log; what comes after is not kept.
pub const LOG_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The longest line read of a tool; the rest is dropped.
pub const LINE_BYTES_MAX: usize = 1024 * 1024;
/// The longest line shown as progress or in an error, in characters.
pub const SHOWN_LINE_CHARS_MAX: usize = 400;
/// How many lines of a failed tool's output an error shows.
pub const TAIL_LINES: usize = 20;
/// How many lines may wait between a tool and the log.
pub const LINES_QUEUED_MAX: usize = 256;
/// The longest record of a finished build, in bytes.
pub const RECORD_BYTES_MAX: u64 = 1024 * 1024;
/// The most files of a library whose lines are counted.
pub const COUNTED_FILES_MAX: usize = 20_000;
/// The most bytes of those files.
pub const COUNTED_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// The most packages of a program that are looked at for its library.
pub const BUILT_PACKAGES_MAX: usize = 10_000;
/// The most packages of one owner that a library is counted with.
pub const COUNTED_PACKAGES_MAX: usize = 256;
/// Where a file says that a program wrote it: among so many bytes ...
pub const HEAD_BYTES: usize = 4096;
/// ... and lines.
pub const HEAD_LINES: usize = 10;
