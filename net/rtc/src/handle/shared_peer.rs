//! The part of a connection that its handle and its channels share.

use std::any::Any;
use std::sync::Arc;

use super::hub::Hub;
use super::peers::PeerEntry;
use crate::engine::{Connection, ConnectionId, Port};
use crate::error::Error;

/// A connection of the hub. It is closed when the last handle is dropped.
#[derive(Debug)]
pub(super) struct PeerInner {
    pub(super) hub: Arc<Hub>,
    pub(super) key: usize,
    pub(super) id: ConnectionId,
    /// Keeps the driver alive.
    _driver: Arc<dyn Any + Send + Sync>,
}

impl PeerInner {
    /// Adds a connection to the hub.
    pub(super) fn new(hub: Arc<Hub>, driver: Arc<dyn Any + Send + Sync>, port: Port) -> Result<Self, Error> {
        let (key, id) = hub.add(port)?;
        Ok(Self { hub, key, id, _driver: driver })
    }

    /// Runs a closure on the connection, and sends what it leaves to send.
    pub(super) fn with<T>(
        &self,
        act: impl FnOnce(&mut Connection<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.hub.check_driver()?;
        self.hub.act(|state| act(&mut state.engine.connection(self.id).ok_or(Error::Closed)?))
    }

    pub(super) fn entry<T>(&self, look: impl FnOnce(Option<&mut PeerEntry>) -> T) -> T {
        self.hub.look(|state| look(state.peers.get_mut(self.key)))
    }
}

impl Drop for PeerInner {
    fn drop(&mut self) {
        self.hub.act(|state| {
            if let Some(mut connection) = state.engine.connection(self.id) {
                connection.close();
            }
            state.peers.remove(self.key);
        });
    }
}
