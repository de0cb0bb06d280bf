//! Several datagrams sent by one system call.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

use super::{DATAGRAMS, DatagramSocket};

/// Datagrams that are to be sent together, 16 at the most, used again and again.
#[derive(Debug, Default)]
pub struct SendBatch {
    bytes: Vec<u8>,
    /// Where each goes, and where it ends.
    datagrams: Vec<(SocketAddr, usize)>,
}

impl SendBatch {
    /// Adds a datagram. There has to be room for it: see [`is_full`](Self::is_full).
    pub fn push(&mut self, remote: SocketAddr, datagram: &[u8]) {
        debug_assert!(!self.is_full(), "room for one more");
        self.bytes.extend_from_slice(datagram);
        self.datagrams.push((remote, self.bytes.len()));
    }

    /// Where the first one goes.
    pub fn first(&self) -> Option<SocketAddr> {
        self.datagrams.first().map(|(remote, _)| *remote)
    }

    /// Whether no more can be added.
    pub fn is_full(&self) -> bool {
        self.datagrams.len() >= DATAGRAMS
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.datagrams.clear();
    }

    fn iter(&self) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        let starts = std::iter::once(0).chain(self.datagrams.iter().map(|(_, end)| *end));
        self.datagrams.iter().zip(starts).map(|(&(remote, end), start)| (remote, &self.bytes[start..end]))
    }
}

impl DatagramSocket {
    /// Sends these, by one system call where there is nothing wrong, and forgets them. `unsent` is told of each that cannot be sent, and
    /// why; the others are.
    pub fn send_batch(&self, batch: &mut SendBatch, mut unsent: impl FnMut(SocketAddr, io::Error)) {
        let mut sent = 0;
        while sent < batch.datagrams.len() {
            sent += match batch.datagrams.len() - sent {
                1 => 0,
                _ => self.send_several(batch, sent),
            };
            // The one that is left, or stopped those behind it.
            if let Some((remote, datagram)) = batch.iter().nth(sent) {
                if let Err(error) = self.send(remote, datagram) {
                    unsent(remote, error);
                }
                sent += 1;
            }
        }
        batch.clear();
    }

    /// Sends all from this one on, up to one that cannot be sent; says how many were.
    #[cfg(target_os = "linux")]
    fn send_several(&self, batch: &SendBatch, from: usize) -> usize {
        use rustix::net::addr::SocketAddrArg;
        use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

        let mut datagrams = batch.iter().skip(from);
        let parts: [_; DATAGRAMS] = std::array::from_fn(|_| {
            datagrams.next().map(|(remote, datagram)| (remote.as_any(), [IoSlice::new(datagram)]))
        });
        let mut controls: [_; DATAGRAMS] = std::array::from_fn(|_| SendAncillaryBuffer::default());
        let messages = parts.iter().flatten().zip(&mut controls);
        let mut messages: Vec<_> = messages
            .map(|((remote, slices), control)| MMsgHdr::new_with_addr(remote, slices, control))
            .collect();
        sendmmsg(&*self.socket, &mut messages, SendFlags::empty()).unwrap_or(0)
    }

    /// None: the system has no call for several.
    #[cfg(not(target_os = "linux"))]
    fn send_several(&self, _batch: &SendBatch, _from: usize) -> usize {
        0
    }
}
