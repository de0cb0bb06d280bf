//! The driver's side of all connections: moves events and messages from netdyno-rtc to Python, and messages
//! from Python to netdyno-rtc.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use netdyno_rtc::{
    ChannelId, ChannelOptions, ChannelState, Connection, ConnectionId, Endpoint, Error, Event, Handler,
    Message, PeerState, Port, SendError,
};

use crate::events::{CLOSED, EventQueue, GATHERED, INCOMING, OPEN, READABLE, ROOM, STATE};
use crate::limits::{DEFAULT_MESSAGE_BYTES, SERVER_FAILURES, SLICE_BYTES, TURN_BYTES, WAITING_CHANNELS};
use crate::outgoing::OutgoingMessage;
use crate::shared::{SharedChannel, SharedPeer, charge};

/// All connections of a driver.
#[derive(Debug)]
pub(crate) struct Connections {
    queue: Arc<EventQueue>,
    peers: HashMap<ConnectionId, PeerEntry>,
    /// Channels that may have something to send and space for it, each once.
    ready: VecDeque<(ConnectionId, ChannelId)>,
    numbers: u64,
}

#[derive(Debug)]
struct PeerEntry {
    peer: Arc<SharedPeer>,
    channels: BTreeMap<ChannelId, ChannelEntry>,
    /// Waiting for the connection to be writable.
    blocked: Vec<ChannelId>,
}

/// The driver's side of a channel.
struct ChannelEntry {
    channel: Arc<SharedChannel>,
    /// Messages taken from the outbox and not sent yet, for lack of space.
    rest: VecDeque<OutgoingMessage>,
    /// Bytes passed to the stack, or dropped.
    given: u64,
    /// The threshold set in the stack.
    armed: usize,
    is_queued: bool,
    is_closing: bool,
}

impl Connections {
    pub(crate) fn new(queue: Arc<EventQueue>) -> Self {
        Self { queue, peers: HashMap::new(), ready: VecDeque::new(), numbers: 0 }
    }

    pub(crate) fn queue(&self) -> &EventQueue {
        &self.queue
    }

    /// Creates a connection.
    pub(crate) fn add(&mut self, endpoint: &mut Endpoint, port: Port) -> Result<Arc<SharedPeer>, Error> {
        let id = endpoint.add(port)?;
        self.numbers += 1;
        let peer = SharedPeer::new(id, self.numbers, self.queue.clone());
        let entry = PeerEntry { peer: peer.clone(), channels: BTreeMap::new(), blocked: Vec::new() };
        self.peers.insert(id, entry);
        Ok(peer)
    }

    /// Called after the peer's description was accepted.
    pub(crate) fn described(&self, id: ConnectionId, description: &str) {
        if let Some(entry) = self.peers.get(&id) {
            entry.note_max_message(description);
        }
    }

    /// Creates a data channel.
    pub(crate) fn create_channel(
        &mut self,
        endpoint: &mut Endpoint,
        id: ConnectionId,
        label: &str,
        options: ChannelOptions,
    ) -> Result<Arc<SharedChannel>, Error> {
        let (mut connection, entry) =
            endpoint.connection(id).zip(self.peers.get_mut(&id)).ok_or(Error::Closed)?;
        let channel = connection.create_channel(label, options.clone())?;
        self.numbers += 1;
        Ok(entry.insert(&connection, channel, self.numbers, label.to_owned(), options))
    }

    /// Queues a channel for sending, or for an update of its buffered amount.
    pub(crate) fn queue_channel(&mut self, channel: &SharedChannel) {
        let (id, channel) = (channel.peer.id, channel.id);
        let end = self.peers.get_mut(&id).and_then(|entry| entry.channels.get_mut(&channel));
        if end.is_some_and(|end| !mem::replace(&mut end.is_queued, true)) {
            self.ready.push_back((id, channel));
        }
    }

    /// Closes a channel once all messages queued by Python have been sent.
    pub(crate) fn close_channel(&mut self, channel: &SharedChannel) {
        let entry = self.peers.get_mut(&channel.peer.id);
        if let Some(end) = entry.and_then(|entry| entry.channels.get_mut(&channel.id)) {
            end.is_closing = true;
            self.queue_channel(channel);
        }
    }

