//! One lane of ping, without its socket: what it sends, when that is due, and what an echo is.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::ping::{Ping, Slot};
use super::{Pacing, Transport};
use crate::Digest;
use crate::payload::{self, HEADER_BYTES, fill, write_header};

/// The sequence of a hello.
const HELLO: u64 = u64::MAX;

/// One lane: at most one request under way.
///
/// Its driver asks for the [`next_request`](Self::next_request) and waits until that is due, sends the
/// [`message`](Self::message), reports [`handle_sent`](Self::handle_sent), and reports what it receives until the
/// request is settled. Times are of `CLOCK_MONOTONIC`, read by the driver right before the call that sends and right
/// after the one that receives.
#[derive(Debug)]
pub struct Lane {
    ping: &'static Ping,
    stream: usize,
    /// Of the request that is under way or next; [`HELLO`] until the lane is set up.
    sequence: u64,
    due_ns: u64,
    sent_ns: u64,
    under_way: bool,
    message: Box<[u8]>,
    digest: Digest,
}

/// What an arriving message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The echo that is awaited.
    Taken,
    /// The same, but for its body.
    Corrupt,
    /// The echo of an earlier request.
    Late,
    /// The echo of a hello that was sent once more than needed.
    SpareHello,
    Strange,
}

impl Ping {
    /// Returns the lane of this number and starts its setup time: call it once per lane, just before its socket is created.
    pub fn lane(&'static self, number: usize) -> Lane {
        self.setup_times.created(number);
        Lane::new(self, number)
    }
}

impl Lane {
    fn new(ping: &'static Ping, stream: usize) -> Self {
        let message = vec![0; ping.job.message_bytes].into();
        let digest = Digest::default();
        Self { ping, stream, sequence: HELLO, due_ns: 0, sent_ns: 0, under_way: false, message, digest }
    }

    /// How to wait until a request is due.
    pub fn pacing(&self) -> Pacing {
        self.ping.pacing
    }

    /// Prepares the next request and says when it is due: at the earliest, 0 being at once. None as long as its phase
    /// has not begun or others have their turn; ask again after [`PHASE_POLL`](super::PHASE_POLL).
    pub fn next_request(&mut self) -> Option<u64> {
        let (ping, stream) = (self.ping, self.stream as u32);
        if self.sequence == HELLO {
            if !ping.greeting(self.stream) {
                return None;
            }
            write_header(&mut self.message, 0, HELLO);
        } else if self.sequence < ping.verify_messages {
            if !ping.verifying(self.stream) {
                return None;
            }
            fill(&mut self.message, ping.seed, stream, self.sequence);
        } else {
            self.due_ns = ping.due_ns(self.stream, self.sequence - ping.verify_messages)?;
            write_header(&mut self.message, stream, self.sequence);
        }
        Some(self.due_ns)
    }

    /// The bytes of the request.
    pub fn message(&self) -> &[u8] {
        &self.message
    }

    /// The request was sent; the clock was read right before.
    pub fn handle_sent(&mut self, at_ns: u64) {
        self.sent_ns = at_ns;
        self.under_way = true;
        if self.sequence != HELLO {
            add_one(&self.slot().requests);
        }
    }

    /// A message arrived; the clock was read right after. True if the request is settled: go on with the next.
    #[must_use]
    pub fn handle_message(&mut self, echo: &[u8], at_ns: u64) -> bool {
        match self.judge(echo) {
            Verdict::Taken => {
                self.take(at_ns);
                return true;
            }
            Verdict::Corrupt => self.failed(format!("the body of echo {} is wrong", self.sequence)),
            Verdict::Late => add_one(&self.slot().late),
            Verdict::Strange => add_one(&self.slot().strange),
            Verdict::SpareHello => {}
        }
        self.handle_tick(at_ns)
    }

    /// No message arrived for a while. True if the request is given up: go on with the next.
    #[must_use]
    pub fn handle_tick(&mut self, at_ns: u64) -> bool {
        let overdue = at_ns.saturating_sub(self.sent_ns) >= self.ping.timeout_ns;
        if !(self.under_way && overdue) || self.ping.job.transport == Transport::Tcp {
            return false;
        }
        self.under_way = false;
        // A lost hello is sent again: without its echo there is no lane.
        if self.sequence != HELLO {
            add_one(&self.slot().lost);
            self.settle();
        }
        true
    }

    /// The lane's socket cannot go on: ends the process with `failed`.
    pub fn failed(&self, reason: impl Display) -> ! {
        self.ping.job.lab.failed(format!("lane {}: {reason}", self.stream))
    }

    /// One comparison of 16 bytes where all is well.
    fn judge(&self, echo: &[u8]) -> Verdict {
        if echo.len() != self.message.len() {
            return Verdict::Strange;
        }
        let (header, body) = echo.split_at(HEADER_BYTES);
        let (awaited, awaited_body) = self.message.split_at(HEADER_BYTES);
        if header == awaited && self.under_way {
            let every_byte = self.sequence == HELLO || self.sequence < self.ping.verify_messages;
            return if every_byte && body != awaited_body { Verdict::Corrupt } else { Verdict::Taken };
        }
        let of_this_lane = header[8..] == awaited[8..];
        match payload::sequence(echo) {
            _ if self.sequence == HELLO => Verdict::Strange,
            Some(HELLO) if header[8..] == [0; 8] => Verdict::SpareHello,
            Some(sequence) if of_this_lane && sequence < self.sequence => Verdict::Late,
            _ => Verdict::Strange,
        }
    }

    fn take(&mut self, at_ns: u64) {
        let ping = self.ping;
        self.under_way = false;
        if self.sequence == HELLO {
            self.sequence = 0;
            return ping.set_up(self.stream);
        }
        if self.sequence < ping.verify_messages {
            self.digest.add(&self.message);
        }
        add_one(&self.slot().messages);
        ping.record(self.stream, self.due_ns, self.sent_ns, at_ns);
        self.settle();
    }

    /// On to the next sequence; with the last one of `verify` the lane is through the gate.
    fn settle(&mut self) {
        self.sequence += 1;
        if self.sequence == self.ping.verify_messages {
            self.ping.verified(self.stream, &self.digest);
        }
    }

    fn slot(&self) -> &'static Slot {
        self.ping.slot(self.stream)
    }
}

/// Not an atomic addition, which would cost more: a lane is the only writer of its counters.
fn add_one(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
