//! What goes out in one system call: datagrams of equal length, side by side.

use std::net::SocketAddr;

/// Bytes of an [`Arena`]: what one UDP_SEGMENT send can carry.
pub const ARENA_BYTES: usize = 65_507;

/// Datagrams of one UDP_SEGMENT send at the most (UDP_MAX_SEGMENTS is 128 since Linux 6.9, 64 before).
pub const MAX_SEGMENTS: usize = 64;

/// A buffer that a [`PeerConnection`](crate::PeerConnection) fills with datagrams of equal length; only the last may
/// be shorter. Made once, used for every send of a reactor.
#[derive(Debug)]
pub struct Arena {
    bytes: Box<[u8]>,
}

impl Default for Arena {
    fn default() -> Self {
        Self { bytes: vec![0; ARENA_BYTES].into_boxed_slice() }
    }
}

impl Arena {
    /// The bytes of a [`Transmit`] that was filled into this arena.
    pub fn filled(&self, transmit: &Transmit) -> &[u8] {
        &self.bytes[..transmit.length]
    }

    /// The whole buffer, to fill.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Where the datagrams in an [`Arena`] go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The local address to send from.
    pub local: SocketAddr,
    /// The destination.
    pub remote: SocketAddr,
    /// Bytes filled.
    pub length: usize,
    /// Length of each datagram but the last.
    pub segment_bytes: usize,
}
