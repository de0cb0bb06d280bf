//! The machine that a run ran on.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine, as far as it shows itself. "unknown" where it does not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// CPU model.
    pub cpu: String,
    /// CPUs this process may use.
    pub cpus: usize,
    /// Physical cores among them.
    pub cores: usize,
    /// Simultaneous multithreading: `on`, `off` or `notsupported`.
    pub smt: String,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Distribution.
    pub os: String,
    /// CPU frequency governor.
    pub governor: String,
    /// Virtual machine: the hypervisor's flag of the CPU.
    pub virtual_machine: bool,
    /// Share of time stolen by the hypervisor since boot, in per cent.
    pub steal_percent: f64,
    /// cgroup version: `v1`, `v2`, `hybrid`, `none`.
    pub cgroup: String,
    /// CPU vulnerability mitigations that are active.
    pub mitigations: Vec<String>,
    /// Toolchains found, by program.
    pub toolchains: BTreeMap<String, String>,
}

impl Host {
    /// The machine in one line.
    #[must_use]
    pub fn headline(&self) -> String {
        format!(
            "{}, {} CPUs ({} cores), {:.0} GiB, Linux {}, {}{}",
            self.cpu,
            self.cpus,
            self.cores,
            self.memory_bytes as f64 / f64::from(1 << 30),
            self.kernel,
            self.os,
            if self.virtual_machine { ", virtual machine" } else { "" }
        )
    }
}
