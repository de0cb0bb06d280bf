//! The methods that every protocol core has and that a network needs.

use std::net::SocketAddr;
use std::time::Instant;

/// A protocol core without I/O, as the network sees it.
pub trait Core {
    /// Handles one datagram. It may be modified: some cores decrypt in place.
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut [u8]);

    /// Handles expired timers.
    fn handle_timeout(&mut self, now: Instant);

    /// When [`handle_timeout`](Self::handle_timeout) must be called.
    fn next_deadline(&self) -> Option<Instant>;

    /// Writes the next datagrams into `out`; false if there is nothing to send.
    fn poll_transmit(&mut self, now: Instant, out: &mut Outgoing) -> bool;
}

/// Outgoing data: consecutive datagrams of equal length for one destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// The destination; `None` if the core has a single peer whose address it does not know.
    pub to: Option<SocketAddr>,
    /// The datagrams.
    pub bytes: Vec<u8>,
    /// Length of each datagram except the last, which may be shorter.
    pub segment_bytes: usize,
}

impl Outgoing {
    /// The datagrams, one by one.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.segment_bytes.max(1))
    }
}
