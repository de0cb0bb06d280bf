//! The network of a trial.

/// The network of a trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Net {
    /// A private network namespace with a loopback for all roles.
    #[default]
    Loopback,
    /// A private network namespace per side, connected by a link.
    Veth(Link),
    /// The host's own loopback, shared with all other programs.
    Host,
}

impl std::fmt::Display for Net {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Net::Loopback => f.write_str("loopback namespace"),
            Net::Veth(link) => write!(f, "veth, {link}"),
            Net::Host => f.write_str("host loopback"),
        }
    }
}

/// The connection between two namespaces: a veth pair or, with delay or loss, two TUN devices between which the lab
/// relays packets, since the kernel may lack netem.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Link {
    /// Of both ends; 1500 for Ethernet.
    pub mtu: u32,
    /// Rate limit of each direction.
    pub rate_bits_per_s: Option<u64>,
    /// Longest queueing delay on a rate-limited link; packets that would wait longer are dropped.
    pub queue: Option<std::time::Duration>,
    /// One-way delay: half of the added RTT.
    pub delay: std::time::Duration,
    /// Random packet loss in each direction, in parts per million.
    pub loss_ppm: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { mtu: 1500, rate_bits_per_s: None, queue: None, delay: std::time::Duration::ZERO, loss_ppm: 0 }
    }
}

impl Link {
    /// Whether the lab must relay the packets.
    pub fn is_emulated(&self) -> bool {
        !self.delay.is_zero() || self.loss_ppm > 0 || self.queue.is_some()
    }
}

impl std::fmt::Display for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MTU {}", self.mtu)?;
        if let Some(rate) = self.rate_bits_per_s {
            write!(f, ", {} Mbit/s", rate as f64 / 1e6)?;
        }
        if let Some(queue) = self.queue {
            write!(f, ", queue {queue:?}")?;
        }
        if !self.delay.is_zero() {
            write!(f, ", delay {:?} each way", self.delay)?;
        }
        if self.loss_ppm > 0 {
            write!(f, ", loss {} % each way", f64::from(self.loss_ppm) / 1e4)?;
        }
        Ok(())
    }
}
