//! SCTP associations on the network: [`run`] executes one seed and fails if an association violates a
//! guarantee.

mod app;
mod describe;
pub mod goodput;
mod model;
mod plan;
mod restart;
mod scenario;

use std::net::SocketAddr;
use std::time::Instant;

use netdyno_sctp::Association;

use crate::core::{Core, Outgoing};

pub use plan::{Action, End, Plan, Planned};
pub use restart::run_restart;
pub use scenario::{Outcome, run, run_plan};

/// An association as a core. On a real path it runs over DTLS.
#[derive(Debug)]
pub struct SctpCore {
    /// The association.
    pub association: Association,
    /// The packet length that it is offered.
    pub max_packet_bytes: usize,
}

impl Core for SctpCore {
    fn handle_datagram(&mut self, now: Instant, _from: SocketAddr, datagram: &mut [u8]) {
        self.association.handle_packet(now, datagram);
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.association.handle_timeout(now);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.association.next_deadline()
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Outgoing) -> bool {
        out.to = None;
        out.bytes.resize(self.max_packet_bytes, 0);
        let Some(length) = self.association.poll_transmit(now, &mut out.bytes) else { return false };
        out.bytes.truncate(length);
        out.segment_bytes = length;
        true
    }
}
