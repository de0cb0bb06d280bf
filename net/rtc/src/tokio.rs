//! Connections and channels with async methods, for Tokio (feature `tokio`). Names and backpressure rules are
//! those of [`blocking`](crate::blocking).
//!
//! On Linux, a task drives the endpoint, on the runtime in which it was bound; the endpoint ends with that
//! runtime. Elsewhere, a thread drives it. Handles can be awaited on any runtime.
//!
//! Dropping a future of `recv` or `recv_many` loses no message. Dropping a future of `send_many` may leave
//! some of the messages sent.

use netdyno_io::Poller;
use netdyno_io::hub::{Launch, ready};

use crate::handle::interface;

interface!(launch: launch, wait: ready, async: [async], await: [.await]);

impl PeerConnection {
    /// Waits until every server of [`Settings::ice_servers`] has answered or 10 s have passed; returns at
    /// once if there are none. A description created afterwards contains all candidates. To wait for less
    /// time, drop the future.
    pub async fn wait_gathered(&self) {
        ready(|wait| self.peer.poll_gathered(wait)).await;
    }
}

fn launch(_settings: &Settings) -> Result<Launch, Error> {
    Launch::task(Poller::new()?).ok_or(Error::NoRuntime)
}
