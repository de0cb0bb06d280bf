//! The payload of every workload: a header with a sequence number, and a body that can be recomputed.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest as _, Sha256};

/// Length of the header. Shorter messages have no header.
pub const HEADER_BYTES: usize = 16;
/// The maximum number of missing sequence numbers remembered per connection. Further ones remain gaps.
const MAX_MISSING: usize = 4096;
const BLOCK_BYTES: usize = 32;

/// Writes the header over the first [`HEADER_BYTES`] of `buf`.
///
/// # Panics
/// If `buf` is shorter than a header.
pub fn write_header(buf: &mut [u8], stream: u32, sequence: u64) {
    buf[..8].copy_from_slice(&sequence.to_be_bytes());
    buf[8..12].copy_from_slice(&stream.to_be_bytes());
    buf[12..HEADER_BYTES].fill(0);
}

/// Writes a whole message of the `verify` phase: the header and its body. A message shorter than a header is a prefix of
/// the body.
pub fn fill(buf: &mut [u8], seed: u64, stream: u32, sequence: u64) {
    let body = match buf.len() {
        0..HEADER_BYTES => buf,
        _ => {
            write_header(buf, stream, sequence);
            &mut buf[HEADER_BYTES..]
        }
    };
    let mut input = [0; 24];
    input[..8].copy_from_slice(&seed.to_be_bytes());
    input[8..12].copy_from_slice(&stream.to_be_bytes());
    input[12..20].copy_from_slice(&sequence.to_be_bytes());
    for (number, block) in (0u32..).zip(body.chunks_mut(BLOCK_BYTES)) {
        input[20..].copy_from_slice(&number.to_be_bytes());
        block.copy_from_slice(&Sha256::digest(input)[..block.len()]);
    }
}

/// The digest of a set of messages: the XOR of their SHA-256, which is independent of the order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest([u8; BLOCK_BYTES]);

impl Digest {
    /// Adds one whole message.
    pub fn add(&mut self, message: &[u8]) {
        self.merge(&Self(Sha256::digest(message).into()));
    }

    /// Adds all messages of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(byte, with)| *byte ^= with);
    }
}

/// 64 lower-case hexadecimal digits.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Counters of one connection, or of all connections together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Messages received.
    pub messages: u64,
    /// Payload bytes received.
    pub bytes: u64,
    /// Skipped sequence numbers that have not arrived.
    pub gaps: u64,
    /// Messages that had already arrived.
    pub repeats: u64,
    /// Messages that arrived after a later one.
    pub disorder: u64,
}

/// Checks and counts the messages of one connection.
#[derive(Debug)]
pub struct Receiver {
    seed: u64,
    stream: u32,
    message_bytes: usize,
    next: u64,
    missing: BTreeSet<u64>,
    /// Sequence numbers skipped while `missing` was full.
    forgotten: u64,
    tally: Tally,
    digest: Digest,
    expected: Vec<u8>,
}

impl Receiver {
    /// Creates the receiver of connection number `stream`, on which every message has `message_bytes`.
    pub fn new(seed: u64, stream: u32, message_bytes: usize) -> Self {
        Self {
            seed,
            stream,
            message_bytes,
            next: 0,
            missing: BTreeSet::new(),
            forgotten: 0,
            tally: Tally::default(),
            digest: Digest::default(),
            expected: Vec::new(),
        }
    }

    /// Checks and counts a message. With `verify`, every byte is compared, and the message is added to the digest.
    pub fn on_message(&mut self, bytes: &[u8], verify: bool) -> Result<(), String> {
        let stream = self.stream;
        if bytes.len() != self.message_bytes {
            return Err(format!("connection {stream}: {} bytes, not {}", bytes.len(), self.message_bytes));
        }
        let sequence = sequence(bytes).ok_or_else(|| format!("connection {stream}: no header"))?;
        if bytes[8..12] != stream.to_be_bytes() || bytes[12..HEADER_BYTES] != [0; 4] {
            return Err(format!("connection {stream}: the header of message {sequence} is wrong"));
        }
        if verify {
            self.expected.resize(self.message_bytes, 0);
            fill(&mut self.expected, self.seed, stream, sequence);
            if bytes != self.expected {
                return Err(format!("connection {stream}: the body of message {sequence} is wrong"));
            }
            self.digest.add(bytes);
        }
        self.tally.messages += 1;
        self.tally.bytes += bytes.len() as u64;
        self.count(sequence);
        Ok(())
    }

