//! What every protocol core offers: the same four kinds of method, here only those that a network needs.

use std::net::SocketAddr;
use std::time::Instant;

/// A protocol core without I/O, as the network sees it.
pub trait Core {
    /// Takes one datagram. It may be changed: some cores decrypt in place.
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut [u8]);

    /// Time has passed.
    fn handle_timeout(&mut self, now: Instant);

    /// When to call [`handle_timeout`](Self::handle_timeout) at the latest.
    fn next_deadline(&self) -> Option<Instant>;

    /// Puts the next datagrams into `out`; false if there is nothing to send now.
    fn poll_transmit(&mut self, now: Instant, out: &mut Outgoing) -> bool;
}

/// What a core wants to have sent: datagrams of equal length side by side, for one destination.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outgoing {
    /// The destination; none if the core knows of one peer only, wherever it is.
    pub to: Option<SocketAddr>,
    /// The datagrams.
    pub bytes: Vec<u8>,
    /// Length of each datagram but the last, which may be shorter.
    pub segment_bytes: usize,
}

impl Outgoing {
    /// The datagrams, one by one.
    pub fn datagrams(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks(self.segment_bytes.max(1))
    }
}
