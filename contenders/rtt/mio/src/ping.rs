//! Ping: a loop over due requests and the events of `Poll`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use mio::net::{TcpStream, UdpSocket};
use mio::{Events, Poll, Token};
use netdyno_contender::now_ns;
use netdyno_contender::rtt::{Lane, PHASE_POLL, Pacing, Ping, TICK, Transport};

use crate::EVENTS;
use crate::link::{Link, Socket};

const TICK_NS: u64 = TICK.as_nanos() as u64;

pub fn over_udp(ping: &'static Ping, poll: Poll) -> io::Result<()> {
    Pinging::new(ping, poll, |peer| {
        let socket = UdpSocket::bind(ping.job.local())?;
        socket.connect(peer)?;
        Ok(socket)
    })?
    .run()
}

pub fn over_tcp(ping: &'static Ping, poll: Poll) -> io::Result<()> {
    Pinging::new(ping, poll, |peer| {
        let stream = TcpStream::connect(peer)?;
        stream.set_nodelay(true)?;
        Ok(stream)
    })?
    .run()
}

/// A lane and its socket.
struct Station<S> {
    lane: Lane,
    link: Link<S>,
    connecting: bool,
}

struct Pinging<S> {
    ping: &'static Ping,
    poll: Poll,
    stations: Vec<Station<S>>,
    /// Stations with a scheduled request, ordered by its due time. Bounded by the number of stations.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Stations that wait for a phase.
    idle: Vec<usize>,
}

impl<S: Socket> Pinging<S> {
    fn new(
        ping: &'static Ping,
        poll: Poll,
        connect: impl Fn(SocketAddr) -> io::Result<S>,
    ) -> io::Result<Self> {
        let (peer, lanes) = (ping.peer(), ping.job.outstanding);
        let station = |i| {
            let lane = ping.lane(i);
            let link = Link::new(connect(peer)?, Token(i), ping.job.buffer_bytes(), poll.registry())?;
            Ok(Station { lane, link, connecting: S::STREAM })
        };
        let stations = (0..lanes).map(station).collect::<io::Result<_>>()?;
        let (due, idle) = (BinaryHeap::with_capacity(lanes), Vec::with_capacity(lanes));
        Ok(Self { ping, poll, stations, due, idle })
    }

    /// Returns only with an error.
    fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let mut tick_ns = now_ns() + TICK_NS;
        // A stream reports when it is connected; datagrams can be sent at once.
        (0..self.stations.len()).filter(|_| !S::STREAM).for_each(|i| self.idle.push(i));
        loop {
            for i in std::mem::take(&mut self.idle) {
                self.prepare(i)?;
            }
            self.send_due()?;
            if self.spinning() {
                if self.ping.job.yields_cpu() {
                    thread::yield_now();
                }
                // No other lane awaits an echo, so only the clock is polled.
                if self.stations.len() == 1 {
                    continue;
                }
            }
            match self.poll.poll(&mut events, self.timeout()) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                _ => {}
            }
            for event in &events {
                self.handle(event.token().0, event.is_writable())?;
            }
            if self.ping.job.transport == Transport::Udp && tick_ns <= now_ns() {
                tick_ns = now_ns() + TICK_NS;
                self.tick()?;
            }
        }
    }

    /// Whether a scheduled request is awaited by polling the clock.
    fn spinning(&self) -> bool {
        self.due.peek().is_some_and(|Reverse((_, i))| self.stations[*i].lane.pacing() == Pacing::Spin)
    }

    /// How long to wait for events of sockets.
    fn timeout(&self) -> Option<Duration> {
        if self.spinning() {
            return Some(Duration::ZERO);
        }
        let until_due =
            self.due.peek().map(|Reverse((due_ns, _))| Duration::from_nanos(due_ns.saturating_sub(now_ns())));
        let phase = (!self.idle.is_empty()).then_some(PHASE_POLL);
        let tick = (self.ping.job.transport == Transport::Udp).then_some(TICK);
        [until_due, phase, tick].into_iter().flatten().min()
    }

    fn handle(&mut self, i: usize, writable: bool) -> io::Result<()> {
        let Station { lane, link, connecting } = &mut self.stations[i];
        if *connecting {
            link.error()?;
            if !writable {
                return Ok(());
            }
            *connecting = false;
            return self.prepare(i);
        }
        if link.blocked {
            link.resume(lane.message(), self.poll.registry())?;
        }
        // A socket reports further messages only after all pending ones were read.
        loop {
            let Station { lane, link, .. } = &mut self.stations[i];
            let Some(message) = link.receive()? else { return Ok(()) };
            let at_ns = now_ns();
            if lane.handle_message(message, at_ns) {
                self.prepare(i)?;
            }
        }
    }

    fn tick(&mut self) -> io::Result<()> {
        let at_ns = now_ns();
        for i in 0..self.stations.len() {
            if self.stations[i].lane.handle_tick(at_ns) {
                self.prepare(i)?;
            }
        }
        Ok(())
    }

    /// Prepares the next request of a station, and sends it if it is not scheduled.
    fn prepare(&mut self, i: usize) -> io::Result<()> {
        match self.stations[i].lane.next_request() {
            Some(0) => self.send(i, now_ns()),
            Some(due_ns) => {
                self.due.push(Reverse((due_ns, i)));
                Ok(())
            }
            None => {
                self.idle.push(i);
                Ok(())
            }
        }
    }

    fn send_due(&mut self) -> io::Result<()> {
        while let Some(Reverse((due_ns, i))) = self.due.peek().copied() {
            let at_ns = now_ns();
            if at_ns < due_ns {
                break;
            }
            self.due.pop();
            self.send(i, at_ns)?;
        }
        Ok(())
    }

    fn send(&mut self, i: usize, at_ns: u64) -> io::Result<()> {
        let Station { lane, link, .. } = &mut self.stations[i];
        link.send(lane.message(), self.poll.registry())?;
        lane.handle_sent(at_ns);
        Ok(())
    }
}
