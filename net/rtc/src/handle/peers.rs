//! State of connections and channels for their handles: the handler of the shared engine.

use std::collections::{BTreeMap, VecDeque};
use std::task::Waker;

use netdyno_io::hub::Waiters;
use netdyno_rtc_core::{self as core, ChannelId, Event, Message, PeerState};
use slab::Slab;

use crate::engine::{Connection, ConnectionId, Handler};
use crate::error::Error;
use crate::limits::{MESSAGE_OVERHEAD_BYTES, SERVER_FAILURES, WAITING_BYTES, WAITING_CHANNELS};

/// State of one data channel.
#[derive(Debug, Default)]
pub(super) struct ChannelState {
    pub(super) queue: VecDeque<Message>,
    pub(super) is_open: bool,
    /// Closed locally; data sent before may still be in flight.
    pub(super) is_closing: bool,
    /// How it ended, once it is over.
    pub(super) end: Option<ChannelEnd>,
    /// Waiting for messages.
    pub(super) readers: Waiters,
    /// Waiting for space in the send buffer, or for a change of state.
    pub(super) writers: Waiters,
    /// The highest buffered amount that a writer waits for.
    pub(super) awaited_bytes: usize,
}

/// How a data channel ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChannelEnd {
    /// Both sides have reset their streams: everything sent was delivered.
    Closed,
    /// The connection was closed.
    Cut,
    /// The connection failed.
    Failed,
}

impl ChannelState {
    /// Whether nothing can be sent any more.
    pub(super) fn takes_no_more(&self) -> bool {
        self.is_closing || self.end.is_some()
    }

    /// Closes it locally and wakes all waiters.
    pub(super) fn close(&mut self, woken: &mut Vec<Waker>) {
        self.is_closing = true;
        self.readers.wake(woken);
        self.writers.wake(woken);
    }
}

/// State of one connection.
#[derive(Debug)]
pub(super) struct PeerEntry {
    pub(super) id: ConnectionId,
    pub(super) state: PeerState,
    pub(super) failure: Option<core::Error>,
    pub(super) is_over: bool,
    pub(super) channels: BTreeMap<ChannelId, ChannelState>,
    /// Channels opened by the peer and not accepted yet, with their labels, because the connection forgets
    /// closed channels.
    pub(super) incoming: VecDeque<(ChannelId, String)>,
    pub(super) acceptors: Waiters,
    /// Local candidates found since the first description; bounded by the connection.
    pub(super) candidates: VecDeque<String>,
    /// Failures of servers, the latest last.
    pub(super) server_failures: VecDeque<String>,
    /// Waiting for a change of state.
    pub(super) watchers: Waiters,
    /// Charge of all queued messages.
    pub(super) waiting_bytes: usize,
    pub(super) is_reading: bool,
}

impl PeerEntry {
    /// Takes a message from a channel's queue.
    pub(super) fn take(&mut self, channel: ChannelId) -> Option<Message> {
        let message = self.channels.get_mut(&channel)?.queue.pop_front()?;
        self.waiting_bytes = self.waiting_bytes.saturating_sub(charge(&message));
        Some(message)
    }

    /// Whether reading must resume, because enough was taken; true once.
    pub(super) fn resumes(&mut self) -> bool {
        let resumes = !self.is_reading && self.waiting_bytes <= WAITING_BYTES / 2;
        self.is_reading |= resumes;
        resumes
    }

    /// Removes a channel whose handle was dropped, and its queue.
    pub(super) fn forget(&mut self, channel: ChannelId) {
        if let Some(state) = self.channels.remove(&channel) {
            let charged: usize = state.queue.iter().map(charge).sum();
            self.waiting_bytes = self.waiting_bytes.saturating_sub(charged);
        }
    }

    /// The reason why it is over.
    pub(super) fn end_reason(&self) -> Error {
        self.failure.clone().map_or(Error::Closed, Error::Peer)
    }

    fn end(&mut self, state: PeerState, woken: &mut Vec<Waker>) {
        (self.state, self.is_over) = (state, true);
        let end = if self.failure.is_some() { ChannelEnd::Failed } else { ChannelEnd::Cut };
        for channel in self.channels.values_mut() {
            channel.end.get_or_insert(end);
            channel.readers.wake(woken);
            channel.writers.wake(woken);
        }
        self.acceptors.wake(woken);
        self.watchers.wake(woken);
    }
}

/// All connections of a hub.
#[derive(Debug, Default)]
pub(super) struct Peers {
    slab: Slab<PeerEntry>,
    /// The slab key for each connection index of the engine.
    keys: Vec<usize>,
    /// Wakers to call after the lock is released.
    pub(super) woken: Vec<Waker>,
}

