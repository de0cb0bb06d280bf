//! The stage of a run: two endpoints, the network between them, and the time.

use std::time::{Duration, Instant};

use crate::contract::Endpoint;
use crate::core::Core;
use crate::failure::Failure;
use crate::network::{Delivery, Network, Side};

/// If this is set in the environment, each datagram that arrives is written to standard error.
pub const LOG: &str = "NETDYNO_SIM_LOG";
/// The maximum number of turns in a run.
const TURNS_MAX: u64 = 2_000_000;

/// Two endpoints, the network between them, and the time.
#[derive(Debug)]
pub struct Stage<C> {
    /// The network.
    pub network: Network,
    /// A and B.
    pub endpoints: [Endpoint<C>; 2],
    /// Turns begin only at multiples of this, as if the driver overslept; zero: at once.
    pub granularity: Duration,
    start: Instant,
    now: Instant,
    turns: u64,
    /// Formats a datagram.
    describe: Option<fn(&[u8]) -> String>,
}

impl<C: Core> Stage<C> {
    /// Two cores at the start of the run. `describe` formats a datagram for the log.
    pub fn new(start: Instant, network: Network, cores: [C; 2], describe: fn(&[u8]) -> String) -> Self {
        let [a, b] = cores;
        Self {
            network,
            endpoints: [Endpoint::new(Side::A, a), Endpoint::new(Side::B, b)],
            granularity: Duration::ZERO,
            start,
            now: start,
            turns: 0,
            describe: std::env::var_os(LOG).map(|_| describe),
        }
    }

    /// When it began.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.now.duration_since(self.start)
    }

    /// One of the cores.
    pub fn core(&self, side: Side) -> &C {
        &self.endpoints[side.index()].core
    }

    /// Mutable access to one of the cores, for commands.
    pub fn core_mut(&mut self, side: Side) -> &mut C {
        &mut self.endpoints[side.index()].core
    }

    /// A failure at this time.
    pub fn failure(&self, what: impl Into<String>) -> Failure {
        Failure::new(self.elapsed(), what)
    }

    /// Advances to the next event: a delivery, a deadline, or one of the `others`; at most to `limit`. Fails
    /// if the number of turns is exceeded.
    pub fn advance(
        &mut self,
        limit: Option<Instant>,
        others: impl Iterator<Item = Instant>,
    ) -> Result<(), Failure> {
        self.turns += 1;
        if self.turns > TURNS_MAX {
            return Err(self.failure(format!("no end after {TURNS_MAX} turns")));
        }
        let deadlines = self.endpoints.iter().filter_map(|endpoint| endpoint.core.next_deadline());
        let next = self.network.next_delivery().into_iter().chain(deadlines).chain(others).min();
        let Some(mut next) = next.or(limit) else {
            return Err(self.failure("nothing will ever happen again"));
        };
        if !self.granularity.is_zero() {
            let step = self.granularity.as_nanos();
            let steps = next.saturating_duration_since(self.start).as_nanos().div_ceil(step);
            next = self.start + Duration::from_nanos((steps * step) as u64);
        }
        self.now = limit.map_or(next, |limit| next.min(limit)).max(self.now);
        Ok(())
    }

    /// The next datagram that has arrived.
    pub fn poll_delivery(&mut self) -> Option<Delivery> {
        let delivery = self.network.poll_delivery(self.now)?;
        if let Some(describe) = self.describe {
            let source = delivery.source;
            self.log(&format!("to {:?} from {source}: {}", delivery.to, describe(&delivery.bytes)));
        }
        Some(delivery)
    }

    /// Passes a delivery to a core.
    pub fn deliver(&mut self, mut delivery: Delivery) {
        let core = &mut self.endpoints[delivery.to.index()].core;
        core.handle_datagram(self.now, delivery.source, &mut delivery.bytes);
        self.network.recycle(delivery.bytes);
    }

    /// Settles an endpoint after input: see [`Endpoint::settle`].
    pub fn settle(&mut self, side: Side) -> Result<(), Failure> {
        self.endpoints[side.index()].settle(self.now, &mut self.network)
    }

    /// See [`Endpoint::wake_early`].
    pub fn wake_early(&mut self, side: Side) -> Result<(), Failure> {
        self.endpoints[side.index()].wake_early(self.now, &self.network)
    }

    /// Writes a line to standard error, if [`LOG`] is set.
    pub fn log(&self, line: &str) {
        if self.describe.is_some() {
            eprintln!("{:>12.6} {line}", self.elapsed().as_secs_f64());
        }
    }
}
