//! Outages: periods in which nothing arrives, such as when a radio loses its link.
//!
//! A full queue drops single packets in between others, because it drains all the time: a sender 25 % above
//! the rate loses one packet in five. At the start of an association, when packets are sent in bursts of a
//! millisecond, it loses the end of each burst. If everything is lost for longer than that, the cause is not
//! a queue, and the loss says nothing about its capacity.

use std::time::Duration;

use super::acked::Sent;
use super::time::Time;

/// All chunks sent in at least this time were lost ...
const TIME_MIN: Duration = Duration::from_millis(5);
/// ... and at least this many: fewer may be chance.
const CHUNKS_MIN: u32 = 8;

/// The latest run of consecutively lost chunks.
#[derive(Debug)]
pub(super) struct Outage {
    /// When the first of them was sent.
    begin: Time,
    /// The number after the last one.
    end: u64,
    chunks: u32,
    /// Their bytes, except those already returned by `add`.
    bytes: u32,
}

impl Outage {
    pub(super) fn none() -> Self {
        Self { begin: Time::START, end: 0, chunks: 0, bytes: 0 }
    }

    /// Records that this chunk, which was sent once, is lost. Returns how many more bytes are lost in an
    /// outage.
    pub(super) fn add(&mut self, sent: Sent, bytes: usize) -> usize {
        let (sent_at, seq) = sent;
        if seq != self.end || self.chunks == 0 {
            (self.begin, self.chunks, self.bytes) = (sent_at, 0, 0);
        }
        self.end = seq + 1;
        self.chunks = self.chunks.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes as u32);
        let is_long = self.chunks >= CHUNKS_MIN && sent_at.since(self.begin) >= TIME_MIN;
        if is_long { std::mem::take(&mut self.bytes) as usize } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_without_exception_for_long_is_lost_in_an_outage() {
        // lost by number, microseconds between two -> bytes in outages
        for (lost, gap_us, expected) in [
            (&[0, 1, 2, 3, 4, 5, 6, 7][..], 1000, 800),
            (&[0, 1, 2, 3, 4, 5, 6], 1000, 0),
            (&[0, 1, 2, 3, 4, 5, 6, 7], 500, 0),
            (&[20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30], 500, 1100),
            // One arrived in between.
            (&[10, 11, 12, 13, 15, 16, 17, 18], 1000, 0),
            (&[1, 10, 11, 12, 13, 14, 15, 16, 17, 18], 1000, 900),
        ] {
            let mut outage = Outage::none();
            let add = |&seq: &u64| {
                let sent_at = Time::START.after(Duration::from_secs(1) + Duration::from_micros(gap_us * seq));
                outage.add((sent_at, seq), 100)
            };
            assert_eq!(lost.iter().map(add).sum::<usize>(), expected, "{lost:?} {gap_us}");
        }
    }
}
