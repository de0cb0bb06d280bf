//! The network of a trial, as a user asks for it.

/// The network of a trial.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Net {
    /// One private namespace with a loopback for all roles.
    #[default]
    Loopback,
    /// A private namespace a side, joined by a link.
    Veth(Link),
    /// The host's own loopback, shared with everything else on it.
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

/// What joins two namespaces: a veth pair, or two TUN devices and the lab between them if packets are to be held up
/// or lost (this kernel may have no netem).
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Link {
    /// Of both ends; Ethernet's is 1500.
    pub mtu: u32,
    /// Limits what each side may send.
    pub rate_bits_per_s: Option<u64>,
    /// The longest that a packet may wait for its turn where the rate is limited; what would wait longer is lost.
    pub queue: Option<std::time::Duration>,
    /// How long each packet is under way: half of the round trip that it adds.
    pub delay: std::time::Duration,
    /// Packets of a million, each way, that are lost by chance.
    pub loss_ppm: u32,
}

impl Default for Link {
    fn default() -> Self {
        Self { mtu: 1500, rate_bits_per_s: None, queue: None, delay: std::time::Duration::ZERO, loss_ppm: 0 }
    }
}

impl Link {
    /// Whether the lab has to carry the packets.
    #[must_use]
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