impl Peers {
    pub(super) fn add(&mut self, id: ConnectionId) -> usize {
        let key = self.slab.insert(PeerEntry {
            id,
            state: PeerState::New,
            failure: None,
            is_over: false,
            channels: BTreeMap::new(),
            incoming: VecDeque::new(),
            acceptors: Waiters::default(),
            candidates: VecDeque::new(),
            server_failures: VecDeque::new(),
            watchers: Waiters::default(),
            waiting_bytes: 0,
            is_reading: true,
        });
        let at = id.index as usize;
        if self.keys.len() <= at {
            self.keys.resize(at + 1, usize::MAX);
        }
        self.keys[at] = key;
        key
    }

    /// The last handle was dropped, so nothing waits any more.
    pub(super) fn remove(&mut self, key: usize) {
        self.slab.try_remove(key);
    }

    /// A key is valid as long as its handle.
    pub(super) fn get_mut(&mut self, key: usize) -> Option<&mut PeerEntry> {
        self.slab.get_mut(key)
    }

    /// Closes a channel locally.
    pub(super) fn close_channel(&mut self, key: usize, channel: ChannelId) {
        let Some(peer) = self.slab.get_mut(key) else { return };
        if let Some(channel) = peer.channels.get_mut(&channel) {
            channel.close(&mut self.woken);
        }
    }

    /// Ends all connections.
    pub(super) fn end_all(&mut self) {
        for (_, peer) in &mut self.slab {
            if !peer.is_over {
                peer.end(PeerState::Closed, &mut self.woken);
            }
        }
    }

    fn find(&mut self, id: ConnectionId) -> Option<(&mut PeerEntry, &mut Vec<Waker>)> {
        let &key = self.keys.get(id.index as usize)?;
        let peer = self.slab.get_mut(key).filter(|peer| peer.id == id)?;
        Some((peer, &mut self.woken))
    }
}

impl Handler for Peers {
    fn on_event(&mut self, connection: &mut Connection<'_>, event: Event) {
        let Some((peer, woken)) = self.find(connection.id()) else { return };
        match event {
            Event::State(state @ (PeerState::Closed | PeerState::Failed)) if connection.is_over() => {
                peer.end(state, woken);
            }
            Event::State(state) => {
                peer.state = state;
                // An ICE restart has begun.
                peer.failure.take_if(|_| state != PeerState::Failed);
                peer.watchers.wake(woken);
            }
            Event::Failed(error) => peer.failure = Some(error),
            Event::Candidate(line) => {
                peer.candidates.push_back(line);
                peer.watchers.wake(woken);
            }
            Event::Gathered => peer.watchers.wake(woken),
            Event::ServerFailed { url, why } => {
                if peer.server_failures.len() == SERVER_FAILURES {
                    peer.server_failures.pop_front();
                }
                peer.server_failures.push_back(format!("{url}: {why}"));
            }
            Event::Incoming(channel) if peer.incoming.len() >= WAITING_CHANNELS => {
                connection.close_channel(channel);
            }
            Event::Incoming(channel) => {
                peer.channels.insert(channel, ChannelState::default());
                peer.incoming.push_back((channel, connection.label(channel).to_owned()));
                peer.acceptors.wake(woken);
            }
            Event::Writable => peer.channels.values_mut().for_each(|channel| channel.writers.wake(woken)),
            Event::Open(channel) | Event::BufferedAmountLow(channel) | Event::ChannelClosed(channel) => {
                let Some(state) = peer.channels.get_mut(&channel) else { return };
                match event {
                    Event::Open(_) => state.is_open = true,
                    Event::ChannelClosed(_) => {
                        state.end.get_or_insert(ChannelEnd::Closed);
                        state.readers.wake(woken);
                    }
                    _ => state.awaited_bytes = 0,
                }
                state.writers.wake(woken);
            }
            _ => {}
        }
    }

    fn on_message(&mut self, connection: &mut Connection<'_>, message: Message) {
        let Some((peer, woken)) = self.find(connection.id()) else { return };
        let Some(channel) = peer.channels.get_mut(&message.channel) else { return };
        peer.waiting_bytes += charge(&message);
        channel.queue.push_back(message);
        channel.readers.wake(woken);
        if peer.waiting_bytes > WAITING_BYTES {
            peer.is_reading = false;
            connection.set_reading(false);
        }
    }
}

fn charge(message: &Message) -> usize {
    message.data.len() + MESSAGE_OVERHEAD_BYTES
}
