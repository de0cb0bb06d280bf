//! Requests over TCP: which connections to open, and what happens to requests when a connection ends.

use std::time::{Duration, Instant};

use super::Controller;
use crate::address::{ConnectionId, NodeAddress};
use crate::controller::request::AnswerError;
use crate::limits::MESSAGE_BYTES_MAX;

/// A request to open a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connect {
    /// The node to connect to: [`NodeAddress::socket_address`].
    pub node: NodeAddress,
    /// The time limit. When it expires, give up and call [`Controller::handle_disconnected`].
    pub within: Duration,
}

impl Controller {
    /// The next connection to open. Call it after [`poll_transmit`](Self::poll_transmit), until it returns
    /// `None`. Each node has at most one connection. Report the result with
    /// [`handle_connected`](Self::handle_connected) or [`handle_disconnected`](Self::handle_disconnected).
    ///
    /// The caller closes idle connections; the next request asks for a new one.
    pub fn poll_connect(&mut self) -> Option<Connect> {
        while let Some(slot) = self.connects.pop_front() {
            // The node may have been forgotten, or its slot reused; then no connection is wanted.
            let Some(peer) = self.peers.get_mut(slot) else { continue };
            if let Some(within) = peer.connect() {
                return Some(Connect { node: peer.address, within });
            }
        }
        None
    }

    /// Reports that a requested connection is established. Then call [`poll_transmit`](Self::poll_transmit).
    pub fn handle_connected(&mut self, now: Instant, node: NodeAddress, connection: ConnectionId) {
        let Some(slot) = self.peers.find(node) else { return };
        if let Some(peer) = self.peers.get_mut(slot) {
            peer.connected(connection);
        }
        self.peers.schedule(now, slot);
    }

    /// Reports that a connection ended or (`None`) could not be established. Requests that were sent on it or
    /// waited for it are retried on another connection,
    /// [`NodeSettings::retries`](crate::NodeSettings::retries) times at most; then they end with
    /// [`AnswerError::Unreachable`]. With [`NodeSettings::udp_fallback`](crate::NodeSettings::udp_fallback),
    /// waiting requests are sent as datagrams if no connection could be established. Then call
    /// [`poll_transmit`](Self::poll_transmit).
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

    /// Whether requests to a node use TCP: [`NodeSettings::tcp`](crate::NodeSettings::tcp), unless the
    /// fallback to datagrams is active.
    pub fn is_asked_by_tcp(&self, node: NodeAddress) -> bool {
        let known = self.peers.find(node).and_then(|slot| self.peers.get(slot));
        known.map_or(self.config.defaults.tcp, |peer| peer.is_asked_by_tcp())
    }

    /// The maximum length of a message to a node, in bytes.
    pub(super) fn longest(&self, node: NodeAddress) -> usize {
        if self.is_asked_by_tcp(node) { MESSAGE_BYTES_MAX } else { self.config.limits.max_datagram_bytes }
    }
}
