//! Buffers for the datagrams of one receive call.

use std::io::IoSliceMut;
use std::net::SocketAddr;

use quinn_udp::RecvMeta;

/// Size of one buffer. The kernel coalesces at most this much (65,535 bytes with headers).
pub const BUFFER_BYTES: usize = 1 << 16;

/// Most buffers that one receive call can fill: the batch size of quinn-udp for `recvmmsg`.
const MAX_BUFFERS: usize = quinn_udp::BATCH_SIZE;

/// A reusable set of 64 KiB receive buffers.
///
/// Few buffers are better than many: four of them stay in a core's cache until they are read. But if the
/// kernel does not coalesce datagrams, four buffers hold only four datagrams; see
/// [`gathering`](Self::gathering).
#[derive(Debug)]
pub struct ReceiveBatch {
    bytes: Box<[u8]>,
    metas: Box<[RecvMeta]>,
    /// The local address that each buffer's datagrams were sent to.
    locals: Box<[SocketAddr]>,
    /// Whether uncoalesced datagrams are merged after the receive call.
    gathers: bool,
    /// How many buffers may be filled if the kernel coalesces.
    full: usize,
    /// Buffers offered to the last call.
    offered: usize,
    filled: usize,
    /// Filled buffers that hold one datagram.
    singles: usize,
}

/// Coalesced datagrams of one sender.
#[derive(Debug)]
pub struct Received<'a> {
    /// The local address that they were sent to.
    pub local: SocketAddr,
    /// The sender.
    pub remote: SocketAddr,
    /// The datagrams, one after the other.
    pub datagrams: &'a mut [u8],
    /// Length of every datagram except the last, which may be shorter. At least 1.
    pub segment_bytes: usize,
}

impl Default for ReceiveBatch {
    fn default() -> Self {
        Self::new(4)
    }
}

impl ReceiveBatch {
    /// Creates a batch of `buffers` buffers, clamped to 1 to 32.
    pub fn new(buffers: usize) -> Self {
        let buffers = buffers.clamp(1, MAX_BUFFERS);
        Self::with(buffers, buffers, false)
    }

    /// Creates a batch of `buffers` buffers (1 to 32) that grows to 32 while the kernel coalesces nothing.
    /// Single datagrams of one sender are then merged by copying. Memory is committed when it is first
    /// written to.
    pub fn gathering(buffers: usize) -> Self {
        Self::with(buffers.clamp(1, MAX_BUFFERS), MAX_BUFFERS, true)
    }

    fn with(full: usize, buffers: usize, gathers: bool) -> Self {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        Self {
            bytes: vec![0; buffers * BUFFER_BYTES].into_boxed_slice(),
            metas: vec![RecvMeta::default(); buffers].into_boxed_slice(),
            locals: vec![unknown; buffers].into_boxed_slice(),
            gathers,
            full,
            offered: full,
            filled: 0,
            singles: 0,
        }
    }

    /// Number of buffers that the last receive call filled.
    pub fn len(&self) -> usize {
        self.filled
    }

    /// Whether the last receive call filled none.
    pub fn is_empty(&self) -> bool {
        self.filled == 0
    }

    /// Whether the last call filled every buffer, so that more datagrams may be waiting.
    pub fn is_full(&self) -> bool {
        self.filled == self.offered
    }

    /// Whether every filled buffer holds a single datagram: the kernel coalesced nothing.
    pub fn is_single(&self) -> bool {
        self.singles == self.filled
    }

    /// The buffers that the last receive call filled, in order of arrival.
    pub fn iter(&mut self) -> impl Iterator<Item = Received<'_>> {
        let metas = self.metas.iter().zip(&self.locals).take(self.filled);
        let buffers = self.bytes.chunks_exact_mut(BUFFER_BYTES).zip(metas);
        buffers.filter(|(_, (meta, _))| meta.stride > 0).map(|(buffer, (meta, &local))| {
            let length = meta.len.min(BUFFER_BYTES);
            Received {
                local,
                remote: meta.addr,
                datagrams: &mut buffer[..length],
                segment_bytes: meta.stride.min(length.max(1)),
            }
        })
    }

    /// Offers twice as many buffers as the last call filled if each of those holds one datagram.
    fn offer(&mut self) {
        let is_single = self.gathers && self.is_single();
        self.offered =
            if is_single { (2 * self.filled).clamp(self.full, self.metas.len()) } else { self.full };
    }

    /// Appends single datagrams to the previous one of the same sender, under the kernel's rule: all have one
    /// length, except that the last may be shorter. A buffer whose datagram was moved gets a stride of 0.
    fn gather(&mut self) {
        let mut first = 0;
        for next in 1..self.filled {
            let [into, from] = [self.metas[first], self.metas[next]];
            let is_same = into.addr == from.addr && self.locals[first] == self.locals[next];
            let is_whole = into.len > 0 && into.len.is_multiple_of(into.stride);
            let fits = from.len <= into.stride.min(BUFFER_BYTES - into.len);
            if is_same && is_whole && fits && from.len > 0 && from.len <= from.stride {
                let at = next * BUFFER_BYTES;
                self.bytes.copy_within(at..at + from.len, first * BUFFER_BYTES + into.len);
                self.metas[first].len += from.len;
                self.metas[next].stride = 0;
            } else {
                first = next;
            }
        }
    }

    /// Calls `receive` to fill the buffers, then resolves the local addresses for a socket bound to `bound`.
    pub(crate) fn fill(
        &mut self,
        bound: SocketAddr,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        self.offer();
        self.filled = 0;
        let mut buffers = self.bytes.chunks_exact_mut(BUFFER_BYTES);
        // On the stack: there are at most MAX_BUFFERS.
        let mut slices: [IoSliceMut<'_>; MAX_BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let filled = receive(&mut slices[..self.offered], &mut self.metas[..self.offered])?;
        for (meta, local) in self.metas.iter_mut().zip(self.locals.iter_mut()).take(filled) {
            meta.addr = normalise(meta.addr);
            meta.stride = meta.stride.max(1);
            *local = match meta.dst_ip {
                Some(ip) if bound.ip().is_unspecified() => SocketAddr::new(ip.to_canonical(), bound.port()),
                _ => bound,
            };
        }
        self.filled = filled;
        self.singles = self.metas[..filled].iter().filter(|meta| meta.len <= meta.stride).count();
        if self.gathers {
            self.gather();
        }
        Ok(filled)
    }
}

