//! One connection of an engine.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use netdyno_rtc_core::{Event, PeerConnection};

use super::routes::Trail;
use crate::limits::SETUP_BATCHES;
use crate::streams::StreamId;

/// Which of our ports a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Port {
    /// The one of the endpoint. Peers are told apart by their addresses, so that between two ports there can be but
    /// one connection: right for whoever answers, and for servers.
    #[default]
    Shared,
    /// One of its own, as browsers do: right for whoever makes many connections to one place.
    Own,
}

/// Names a connection of an endpoint, for as long as the connection lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub(crate) index: u32,
    /// Tells a connection from an earlier one at the same index.
    pub(crate) generation: u32,
}

impl ConnectionId {
    /// As a number, for those who cannot keep the type: a program in another language.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// What [`to_bits`](Self::to_bits) gave. A number of nobody's is a connection that is over.
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
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
    /// Connections by TCP that its peer has made, with where they come from.
    pub(crate) streams: Vec<(SocketAddr, StreamId)>,
    /// Its relays, by number.
    pub(crate) relays: Vec<u32>,
    /// Whether there are such, or were.
    pub(crate) may_relay: bool,
    /// The socket that it sent its latest data by, unless that went by a stream: its own, or one towards a TURN server.
    pub(crate) send_port: u32,
    /// Checks that it has sent to addresses which had not answered any.
    pub(crate) strangers_asked: u32,
    /// It would have made one more, and might not.
    pub(crate) is_refused: bool,
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
    /// Batches that have come, of the first [`SETUP_BATCHES`](crate::limits::SETUP_BATCHES).
    pub(crate) batches: u8,
    /// When it sent last, of the time until then.
    pub(crate) sent_at: Option<Instant>,
    /// The socket of our own for what its peer sends, and to whom that is connected (`steering.rs`).
    pub(crate) steered: Option<(u32, SocketAddr)>,
    /// Batches that others at the port have handed over since.
    pub(crate) handed_over: u32,
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
            streams: Vec::new(),
            relays: Vec::new(),
            may_relay: false,
            send_port: port,
            strangers_asked: 0,
            is_refused: false,
            dirty: false,
            share: SHARE_DATAGRAMS,
            touched: false,
            reading: true,
            held: VecDeque::new(),
            batches: 0,
            sent_at: None,
            steered: None,
            handed_over: 0,
            trail: Trail::default(),
            told: false,
            over: false,
        }
    }

    /// A batch has come: whether it is one of a set-up, and followed what was sent before within so long, so that the next will too.
    pub(crate) fn is_quick(&mut self, within: Duration) -> bool {
        if self.batches >= SETUP_BATCHES {
            return false;
        }
        self.batches += 1;
        self.sent_at.take().is_some_and(|sent_at| sent_at.elapsed() <= within)
    }

    /// Whether nothing comes or goes any more, though the application may not know.
    pub(crate) fn is_ending(&self) -> bool {
        self.peer.is_over()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use netdyno_rtc_core::{Certificate, Config};

    use super::*;

    #[test]
    fn only_the_first_batches_that_answer_at_once_are_followed_by_more() {
        let config = Arc::new(Config::new(Arc::new(Certificate::generate().unwrap())));
        let peer = PeerConnection::new(config, [7; 32], Instant::now()).unwrap();
        let (mut slot, long, never) = (Slot::new(peer, 1, 0), Duration::from_secs(3600), Duration::ZERO);
        assert!(!slot.is_quick(long), "nothing was sent");
        let mut followed = 0;
        for _ in 0..2 * SETUP_BATCHES {
            slot.sent_at = Some(Instant::now());
            followed += u8::from(slot.is_quick(long));
            assert!(slot.batches == SETUP_BATCHES || !slot.is_quick(long), "one answer to each");
        }
        assert_eq!((slot.batches, followed), (SETUP_BATCHES, SETUP_BATCHES / 2));
        slot.batches = 0;
        slot.sent_at = Some(Instant::now() - Duration::from_millis(1));
        assert!(!slot.is_quick(never), "it took longer");
    }
}
