//! One turn of an engine: receive, let time pass, deliver, send.

use std::io;
use std::time::{Duration, Instant};

use netdyno_io::Events;

use super::connection::Handler;
use super::slot::ConnectionId;
use super::state::Engine;
use crate::streams::STREAMS;

impl Engine {
    /// Runs one turn: receives, handles timers, calls the handler, sends. Returns the time until the next
    /// call is due.
    pub(crate) fn turn(
        &mut self,
        events: &Events,
        handler: &mut impl Handler,
    ) -> io::Result<Option<Duration>> {
        self.now = Instant::now();
        for ready in events.iter() {
            if ready.writable {
                for index in self.ports.resume(ready.key)? {
                    if let Some(slot) = self.slots.get_mut(index as usize) {
                        slot.dirty = false;
                    }
                    self.touch(index);
                }
            }
            if ready.key == STREAMS {
                self.streams.are_ready();
            } else if ready.readable {
                self.queue_port(ready.key);
            }
        }
        self.receive_queued()?;
        self.receive_streams()?;
        self.gather()?;
        self.work_on_names()?;
        while let Some(index) = self.timers.expired(self.now) {
            if let Some(slot) = self.slots.get_mut(index as usize) {
                slot.peer.handle_timeout(self.now);
                self.touch(index);
            }
        }
        self.deliver(handler);
        self.flush()?;
        // Sending raises events too, such as a low buffered amount.
        self.deliver(handler);
        self.look_after_errors();
        let awaited = std::mem::take(&mut self.awaits_more);
        self.ports.expect_within(if awaited { self.settings.setup_spin } else { Duration::ZERO });
        let patience = self.patience.take().unwrap_or_default();
        self.ports.rest_for(patience.min(self.settings.receive_rest));
        Ok(self.rest())
    }

    /// Sends what is pending, up to one turn's limit.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.send_queued(self.settings.sends_per_turn.max(1))
    }

    /// Delivers events and messages to the handler.
    pub(crate) fn deliver(&mut self, handler: &mut impl Handler) {
        // The handler may touch other connections, which are queued; those that touch themselves follow in
        // the next turn.
        let touched = std::mem::take(&mut self.touched);
        for &index in &touched {
            if let Some(slot) = self.slots.get_mut(index as usize) {
                slot.touched = false;
                let id = ConnectionId { index, generation: slot.generation };
                self.deliver_one(id, handler);
            }
        }
        if self.touched.is_empty() {
            self.touched = touched;
            self.touched.clear();
        }
    }

    /// Whether there is something to do without waiting.
    pub(crate) fn is_busy(&self) -> bool {
        !self.dirty.is_empty()
            || !self.touched.is_empty()
            || !self.readable.is_empty()
            || !self.handovers.is_empty()
    }

    /// Closes all connections, and notifies the peers if there is space in the socket.
    pub(crate) fn close(&mut self) {
        self.now = Instant::now();
        for (index, slot) in &mut self.slots {
            slot.peer.close(self.now);
            if !slot.dirty {
                slot.dirty = true;
                self.dirty.push(index as u32);
            }
        }
        while !self.dirty.is_empty() {
            // The error cannot be reported.
            let _ = self.send_queued(1);
        }
        let indices: Vec<u32> = self.slots.iter().map(|(index, _)| index as u32).collect();
        indices.into_iter().for_each(|index| self.release_relays(index));
    }

    /// When a turn is due; in the past if at once.
    pub(crate) fn due(&mut self) -> Option<Instant> {
        if self.is_busy() { Some(self.now) } else { self.next_timer() }
    }

    /// The time until a turn is due.
    fn rest(&mut self) -> Option<Duration> {
        if self.is_busy() {
            return Some(Duration::ZERO);
        }
        self.next_timer().map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    fn next_timer(&mut self) -> Option<Instant> {
        let others = [self.gathering.next(), self.names.next(), self.streams.next(self.now)];
        self.timers.next().into_iter().chain(others.into_iter().flatten()).min()
    }
}
