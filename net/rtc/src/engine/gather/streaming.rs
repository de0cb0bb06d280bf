//! Streams to TURN servers (RFC 8656, section 2.1).
//!
//! A stream that fails is opened again while a first answer is awaited. After that, or if a relayed address
//! is lost with it, an event gives the application the reason.

use super::super::state::Engine;
use super::relay::ServerLink;
use crate::servers::Transport;
use crate::streams::{Frames, Owner, StreamError, StreamEvent, StreamId};

impl Engine {
    /// Opens the stream of a relay, if due.
    pub(super) fn open_stream(&mut self, number: u32) {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return };
        if relay.is_over() || !matches!(relay.link, ServerLink::Due(at) if at <= time) {
            return;
        }
        let server = relay.server();
        let secure = match &server.transport {
            Transport::Tls(secure) => Some(secure),
            _ => None,
        };
        // From the bound address, if it is specified.
        let local = Some(self.ports.bound().ip()).filter(|ip| !ip.is_unspecified());
        let opened =
            self.streams.open(self.ports.poller(), local, server.address, secure, Owner::Relay(number));
        match opened {
            Ok(stream) => relay.link = ServerLink::Opening(stream),
            Err(StreamError { why, is_final }) => relay.lose_stream(time, why, is_final),
        }
    }

    /// Handles an event other than frames on the stream of a relay.
    pub(in super::super) fn handle_stream_event(
        &mut self,
        number: u32,
        stream: StreamId,
        event: StreamEvent,
    ) {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return };
        if !relay.has_stream(stream) {
            return;
        }
        match event {
            StreamEvent::Open => relay.link = ServerLink::Stream(stream),
            StreamEvent::Lost(StreamError { why, is_final }) => relay.lose_stream(time, why, is_final),
            StreamEvent::Frames(_) => return,
        }
        self.gathering.relay_timers.arm(number, Some(self.now));
    }

    /// Processes frames received on the stream of a relay; returns the cost.
    pub(in super::super) fn receive_frames(
        &mut self,
        number: u32,
        stream: StreamId,
        frames: &mut Frames,
    ) -> usize {
        let relay = self.gathering.relays.get(number as usize);
        if !relay.is_some_and(|relay| relay.has_stream(stream)) {
            return 1;
        }
        self.unwrap_relayed(number, &mut frames.bytes, frames.datagrams.drain(..))
    }
}
