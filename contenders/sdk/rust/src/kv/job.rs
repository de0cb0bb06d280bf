//! The parameters of the workload.

use std::net::{IpAddr, SocketAddr};

use super::limits::{MAX_CONNECTIONS, MAX_KEYS, MAX_PIPELINE, MAX_RATE, MAX_VALUE_BYTES, MAX_VERIFY_KEYS};
use crate::{Lab, Setup};

/// The distribution of keys over operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// All keys with equal probability.
    Uniform,
    /// Zipf's law.
    Zipf,
}

/// How an open loop waits until an operation is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pacing {
    /// It polls the clock and the sockets and never sleeps.
    Spin,
    /// It sleeps until then.
    Timer,
}

/// The parameters of both roles.
#[derive(Debug, Clone)]
pub struct Job {
    /// For `ready`, `unsupported` and `failed`.
    pub lab: Lab,
    /// Seed of the values and of the choice of operations.
    pub seed: u64,
    /// Number of connections.
    pub connections: usize,
    /// Maximum number of outstanding requests per connection.
    pub pipeline: usize,
    /// Length of every value.
    pub value_bytes: usize,
    /// Number of keys that operations use.
    pub keys: u64,
    /// Percentage of operations that are SET.
    pub set_percent: u64,
    /// The distribution of keys over operations.
    pub distribution: Distribution,
    /// Operations per second over all connections; 0: closed loop.
    pub rate: u64,
    /// How an open loop waits until an operation is due.
    pub pacing: Pacing,
    /// Length of the measured window.
    pub window_ns: u64,
    /// Number of keys per connection that `verify` writes and reads back.
    pub verify_keys: u64,
    local: IpAddr,
    peer: IpAddr,
}

impl Job {
    /// Reads the parameters of the workload `kv`. Another workload, or another role than `role`, is `unsupported`.
    pub fn new(lab: Lab, setup: &Setup, role: &str) -> Self {
        if setup.workload != "kv" {
            lab.unsupported(format!("the workload `{}`", setup.workload));
        }
        if setup.role != role {
            lab.unsupported(format!("the role `{}`; this contender has only `{role}`", setup.role));
        }
        let params = &setup.params;
        let distribution = match params.text("distribution").as_str() {
            "uniform" => Distribution::Uniform,
            "zipf" => Distribution::Zipf,
            other => lab.unsupported(format!("the distribution `{other}`")),
        };
        let pacing = match params.text("pacing").as_str() {
            "spin" => Pacing::Spin,
            "timer" => Pacing::Timer,
            other => lab.unsupported(format!("the pacing `{other}`")),
        };
        let bounded = |name: &str, min: u64, max: u64| {
            let value = params.int(name);
            if !(min..=max).contains(&value) {
                lab.failed(format!("parameter `{name}` is {value}, not between {min} and {max}"));
            }
            value
        };
        Self {
            lab,
            seed: setup.seed,
            connections: bounded("connections", 1, MAX_CONNECTIONS) as usize,
            pipeline: bounded("pipeline", 1, MAX_PIPELINE) as usize,
            value_bytes: bounded("value_bytes", 1, MAX_VALUE_BYTES) as usize,
            keys: bounded("keys", 1, MAX_KEYS),
            set_percent: bounded("set_percent", 0, 100),
            distribution,
            rate: bounded("rate", 0, MAX_RATE),
            pacing,
            // The cast saturates.
            window_ns: (params.float("seconds") * 1e9) as u64,
            verify_keys: bounded("verify_keys", 1, MAX_VERIFY_KEYS),
            local: setup.local,
            peer: setup.peer,
        }
    }

    /// The address to bind, with a port that the system chooses.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local, 0)
    }

    /// The address of a server that listens at this port.
    pub fn peer(&self, port: u16) -> SocketAddr {
        SocketAddr::new(self.peer, port)
    }
}
