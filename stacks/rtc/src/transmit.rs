//! Output for one system call: consecutive datagrams of equal length.

use std::net::SocketAddr;

/// Length of an [`Arena`]: what one UDP_SEGMENT send can carry.
pub const ARENA_BYTES: usize = 65_507;

/// Most datagrams per UDP_SEGMENT send (UDP_MAX_SEGMENTS is 128 since Linux 6.9, 64 before).
pub const MAX_SEGMENTS: usize = 64;

/// A buffer that a [`PeerConnection`](crate::PeerConnection) fills with datagrams of equal length; only the
/// last may be shorter. Create it once and reuse it for every send.
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
    /// The bytes of a [`Transmit`] in this arena.
    pub fn filled(&self, transmit: &Transmit) -> &[u8] {
        &self.bytes[..transmit.length]
    }

    /// The whole buffer for writing.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// The destination of the datagrams in an [`Arena`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmit {
    /// The local address to send from.
    pub local: SocketAddr,
    /// The destination.
    pub remote: SocketAddr,
    /// Total length in bytes.
    pub length: usize,
    /// Length of each datagram except the last.
    pub segment_bytes: usize,
}
