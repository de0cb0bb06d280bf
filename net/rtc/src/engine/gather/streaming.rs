//! Streams towards TURN servers (RFC 8656 section 2.1): when they are opened, and what comes of them.
//!
//! One that cannot be opened, or is lost, is tried again as long as a server's first answer is waited for; then, and when an address is lost with
//! it, the application is told why.

use super::super::state::Engine;
use super::relay::Line;
use crate::servers::Transport;
use crate::streams::{Frames, Loss, News, Owner, StreamId};

impl Engine {
    /// Opens the stream of a relay, if that is due.
    pub(super) fn open_stream(&mut self, number: u32) {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return };
        if relay.is_over() || !matches!(relay.line, Line::Due(at) if at <= time) {
            return;
        }
        let server = relay.server();
        let secure = match &server.transport {
            Transport::Tls(secure) => Some(secure),
            _ => None,
        };
        // From the address that the endpoint is bound to, if it is one.
        let local = Some(self.ports.bound().ip()).filter(|ip| !ip.is_unspecified());
        let opened =
            self.streams.open(self.ports.poller(), local, server.address, secure, Owner::Relay(number));
        match opened {
            Ok(stream) => relay.line = Line::Opening(stream),
            Err(Loss { why, is_final }) => relay.lose_stream(time, why, is_final),
        }
    }

    /// Something else than frames happened to the stream of a relay.
    pub(in super::super) fn take_server_news(&mut self, number: u32, stream: StreamId, news: News) {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return };
        if !relay.has_stream(stream) {
            return;
        }
        match news {
            News::Open => relay.line = Line::Stream(stream),
            News::Lost(Loss { why, is_final }) => relay.lose_stream(time, why, is_final),
            News::Frames(_) => return,
        }
        self.gathering.relay_timers.arm(number, Some(self.now));
    }

    /// Takes what came by the stream of a relay; tells what that cost.
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
