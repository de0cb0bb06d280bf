//! Retransmission of messages until they are acknowledged: RFC 9147 sections 5.8 and 7.

use std::time::{Duration, Instant};

use super::protection::Writer;
use crate::dtls::certificate::{FIRST_RETRANSMISSION, HANDSHAKE_DATAGRAM_BYTES, RETRANSMISSIONS_MAX};
use crate::dtls::record::content;
use crate::dtls::transmits::{Transmits, push};

/// Length of a record number in an ACK in bytes: epoch and sequence number, 64 bits each.
const RECORD_NUMBER_BYTES: usize = 16;
/// The maximum number of record numbers in one of our ACKs.
pub(in crate::dtls) const ACK_NUMBERS_MAX: usize = 32;

/// The content of one record.
#[derive(Debug)]
struct Part {
    fragment: Vec<u8>,
    /// The numbers under which it was sent: an ACK may contain any of them.
    numbers: Vec<u64>,
}

/// A flight of one epoch. Acknowledged parts are not repeated.
#[derive(Debug)]
pub(in crate::dtls) struct Flight {
    parts: Vec<Part>,
    deadline: Instant,
    wait: Duration,
    left: usize,
}

impl Flight {
    /// A flight that was sent now: handshake fragments and their record numbers.
    pub(super) fn sent(now: Instant, parts: Vec<(u64, Vec<u8>)>) -> Self {
        let part = |(number, fragment)| Part { fragment, numbers: vec![number] };
        Self {
            parts: parts.into_iter().map(part).collect(),
            deadline: now + FIRST_RETRANSMISSION,
            wait: FIRST_RETRANSMISSION,
            left: RETRANSMISSIONS_MAX,
        }
    }

    /// Sends one fragment for the first time.
    pub(super) fn send(
        now: Instant,
        fragment: Vec<u8>,
        writer: &mut Writer,
        transmits: &mut Transmits,
    ) -> Self {
        let number = writer.next_sequence();
        push(transmits, writer.sealed(content::HANDSHAKE, &fragment));
        Self::sent(now, vec![(number, fragment)])
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Retransmits unacknowledged parts when the timer expires. False: the limit is reached.
    pub(super) fn handle_timeout(
        &mut self,
        now: Instant,
        writer: &mut Writer,
        transmits: &mut Transmits,
    ) -> bool {
        if now < self.deadline {
            return true;
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        self.wait *= 2;
        self.deadline = now + self.wait;
        let mut datagram = Vec::new();
        for part in &mut self.parts {
            part.numbers.push(writer.next_sequence());
            let record = writer.sealed(content::HANDSHAKE, &part.fragment);
            if !datagram.is_empty() && datagram.len() + record.len() > HANDSHAKE_DATAGRAM_BYTES {
                push(transmits, std::mem::take(&mut datagram));
            }
            datagram.extend(record);
        }
        push(transmits, datagram);
        true
    }

    /// Starts retransmitting anew. An ACK of any but the latest transmission is no longer recognised.
    pub(super) fn restart(&mut self, now: Instant) {
        (self.left, self.wait) = (RETRANSMISSIONS_MAX, FIRST_RETRANSMISSION);
        self.deadline = now + self.wait;
        self.parts.iter_mut().for_each(|part| drop(part.numbers.drain(..part.numbers.len() - 1)));
    }

    /// Handles an ACK of records in this epoch. True: the flight is acknowledged.
    pub(super) fn acknowledge(&mut self, epoch: u64, ack: &[u8]) -> bool {
        for number in numbers(ack).filter(|number| number.0 == epoch) {
            self.parts.retain(|part| !part.numbers.contains(&number.1));
        }
        self.parts.is_empty()
    }
}

/// The record numbers in an ACK: epoch and sequence number. `None` if its length is inconsistent.
pub(super) fn numbers(ack: &[u8]) -> impl Iterator<Item = (u64, u64)> {
    let list = ack.split_first_chunk().filter(|(length, list)| {
        usize::from(u16::from_be_bytes(**length)) == list.len() && list.len() % RECORD_NUMBER_BYTES == 0
    });
    let list = list.map_or(&[][..], |(_, list)| list);
    list.as_chunks::<RECORD_NUMBER_BYTES>().0.iter().map(|bytes| {
        let number = u128::from_be_bytes(*bytes);
        // The two halves.
        ((number >> 64) as u64, number as u64)
    })
}

/// An ACK of these records, the first [`ACK_NUMBERS_MAX`] of them.
pub(in crate::dtls) fn ack(epoch: u64, sequences: &[u64]) -> Vec<u8> {
    let sequences = &sequences[..sequences.len().min(ACK_NUMBERS_MAX)];
    let mut ack = ((sequences.len() * RECORD_NUMBER_BYTES) as u16).to_be_bytes().to_vec();
    for sequence in sequences {
        ack.extend(epoch.to_be_bytes());
        ack.extend(sequence.to_be_bytes());
    }
    ack
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_round_trip() {
        for count in [0, 1, 3, 32, 40] {
            let sequences: Vec<u64> = (7..7 + count).collect();
            let expected: Vec<_> = sequences.iter().take(32).map(|&sequence| (2, sequence)).collect();
            assert_eq!(numbers(&ack(2, &sequences)).collect::<Vec<_>>(), expected);
        }
        let whole = ack(3, &[5]);
        for wrong in [&[][..], &[0], &[0, 1, 0], &whole[..17], &[&whole[..], &[0]].concat()] {
            assert_eq!(numbers(wrong).count(), 0, "{wrong:?}");
        }
    }

    #[test]
    fn any_transmission_may_be_acknowledged() {
        let now = Instant::now();
        let mut flight = Flight::sent(now, vec![(4, vec![1]), (5, vec![2])]);
        flight.parts[0].numbers.push(9);
        assert!(!flight.acknowledge(2, &ack(3, &[4, 5])), "of another epoch");
        assert!(!flight.acknowledge(2, &ack(2, &[1, 6])), "never sent");
        assert!(!flight.acknowledge(2, &ack(2, &[9])));
        assert_eq!(flight.parts.len(), 1);
        assert!(flight.acknowledge(2, &ack(2, &[5])));
    }
}
