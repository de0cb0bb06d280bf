//! The result of a probe of one role, as stored.
//!
//! A probe runs in its own trial, which is not a measurement, because probing changes performance. Its counts are per
//! unit of work, so that they are comparable with figures of undisturbed trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A probe of a role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// The kind of probe.
    pub kind: ProbeKind,
    /// The tool.
    pub source: String,
    /// Units of work during the probe.
    pub units: f64,
    /// The rate during the probe divided by the undisturbed rate, if both are known: the cost of probing.
    pub speed: Option<f64>,
    /// The result; or why there is none, with a remedy.
    pub found: Result<Found, String>,
}

/// Kinds of probes; each runs in its own trial.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, strum::IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ProbeKind {
    /// Kernel counters that trials do not store: context switches by kind, page faults.
    Kernel,
    /// System calls by name.
    Syscalls,
    /// Calls of the C library's allocator.
    Allocations,
    /// Sampled stacks.
    Profile,
    /// Whether an equalised property takes effect. Not stored.
    Acts,
}

impl ProbeKind {
    /// The kinds of an explanation, in the order in which they run.
    pub const ALL: [ProbeKind; 4] =
        [ProbeKind::Kernel, ProbeKind::Syscalls, ProbeKind::Allocations, ProbeKind::Profile];

    /// The name in the store and in texts.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The result of a probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Counters of all threads that existed at both ends of the window.
    Kernel(KernelCounts),
    /// System calls, by name.
    Syscalls {
        /// The calls.
        calls: BTreeMap<String, Calls>,
        /// Lost events; if there are any, the counts are lower bounds.
        lost: u64,
    },
    /// Calls of the C library's allocator.
    Allocations(Allocations),
    /// Stacks with their number of samples.
    Profile {
        /// `main;run;send`, outermost first; kernel frames end with `_[k]`.
        stacks: BTreeMap<String, u64>,
        /// All samples.
        samples: u64,
    },
    /// The equalised property took effect this many times. A program may not use the property.
    Acts {
        /// How many times.
        times: u64,
    },
}

/// Counters of `/proc`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCounts {
    /// Context switches of threads that had to wait.
    pub voluntary: u64,
    /// Context switches of threads that were preempted.
    pub involuntary: u64,
    /// Time in run queues, in ns.
    #[serde(default)]
    pub queued_ns: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
}

/// Calls with the same name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls {
    /// Number of calls.
    pub calls: u64,
    /// Calls that failed; EAGAIN of an empty socket is one.
    pub errors: u64,
    /// Time from entry to return, in ns, including waiting and the overhead of tracing.
    pub inside_ns: f64,
}

/// Calls of the allocator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocations {
    /// Calls of malloc, calloc, realloc and similar functions.
    pub allocations: u64,
    /// Requested bytes.
    pub bytes: u64,
    /// Calls of free.
    pub frees: u64,
}
