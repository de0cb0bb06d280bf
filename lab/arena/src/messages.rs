//! The lines between lab, agent, supervisor and holder: one JSON object each.

use std::io::{self, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::LinkEnd;
use crate::limits::PROCESSES_MAX;
use crate::meter::{NetScope, Snapshot};
use netdyno_lab_manifest::Link;

/// From the lab to an agent. The first one is always `Launch`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub(crate) enum LabCommand {
    Launch(Box<Launch>),
    Line {
        text: String,
    },
    /// Read the meter now and reply with this id.
    Meter {
        id: u64,
        deep: bool,
    },
    /// Freeze or thaw the contender, and reply on completion.
    Freeze {
        frozen: bool,
    },
    Kill,
}

/// The best freezer that may be used. The machine may offer less.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Freezing {
    /// cgroup v2's freezer.
    #[default]
    CgroupV2,
    /// cgroup v1's.
    CgroupV1,
    /// SIGSTOP and SIGCONT.
    Signals,
}

/// The configuration of a role's process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchSpec {
    /// Its index in the workload's list of roles.
    pub role: usize,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Environment variables added to those of the agent.
    pub env: Vec<(String, String)>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// The CPUs it may use; `None`: those of the agent.
    pub cpus: Option<Vec<usize>>,
    /// Its memory limit; `None`: a share of this machine's memory, if limits are possible.
    pub memory_limit_bytes: Option<u64>,
    /// Most processes and threads, if limits are possible.
    pub processes_max: u32,
    /// Its end of the network.
    pub side: LinkEnd,
    /// Whether it gets a PID namespace, if permitted. Without one, it can be traced by number from outside.
    pub private_pids: bool,
    /// How it may be frozen.
    pub freezing: Freezing,
    /// The process only starts the program under test; its own memory is not counted.
    pub is_adapter: bool,
}

impl LaunchSpec {
    /// A role without CPU set and memory limit, on side A.
    pub fn new(role: usize, argv: Vec<String>, cwd: PathBuf) -> Self {
        Self {
            role,
            argv,
            env: Vec::new(),
            cwd,
            cpus: None,
            memory_limit_bytes: None,
            processes_max: PROCESSES_MAX,
            side: LinkEnd::A,
            private_pids: true,
            freezing: Freezing::default(),
            is_adapter: false,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) spec: LaunchSpec,
    pub(crate) cgroup: String,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) net: NetScope,
}

/// The paths of a holder's namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Namespaces {
    /// The user namespace that owns the network, if the holder created one.
    pub(crate) user: Option<PathBuf>,
    pub(crate) net: PathBuf,
}

/// From an agent to the lab. The last event of a role is exactly one `Exited` or `Failed`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants describe the fields")]
pub enum AgentEvent {
    /// The contender is running; `pid` is its number on the lab's host. The notes are about isolation and accounting,
    /// including what is unavailable; `memory_limited`: a requested memory limit is enforced.
    Started { pid: i32, memory_limited: bool, notes: Vec<String> },
    /// The contender printed a line, here without its newline.
    Line { text: String },
    /// The reply to [`RoleProcess::meter`](super::RoleProcess::meter) with this id.
    Meter { id: u64, snapshot: Box<Snapshot> },
    /// The contender is frozen or thawed, as requested by [`RoleProcess::freeze`](super::RoleProcess::freeze), by this
    /// freezer; or why it failed.
    Frozen { frozen: bool, by: Result<String, String> },
    /// The contender printed too much or does not read its stdin; it is being killed. The reason names the limit.
    Flood { reason: String },
    /// The contender and all its processes have ended.
    Exited(Box<Exit>),
    /// The contender never ran, or its agent was lost. All its processes are dead.
    Failed { reason: String },
}

impl AgentEvent {
    pub(crate) fn failed(reason: impl Into<String>) -> Self {
        Self::Failed { reason: reason.into() }
    }

    /// Whether this is the role's last event.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Exited(_) | Self::Failed { .. })
    }
}

/// The end of a contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code, if it exited.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Who ended it.
    pub by: EndedBy,
    /// A description for reports.
    pub reason: String,
    /// The kernel's accounting over its whole life, including reaped children.
    pub usage: Option<Usage>,
    /// Number of processes that it left running; they were killed.
    pub left_behind: u32,
    /// Its stderr, possibly without its middle part.
    pub stderr: String,
}

/// The cause of a contender's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// The contender itself, or a signal from elsewhere.
    Itself,
    /// A request by the lab.
    Lab,
    /// The end of the lab.
    LabGone,
    /// Too much output, or unread input.
    Flood,
    /// The kernel, because of the memory limit.
    MemoryLimit,
}

/// `wait4`'s accounting of a process and its reaped children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time.
    pub cpu_ns: u64,
    /// Peak resident memory of the largest single process. The supervisor's own memory before `exec` is a lower
    /// bound.
    pub max_rss_bytes: u64,
    /// Voluntary and involuntary context switches, including those of ended threads.
    pub context_switches: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The contender's number in the supervisor's PID namespace and a note, or why it could not start.
    Started(Result<(i32, Option<String>), String>),
    Ended {
        contender: Reaped,
        left_behind: u32,
    },
}

/// The end of a child, with `wait4`'s accounting.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reaped {
    pub(crate) pid: i32,
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) usage: Usage,
}

/// From the lab to a holder: the only line on its stdin.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HolderPlan {
    /// The link between the sides; none: one loopback for both.
    pub(crate) link: Option<Link>,
    pub(crate) seed: u64,
    pub(crate) no_gso: bool,
}

/// From a holder to the lab: the only line on its stdout.
pub(crate) type HolderAnswer = Result<Held, Refusal>;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    /// One entry per side.
    pub(crate) sides: Vec<Namespaces>,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Refusal {
    NotPermitted(String),
    /// There is a namespace, but a feature is missing.
    Missing(String),
    Failed(String),
}

impl From<String> for Refusal {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

pub(crate) fn write_line(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}
