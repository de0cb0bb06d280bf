//! What a SACK acknowledges.

use std::ops::Range;
use std::time::Duration;

use super::chunk::{Chunk, END, RENEGED};
use super::packed::Front;
use super::time::Time;

/// A transmission of a chunk: its time and number, ordered by time.
pub(super) type Sent = (Time, u64);

/// What a SACK newly acknowledged.
#[derive(Debug)]
pub(super) struct Acked {
    /// Chunks sent before this do not increase cwnd.
    pub(super) growth_from: Time,
    /// Chunks sent before this were sent on another path, and give no round-trip sample.
    path_from: Time,
    /// Bytes on the wire.
    pub(super) bytes: usize,
    /// Those of them that had not been gap-acknowledged before a timeout.
    pub(super) news_bytes: usize,
    /// Bytes on the wire of chunks that increase cwnd.
    pub(super) growth_bytes: usize,
    /// The newly acknowledged chunk that was sent last, and whether it was retransmitted.
    pub(super) newest: Option<(Sent, bool)>,
    /// When the last of those sent only once was sent.
    newest_clean: Option<Time>,
    /// The lowest number of those sent only once.
    pub(super) lowest_clean: u64,
    /// Payload bytes that can be released.
    pub(super) freed_bytes: usize,
    /// Messages that can be released.
    pub(super) freed_messages: usize,
}

impl Acked {
    pub(super) fn new(growth_from: Time, path_from: Time) -> Self {
        Self {
            growth_from,
            path_from,
            bytes: 0,
            news_bytes: 0,
            growth_bytes: 0,
            newest: None,
            newest_clean: None,
            lowest_clean: u64::MAX,
            freed_bytes: 0,
            freed_messages: 0,
        }
    }

    /// Transmission time for a round-trip sample. There is none if the chunk sent last was retransmitted: it
    /// triggered the SACK, perhaps because the previous one was lost, and others have waited for that.
    pub(super) fn clean_sent_at(&self) -> Option<Time> {
        let is_clean = self.newest.is_some_and(|(_, again)| !again);
        self.newest_clean.filter(|sent_at| is_clean && *sent_at >= self.path_from)
    }

    /// Whether it acknowledges nothing sent after a timeout, or nothing old enough to be answered.
    pub(super) fn is_of_before(&self, timeout: Time, now: Time, lowest_rtt: Duration) -> bool {
        let is_before = |((sent_at, _), again): (Sent, bool)| {
            sent_at < timeout || again && now.since(sent_at) < lowest_rtt
        };
        self.newest.is_some_and(is_before)
    }

    /// The peer has these chunks, which were sent together and have this many bytes on the wire.
    pub(super) fn add(&mut self, seqs: Range<u64>, chunk: &Chunk, wire_bytes: usize) {
        self.bytes += wire_bytes;
        if chunk.has(RENEGED) {
            return;
        }
        self.news_bytes += wire_bytes;
        if chunk.sent_at >= self.growth_from {
            self.growth_bytes += wire_bytes;
        }
        let sent = (chunk.sent_at, seqs.end - 1);
        if self.newest.is_none_or(|(newest, _)| sent > newest) {
            self.newest = Some((sent, chunk.transmits > 1));
        }
        if chunk.transmits == 1 {
            self.lowest_clean = self.lowest_clean.min(seqs.start);
            self.newest_clean = self.newest_clean.max(Some(chunk.sent_at));
        }
    }

    /// Releases chunks that were not abandoned.
    pub(super) fn free(&mut self, front: &Front) {
        self.freed_bytes += front.payload.len();
        if front.chunk.has(END) {
            self.freed_messages += front.count();
        }
    }
}
