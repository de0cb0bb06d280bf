//! When a SACK is due, and which duplicates it reports.

use std::time::{Duration, Instant};

use crate::types::Tsn;

/// Most duplicates reported per SACK; further ones are only counted.
const DUPLICATES_MAX: usize = 32;

/// Longest distance of two SACKs in a steady flow. Every second packet is thus acknowledged up to 13,000
/// packets per second (130 Mbit/s). A peer whose cwnd grows per SACK, not per byte (RFC 9260 section 7.2.1),
/// loses nothing in that range.
const SPACING_MAX: Duration = Duration::from_micros(150);

/// Fewest SACKs per round trip: what a peer needs to detect losses and to pace.
const SACKS_PER_ROUND_TRIP: u32 = 4;

/// Packets after which a SACK is always due: they came in batches, each of which costs as much as a SACK.
const BATCH_PACKETS: u32 = 64;

/// Fewest packets per SACK that indicate a fast flow.
const MANY_PACKETS: u32 = 3;

/// Decides when a SACK is due: at once in the cases that call [`require_immediately`](Self::require_immediately), else for every second
/// packet with data, else after a delay. A due SACK goes into the next packet: a driver that hands in a batch
/// of packets before polling for output sends one SACK for all of them.
///
/// RFC 9260 section 6.2: "an acknowledgement SHOULD be generated for at least every second packet (not every
/// second DATA chunk) received". SACKs are sent less often where that would be more than one per quarter of a
/// round trip, or per
/// [`SPACING_MAX`]. In a fast flow of single packets, each SACK costs the peer and the path as much as a data
/// packet does. QUIC (RFC 9000 section 13.2.2) and TCP with receive offload do the same.
#[derive(Debug)]
pub(super) struct Acknowledgement {
    delay: Duration,
    is_due: bool,
    deadline: Option<Instant>,
    /// Packets with data since the last SACK.
    packets: u32,
    /// When the latest packet with data arrived.
    packet_at: Option<Instant>,
    /// The latest packet that the last SACK covered, and the time after it at which the number of packets
    /// alone makes the next SACK due.
    acknowledged_at: Option<Instant>,
    spacing: Duration,
    /// The last SACK covered many packets, and SACKs follow each other about as fast as allowed.
    is_fast: bool,
    /// The current packet contains data.
    is_packet_with_data: bool,
    /// The first data of the association is acknowledged at once: the peer's congestion window is smallest
    /// then, and it has no round-trip time yet.
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
            acknowledged_at: None,
            spacing: Duration::ZERO,
            is_fast: false,
            is_packet_with_data: false,
            is_first: true,
            duplicates: Vec::new(),
        }
    }

    /// Records a chunk of data, with the I bit or not.
    #[inline]
    pub(super) fn saw_data(&mut self, immediate: bool) {
        self.is_packet_with_data = true;
        self.is_due |= immediate;
    }

    /// Makes a SACK due at once: a gap appeared or closed, a chunk was dropped, a duplicate arrived, the peer
    /// skipped TSNs, or the window has opened.
    #[inline]
    pub(super) fn require_immediately(&mut self) {
        self.is_due = true;
    }

    /// Records a duplicate TSN.
    pub(super) fn saw_duplicate(&mut self, tsn: Tsn) {
        self.is_due = true;
        if self.duplicates.len() < DUPLICATES_MAX {
            self.duplicates.push(tsn);
        }
    }

    /// Ends a packet; returns whether it contained data.
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
            let next = self.acknowledged_at.map(|told| told + self.spacing);
            match next.filter(|&next| now < next && self.packets < BATCH_PACKETS) {
                Some(next) => self.deadline = Some(next),
                None => self.is_due = true,
            }
        }
        true
    }

    /// Sets the round trip.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.spacing = (rtt / SACKS_PER_ROUND_TRIP).min(SPACING_MAX);
    }

    /// How long incoming packets may wait, because nothing depends on an immediate answer: the distance of
    /// SACKs in a fast flow.
    pub(super) fn max_receive_delay(&self) -> Duration {
        if self.is_fast { self.spacing } else { Duration::ZERO }
    }

    /// Data of ours is sent too.
    pub(super) fn answers(&mut self) {
        self.is_fast = false;
    }

    /// When [`handle_timeout`](Self::handle_timeout) makes the SACK due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.deadline.filter(|_| !self.is_due)
    }

    /// Handles an expired deadline.
    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.is_due |= self.deadline.is_some_and(|deadline| deadline <= now);
    }

    /// Whether a SACK should go out now.
    pub(super) fn is_due(&self) -> bool {
        self.is_due
    }

    /// Whether a SACK would contain something new.
    pub(super) fn has_news(&self) -> bool {
        self.is_due || self.packets > 0
    }

    /// Duplicates since the last SACK.
    pub(super) fn duplicates(&self) -> &[Tsn] {
        &self.duplicates
    }

    /// A SACK was written.
    pub(super) fn sent(&mut self) {
        self.is_due = false;
        self.deadline = None;
        let since =
            self.packet_at.zip(self.acknowledged_at).map(|(at, told)| at.saturating_duration_since(told));
        self.is_fast = self.packets >= MANY_PACKETS && since.is_some_and(|since| since <= 2 * SPACING_MAX);
        self.packets = 0;
        self.acknowledged_at = self.packet_at;
        self.duplicates.clear();
    }

    /// Frees empty buffers.
    pub(super) fn release(&mut self) {
        if self.duplicates.is_empty() {
            self.duplicates = Vec::new();
        }
    }
}
