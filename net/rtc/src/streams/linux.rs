//! Streams on top of netdyno-io's TCP reactor.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use netdyno_io::Poller;
use netdyno_io::tcp::{Backend, CloseReason, Event, Key, Limits, ListenOptions, TcpReactor};

use super::event::{Frames, Owner, STREAMS, StreamError, StreamEvent};
use super::tls::{Secure, Tls};
use crate::limits::{
    STRANGER_BYTES, STRANGER_TIME, STRANGERS, STRANGERS_PER_ADDRESS, STREAM_FLUSH_TIME, STREAM_FRAMES,
    STREAM_INPUT_BYTES, STREAM_OUTPUT_BYTES, STREAM_QUEUE_BYTES,
};

/// Frame buffers kept for reuse: as many as one or two busy streams need in a turn.
const SPARE_FRAMES: usize = 4;

/// Identifies a stream; never reused for a later one.
pub(crate) type StreamId = Key;

/// All streams of an engine. Allocates nothing before the first stream.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    reactor: Option<TcpReactor>,
    /// By the reactor's indices.
    all: Vec<Option<Stream>>,
    events: VecDeque<(Owner, StreamId, StreamEvent)>,
    /// Memory of the frames in `events`.
    queued_bytes: usize,
    /// Empty frame buffers for reuse.
    spare: Vec<Frames>,
    /// Accepted connections with the deadline for their identification, in this order. Some may be identified
    /// or closed.
    strangers: VecDeque<(Instant, Key)>,
    /// The poller has reported the reactor as ready.
    is_ready: bool,
    /// Connections closed before they were identified.
    refused: u64,
    /// Times that a stream was paused with more frames in its input.
    pauses: u64,
}

#[derive(Debug)]
struct Stream {
    key: Key,
    /// The owner of the stream's events.
    owner: Owner,
    remote: SocketAddr,
    tls: Option<Box<Tls>>,
    is_open: bool,
    /// Frames of it are queued or in processing; it is not read meanwhile.
    is_paused: bool,
}

impl Streams {
    /// Starts to connect, from the given local address if any. Events go to `owner`.
    pub(crate) fn open(
        &mut self,
        poller: &Poller,
        local: Option<IpAddr>,
        remote: SocketAddr,
        secure: Option<&Secure>,
        owner: Owner,
    ) -> Result<StreamId, StreamError> {
        let tls = secure.map(Tls::new).transpose()?.map(Box::new);
        let reactor = self.reactor(poller).map_err(|error| lost(&error))?;
        let key = match local {
            Some(local) => reactor.connect_from(local, remote),
            None => reactor.connect(remote),
        };
        let key = key.map_err(|error| lost(&error))?;
        put(&mut self.all, Stream { key, owner, remote, tls, is_open: false, is_paused: false });
        Ok(key)
    }

    /// Starts to accept connections on this address. Returns it with the port in use.
    pub(crate) fn listen(&mut self, poller: &Poller, address: SocketAddr) -> io::Result<SocketAddr> {
        let reactor = self.reactor(poller)?;
        let listener = reactor.listen(address, &ListenOptions::default())?;
        Ok(reactor.local_address(listener))
    }

    /// A stranger was identified as the peer of this connection.
    pub(crate) fn claim(&mut self, id: StreamId, index: u32) {
        if let Some((_, stream)) = self.get_mut(id) {
            stream.owner = Owner::Peer(index);
        }
    }

    /// The owner, if the stream is still open.
    pub(crate) fn owner(&self, id: StreamId) -> Option<Owner> {
        Some(self.get(id)?.owner)
    }

