//! What the servers of an engine are asked, and what they have answered.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use slab::Slab;
use turn_client_proto::stun::Instant as StunTime;

use super::super::timers::Timers;
use super::binding::Binding;
use super::relay::Relay;
use crate::servers::{Resolved, Resolving};

/// So often it is looked which addresses this machine has.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// And no more often than so, where datagrams cannot be sent.
pub(super) const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// What is asked, and what is known.
pub(crate) struct Gathering {
    /// Names that are still being resolved.
    pub(super) resolving: Option<Resolving>,
    pub(super) resolved: Resolved,
    /// What the servers are asked by the port with this number, from each of its addresses.
    pub(super) bindings: HashMap<u32, Vec<Binding>>,
    /// When the port with this number has something to do.
    pub(super) timers: Timers,
    /// Addresses at TURN servers.
    pub(super) relays: Slab<Relay>,
    /// When the relay with this number has something to do.
    pub(super) relay_timers: Timers,
    /// When to look which addresses this machine has, if they are all offered.
    pub(super) looks_at: Option<Instant>,
    /// When that was last done.
    pub(super) looked_at: Instant,
    /// The library counts time from here.
    pub(super) epoch: Instant,
}

impl fmt::Debug for Gathering {
    /// Without the servers' passwords, and so without all that may have them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gathering").field("relays", &self.relays.len()).finish_non_exhaustive()
    }
}

impl Gathering {
    /// `looks`: whether all addresses of this machine are offered.
    pub(in super::super) fn new(resolving: Option<Resolving>, looks: bool, epoch: Instant) -> Self {
        Self {
            resolving,
            resolved: Resolved::default(),
            bindings: HashMap::new(),
            timers: Timers::default(),
            relays: Slab::new(),
            relay_timers: Timers::default(),
            looks_at: looks.then(|| epoch + LOOK_INTERVAL),
            looked_at: epoch,
            epoch,
        }
    }

    /// When there is something to do next.
    pub(in super::super) fn next(&self) -> Option<Instant> {
        let others = [self.relay_timers.next(), self.looks_at];
        self.timers.next().into_iter().chain(others.into_iter().flatten()).min()
    }

    /// Whether there are servers to ask.
    pub(super) fn is_of_use(&self) -> bool {
        let Resolved { servers, unknown } = &self.resolved;
        self.resolving.is_some() || !servers.is_empty() || !unknown.is_empty()
    }

    /// Servers that have told this port nothing, and why. Of TURN servers their relays tell.
    pub(super) fn failures(&self, port: u32) -> impl Iterator<Item = (&str, String)> {
        let Resolved { servers, unknown } = &self.resolved;
        let asked = self.bindings.get(&port).map_or(&[][..], Vec::as_slice);
        let silent = servers.iter().filter(|server| server.relays_for.is_none()).filter_map(move |server| {
            // From each of our addresses: one may be of no use for it.
            let answers = asked.iter().filter(|binding| binding.server() == server.address);
            let why = answers.map(Binding::failure).collect::<Option<Vec<_>>>()?.pop()?;
            Some((server.url.as_str(), format!("{}: {why}", server.address)))
        });
        unknown.iter().map(|(url, why)| (url.as_str(), why.clone())).chain(silent)
    }

    pub(super) fn time(&self, now: Instant) -> StunTime {
        StunTime::from_nanos(i64::try_from((now - self.epoch).as_nanos()).unwrap_or(i64::MAX))
    }

    pub(super) fn moment(&self, time: StunTime) -> Instant {
        self.epoch + Duration::from_nanos(u64::try_from(time.as_nanos()).unwrap_or(0))
    }

    /// How the world sees this port, as (address, base).
    pub(super) fn mapped(&self, port: u32) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        self.bindings.get(&port).into_iter().flatten().filter_map(|one| Some((one.mapped()?, one.base())))
    }

    /// Whether all that were asked by this port have answered, or will not.
    pub(super) fn is_settled(&self, port: u32) -> bool {
        self.resolving.is_none()
            && self.bindings.get(&port).is_none_or(|all| all.iter().all(Binding::is_settled))
    }
}
