//! The driver's side of all connections: what netdyno-rtc tells it goes to where Python finds it, and what Python gives goes to netdyno-rtc.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use netdyno_rtc::{
    ChannelId, ChannelOptions, ChannelState, Connection, ConnectionId, Endpoint, Error, Event, Handler,
    Message, PeerState, Port, SendError,
};

use crate::bell::{CLOSED, GATHERED, INCOMING, Mailbox, OPEN, READABLE, ROOM, STATE};
use crate::item::Item;
use crate::limits::{DEFAULT_MESSAGE_BYTES, SERVER_FAILURES, SLICE_BYTES, TURN_BYTES, WAITING_CHANNELS};
use crate::shared::{SharedChannel, SharedPeer, charge};

/// All connections of a driver.
#[derive(Debug)]
pub(crate) struct Ends {
    mailbox: Arc<Mailbox>,
    links: HashMap<ConnectionId, Link>,
    /// Who may have something to send and room for it, each once.
    hungry: VecDeque<(ConnectionId, ChannelId)>,
    numbers: u64,
}

#[derive(Debug)]
struct Link {
    peer: Arc<SharedPeer>,
    channels: BTreeMap<ChannelId, End>,
    /// Wait for the connection to be writable.
    blocked: Vec<ChannelId>,
}

/// This end of a channel.
struct End {
    channel: Arc<SharedChannel>,
    /// What was taken of the outbox and found no room.
    rest: VecDeque<Item>,
    /// Bytes that were given to the stack, or given up.
    given: u64,
    /// The threshold that the stack tells of.
    armed: usize,
    is_hungry: bool,
    is_closing: bool,
}

impl Ends {
    pub(crate) fn new(mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox, links: HashMap::new(), hungry: VecDeque::new(), numbers: 0 }
    }

    pub(crate) fn mailbox(&self) -> &Mailbox {
        &self.mailbox
    }

    /// A new connection.
    pub(crate) fn add(&mut self, endpoint: &mut Endpoint, port: Port) -> Result<Arc<SharedPeer>, Error> {
        let id = endpoint.add(port)?;
        self.numbers += 1;
        let peer = SharedPeer::new(id, self.numbers, self.mailbox.clone());
        let link = Link { peer: peer.clone(), channels: BTreeMap::new(), blocked: Vec::new() };
        self.links.insert(id, link);
        Ok(peer)
    }

    /// The peer's description was taken.
    pub(crate) fn described(&self, id: ConnectionId, description: &str) {
        if let Some(link) = self.links.get(&id) {
            link.note_max_message(description);
        }
    }

    /// A new channel of ours.
    pub(crate) fn create_channel(
        &mut self,
        endpoint: &mut Endpoint,
        id: ConnectionId,
        label: &str,
        options: ChannelOptions,
    ) -> Result<Arc<SharedChannel>, Error> {
        let (mut connection, link) =
            endpoint.connection(id).zip(self.links.get_mut(&id)).ok_or(Error::Closed)?;
        let channel = connection.create_channel(label, options.clone())?;
        self.numbers += 1;
        Ok(link.insert(&connection, channel, self.numbers, label.to_owned(), options))
    }

    /// There is something to send on a channel, or to look at.
    pub(crate) fn has_some(&mut self, channel: &SharedChannel) {
        let (id, channel) = (channel.peer.id, channel.id);
        let end = self.links.get_mut(&id).and_then(|link| link.channels.get_mut(&channel));
        if end.is_some_and(|end| !mem::replace(&mut end.is_hungry, true)) {
            self.hungry.push_back((id, channel));
        }
    }

    /// Closes a channel once all that Python gave has been sent.
    pub(crate) fn close_channel(&mut self, channel: &SharedChannel) {
        let link = self.links.get_mut(&channel.peer.id);
        if let Some(end) = link.and_then(|link| link.channels.get_mut(&channel.id)) {
            end.is_closing = true;
            self.has_some(channel);
        }
    }

    /// Gives the channels what Python wants to send, one after the other, as far as one turn goes. True if some are left.
    pub(crate) fn feed(&mut self, endpoint: &mut Endpoint) -> bool {
        let mut left = TURN_BYTES;
        while left > 0
            && let Some((id, channel)) = self.hungry.pop_front()
        {
            let Some(link) = self.links.get_mut(&id) else { continue };
            let Some(end) = link.channels.get_mut(&channel) else { continue };
            let Some(mut connection) = endpoint.connection(id) else { continue };
            end.is_hungry = false;
            let (given, filled) = end.fill(&mut connection, SLICE_BYTES.min(left));
            match filled {
                Filled::All => {}
                Filled::Slice => {
                    end.is_hungry = true;
                    self.hungry.push_back((id, channel));
                }
                Filled::Blocked if link.blocked.contains(&channel) => {}
                Filled::Blocked => link.blocked.push(channel),
            }
            left = left.saturating_sub(given);
        }
        !self.hungry.is_empty()
    }
}

impl Drop for Ends {
    /// However the thread ends: nothing will happen any more to any of them, which who waits is told.
    fn drop(&mut self) {
        for (_, link) in self.links.drain() {
            link.is_now(PeerState::Closed, true);
            link.channels.into_values().for_each(End::end);
        }
        self.mailbox.tell();
    }
}

/// Where a channel's feeding ended.
enum Filled {
    /// All was given.
    All,
    /// There is more, and it may be given.
    Slice,
    /// There is more, and no room.
    Blocked,
}

