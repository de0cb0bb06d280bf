//! Data channels, their streams, and how they open.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use netdyno_sctp::{Ppid, SendOptions, StreamId};

use super::{ChannelId, ChannelOptions, ChannelState, Event, Kind, PeerConnection};
use crate::dtls::Role;
use crate::error::{ChannelError, SendError};
use crate::stats::ChannelStats;

/// The largest stream of a data channel (RFC 8832 section 6).
pub(super) const STREAM_MAX: u16 = 65_534;

/// A data channel.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) label: Box<str>,
    pub(super) options: ChannelOptions,
    pub(super) stream: Option<u16>,
    pub(super) state: ChannelState,
    /// The peer opened it.
    pub(super) is_of_peer: bool,
    /// Until the peer has acknowledged the channel, messages are sent in order (RFC 8832 section 6).
    pub(super) acknowledged: bool,
    pub(super) low_threshold: usize,
    /// Bytes of DCEP before the first message on the stream.
    pub(super) dcep_bytes: u32,
    /// Bytes passed to the association, including DCEP.
    pub(super) taken_bytes: u64,
    /// The channel was closed here: further messages are not delivered.
    pub(super) discards: bool,
    /// Progress of closing the channel.
    pub(super) resets: Resets,
    pub(super) stats: ChannelStats,
}

/// The two halves of closing (RFC 8831 section 6.7): each side resets its stream.
#[derive(Debug, Default)]
pub(super) struct Resets {
    /// Our reset was requested.
    pub(super) asked: bool,
    /// Our reset is complete.
    pub(super) ours: bool,
    /// The peer's reset is complete, and everything before it was received from the association.
    pub(super) theirs: bool,
}

impl Channel {
    pub(super) fn new(label: &str, options: ChannelOptions) -> Self {
        Self {
            label: label.into(),
            stream: options.negotiated,
            state: ChannelState::Connecting,
            is_of_peer: false,
            acknowledged: options.negotiated.is_some(),
            options,
            low_threshold: 0,
            dcep_bytes: 0,
            taken_bytes: 0,
            discards: false,
            resets: Resets::default(),
            stats: ChannelStats::default(),
        }
    }

    fn send_options(&self) -> SendOptions {
        let unordered = self.acknowledged && !self.options.ordered;
        SendOptions { unordered, reliability: self.options.reliability }
    }
}

/// The data channels of a peer connection.
#[derive(Debug, Default)]
pub(super) struct Channels {
    by_id: BTreeMap<u32, Box<Channel>>,
    by_stream: BTreeMap<u16, u32>,
    next_id: u32,
    /// No stream of our parity below this is free.
    lowest_free: u16,
    /// Our streams with a pending reset.
    pub(super) resetting: BTreeSet<u16>,
    /// Channels whose OPEN or ACK could not be sent for lack of space.
    pub(super) owed: VecDeque<u32>,
    /// After the end: the next channel to report as closed.
    told_closed: u32,
}

impl Channels {
    pub(super) fn get(&self, id: ChannelId) -> Option<&Channel> {
        self.by_id.get(&id.0).map(|channel| &**channel)
    }

    pub(super) fn get_mut(&mut self, id: ChannelId) -> Option<&mut Channel> {
        self.by_id.get_mut(&id.0).map(|channel| &mut **channel)
    }

    pub(super) fn at_stream(&mut self, stream: StreamId) -> Option<(ChannelId, &mut Channel)> {
        let id = *self.by_stream.get(&stream.0)?;
        Some((ChannelId(id), self.by_id.get_mut(&id)?))
    }

    /// Number of channels.
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether a channel uses the stream.
    pub(super) fn uses(&self, stream: u16) -> bool {
        self.by_stream.contains_key(&stream)
    }

    /// Assigns a stream to a channel.
    pub(super) fn assign(&mut self, id: ChannelId, stream: u16) {
        if let Some(channel) = self.by_id.get_mut(&id.0) {
            channel.stream = Some(stream);
            self.by_stream.insert(stream, id.0);
        }
    }

    pub(super) fn ids(&self) -> Vec<ChannelId> {
        self.by_id.keys().copied().map(ChannelId).collect()
    }

