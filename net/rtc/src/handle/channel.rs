//! Data channels of the blocking and the Tokio interface.

use std::sync::Arc;
use std::task::Poll;

use netdyno_io::hub::Wait;
use netdyno_rtc_core::{ChannelId, ChannelStats, Kind, Message, SendError};

use super::hub::State;
use super::peers::{ChannelEnd, ChannelState};
use super::shared_peer::PeerInner;
use crate::error::{Error, RecvError};

/// A data channel of the blocking or the Tokio interface: the methods that do not wait. The channel is closed
/// when its last clone is dropped; what was sent is still delivered if the connection lives on.
#[derive(Debug, Clone)]
pub struct Channel {
    inner: Arc<ChannelInner>,
}

#[derive(Debug)]
struct ChannelInner {
    peer: Arc<PeerInner>,
    channel: ChannelId,
    label: String,
}

impl Channel {
    pub(super) fn new(peer: Arc<PeerInner>, channel: ChannelId, label: String) -> Self {
        Self { inner: Arc::new(ChannelInner { peer, channel, label }) }
    }

    /// The label.
    pub fn label(&self) -> &str {
        &self.inner.label
    }

    /// The SCTP stream (W3C `id`), once it is known.
    pub fn stream(&self) -> Option<u16> {
        self.look(|state, inner| state.engine.connection(inner.peer.id)?.stream(inner.channel))
    }

    /// Whether messages can be sent.
    pub fn is_open(&self) -> bool {
        self.state(|channel| channel.is_some_and(|channel| channel.is_open && !channel.takes_no_more()))
    }

    /// Whether the channel is over. Received messages can still be taken.
    pub fn is_closed(&self) -> bool {
        self.state(|channel| channel.is_none_or(|channel| channel.end.is_some()))
    }

    /// Payload bytes that have not been sent for the first time (W3C `bufferedAmount`).
    pub fn buffered_amount(&self) -> usize {
        self.look(|state, inner| {
            let connection = state.engine.connection(inner.peer.id);
            connection.map_or(0, |connection| connection.buffered_amount(inner.channel))
        })
    }

    /// Statistics; `None` once the connection is over.
    pub fn stats(&self) -> Option<ChannelStats> {
        self.look(|state, inner| Some(state.engine.connection(inner.peer.id)?.channel_stats(inner.channel)))
    }

    /// Sends a message if it fits in the send buffer now.
    pub fn try_send(&self, kind: Kind, data: &[u8]) -> Result<(), SendError> {
        self.try_send_many(kind, &[data]).map(|_| ())
    }

    /// Sends as many messages as fit in the send buffer now. Returns their number; an error only if the first
    /// message was refused.
    pub fn try_send_many(&self, kind: Kind, messages: &[impl AsRef<[u8]>]) -> Result<usize, SendError> {
        let inner = &*self.inner;
        inner.peer.hub.act(|state| send_many(state, inner, kind, messages))
    }

    /// The next message, if one is available.
    pub fn try_recv(&self) -> Result<Option<Message>, RecvError> {
        let mut messages = Vec::new();
        self.try_recv_many(&mut messages, 1)?;
        Ok(messages.pop())
    }

    /// Appends up to `max` available messages. Returns their number.
    pub fn try_recv_many(&self, messages: &mut Vec<Message>, max: usize) -> Result<usize, RecvError> {
        match self.poll_recv_many(None, messages, max) {
            Poll::Ready(result) => result,
            Poll::Pending => Ok(0),
        }
    }

    /// Closes the channel once everything buffered has been delivered. Nothing can be sent any more, and
    /// newly received messages are discarded. Pending sends and receives return an error at once. Messages
    /// received before can still be taken.
    pub fn close(&self) {
        self.inner.close();
    }

    pub(crate) fn poll_recv(&self, wait: &mut Wait<'_>) -> Poll<Result<Message, RecvError>> {
        self.take(Some(wait), |entry, channel| entry.take(channel))
    }

    pub(crate) fn poll_recv_many(
        &self,
        wait: Option<&mut Wait<'_>>,
        messages: &mut Vec<Message>,
        max: usize,
    ) -> Poll<Result<usize, RecvError>> {
        self.take(wait, |entry, channel| {
            let before = messages.len();
            messages.extend(std::iter::from_fn(|| entry.take(channel)).take(max.max(1)));
            (messages.len() > before).then(|| messages.len() - before)
        })
    }

    /// Sends as many messages as fit. Ready when the first was queued or can never be.
    pub(crate) fn poll_send_many(
        &self,
        wait: &mut Wait<'_>,
        kind: Kind,
        messages: &[impl AsRef<[u8]>],
    ) -> Poll<Result<usize, SendError>> {
        let inner = &*self.inner;
        inner.peer.hub.act(|state| match send_many(state, inner, kind, messages) {
            Err(SendError::WouldBlock | SendError::Connecting) => {
                match inner.find(state) {
                    Some(channel) if !channel.takes_no_more() => channel.writers.register(wait),
                    _ => return Poll::Ready(Err(inner.gone(state))),
                }
                Poll::Pending
            }
            done => Poll::Ready(done),
        })
    }

    /// Ready when the channel is open or never will be.
    pub(crate) fn poll_open(&self, wait: &mut Wait<'_>) -> Poll<Result<(), SendError>> {
        self.look(|state, inner| match inner.find(state) {
            Some(channel) if channel.takes_no_more() => Poll::Ready(Err(inner.gone(state))),
            Some(channel) if channel.is_open => Poll::Ready(Ok(())),
            Some(channel) => {
                channel.writers.register(wait);
                Poll::Pending
            }
            None => Poll::Ready(Err(inner.gone(state))),
        })
    }

