//! Who takes what the sockets receive.

use std::io;
use std::time::Duration;

use netdyno_echonet_core::Source;

use crate::limits::{DATAGRAM_BYTES, WAIT};
use crate::links::Links;

/// A controller or a device that a driver turns.
pub(crate) trait Receiver: Send + Sync {
    fn links(&self) -> &Links;
    /// Takes a datagram, answers it, and tells whom it concerns.
    fn receive(&self, datagram: &[u8], source: Source);
    /// Does what is due.
    fn tick(&self);
    /// Time until something is due, or `longest`; the driver will not look sooner.
    fn rest(&self, longest: Duration) -> Duration;
    fn is_over(&self) -> bool;
    /// Calls that were begun: while there are some, those who call receive by themselves.
    fn calls(&self) -> u64;
    /// Has the driver receive what is sent to us alone; false if somebody who waits for it does so.
    fn with_lead(&self, receive: &mut dyn FnMut(&mut Buffer)) -> bool;
    fn end(&self);
}

/// Room for a datagram.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) bytes: Box<[u8]>,
}

impl Default for Buffer {
    fn default() -> Self {
        Self { bytes: vec![0; DATAGRAM_BYTES].into_boxed_slice() }
    }
}

impl Buffer {
    /// Waits for a datagram to one of our addresses, `left` at the most: one system call where the time is long and there
    /// is but one socket.
    pub(crate) fn wait(&mut self, links: &Links, left: Duration) -> io::Result<Option<(usize, Source)>> {
        if let ([socket], true) = (&links.unicast[..], left >= WAIT) {
            let received = socket.receive(&mut self.bytes)?;
            return Ok(received.map(|(bytes, address)| (bytes, links.source(0, address))));
        }
        for (number, socket) in links.unicast.iter().enumerate() {
            // Of several sockets each has a part of the time.
            let part = left.min(WAIT) / u32::try_from(links.unicast.len()).unwrap_or(1);
            if socket.wait_readable(part)? {
                let received = socket.receive(&mut self.bytes)?;
                return Ok(received.map(|(bytes, address)| (bytes, links.source(number, address))));
            }
        }
        Ok(None)
    }
}
