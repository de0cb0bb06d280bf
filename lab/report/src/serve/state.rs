//! The state of a connection.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a connection.
#[derive(Debug)]
pub(super) struct ConnectionState {
    pub(super) client: IpAddr,
    /// It follows a run.
    pub(super) is_follower: AtomicBool,
    /// Its page is being rendered, or waits for that.
    pub(super) is_rendering: AtomicBool,
}

impl ConnectionState {
    pub(super) fn new(client: IpAddr) -> ConnectionState {
        ConnectionState { client, is_follower: AtomicBool::new(false), is_rendering: AtomicBool::new(false) }
    }

    pub(super) fn is_follower(&self) -> bool {
        self.is_follower.load(Ordering::Relaxed)
    }

    /// Whether the server waits for the client: for its request, or until it has read the response.
    pub(super) fn is_waiting(&self) -> bool {
        !self.is_follower() && !self.is_rendering.load(Ordering::Relaxed)
    }
}
