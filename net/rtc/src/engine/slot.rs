//! One connection of an engine.

use std::collections::VecDeque;
use std::fmt;

use netdyno_rtc_core::{Event, PeerConnection};

use super::routes::Trail;

/// Names a connection of an endpoint, for as long as the connection lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub(crate) index: u32,
    /// Tells a connection from an earlier one at the same index.
    pub(crate) generation: u32,
}

impl fmt::Display for ConnectionId {
    /// For logs: two numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// Datagrams that a connection may send before all others have had the same: one batch.
pub(super) const SHARE_DATAGRAMS: usize = netdyno_io::MAX_SEGMENTS;

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) peer: PeerConnection,
    pub(crate) generation: u32,
    /// The socket that it sends from.
    pub(crate) port: u32,
    /// Queued to be polled for datagrams, or waiting for room in its socket.
    pub(crate) dirty: bool,
    /// Datagrams that it may still send before it stands behind the others.
    pub(crate) share: usize,
    /// Queued to be polled for events and messages.
    pub(crate) touched: bool,
    /// Whether messages are taken; else they wait in the connection.
    pub(crate) reading: bool,
    /// Ends that wait for messages of before to be taken. No more than there are channels: what the peer says of others
    /// waits in the association, behind the first message that is not taken.
    pub(crate) held: VecDeque<Event>,
    /// What leads here.
    pub(crate) trail: Trail,
    /// The application knows that it is over.
    pub(crate) told: bool,
    /// And has been told all else: it goes when it has nothing more to send.
    pub(crate) over: bool,
}

impl Slot {
    pub(crate) fn new(peer: PeerConnection, generation: u32, port: u32) -> Self {
        Self {
            peer,
            generation,
            port,
            dirty: false,
            share: SHARE_DATAGRAMS,
            touched: false,
            reading: true,
            held: VecDeque::new(),
            trail: Trail::default(),
            told: false,
            over: false,
        }
    }

    /// Whether nothing comes or goes any more, though the application may not know.
    pub(crate) fn is_ending(&self) -> bool {
        self.peer.is_over()
    }
}
