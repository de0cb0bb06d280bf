//! From a connection to a socket.

use std::io;
use std::time::Instant;

use super::slot::SHARE_DATAGRAMS;
use super::state::Engine;
use crate::limits::{REFUSED_PAUSE, SETUP_BATCHES};
use crate::stun;

/// The result of sending once from a connection.
enum Sent {
    /// A batch was sent; there may be more.
    Some,
    /// There was nothing left to send.
    All,
    /// The socket is full; the connection is queued again once there is space.
    Blocked,
}

impl Engine {
    /// Sends from the queued connections, one batch each in turn, up to this many batches.
    pub(super) fn send_queued(&mut self, batches: usize) -> io::Result<()> {
        for _ in 0..batches {
            let Some(index) = self.dirty.pop() else { break };
            match self.send_from(index)? {
                Sent::Some => self.requeue(index),
                Sent::All => self.settle(index),
                Sent::Blocked => {}
            }
        }
        Ok(())
    }

    /// Sends once from a connection: a batch of datagrams in one system call.
    fn send_from(&mut self, index: u32) -> io::Result<Sent> {
        let Some(slot) = self.slots.get_mut(index as usize) else { return Ok(Sent::All) };
        let Some(port) = self.ports.get_mut(slot.send_port) else { return Ok(Sent::All) };
        if port.is_blocked() {
            // It stays dirty, so that it is not queued and stalled twice.
            port.stalled.push(index);
            return Ok(Sent::Blocked);
        }
        let segments = self.settings.segments_per_send.clamp(1, netdyno_io::MAX_SEGMENTS);
        let transmit = loop {
            let slot = &mut self.slots[index as usize];
            let Some(transmit) = slot.peer.poll_transmit(self.now, &mut self.arena, segments) else {
                slot.dirty = false;
                return Ok(Sent::All);
            };
            if !slot.peer.is_to_stranger() || self.may_check_stranger(index) {
                break transmit;
            }
        };
        let slot = &mut self.slots[index as usize];
        slot.share = slot.share.saturating_sub(transmit.length.div_ceil(transmit.segment_bytes.max(1)));
        // A TURN server may allocate an address with this port number too.
        if self.tcp_port == Some(transmit.local.port()) && self.addresses.contains(&transmit.local.ip()) {
            self.send_by_tcp(index, transmit)?;
            return Ok(Sent::Some);
        }
        if slot.may_relay && !self.goes_straight(index, &transmit) {
            self.send_relayed(index, transmit)?;
            return Ok(Sent::Some);
        }
        let slot = &mut self.slots[index as usize];
        let datagrams = self.arena.filled(&transmit);
        if let Some(id) = stun::request_transaction(datagrams) {
            self.routes.add_check(index, &mut slot.trail, id, transmit.remote);
        }
        self.ports.send(slot.port, transmit, datagrams)?;
        if slot.batches < SETUP_BATCHES {
            slot.sent_at = Some(Instant::now());
        }
        Ok(Sent::Some)
    }

    /// Queues a connection again after it has sent a batch.
    fn requeue(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        if slot.share > 0 {
            return self.dirty.push(index);
        }
        slot.share = SHARE_DATAGRAMS;
        self.dirty.push_behind(index);
    }

    /// Arms the timer of a connection that has nothing more to send.
    fn settle(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        if slot.is_finished {
            return self.remove(index);
        }
        // A connection that may only send to strangers, and was refused, is not polled again at each step of
        // ICE.
        let pause = std::mem::take(&mut slot.is_refused).then(|| self.now + REFUSED_PAUSE);
        self.timers.arm(index, slot.peer.next_deadline().max(pause));
        // Sending may have raised events.
        if !slot.touched {
            slot.touched = true;
            self.touched.push(index);
        }
    }

    /// Removes a connection. Queues may still contain its index; missing indices are skipped.
    pub(super) fn remove(&mut self, index: u32) {
        let Some(slot) = self.slots.try_remove(index as usize) else { return };
        self.routes.remove(index, &slot.trail);
        slot.relays.iter().for_each(|&port| self.release_relay(port));
        slot.streams.iter().for_each(|&(_, stream)| self.streams.close(stream));
        self.timers.disarm(index);
        self.ports.close_own(slot.port);
        self.forget_port(slot.port);
        self.unsteer(slot.steered);
    }
}
