//! The UDP socket of a connection, with segmented sends and coalesced receives.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};

use crate::wire::MAX_DATAGRAM_BYTES;

/// The requested buffer size; the kernel grants at most `net.core.rmem_max` and `wmem_max`.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Space in the receive buffer for each byte in flight. The kernel charges up to 2.3 bytes per byte if a batch is split, and
/// the buffer must never overflow, because lost datagrams are not retransmitted.
const CHARGE_PER_BYTE: usize = 3;
/// Maximum payload of UDP over IPv4, and thus of a batch.
const MAX_BATCH_BYTES: usize = 65_507;
/// Maximum number of batches per receive call.
const INBOX_BATCHES: usize = 4;
/// Length of the buffer for one coalesced batch.
const INBOX_BATCH_BYTES: usize = 1 << 16;

/// An unconnected socket, so that a peer that has ended causes no errors.
pub struct Link {
    socket: UdpSocket,
    udp: UdpSocketState,
}

impl Link {
    /// Binds a free port on `local`. Readiness is reported with `token`.
    pub fn bind(local: IpAddr, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut socket = UdpSocket::bind(SocketAddr::new(local, 0))?;
        let udp = UdpSocketState::new(UdpSockRef::from(&socket))?;
        udp.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES)?;
        udp.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES)?;
        registry.register(&mut socket, token, Interest::READABLE)?;
        Ok(Self { socket, udp })
    }

    /// The bound port.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Maximum number of full-size datagrams in flight to this socket.
    pub fn credit(&self) -> io::Result<u64> {
        let granted = self.udp.recv_buffer_size(UdpSockRef::from(&self.socket))?;
        Ok((granted / CHARGE_PER_BYTE / MAX_DATAGRAM_BYTES).max(1) as u64)
    }

    /// Maximum number of datagrams of `stride` bytes per send call.
    pub fn batch(&self, stride: usize) -> usize {
        self.udp.max_gso_segments().min(MAX_BATCH_BYTES / stride).max(1)
    }

    /// Sends consecutive datagrams of `stride` bytes.
    pub fn send(&self, peer: SocketAddr, datagrams: &[u8], stride: usize) -> io::Result<()> {
        let transmit = Transmit {
            destination: peer,
            ecn: None,
            contents: datagrams,
            segment_size: Some(stride),
            src_ip: None,
        };
        loop {
            match self.udp.try_send(UdpSockRef::from(&self.socket), &transmit) {
                // The kernel drains the send buffer independently of the peer.
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                done => return done,
            }
        }
    }
}

/// Receive buffers, shared by all links of a role.
pub struct Inbox {
    buffers: [Vec<u8>; INBOX_BATCHES],
    metas: [RecvMeta; INBOX_BATCHES],
    filled: usize,
}

impl Inbox {
    /// Creates empty buffers.
    pub fn new() -> Self {
        let buffers = std::array::from_fn(|_| vec![0; INBOX_BATCH_BYTES]);
        Self { buffers, metas: [RecvMeta::default(); INBOX_BATCHES], filled: 0 }
    }

    /// Receives from `link`. Returns true if more may be pending.
    pub fn receive(&mut self, link: &Link) -> io::Result<bool> {
        let mut slices = self.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        self.filled = match link.udp.recv(UdpSockRef::from(&link.socket), &mut slices, &mut self.metas) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        Ok(self.filled == INBOX_BATCHES)
    }

    /// The received datagrams, in order.
    pub fn datagrams(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let batches = self.buffers.iter_mut().zip(&self.metas).take(self.filled);
        batches.flat_map(|(buffer, meta)| buffer[..meta.len].chunks_mut(meta.stride.max(1)))
    }
}
