//! Processing a SACK (RFC 9260 section 6.2.1).

use std::time::Instant;

use super::Outbound;
use super::acked::Acked;
use super::congestion::{Ack, CongestionControl};
use super::packed::Front;
use super::time::Time;
use crate::error::ProtocolViolation;
use crate::types::Tsn;
use crate::wire::Sack;

/// Acknowledging what was never sent (implied by RFC 9260 section 6.2.1).
const UNSENT: ProtocolViolation =
    ProtocolViolation { section: "RFC 9260 section 6.2.1", rule: "a SACK acknowledges only what was sent" };

impl Outbound {
    /// Handles a SACK. Its cost is proportional to the newly acknowledged chunks, its gap blocks, and a 64th
    /// of the flight.
    pub(crate) fn handle_sack(&mut self, now: Instant, sack: &Sack<'_>) -> Result<(), ProtocolViolation> {
        let window = sack.window_bytes as usize;
        self.handle_ack(now, sack.cumulative_tsn, window, sack.gaps, sack.duplicates)
    }

    /// Handles the cumulative TSN of a SHUTDOWN (RFC 9260 section 9.2), which acknowledges like a SACK.
    pub(crate) fn handle_cumulative_tsn(&mut self, now: Instant, tsn: Tsn) -> Result<(), ProtocolViolation> {
        self.handle_ack(now, tsn, self.window, std::iter::empty(), 0)
    }

    fn handle_ack(
        &mut self,
        now: Instant,
        cumulative_tsn: Tsn,
        window: usize,
        gaps: impl Iterator<Item = (u16, u16)>,
        duplicates: usize,
    ) -> Result<(), ProtocolViolation> {
        let now = self.clock.read(now);
        let advance = cumulative_tsn.since(self.cumulative_tsn_acked());
        // i) "If Cumulative TSN Ack is less than the Cumulative TSN Ack Point, then drop the SACK": it was
        // overtaken.
        let Ok(advance) = u64::try_from(advance) else { return Ok(()) };
        let cumulative = self.flight.acked() + advance;
        self.note_limit();
        let mut acked = Acked::new(self.loss.recovery_start, self.path_from);
        let highest = self.acknowledge(cumulative, gaps, &mut acked)?;
        self.judge_timeout(now, &acked);
        self.room.on_acked(self.flight.base(), self.flight.next(), self.flight.bytes());
        if self.flight.is_empty() {
            self.room.on_done(now);
        }
        self.free(acked.freed_bytes, acked.freed_messages);
        self.set_window(window);
        self.credit = false;
        // Advancing over abandoned chunks is progress too.
        let progress = acked.bytes > 0 || advance > 0;
        if advance > 0 {
            self.stalled_timeouts = 0;
        }
        if progress {
            self.timeouts_in_a_row = 0;
            self.is_window_probe_out = false;
        }
        self.answer_window_probe();
        if let Some(sent_at) = acked.clean_sent_at() {
            self.rtt.sample(now, now.since(sent_at));
        }
        let (base, next) = (self.flight.base(), self.flight.next());
        let rtt = (self.rtt.lowest(), duplicates);
        self.loss.on_sack(now, &acked, highest, base, next, rtt);
        let lost_before = self.flight.lost_chunks();
        let reduced = self.detect_losses(now, acked.bytes) | self.judge_probe(now, duplicates, acked.bytes);
        if !reduced {
            self.grow(now, &acked, highest);
        }
        self.pace(acked.bytes, advance > 0 && self.flight.lost_chunks() <= lost_before);
        self.pass_abandoned();
        self.remind_forward(now);
        if progress {
            self.restart_timer(now);
            self.timers.probe = self.probe_deadline(now);
        }
        self.limits.tidy();
        self.arm(now);
        Ok(())
    }

    /// Marks acknowledged chunks and returns the number after the highest.
    fn acknowledge(
        &mut self,
        cumulative: u64,
        gaps: impl Iterator<Item = (u16, u16)>,
        acked: &mut Acked,
    ) -> Result<u64, ProtocolViolation> {
        let (flight, limits, store) = (&mut self.flight, &mut self.limits, &mut self.store);
        if cumulative > flight.next() {
            return Err(UNSENT);
        }
        flight.ack_to(cumulative, acked, |Front { seqs, chunk, payload, .. }| {
            store.release(payload);
            if chunk.limit.is_limited() {
                limits.landed(chunk.limit, seqs.start, chunk.next_fragment);
            }
        });
        let (mut highest, mut blocks) = (cumulative, 0);
        for (first, last) in gaps.take(self.settings.max_gap_blocks as usize) {
            blocks += 1;
            // Offset 1 is the TSN after the cumulative one, whose number is `cumulative`.
            let (from, to) = (cumulative + u64::from(first) - 1, cumulative + u64::from(last));
            if to > flight.next() {
                return Err(UNSENT);
            }
            flight.ack_gap(from, to, acked);
            highest = to;
        }
        self.untold.on_sack(highest, blocks);
        Ok(highest)
    }

    /// A SACK from a peer without space for what it did not accept: that chunk was a zero-window probe, even
    /// if it was sent while there was space. The peer is at least alive (RFC 9260 section 6.1 A). Once it has
    /// space again, the probe is resent at once.
    fn answer_window_probe(&mut self) {
        let firsts = [self.flight.first_outstanding(0), self.flight.first_lost(0)];
        let Some(seq) = firsts.into_iter().flatten().min() else { return };
        if self.flight.payload_length(seq) > self.window {
            self.timeouts_in_a_row = 0;
            self.stalled_timeouts = 0;
        } else if self.is_window_probe_out && self.flight.is_outstanding(seq) {
            self.flight.lose(seq);
            self.is_window_probe_out = false;
        }
    }

    /// Lets cwnd grow.
    fn grow(&mut self, now: Time, acked: &Acked, highest: u64) {
        let Some(((sent_at, newest), _)) = acked.newest else { return };
        self.congestion.on_ack(&Ack {
            now,
            bytes: acked.growth_bytes,
            delivered: acked.news_bytes,
            lost: std::mem::take(&mut self.loss.newly_lost),
            in_flight: self.in_flight_bytes(),
            told_short: self.is_much_untold(),
            sent_at,
            rtt: acked.clean_sent_at().map(|sent_at| now.since(sent_at)),
            smoothed_rtt: self.rtt.smoothed().unwrap_or_default(),
            limited: newest < self.limited_end,
            acked_end: highest,
            next: self.flight.next(),
        });
    }
}
