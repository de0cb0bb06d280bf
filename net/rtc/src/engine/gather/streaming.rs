//! Streams towards TURN servers (RFC 8656 section 2.1): when they are opened, and what comes of them.
//!
//! One that cannot be opened, or is lost, is tried again as long as a server's first answer is waited for; then, and when an address is lost with
//! it, the application is told why.

use std::io;

use netdyno_rtc_core::framing::Framing;

use super::super::Engine;
use super::relay::Line;
use crate::servers::Transport;
use crate::streams::{Loss, News};

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
            self.gathering.streams.open(self.ports.poller(), local, server.address, secure, number);
        match opened {
            Ok(stream) => relay.line = Line::Opening(stream),
            Err(Loss { why, is_final }) => relay.lose_stream(time, why, is_final),
        }
    }

    /// Takes what came by streams.
    pub(super) fn receive_streams(&mut self) -> io::Result<()> {
        self.gathering.streams.turn(self.now)?;
        while let Some((number, stream, news)) = self.gathering.streams.next_news() {
            let time = self.gathering.time(self.now);
            let Some(relay) = self.gathering.relays.get_mut(number as usize) else { continue };
            if ![Line::Opening(stream), Line::Stream(stream)].contains(&relay.line) {
                continue;
            }
            match news {
                News::Open => relay.line = Line::Stream(stream),
                News::Frames(mut bytes) => {
                    self.receive_frames(number, &mut bytes);
                    continue;
                }
                News::Lost(Loss { why, is_final }) => relay.lose_stream(time, why, is_final),
            }
            self.gathering.relay_timers.arm(number, Some(self.now));
        }
        Ok(())
    }

    fn receive_frames(&mut self, number: u32, bytes: &mut [u8]) {
        let (mut at, mut datagrams) = (0, Vec::new());
        // They are whole, and have been read once.
        while let Ok(Some(frame)) = Framing::Turn.first(&bytes[at..]) {
            datagrams.push(at + frame.start..at + frame.end);
            at += frame.next;
        }
        self.unwrap_relayed(number, bytes, datagrams.into_iter());
    }
}
