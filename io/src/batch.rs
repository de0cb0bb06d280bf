//! Buffers for what one receive call takes.

use std::io::IoSliceMut;
use std::net::SocketAddr;

use quinn_udp::RecvMeta;

/// Room of one buffer: the kernel coalesces at most this much (65,535 bytes with headers).
pub const BUFFER_BYTES: usize = 1 << 16;

/// Buffers that a receive call can fill at most: what `recvmmsg` is given by quinn-udp.
const MAX_BUFFERS: usize = quinn_udp::BATCH_SIZE;

/// Buffers of 64 KiB that are filled again and again.
///
/// Few are better than many: the bytes of four still lie in the cache of a core when they are looked at.
#[derive(Debug)]
pub struct ReceiveBatch {
    bytes: Box<[u8]>,
    metas: Box<[RecvMeta]>,
    /// What each buffer was sent to.
    locals: Box<[SocketAddr]>,
    filled: usize,
}

/// Datagrams of one sender, that the kernel took together.
#[derive(Debug)]
pub struct Received<'a> {
    /// The address of ours that they were sent to.
    pub local: SocketAddr,
    /// The sender.
    pub remote: SocketAddr,
    /// The datagrams, side by side.
    pub datagrams: &'a mut [u8],
    /// Length of each but the last, which may be shorter. At least 1.
    pub segment_bytes: usize,
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new(4)
    }
}

impl ReceiveBatch {
    /// So many buffers: 1 to 32, others count as the nearest of these.
    pub fn new(buffers: usize) -> Self {
        let buffers = buffers.clamp(1, MAX_BUFFERS);
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        Self {
            bytes: vec![0; buffers * BUFFER_BYTES].into_boxed_slice(),
            metas: vec![RecvMeta::default(); buffers].into_boxed_slice(),
            locals: vec![unknown; buffers].into_boxed_slice(),
            filled: 0,
        }
    }

    /// Buffers that the last receive call filled.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the last receive call filled none.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Whether it filled all of them, so that more may be waiting.
    pub fn is_full(&self) -> bool {
        self.filled == self.metas.len()
    }

    /// What the last receive call took, in its order.
    pub fn iter(&mut self) -> impl Iterator<Item = Received<'_>> {
        let metas = self.metas.iter().zip(&self.locals).take(self.filled);
        self.bytes.chunks_exact_mut(BUFFER_BYTES).zip(metas).map(|(buffer, (meta, &local))| {
            let length = meta.len.min(BUFFER_BYTES);
            Received {
                local,
                remote: meta.addr,
                datagrams: &mut buffer[..length],
                segment_bytes: meta.stride.clamp(1, length.max(1)),
            }
        })
    }

    /// Has `receive` fill the buffers, then works out addresses for a socket bound to `bound`.
    pub(crate) fn fill(
        &mut self,
        bound: SocketAddr,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        self.filled = 0;
        let mut buffers = self.bytes.chunks_exact_mut(BUFFER_BYTES);
        // Slices on the stack: the number of buffers is known to be at most MAX_BUFFERS.
        let mut slices: [IoSliceMut<'_>; MAX_BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let filled = receive(&mut slices[..self.metas.len()], &mut self.metas)?;
        for (meta, local) in self.metas.iter_mut().zip(self.locals.iter_mut()).take(filled) {
            meta.addr = plain(meta.addr);
            *local = match meta.dst_ip {
                Some(ip) if bound.ip().is_unspecified() => SocketAddr::new(ip.to_canonical(), bound.port()),
                _ => bound,
            };
        }
        self.filled = filled;
        Ok(filled)
    }
}

/// An IPv4 address that came in through an IPv6 socket is an IPv4 address; flow labels name no endpoint.
pub(crate) fn plain(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(mut v6) => match v6.ip().to_ipv4_mapped() {
            Some(v4) => SocketAddr::new(v4.into(), v6.port()),
            None => {
                v6.set_flowinfo(0);
                SocketAddr::V6(v6)
            }
        },
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_addresses_become_plain_ones() {
        for (came, is) in [
            ("[::ffff:192.0.2.1]:5000", "192.0.2.1:5000"),
            ("192.0.2.1:5000", "192.0.2.1:5000"),
            ("[2001:db8::1]:5000", "[2001:db8::1]:5000"),
        ] {
            assert_eq!(plain(came.parse().unwrap()), is.parse().unwrap());
        }
    }

    #[test]
    fn a_batch_has_at_least_one_buffer_and_at_most_what_a_call_takes() {
        for (asked, got) in [(0, 1), (1, 1), (4, 4), (1000, MAX_BUFFERS)] {
            assert_eq!(ReceiveBatch::new(asked).metas.len(), got);
        }
    }
}
