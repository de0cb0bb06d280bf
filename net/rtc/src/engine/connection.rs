//! A connection as the application sees it.

use std::ops::Deref;

use netdyno_rtc_core::{
    ChannelError, ChannelId, ChannelOptions, Event, Kind, Message, PeerConnection, SendError, SignalingError,
};

use super::slot::ConnectionId;
use super::state::Engine;

/// Receives events and messages from an endpoint.
pub trait Handler {
    /// An event of a connection. After `Event::State` with `Closed`, or with `Failed` if
    /// [`is_over`](PeerConnection::is_over), and after the ends of its channels, the id is no longer valid. A
    /// failed connection that is not over can be recovered by an ICE restart; close it if you do not want
    /// that.
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event);

    /// A message was received.
    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message);
}

/// A connection of an endpoint, borrowed for a call. Its getters are those of [`PeerConnection`].
///
/// What it has to send is sent at the end of the turn, with everything else.
#[derive(Debug)]
pub struct Connection<'a> {
    engine: &'a mut Engine,
    id: ConnectionId,
}

impl Deref for Connection<'_> {
    type Target = PeerConnection;

    fn deref(&self) -> &PeerConnection {
        &self.engine.slots[self.id.index as usize].peer
    }
}

impl<'a> Connection<'a> {
    /// The caller has checked that the connection exists.
    pub(super) fn new(engine: &'a mut Engine, id: ConnectionId) -> Self {
        Self { engine, id }
    }

    /// The connection's id.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Another connection of the same endpoint.
    pub fn other(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        self.engine.connection(id)
    }

    /// Creates an offer with all candidates known so far and sets it as local description. `restart`
    /// generates new ICE credentials.
    pub fn create_offer(&mut self, restart: bool) -> Result<String, SignalingError> {
        if restart {
            // Relayed addresses may be lost with the path.
            self.engine.gather_for(self.id.index);
        }
        self.engine.offer_gathered(self.id.index);
        self.signal(|peer, now| peer.create_offer(now, restart))
    }

    /// Withdraws the local offer that awaits its answer; see [`PeerConnection::rollback`].
    pub fn rollback(&mut self) -> Result<(), SignalingError> {
        self.signal(|peer, now| peer.rollback(now))
    }

    /// Accepts the peer's offer and returns the answer.
    pub fn accept_offer(&mut self, offer: &str) -> Result<String, SignalingError> {
        self.engine.offer_gathered(self.id.index);
        let answer = self.signal(|peer, now| peer.accept_offer(now, offer))?;
        self.engine.query_names(self.id.index, offer);
        Ok(answer)
    }

    /// Accepts the peer's answer to the local offer.
    pub fn accept_answer(&mut self, answer: &str) -> Result<(), SignalingError> {
        self.signal(|peer, now| peer.accept_answer(now, answer))?;
        self.engine.query_names(self.id.index, answer);
        Ok(())
    }

    /// Adds a trickled candidate of the peer, from "candidate:" on; an empty string ends the candidates.
    pub fn add_remote_candidate(&mut self, candidate: &str) -> Result<(), SignalingError> {
        self.add_resolved_candidate(candidate)?;
        self.engine.query_names(self.id.index, candidate);
        Ok(())
    }

    /// As `add_remote_candidate`, without resolving mDNS names.
    pub(super) fn add_resolved_candidate(&mut self, candidate: &str) -> Result<(), SignalingError> {
        self.signal(|peer, now| peer.add_remote_candidate(now, candidate))
    }

    /// Creates a data channel, at any time. Messages can be sent once it is open.
    pub fn create_channel(
        &mut self,
        label: &str,
        options: ChannelOptions,
    ) -> Result<ChannelId, ChannelError> {
        self.signal(|peer, now| peer.create_channel(now, label, options))
    }

    /// Sends a message; copies it once.
    #[inline]
    pub fn send(&mut self, channel: ChannelId, kind: Kind, data: &[u8]) -> Result<(), SendError> {
        let now = self.engine.now;
        let slot = &mut self.engine.slots[self.id.index as usize];
        let sent = slot.peer.send(now, channel, kind, data);
        if !slot.dirty {
            slot.dirty = true;
            self.engine.dirty.push(self.id.index);
        }
        sent
    }

    /// The next message, while messages are not passed to the handler ([`set_reading`](Self::set_reading)).
    pub fn recv(&mut self) -> Option<Message> {
        let slot = &mut self.engine.slots[self.id.index as usize];
        let message = slot.peer.recv();
        if message.is_some() {
            // The peer must be told that the receive window has grown.
            self.engine.touch(self.id.index);
        }
        message
    }

    /// Whether messages are passed to the handler (the default). If not, they stay in the connection, whose
    /// receive window then stops the peer. When the connection ends, the remaining messages are passed to the
    /// handler, followed by the end.
    pub fn set_reading(&mut self, reading: bool) {
        let slot = &mut self.engine.slots[self.id.index as usize];
        slot.reading = reading || slot.is_ending();
        if reading {
            self.engine.touch(self.id.index);
        }
    }

    /// Sets the amount at or below which `Event::BufferedAmountLow` is raised. Default: 0.
    pub fn set_buffered_amount_low_threshold(&mut self, channel: ChannelId, bytes: usize) {
        self.signal(|peer, _| peer.set_buffered_amount_low_threshold(channel, bytes));
    }

    /// Closes a channel once everything buffered has been sent.
    pub fn close_channel(&mut self, channel: ChannelId) {
        self.signal(|peer, now| peer.close_channel(now, channel));
    }

    /// Closes the connection and notifies the peer in one datagram. Buffered data is lost.
    pub fn close(&mut self) {
        self.signal(|peer, now| peer.close(now));
    }

    fn signal<T>(&mut self, act: impl FnOnce(&mut PeerConnection, std::time::Instant) -> T) -> T {
        let now = self.engine.now;
        let slot = &mut self.engine.slots[self.id.index as usize];
        let result = act(&mut slot.peer, now);
        // An ICE restart by either side adds a fragment, and a rollback removes it.
        self.engine.routes.set_ufrags(self.id.index, &mut slot.trail, slot.peer.local_ufrags());
        self.engine.touch(self.id.index);
        result
    }
}

impl Engine {
    /// The connection with this id, if it exists.
    pub(crate) fn connection(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then(|| Connection::new(self, id))
    }

    /// Removes a connection that was never handed out.
    pub(crate) fn discard(&mut self, id: ConnectionId) {
        if self.connection(id).is_some() {
            self.remove(id.index);
        }
    }
}
