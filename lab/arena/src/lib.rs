//! Where a trial runs: a private network, a CPU set and an account for each role, and nothing left afterwards.
//!
//! ```text
//!  lab --- holder                       keeps the network namespaces; ends with its stdin
//!   |
//!   +--- agent --- supervisor --- contender and what it starts        one such line a role
//!          |           init of a PID namespace: when it ends, the kernel ends the rest
//!          +- meter    reads /proc and cgroups beside the contender
//! ```
//!
//! Everything hangs by pipes. When the lab ends, even by SIGKILL, agents and holder see the end of their stdin; when an
//! agent ends, its supervisor sees the end of its lifeline; the network goes with the last process in it.

mod agent;
mod awake;
mod cgroup;
mod error;
mod freezer;
mod hierarchy;
mod holder;
mod launcher;
pub mod limits;
mod messages;
pub mod meter;
mod network;
mod role;
mod sys;
mod topology;

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

pub use agent::run as run_agent;
pub use awake::Awake;
pub use error::ArenaError;
pub use holder::run as run_holder;
pub use launcher::{Launcher, LocalLauncher, Verb};
pub use messages::{AgentEvent, EndedBy, Exit, Freezing, Usage};
pub use role::{LaunchSpec, RoleIndex, RoleProcess};
pub use topology::{CpuPlan, CpusBack, Topology, pin_self};

use messages::Launch;
use netdyno_lab_manifest::Net;
use network::Network;

/// Which end of the network a role is at. They differ in a [`Net::Veth`] only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first one.
    A,
    /// The other one.
    B,
}

/// What arena is wanted.
#[derive(Debug, Clone)]
pub struct ArenaSpec {
    /// Its network.
    pub net: Net,
    /// How its processes are started.
    pub launcher: Arc<dyn Launcher>,
    /// Says which packets a link with loss loses, each way.
    pub seed: u64,
    /// Devices take packets one by one: what was sent as segments is cut up before.
    pub no_gso: bool,
}

impl ArenaSpec {
    /// An arena on this host, of seed 0, with segments.
    #[must_use]
    pub fn local(net: Net) -> Self {
        Self { net, launcher: Arc::new(LocalLauncher::default()), seed: 0, no_gso: false }
    }
}

/// A place for the roles of one trial. Dropping it ends its network; drop the roles first.
#[derive(Debug)]
pub struct Arena {
    launcher: Arc<dyn Launcher>,
    network: Network,
}

/// Numbers the cgroups of this lab.
static NEXT_ROLE: AtomicU64 = AtomicU64::new(0);

impl Arena {
    /// Makes the arena that is asked for, or says why it cannot be had.
    pub fn open(spec: &ArenaSpec) -> Result<Self, ArenaError> {
        if spec.launcher.is_local() {
            cgroup::sweep();
        }
        let network = Network::open(spec.launcher.as_ref(), &spec.net, spec.seed, spec.no_gso)?;
        Ok(Self { launcher: Arc::clone(&spec.launcher), network })
    }

    /// Makes the arena that is asked for; where a private loopback is not permitted, the host's, whose description then
    /// says why. Any other network that is not permitted is an error.
    pub fn best(spec: &ArenaSpec) -> Result<Self, ArenaError> {
        match Self::open(spec) {
            Err(refusal @ ArenaError::NotPermitted { .. }) if spec.net == Net::Loopback => {
                Ok(Self { launcher: Arc::clone(&spec.launcher), network: Network::host(Some(&refusal)) })
            }
            outcome => outcome,
        }
    }

    /// What this arena is, and if it is not what was wanted, why.
    #[must_use]
    pub fn describe(&self) -> &str {
        self.network.describe()
    }

    /// Whether roles have a network that nothing else uses, so that its counters can be read.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.network.is_private()
    }

    /// The address of a side, and that of its peer.
    #[must_use]
    pub fn addresses(&self, side: Side) -> (IpAddr, IpAddr) {
        self.network.addresses(side)
    }

    /// Where the network namespace of a side can be opened while the arena lives (`nsenter --net=...`), if it is private.
    #[must_use]
    pub fn net_path(&self, side: Side) -> Option<PathBuf> {
        self.network.namespaces(side).map(|namespaces| namespaces.net)
    }

    /// Starts a role; what becomes of it arrives in `events`.
    pub fn launch(
        &self,
        spec: LaunchSpec,
        events: Sender<(RoleIndex, AgentEvent)>,
    ) -> Result<RoleProcess, ArenaError> {
        let launch = Launch {
            argv: spec.argv,
            env: spec.env,
            cwd: spec.cwd,
            cpus: spec.cpus,
            memory_limit_bytes: spec.memory_limit_bytes,
            is_adapter: spec.is_adapter,
            private_pids: spec.private_pids,
            freezing: spec.freezing,
            cgroup: cgroup::name(std::process::id(), NEXT_ROLE.fetch_add(1, Ordering::Relaxed)),
            namespaces: self.network.namespaces(spec.side),
            net: self.network.scope(spec.side),
        };
        RoleProcess::launch(self.launcher.as_ref(), spec.role, launch, events)
    }
}
