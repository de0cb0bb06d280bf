//! Streams towards TURN servers (RFC 8656 section 2.1): when they are opened, and what comes of them.
//!
//! One that cannot be opened, or is lost, is tried again as long as a server's first answer is waited for; then, and when an address is lost with
//! it, the application is told why.

use netdyno_rtc_core::framing::Framing;

use super::super::Engine;
use super::relay::Line;
use crate::servers::Transport;
use crate::streams::{Loss, News, Owner, StreamId};

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

    /// Something happened to the stream of a relay.
    pub(in super::super) fn take_server_news(&mut self, number: u32, stream: StreamId, news: News) {
        let time = self.gathering.time(self.now);
        let Some(relay) = self.gathering.relays.get_mut(number as usize) else { return };
        if ![Line::Opening(stream), Line::Stream(stream)].contains(&relay.line) {
            return;
        }
        match news {
            News::Open => relay.line = Line::Stream(stream),
            News::Frames(mut bytes) => return self.receive_frames(number, &mut bytes),
            News::Lost(Loss { why, is_final }) => relay.lose_stream(time, why, is_final),
        }
        self.gathering.relay_timers.arm(number, Some(self.now));
    }

    fn receive_frames(&mut self, number: u32, bytes: &mut [u8]) {
        let datagrams = Framing::Turn.datagrams(bytes);
        self.unwrap_relayed(number, bytes, datagrams.into_iter());
    }
}
