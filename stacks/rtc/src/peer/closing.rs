//! Closing data channels: each side resets its stream (RFC 8831 section 6.7), and then both ids are free
//! again.

use std::time::Instant;

use netdyno_sctp::{ResetError, StreamId};

use super::channels::Channel;
use super::{ChannelId, ChannelState, Event, PeerConnection};

impl PeerConnection {
    /// Closes a channel once what is buffered has been sent. Messages that arrive later are dropped.
    pub fn close_channel(&mut self, now: Instant, channel: ChannelId) {
        self.now = now;
        let id = channel;
        if self.is_over() {
            return;
        }
        let Some(channel) = self.channels.get_mut(id) else { return };
        match channel.state {
            // The peer does not know of it yet.
            ChannelState::Connecting if !channel.is_of_peer => self.finish(id, true),
            ChannelState::Connecting | ChannelState::Open => {
                channel.state = ChannelState::Closing;
                channel.discards = true;
                self.reset(id);
            }
            ChannelState::Closing | ChannelState::Closed => {}
        }
    }

    /// Requests the reset of our stream, if not done yet and possible now.
    pub(super) fn reset(&mut self, id: ChannelId) {
        let Some(channel) = self.channels.get(id).filter(|channel| !channel.resets.asked) else { return };
        let (Some(stream), Some(association)) = (channel.stream, &mut self.transport.association) else {
            return;
        };
        // The previous channel's reset of this stream is still pending; this one's follows it.
        if self.channels.resetting.contains(&stream) {
            return;
        }
        match association.reset_streams(&[StreamId(stream)]) {
            Ok(()) => {
                self.channels.resetting.insert(stream);
                if let Some(channel) = self.channels.get_mut(id) {
                    channel.resets.asked = true;
                }
            }
            // Requested again once the association is established.
            Err(ResetError::NotOpen) => {}
            // The peer will not be notified: the stream must not be reused.
            Err(_) => self.finish(id, false),
        }
    }

    /// The peer has reset these streams, or all if the list is empty. Everything it sent before was received
    /// from the association.
    pub(super) fn streams_were_reset(&mut self, streams: &[StreamId]) {
        let ids = match streams {
            [] => self.channels.ids(),
            _ => streams.iter().filter_map(|&stream| Some(self.channels.at_stream(stream)?.0)).collect(),
        };
        for id in ids {
            let Some(channel) = self.channels.get_mut(id) else { continue };
            channel.state = ChannelState::Closing;
            channel.resets.theirs = true;
            self.reset(id);
            self.finish_if_reset(id);
        }
    }

    /// The peer has accepted or refused the reset of our streams: nothing more is sent there in either case.
    pub(super) fn own_streams_are_reset(&mut self, now: Instant, streams: &[StreamId]) {
        for &stream in streams {
            self.channels.resetting.remove(&stream.0);
            let Some((id, channel)) = self.channels.at_stream(stream) else { continue };
            channel.resets.ours = channel.resets.asked;
            if channel.resets.ours {
                self.finish_if_reset(id);
            } else if channel.state == ChannelState::Closing {
                self.reset(id);
            }
        }
        // A channel that the peer reopened on such a stream could not be acknowledged before.
        self.pay_owed(now);
    }

    /// Closes the channel once both streams are reset and the last message was received.
    pub(super) fn finish_if_reset(&mut self, id: ChannelId) {
        let is_reset = |channel: &Channel| channel.resets.ours && channel.resets.theirs;
        let waits = self.transport.waiting.as_ref().is_some_and(|message| message.channel == id);
        if !waits && self.channels.get(id).is_some_and(is_reset) {
            self.finish(id, true);
        }
    }

    /// The channel is closed.
    pub(super) fn finish(&mut self, id: ChannelId, frees_stream: bool) {
        if self.channels.remove(id, frees_stream).is_some() {
            self.counters.channels_closed += 1;
            self.tell(Event::ChannelClosed(id));
        }
    }

    /// The peer has started a new association (RFC 9260 section 5.2.4): its channels ended with the old one.
    pub(super) fn close_all_channels(&mut self) {
        for id in self.channels.ids() {
            self.finish(id, true);
        }
    }

    /// The peer sent invalid DCEP or an inadmissible OPEN: the stream is reset (RFC 8832 section 6), and the
    /// channel on it, if any, is closed.
    pub(super) fn refuse(&mut self, stream: StreamId) {
        if let Some((id, _)) = self.channels.at_stream(stream) {
            return self.close_channel(self.now, id);
        }
        if let Some(association) = &mut self.transport.association {
            // A peer without stream resets keeps a half-open channel; there is no other way to notify it.
            if association.reset_streams(&[stream]).is_ok() {
                self.channels.resetting.insert(stream.0);
            }
        }
    }
}
