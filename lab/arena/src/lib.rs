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

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

pub use agent::run as run_agent;
pub use awake::Awake;
pub use error::ArenaError;
pub use holder::run as run_holder;
pub use messages::{AgentEvent, EndedBy, Exit, Freezing, LaunchSpec, Usage};
pub use role::{RoleIndex, RoleProcess};
pub use topology::{CpuPlan, CpusBack, Topology, pin_self};

use serde::{Deserialize, Serialize};

use messages::Launch;
use netdyno_lab_manifest::Net;
use network::Network;

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

/// The environment of the roles of one trial. Dropping it ends its network; drop the roles first.
#[derive(Debug)]
pub struct Arena {
    executable: PathBuf,
    network: Network,
}

/// The number of the next cgroup.
static NEXT_ROLE: AtomicU64 = AtomicU64::new(0);

impl Arena {
    /// Creates the requested arena.
    pub fn open(spec: &ArenaSpec) -> Result<Self, ArenaError> {
        cgroup::sweep();
        let network = Network::open(&spec.executable, &spec.net, spec.seed, spec.no_gso)?;
        Ok(Self { executable: spec.executable.clone(), network })
    }

    /// Creates the requested arena. If a private loopback is not permitted, the host's is used, and the description
    /// has the reason. For any other network, this is an error.
    pub fn best(spec: &ArenaSpec) -> Result<Self, ArenaError> {
        match Self::open(spec) {
            Err(refusal @ ArenaError::NotPermitted { .. }) if spec.net == Net::Loopback => {
                Ok(Self { executable: spec.executable.clone(), network: Network::host(Some(&refusal)) })
            }
            outcome => outcome,
        }
    }

    /// Describes the arena, with the reason for deviations from the request.
    pub fn describe(&self) -> &str {
        self.network.describe()
    }

    /// Whether only the roles use the network, so that its counters can be read.
    pub fn is_private(&self) -> bool {
        self.network.is_private()
    }

    /// The address of a side, and that of its peer.
    pub fn addresses(&self, side: LinkEnd) -> (IpAddr, IpAddr) {
        self.network.addresses(side)
    }

    /// The path of a side's network namespace while the arena exists (`nsenter --net=...`), if it is private.
    pub fn net_path(&self, side: LinkEnd) -> Option<PathBuf> {
        self.network.namespaces(side).map(|namespaces| namespaces.net)
    }

    /// Starts a role. Its events arrive in `events`.
    pub fn launch(
        &self,
        spec: LaunchSpec,
        events: Sender<(RoleIndex, AgentEvent)>,
    ) -> Result<RoleProcess, ArenaError> {
        let launch = Launch {
            cgroup: cgroup::name(std::process::id(), NEXT_ROLE.fetch_add(1, Ordering::Relaxed)),
            namespaces: self.network.namespaces(spec.side),
            net: self.network.scope(spec.side),
            spec,
        };
        RoleProcess::launch(&self.executable, launch, events)
    }
}
