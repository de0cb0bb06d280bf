//! Connections and channels with async methods, for Tokio (feature `tokio`). Names and backpressure rules are
//! those of [`blocking`](crate::blocking).
//!
//! On Linux, a task drives the endpoint, on the runtime in which it was bound; the endpoint ends with that
//! runtime. Elsewhere, a thread drives it. Handles can be awaited on any runtime.
//!
//! Dropping a future of `recv` or `recv_many` loses no message. Dropping a future of `send_many` may leave
//! some of the messages sent.

use crate::handle::{interface, ready};

#[cfg(not(target_os = "linux"))]
use crate::driver::Driver;
#[cfg(target_os = "linux")]
use task::Driver;

#[cfg(target_os = "linux")]
mod task;

interface!(driver: Driver, wait: ready, async: [async], await: [.await]);

impl PeerConnection {
    /// Waits until every server of [`Settings::ice_servers`] has answered or 10 s have passed; returns at
    /// once if there are none. A description created afterwards contains all candidates. To wait for less
    /// time, drop the future.
    pub async fn wait_gathered(&self) {
        ready(|wait| self.peer.poll_gathered(wait)).await;
    }
}
