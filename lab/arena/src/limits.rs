//! Every limit of the arena, by name.

use std::time::Duration;

/// Longest line on a contender's stdout, its newline left out: the protocol's own limit.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Most lines a contender may print within one second.
///
/// The busiest honest second is set-up: 10,000 connections with a description and five candidates each.
pub const MAX_LINES_PER_SECOND: u32 = 65_536;

/// Most bytes a contender may print on stdout in one trial: 10,000 descriptions of 2 KiB, three times over.
pub const MAX_STDOUT_BYTES: u64 = 64 << 20;

/// What is kept of a contender's stderr: its beginning, where most runtimes say why they end, ...
pub const STDERR_HEAD_BYTES: usize = 16 << 10;

/// ... and its end.
pub const STDERR_TAIL_BYTES: usize = 48 << 10;

/// Longest line between lab and agent: a contender's line in which every byte was escaped (`\u0000`), and its frame.
pub const MAX_CONTROL_LINE_BYTES: usize = 6 * MAX_LINE_BYTES + 4096;

/// Most bytes that wait in the agent for a contender that does not read its stdin.
pub const MAX_UNREAD_STDIN_BYTES: usize = 64 << 20;

/// Size of one read from a pipe: what a pipe holds by default.
pub(crate) const READ_BYTES: usize = 64 << 10;

/// Open files that a contender may have, when the hard limit allows: enough for 10,000 connections of any stack.
pub(crate) const MAX_OPEN_FILES: u64 = 1 << 20;

/// How long a kill may take before the agent escalates to killing the supervisor (and with it the PID namespace).
pub(crate) const KILL_TIME: Duration = Duration::from_secs(5);

/// How long after the last process's end the agent still waits for the end of its output.
pub(crate) const DRAIN_TIME: Duration = Duration::from_secs(1);

/// How long the lab waits for an agent to end once its stdin is closed, before it kills the agent.
pub(crate) const AGENT_EXIT_TIME: Duration = Duration::from_secs(10);

/// How long a holder may take to set up its network.
pub(crate) const HOLDER_READY_TIME: Duration = Duration::from_secs(20);

/// How long a holder may take to end once its stdin is closed.
pub(crate) const HOLDER_EXIT_TIME: Duration = Duration::from_secs(5);

/// How long a cgroup whose processes have just died may still refuse to be removed.
pub(crate) const CGROUP_REMOVE_TIME: Duration = Duration::from_secs(2);

/// Pause between two looks at something that ends soon. Used in clean-up only, never while measuring.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_millis(2);

/// `oom_score_adj` of a contender: when the machine runs out of memory it goes before the lab does.
pub(crate) const CONTENDER_OOM_SCORE: i16 = 800;

/// How long the processes of a contender may take to stop. With the freezers of cgroups one that is in an uninterruptible wait
/// holds up the rest. It guards against hanging: two seconds were too short once while two compilers ran.
pub(crate) const FREEZE_TIME: Duration = Duration::from_secs(20);

/// Pause between two looks at whether they have: about what stopping takes.
pub(crate) const FREEZE_LOOK: Duration = Duration::from_micros(20);
/// How long a packet may wait for its turn on a link with a rate, unless told otherwise.
pub(crate) const LINK_QUEUE: Duration = Duration::from_millis(50);
