//! The network between two endpoints.

mod link;
#[cfg(test)]
mod tests;
mod trace;

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use crate::profile::Profile;
use crate::random::{Purpose, generator};

use link::Link;
pub use link::LinkStats;
use trace::Trace;

/// One of the two endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Behind the NAT, if there is one.
    A,
    /// The other side.
    B,
}

impl Side {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other one.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    /// 0 or 1.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The endpoint's own address.
    pub fn address(self) -> SocketAddr {
        SocketAddr::V4(match self {
            Self::A => SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 5001),
            Self::B => SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 2), 5002),
        })
    }
}

/// A datagram that has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The receiving side.
    pub to: Side,
    /// The source address, as the receiver sees it.
    pub source: SocketAddr,
    /// The payload.
    pub bytes: Vec<u8>,
}

/// The network. All randomness comes from one seed: the same calls give the same deliveries.
///
/// Commands: [`send`](Self::send), [`set_profile`](Self::set_profile). Output:
/// [`poll_delivery`](Self::poll_delivery), [`next_delivery`](Self::next_delivery). Time must not go
/// backwards.
#[derive(Debug)]
pub struct Network {
    start: Instant,
    /// From A to B, and from B to A.
    links: [Link; 2],
    /// Datagrams in flight, the next to arrive on top.
    in_flight: BinaryHeap<InFlight>,
    /// Number of datagrams sent so far; breaks ties of arrival times.
    sequence: u64,
    trace: Trace,
    /// Buffers for reuse.
    spare: Vec<Vec<u8>>,
}

impl Network {
    /// A network with the same profile in both directions.
    pub fn new(seed: u64, start: Instant, profile: Profile) -> Self {
        Self::asymmetric(seed, start, profile.clone(), profile)
    }

    /// A network with different profiles from A to B and from B to A. The NAT is that of the first one.
    pub fn asymmetric(seed: u64, start: Instant, forward: Profile, backward: Profile) -> Self {
        let links = [
            Link::new(forward, true, generator(seed, Purpose::Forward), start),
            Link::new(backward, false, generator(seed, Purpose::Backward), start),
        ];
        let (in_flight, trace, spare) = (BinaryHeap::new(), Trace::default(), Vec::new());
        Self { start, links, in_flight, sequence: 0, trace, spare }
    }

    /// Changes the profile for later datagrams of `from`. Those in flight arrive as planned.
    pub fn set_profile(&mut self, from: Side, profile: Profile) {
        self.links[from.index()].set_profile(profile);
    }

    /// Ends all disturbances: see [`Profile::healed`].
    pub fn heal(&mut self) {
        for side in Side::BOTH {
            let healed = self.profile(side).healed();
            self.set_profile(side, healed);
        }
    }

    /// The profile for datagrams of `from`.
    pub fn profile(&self, from: Side) -> &Profile {
        self.links[from.index()].profile()
    }

    /// Counters of the datagrams of `from`.
    pub fn stats(&self, from: Side) -> LinkStats {
        self.links[from.index()].stats()
    }

    /// The address at which the other side currently sees an endpoint. Behind a NAT it differs from the
    /// endpoint's own.
    pub fn public_address(&self, side: Side, now: Instant) -> SocketAddr {
        let rebinds = match (side, &self.profile(Side::A).rebinds) {
            (Side::A, Some(rebinds)) => rebinds,
            _ => return side.address(),
        };
        let elapsed = now.saturating_duration_since(self.start);
        let passed = rebinds.iter().filter(|rebind| **rebind <= elapsed).count();
        SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(198, 51, 100, 1), 40_000 + passed as u16))
    }

    /// Sends a datagram of `from` to an address. It is lost if the address is not (or no longer) in use.
    pub fn send(&mut self, now: Instant, from: Side, to: SocketAddr, bytes: &[u8]) {
        let source = self.public_address(from, now);
        let elapsed = now.saturating_duration_since(self.start);
        for arrival in self.links[from.index()].send(now, elapsed, bytes.len()) {
            let mut copy = self.spare.pop().unwrap_or_default();
            copy.clear();
            copy.extend_from_slice(bytes);
            if arrival.corrupt {
                self.links[from.index()].flip_bits(&mut copy);
            }
            self.sequence += 1;
            let delivery = Delivery { to: from.other(), source, bytes: copy };
            self.in_flight.push(InFlight { at: arrival.at, sequence: self.sequence, to, delivery });
        }
    }

    /// When the next datagram arrives.
    pub fn next_delivery(&self) -> Option<Instant> {
        self.in_flight.peek().map(|next| next.at)
    }

    /// The next datagram that has arrived by `now`. Return its buffer with [`recycle`](Self::recycle).
    pub fn poll_delivery(&mut self, now: Instant) -> Option<Delivery> {
        while self.next_delivery().is_some_and(|at| at <= now) {
            let InFlight { at, to, delivery, .. } = self.in_flight.pop()?;
            let elapsed = at.saturating_duration_since(self.start);
            if self.public_address(delivery.to, at) == to {
                self.trace.add(elapsed, delivery.to, &delivery.bytes);
                self.links[delivery.to.other().index()].count_delivery();
                return Some(delivery);
            }
            self.links[delivery.to.other().index()].count_unknown_address();
            self.recycle(delivery.bytes);
        }
        None
    }

    /// Takes back the buffer of a delivery for reuse.
    pub fn recycle(&mut self, buffer: Vec<u8>) {
        const MOST: usize = 256;
        if self.spare.len() < MOST {
            self.spare.push(buffer);
        }
    }

    /// A hash over all deliveries so far: time, direction and bytes, in order. Equal hashes mean, except with
    /// a probability of 2^-64, identical runs.
    pub fn trace(&self) -> u64 {
        self.trace.value()
    }

    /// Time since the start.
    pub fn elapsed(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.start)
    }
}

/// A datagram in flight. Ordered so that the next to arrive is the greatest.
#[derive(Debug)]
struct InFlight {
    at: Instant,
    sequence: u64,
    /// Its destination.
    to: SocketAddr,
    delivery: Delivery,
}

impl Ord for InFlight {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.sequence).cmp(&(self.at, self.sequence))
    }
}

impl PartialOrd for InFlight {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for InFlight {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for InFlight {}
