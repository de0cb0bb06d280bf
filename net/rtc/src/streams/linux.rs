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
    STRANGER_BYTES, STRANGER_TIME, STRANGERS, STREAM_FLUSH_TIME, STREAM_INPUT_BYTES, STREAM_OUTPUT_BYTES,
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
    /// Empty frame buffers for reuse.
    spare: Vec<Frames>,
    /// Accepted connections with the deadline for their identification, in this order. Some may be identified
    /// or closed.
    strangers: VecDeque<(Instant, Key)>,
    /// The poller has reported the reactor as ready.
    is_ready: bool,
}

#[derive(Debug)]
struct Stream {
    key: Key,
    /// The owner of the stream's events.
    owner: Owner,
    remote: SocketAddr,
    tls: Option<Box<Tls>>,
    is_open: bool,
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
        put(&mut self.all, Stream { key, owner, remote, tls, is_open: false });
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

    /// Processes received data and new connections, if there may be any.
    pub(crate) fn turn(&mut self, now: Instant) -> io::Result<()> {
        let is_due = self.next(now).is_some_and(|next| next <= now);
        let Some(reactor) = self.reactor.as_mut().filter(|_| is_due) else { return Ok(()) };
        self.is_ready = false;
        reactor.wait(Some(Duration::ZERO))?;
        let mut accepted = Vec::new();
        while let Some(event) = reactor.next_event() {
            let (key, received) = match event {
                Event::Accepted(key, remote) => {
                    let (owner, tls) = (Owner::Stranger, None);
                    let stream = Stream { key, owner, remote, tls, is_open: true };
                    put(&mut self.all, stream);
                    accepted.push((now + STRANGER_TIME, key));
                    continue;
                }
                Event::Connected(key) | Event::Received(key) => (key, Ok(())),
                Event::Ended(key) => (key, Err(lost("the remote end closed the connection"))),
                Event::Closed(key, CloseReason::Lost(kind)) => (key, Err(lost(&kind))),
                Event::Closed(key, reason) => (key, Err(lost(&format!("{reason:?}")))),
                Event::Woken => continue,
            };
            let Some(slot) = self.all.get_mut(key.index()) else { continue };
            let Some(stream) = slot.as_mut().filter(|stream| stream.key == key) else { continue };
            let owner = stream.owner;
            if let Err(loss) =
                received.and_then(|()| stream.advance(reactor, &mut self.events, &mut self.spare))
            {
                *slot = None;
                // A TLS alert is sent first.
                reactor.close(key, true);
                self.events.push_back((owner, key, StreamEvent::Lost(loss)));
            }
        }
        let flushed = reactor.flush();
        self.strangers.extend(accepted);
        self.forget_strangers(now);
        flushed
    }

    /// The next event with its owner and stream, which may have been closed since.
    pub(crate) fn next_event(&mut self) -> Option<(Owner, StreamId, StreamEvent)> {
        self.events.pop_front()
    }

    /// Takes back processed frames to reuse their buffer.
    pub(crate) fn take_back(&mut self, mut frames: Frames) {
        if self.spare.len() < SPARE_FRAMES {
            frames.bytes.clear();
            frames.datagrams.clear();
            self.spare.push(frames);
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
    /// Processes received bytes.
    fn advance(
        &mut self,
        reactor: &mut TcpReactor,
        events: &mut VecDeque<(Owner, StreamId, StreamEvent)>,
        spare: &mut Vec<Frames>,
    ) -> Result<(), StreamError> {
        let (input, output) = reactor.buffers(self.key);
        let arrived = input.len();
        let is_ready = match &mut self.tls {
            Some(tls) => tls.receive(input, output)?,
            None => true,
        };
        if is_ready && !std::mem::replace(&mut self.is_open, true) {
            events.push_back((self.owner, self.key, StreamEvent::Open));
        }
        let (clear, mut frames) =
            (self.tls.as_ref().map_or(input, |tls| tls.clear()), spare.pop().unwrap_or_default());
        let whole =
            self.owner.framing().datagrams(clear, &mut frames.datagrams).map_err(|what| StreamError {
                why: format!("received {what}: check that a TURN server uses that port"),
                is_final: true,
            })?;
        if self.owner == Owner::Stranger && clear.len() > STRANGER_BYTES {
            return Err(lost("too much data from an unidentified peer"));
        }
        match &mut self.tls {
            Some(tls) => {
                tls.take(whole, &mut frames.bytes);
                reactor.consume(self.key, arrived);
            }
            None => {
                frames.bytes.extend_from_slice(&input[..whole]);
                reactor.consume(self.key, whole);
            }
        }
        if whole > 0 {
            events.push_back((self.owner, self.key, StreamEvent::Frames(frames)));
        } else {
            spare.push(frames);
        }
        Ok(())
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
mod tests {
    use std::io::Read;
    use std::net::TcpListener;
    use std::thread;

    use netdyno_io::Events;

    use super::*;

    /// The remote end reads only at the end: frames that do not fit are dropped, and accepted frames arrive
    /// complete.
    #[test]
    fn frames_that_do_not_fit_are_dropped_and_the_stream_continues() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (poller, mut events, mut streams) =
            (Poller::new().unwrap(), Events::default(), Streams::default());
        let id = streams.open(&poller, None, listener.local_addr().unwrap(), None, Owner::Peer(7)).unwrap();
        let (mut other, _) = listener.accept().unwrap();
        let mut turn = |streams: &mut Streams| {
            poller.wait(&mut events, Some(Duration::from_millis(10))).unwrap();
            if events.iter().any(|ready| ready.key == STREAMS) {
                streams.are_ready();
            }
            streams.turn(Instant::now()).unwrap();
        };
        let frames = |number: u16| [&[0xfd, 0xe8][..], &number.to_be_bytes().repeat(32_500)].concat();
        streams.send(id, &frames(0)).unwrap();
        let news = loop {
            turn(&mut streams);
            if let Some(news) = streams.next_event() {
                break news;
            }
        };
        assert!(
            matches!(news, (Owner::Peer(7), of, StreamEvent::Open) if of == id),
            "nothing goes before it is open"
        );
        // 65 MB, more than any system buffers.
        for number in 1..=1000 {
            streams.send(id, &frames(number)).unwrap();
            assert!(streams.reactor.as_ref().unwrap().pending_output(id) <= STREAM_OUTPUT_BYTES);
        }
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            other.read_to_end(&mut bytes).unwrap();
            bytes
        });
        while streams.reactor.as_ref().unwrap().pending_output(id) > 0 {
            turn(&mut streams);
        }
        assert!(streams.owner(id).is_some() && streams.next_event().is_none());
        streams.close(id);
        // The reactor closes the stream once it is flushed.
        while !reader.is_finished() {
            turn(&mut streams);
        }
        let seen = reader.join().unwrap();
        let numbers: Vec<u16> = seen.chunks(65_002).map(|one| u16::from_be_bytes([one[2], one[3]])).collect();
        assert!(seen.chunks(65_002).zip(&numbers).all(|(one, &number)| one == frames(number)));
        assert!(numbers.len() >= 4 && numbers.len() < 1000 && numbers.is_sorted() && numbers[0] == 1);
    }
}
