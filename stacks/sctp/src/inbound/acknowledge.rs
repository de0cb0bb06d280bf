//! When a SACK is due, and which duplicates it reports.

use std::time::{Duration, Instant};

use crate::types::Tsn;

/// Duplicates that one SACK reports; more are counted only.
const DUPLICATES_MAX: usize = 32;

/// The most that two SACKs of a steady flow are apart. So every second packet has one up to 13,000 packets a second, 130
/// Mbit/s: there a peer whose window grows with each SACK, not with each byte (RFC 9260 section 7.2.1), loses nothing.
const SPACING_MAX: Duration = Duration::from_micros(150);

/// SACKs in a round trip, at the least: what a peer needs to find losses and to keep its pace.
const SACKS_PER_ROUND_TRIP: u32 = 4;

/// So many packets have a SACK in any case: they came in batches, each of which costs as much as a SACK does.
const BATCH_PACKETS: u32 = 64;

/// Packets that a SACK tells of, at the least, where the flow is fast.
const MANY_PACKETS: u32 = 3;

/// When a SACK is due: at once in the cases named by [`hasten`](Self::hasten), else for every second packet with data, else
/// after a delay. That it is due says only that the next packet should carry it: a driver that hands in a batch of packets
/// before it asks for output sends one SACK for all of them.
///
/// RFC 9260 section 6.2: "an acknowledgement SHOULD be generated for at least every second packet (not every second DATA
/// chunk) received". We do so, but not where that would be more than one in a quarter of a round trip, or in
/// [`SPACING_MAX`]: where packets come one by one, and fast, each SACK costs the peer, and whatever stands between, as much
/// as a packet with data does. (So do others: RFC 9000 section 13.2.2 for QUIC, and TCP where segments are put together.)
#[derive(Debug)]
pub(super) struct Acknowledgement {
    delay: Duration,
    is_due: bool,
    deadline: Option<Instant>,
    /// Packets with data since the last SACK.
    packets: u32,
    /// The latest packet with data.
    packet_at: Option<Instant>,
    /// The latest one that the last SACK told of; and how long after it the next SACK is due for the number of packets alone.
    told_at: Option<Instant>,
    spacing: Duration,
    /// The last SACK told of many packets, which came as fast as SACKs may follow each other, or nearly so.
    is_fast: bool,
    /// The packet that is being handled has data.
    is_packet_with_data: bool,
    /// The first data of the association is acknowledged at once: the peer's congestion window is at its smallest, and
    /// it has no round-trip time yet.
    is_first: bool,
    duplicates: Vec<Tsn>,
}

impl Acknowledgement {
    pub(super) fn new(delay: Duration) -> Self {
        Self {
            delay,
            is_due: false,
            deadline: None,
            packets: 0,
            packet_at: None,
            told_at: None,
            spacing: Duration::ZERO,
            is_fast: false,
            is_packet_with_data: false,
            is_first: true,
            duplicates: Vec::new(),
        }
    }

    /// A chunk of data has come, with the I bit or not.
    #[inline]
    pub(super) fn saw_data(&mut self, immediate: bool) {
        self.is_packet_with_data = true;
        self.is_due |= immediate;
    }

    /// A SACK is due at once: there is a gap or one was filled, a chunk was dropped, a duplicate came, the peer skipped
    /// TSNs, or the window has opened.
    #[inline]
    pub(super) fn hasten(&mut self) {
        self.is_due = true;
    }

    /// A TSN has come again.
    pub(super) fn saw_duplicate(&mut self, tsn: Tsn) {
        self.is_due = true;
        if self.duplicates.len() < DUPLICATES_MAX {
            self.duplicates.push(tsn);
        }
    }

    /// A packet ends. Gives whether it had data.
    #[inline]
    pub(super) fn end_of_packet(&mut self, now: Instant) -> bool {
        if !std::mem::take(&mut self.is_packet_with_data) {
            return false;
        }
        self.packets = self.packets.saturating_add(1);
        self.packet_at = Some(now);
        if std::mem::take(&mut self.is_first) {
            self.is_due = true;
        } else if self.packets == 1 {
            self.deadline = Some(now + self.delay);
        } else if !self.is_due {
            let next = self.told_at.map(|told| told + self.spacing);
            match next.filter(|&next| now < next && self.packets < BATCH_PACKETS) {
                Some(next) => self.deadline = Some(next),
                None => self.is_due = true,
            }
        }
        true
    }

    /// The round trip, as far as it is known.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.spacing = (rtt / SACKS_PER_ROUND_TRIP).min(SPACING_MAX);
    }

    /// How long what comes may be left where it is, since nobody waits for an answer: as long as SACKs are apart, in a fast flow.
    pub(super) fn patience(&self) -> Duration {
        if self.is_fast { self.spacing } else { Duration::ZERO }
    }

    /// Data of ours goes out too.
    pub(super) fn answers(&mut self) {
        self.is_fast = false;
    }

    /// When [`handle_timeout`](Self::handle_timeout) makes the SACK due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.is_due)
    }

    /// Time has passed.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.is_due |= self.deadline.is_some_and(|deadline| deadline <= now);
    }

    /// Whether a SACK should go out now.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether a SACK would say something new.
    pub(super) fn has_news(&self) -> bool {
        self.is_due || self.packets > 0
    }

    /// What came again since the last SACK.
    pub(super) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// A SACK was written.
    pub(super) fn sent(&mut self) {
        self.is_due = false;
        self.deadline = None;
        let since = self.packet_at.zip(self.told_at).map(|(at, told)| at.saturating_duration_since(told));
        self.is_fast = self.packets >= MANY_PACKETS && since.is_some_and(|since| since <= 2 * SPACING_MAX);
        self.packets = 0;
        self.told_at = self.packet_at;
        self.duplicates.clear();
    }

    /// Gives back what is empty.
    pub(super) fn release(&mut self) {
        if self.duplicates.is_empty() {
            self.duplicates = Vec::new();
        }
    }
}