    /// Sends what Python has queued, channel after channel, up to one turn's limit. Returns whether some is
    /// left.
    pub(crate) fn feed(&mut self, endpoint: &mut Endpoint) -> bool {
        let mut left = TURN_BYTES;
        while left > 0
            && let Some((id, channel)) = self.ready.pop_front()
        {
            let Some(entry) = self.peers.get_mut(&id) else { continue };
            let Some(end) = entry.channels.get_mut(&channel) else { continue };
            let Some(mut connection) = endpoint.connection(id) else { continue };
            end.is_queued = false;
            let (given, filled) = end.fill(&mut connection, SLICE_BYTES.min(left));
            match filled {
                Filled::Empty => {}
                Filled::Slice => {
                    end.is_queued = true;
                    self.ready.push_back((id, channel));
                }
                Filled::Blocked if entry.blocked.contains(&channel) => {}
                Filled::Blocked => entry.blocked.push(channel),
            }
            left = left.saturating_sub(given);
        }
        !self.ready.is_empty()
    }
}

impl Drop for Connections {
    /// However the thread ends, all connections end, and waiting coroutines are woken.
    fn drop(&mut self) {
        for (_, entry) in self.peers.drain() {
            entry.set_state(PeerState::Closed, true);
            entry.channels.into_values().for_each(ChannelEntry::end);
        }
        self.queue.tell();
    }
}

/// Why `fill` stopped.
enum Filled {
    /// Everything was sent.
    Empty,
    /// The slice is used up; there is more to send.
    Slice,
    /// There is more to send, but no space.
    Blocked,
}

impl ChannelEntry {
    /// Sends up to `slice` bytes and one message. Returns the number of bytes.
    fn fill(&mut self, connection: &mut Connection<'_>, slice: usize) -> (usize, Filled) {
        let id = self.channel.id;
        let mut given = 0;
        let filled = loop {
            if given >= slice {
                break Filled::Slice;
            }
            let Some(message) = self.rest.front() else {
                let mut out = self.channel.out();
                if out.queue.is_empty() {
                    out.is_scheduled = false;
                    break Filled::Empty;
                }
                mem::swap(&mut self.rest, &mut out.queue);
                continue;
            };
            let sent = connection.send(id, message.kind(), message.bytes());
            if let Err(SendError::WouldBlock | SendError::Connecting) = sent {
                break Filled::Blocked;
            }
            // A refused message counts as sent: the channel is over. Messages that are too long were refused
            // before.
            let charge = message.charge();
            self.given += charge;
            given += charge as usize;
            self.rest.pop_front();
        };
        self.publish(connection);
        if self.is_closing && matches!(filled, Filled::Empty) {
            connection.close_channel(id);
        }
        (given, filled)
    }

    /// Publishes the buffered amount to Python, as far as it is awaited, and sets the stack's threshold for
    /// the next update.
    fn publish(&mut self, connection: &mut Connection<'_>) {
        let id = self.channel.id;
        let buffered = connection.buffered_amount(id) as u64;
        if let Some(next) = self.channel.note_sent(self.given.saturating_sub(buffered))
            && next <= self.given
        {
            let threshold = usize::try_from(self.given - next).unwrap_or(usize::MAX);
            if mem::replace(&mut self.armed, threshold) != threshold {
                connection.set_buffered_amount_low_threshold(id, threshold);
            }
        }
    }

    /// Ends the channel: queued messages will never be sent.
    fn end(self) {
        let mut out = self.channel.out();
        out.state = ChannelState::Closed;
        let never_sent = mem::take(&mut out.queue);
        drop(out);
        drop(never_sent);
        self.channel.raise(ROOM | CLOSED);
    }
}

impl PeerEntry {
    fn set_state(&self, state: PeerState, is_over: bool) {
        let mut now = self.peer.status();
        // An ICE restart has begun.
        now.failure.take_if(|_| state == PeerState::Connecting);
        (now.state, now.is_over) = (state, is_over);
        drop(now);
        self.peer.raise(STATE);
    }

