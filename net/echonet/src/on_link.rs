//! Which source addresses are on the links of this machine.

use std::net::IpAddr;
use std::time::Instant;

use netdyno_echonet_core::NodeAddress;
use netdyno_io::Network;

use crate::limits::NETWORKS_FRESH;
use crate::settings::Settings;

/// The networks attached to this machine, read again when an unknown address appears.
#[derive(Debug)]
pub(crate) struct OnLink {
    networks: Vec<Network>,
    read_at: Option<Instant>,
    /// Requests from all addresses are accepted.
    accepts_all: bool,
}

impl OnLink {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { networks: Vec::new(), read_at: None, accepts_all: settings.off_link_requests }
    }

    /// Whether datagrams from this address come over a router.
    pub(crate) fn is_beyond(&mut self, node: NodeAddress) -> bool {
        let is_local = match node.ip {
            IpAddr::V4(v4) => v4.is_loopback(),
            IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local(),
        };
        if self.accepts_all || is_local || self.contains(node.ip) {
            return false;
        }
        let now = Instant::now();
        if self.read_at.is_none_or(|read_at| now.saturating_duration_since(read_at) >= NETWORKS_FRESH) {
            self.read_at = Some(now);
            // After a failure the known networks remain.
            if let Ok(networks) = Network::list() {
                self.networks = networks;
            }
        }
        !self.contains(node.ip)
    }

    fn contains(&self, ip: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(ip))
    }
}
