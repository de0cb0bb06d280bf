//! Sending several datagrams with one system call.

use std::io::{self, IoSlice};
use std::net::SocketAddr;

use super::{DATAGRAMS, DatagramSocket};

/// A reusable batch of at most 16 datagrams to send together.
#[derive(Debug, Default)]
pub struct SendBatch {
    bytes: Vec<u8>,
    /// The destination of each datagram and the offset of its end.
    datagrams: Vec<(SocketAddr, usize)>,
}

impl SendBatch {
    /// Adds a datagram. The batch must not be [full](Self::is_full).
    pub fn push(&mut self, remote: SocketAddr, datagram: &[u8]) {
        debug_assert!(!self.is_full(), "the batch is full");
        self.bytes.extend_from_slice(datagram);
        self.datagrams.push((remote, self.bytes.len()));
    }

    /// The destination of the first datagram.
    pub fn first(&self) -> Option<SocketAddr> {
        self.datagrams.first().map(|(remote, _)| *remote)
    }

    /// Whether no more datagrams can be added.
    pub fn is_full(&self) -> bool {
        self.datagrams.len() >= DATAGRAMS
    }

    /// Removes all datagrams.
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
    /// Sends the batch, with one system call unless a datagram fails, and clears it. `unsent` is called with
    /// the destination and error of each datagram that cannot be sent; the others are sent.
    pub fn send_batch(&self, batch: &mut SendBatch, mut unsent: impl FnMut(SocketAddr, io::Error)) {
        let mut sent = 0;
        while sent < batch.datagrams.len() {
            sent += match batch.datagrams.len() - sent {
                1 => 0,
                _ => self.send_several(batch, sent),
            };
            // The last one, or the one that stopped the call.
            if let Some((remote, datagram)) = batch.iter().nth(sent) {
                if let Err(error) = self.send(remote, datagram) {
                    unsent(remote, error);
                }
                sent += 1;
            }
        }
        batch.clear();
    }

    /// Sends datagrams from index `from` until one fails, and returns how many were sent.
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

    /// Sends none on systems without a call for several.
    #[cfg(not(target_os = "linux"))]
    fn send_several(&self, _batch: &SendBatch, _from: usize) -> usize {
        0
    }
}
