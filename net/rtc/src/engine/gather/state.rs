//! The state of an engine's queries to STUN and TURN servers.

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

/// How often local addresses are looked up.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_secs(10);

/// The minimum interval after failed sends.
pub(super) const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// The servers, and the state of all queries.
pub(crate) struct Gathering {
    /// Names that are still being resolved.
    pub(super) resolving: Option<Resolving>,
    pub(super) resolved: Resolved,
    /// Queries from each port by index, from each of its addresses.
    pub(super) bindings: HashMap<u32, Vec<Binding>>,
    /// When a port has something to send.
    pub(super) timers: Timers,
    /// Allocations at TURN servers.
    pub(super) relays: Slab<Relay>,
    /// When a relay has something to do.
    pub(super) relay_timers: Timers,
    /// When to look up local addresses, if all of them are offered.
    pub(super) lookup_at: Option<Instant>,
    /// When that was last done.
    pub(super) last_lookup_at: Instant,
    /// The zero of the library's clock.
    pub(super) epoch: Instant,
}

impl fmt::Debug for Gathering {
    /// Omits the servers' passwords, and all fields that may contain them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gathering").field("relays", &self.relays.len()).finish_non_exhaustive()
    }
}

impl Gathering {
    /// `looks`: whether all local addresses are offered.
    pub(crate) fn new(resolving: Option<Resolving>, looks: bool, epoch: Instant) -> Self {
        Self {
            resolving,
            resolved: Resolved::default(),
            bindings: HashMap::new(),
            timers: Timers::default(),
            relays: Slab::new(),
            relay_timers: Timers::default(),
            lookup_at: looks.then(|| epoch + LOOK_INTERVAL),
            last_lookup_at: epoch,
            epoch,
        }
    }

    /// When there is something to do next.
    pub(crate) fn next(&self) -> Option<Instant> {
        let others = [self.relay_timers.next(), self.lookup_at];
        self.timers.next().into_iter().chain(others.into_iter().flatten()).min()
    }

    /// Whether there are servers to query.
    pub(super) fn is_of_use(&self) -> bool {
        let Resolved { servers, unknown } = &self.resolved;
        self.resolving.is_some() || !servers.is_empty() || !unknown.is_empty()
    }

    /// STUN servers that failed for this port, and the reasons. Relays report the failures of TURN servers.
    pub(super) fn failures(&self, port: u32) -> impl Iterator<Item = (&str, String)> {
        let Resolved { servers, unknown } = &self.resolved;
        let asked = self.bindings.get(&port).map_or(&[][..], Vec::as_slice);
        let silent = servers.iter().filter(|server| server.relays_for.is_none()).filter_map(move |server| {
            // A server fails only if it failed for every local address.
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

    /// Public addresses of this port, as (address, base).
    pub(super) fn mapped(&self, port: u32) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
        self.bindings.get(&port).into_iter().flatten().filter_map(|one| Some((one.mapped()?, one.base())))
    }

    /// Whether every server queried from this port has answered or will not.
    pub(super) fn is_settled(&self, port: u32) -> bool {
        self.resolving.is_none()
            && self.bindings.get(&port).is_none_or(|all| all.iter().all(Binding::is_settled))
    }
}
