//! ICE over TCP (RFC 6544), passive: peers connect to a local port where UDP is blocked.
//!
//! A connected peer is a stranger until it sends a check with the username fragment of a connection and valid
//! integrity; the stream then belongs to that connection. Until then, bytes and time are limited
//! (`limits.rs`). This endpoint does not open such connections.

use std::io;

use netdyno_io::Received;
use netdyno_rtc_core::Transmit;
use netdyno_rtc_core::framing::Framing;

use super::inbound::COST_PER_TURN;
use super::runs::{Run, Runs};
use super::state::Engine;
use crate::limits::STREAMS_PER_CONNECTION;
use crate::streams::{Frames, Owner, StreamEvent, StreamId};
use crate::stun::{self, Stun};

impl Engine {
    /// Processes events of streams.
    pub(super) fn receive_streams(&mut self) -> io::Result<()> {
        self.streams.turn(self.now)?;
        let mut cost = 0;
        // The rest is processed in the next turn, after other work.
        while cost < COST_PER_TURN
            && let Some((owner, stream, event)) = self.streams.next_event()
        {
            match (owner, event) {
                (owner, StreamEvent::Frames(mut frames)) => {
                    let spent = match owner {
                        Owner::Relay(number) => self.receive_frames(number, stream, &mut frames),
                        // Earlier frames may have identified it.
                        Owner::Stranger | Owner::Peer(_) => self.receive_by_tcp(stream, &mut frames),
                    };
                    // Empty frames cost time too.
                    cost += spent.max(1);
                    self.streams.take_back(stream, frames);
                }
                (Owner::Relay(number), event) => self.handle_stream_event(number, stream, event),
                (Owner::Peer(index), StreamEvent::Lost(_)) => self.lose_stream(index, stream),
                (Owner::Stranger, StreamEvent::Lost(_)) | (_, StreamEvent::Open) => {}
            }
        }
        Ok(())
    }

    /// Sends the contents of the arena on the stream to that address, if there still is one.
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

    /// Returns the cost.
    fn receive_by_tcp(&mut self, stream: StreamId, frames: &mut Frames) -> usize {
        let Some((local, remote)) = self.streams.ends(stream) else { return 0 };
        let Frames { bytes, datagrams, .. } = frames;
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
                // The connection may be dead without notice, but not the one in use.
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
