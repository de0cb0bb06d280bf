//! Whole peer connections on the network: [`run`] executes one seed and fails if a peer connection violates a
//! guarantee.
//!
//! The keys of the handshake come from the cryptographic library, not from the seed: timing, message lengths
//! and the fate of the n-th datagram are repeatable, the bytes are not.

mod app;
mod describe;
mod model;
mod plan;
mod scenario;

use std::net::SocketAddr;
use std::time::Instant;

use netdyno_rtc_core::{Arena, PeerConnection};

use crate::core::{Core, Outgoing};
use crate::network::Side;

pub use plan::{Action, Plan, PlannedChannel};
pub use scenario::run;

/// The maximum number of datagrams in a batch.
const SEGMENTS_MAX: usize = 64;

/// A peer connection as a core.
#[derive(Debug)]
pub struct RtcCore {
    /// The peer connection.
    pub peer: PeerConnection,
    /// Its own address.
    pub local: SocketAddr,
    arena: Arena,
}

impl RtcCore {
    /// A peer connection on this side of the network.
    pub fn new(side: Side, peer: PeerConnection) -> Self {
        Self { peer, local: side.address(), arena: Arena::default() }
    }
}

impl Core for RtcCore {
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut [u8]) {
        let length = datagram.len();
        self.peer.handle_datagrams(now, self.local, from, datagram, length);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.peer.handle_timeout(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.peer.next_deadline()
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Outgoing) -> bool {
        let Some(transmit) = self.peer.poll_transmit(now, &mut self.arena, SEGMENTS_MAX) else {
            return false;
        };
        out.to = Some(transmit.remote);
        out.bytes.clear();
        out.bytes.extend_from_slice(self.arena.filled(&transmit));
        out.segment_bytes = transmit.segment_bytes;
        true
    }
}
