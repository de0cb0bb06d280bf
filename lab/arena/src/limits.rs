//! Limits of the arena.

use std::time::Duration;

use netdyno_lab_protocol::limits::LINE_BYTES_MAX;

/// Most lines a contender may print within one second.
///
/// The busiest second of a correct contender is its set-up: 10,000 connections with a description and five candidates
/// each.
pub const MAX_LINES_PER_SECOND: u32 = 65_536;
/// Most bytes a contender may print in a trial: 10,000 descriptions of 2 KiB, three times over.
pub const MAX_STDOUT_BYTES: u64 = 64 << 20;
/// Kept bytes of the start of a contender's stderr, where most runtimes report the cause of a crash, ...
pub const STDERR_HEAD_BYTES: usize = 16 << 10;
/// ... and its end.
pub const STDERR_TAIL_BYTES: usize = 48 << 10;
/// Longest line between lab and agent: a contender's line with every byte escaped (`\u0000`), plus its frame.
pub const MAX_CONTROL_LINE_BYTES: usize = 6 * LINE_BYTES_MAX + 4096;
/// Most bytes queued in the agent for a contender that does not read its stdin.
pub const MAX_UNREAD_STDIN_BYTES: usize = 64 << 20;
/// Size of one read from a pipe: the default capacity of a pipe.
pub(crate) const READ_BYTES: usize = 64 << 10;
/// Most processes and threads of a contender, unless the caller sets another limit: enough for a thread per connection of
/// 10,000 connections.
pub const PROCESSES_MAX: u32 = 16_384;
/// Share of this machine's memory that a contender may use, unless the caller sets a limit: the kernel then ends the
/// contender instead of other programs.
pub(crate) const MEMORY_SHARE: f64 = 0.875;
/// Most open files of a contender, if the hard limit permits: enough for 10,000 connections of any stack.
pub(crate) const MAX_OPEN_FILES: u64 = 1 << 20;
/// How long a kill may take before the agent kills the supervisor, and with it the PID namespace.
pub(crate) const KILL_TIME: Duration = Duration::from_secs(5);
/// How long the agent waits for end of file on the output after the last process has ended.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(1);
/// How long the lab waits for an agent to end after closing its stdin, before it kills the agent.
pub(crate) const AGENT_EXIT_TIME: Duration = Duration::from_secs(10);
/// How long a holder may take to set up its network.
pub(crate) const HOLDER_READY_TIME: Duration = Duration::from_secs(20);
/// How long a holder may take to end after its stdin is closed.
pub(crate) const HOLDER_EXIT_TIME: Duration = Duration::from_secs(5);
/// How long removing a cgroup whose processes have just died may fail.
pub(crate) const CGROUP_REMOVE_TIME: Duration = Duration::from_secs(2);
/// Interval of polling during clean-up. Never used while measuring.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(2);
/// `oom_score_adj` of a contender: if memory is exhausted, the kernel kills it before the lab.
pub(crate) const CONTENDER_OOM_SCORE: i16 = 800;
/// How long the processes of a contender may take to freeze. A process in an uninterruptible wait delays a cgroup's
/// freezer. The limit only guards against hanging: on a busy machine, freezing can take seconds.
pub(crate) const FREEZE_TIME: Duration = Duration::from_secs(20);
/// Interval of polling for a frozen state: about the time that freezing takes.
pub(crate) const FREEZE_LOOK: Duration = Duration::from_micros(20);
/// Default queueing delay limit of a rate-limited link.
pub(crate) const LINK_QUEUE: Duration = Duration::from_millis(50);
