//! One connection: its outstanding operations, and their progress.

use netdyno_contender::kv::turns::Outbox;

use crate::check::{Check, Progress};
use crate::draw::{Draw, Operation};
use crate::frames::{Frames, OK};

/// The counters of all connections.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub sets: u64,
    pub gets: u64,
    pub wrong: u64,
}

/// When an operation was due and when it was sent, in an open loop.
#[derive(Debug, Default, Clone, Copy)]
pub struct Times {
    pub due_ns: u64,
    pub sent_ns: u64,
}

/// Operations are numbered consecutively. Outstanding ones are stored in a ring at their number modulo its length, a power of
/// two.
#[derive(Debug)]
pub struct Lane {
    pub draw: Draw,
    operations: Box<[Operation]>,
    /// Empty in a closed loop, which sends its operations together.
    times: Box<[Times]>,
    /// When the last batch was written, in a closed loop.
    sent_ns: u64,
    /// The numbers of the first operation that is not answered, not completely sent, without a time stamp, and not yet added.
    answered: u32,
    sent: u32,
    stamped: u32,
    asked: u32,
    /// The sent length of the operation `sent`.
    sent_bytes: usize,
    /// The last written message: the number of the operation after it, and its length.
    written: u32,
    written_bytes: usize,
    check: Check,
    /// The number of this connection's next operation, counted over all connections, in an open loop.
    pub next: u64,
}

impl Lane {
    pub fn new(draw: Draw, pipeline: usize, open_loop: bool, next: u64) -> Self {
        let room = pipeline.next_power_of_two();
        Self {
            draw,
            operations: vec![Operation::default(); room].into(),
            times: vec![Times::default(); if open_loop { room } else { 0 }].into(),
            sent_ns: 0,
            answered: 0,
            sent: 0,
            stamped: 0,
            asked: 0,
            sent_bytes: 0,
            written: 0,
            written_bytes: 0,
            check: Check::Right(0),
            next,
        }
    }

    /// The number of outstanding operations.
    pub fn outstanding(&self) -> usize {
        self.asked.wrapping_sub(self.answered) as usize
    }

    /// Whether there is unsent data.
    pub fn unsent(&self) -> bool {
        self.sent != self.asked
    }

    /// Adds an operation. `due_ns` is used in an open loop only. Fewer than `pipeline` operations must be outstanding.
    #[inline]
    pub fn ask(&mut self, operation: Operation, due_ns: u64) {
        let at = self.at(self.asked);
        self.operations[at] = operation;
        if !self.times.is_empty() {
            self.times[at].due_ns = due_ns;
        }
        self.asked = self.asked.wrapping_add(1);
    }

    /// Writes the unsent requests right before they are sent, at `at_ns`.
    pub fn write(&mut self, frames: &Frames, out: &mut Outbox, at_ns: u64) {
        let mut number = self.sent;
        let mut bytes = 0;
        while number != self.asked {
            let operation = self.operations[self.at(number)];
            if !frames.write(operation, out) {
                break;
            }
            bytes += frames.request_bytes(operation);
            number = number.wrapping_add(1);
        }
        out.skip(self.sent_bytes);
        (self.written, self.written_bytes) = (number, bytes - self.sent_bytes);
        self.stamp(number, at_ns);
    }

    #[cfg(test)]
    pub fn written_bytes(&self) -> usize {
        self.written_bytes
    }

    /// Reports how many bytes of the last written message were sent.
    pub fn sent(&mut self, frames: &Frames, bytes: usize) {
        if bytes == self.written_bytes {
            (self.sent, self.sent_bytes) = (self.written, 0);
            return;
        }
        self.sent_bytes += bytes;
        while self.sent != self.written {
            let request = frames.request_bytes(self.operations[self.at(self.sent)]);
            if self.sent_bytes < request {
                return;
            }
            self.sent_bytes -= request;
            self.sent = self.sent.wrapping_add(1);
        }
    }

    /// Handles received bytes. Calls `on_answer` with the times of each answer and the text of an error.
    #[inline]
    pub fn take(
        &mut self,
        frames: &Frames,
        mut input: &[u8],
        tally: &mut Tally,
        mut on_answer: impl FnMut(Times, Option<String>),
    ) -> Result<(), String> {
        while !input.is_empty() {
            if self.answered == self.sent {
                return Err("more answers than requests".to_owned());
            }
            let at = self.at(self.answered);
            let operation = self.operations[at];
            let whole = frames.answer_bytes(operation);
            let mut error = None;
            // The common case is a complete and right answer.
            if matches!(self.check, Check::Right(0))
                && input.len() >= whole
                && is_right(frames, operation, &input[..whole])
            {
                input = &input[whole..];
            } else {
                let (used, progress) = self.check.step(frames, operation, input)?;
                input = &input[used..];
                match progress {
                    Progress::Partial => continue,
                    Progress::Right => {}
                    Progress::Wrong(text) => {
                        tally.wrong += 1;
                        error = text;
                    }
                }
            }
            tally.sets += u64::from(operation.is_set());
            tally.gets += u64::from(!operation.is_set());
            self.answered = self.answered.wrapping_add(1);
            let times = self.times.get(at).copied();
            on_answer(times.unwrap_or(Times { due_ns: self.sent_ns, sent_ns: self.sent_ns }), error);
        }
        Ok(())
    }

    fn stamp(&mut self, to: u32, at_ns: u64) {
        if self.stamped == to || self.stamped.wrapping_sub(self.sent) > to.wrapping_sub(self.sent) {
            return;
        }
        if self.times.is_empty() {
            self.sent_ns = at_ns;
            // A batch is written by one or more calls; its time is that of the first.
            self.stamped = self.asked;
            return;
        }
        while self.stamped != to {
            let at = self.at(self.stamped);
            self.times[at].sent_ns = at_ns;
            self.stamped = self.stamped.wrapping_add(1);
        }
    }

    #[inline]
    fn at(&self, number: u32) -> usize {
        number as usize & (self.operations.len() - 1)
    }
}

#[inline]
fn is_right(frames: &Frames, operation: Operation, answer: &[u8]) -> bool {
    if operation.is_set() { answer == OK } else { frames.is_value(operation.key(), answer) }
}
