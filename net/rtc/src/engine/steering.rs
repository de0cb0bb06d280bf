//! Datagrams that the kernel delivered to the wrong reactor of a shared port are handed over. A connection
//! with many hand-overs gets a socket connected to its peer, which the kernel prefers.

use std::net::SocketAddr;

use netdyno_io::Received;

use super::inbound::Arrival;
use super::routes::Path;
use super::state::Engine;
use crate::limits::STEERED_AFTER;
use crate::stun::{self, Stun};
use crate::switch::{Handover, Key};

impl Engine {
    /// Hands datagrams over to their reactor; false if none knows them.
    pub(super) fn pass_on(&self, path: Path, received: &Received<'_>) -> bool {
        let Some(member) = self.routes.port_member().filter(|_| path.0 == 0) else { return false };
        let key = if stun::is_stun(received.datagrams) {
            match stun::read(received.datagrams) {
                Some(Stun::Request { ufrag }) => Key::Ufrag(ufrag.to_owned()),
                Some(Stun::Response(id)) => Key::Check(id),
                Some(Stun::Anonymous) => Key::Path(path.1),
                None => return false,
            }
        } else {
            Key::Path(path.1)
        };
        let Some(owner) = member.other_owner(&key) else { return false };
        member.hand_over(owner, received);
        true
    }

    /// Processes what others have handed over, while the cost is below `limit`; returns the cost.
    pub(super) fn take_handovers(&mut self, limit: usize) -> usize {
        let mut cost = 0;
        while cost < limit {
            if self.handovers.is_empty()
                && let Some(member) = self.routes.port_member()
            {
                self.handovers = member.collect();
            }
            cost += match self.handovers.pop_front() {
                Some(Handover::Datagrams { local, remote, segment_bytes, mut bytes }) => {
                    let received = Received { local, remote, datagrams: &mut bytes, segment_bytes };
                    self.dispatch(0, received, Arrival::HandedOver).max(1)
                }
                Some(Handover::PathTaken { remote, answered }) => {
                    self.lose_path((0, remote), answered);
                    1
                }
                None => break,
            };
        }
        cost
    }

    /// Another reactor's connection has taken over a path.
    fn lose_path(&mut self, path: Path, answered: bool) {
        // This reactor may own it again.
        if self.routes.other_reactor(path).is_none() {
            return;
        }
        let Some(index) = self.routes.by_path(path) else { return };
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        self.routes.remove_path(index, &mut slot.trail, path);
        let steered = slot.steered.take_if(|(_, remote)| *remote == path.1);
        if answered {
            slot.peer.handle_path_taken(self.now, path.1);
        }
        self.unsteer(steered);
        self.touch(index);
    }

    /// Counts a handed-over batch; after enough of them, opens a socket for the peer.
    pub(super) fn steer(&mut self, index: u32, local: SocketAddr, remote: SocketAddr) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        slot.handed_over = slot.handed_over.saturating_add(1);
        // Datagrams handed over before the socket existed may still follow.
        if slot.handed_over < STEERED_AFTER || slot.steered.is_some_and(|(_, to)| to == remote) {
            return;
        }
        slot.handed_over = 0;
        let before = slot.steered.take();
        self.unsteer(before);
        let reactors = self.routes.port_member().map_or(1, |member| member.count());
        if self.steered >= self.settings.steering_sockets / reactors {
            return;
        }
        // On failure, hand-overs continue, and it is tried again after as many batches.
        if let Ok(port) = self.ports.open_for_peer(local, remote)
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            slot.steered = Some((port, remote));
            self.steered += 1;
        }
    }

    /// Closes such a socket.
    pub(super) fn unsteer(&mut self, steered: Option<(u32, SocketAddr)>) {
        if let Some((port, _)) = steered {
            self.ports.close_own(port);
            self.steered -= 1;
        }
    }
}

#[cfg(test)]
mod tests;
