//! Connections and channels whose calls wait, for threads.
//!
//! A thread of its own drives the endpoint; a call acts on the connection directly where it can, without waking
//! that thread. Handles can be cloned and shared by threads.
//!
//! Backpressure holds both ways. Towards the peer: `send` waits while the send buffer is full. From the peer: while
//! an application leaves more than 1 MiB of one connection's messages waiting, no more are taken from that
//! connection, on any of its channels, and its receive window fills up and holds the peer back. So a channel that
//! nobody reads can hold up the other channels of its connection: read all, or drop what you do not read.

use std::net::SocketAddr;
use std::ops::Deref;
use std::task::Poll;
use std::time::{Duration, Instant};

use netdyno_rtc_core::{ChannelOptions, Kind, Message, PeerState, SendError};

use crate::driver::Driver;
use crate::engine::Port;
use crate::error::{Error, RecvError};
use crate::face::{Channel, Peer, Wait, block};
use crate::settings::Settings;
use crate::spread::Drivers;

/// A port that any number of connections can share, and the thread that drives it, or as many of both as
/// [`Settings::reactors`] says. They end when the last clone,
/// the last connection and the last channel are dropped.
#[derive(Debug, Clone)]
pub struct Endpoint {
    drivers: Drivers<Driver>,
}

impl Endpoint {
    /// Binds the UDP port (0: the kernel chooses one) and starts the thread, or all of them.
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
    pub fn accept_channel(&self) -> Result<DataChannel, Error> {
        let channel = blocked(|wait| self.peer.poll_channel(wait))?;
        Ok(DataChannel { channel })
    }

    /// Waits until it is connected; an error if it fails, also if it may be brought back.
    pub fn wait_connected(&self) -> Result<(), Error> {
        blocked(|wait| self.peer.poll_connected(wait))
    }

    /// Waits until it is connected; false if the time is over before.
    pub fn wait_connected_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        in_time(timeout, |wait| self.peer.poll_connected(wait))
    }

    /// Waits until all servers of [`Settings::ice_servers`] have answered, or have not in 10 s; at once if there are none. A
    /// description that is made then has all candidates. False if the time is over before: then it has those known by then.
    pub fn wait_gathered(&self, timeout: Duration) -> bool {
        within(timeout, |wait| self.peer.poll_gathered(wait)).is_some()
    }

    /// Waits for the next candidate of ours that was found since the first description, for the peer's
    /// [`add_remote_candidate`](Peer::add_remote_candidate). `None`: there will be no more.
    pub fn next_candidate(&self) -> Option<String> {
        blocked(|wait| self.peer.poll_candidate(wait))
    }

    /// As [`next_candidate`](Self::next_candidate); `None` if the time is over before, `Some(None)` if there will be no more.
    pub fn next_candidate_timeout(&self, timeout: Duration) -> Option<Option<String>> {
        within(timeout, |wait| self.peer.poll_candidate(wait))
    }

    /// Waits for the next data channel that the peer opens; `None` if the time is over before.
    pub fn accept_channel_timeout(&self, timeout: Duration) -> Result<Option<DataChannel>, Error> {
        let channel = within(timeout, |wait| self.peer.poll_channel(wait)).transpose()?;
        Ok(channel.map(|channel| DataChannel { channel }))
    }

    /// Waits until its state is another one than `last`, and gives it; once it is [over](Peer::is_over), at once. `Disconnected` and
    /// `Failed` can be waited for by this, which may be the time for [`restart_ice`](Peer::restart_ice), and after that `Connected`.
    /// States that come and go between two calls are not seen.
    pub fn wait_state(&self, last: PeerState) -> PeerState {
        blocked(|wait| self.peer.poll_state(wait, last))
    }

    /// As [`wait_state`](Self::wait_state); `None` if the time is over before.
    pub fn wait_state_timeout(&self, last: PeerState, timeout: Duration) -> Option<PeerState> {
        within(timeout, |wait| self.peer.poll_state(wait, last))
    }

    /// Waits until it is over; an error if it failed. One that failed for want of a path is over when the time for a restart is
    /// ([`Config::restart_timeout`](crate::Config::restart_timeout)).
    pub fn wait_closed(&self) -> Result<(), Error> {
        blocked(|wait| self.peer.poll_over(wait))
    }

    /// As [`wait_closed`](Self::wait_closed); false if the time is over before.
    pub fn wait_closed_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        in_time(timeout, |wait| self.peer.poll_over(wait))
    }
}

