//! The lines between lab, agent, supervisor and holder: one JSON object each.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::meter::{NetScope, Snapshot};
use netdyno_lab_manifest::Link;

/// From the lab to an agent. The first one is always `Launch`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case")]
pub(crate) enum LabCommand {
    /// Start the contender.
    Launch(Box<Launch>),
    /// Pass this line to the contender's stdin.
    Line { text: String },
    /// Read the meter now and answer with this id.
    Meter { id: u64, deep: bool },
    /// Freeze the contender, or let it go on, and answer once that is so.
    Freeze { frozen: bool },
    /// Kill the contender and everything that it started.
    Kill,
}

/// The best way of freezing that may be used: a machine may have less.
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

/// What an agent must know to start its contender.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Launch {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
    pub(crate) cpus: Option<Vec<usize>>,
    pub(crate) memory_limit_bytes: Option<u64>,
    pub(crate) private_pids: bool,
    pub(crate) freezing: Freezing,
    pub(crate) is_adapter: bool,
    pub(crate) cgroup: String,
    pub(crate) namespaces: Option<Namespaces>,
    pub(crate) net: NetScope,
}

/// Where a holder's namespaces can be opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Namespaces {
    /// The user namespace that owns the network, when the holder had to make one.
    pub(crate) user: Option<PathBuf>,
    pub(crate) net: PathBuf,
}

/// From an agent to the lab. `Exited` or `Failed` is the last event of a role, and there is exactly one of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum AgentEvent {
    /// The contender runs.
    Started {
        /// Its process id, as the lab's host numbers it.
        pid: i32,
        /// Whether a memory limit that was asked for is in force.
        memory_limited: bool,
        /// How it is kept apart and accounted, and what of that was not possible here.
        notes: Vec<String>,
    },
    /// The contender printed a line.
    Line {
        /// The line, without its newline.
        text: String,
    },
    /// The answer to [`RoleProcess::meter`](super::RoleProcess::meter).
    Meter {
        /// The id that was asked with.
        id: u64,
        /// What was read.
        snapshot: Box<Snapshot>,
    },
    /// The contender is frozen, or goes on, as [`RoleProcess::freeze`](super::RoleProcess::freeze) asked.
    Frozen {
        /// Which of the two.
        frozen: bool,
        /// How it is done here; or why it could not be done.
        by: Result<String, String>,
    },
    /// The contender printed more than it may, or does not read what it is sent; it is being killed.
    Flood {
        /// Which limit it broke.
        reason: String,
    },
    /// The contender and everything that it started have ended.
    Exited(Box<Exit>),
    /// The contender never ran, or its agent was lost. What the agent had started is dead.
    Failed {
        /// Why.
        reason: String,
    },
}

impl AgentEvent {
    /// Whether no other event of this role follows.
    #[must_use]
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Exited(_) | Self::Failed { .. })
    }
}

/// How a contender ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exit {
    /// Its exit code, if it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it, if one did.
    pub signal: Option<i32>,
    /// Who ended it.
    pub by: EndedBy,
    /// The same in words, for a report.
    pub reason: String,
    /// What the kernel counted over its whole life, reaped children included.
    pub usage: Option<Usage>,
    /// How many processes it left running, which have been killed.
    pub left_behind: u32,
    /// Its stderr: all of it, or its first and its last part.
    pub stderr: String,
}

/// Who ended a contender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedBy {
    /// Itself, or a signal that was not ours.
    Itself,
    /// The lab asked for it.
    Lab,
    /// The lab is gone.
    LabGone,
    /// It printed too much, or did not read.
    Flood,
    /// The kernel, because it exceeded its memory limit.
    MemoryLimit,
}

/// `wait4`'s account of a process and its reaped children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// User and system time.
    pub cpu_ns: u64,
    /// Peak resident memory of the largest single process. The supervisor's own before `exec` counts as a floor.
    pub max_rss_bytes: u64,
    /// Voluntary and involuntary context switches, ended threads included.
    pub context_switches: u64,
}

/// From the supervisor to its agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// `pid` as the supervisor's PID namespace numbers it.
    Started {
        pid: i32,
        note: Option<String>,
    },
    NotStarted {
        reason: String,
    },
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        usage: Usage,
        left_behind: u32,
    },
}

/// From the lab to a holder: the one line on its stdin.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "hold", rename_all = "snake_case")]
pub(crate) enum HolderPlan {
    Loopback {
        no_gso: bool,
    },
    /// The seed says which packets the link loses.
    Veth {
        link: Link,
        seed: u64,
        no_gso: bool,
    },
}

/// From a holder to the lab: the one line on its stdout.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "holder", rename_all = "snake_case")]
pub(crate) enum HolderAnswer {
    /// One entry a side.
    Ready {
        sides: Vec<Namespaces>,
        notes: Vec<String>,
    },
    NotPermitted {
        reason: String,
    },
    Missing {
        reason: String,
    },
    Failed {
        reason: String,
    },
}