    /// After the end: returns one channel after the other.
    pub(super) fn next_of_all(&mut self) -> Option<ChannelId> {
        let (&id, _) = self.by_id.range(self.told_closed..).next()?;
        self.told_closed = id + 1;
        Some(ChannelId(id))
    }

    /// Removes a channel; its stream is free again unless it could not be reset.
    pub(super) fn remove(&mut self, id: ChannelId, frees_stream: bool) -> Option<Box<Channel>> {
        let channel = self.by_id.remove(&id.0)?;
        if let Some(stream) = channel.stream.filter(|_| frees_stream) {
            self.by_stream.remove(&stream);
            self.lowest_free = self.lowest_free.min(stream);
        }
        Some(channel)
    }

    pub(super) fn insert(&mut self, channel: Channel) -> Result<ChannelId, ChannelError> {
        let id = self.next_id;
        // The last id stays unused, so that every id has a successor.
        self.next_id = id.checked_add(1).ok_or(ChannelError::Id)?;
        if let Some(stream) = channel.stream {
            self.by_stream.insert(stream, id);
        }
        self.by_id.insert(id, Box::new(channel));
        Ok(ChannelId(id))
    }

    /// The lowest free stream of our parity: even for the DTLS client, odd for the server (RFC 8832 section
    /// 6).
    pub(super) fn free_stream(&mut self, role: Role, streams: u16) -> Option<u16> {
        let parity = parity_of(role);
        let mut stream = if self.lowest_free % 2 == parity { self.lowest_free } else { self.lowest_free + 1 };
        while stream < streams {
            if !self.by_stream.contains_key(&stream) {
                self.lowest_free = stream;
                return Some(stream);
            }
            stream = stream.checked_add(2)?;
        }
        None
    }
}

/// Parity of the streams on which this side opens channels.
pub(super) fn parity_of(role: Role) -> u16 {
    match role {
        Role::Client => 0,
        Role::Server => 1,
    }
}

impl PeerConnection {
    // -- getters of channels --

    /// The state of a channel.
    pub fn channel_state(&self, channel: ChannelId) -> ChannelState {
        match self.channels.get(channel) {
            Some(channel) if !self.is_over() => channel.state,
            _ => ChannelState::Closed,
        }
    }

    /// The label of a channel; empty if the channel does not exist.
    pub fn label(&self, channel: ChannelId) -> &str {
        self.channels.get(channel).map_or("", |channel| &channel.label)
    }

    /// The options of a channel.
    pub fn channel_options(&self, channel: ChannelId) -> Option<&ChannelOptions> {
        self.channels.get(channel).map(|channel| &channel.options)
    }

    /// The SCTP stream of a channel, once known (W3C `id`).
    pub fn stream(&self, channel: ChannelId) -> Option<u16> {
        self.channels.get(channel)?.stream
    }

    /// Payload bytes not yet sent for the first time (W3C bufferedAmount). An empty message counts as one
    /// byte.
    pub fn buffered_amount(&self, channel: ChannelId) -> usize {
        let found = self.channels.get(channel).and_then(|channel| Some((channel, channel.stream?)));
        let Some(((channel, stream), association)) = found.zip(self.transport.association.as_ref()) else {
            return 0;
        };
        let buffered = association.buffered_amount(StreamId(stream));
        // DCEP precedes all messages on the stream and is not payload.
        let left = channel.taken_bytes.saturating_sub(buffered as u64);
        let of_dcep = u64::from(channel.dcep_bytes).saturating_sub(left);
        buffered.saturating_sub(of_dcep as usize)
    }

    /// Statistics of a channel.
    pub fn channel_stats(&self, channel: ChannelId) -> ChannelStats {
        self.channels.get(channel).map(|channel| channel.stats).unwrap_or_default()
    }

    // -- channels --