    /// The local and the remote address.
    pub(crate) fn ends(&self, id: StreamId) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.reactor.as_ref()?.connection_address(id)?, self.get(id)?.remote))
    }

    /// The poller has reported [`STREAMS`] as ready.
    pub(crate) fn are_ready(&mut self) {
        self.is_ready = true;
    }

    /// When a turn is due even if the poller reports nothing.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        if self.is_ready || !self.events.is_empty() {
            return Some(now);
        }
        let of_reactor = self.reactor.as_mut()?.next_deadline(now);
        self.strangers.front().map(|&(until, _)| until).into_iter().chain(of_reactor).min()
    }

    /// Processes received data and new connections, if there may be any and the queue has space.
    pub(crate) fn turn(&mut self, now: Instant) -> io::Result<()> {
        let is_due = self.next(now).is_some_and(|next| next <= now);
        let has_space = self.queued_bytes < STREAM_QUEUE_BYTES;
        let Some(reactor) = self.reactor.as_mut().filter(|_| is_due && has_space) else { return Ok(()) };
        self.is_ready = false;
        reactor.wait(Some(Duration::ZERO))?;
        let mut accepted = Vec::new();
        while let Some(event) = self.reactor.as_mut().and_then(TcpReactor::next_event) {
            match event {
                Event::Accepted(key, remote) => {
                    let (owner, tls) = (Owner::Stranger, None);
                    let stream = Stream { key, owner, remote, tls, is_open: true, is_paused: false };
                    put(&mut self.all, stream);
                    accepted.push((now + STRANGER_TIME, key));
                }
                Event::Connected(key) | Event::Received(key) => self.advance(key),
                Event::Ended(key) => self.lose(key, lost("the remote end closed the connection")),
                Event::Closed(key, CloseReason::Lost(kind)) => self.lose(key, lost(&kind)),
                Event::Closed(key, reason) => self.lose(key, lost(&format!("{reason:?}"))),
                Event::Woken => {}
            }
        }
        let flushed = self.reactor.as_mut().map_or(Ok(()), TcpReactor::flush);
        for (until, key) in accepted {
            self.add_stranger(until, key);
        }
        self.forget_strangers(now);
        flushed
    }

    /// The next event with its owner and stream, which may have been closed since. Return frames by
    /// [`take_back`](Self::take_back).
    pub(crate) fn next_event(&mut self) -> Option<(Owner, StreamId, StreamEvent)> {
        let event = self.events.pop_front()?;
        if let StreamEvent::Frames(frames) = &event.2 {
            self.queued_bytes -= frames.queued_bytes();
        }
        Some(event)
    }

    /// Strangers that were closed, and how often streams were paused with more frames to read.
    pub(crate) fn refusals(&self) -> (u64, u64) {
        (self.refused, self.pauses)
    }

    /// Takes back processed frames, to read their stream further and to reuse their buffer.
    pub(crate) fn take_back(&mut self, id: StreamId, mut frames: Frames) {
        let has_more = frames.has_more;
        if self.spare.len() < SPARE_FRAMES {
            frames.bytes.clear();
            frames.datagrams.clear();
            self.spare.push(frames);
        }
        let Some((reactor, stream)) = self.get_mut(id) else { return };
        stream.is_paused = false;
        if has_more {
            self.advance(id);
        } else {
            reactor.resume(id);
        }
    }

    /// Sends frames: all of them, or none if they do not fit, as a full socket drops a datagram.
    pub(crate) fn send(&mut self, id: StreamId, frames: &[u8]) -> io::Result<()> {
        let Some((reactor, stream)) = self.get_mut(id) else { return Ok(()) };
        if stream.is_open && reactor.pending_output(id) + frames.len() <= STREAM_OUTPUT_BYTES {
            match &mut stream.tls {
                None => reactor.output(id).extend_from_slice(frames),
                Some(tls) => tls.send(frames, reactor.output(id)),
            }
            reactor.flush()?;
        }
        Ok(())
    }

    /// Closes a stream after its output is flushed. It raises no further events.
    pub(crate) fn close(&mut self, id: StreamId) {
        if let Some(owner) = self.owner(id) {
            self.count_refusal(id, owner);
        }
        let Some((reactor, stream)) = self.get_mut(id) else { return };
        if let Some(tls) = stream.tls.as_mut().filter(|_| stream.is_open) {
            tls.end(reactor.output(id));
        }
        // Nothing was sent to a stranger, and a stranger must not occupy resources.
        reactor.close(id, stream.is_open && stream.owner != Owner::Stranger);
        // The stream is closed in any case.
        let _ = reactor.flush();
        self.all[id.index()] = None;
    }

    /// Queues a stranger. The oldest of its host is closed if that has too many.
    fn add_stranger(&mut self, until: Instant, key: Key) {
        let host = |streams: &Self, key: Key| Some(host_of(streams.get(key)?.remote.ip()));
        let from = host(self, key);
        self.strangers.push_back((until, key));
        let is_stranger = |key: Key| self.owner(key) == Some(Owner::Stranger);
        let mut of_host = self
            .strangers
            .iter()
            .map(|&(_, key)| key)
            .filter(|&key| is_stranger(key) && host(self, key) == from);
        let oldest = of_host.next();
        if of_host.count() >= STRANGERS_PER_ADDRESS
            && let Some(oldest) = oldest
        {
            self.close(oldest);
        }
    }

    /// Closes strangers whose time is over, and the oldest if there are too many.
    fn forget_strangers(&mut self, now: Instant) {
        let mut strangers = std::mem::take(&mut self.strangers);
        strangers.retain(|&(_, key)| self.owner(key) == Some(Owner::Stranger));
        self.strangers = strangers;
        while let Some(&(until, key)) = self.strangers.front()
            && (until <= now || self.strangers.len() > STRANGERS)
        {
            self.strangers.pop_front();
            self.close(key);
        }
    }

    /// Queues frames from the input of a stream. The stream is paused until they are processed.
    fn advance(&mut self, id: StreamId) {
        let Some(stream) = self.all.get_mut(id.index()).and_then(Option::as_mut) else { return };
        let Some(reactor) = self.reactor.as_mut().filter(|_| stream.key == id && !stream.is_paused) else {
            return;
        };
        let mut frames = self.spare.pop().unwrap_or_default();
        let was_open = stream.is_open;
        let read = stream.read(reactor, &mut frames);
        if stream.is_open && !was_open {
            self.events.push_back((stream.owner, id, StreamEvent::Open));
        }
        match read {
            Ok(()) if frames.datagrams.is_empty() => {
                self.spare.push(frames);
                reactor.resume(id);
            }
            Ok(()) => {
                stream.is_paused = true;
                self.pauses += u64::from(frames.has_more);
                reactor.pause(id);
                self.queued_bytes += frames.queued_bytes();
                self.events.push_back((stream.owner, id, StreamEvent::Frames(frames)));
            }
            Err(loss) => self.lose(id, loss),
        }
    }

    /// A stream is about to be closed.
    fn count_refusal(&mut self, id: StreamId, owner: Owner) {
        if owner == Owner::Stranger {
            self.refused += 1;
            #[cfg(feature = "tracing")]
            if let Some(stream) = self.get(id) {
                tracing::debug!(target: "netdyno_rtc", "closed an unidentified TCP connection of {}", stream.remote);
            }
        }
        #[cfg(not(feature = "tracing"))]
        let _ = id;
    }

    /// Removes a stream and queues the reason.
    fn lose(&mut self, id: StreamId, loss: StreamError) {
        let Some(owner) = self.owner(id) else { return };
        self.count_refusal(id, owner);
        self.all[id.index()] = None;
        if let Some(reactor) = &mut self.reactor {
            // A TLS alert is sent first.
            reactor.close(id, true);
        }
        self.events.push_back((owner, id, StreamEvent::Lost(loss)));
    }

    fn get(&self, id: StreamId) -> Option<&Stream> {
        self.all.get(id.index())?.as_ref().filter(|stream| stream.key == id)
    }

    fn get_mut(&mut self, id: StreamId) -> Option<(&mut TcpReactor, &mut Stream)> {
        let stream = self.all.get_mut(id.index())?.as_mut().filter(|stream| stream.key == id)?;
        Some((self.reactor.as_mut()?, stream))
    }

    fn reactor(&mut self, poller: &Poller) -> io::Result<&mut TcpReactor> {
        if self.reactor.is_none() {
            let mut limits = Limits::default();
            (limits.input_bytes, limits.output_bytes) = (STREAM_INPUT_BYTES, 2 * STREAM_OUTPUT_BYTES);
            limits.flush_time = STREAM_FLUSH_TIME;
            let reactor = TcpReactor::new(Backend::Epoll, limits)?;
            poller.add_reactor(&reactor, STREAMS)?;
            self.reactor = Some(reactor);
        }
        self.reactor.as_mut().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }
}

