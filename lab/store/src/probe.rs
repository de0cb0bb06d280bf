//! What a probe found of one role, as the store keeps it.
//!
//! A probe runs in a trial of its own, which is no measurement: what it looks at, it disturbs. Its counts are told by the unit of
//! work, so that they can stand beside figures of trials that nobody looked at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One look at one role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// What kind of look.
    pub kind: ProbeKind,
    /// Who says so.
    pub source: String,
    /// Units of work done while it looked.
    pub units: f64,
    /// The rate meanwhile by the rate of trials that nobody looked at, where both are known: what looking cost.
    pub speed: Option<f64>,
    /// What it found; or why nothing, and the remedy.
    pub found: Result<Found, String>,
}

/// Kinds of looks: a trial each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeKind {
    /// Counters of the kernel that no trial stores: context switches by kind, page faults.
    Kernel,
    /// System calls by name.
    Syscalls,
    /// Calls of the C library's allocator.
    Allocations,
    /// Stacks, sampled.
    Profile,
    /// Whether what is to be made equal takes effect. Not kept.
    Acts,
}

impl ProbeKind {
    /// Those that an explanation is made of, in the order in which they are made.
    pub const ALL: [ProbeKind; 4] =
        [ProbeKind::Kernel, ProbeKind::Syscalls, ProbeKind::Allocations, ProbeKind::Profile];

    /// As it stands in the store, and in a text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ProbeKind::Kernel => "kernel",
            ProbeKind::Syscalls => "syscalls",
            ProbeKind::Allocations => "allocations",
            ProbeKind::Profile => "profile",
            ProbeKind::Acts => "acts",
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Of all threads that lived at both ends of the window.
    Kernel(KernelCounts),
    /// By name.
    Syscalls {
        /// The calls.
        calls: BTreeMap<String, Calls>,
        /// Events that were lost: where there are any, counts are lower bounds.
        lost: u64,
    },
    /// Of the C library's allocator, whoever asks it.
    Allocations(Allocations),
    /// Stacks with the number of samples in each.
    Profile {
        /// `main;run;send`, the outermost first; frames of the kernel end in `_[k]`.
        stacks: BTreeMap<String, u64>,
        /// All samples.
        samples: u64,
    },
    /// What was to be made equal took effect, as often as this; a program may have no use for it.
    Acts {
        /// Times.
        times: u64,
    },
}

/// Counters of `/proc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Context switches of one that had to wait.
    pub voluntary: u64,
    /// Context switches of one that would have gone on.
    pub involuntary: u64,
    /// Time in the queue for a CPU, in ns: ready to run, while another one ran.
    #[serde(default)]
    pub queued_ns: u64,
    /// Page faults that took no I/O.
    pub minor_faults: u64,
    /// Page faults that did.
    pub major_faults: u64,
}

/// Calls of one name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// How many.
    pub calls: u64,
    /// Of these, with an error: an empty socket's EAGAIN is one.
    pub errors: u64,
    /// Time from entry to return, waiting included, in ns; as long as it takes while one looks.
    pub inside_ns: f64,
}

/// Calls of the allocator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocations {
    /// malloc, calloc, realloc and their like.
    pub allocations: u64,
    /// What they asked for.
    pub bytes: u64,
    /// free.
    pub frees: u64,
}
