//! The messages of one connection.

use std::sync::atomic::{Ordering, fence};

use netdyno_contender::payload::{self, HEADER_BYTES, Tally};

use crate::sender::{Sender, stage};

/// The messages of one connection, in order. A message is counted when it is returned, because a message that the receiver counts
/// before the sender would be an error.
#[derive(Debug)]
pub struct Source<'a> {
    sender: &'a Sender,
    connection: usize,
    message: Vec<u8>,
    messages: u64,
}

/// Consecutive messages that a sender may send now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Batch {
    /// The sequence number of the first.
    pub first: u64,
    /// Their number, at least 1.
    pub count: u64,
}

impl<'a> Source<'a> {
    /// The messages of a connection. Call it once per connection.
    pub fn new(sender: &'a Sender, connection: usize) -> Self {
        Self { sender, connection, message: vec![0; sender.job.message_bytes], messages: 0 }
    }

    /// Returns the next message. `None`: there is none yet; ask again after [`PAUSE`](crate::PAUSE). Does not return after `stop`,
    /// which ends the process.
    pub fn next_message(&mut self) -> Option<&[u8]> {
        let batch = self.claim(1)?;
        let mut message = std::mem::take(&mut self.message);
        self.write(&mut message, batch.first);
        self.message = message;
        Some(&self.message)
    }

    /// Whether the last message belongs to `verify`: flush it, because the next one waits for its acknowledgement.
    pub fn is_verify(&self) -> bool {
        self.messages <= self.sender.job.verify_messages
    }

    /// Counts up to `most` messages as sent, which the caller then [writes](Self::write) and sends.
    pub fn claim(&mut self, most: u64) -> Option<Batch> {
        let verify_messages = self.sender.job.verify_messages;
        let (first, stage) = (self.messages, self.sender.stage.load(Ordering::Acquire));
        if stage == stage::STOPPED {
            crate::wait_for_stop();
        }
        let count = if first < verify_messages {
            let received = self.sender.received[self.connection].load(Ordering::Acquire);
            u64::from(stage != stage::NOTHING && first <= received)
        } else {
            if stage == stage::TRAFFIC { most } else { 0 }
        };
        if count == 0 {
            return None;
        }
        self.messages += count;
        let bytes = self.messages * self.message.len() as u64;
        let tally = Tally { messages: self.messages, bytes, ..Tally::default() };
        self.sender.counters.publish(self.connection, &tally);
        // The gate allows one uncounted message, but not a batch: either this sees the stop, or the result has the batch.
        if count > 1 {
            fence(Ordering::SeqCst);
            if self.sender.stage.load(Ordering::SeqCst) == stage::STOPPED {
                crate::wait_for_stop();
            }
        }
        Some(Batch { first, count })
    }

    /// Writes message number `sequence`: all of it in `verify`, only its header afterwards.
    pub fn write(&self, message: &mut [u8], sequence: u64) {
        let (job, stream) = (&self.sender.job, self.connection as u32);
        if sequence < job.verify_messages {
            payload::fill(message, job.seed, stream, sequence);
        } else if message.len() >= HEADER_BYTES {
            payload::write_header(message, stream, sequence);
        } else if let Some(place) = message.first_chunk_mut() {
            *place = sequence.to_be_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use netdyno_contender::{Event, Phase};
    use serde_json::json;

    use super::*;
    use crate::tests::job;

    fn acknowledge(sender: &Sender, stream: u64) {
        sender.handle_event(Event::Signal { from: "receiver".into(), body: json!({ "received": stream }) });
    }

    #[test]
    fn a_source_waits_for_phases_and_acknowledgements() {
        let sender = Sender::new(job("tcp", 32, 2));
        let mut source = Source::new(&sender, 1);
        assert_eq!(source.next_message(), None);
        sender.handle_event(Event::Start(Phase::Verify));
        for sequence in 0..3 {
            let mut wanted = [0; 32];
            payload::fill(&mut wanted, 7, 1, sequence);
            assert_eq!(source.next_message(), Some(&wanted[..]), "{sequence}");
            assert!(source.is_verify());
            assert_eq!(source.next_message(), None, "{sequence} is not acknowledged");
            acknowledge(&sender, 0);
            assert_eq!(source.next_message(), None, "{sequence}: another stream");
            acknowledge(&sender, 1);
        }
        assert_eq!(source.next_message(), None, "the warm-up has not started");
        sender.handle_event(Event::Start(Phase::Warmup));
        for sequence in 3u64..6 {
            assert_eq!(source.next_message().unwrap()[..8], sequence.to_be_bytes());
            assert!(!source.is_verify());
        }
        assert_eq!(source.claim(10), Some(Batch { first: 6, count: 10 }));
        assert_eq!(sender.values(), [("messages", 16), ("bytes", 16 * 32)]);
    }

    #[test]
    fn short_messages_have_a_sequence_after_verify() {
        let sender = Sender::new(job("udp", 10, 1));
        let source = Source::new(&sender, 0);
        let (mut message, mut wanted) = ([0; 10], [0; 10]);
        payload::fill(&mut wanted, 7, 0, 2);
        source.write(&mut message, 2);
        assert_eq!(message, wanted);
        wanted[..8].copy_from_slice(&3u64.to_be_bytes());
        source.write(&mut message, 3);
        assert_eq!(message, wanted);
    }
}