impl End {
    /// Gives the stack up to `slice` bytes and one message; how many those were.
    fn fill(&mut self, connection: &mut Connection<'_>, slice: usize) -> (usize, Filled) {
        let id = self.channel.id;
        let mut given = 0;
        let filled = loop {
            if given >= slice {
                break Filled::Slice;
            }
            let Some(item) = self.rest.front() else {
                let mut out = self.channel.out();
                if out.queue.is_empty() {
                    out.is_scheduled = false;
                    break Filled::All;
                }
                mem::swap(&mut self.rest, &mut out.queue);
                continue;
            };
            let sent = connection.send(id, item.kind(), item.bytes());
            if let Err(SendError::WouldBlock | SendError::Connecting) = sent {
                break Filled::Blocked;
            }
            // What is refused counts as gone: the channel is over, or Python was told before what is too long.
            let charge = item.charge();
            self.given += charge;
            given += charge as usize;
            self.rest.pop_front();
        };
        self.publish(connection);
        if self.is_closing && matches!(filled, Filled::All) {
            connection.close_channel(id);
        }
        (given, filled)
    }

    /// Tells Python how much is buffered, as far as it wants to know, and has the stack say when that must be looked at again.
    fn publish(&mut self, connection: &mut Connection<'_>) {
        let id = self.channel.id;
        let buffered = connection.buffered_amount(id) as u64;
        if let Some(next) = self.channel.gone(self.given.saturating_sub(buffered))
            && next <= self.given
        {
            let threshold = usize::try_from(self.given - next).unwrap_or(usize::MAX);
            if mem::replace(&mut self.armed, threshold) != threshold {
                connection.set_buffered_amount_low_threshold(id, threshold);
            }
        }
    }

    /// It is over: nothing that waits will be sent.
    fn end(self) {
        let mut out = self.channel.out();
        out.state = ChannelState::Closed;
        let never_sent = mem::take(&mut out.queue);
        drop(out);
        drop(never_sent);
        self.channel.ring(ROOM | CLOSED);
    }
}

impl Link {
    fn is_now(&self, state: PeerState, is_over: bool) {
        let mut now = self.peer.now();
        // A restart of ICE has begun.
        now.failure.take_if(|_| state == PeerState::Connecting);
        (now.state, now.is_over) = (state, is_over);
        drop(now);
        self.peer.ring(STATE);
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
        let end = End {
            channel: channel.clone(),
            rest: VecDeque::new(),
            given: 0,
            armed: 0,
            is_hungry: false,
            is_closing: false,
        };
        self.channels.insert(id, end);
        channel
    }

    /// The longest message that the peer takes; 0 is any. A description that was taken has no more than one such line.
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

impl Handler for Ends {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let id = connection.id();
        let Some(link) = self.links.get_mut(&id) else { return };
        match event {
            Event::State(state) => {
                let is_over = connection.is_over();
                link.is_now(state, is_over);
                if is_over && let Some(link) = self.links.remove(&id) {
                    link.channels.into_values().for_each(End::end);
                }
            }
            Event::Ice(state) => {
                link.peer.now().ice = state;
                link.peer.ring(STATE);
            }
            Event::Gathered => link.peer.ring(GATHERED),
            Event::ServerFailed { url, why } if link.peer.now().server_failures.len() < SERVER_FAILURES => {
                link.peer.now().server_failures.push((url, why));
                link.peer.ring(GATHERED);
            }
            Event::Failed(error) => link.peer.now().failure = Some(error.to_string()),
            Event::Incoming(channel) if link.peer.now().incoming.len() >= WAITING_CHANNELS => {
                connection.close_channel(channel);
            }
            Event::Incoming(channel) => {
                self.numbers += 1;
                let options = connection.channel_options(channel).cloned().unwrap_or_default();
                let label = connection.label(channel).to_owned();
                let channel = link.insert(connection, channel, self.numbers, label, options);
                link.peer.now().incoming.push_back(channel);
                link.peer.ring(INCOMING);
            }
            Event::Open(channel) => {
                let Some(end) = link.channels.get(&channel) else { return };
                note_stream(&end.channel, connection);
                let mut out = end.channel.out();
                if out.state == ChannelState::Connecting {
                    out.state = ChannelState::Open;
                }
                drop(out);
                end.channel.ring(OPEN);
            }
            Event::ChannelClosed(channel) => {
                if let Some(end) = link.channels.remove(&channel) {
                    end.end();
                }
            }
            Event::BufferedAmountLow(channel) => {
                if let Some(end) = link.channels.get_mut(&channel) {
                    end.publish(connection);
                }
            }
            Event::Writable => {
                for channel in mem::take(&mut link.blocked) {
                    let end = link.channels.get_mut(&channel);
                    if end.is_some_and(|end| !mem::replace(&mut end.is_hungry, true)) {
                        self.hungry.push_back((id, channel));
                    }
                }
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let Some(link) = self.links.get(&connection.id()) else { return };
        let Some(end) = link.channels.get(&message.channel).filter(|end| !end.is_closing) else { return };
        if link.peer.pauses(charge(&message)) {
            connection.set_reading(false);
        }
        if end.channel.put(message) {
            end.channel.ring(READABLE);
        }
    }
}

fn note_stream(channel: &SharedChannel, connection: &Connection<'_>) {
    if let Some(stream) = connection.stream(channel.id) {
        // It does not change; who comes second says the same.
        let _ = channel.stream.set(stream);
    }
}

impl std::fmt::Debug for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("End")
            .field("channel", &self.channel.id)
            .field("given", &self.given)
            .finish_non_exhaustive()
    }
}
