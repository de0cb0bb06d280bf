//! Several datagrams a system call.

use std::io;
use std::net::SocketAddr;

use super::{DATAGRAMS, DatagramSocket, unless_nothing};

/// Room of one datagram: more than UDP carries. With a cache line more than a power of two the beginnings of all, which is what
/// small datagrams fill, lie in different sets of a cache.
const ROOM_BYTES: usize = (1 << 16) + 64;

/// Calls for one datagram after one that found no second: then a call looks again whether there are more.
const SINGLES: u8 = 15;

/// Looks before a wait: together they take about as long as to sleep and be woken, which of two ends that work at once the faster one would do
/// again and again.
const LOOKS: usize = 8;

/// The most calls that wait at once, as a power of two, after looks that found nothing.
const RESTS_MAX: u32 = 7;

/// Room for the datagrams of one receive, used again and again. Pages that nothing was received into take no memory.
#[derive(Debug)]
pub struct DatagramBatch {
    bytes: Box<[u8]>,
    taken: Vec<(usize, SocketAddr)>,
    singles: u8,
    /// Looks in vain, one after the other; and calls that are to wait without a look.
    misses: u32,
    rests: u8,
}

impl Default for DatagramBatch {
    fn default() -> Self {
        let bytes = vec![0; DATAGRAMS * ROOM_BYTES].into_boxed_slice();
        Self { bytes, taken: Vec::with_capacity(DATAGRAMS), singles: 0, misses: 0, rests: 0 }
    }
}

impl DatagramBatch {
    /// The datagrams of the last receive, each with its sender.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], SocketAddr)> {
        let rooms = self.bytes.chunks_exact(ROOM_BYTES);
        rooms.zip(&self.taken).map(|(room, &(bytes, sender))| (&room[..bytes], sender))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }

    /// Whether there may be more to receive.
    pub fn is_full(&self) -> bool {
        self.taken.len() == DATAGRAMS
    }
}

impl DatagramSocket {
    /// As [`receive`](Self::receive), with all that are there, 16 at the most; gives how many. Where they come one by one, nearly
    /// all calls ask for one alone, which is cheaper. Where they keep coming, it looks a few times before it sleeps.
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

    /// Looks a few times before it sleeps, unless that was in vain of late.
    fn wait_for_some(&self, batch: &mut DatagramBatch, is_single: bool) -> io::Result<()> {
        if batch.rests > 0 {
            batch.rests -= 1;
            return self.receive_some(batch, is_single, true);
        }
        for _ in 0..LOOKS {
            self.receive_some(batch, is_single, false)?;
            if !batch.is_empty() {
                batch.misses = 0;
                return Ok(());
            }
            std::hint::spin_loop();
        }
        batch.misses = (batch.misses + 1).min(RESTS_MAX);
        batch.rests = 1 << batch.misses;
        self.receive_some(batch, is_single, true)
    }

    /// One datagram, or all that are there.
    fn receive_some(&self, batch: &mut DatagramBatch, is_single: bool, waits: bool) -> io::Result<()> {
        if !is_single {
            return self.receive_all(batch, waits);
        }
        batch.taken.clear();
        let room = &mut batch.bytes[..ROOM_BYTES];
        batch.taken.extend(if waits { self.receive(room)? } else { self.receive_now(room)? });
        Ok(())
    }

    /// Takes all that are there, 16 at the most, and never waits; gives how many. One system call.
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

    /// One datagram where the system has no call for several.
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

    use super::{DATAGRAMS, DatagramBatch, ROOM_BYTES};

    // They point into themselves, and so belong to a thread; a batch belongs to nobody.
    thread_local! {
        pub(super) static V4: RefCell<MultiHeaders<SockaddrIn>> = RefCell::new(MultiHeaders::preallocate(DATAGRAMS, None));
        pub(super) static V6: RefCell<MultiHeaders<SockaddrIn6>> = RefCell::new(MultiHeaders::preallocate(DATAGRAMS, None));
    }

    /// Fills a batch. `waits`: for the first one, as the socket does.
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
            let mut rooms = batch.bytes.chunks_exact_mut(ROOM_BYTES);
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
    fn looks_in_vain_become_rarer_until_one_finds_something() {
        let options = DatagramOptions { wait: Some(Duration::from_millis(1)), ..DatagramOptions::default() };
        let socket = DatagramSocket::bind("127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let mut batch = DatagramBatch::default();
        // Calls 1, 4, 9, 18 and 35 look.
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
