//! When a SACK is due, and which duplicates it reports.

use std::time::{Duration, Instant};

use crate::types::Tsn;

/// Duplicates that one SACK reports; more are counted only.
const DUPLICATES_MAX: usize = 32;

/// When a SACK is due (RFC 9260 section 6.2): at once in the cases named by [`hasten`](Self::hasten), else for every
/// second packet with data, else after a delay. That it is due says only that the next packet should carry it: a driver
/// that hands in a batch of packets before it asks for output sends one SACK for all of them.
#[derive(Debug)]
pub(super) struct Acknowledgement {
    delay: Duration,
    is_due: bool,
    deadline: Option<Instant>,
    /// Packets with data since the last SACK.
    packets: u32,
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
        if self.packets >= 2 || std::mem::take(&mut self.is_first) {
            self.is_due = true;
        } else if self.deadline.is_none() {
            self.deadline = Some(now + self.delay);
        }
        true
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
        self.packets = 0;
        self.duplicates.clear();
    }

    /// Gives back what is empty.
    pub(super) fn release(&mut self) {
        if self.duplicates.is_empty() {
            self.duplicates = Vec::new();
        }
    }
}
