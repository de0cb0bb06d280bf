//! The checks and counters of one connection.

use netdyno_contender::payload::{self, HEADER_BYTES, Tally};
use netdyno_contender::{Digest, Receiver as Numbers};
use serde_json::json;

use crate::Transport;
use crate::receiver::Receiver;

/// Checks and counts the messages of one connection. A wrong message ends the process with `failed`.
#[derive(Debug)]
pub struct Sink<'a> {
    receiver: &'a Receiver,
    stream: u32,
    /// The bytes of every header after the sequence.
    header_end: [u8; HEADER_BYTES - 8],
    /// Counts gaps over UDP: it receives a header for each message, also for those that have none.
    numbers: Numbers,
    messages: u64,
    digest: Digest,
    expected: Vec<u8>,
}

impl<'a> Sink<'a> {
    /// The sink of a connection's messages. Call it once per connection.
    pub fn new(receiver: &'a Receiver, connection: usize) -> Self {
        let stream = connection as u32;
        let numbers = Numbers::new(receiver.job.seed, stream, HEADER_BYTES);
        let mut header = [0; HEADER_BYTES];
        payload::write_header(&mut header, stream, 0);
        let header_end = std::array::from_fn(|i| header[8 + i]);
        let expected = vec![0; receiver.job.message_bytes];
        Self { receiver, stream, header_end, numbers, messages: 0, digest: Digest::default(), expected }
    }

    /// Checks and counts a message.
    pub fn on_message(&mut self, message: &[u8]) {
        self.check(message);
        self.publish();
    }

    /// Checks a message. The counters show it after [`publish`](Self::publish), which a batch of messages needs only once.
    pub fn check(&mut self, message: &[u8]) {
        if let Err(reason) = self.try_check(message) {
            self.receiver.job.lab.failed(format!("connection {}: {reason}", self.stream));
        }
        if self.messages <= self.receiver.job.verify_messages {
            self.publish();
            self.acknowledge();
        }
    }

    /// Updates the counters.
    pub fn publish(&self) {
        self.receiver.counters.publish(self.stream as usize, &self.tally());
    }

    fn tally(&self) -> Tally {
        let bytes = self.messages * self.expected.len() as u64;
        Tally { messages: self.messages, bytes, ..self.numbers.tally() }
    }

    fn try_check(&mut self, message: &[u8]) -> Result<(), String> {
        let job = &self.receiver.job;
        if message.len() != self.expected.len() {
            return Err(format!("{} bytes, not {}", message.len(), self.expected.len()));
        }
        let is_verify = self.messages < job.verify_messages;
        if is_verify {
            payload::fill(&mut self.expected, job.seed, self.stream, self.messages);
            if message != self.expected {
                return Err(format!("message {} of verify is wrong", self.messages));
            }
            self.digest.add(message);
        }
        let has_header = message.len() >= HEADER_BYTES;
        if has_header && message[8..HEADER_BYTES] != self.header_end {
            return Err(format!("the header of message {} is wrong", self.messages));
        }
        let sequence = if is_verify && !has_header { self.messages } else { leading_number(message) };
        match job.transport {
            // The counters of a stream without loss follow from the number of messages.
            Transport::Tcp if sequence != self.messages => {
                return Err(format!("received message {sequence}, expected {}", self.messages));
            }
            Transport::Tcp => {}
            Transport::Udp => {
                let mut header = [0; HEADER_BYTES];
                payload::write_header(&mut header, self.stream, sequence);
                self.numbers.on_message(&header, false)?;
            }
        }
        self.messages += 1;
        Ok(())
    }

    fn acknowledge(&self) {
        let job = &self.receiver.job;
        job.lab.signal("sender", json!({ "received": self.stream }));
        if self.messages == job.verify_messages {
            let bytes = self.messages * self.expected.len() as u64;
            self.receiver.gate.passed(&job.lab, &self.digest, self.messages, bytes);
        }
    }
}

/// The first 8 bytes, which every message has.
fn leading_number(message: &[u8]) -> u64 {
    message.first_chunk().map_or(u64::MAX, |bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sender::stage;
    use crate::tests::job;
    use crate::{Sender, Source};

    /// The messages of these sequences as a sender writes them.
    fn messages(transport: &str, bytes: usize, sequences: &[u64]) -> Vec<Vec<u8>> {
        let sender = Sender::new(job(transport, bytes, 1));
        sender.stage.store(stage::TRAFFIC, std::sync::atomic::Ordering::Relaxed);
        let source = Source::new(&sender, 0);
        let mut message = vec![0; bytes];
        let write = |sequence: &u64| {
            source.write(&mut message, *sequence);
            message.clone()
        };
        sequences.iter().map(write).collect()
    }

    /// Transport, length, sequences -> (gaps, repeats, disorder), or the number of the first message that is refused. Three
    /// messages belong to verify.
    #[test]
    fn messages_are_checked_and_counted() {
        type Row = (&'static str, usize, &'static [u64], Result<(u64, u64, u64), usize>);
        let rows: &[Row] = &[
            ("tcp", 8, &[0, 1, 2, 3, 4], Ok((0, 0, 0))),
            ("tcp", 15, &[0, 1, 2, 3, 4], Ok((0, 0, 0))),
            ("tcp", 16, &[0, 1, 2, 3, 4], Ok((0, 0, 0))),
            ("tcp", 100, &[0, 1, 2, 3, 4], Ok((0, 0, 0))),
            ("tcp", 8, &[0, 1, 2, 3, 5], Err(4)),
            ("tcp", 100, &[0, 1, 2, 4], Err(3)),
            ("tcp", 100, &[0, 1, 2, 3, 3], Err(4)),
            ("tcp", 100, &[0, 2], Err(1)),
            ("udp", 8, &[0, 2], Err(1)),
            ("udp", 8, &[0, 1, 2, 3, 6, 5], Ok((1, 0, 1))),
            ("udp", 100, &[0, 1, 2, 3, 6, 5, 5], Ok((1, 1, 1))),
            ("udp", 100, &[0, 1, 2, 9], Ok((6, 0, 0))),
        ];
        for (transport, bytes, sequences, wanted) in rows {
            let receiver = Receiver::new(job(transport, *bytes, 1));
            let mut sink = Sink::new(&receiver, 0);
            let at = format!("{transport} {bytes} {sequences:?}");
            let refused =
                messages(transport, *bytes, sequences).iter().position(|m| sink.try_check(m).is_err());
            assert_eq!(refused, wanted.err(), "{at}");
            if let Ok((gaps, repeats, disorder)) = *wanted {
                sink.publish();
                let count = sequences.len() as u64;
                let sum = [count, count * *bytes as u64, gaps, repeats, disorder];
                assert_eq!(receiver.values().map(|(_, value)| value), sum, "{at}");
            }
        }
    }

    #[test]
    fn every_byte_of_verify_and_every_length_is_compared() {
        let good = messages("tcp", 40, &[0]).remove(0);
        let receiver = Receiver::new(job("tcp", 40, 1));
        let mut sink = Sink::new(&receiver, 0);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            assert!(sink.try_check(&bad).is_err(), "byte {at}");
        }
        assert!(sink.try_check(&good[..39]).is_err());
        assert_eq!(sink.try_check(&good), Ok(()));
    }
}
