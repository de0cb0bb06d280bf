//! Opening data channels: streams by parity, OPEN and ACK (RFC 8832).

use std::time::Instant;

use netdyno_sctp::{Association, Ppid, SendOptions, StreamId};

use super::channels::{Channel, STREAM_MAX};
use super::{ChannelId, ChannelOptions, ChannelState, Event, PeerConnection};
use crate::dcep::{ACK, Open};
use crate::dtls::Role;
use crate::error::ChannelError;

impl PeerConnection {
    /// DTLS is connected: assigns streams to channels without one, and opens all channels.
    pub(super) fn open_waiting_channels(&mut self, now: Instant, role: Role) {
        for id in self.channels.ids() {
            let streams = self.streams();
            let needs_stream = self.channels.get(id).is_some_and(|channel| channel.stream.is_none());
            let free = if needs_stream { self.channels.free_stream(role, streams) } else { None };
            match free {
                None if needs_stream => self.finish(id, true),
                Some(stream) => {
                    self.channels.assign(id, stream);
                    self.open(now, id);
                }
                None => self.open(now, id),
            }
        }
    }

    /// The association is established: closes channels on streams that the peer lacks, and performs postponed
    /// resets.
    pub(super) fn association_is_open(&mut self, now: Instant) {
        let streams = self.streams();
        for id in self.channels.ids() {
            let Some(channel) = self.channels.get(id) else { continue };
            if channel.stream.is_some_and(|stream| stream >= streams) {
                self.finish(id, true);
            } else if channel.state == ChannelState::Closing {
                self.reset(id);
            }
        }
        self.pay_owed(now);
    }

    /// The association has space again: first for postponed OPENs and ACKs, then for the application.
    pub(super) fn association_is_writable(&mut self, now: Instant) {
        self.pay_owed(now);
        self.tell(Event::Writable);
    }

    /// Sends OPENs and ACKs that were postponed for lack of space.
    pub(super) fn pay_owed(&mut self, now: Instant) {
        for _ in 0..self.channels.owed.len() {
            if let Some(id) = self.channels.owed.pop_front() {
                self.open(now, ChannelId(id));
            }
        }
    }

    /// The peer opens a channel (RFC 8832 section 6). Its stream should have the peer's parity. Some peers
    /// confuse the offerer's and answerer's roles with the DTLS roles; if the stream is free, that does no
    /// harm.
    pub(super) fn peer_opens(&mut self, stream: StreamId, open: Open<'_>) {
        // A peer that reuses the stream has accepted our reset, even if its answer has not arrived.
        if let Some((id, channel)) = self.channels.at_stream(stream)
            && channel.resets.theirs
            && channel.resets.asked
        {
            self.finish(id, true);
        }
        let longest = self.config.limits.max_label_bytes;
        let refused = stream.0 > STREAM_MAX
            || self.channels.uses(stream.0)
            || self.channels.len() >= self.config.limits.max_channels
            || open.label.len() > longest
            || open.protocol.len() > longest;
        let options = ChannelOptions {
            ordered: open.ordered,
            reliability: open.reliability,
            protocol: open.protocol.into(),
            negotiated: None,
            priority: open.priority,
        };
        let mut channel = Channel::new(open.label, options);
        channel.is_of_peer = true;
        channel.acknowledged = true;
        channel.stream = Some(stream.0);
        match if refused { Err(ChannelError::Id) } else { self.channels.insert(channel) } {
            Ok(id) => {
                self.unpolled_incoming += 1;
                self.tell(Event::Incoming(id));
                self.open(self.now, id);
            }
            Err(_) => self.refuse(stream),
        }
    }

    /// Sends the in-band message if required, and reports the channel as open; postponed if there is no
    /// space.
    pub(super) fn open(&mut self, now: Instant, id: ChannelId) {
        let Some(channel) = self.channels.get_mut(id) else { return };
        let (Some(stream), Some(association)) = (channel.stream, &mut self.transport.association) else {
            return;
        };
        if channel.state != ChannelState::Connecting {
            return;
        }
        if !say_opening(association, now, StreamId(stream), channel) {
            self.channels.owed.push_back(id.0);
            return;
        }
        channel.state = ChannelState::Open;
        if channel.options.priority != ChannelOptions::default().priority {
            association.set_priority(StreamId(stream), channel.options.priority);
        }
        association.set_buffered_amount_low_threshold(StreamId(stream), channel.low_threshold);
        self.counters.channels_opened += 1;
        self.tell(Event::Open(id));
    }
}

/// Sends OPEN or ACK in order and reliably (RFC 8832 section 6). Returns whether it was accepted.
fn say_opening(association: &mut Association, now: Instant, stream: StreamId, channel: &mut Channel) -> bool {
    let message = match (channel.is_of_peer, channel.options.negotiated) {
        (_, Some(_)) => return true,
        (true, None) => ACK.to_vec(),
        (false, None) => Open {
            ordered: channel.options.ordered,
            reliability: channel.options.reliability,
            priority: channel.options.priority,
            label: &channel.label,
            protocol: &channel.options.protocol,
        }
        .to_bytes(),
    };
    if association.send(now, stream, Ppid::DCEP, &message, SendOptions::default()).is_err() {
        return false;
    }
    channel.dcep_bytes = message.len() as u32;
    channel.taken_bytes = message.len() as u64;
    true
}