    fn insert(
        &mut self,
        connection: &Connection<'_>,
        id: ChannelId,
        number: u64,
        label: String,
        options: ChannelOptions,
    ) -> Arc<SharedChannel> {
        let channel = SharedChannel::new(id, number, self.peer.clone(), label, options);
        note_stream(&channel, connection);
        let end = ChannelEntry {
            channel: channel.clone(),
            rest: VecDeque::new(),
            given: 0,
            armed: 0,
            is_queued: false,
            is_closing: false,
        };
        self.channels.insert(id, end);
        channel
    }

    /// Stores the longest message that the peer accepts; 0 means any. An accepted description has at most one
    /// such line.
    fn note_max_message(&self, description: &str) {
        let mut lines = description.lines();
        let said = lines.find_map(|line| line.trim_end().strip_prefix("a=max-message-size:")?.parse().ok());
        let bytes = match said {
            Some(0) => u64::MAX,
            Some(bytes) => bytes,
            None => DEFAULT_MESSAGE_BYTES,
        };
        self.peer.max_message_bytes.store(bytes, Ordering::Relaxed);
    }
}

impl Handler for Connections {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let id = connection.id();
        let Some(entry) = self.peers.get_mut(&id) else { return };
        match event {
            Event::State(state) => {
                let is_over = connection.is_over();
                entry.set_state(state, is_over);
                if is_over && let Some(entry) = self.peers.remove(&id) {
                    entry.channels.into_values().for_each(ChannelEntry::end);
                }
            }
            Event::Ice(state) => {
                entry.peer.status().ice = state;
                entry.peer.raise(STATE);
            }
            Event::Gathered => entry.peer.raise(GATHERED),
            Event::ServerFailed { url, why }
                if entry.peer.status().server_failures.len() < SERVER_FAILURES =>
            {
                entry.peer.status().server_failures.push((url, why));
                entry.peer.raise(GATHERED);
            }
            Event::Failed(error) => entry.peer.status().failure = Some(error.to_string()),
            Event::Incoming(channel) if entry.peer.status().incoming.len() >= WAITING_CHANNELS => {
                connection.close_channel(channel);
            }
            Event::Incoming(channel) => {
                self.numbers += 1;
                let options = connection.channel_options(channel).cloned().unwrap_or_default();
                let label = connection.label(channel).to_owned();
                let channel = entry.insert(connection, channel, self.numbers, label, options);
                entry.peer.status().incoming.push_back(channel);
                entry.peer.raise(INCOMING);
            }
            Event::Open(channel) => {
                let Some(end) = entry.channels.get(&channel) else { return };
                note_stream(&end.channel, connection);
                let mut out = end.channel.out();
                if out.state == ChannelState::Connecting {
                    out.state = ChannelState::Open;
                }
                drop(out);
                end.channel.raise(OPEN);
            }
            Event::ChannelClosed(channel) => {
                if let Some(end) = entry.channels.remove(&channel) {
                    end.end();
                }
            }
            Event::BufferedAmountLow(channel) => {
                if let Some(end) = entry.channels.get_mut(&channel) {
                    end.publish(connection);
                }
            }
            Event::Writable => {
                for channel in mem::take(&mut entry.blocked) {
                    let end = entry.channels.get_mut(&channel);
                    if end.is_some_and(|end| !mem::replace(&mut end.is_queued, true)) {
                        self.ready.push_back((id, channel));
                    }
                }
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let Some(entry) = self.peers.get(&connection.id()) else { return };
        let Some(end) = entry.channels.get(&message.channel).filter(|end| !end.is_closing) else { return };
        if entry.peer.pauses(charge(&message)) {
            connection.set_reading(false);
        }
        if end.channel.put(message) {
            end.channel.raise(READABLE);
        }
    }
}

fn note_stream(channel: &SharedChannel, connection: &Connection<'_>) {
    if let Some(stream) = connection.stream(channel.id) {
        // The stream does not change; a second call sets the same value.
        let _ = channel.stream.set(stream);
    }
}

impl std::fmt::Debug for ChannelEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelEntry")
            .field("channel", &self.channel.id)
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}
