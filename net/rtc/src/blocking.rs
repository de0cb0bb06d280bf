//! Connections and channels with blocking calls, for programs that use threads.
//!
//! A background thread drives the endpoint. A call acts on the connection directly where possible, without
//! waking that thread. Handles can be cloned and shared between threads.
//!
//! Backpressure works in both directions. `send` waits while the send buffer is full. When more than 1 MiB of
//! received messages of a connection is unread, no further messages are taken from it, on any of its
//! channels; its receive window fills and the peer stops sending. An unread channel can therefore block the
//! other channels of its connection: read every channel, or drop those that you do not read.

use std::task::Poll;
use std::time::{Duration, Instant};

use netdyno_io::Poller;
use netdyno_io::hub::{Launch, Wait, block, block_forever};

use crate::handle::interface;

interface!(launch: launch, wait: block_forever, async: [], await: []);

impl PeerConnection {
    /// As [`wait_connected`](Self::wait_connected); returns false if `timeout` elapses first.
    pub fn wait_connected_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        done_within(timeout, |wait| self.peer.poll_connected(wait))
    }

    /// Waits until every server of [`Settings::ice_servers`] has answered or 10 s have passed; returns at
    /// once if there are none. A description created afterwards contains all candidates. Returns false if
    /// `timeout` elapses first; a description then contains the candidates known so far.
    pub fn wait_gathered(&self, timeout: Duration) -> bool {
        within(timeout, |wait| self.peer.poll_gathered(wait)).is_some()
    }

    /// As [`next_candidate`](Self::next_candidate). `None`: `timeout` elapsed. `Some(None)`: gathering is
    /// complete.
    pub fn next_candidate_timeout(&self, timeout: Duration) -> Option<Option<String>> {
        within(timeout, |wait| self.peer.poll_candidate(wait))
    }

    /// As [`accept_channel`](Self::accept_channel); returns `None` if `timeout` elapses first.
    pub fn accept_channel_timeout(&self, timeout: Duration) -> Result<Option<DataChannel>, Error> {
        let channel = within(timeout, |wait| self.peer.poll_channel(wait)).transpose()?;
        Ok(channel.map(|channel| DataChannel { channel }))
    }

    /// As [`wait_state`](Self::wait_state); returns `None` if `timeout` elapses first.
    pub fn wait_state_timeout(&self, last: PeerState, timeout: Duration) -> Option<PeerState> {
        within(timeout, |wait| self.peer.poll_state(wait, last))
    }

    /// As [`wait_closed`](Self::wait_closed); returns false if `timeout` elapses first.
    pub fn wait_closed_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        done_within(timeout, |wait| self.peer.poll_over(wait))
    }
}

impl DataChannel {
    /// As [`wait_open`](Self::wait_open); returns false if `timeout` elapses first.
    pub fn wait_open_timeout(&self, timeout: Duration) -> Result<bool, SendError> {
        done_within(timeout, |wait| self.channel.poll_open(wait))
    }

    /// As [`send`](Self::send). Returns false if `timeout` elapses first; nothing was sent then.
    pub fn send_timeout(&self, data: &[u8], timeout: Duration) -> Result<bool, SendError> {
        Ok(self.send_many_timeout(Kind::Binary, &[data], timeout)? == 1)
    }

    /// As [`send_text`](Self::send_text). Returns false if `timeout` elapses first; nothing was sent then.
    pub fn send_text_timeout(&self, text: &str, timeout: Duration) -> Result<bool, SendError> {
        Ok(self.send_many_timeout(Kind::Text, &[text.as_bytes()], timeout)? == 1)
    }

    /// As [`send_many`](Self::send_many). Returns how many messages, counted from the first, were sent before
    /// `timeout` elapsed. Returns an error only if the first message was refused.
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

    /// As [`recv`](Self::recv); returns `None` if `timeout` elapses first.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<Option<Message>, RecvError> {
        within(timeout, |wait| self.channel.poll_recv(wait)).transpose()
    }

    /// As [`recv_many`](Self::recv_many); returns 0 if `timeout` elapses before a message arrives.
    pub fn recv_many_timeout(
        &self,
        messages: &mut Vec<Message>,
        max: usize,
        timeout: Duration,
    ) -> Result<usize, RecvError> {
        let taken = within(timeout, |wait| self.channel.poll_recv_many(Some(wait), messages, max));
        taken.unwrap_or(Ok(0))
    }

    /// As [`wait_buffered_below`](Self::wait_buffered_below); returns false if `timeout` elapses first.
    pub fn wait_buffered_below_timeout(&self, bytes: usize, timeout: Duration) -> Result<bool, SendError> {
        done_within(timeout, |wait| self.channel.poll_buffered(wait, bytes))
    }

    /// As [`wait_closed`](Self::wait_closed); returns false if `timeout` elapses first.
    pub fn wait_closed_timeout(&self, timeout: Duration) -> Result<bool, Error> {
        done_within(timeout, |wait| self.channel.poll_closed(wait))
    }
}

/// Waits for a result without a value; false if `timeout` elapses first.
fn done_within<E>(
    timeout: Duration,
    poll: impl FnMut(&mut Wait<'_>) -> Poll<Result<(), E>>,
) -> Result<bool, E> {
    within(timeout, poll).map_or(Ok(false), |done| done.map(|()| true))
}

/// Waits; `None` if `timeout` elapses first.
fn within<T>(timeout: Duration, poll: impl FnMut(&mut Wait<'_>) -> Poll<T>) -> Option<T> {
    // A deadline that an `Instant` cannot represent means no limit.
    block(Instant::now().checked_add(timeout), poll)
}

fn launch(settings: &Settings) -> Result<Launch, Error> {
    Ok(Launch::thread(Poller::with_spin(settings.spin)?))
}
