//! Ping: polls the lanes that await an echo, the clock, and the background tasks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use netdyno_contender::now_ns;
use netdyno_contender::rtt::{Lane, Ping};

use crate::poller::Poller;
use crate::tasks::Tasks;
use crate::wire::{Socket, Wire};

/// Number of passes between checks for lost requests; far less than a tick.
const PASSES_PER_LOOK: u32 = 1024;

/// A lane and its socket.
struct Station<S> {
    lane: Lane,
    wire: Wire<S>,
    /// A request is outstanding.
    awaiting: bool,
}

struct Pinging<S> {
    stations: Vec<Station<S>>,
    poller: Poller,
    tasks: Tasks,
    /// Stations with a scheduled request, ordered by its due time. Bounded by the number of stations.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// Stations that wait for a phase, or for other lanes.
    idle: Vec<usize>,
    /// Stations whose socket buffer was too full for a whole request.
    sending: usize,
    /// Stations with an outstanding request.
    awaiting: usize,
}

/// Returns only with an error.
pub fn run<S: Socket>(ping: &'static Ping) -> io::Result<()> {
    let (peer, lanes) = (ping.peer(), ping.job.outstanding);
    let mut pinging = Pinging {
        stations: Vec::with_capacity(lanes),
        poller: Poller::new(lanes)?,
        tasks: Tasks::new(&ping.job),
        due: BinaryHeap::with_capacity(lanes),
        idle: (0..lanes).collect(),
        sending: 0,
        awaiting: 0,
    };
    for i in 0..lanes {
        let lane = ping.lane(i);
        let wire = Wire::new(S::connect(&ping.job, peer)?, ping.job.message_bytes)?;
        pinging.poller.add(wire.socket())?;
        pinging.stations.push(Station { lane, wire, awaiting: false });
    }
    loop {
        for _ in 0..PASSES_PER_LOOK {
            pinging.pass()?;
        }
        pinging.look_for_lost();
    }
}

impl<S: Socket> Pinging<S> {
    fn pass(&mut self) -> io::Result<()> {
        if !self.idle.is_empty() {
            for i in std::mem::take(&mut self.idle) {
                self.prepare(i, now_ns());
            }
        }
        self.send_due();
        if self.sending > 0 {
            for i in 0..self.stations.len() {
                if self.stations[i].wire.sending {
                    self.send_rest(i);
                }
            }
        }
        if self.awaiting > 0 {
            for place in 0..self.poller.ask()? {
                self.try_lane(self.poller.number(place));
            }
        }
        self.tasks.run();
        Ok(())
    }

    /// Receives by one call if a message may have arrived.
    fn try_lane(&mut self, i: usize) {
        let Station { lane, wire, awaiting } = &mut self.stations[i];
        if !*awaiting && !self.poller.asks() {
            return;
        }
        match wire.receive() {
            Ok(None) => {}
            Ok(Some(message)) => {
                let at_ns = now_ns();
                if lane.handle_message(message, at_ns) {
                    self.settled(i, at_ns);
                }
            }
            Err(error) => lane.failed(error),
        }
    }

    fn look_for_lost(&mut self) {
        let at_ns = now_ns();
        for i in 0..self.stations.len() {
            if self.stations[i].lane.handle_tick(at_ns) {
                self.settled(i, at_ns);
            }
        }
    }

    fn settled(&mut self, i: usize, at_ns: u64) {
        self.stations[i].awaiting = false;
        self.awaiting -= 1;
        self.prepare(i, at_ns);
    }

    /// Prepares the next request of a station, and sends it if it is due.
    fn prepare(&mut self, i: usize, at_ns: u64) {
        match self.stations[i].lane.next_request() {
            Some(due_ns) if due_ns <= at_ns => self.request(i, now_ns()),
            Some(due_ns) => self.due.push(Reverse((due_ns, i))),
            None => self.idle.push(i),
        }
    }

    fn send_due(&mut self) {
        while let Some(Reverse((due_ns, i))) = self.due.peek().copied() {
            let at_ns = now_ns();
            if at_ns < due_ns {
                break;
            }
            self.due.pop();
            self.request(i, at_ns);
        }
    }

    fn request(&mut self, i: usize, at_ns: u64) {
        self.send_rest(i);
        let station = &mut self.stations[i];
        station.lane.handle_sent(at_ns);
        station.awaiting = true;
        self.awaiting += 1;
    }

    /// Sends the rest of a request by one call.
    fn send_rest(&mut self, i: usize) {
        let Station { lane, wire, .. } = &mut self.stations[i];
        self.sending -= usize::from(wire.sending);
        if let Err(error) = wire.send(lane.message()) {
            lane.failed(error);
        }
        self.sending += usize::from(wire.sending);
    }
}