/// Turns IPv4-mapped IPv6 addresses into IPv4 addresses, and clears flow labels, which do not identify an
/// endpoint.
pub(crate) fn normalise(address: SocketAddr) -> SocketAddr {
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
    fn mapped_addresses_are_normalised() {
        for (came, is) in [
            ("[::ffff:192.0.2.1]:5000", "192.0.2.1:5000"),
            ("192.0.2.1:5000", "192.0.2.1:5000"),
            ("[2001:db8::1]:5000", "[2001:db8::1]:5000"),
        ] {
            assert_eq!(normalise(came.parse().unwrap()), is.parse().unwrap());
        }
    }

    /// Simulates one receive call that finds datagrams with these source ports and lengths, as far as there
    /// are buffers.
    fn call(batch: &mut ReceiveBatch, found: &[(u16, usize)]) -> usize {
        let bound = "192.0.2.1:1".parse().unwrap();
        let receive = |slices: &mut [IoSliceMut<'_>], metas: &mut [RecvMeta]| {
            let places = slices.iter_mut().zip(metas).zip(found);
            Ok(places
                .map(|((slice, meta), &(port, length))| {
                    slice[..length].fill(port as u8);
                    (meta.addr, meta.len, meta.stride) = (([192, 0, 2, 9], port).into(), length, length);
                })
                .count())
        };
        batch.fill(bound, receive).unwrap()
    }

    #[test]
    fn more_buffers_are_offered_without_coalescing() {
        let mut batch = ReceiveBatch::gathering(4);
        // More datagrams are always waiting, each from a different sender.
        let found: Vec<_> = (1..=100).map(|port| (port, 1200)).collect();
        for buffers in [4, 8, 16, 32, 32] {
            assert_eq!((call(&mut batch, &found), batch.is_full()), (buffers, true));
        }
        call(&mut batch, &found[..1]);
        assert!(!batch.is_full());
        assert_eq!(call(&mut batch, &found), 4, "few datagrams need few buffers");
        let mut batch = batch_of_two(4);
        assert_eq!([call(&mut batch, &found), call(&mut batch, &found)], [4, 8], "some were coalesced");
        let alone = &mut ReceiveBatch::new(4);
        assert_eq!([call(alone, &found), call(alone, &found)], [4, 4]);
    }

    /// One buffer of ten bytes, and one of five bytes whose datagrams are `stride` bytes long.
    fn batch_of_two(stride: usize) -> ReceiveBatch {
        let mut batch = ReceiveBatch::gathering(4);
        let filled = batch.fill("192.0.2.1:1".parse().unwrap(), |_, metas| {
            (metas[0].len, metas[0].stride, metas[1].len, metas[1].stride) = (10, 10, 5, stride);
            Ok(2)
        });
        assert_eq!(filled.unwrap(), 2);
        batch
    }

    #[test]
    fn single_datagrams_are_merged() {
        let lengths = |found: &[(u16, usize)]| {
            let mut batch = ReceiveBatch::gathering(32);
            // An earlier batch leaves nothing behind.
            call(&mut batch, &[(1, 9); 32]);
            assert_eq!(call(&mut batch, found), found.len());
            let runs = batch.iter().map(|run| {
                assert!(run.datagrams.iter().all(|&byte| u16::from(byte) == run.remote.port()));
                (run.remote.port(), run.datagrams.len(), run.segment_bytes)
            });
            runs.collect::<Vec<_>>()
        };
        assert!(batch_of_two(5).is_single() && !batch_of_two(4).is_single());
        assert_eq!(lengths(&[(1, 5), (1, 5), (1, 3), (1, 5)]), [(1, 13, 5), (1, 5, 5)]);
        assert_eq!(lengths(&[(1, 5), (2, 5), (2, 5), (1, 5)]), [(1, 5, 5), (2, 10, 5), (1, 5, 5)]);
        assert_eq!(lengths(&[(1, 5), (1, 6), (1, 6)]), [(1, 5, 5), (1, 12, 6)]);
        assert_eq!(lengths(&[(1, 0), (1, 5), (1, 0), (1, 5)]), [(1, 0, 1), (1, 5, 5), (1, 0, 1), (1, 5, 5)]);
        assert_eq!(lengths(&[(1, 30_000); 3]), [(1, 60_000, 30_000), (1, 30_000, 30_000)]);
        let alone = &mut ReceiveBatch::new(4);
        call(alone, &[(1, 5), (1, 5)]);
        assert_eq!(alone.iter().count(), 2, "not merged unless requested");
    }

    #[test]
    fn the_number_of_buffers_is_clamped() {
        for (asked, got) in [(0, 1), (1, 1), (4, 4), (1000, MAX_BUFFERS)] {
            assert_eq!(ReceiveBatch::new(asked).metas.len(), got);
        }
    }
}
