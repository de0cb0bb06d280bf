//! Receiving several datagrams per system call.

use std::io;
use std::net::SocketAddr;

use super::{DATAGRAMS, DatagramSocket, unless_nothing};

/// Space for one datagram, more than UDP carries. The extra cache line spreads the starts of the buffers,
/// which is all that small datagrams use, over different cache sets.
const SLOT_BYTES: usize = (1 << 16) + 64;

/// Single-datagram calls after a call that found no second datagram. The call after them asks for several
/// again.
const SINGLES: u8 = 15;

/// Polls before a wait. Together they take about as long as going to sleep and being woken, a cost that two
/// peers running at the same time would otherwise pay for every datagram.
const POLLS: usize = 8;

/// log2 of the most calls that wait without polling after polls that found nothing.
const SKIPS_LOG2_MAX: u32 = 7;

/// Reusable buffers for the datagrams of one receive call. Pages that never receive data use no memory.
#[derive(Debug)]
pub struct DatagramBatch {
    bytes: Box<[u8]>,
    taken: Vec<(usize, SocketAddr)>,
    singles: u8,
    /// Consecutive failed polls, and the number of calls that are to wait without polling.
    misses: u32,
    rests: u8,
}

impl Default for DatagramBatch {
    fn default() -> Self {
        let bytes = vec![0; DATAGRAMS * SLOT_BYTES].into_boxed_slice();
        Self { bytes, taken: Vec::with_capacity(DATAGRAMS), singles: 0, misses: 0, rests: 0 }
    }
}

impl DatagramBatch {
    /// The datagrams of the last receive call, each with its sender.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        let rooms = self.bytes.chunks_exact(SLOT_BYTES);
        rooms.zip(&self.taken).map(|(room, &(bytes, sender))| (&room[..bytes], sender))
    }

    /// Number of datagrams received.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether no datagram was received.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Whether more datagrams may be waiting.
    pub fn is_full(&self) -> bool {
        self.taken.len() == DATAGRAMS
    }
}

impl DatagramSocket {
    /// Like [`receive`](Self::receive), but takes all waiting datagrams, at most 16, and returns their
    /// number. While datagrams arrive one at a time, most calls ask for only one, which is cheaper. While
    /// they keep arriving, it polls a few times before sleeping.
    pub fn receive_batch(&self, batch: &mut DatagramBatch) -> io::Result<usize> {
        let is_single = batch.singles > 0;
        self.wait_for_some(batch, is_single)?;
        batch.singles = match batch.len() {
            2.. => 0,
            _ if is_single => batch.singles - 1,
            _ => SINGLES,
        };
        Ok(batch.len())
    }

    /// Polls a few times before sleeping, unless recent polls found nothing.
    fn wait_for_some(&self, batch: &mut DatagramBatch, is_single: bool) -> io::Result<()> {
        if batch.rests > 0 {
            batch.rests -= 1;
            return self.receive_some(batch, is_single, true);
        }
        for _ in 0..POLLS {
            self.receive_some(batch, is_single, false)?;
            if !batch.is_empty() {
                batch.misses = 0;
                return Ok(());
            }
            std::hint::spin_loop();
        }
        batch.misses = (batch.misses + 1).min(SKIPS_LOG2_MAX);
        batch.rests = 1 << batch.misses;
        self.receive_some(batch, is_single, true)
    }

    /// Receives one datagram, or all that are waiting.
    fn receive_some(&self, batch: &mut DatagramBatch, is_single: bool, waits: bool) -> io::Result<()> {
        if !is_single {
            return self.receive_all(batch, waits);
        }
        batch.taken.clear();
        let room = &mut batch.bytes[..SLOT_BYTES];
        batch.taken.extend(if waits { self.receive(room)? } else { self.receive_now(room)? });
        Ok(())
    }

