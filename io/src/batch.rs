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
/// Few are better than many: the bytes of four still lie in the cache of a core when they are looked at. But where the kernel does not put
/// datagrams together, four buffers are four datagrams: [`gathering`](Self::gathering).
#[derive(Debug)]
pub struct ReceiveBatch {
    bytes: Box<[u8]>,
    metas: Box<[RecvMeta]>,
    /// What each buffer was sent to.
    locals: Box<[SocketAddr]>,
    /// Whether single datagrams are put together.
    gathers: bool,
    /// Of the buffers, how many full ones a call may fill.
    full: usize,
    /// How many the last call was given.
    offered: usize,
    filled: usize,
    /// How many of these with one datagram.
    singles: usize,
}

/// Datagrams of one sender, that came together.
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
        Self::with(buffers, buffers, false)
    }

    /// So many buffers, 1 to 32, and up to 32 while each gets one datagram, since the kernel puts none together. They are put together here,
    /// by a copy. Memory is taken when it is first written to.
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
        self.filled == self.offered
    }

    /// Whether all of it came one by one: the kernel put nothing together.
    pub fn is_single(&self) -> bool {
        self.singles == self.filled
    }

    /// What the last receive call took, in its order.
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

    /// Offers twice as many buffers as the last call filled, if all of those have one datagram each.
    fn offer(&mut self) {
        let is_single = self.gathers && self.is_single();
        self.offered =
            if is_single { (2 * self.filled).clamp(self.full, self.metas.len()) } else { self.full };
    }

    /// Puts single datagrams behind those of the same sender, as the kernel does: all of one length, but the last may be shorter. What was
    /// moved leaves a stride of 0.
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

    /// Has `receive` fill the buffers, then works out addresses for a socket bound to `bound`.
    pub(crate) fn fill(
        &mut self,
        bound: SocketAddr,
        receive: impl FnOnce(&mut [IoSliceMut<'_>], &mut [RecvMeta]) -> std::io::Result<usize>,
    ) -> std::io::Result<usize> {
        self.offer();
        self.filled = 0;
        let mut buffers = self.bytes.chunks_exact_mut(BUFFER_BYTES);
        // Slices on the stack: the number of buffers is known to be at most MAX_BUFFERS.
        let mut slices: [IoSliceMut<'_>; MAX_BUFFERS] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let filled = receive(&mut slices[..self.offered], &mut self.metas[..self.offered])?;
        for (meta, local) in self.metas.iter_mut().zip(self.locals.iter_mut()).take(filled) {
            meta.addr = plain(meta.addr);
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

    /// One call, which finds datagrams of these lengths from these ports: at most as many as it has buffers for.
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
    fn more_buffers_are_offered_while_datagrams_come_one_by_one() {
        let mut batch = ReceiveBatch::gathering(4);
        // There is always more, of somebody else each.
        let found: Vec<_> = (1..=100).map(|port| (port, 1200)).collect();
        for buffers in [4, 8, 16, 32, 32] {
            assert_eq!((call(&mut batch, &found), batch.is_full()), (buffers, true));
        }
        call(&mut batch, &found[..1]);
        assert!(!batch.is_full());
        assert_eq!(call(&mut batch, &found), 4, "few datagrams need few buffers");
        let mut batch = batch_of_two(4);
        assert_eq!([call(&mut batch, &found), call(&mut batch, &found)], [4, 8], "some came together");
        let alone = &mut ReceiveBatch::new(4);
        assert_eq!([call(alone, &found), call(alone, &found)], [4, 4]);
    }

    /// One buffer with ten bytes, and one with five of which the first datagram has so many.
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
    fn datagrams_that_came_one_by_one_are_put_together() {
        let lengths = |found: &[(u16, usize)]| {
            let mut batch = ReceiveBatch::gathering(32);
            // A batch of before leaves nothing behind.
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
        assert_eq!(alone.iter().count(), 2, "who did not ask for it gets them as they came");
    }

    #[test]
    fn a_batch_has_at_least_one_buffer_and_at_most_what_a_call_takes() {
        for (asked, got) in [(0, 1), (1, 1), (4, 4), (1000, MAX_BUFFERS)] {
            assert_eq!(ReceiveBatch::new(asked).metas.len(), got);
        }
    }
}
