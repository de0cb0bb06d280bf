//! Which stream sends next (RFC 8260 section 3).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use super::streams::Streams;
use crate::config::Schedule;

/// Virtual time per byte at weight 1. At weight 256 the clock suffices for 2^56 bytes.
const UNITS: u64 = 1 << 16;

/// The streams with data to send: the current one, and those that wait. While there is only one, nothing is
/// ordered or moved.
#[derive(Debug)]
pub(super) struct Scheduler {
    current: Option<usize>,
    waiting: Waiting,
    /// Virtual time at which the turn of the current stream began.
    clock: u64,
}

/// The slots of waiting streams. May include streams whose messages were all abandoned.
#[derive(Debug)]
enum Waiting {
    /// Section 3.2: in turn.
    RoundRobin(VecDeque<usize>),
    /// Section 3.6, as start-time fair queueing: a stream's turn begins when its last one ended, in a virtual
    /// time that passes more slowly the greater its weight; the earliest is next. Unlike with finish times,
    /// the length of a chunk need not be known before it is cut.
    Fair(BinaryHeap<Reverse<(u64, usize)>>),
}

impl Scheduler {
    pub(super) fn new(schedule: Schedule) -> Self {
        let waiting = match schedule {
            Schedule::RoundRobin => Waiting::RoundRobin(VecDeque::new()),
            Schedule::WeightedFair => Waiting::Fair(BinaryHeap::new()),
        };
        Self { current: None, waiting, clock: 0 }
    }

    /// The current stream, which has data to send.
    pub(super) fn current(&self) -> Option<usize> {
        self.current
    }

    /// A stream has data to send.
    pub(super) fn wake(&mut self, slot: usize, streams: &mut Streams) {
        let stream = streams.at_mut(slot);
        if std::mem::replace(&mut stream.scheduled, true) {
            return;
        }
        // A paused stream does not accumulate credit.
        stream.turn = stream.turn.max(self.clock);
        let turn = stream.turn;
        if self.current.is_none() {
            self.run(slot, turn);
        } else {
            self.wait(slot, turn);
        }
    }

    /// The current stream has sent a chunk; `may_switch` unless its message must be completed first.
    pub(super) fn took(&mut self, bytes: usize, may_switch: bool, streams: &mut Streams) {
        let Some(slot) = self.current else { return };
        let stream = streams.at_mut(slot);
        stream.turn = stream.turn.saturating_add(bytes as u64 * UNITS / u64::from(stream.weight.max(1)));
        let turn = stream.turn;
        if stream.front_bytes().is_none() {
            self.settle(streams);
        } else if may_switch && self.is_other_due(slot, turn, streams) {
            self.wait(slot, turn);
            self.next(streams);
        } else {
            self.clock = self.clock.max(turn);
        }
    }

    /// Messages were abandoned: the current stream may have none left.
    pub(super) fn settle(&mut self, streams: &mut Streams) {
        if let Some(slot) = self.current
            && streams.at(slot).front_bytes().is_none()
        {
            streams.at_mut(slot).scheduled = false;
            self.next(streams);
        }
    }

    /// Releases the memory if no stream has data to send.
    pub(super) fn shrink(&mut self) {
        if self.current.is_none() {
            match &mut self.waiting {
                Waiting::RoundRobin(queue) => *queue = VecDeque::new(),
                Waiting::Fair(heap) => *heap = BinaryHeap::new(),
            }
        }
    }

    /// Whether a waiting stream precedes the current one, whose turn would begin at `turn`.
    fn is_other_due(&mut self, slot: usize, turn: u64, streams: &mut Streams) -> bool {
        while let Some((other_turn, other)) = self.peek() {
            if streams.at(other).front_bytes().is_some() {
                return match self.waiting {
                    Waiting::RoundRobin(_) => true,
                    Waiting::Fair(_) => (other_turn, other) < (turn, slot),
                };
            }
            self.pop();
            streams.at_mut(other).scheduled = false;
        }
        false
    }

    /// Makes the next waiting stream the current one.
    fn next(&mut self, streams: &mut Streams) {
        self.current = None;
        while let Some(slot) = self.pop() {
            let stream = streams.at_mut(slot);
            if stream.front_bytes().is_some() {
                let turn = stream.turn;
                return self.run(slot, turn);
            }
            stream.scheduled = false;
        }
    }

    fn run(&mut self, slot: usize, turn: u64) {
        self.current = Some(slot);
        self.clock = self.clock.max(turn);
    }

    fn wait(&mut self, slot: usize, turn: u64) {
        match &mut self.waiting {
            Waiting::RoundRobin(queue) => queue.push_back(slot),
            Waiting::Fair(heap) => heap.push(Reverse((turn, slot))),
        }
    }

    fn peek(&self) -> Option<(u64, usize)> {
        match &self.waiting {
            Waiting::RoundRobin(queue) => queue.front().map(|&slot| (0, slot)),
            Waiting::Fair(heap) => heap.peek().map(|&Reverse(next)| next),
        }
    }

    fn pop(&mut self) -> Option<usize> {
        match &mut self.waiting {
            Waiting::RoundRobin(queue) => queue.pop_front(),
            Waiting::Fair(heap) => heap.pop().map(|Reverse((_, slot))| slot),
        }
    }
}
