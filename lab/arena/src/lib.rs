//! The environment of a trial: a private network, and CPUs and accounting for each role. Nothing remains afterwards.
//!
//! ```text
//!  lab --- holder                       keeps the network namespaces; ends with its stdin
//! |   +--- agent --- supervisor --- contender and its processes         one such line per role
//! |          |           init of a PID namespace: when it ends, the kernel ends the others
//! |          +- meter    reads /proc and cgroups
//!          +- meter    reads /proc and cgroups beside the contender
//! ```
//!
//! All processes are connected by pipes. When the lab ends, even by SIGKILL, agents and holder see end of file on
//! stdin. When an agent ends, its supervisor sees end of file on the lifeline. The network ends with the last process
//! in it.

mod agent;
mod awake;
mod cgroup;
mod error;
mod freezer;
mod hierarchy;
mod holder;
pub mod limits;
mod messages;
pub mod meter;
mod network;
mod role;
mod sys;
mod topology;

use std::path::PathBuf;

pub use agent::run as run_agent;
pub use awake::Awake;
pub use error::ArenaError;
pub use holder::run as run_holder;
pub use messages::{AgentEvent, EndedBy, Exit, Freezing, LaunchSpec, Usage};
pub use network::Arena;
pub use role::{EventSender, RoleIndex, RoleProcess};
pub use topology::{CpuPlan, CpusBack, Topology, pin_self};

use serde::{Deserialize, Serialize};

use netdyno_lab_manifest::Net;

/// The end of the network of a role. The ends differ only in a [`Net::Veth`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkEnd {
    /// The first one.
    A,
    /// The other one.
    B,
}

/// The configuration of an arena.
#[derive(Debug, Clone)]
pub struct ArenaSpec {
    /// Its network.
    pub net: Net,
    /// The program whose hidden verbs start its processes. By default the running program, even if its file was replaced.
    pub executable: PathBuf,
    /// Determines which packets a link with loss drops, in each direction.
    pub seed: u64,
    /// Devices accept single segments only: segmented sends are split before.
    pub no_gso: bool,
}

impl ArenaSpec {
    /// An arena on this host with seed 0 and segmentation offload.
    pub fn local(net: Net) -> Self {
        Self { net, executable: PathBuf::from("/proc/self/exe"), seed: 0, no_gso: false }
    }
}