/// A data channel. What needs no waiting is in [`Channel`].
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
    pub fn wait_open(&self) -> Result<(), SendError> {
        blocked(|wait| self.channel.poll_open(wait))
    }

    /// As [`wait_open`](Self::wait_open); false if the time is over before.
    pub fn wait_open_timeout(&self, timeout: Duration) -> Result<bool, SendError> {
        in_time(timeout, |wait| self.channel.poll_open(wait))
    }

    /// Sends bytes; waits for room.
    pub fn send(&self, data: &[u8]) -> Result<(), SendError> {
        self.send_many(Kind::Binary, &[data])
    }

    /// Sends bytes; waits for room. False if there is none before the time is over: then nothing was sent.
    pub fn send_timeout(&self, data: &[u8], timeout: Duration) -> Result<bool, SendError> {
        Ok(self.send_many_timeout(Kind::Binary, &[data], timeout)? == 1)
    }

    /// Sends a text; waits for room.
    pub fn send_text(&self, text: &str) -> Result<(), SendError> {
        self.send_many(Kind::Text, &[text.as_bytes()])
    }

    /// Sends a text; waits for room. False if there is none before the time is over: then nothing was sent.
    pub fn send_text_timeout(&self, text: &str, timeout: Duration) -> Result<bool, SendError> {
        Ok(self.send_many_timeout(Kind::Text, &[text.as_bytes()], timeout)? == 1)
    }

    /// Sends all of these messages, at the cost of one where there is room; waits for room.
    pub fn send_many(&self, kind: Kind, messages: &[impl AsRef<[u8]>]) -> Result<(), SendError> {
        let mut rest = messages;
        while !rest.is_empty() {
            let sent = blocked(|wait| self.channel.poll_send_many(wait, kind, rest))?;
            rest = &rest[sent..];
        }
        Ok(())
    }

    /// Sends these messages; waits for room. Gives how many of them were sent before the time was over: the first so many. An error only if
    /// the first was not taken.
    pub fn send_many_timeout(
        &self,
        kind: Kind,
        messages: &[impl AsRef<[u8]>],
        timeout: Duration,
    ) -> Result<usize, SendError> {
        let deadline = Instant::now().checked_add(timeout);
        let mut sent = 0;
        while sent < messages.len() {
            match block(deadline, |wait| self.channel.poll_send_many(wait, kind, &messages[sent..])) {
                Some(Ok(more)) => sent += more,
                Some(Err(error)) if sent == 0 => return Err(error),
                Some(Err(_)) | None => break,
            }
        }
        Ok(sent)
    }

    /// Waits for the next message.
    pub fn recv(&self) -> Result<Message, RecvError> {
        blocked(|wait| self.channel.poll_recv(wait))
    }

    /// Waits for the next message; `None` if the time is over before.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<Message>, RecvError> {
        within(timeout, |wait| self.channel.poll_recv(wait)).transpose()
    }

    /// Waits for a message, then appends up to `max` that are there, and gives how many.
    pub fn recv_many(&self, messages: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        blocked(|wait| self.channel.poll_recv_many(Some(wait), messages, max))
    }

    /// As [`recv_many`](Self::recv_many); 0 if the time is over before a message comes.
    pub fn recv_many_timeout(
        &self,
        messages: &mut Vec<Message>,
        max: usize,
        timeout: Duration,
    ) -> Result<usize, RecvError> {
        let taken = within(timeout, |wait| self.channel.poll_recv_many(Some(wait), messages, max));
        taken.unwrap_or(Ok(0))
    }

    /// Waits until no more than `bytes` are buffered; `Closed` or `Failed` if the channel is over.
    pub fn wait_buffered_below(&self, bytes: usize) -> Result<(), SendError> {
        blocked(|wait| self.channel.poll_buffered(wait, bytes))
    }

    /// As [`wait_buffered_below`](Self::wait_buffered_below); false if the time is over before.
    pub fn wait_buffered_below_timeout(&self, bytes: usize, timeout: Duration) -> Result<bool, SendError> {
        in_time(timeout, |wait| self.channel.poll_buffered(wait, bytes))
    }

    /// Waits until it is closed, by either side. After a close of ours that means that all has arrived. An error if it ended with
    /// its connection, before that was known.
    pub fn wait_closed(&self) -> Result<(), Error> {
        blocked(|wait| self.channel.poll_closed(wait))
    }

    /// As [`wait_closed`](Self::wait_closed); false if the time is over before.
    pub fn wait_closed_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        in_time(timeout, |wait| self.channel.poll_closed(wait))
    }
}

/// Waits for what is done or not; false if the time is over before.
fn in_time<E>(timeout: Duration, poll: impl FnMut(&mut Wait<'_>) -> Poll<Result<(), E>>) -> Result<bool, E> {
    within(timeout, poll).map_or(Ok(false), |done| done.map(|()| true))
}

/// Waits; `None` if the time is over before.
fn within<T>(timeout: Duration, poll: impl FnMut(&mut Wait<'_>) -> Poll<T>) -> Option<T> {
    // A time beyond what the clock can tell is no limit.
    block(Instant::now().checked_add(timeout), poll)
}

/// Waits without end.
fn blocked<T>(poll: impl FnMut(&mut Wait<'_>) -> Poll<T>) -> T {
    block(None, poll).expect("only a deadline ends a wait without a result")
}