    /// Creates a data channel. May be called at any time; messages can be sent once it is open.
    pub fn create_channel(
        &mut self,
        now: Instant,
        label: &str,
        options: ChannelOptions,
    ) -> Result<ChannelId, ChannelError> {
        self.now = now;
        if self.is_over() {
            return Err(ChannelError::Closed);
        }
        let longest = self.config.limits.max_label_bytes.min(usize::from(u16::MAX));
        if label.len() > longest || options.protocol.len() > longest {
            return Err(ChannelError::Label);
        }
        let full = self.channels.len() >= self.config.limits.max_channels;
        let taken = options
            .negotiated
            .is_some_and(|stream| stream >= self.streams() || self.channels.by_stream.contains_key(&stream));
        if full || taken {
            return Err(ChannelError::Id);
        }
        let mut channel = Channel::new(label, options);
        let role = self.signaling.agreed.map(|agreed| agreed.role).filter(|_| self.transport.is_connected());
        if let (None, Some(role)) = (channel.stream, role) {
            let streams = self.streams();
            channel.stream = Some(self.channels.free_stream(role, streams).ok_or(ChannelError::Id)?);
        }
        let id = self.channels.insert(channel)?;
        if role.is_some() {
            self.open(now, id);
        }
        Ok(id)
    }

    /// Queues a message and copies it once.
    pub fn send(
        &mut self,
        now: Instant,
        channel: ChannelId,
        kind: Kind,
        data: &[u8],
    ) -> Result<(), SendError> {
        self.now = now;
        if self.is_over() {
            return Err(if self.failure.is_some() { SendError::Failed } else { SendError::Closed });
        }
        if kind == Kind::Text && std::str::from_utf8(data).is_err() {
            return Err(SendError::NotUtf8);
        }
        let channel = self.channels.get_mut(channel).ok_or(SendError::Closed)?;
        match channel.state {
            ChannelState::Open => {}
            ChannelState::Connecting => return Err(SendError::Connecting),
            ChannelState::Closing | ChannelState::Closed => return Err(SendError::Closed),
        }
        let association = self.transport.association.as_mut().ok_or(SendError::Closed)?;
        let stream = StreamId(channel.stream.ok_or(SendError::Connecting)?);
        // SCTP has no empty messages: they are sent as one byte (RFC 8831 section 6.6).
        let (ppid, payload) = match (kind, data.is_empty()) {
            (Kind::Text, false) => (Ppid::STRING, data),
            (Kind::Binary, false) => (Ppid::BINARY, data),
            (Kind::Text, true) => (Ppid::STRING_EMPTY, &[0][..]),
            (Kind::Binary, true) => (Ppid::BINARY_EMPTY, &[0][..]),
        };
        association.send(now, stream, ppid, payload, channel.send_options()).map_err(send_error)?;
        channel.taken_bytes += payload.len() as u64;
        channel.stats.messages_sent += 1;
        channel.stats.bytes_sent += data.len() as u64;
        Ok(())
    }

    /// Sets the threshold of [`Event::BufferedAmountLow`], which occurs when the buffered amount drops to it.
    /// Initially 0.
    pub fn set_buffered_amount_low_threshold(&mut self, channel: ChannelId, bytes: usize) {
        let Some(channel) = self.channels.get_mut(channel) else { return };
        channel.low_threshold = bytes;
        if let (Some(stream), Some(association)) = (channel.stream, &mut self.transport.association) {
            association.set_buffered_amount_low_threshold(StreamId(stream), bytes);
        }
    }

    // -- helpers --

    pub(super) fn buffered_amount_is_low(&mut self, stream: StreamId) {
        if let Some((id, channel)) = self.channels.at_stream(stream) {
            // Before the first message only DCEP has been sent.
            if channel.stats.messages_sent > 0 {
                self.tell(Event::BufferedAmountLow(id));
            }
        }
    }

    /// Number of streams that channels may use: the peer's limit once it is known.
    pub(super) fn streams(&self) -> u16 {
        let association = self.transport.association.as_ref();
        let known = association.map(|association| association.outbound_streams()).filter(|count| *count > 0);
        known.unwrap_or(STREAM_MAX + 1)
    }
}

fn send_error(error: netdyno_sctp::SendError) -> SendError {
    match error {
        netdyno_sctp::SendError::WouldBlock => SendError::WouldBlock,
        netdyno_sctp::SendError::TooLong { length, limit } => SendError::TooLong { length, limit },
        _ => SendError::Closed,
    }
}