    /// The counters.
    pub fn tally(&self) -> Tally {
        Tally { gaps: self.missing.len() as u64 + self.forgotten, ..self.tally }
    }

    /// The digest of the messages received with `verify`.
    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    fn count(&mut self, sequence: u64) {
        if sequence < self.next {
            let late = self.missing.remove(&sequence);
            self.tally.disorder += u64::from(late);
            self.tally.repeats += u64::from(!late);
            return;
        }
        if sequence > self.next {
            let room = (MAX_MISSING - self.missing.len()) as u64;
            let remembered = room.min(sequence - self.next);
            self.missing.extend(self.next..self.next + remembered);
            self.forgotten = self.forgotten.saturating_add(sequence - self.next - remembered);
        }
        self.next = sequence.saturating_add(1);
    }
}

/// The sequence number of a message; `None` if it is too short for a header.
pub fn sequence(message: &[u8]) -> Option<u64> {
    let header = message.first_chunk::<HEADER_BYTES>()?;
    header.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_vector_of_the_protocol() {
        let mut message = [0; 80];
        fill(&mut message, 1, 2, 3);
        let mut digest = Digest::default();
        digest.add(&message);
        let wanted = "8eb1afe42c57d17ba06d68c55ccc9b69eb98f1693ceb3e94f624dc95c7ccb2fe";
        assert_eq!(digest.to_string(), wanted);
        digest.merge(&digest.clone());
        assert_eq!(digest.to_string(), "0".repeat(64));
    }

    #[test]
    fn a_short_message_is_a_prefix_of_the_body() {
        let mut whole = [0; 48];
        fill(&mut whole, 1, 2, 3);
        for length in 0..HEADER_BYTES {
            let mut short = vec![0xff; length];
            fill(&mut short, 1, 2, 3);
            assert_eq!(short, whole[HEADER_BYTES..][..length]);
        }
        assert_eq!(whole[HEADER_BYTES..][..3], [0xf9, 0x30, 0xea]);
    }

    /// Sequences in order of arrival -> (gaps, repeats, disorder).
    #[test]
    fn gaps_repeats_and_disorder() {
        type Row = (&'static [u64], (u64, u64, u64));
        let rows: &[Row] = &[
            (&[], (0, 0, 0)),
            (&[0, 1, 2], (0, 0, 0)),
            (&[0, 2], (1, 0, 0)),
            (&[3], (3, 0, 0)),
            (&[0, 2, 1], (0, 0, 1)),
            (&[2, 1, 0], (0, 0, 2)),
            (&[0, 0], (0, 1, 0)),
            (&[0, 2, 1, 1], (0, 1, 1)),
            (&[0, 5, 3, 5, 2], (2, 1, 2)),
            (&[5000], (5000, 0, 0)),
            (&[5000, 4095], (4999, 0, 1)),
            (&[5000, 4096], (5000, 1, 0)),
            (&[5000, 0, 5002, 5001, 4999], (4999, 1, 2)),
            (&[u64::MAX], (u64::MAX, 0, 0)),
        ];
        for (sequences, wanted) in rows {
            let mut receiver = Receiver::new(1, 2, HEADER_BYTES);
            for sequence in *sequences {
                let mut message = [0; HEADER_BYTES];
                write_header(&mut message, 2, *sequence);
                receiver.on_message(&message, false).unwrap();
            }
            let Tally { gaps, repeats, disorder, messages, bytes } = receiver.tally();
            assert_eq!((gaps, repeats, disorder), *wanted, "{sequences:?}");
            assert_eq!((messages, bytes), (sequences.len() as u64, 16 * sequences.len() as u64));
        }
    }

    #[test]
    fn a_wrong_message_is_refused() {
        let mut good = [0; 80];
        fill(&mut good, 1, 2, 0);
        let mut receiver = Receiver::new(1, 2, 80);
        for at in 8..80 {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(receiver.on_message(&bad, true).is_err(), "byte {at}");
        }
        assert!(receiver.on_message(&good[..79], true).is_err());
        assert_eq!(receiver.tally(), Tally::default());
        receiver.on_message(&good, true).unwrap();
        let mut digest = Digest::default();
        digest.add(&good);
        assert_eq!(*receiver.digest(), digest);
    }
}
