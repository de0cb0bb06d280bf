//! One connection of an engine.

use std::collections::VecDeque;
use std::fmt;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use netdyno_rtc_core::{Event, PeerConnection};

use super::routes::Trail;
use crate::limits::SETUP_BATCHES;
use crate::streams::StreamId;

/// The local port that a connection uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Port {
    /// The endpoint's port. Peers are distinguished by their addresses, so there can be only one connection
    /// between two ports. Suits servers and every answering side.
    #[default]
    Shared,
    /// A separate port, as browsers use. Suits programs that make many connections to one address.
    Own,
}

/// Identifies a connection of an endpoint, as long as the connection exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId {
    pub(crate) index: u32,
    /// Distinguishes a connection from an earlier one with the same index.
    pub(crate) generation: u32,
}

impl ConnectionId {
    /// The id as a number, for bindings that cannot keep the type.
    pub fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The id that [`to_bits`](Self::to_bits) returned. An unknown number is treated as a connection that is
    /// over.
    pub fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

impl fmt::Display for ConnectionId {
    /// For logs: index and generation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// Datagrams that a connection may send before all others have sent as many: one batch.
pub(super) const SHARE_DATAGRAMS: usize = netdyno_io::MAX_SEGMENTS;

#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) peer: PeerConnection,
    pub(crate) generation: u32,
    /// The socket it sends from.
    pub(crate) port: u32,
    /// TCP connections made by its peer, with their remote addresses.
    pub(crate) streams: Vec<(SocketAddr, StreamId)>,
    /// Its relays, by index.
    pub(crate) relays: Vec<u32>,
    /// Whether it has or had relays.
    pub(crate) may_relay: bool,
    /// The socket that last sent data for it, unless a stream did: its own, or one to a TURN server.
    pub(crate) send_port: u32,
    /// Checks sent to addresses that had not answered any.
    pub(crate) strangers_checked: u32,
    /// A check to a stranger was refused.
    pub(crate) is_refused: bool,
    /// Queued for sending, or waiting for its socket.
    pub(crate) dirty: bool,
    /// Datagrams left of its share before other connections go first.
    pub(crate) share: usize,
    /// Queued for delivery of events and messages.
    pub(crate) touched: bool,
    /// Whether messages are passed to the handler; otherwise they stay in the connection.
    pub(crate) reading: bool,
    /// End events that wait until earlier messages have been taken. At most one for each channel: the peer's
    /// resets of further channels stay in the association, behind the first message that is not taken.
    pub(crate) held: VecDeque<Event>,
    /// Batches received, up to [`SETUP_BATCHES`](crate::limits::SETUP_BATCHES).
    pub(crate) batches: u8,
    /// When it last sent, during set-up.
    pub(crate) sent_at: Option<Instant>,
    /// The connected socket for its peer's datagrams, and that peer's address (`steering.rs`).
    pub(crate) steered: Option<(u32, SocketAddr)>,
    /// Batches handed over since by other reactors.
    pub(crate) handed_over: u32,
    /// The route entries that lead here.
    pub(crate) trail: Trail,
    /// The event that reports its end has been returned.
    pub(crate) end_reported: bool,
    /// Everything was delivered: it is removed when it has nothing more to send.
    pub(crate) is_finished: bool,
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
            strangers_checked: 0,
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
            end_reported: false,
            is_finished: false,
        }
    }

    /// Counts a received batch. Returns whether it belongs to a set-up and followed the previous send within
    /// this time, so that the next one is likely to do so too.
    pub(crate) fn is_quick(&mut self, within: Duration) -> bool {
        if self.batches >= SETUP_BATCHES {
            return false;
        }
        self.batches += 1;
        self.sent_at.take().is_some_and(|sent_at| sent_at.elapsed() <= within)
    }

    /// Whether the connection is over, even if the application has not been told.
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
    fn only_quick_answers_during_set_up_count() {
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
