//! One UDP socket of one connection: segmented sends, coalesced receives.

use std::io::{self, ErrorKind, IoSliceMut};
use std::net::{IpAddr, SocketAddr};

use mio::net::UdpSocket;
use mio::{Interest, Registry, Token};
use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};

use crate::wire::MAX_DATAGRAM_BYTES;

/// What is asked for; the kernel grants no more than its `net.core.rmem_max` and `wmem_max`.
const SOCKET_BUFFER_BYTES: usize = 4 << 20;
/// Room in the receive buffer to keep for each byte in flight. The kernel charges up to 2.3 bytes for one where a
/// batch was split on its way, and the buffer must never overflow: nothing here sends again.
const CHARGE_PER_BYTE: usize = 3;
/// Payload of the largest UDP datagram over IPv4, and so of a batch before it is cut.
const MAX_BATCH_BYTES: usize = 65_507;
/// Batches taken by one system call.
const INBOX_BATCHES: usize = 4;
/// Room for one coalesced batch.
const INBOX_BATCH_BYTES: usize = 1 << 16;

/// A socket, not connected, so that a peer that has gone shows as silence and not as an error.
pub struct Link {
    socket: UdpSocket,
    udp: UdpSocketState,
}

impl Link {
    /// Binds a port of its own on `local`; `token` announces what arrives.
    pub fn bind(local: IpAddr, registry: &Registry, token: Token) -> io::Result<Self> {
        let mut socket = UdpSocket::bind(SocketAddr::new(local, 0))?;
        let udp = UdpSocketState::new(UdpSockRef::from(&socket))?;
        udp.set_recv_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES)?;
        udp.set_send_buffer_size(UdpSockRef::from(&socket), SOCKET_BUFFER_BYTES)?;
        registry.register(&mut socket, token, Interest::READABLE)?;
        Ok(Self { socket, udp })
    }

    /// The port it got.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.socket.local_addr()?.port())
    }

    /// Datagrams of the largest size that may be on their way to this socket at one time.
    pub fn credit(&self) -> io::Result<u64> {
        let granted = self.udp.recv_buffer_size(UdpSockRef::from(&self.socket))?;
        Ok((granted / CHARGE_PER_BYTE / MAX_DATAGRAM_BYTES).max(1) as u64)
    }

    /// Datagrams of `stride` bytes that one system call sends.
    pub fn batch(&self, stride: usize) -> usize {
        self.udp.max_gso_segments().min(MAX_BATCH_BYTES / stride).max(1)
    }

    /// Sends datagrams of `stride` bytes that lie one after the other.
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
                // The kernel empties the send buffer by itself, whatever the peer does.
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::yield_now(),
                done => return done,
            }
        }
    }
}

/// Buffers for what arrives, shared by all links of a role.
pub struct Inbox {
    buffers: [Vec<u8>; INBOX_BATCHES],
    metas: [RecvMeta; INBOX_BATCHES],
    filled: usize,
}

impl Inbox {
    /// Empty.
    pub fn new() -> Self {
        let buffers = std::array::from_fn(|_| vec![0; INBOX_BATCH_BYTES]);
        Self { buffers, metas: [RecvMeta::default(); INBOX_BATCHES], filled: 0 }
    }

    /// Takes what has arrived at `link`; true if more may be there.
    pub fn receive(&mut self, link: &Link) -> io::Result<bool> {
        let mut slices = self.buffers.each_mut().map(|buffer| IoSliceMut::new(buffer));
        self.filled = match link.udp.recv(UdpSockRef::from(&link.socket), &mut slices, &mut self.metas) {
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) => return Err(error),
        };
        Ok(self.filled == INBOX_BATCHES)
    }

    /// The datagrams that were taken, in their order.
    pub fn datagrams(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let batches = self.buffers.iter_mut().zip(&self.metas).take(self.filled);
        batches.flat_map(|(buffer, meta)| buffer[..meta.len].chunks_mut(meta.stride.max(1)))
    }
}
