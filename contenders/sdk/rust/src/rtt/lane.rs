//! One lane of ping without its socket: its requests, when they are due, and the classification of echoes.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::ping::{Ping, Slot};
use super::{Pacing, Transport};
use crate::Digest;
use crate::payload::{self, HEADER_BYTES, fill, write_header};

/// The sequence number of a hello.
const HELLO: u64 = u64::MAX;

/// One lane, with at most one outstanding request.
///
/// The driver calls [`next_request`](Self::next_request), waits until the request is due, sends the
/// [`message`](Self::message) and calls [`handle_sent`](Self::handle_sent). It then passes received messages to
/// [`handle_message`](Self::handle_message) until the request is settled. Times are those of `CLOCK_MONOTONIC`, read
/// right before the call that sends and right after the call that receives.
#[derive(Debug)]
pub struct Lane {
    ping: &'static Ping,
    stream: usize,
    /// Of the outstanding or next request; [`HELLO`] until the lane is set up.
    sequence: u64,
    due_ns: u64,
    sent_ns: u64,
    outstanding: bool,
    message: Box<[u8]>,
    digest: Digest,
}

/// The classification of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The awaited echo.
    Taken,
    /// The awaited echo with a wrong body.
    Corrupt,
    /// The echo of an earlier request.
    Late,
    /// The echo of a redundant hello.
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
        Self { ping, stream, sequence: HELLO, due_ns: 0, sent_ns: 0, outstanding: false, message, digest }
    }

    /// How to wait until a request is due.
    pub fn pacing(&self) -> Pacing {
        self.ping.pacing
    }

    /// Prepares the next request and returns when it is due; 0 means immediately. Returns `None` if its phase has not
    /// started or other lanes go first; call it again after [`PHASE_POLL`](super::PHASE_POLL).
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

    /// Reports that the request was sent. `at_ns` was read right before.
    pub fn handle_sent(&mut self, at_ns: u64) {
        self.sent_ns = at_ns;
        self.outstanding = true;
        if self.sequence != HELLO {
            add_one(&self.slot().requests);
        }
    }

    /// Handles a received message. `at_ns` was read right after. Returns true if the request is settled: continue with
    /// the next one.
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

    /// Handles the absence of messages. Returns true if the request is lost: continue with the next one.
    #[must_use]
    pub fn handle_tick(&mut self, at_ns: u64) -> bool {
        let overdue = at_ns.saturating_sub(self.sent_ns) >= self.ping.timeout_ns;
        if !(self.outstanding && overdue) || self.ping.job.transport == Transport::Tcp {
            return false;
        }
        self.outstanding = false;
        // A lost hello is retransmitted, because the lane is set up by its echo.
        if self.sequence != HELLO {
            add_one(&self.slot().lost);
            self.settle();
        }
        true
    }

    /// Reports an error of the lane's socket: ends the process with `failed`.
    pub fn failed(&self, reason: impl Display) -> ! {
        self.ping.job.lab.failed(format!("lane {}: {reason}", self.stream))
    }

    /// Classifies a message. The common case is one comparison of 16 bytes.
    fn judge(&self, echo: &[u8]) -> Verdict {
        if echo.len() != self.message.len() {
            return Verdict::Strange;
        }
        let (header, body) = echo.split_at(HEADER_BYTES);
        let (awaited, awaited_body) = self.message.split_at(HEADER_BYTES);
        if header == awaited && self.outstanding {
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
        self.outstanding = false;
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

    /// Continues with the next sequence number. The last one of `verify` completes the gate for this lane.
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

/// Adds without an atomic read-modify-write, because a lane is the only writer of its counters.
fn add_one(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
