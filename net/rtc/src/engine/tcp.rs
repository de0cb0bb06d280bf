//! ICE over TCP (RFC 6544), passive: peers connect to a port of ours, where no UDP is let through.
//!
//! Who has connected is a stranger until a check of his has the user name fragment of a connection of ours, and its integrity is right; then
//! the stream is that connection's. Until then little is taken of him, and not for long (`limits.rs`). We make no such connections ourselves.

use std::io;

use netdyno_io::Received;
use netdyno_rtc_core::Transmit;
use netdyno_rtc_core::framing::Framing;

use super::inbound::COST_PER_TURN;
use super::runs::{Run, Runs};
use super::state::Engine;
use crate::limits::STREAMS_PER_CONNECTION;
use crate::streams::{Frames, News, Owner, StreamId};
use crate::stun::{self, Stun};

impl Engine {
    /// Takes what came by streams.
    pub(super) fn receive_streams(&mut self) -> io::Result<()> {
        self.streams.turn(self.now)?;
        let mut cost = 0;
        // What is left has its turn after the others.
        while cost < COST_PER_TURN
            && let Some((owner, stream, news)) = self.streams.next_news()
        {
            match (owner, news) {
                (owner, News::Frames(mut frames)) => {
                    cost += match owner {
                        Owner::Relay(number) => self.receive_frames(number, stream, &mut frames),
                        // It may have been claimed by frames before these.
                        Owner::Stranger | Owner::Peer(_) => self.receive_by_tcp(stream, &mut frames),
                    };
                    self.streams.take_back(frames);
                }
                (Owner::Relay(number), news) => self.take_server_news(number, stream, news),
                (Owner::Peer(index), News::Lost(_)) => self.lose_stream(index, stream),
                (Owner::Stranger, News::Lost(_)) | (_, News::Open) => {}
            }
        }
        Ok(())
    }

    /// Sends what is in the arena by the stream that leads there, if it still does.
    pub(super) fn send_by_tcp(&mut self, index: u32, transmit: Transmit) -> io::Result<()> {
        let Some(slot) = self.slots.get(index as usize) else { return Ok(()) };
        let leads = slot.streams.iter().rfind(|(remote, _)| *remote == transmit.remote);
        let Some(&(_, stream)) = leads else { return Ok(()) };
        let datagrams = self.arena.filled(&transmit);
        self.wrapped.clear();
        for datagram in datagrams.chunks(transmit.segment_bytes.max(1)) {
            Framing::Length.append(datagram, &mut self.wrapped);
        }
        self.streams.send(stream, &self.wrapped)
    }

    /// Gives what it cost.
    fn receive_by_tcp(&mut self, stream: StreamId, frames: &mut Frames) -> usize {
        let Some((local, remote)) = self.streams.ends(stream) else { return 0 };
        let Frames { bytes, datagrams } = frames;
        let index = if let Some(Owner::Peer(index)) = self.streams.owner(stream) {
            index
        } else {
            let first = datagrams.first().map(|first| &bytes[first.clone()]);
            let Some(index) = first.and_then(|first| self.peer_of(first)) else {
                self.streams.close(stream);
                return 0;
            };
            let slot = &mut self.slots[index as usize];
            if slot.streams.len() == STREAMS_PER_CONNECTION {
                // The line may have been cut, and nobody told us; but not that which is in use.
                let in_use = slot.peer.remote_address();
                let oldest = slot.streams.iter().position(|(remote, _)| Some(*remote) != in_use);
                self.streams.close(slot.streams.remove(oldest.unwrap_or(0)).1);
            }
            slot.streams.push((remote, stream));
            self.streams.claim(stream, index);
            index
        };
        let mut runs = Runs::default();
        let with_something = datagrams.drain(..).filter(|datagram| !datagram.is_empty());
        with_something.for_each(|datagram| runs.push(bytes, remote, datagram));
        let mut cost = 0;
        for Run { remote, range, segment_bytes } in runs {
            let datagrams = &mut bytes[range];
            cost += self.hand_over(index, Received { local, remote, datagrams, segment_bytes });
        }
        cost
    }

    /// The connection that a check is for.
    fn peer_of(&self, datagram: &[u8]) -> Option<u32> {
        let Some(Stun::Request { ufrag }) = stun::read(datagram) else { return None };
        let index = self.routes.by_ufrag(ufrag)?;
        let slot = self.slots.get(index as usize)?;
        slot.peer.accepts_stun(datagram).then_some(index)
    }

    fn lose_stream(&mut self, index: u32, stream: StreamId) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            let lost = slot.streams.extract_if(.., |(_, other)| *other == stream);
            lost.for_each(|(remote, _)| slot.peer.handle_stream_lost(self.now, remote));
            self.touch(index);
        }
    }
}