    /// Ready when the channel is over; an error if it ended with its connection.
    pub(crate) fn poll_closed(&self, wait: &mut Wait<'_>) -> Poll<Result<(), Error>> {
        self.look(|state, inner| {
            let entry = state.peers.get_mut(inner.peer.key);
            let Some(entry) = entry else { return Poll::Ready(Err(Error::Closed)) };
            let Some(channel) = entry.channels.get_mut(&inner.channel) else {
                return Poll::Ready(Err(Error::Closed));
            };
            match channel.end {
                Some(ChannelEnd::Closed) => Poll::Ready(Ok(())),
                Some(ChannelEnd::Cut | ChannelEnd::Failed) => Poll::Ready(Err(entry.end_reason())),
                None => {
                    channel.writers.register(wait);
                    Poll::Pending
                }
            }
        })
    }

    /// Ready when at most `bytes` are buffered or the channel is over.
    pub(crate) fn poll_buffered(&self, wait: &mut Wait<'_>, bytes: usize) -> Poll<Result<(), SendError>> {
        let inner = &*self.inner;
        inner.peer.hub.act(|state| {
            let State { engine, peers, .. } = state;
            let entry = peers.get_mut(inner.peer.key);
            let channel = entry.and_then(|entry| entry.channels.get_mut(&inner.channel));
            let Some(channel) = channel.filter(|channel| channel.end.is_none()) else {
                return Poll::Ready(Err(inner.gone(state)));
            };
            let Some(mut connection) = engine.connection(inner.peer.id) else {
                return Poll::Ready(Err(inner.gone(state)));
            };
            if connection.buffered_amount(inner.channel) <= bytes {
                return Poll::Ready(Ok(()));
            }
            channel.awaited_bytes = channel.awaited_bytes.max(bytes);
            connection.set_buffered_amount_low_threshold(inner.channel, channel.awaited_bytes);
            channel.writers.register(wait);
            Poll::Pending
        })
    }

    fn take<T>(
        &self,
        wait: Option<&mut Wait<'_>>,
        take: impl FnOnce(&mut super::peers::PeerEntry, ChannelId) -> Option<T>,
    ) -> Poll<Result<T, RecvError>> {
        let inner = &*self.inner;
        let (taken, resumes) = self.look(|state, _| {
            let Some(entry) = state.peers.get_mut(inner.peer.key) else {
                return (Poll::Ready(Err(RecvError::Closed)), false);
            };
            if let Some(taken) = take(entry, inner.channel) {
                return (Poll::Ready(Ok(taken)), entry.resumes());
            }
            let Some(channel) = entry.channels.get_mut(&inner.channel) else {
                return (Poll::Ready(Err(RecvError::Closed)), false);
            };
            if channel.takes_no_more() {
                let failed = channel.end == Some(ChannelEnd::Failed);
                let error = if failed { RecvError::Failed } else { RecvError::Closed };
                return (Poll::Ready(Err(error)), false);
            }
            if let Some(wait) = wait {
                channel.readers.register(wait);
            }
            (Poll::Pending, false)
        });
        if resumes {
            // The connection may be over by now.
            let _ = inner.peer.with(|connection| {
                connection.set_reading(true);
                Ok(())
            });
        }
        taken
    }

    fn look<T>(&self, look: impl FnOnce(&mut State, &ChannelInner) -> T) -> T {
        self.inner.peer.hub.look(|state| look(state, &self.inner))
    }

    fn state<T>(&self, look: impl FnOnce(Option<&mut ChannelState>) -> T) -> T {
        self.look(|state, inner| look(inner.find(state)))
    }
}

impl ChannelInner {
    fn find<'a>(&self, state: &'a mut State) -> Option<&'a mut ChannelState> {
        state.peers.get_mut(self.peer.key)?.channels.get_mut(&self.channel)
    }

    fn close(&self) {
        self.peer.hub.act(|state| {
            let State { engine, peers, .. } = state;
            // If the connection is over, so is the channel.
            let Some(mut connection) = engine.connection(self.peer.id) else { return };
            connection.close_channel(self.channel);
            peers.close_channel(self.peer.key, self.channel);
        });
    }

    /// The error for a channel that cannot send any more.
    fn gone(&self, state: &mut State) -> SendError {
        match self.find(state).and_then(|channel| channel.end) {
            Some(ChannelEnd::Failed) => SendError::Failed,
            _ => SendError::Closed,
        }
    }
}

impl Drop for ChannelInner {
    fn drop(&mut self) {
        self.close();
        let (key, channel) = (self.peer.key, self.channel);
        let resumes = self.peer.hub.look(|state| {
            let entry = state.peers.get_mut(key)?;
            entry.forget(channel);
            Some(entry.resumes())
        });
        if resumes == Some(true) {
            let _ = self.peer.with(|connection| {
                connection.set_reading(true);
                Ok(())
            });
        }
    }
}

fn send_many(
    state: &mut State,
    inner: &ChannelInner,
    kind: Kind,
    messages: &[impl AsRef<[u8]>],
) -> Result<usize, SendError> {
    let Some(mut connection) = state.engine.connection(inner.peer.id) else { return Err(inner.gone(state)) };
    for (sent, message) in messages.iter().enumerate() {
        match connection.send(inner.channel, kind, message.as_ref()) {
            Ok(()) => {}
            Err(error) if sent == 0 => return Err(error),
            Err(_) => return Ok(sent),
        }
    }
    Ok(messages.len())
}
