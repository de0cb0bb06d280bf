//! One connection, as the application sees it.

use std::ops::Deref;

use netdyno_rtc_core::{
    ChannelError, ChannelId, ChannelOptions, Event, Kind, Message, PeerConnection, SendError, SignalingError,
};

use super::slot::ConnectionId;
use super::state::Engine;

/// What an application does with what happens.
pub trait Handler {
    /// Something happened to a connection. Once it is over (`Event::State` with `Closed`, or with `Failed` where
    /// [`is_over`](PeerConnection::is_over) says so), and its channels have ended, its id means nothing any more. One that has
    /// failed and is not over can be brought back by a restart of ICE; who does not mean to closes it.
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event);

    /// A message has come.
    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message);
}

/// A connection of an endpoint, borrowed to do something with it. Its getters are those of [`PeerConnection`].
///
/// What it has to send goes out at the end of the turn, together with all else.
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
    /// The caller has seen that it exists.
    pub(super) fn new(engine: &'a mut Engine, id: ConnectionId) -> Self {
        Self { engine, id }
    }

    /// Its name.
    pub fn id(&self) -> ConnectionId {
        self.id
    }

    /// Another connection of the same endpoint.
    pub fn other(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        self.engine.connection(id)
    }

    /// An offer with all candidates known by now; sets it as local description. `restart` makes new ICE credentials.
    pub fn create_offer(&mut self, restart: bool) -> Result<String, SignalingError> {
        if restart {
            // What a server gave may be lost with the path.
            self.engine.gather_for(self.id.index);
        }
        self.engine.offer_found(self.id.index);
        self.signal(|peer, now| peer.create_offer(now, restart))
    }

    /// Withdraws the offer of ours that waits for its answer; see [`PeerConnection::rollback`].
    pub fn rollback(&mut self) -> Result<(), SignalingError> {
        self.signal(|peer, now| peer.rollback(now))
    }

    /// Takes the peer's offer and gives the answer.
    pub fn accept_offer(&mut self, offer: &str) -> Result<String, SignalingError> {
        self.engine.offer_found(self.id.index);
        let answer = self.signal(|peer, now| peer.accept_offer(now, offer))?;
        self.engine.ask_for_names(self.id.index, offer);
        Ok(answer)
    }

    /// Takes the peer's answer to the offer of ours.
    pub fn accept_answer(&mut self, answer: &str) -> Result<(), SignalingError> {
        self.signal(|peer, now| peer.accept_answer(now, answer))?;
        self.engine.ask_for_names(self.id.index, answer);
        Ok(())
    }

    /// A trickled candidate of the peer, from "candidate:" on; empty for the end of candidates.
    pub fn add_remote_candidate(&mut self, candidate: &str) -> Result<(), SignalingError> {
        self.add_resolved_candidate(candidate)?;
        self.engine.ask_for_names(self.id.index, candidate);
        Ok(())
    }

    /// The same, without names.
    pub(super) fn add_resolved_candidate(&mut self, candidate: &str) -> Result<(), SignalingError> {
        self.signal(|peer, now| peer.add_remote_candidate(now, candidate))
    }

    /// A new data channel. May be called at any time; messages can be sent once it is open.
    pub fn create_channel(
        &mut self,
        label: &str,
        options: ChannelOptions,
    ) -> Result<ChannelId, ChannelError> {
        self.signal(|peer, now| peer.create_channel(now, label, options))
    }

    /// Takes a message; copies it once.
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

    /// The next message, if messages are not handed to the handler ([`set_reading`](Self::set_reading)).
    pub fn recv(&mut self) -> Option<Message> {
        let slot = &mut self.engine.slots[self.id.index as usize];
        let message = slot.peer.recv();
        if message.is_some() {
            // The window is open again, which the peer must be told.
            self.engine.touch(self.id.index);
        }
        message
    }

    /// Whether messages are handed to the handler (as at first). If not, they stay in the connection, and once its
    /// receive window is full the peer is held back. When the connection ends there is nobody to hold back: what is left
    /// is handed over, and then the end.
    pub fn set_reading(&mut self, reading: bool) {
        let slot = &mut self.engine.slots[self.id.index as usize];
        slot.reading = reading || slot.is_ending();
        if reading {
            self.engine.touch(self.id.index);
        }
    }

    /// At or below which `Event::BufferedAmountLow` is told. 0 at first.
    pub fn set_buffered_amount_low_threshold(&mut self, channel: ChannelId, bytes: usize) {
        self.signal(|peer, _| peer.set_buffered_amount_low_threshold(channel, bytes));
    }

    /// Closes a channel once what is buffered has been sent.
    pub fn close_channel(&mut self, channel: ChannelId) {
        self.signal(|peer, now| peer.close_channel(now, channel));
    }

    /// Ends the connection: the peer is told, in one datagram. What is buffered is lost.
    pub fn close(&mut self) {
        self.signal(|peer, now| peer.close(now));
    }

    fn signal<T>(&mut self, act: impl FnOnce(&mut PeerConnection, std::time::Instant) -> T) -> T {
        let now = self.engine.now;
        let slot = &mut self.engine.slots[self.id.index as usize];
        let result = act(&mut slot.peer, now);
        // A restart of ICE, by either side, brings a new one, and a rollback takes it away.
        self.engine.routes.set_ufrags(self.id.index, &mut slot.trail, slot.peer.local_ufrags());
        self.engine.touch(self.id.index);
        result
    }
}

impl Engine {
    /// A connection, if it still is one.
    pub(crate) fn connection(&mut self, id: ConnectionId) -> Option<Connection<'_>> {
        let slot = self.slots.get(id.index as usize)?;
        (slot.generation == id.generation).then(|| Connection::new(self, id))
    }

    /// Forgets a connection of which nobody has heard yet.
    pub(crate) fn discard(&mut self, id: ConnectionId) {
        if self.connection(id).is_some() {
            self.remove(id.index);
        }
    }
}
