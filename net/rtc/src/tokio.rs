//! Connections and channels whose calls are awaited, for Tokio (feature `tokio`). The names, and the rules of
//! backpressure, are those of [`blocking`](crate::blocking).
//!
//! On Linux a task of the runtime drives the endpoint, elsewhere a thread. Any runtime will do to await the
//! handles.

use std::net::SocketAddr;
use std::ops::Deref;

use netdyno_rtc_core::{ChannelOptions, Kind, Message, PeerState, SendError};

use crate::engine::Port;
use crate::error::{Error, RecvError};
use crate::face::{Channel, Peer, ready};
use crate::settings::Settings;
use crate::spread::Drivers;

#[cfg(not(target_os = "linux"))]
use crate::driver::Driver;
#[cfg(target_os = "linux")]
use task::Driver;

#[cfg(target_os = "linux")]
mod task;

/// A port that any number of connections can share, and the task that drives it, or as many of both as
/// [`Settings::reactors`] says. They end when the last clone, the
/// last connection and the last channel are dropped, or the runtime.
#[derive(Debug, Clone)]
pub struct Endpoint {
    drivers: Drivers<Driver>,
}

impl Endpoint {
    /// Binds the UDP port (0: the kernel chooses one) and starts the task, or all of them, on the runtime that this is called in. It
    /// needs its I/O and time drivers.
    pub fn bind(address: SocketAddr, settings: Settings) -> Result<Self, Error> {
        Ok(Self { drivers: Drivers::start(address, &settings, Driver::start)? })
    }

    /// The address that it is bound to; with several reactors, the first's.
    pub fn local_address(&self) -> SocketAddr {
        self.drivers.all()[0].hub.local_address()
    }

    /// The addresses that its reactors are bound to.
    pub fn local_addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.drivers.all().iter().map(|driver| driver.hub.local_address())
    }
}

/// A connection. What needs no waiting is in [`Peer`].
#[derive(Debug, Clone)]
pub struct PeerConnection {
    peer: Peer,
}

impl Deref for PeerConnection {
    type Target = Peer;

    fn deref(&self) -> &Peer {
        &self.peer
    }
}

impl PeerConnection {
    /// A new connection on the endpoint's port.
    pub fn new(endpoint: &Endpoint) -> Result<Self, Error> {
        Self::on(endpoint, Port::Shared)
    }

    /// A new connection on the endpoint's port, or on one of its own.
    pub fn on(endpoint: &Endpoint, port: Port) -> Result<Self, Error> {
        let driver = endpoint.drivers.least();
        Ok(Self { peer: Peer::new(driver.hub.clone(), driver, port)? })
    }

    /// A new data channel. It can be sent on once it is open; `send` waits for that.
    pub fn create_channel(&self, label: &str, options: ChannelOptions) -> Result<DataChannel, Error> {
        Ok(DataChannel { channel: self.peer.open_channel(label, options)? })
    }

    /// Waits for the next data channel that the peer opens. 1,024 may wait to be accepted; what is opened beyond them is
    /// closed.
    pub async fn accept_channel(&self) -> Result<DataChannel, Error> {
        let channel = ready(|wait| self.peer.poll_channel(wait)).await?;
        Ok(DataChannel { channel })
    }

    /// Waits until all servers of [`Settings::ice_servers`] have answered, or have not in 10 s; at once if there are none. A
    /// description that is made then has all candidates. Who does not want to wait so long drops the future.
    pub async fn wait_gathered(&self) {
        ready(|wait| self.peer.poll_gathered(wait)).await;
    }

    /// Waits for the next candidate of ours that was found since the first description, for the peer's
    /// [`add_remote_candidate`](Peer::add_remote_candidate). `None`: there will be no more.
    pub async fn next_candidate(&self) -> Option<String> {
        ready(|wait| self.peer.poll_candidate(wait)).await
    }

    /// Waits until it is connected; an error if it fails, also if it may be brought back.
    pub async fn wait_connected(&self) -> Result<(), Error> {
        ready(|wait| self.peer.poll_connected(wait)).await
    }

    /// Waits until its state is another one than `last`, and gives it; once it is [over](Peer::is_over), at once. `Disconnected` and
    /// `Failed` can be waited for by this, which may be the time for [`restart_ice`](Peer::restart_ice), and after that `Connected`.
    /// States that come and go between two calls are not seen.
    pub async fn wait_state(&self, last: PeerState) -> PeerState {
        ready(|wait| self.peer.poll_state(wait, last)).await
    }

    /// Waits until it is over; an error if it failed. One that failed for want of a path is over when the time for a restart is
    /// ([`Config::restart_timeout`](crate::Config::restart_timeout)).
    pub async fn wait_closed(&self) -> Result<(), Error> {
        ready(|wait| self.peer.poll_over(wait)).await
    }
}

/// A data channel. What needs no waiting is in [`Channel`]. Dropping a future of `recv` loses no message.
#[derive(Debug, Clone)]
pub struct DataChannel {
    channel: Channel,
}

impl Deref for DataChannel {
    type Target = Channel;

    fn deref(&self) -> &Channel {
        &self.channel
    }
}

impl DataChannel {
    /// Waits until it is open; `Closed` or `Failed` if it never will be.
    pub async fn wait_open(&self) -> Result<(), SendError> {
        ready(|wait| self.channel.poll_open(wait)).await
    }

    /// Sends bytes; waits for room.
    pub async fn send(&self, data: &[u8]) -> Result<(), SendError> {
        self.send_many(Kind::Binary, &[data]).await
    }

    /// Sends a text; waits for room.
    pub async fn send_text(&self, text: &str) -> Result<(), SendError> {
        self.send_many(Kind::Text, &[text.as_bytes()]).await
    }

    /// Sends all of these messages, at the cost of one where there is room; waits for room. Dropping the future may
    /// leave some of them sent.
    pub async fn send_many(&self, kind: Kind, messages: &[impl AsRef<[u8]>]) -> Result<(), SendError> {
        let mut rest = messages;
        while !rest.is_empty() {
            let sent = ready(|wait| self.channel.poll_send_many(wait, kind, rest)).await?;
            rest = &rest[sent..];
        }
        Ok(())
    }

    /// Waits for the next message.
    pub async fn recv(&self) -> Result<Message, RecvError> {
        ready(|wait| self.channel.poll_recv(wait)).await
    }

    /// Waits for a message, then appends up to `max` that are there, and gives how many.
    pub async fn recv_many(&self, messages: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        ready(|wait| self.channel.poll_recv_many(Some(wait), messages, max)).await
    }

    /// Waits until no more than `bytes` are buffered; `Closed` or `Failed` if the channel is over.
    pub async fn wait_buffered_below(&self, bytes: usize) -> Result<(), SendError> {
        ready(|wait| self.channel.poll_buffered(wait, bytes)).await
    }

    /// Waits until it is closed, by either side. After a close of ours that means that all has arrived. An error if it ended with
    /// its connection, before that was known.
    pub async fn wait_closed(&self) -> Result<(), Error> {
        ready(|wait| self.channel.poll_closed(wait)).await
    }
}
