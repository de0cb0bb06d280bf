//! All nodes: by address, by deadline, and in the order of sending. No operation here visits all of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use crate::address::NodeAddress;
use crate::controller::config::NodeSettings;
use crate::controller::peer::{Peer, Sendable};
use crate::controller::timers::Timers;
use crate::limits::FORGOTTEN_LOOKED_AT;

#[derive(Debug, Default)]
pub(super) struct Peers {
    by_address: BTreeMap<NodeAddress, u32>,
    slots: Vec<Option<Peer>>,
    free: Vec<u32>,
    /// Nodes that can be evicted.
    lost: BTreeSet<u32>,
    timers: Timers,
    ready: VecDeque<u32>,
    /// Nodes with something new to send that wait for fewer requests in progress.
    held: VecDeque<u32>,
}

impl Peers {
    pub(super) fn find(&self, address: NodeAddress) -> Option<u32> {
        self.by_address.get(&address).copied()
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Peer> {
        self.slots.get(slot as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Peer> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    /// In ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (NodeAddress, &Peer)> {
        self.by_address.iter().filter_map(|(address, slot)| Some((*address, self.get(*slot)?)))
    }

    /// The node with this address, added if it is unknown; `None` if there are `max` others, and none can be
    /// evicted.
    pub(super) fn find_or_add(
        &mut self,
        address: NodeAddress,
        settings: NodeSettings,
        max: usize,
    ) -> Option<u32> {
        if let Some(slot) = self.find(address) {
            return Some(slot);
        }
        if self.by_address.len() >= max {
            let idle = |slot: &&u32| self.get(**slot).is_some_and(Peer::is_idle);
            let forgotten = *self.lost.iter().take(FORGOTTEN_LOOKED_AT).find(idle)?;
            self.remove(forgotten);
        }
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(None);
                u32::try_from(self.slots.len() - 1).ok()?
            }
        };
        self.slots[slot as usize] = Some(Peer::new(address, settings));
        self.by_address.insert(address, slot);
        Some(slot)
    }

    pub(super) fn remove(&mut self, slot: u32) -> Option<Peer> {
        let peer = self.slots.get_mut(slot as usize)?.take()?;
        self.timers.change(slot, peer.timer, None);
        self.by_address.remove(&peer.address);
        self.lost.remove(&slot);
        self.free.push(slot);
        Some(peer)
    }

    pub(super) fn set_lost(&mut self, slot: u32, lost: bool) {
        if lost {
            self.lost.insert(slot);
        } else {
            self.lost.remove(&slot);
        }
    }

    /// Updates the deadline and the queues after any change of a node.
    pub(super) fn schedule(&mut self, now: Instant, slot: u32) {
        let Some(peer) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else { return };
        let timer = peer.next_timer(now);
        self.timers.change(slot, peer.timer, timer);
        peer.timer = timer;
        let wanted = match peer.want(now) {
            Sendable::Again | Sendable::Connection => true,
            Sendable::New => !peer.held,
            Sendable::Nothing | Sendable::At(_) => false,
        };
        if wanted && !peer.ready {
            peer.ready = true;
            self.ready.push_back(slot);
        }
    }

    /// A node that can be sent to, and what. `full`: start no new requests.
    pub(super) fn next_ready(&mut self, now: Instant, full: bool) -> Option<(u32, Sendable)> {
        while !full && let Some(slot) = self.held.pop_front() {
            // A node that was forgotten, or whose slot was reused, is not marked.
            let Some(peer) = self.get_mut(slot).filter(|peer| peer.held) else { continue };
            peer.held = false;
            // Ahead of nodes that were served in the meantime.
            if !peer.ready && peer.want(now) == Sendable::New {
                peer.ready = true;
                self.ready.push_front(slot);
                break;
            }
            self.schedule(now, slot);
        }
        while let Some(slot) = self.ready.pop_front() {
            let Some(peer) = self.get_mut(slot).filter(|peer| peer.ready) else { continue };
            peer.ready = false;
            match peer.want(now) {
                Sendable::New if full => {
                    peer.held = true;
                    self.held.push_back(slot);
                }
                want @ (Sendable::New | Sendable::Again | Sendable::Connection) => return Some((slot, want)),
                Sendable::Nothing | Sendable::At(_) => self.schedule(now, slot),
            }
        }
        None
    }

    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.timers.due(now)
    }

    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.next()
    }
}
