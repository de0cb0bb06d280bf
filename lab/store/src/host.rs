//! The machine of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine, as far as it can be determined; otherwise "unknown".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// CPU model.
    pub cpu: String,
    /// CPUs that this process may use.
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
    /// Share of time stolen by the hypervisor since boot, in percent.
    pub steal_percent: f64,
    /// cgroup version: `v1`, `v2`, `hybrid`, `none`.
    pub cgroup: String,
    /// Active mitigations of CPU vulnerabilities.
    pub mitigations: Vec<String>,
    /// Installed toolchains, by program.
    pub toolchains: BTreeMap<String, String>,
}

impl Host {
    /// A one-line description.
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
