//! Nodes that are asked by TCP: which connections are to be made, and what becomes of requests when one ends.

use std::time::{Duration, Instant};

use super::Controller;
use crate::address::{ConnectionId, NodeAddress};
use crate::controller::request::AnswerError;
use crate::limits::MESSAGE_BYTES_MAX;

/// A connection to be made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connect {
    /// To whom: [`NodeAddress::socket_address`].
    pub node: NodeAddress,
    /// The time that it may take; then it is given up, and [`Controller::handle_disconnected`] told.
    pub within: Duration,
}

impl Controller {
    /// The next connection to be made; call after [`poll_transmit`](Self::poll_transmit), until there is none. To each node there
    /// is one at a time. What comes of it is for [`handle_connected`](Self::handle_connected) or
    /// [`handle_disconnected`](Self::handle_disconnected).
    ///
    /// The caller closes a connection once nothing has come by it for long; the next request asks for another one.
    pub fn poll_connect(&mut self) -> Option<Connect> {
        while let Some(slot) = self.connects.pop_front() {
            // One that was forgotten meanwhile, or took over its place, wants none.
            let Some(peer) = self.peers.get_mut(slot) else { continue };
            if let Some(within) = peer.connect() {
                return Some(Connect { node: peer.address, within });
            }
        }
        None
    }

    /// A connection that was asked for is there. Then ask [`poll_transmit`](Self::poll_transmit).
    pub fn handle_connected(&mut self, now: Instant, node: NodeAddress, connection: ConnectionId) {
        let Some(slot) = self.peers.find(node) else { return };
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.connected(connection);
        }
        self.peers.schedule(now, slot);
    }

    /// A connection is over, whoever ended it, or (`None`) could not be made. Requests that were sent by it, or waited for it, wait
    /// for another one as often as [`NodeSettings::retries`](crate::NodeSettings::retries) says; then they end as
    /// [`AnswerError::Unreachable`]. With [`NodeSettings::udp_fallback`](crate::NodeSettings::udp_fallback) those that wait are sent as
    /// datagrams where none could be made. Then ask [`poll_transmit`](Self::poll_transmit).
    pub fn handle_disconnected(&mut self, now: Instant, node: NodeAddress, connection: Option<ConnectionId>) {
        let Some(slot) = self.peers.find(node) else { return };
        if self.peers.get_mut(slot).is_some_and(|peer| peer.disconnected(now, connection)) {
            while let Some(job) = self.peers.get_mut(slot).and_then(|peer| peer.unreachable()) {
                self.in_flight -= 1;
                self.stats.timeouts += 1;
                self.failed(slot);
                self.finish(now, slot, job, Err(AnswerError::Unreachable));
            }
            self.peers.schedule(now, slot);
        }
    }

    /// Whether a node is asked by TCP: [`NodeSettings::tcp`](crate::NodeSettings::tcp), unless it is asked by datagrams instead for now.
    pub fn is_asked_by_tcp(&self, node: NodeAddress) -> bool {
        let known = self.peers.find(node).and_then(|slot| self.peers.get(slot));
        known.map_or(self.config.defaults.tcp, |peer| peer.is_asked_by_tcp())
    }

    /// Bytes of the longest message that may be sent to a node.
    pub(super) fn longest(&self, node: NodeAddress) -> usize {
        if self.is_asked_by_tcp(node) { MESSAGE_BYTES_MAX } else { self.config.limits.max_datagram_bytes }
    }
}