impl Stream {
    /// Moves up to [`STREAM_FRAMES`] complete frames from the input into `frames`, which is empty.
    fn read(&mut self, reactor: &mut TcpReactor, frames: &mut Frames) -> Result<(), StreamError> {
        let (input, output) = reactor.buffers(self.key);
        let arrived = input.len();
        self.is_open |= match &mut self.tls {
            Some(tls) => tls.receive(input, output)?,
            None => true,
        };
        let clear = self.tls.as_ref().map_or(input, |tls| tls.clear());
        let Frames { bytes, datagrams, has_more } = frames;
        let whole = self.owner.framing().datagrams(clear, STREAM_FRAMES, datagrams);
        let whole = whole.map_err(|what| StreamError {
            why: format!("received {what}: check that a TURN server uses that port"),
            is_final: true,
        })?;
        if self.owner == Owner::Stranger && clear.len() > STRANGER_BYTES {
            return Err(lost("too much data from an unidentified peer"));
        }
        *has_more = datagrams.len() == STREAM_FRAMES;
        match &mut self.tls {
            Some(tls) => {
                tls.take(whole, bytes);
                reactor.consume(self.key, arrived);
            }
            None => {
                bytes.extend_from_slice(&input[..whole]);
                reactor.consume(self.key, whole);
            }
        }
        Ok(())
    }
}

/// The address, or the part of an IPv6 address that one host can vary.
fn host_of(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(ip.to_bits()),
        IpAddr::V6(ip) => ip.to_bits() >> 64 << 64,
    }
}

fn put(all: &mut Vec<Option<Stream>>, stream: Stream) {
    let at = stream.key.index();
    if all.len() <= at {
        all.resize_with(at + 1, || None);
    }
    all[at] = Some(stream);
}

fn lost(why: &(impl ToString + ?Sized)) -> StreamError {
    StreamError { why: why.to_string(), is_final: false }
}

#[cfg(test)]
mod tests;