    /// Receives all waiting datagrams, at most 16, without blocking; returns their number. One system call.
    pub fn receive_batch_now(&self, batch: &mut DatagramBatch) -> io::Result<usize> {
        self.receive_all(batch, false)?;
        Ok(batch.len())
    }

    #[cfg(target_os = "linux")]
    fn receive_all(&self, batch: &mut DatagramBatch, waits: bool) -> io::Result<()> {
        use mmsg::{V4, V6, receive};

        let result = match self.local {
            SocketAddr::V4(_) => {
                receive(&V4, &self.socket, batch, waits, |from| std::net::SocketAddrV4::from(from).into())
            }
            SocketAddr::V6(_) => {
                receive(&V6, &self.socket, batch, waits, |from| std::net::SocketAddrV6::from(from).into())
            }
        };
        unless_nothing(result.map_err(io::Error::from)).map(drop)
    }

    /// Receives one datagram on systems without a call for several.
    #[cfg(not(target_os = "linux"))]
    fn receive_all(&self, batch: &mut DatagramBatch, waits: bool) -> io::Result<()> {
        self.receive_some(batch, true, waits)
    }
}

/// recvmmsg(2).
#[cfg(target_os = "linux")]
mod mmsg {
    use std::cell::RefCell;
    use std::io::IoSliceMut;
    use std::net::{SocketAddr, UdpSocket};
    use std::os::fd::AsRawFd;
    use std::thread::LocalKey;

    use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, SockaddrIn6, SockaddrLike, recvmmsg};

    use super::{DATAGRAMS, DatagramBatch, SLOT_BYTES};

    // The headers hold pointers into themselves and so stay with a thread; a batch can move between
    // threads.
    thread_local! {
        pub(super) static V4: RefCell<MultiHeaders<SockaddrIn>> = RefCell::new(MultiHeaders::preallocate(DATAGRAMS, None));
        pub(super) static V6: RefCell<MultiHeaders<SockaddrIn6>> = RefCell::new(MultiHeaders::preallocate(DATAGRAMS, None));
    }

    /// Fills a batch. With `waits`, the call waits for the first datagram as the socket's options say.
    pub(super) fn receive<S: SockaddrLike + Copy>(
        headers: &'static LocalKey<RefCell<MultiHeaders<S>>>,
        socket: &UdpSocket,
        batch: &mut DatagramBatch,
        waits: bool,
        address: impl Fn(S) -> SocketAddr,
    ) -> nix::Result<()> {
        let flags = if waits { MsgFlags::MSG_WAITFORONE } else { MsgFlags::MSG_DONTWAIT };
        headers.with_borrow_mut(|headers| {
            batch.taken.clear();
            let mut rooms = batch.bytes.chunks_exact_mut(SLOT_BYTES);
            let mut slices: [_; DATAGRAMS] =
                std::array::from_fn(|_| [IoSliceMut::new(rooms.next().unwrap_or_default())]);
            let received = recvmmsg(socket.as_raw_fd(), headers, &mut slices, flags, None)?;
            let place = |message: nix::sys::socket::RecvMsg<'_, '_, S>| {
                Some((message.bytes, address(message.address?)))
            };
            batch.taken.extend(received.map_while(place));
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::DatagramOptions;

    #[test]
    fn failed_polls_become_rarer_until_one_succeeds() {
        let options = DatagramOptions { wait: Some(Duration::from_millis(1)), ..DatagramOptions::default() };
        let socket = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let mut batch = DatagramBatch::default();
        // Calls 1, 4, 9, 18 and 35 poll.
        for misses in [1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4] {
            assert_eq!(socket.receive_batch(&mut batch).unwrap(), 0);
            assert_eq!(batch.misses, misses);
        }
        for call in 0..17 {
            socket.send(socket.local_address(), b"now").unwrap();
            assert_eq!(socket.receive_batch(&mut batch).unwrap(), 1);
            assert_eq!(batch.misses, if call < 16 { 4 } else { 0 });
        }
    }
}
