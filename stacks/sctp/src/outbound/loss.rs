//! Loss detection: time-based as in RACK-TLP (RFC 8985), and by the retransmission timeout.
//!
//! A chunk is lost if one sent later has arrived, and more than a round trip and a reordering window have
//! passed since it was sent. The window is zero if no reordering was ever seen and more than two packets have
//! overtaken the chunk. This equals fast retransmit (RFC 9260 section 7.2.4) without counting misses per
//! chunk. Otherwise the window is a quarter of the smoothed round trip, times a factor that grows with each
//! report of duplicates, which indicate spurious retransmissions.
//!
//! The work is amortised. Chunks sent once are in the ring in order of time: a cursor passes each of them
//! once. Retransmitted chunks are in a queue in order of time.

use std::collections::VecDeque;
use std::time::Duration;

use super::Outbound;
use super::acked::{Acked, Sent};
use super::congestion::CongestionControl;
use super::outage::Outage;
use super::reduction::Pace;
use super::time::Time;
use super::untold::Untold;

/// Smallest reordering window, once reordering was seen. On a single machine a quarter of a round trip is
/// shorter than the jitter of threads and timers.
const MIN_REORDER_WINDOW: Duration = Duration::from_millis(1);
/// Shortest time until a tail loss probe. A faster probe than timers and the peer's threads allow is useless.
const MIN_PROBE_DELAY: Duration = Duration::from_millis(10);
/// Packets that must have overtaken a chunk for it to be lost at once.
const OVERTAKEN_PACKETS: usize = 2;
/// Recoveries for which an enlarged reordering window is kept (RFC 8985 section 6.2, step 4).
const PERSIST: u32 = 16;

/// State of loss detection.
#[derive(Debug)]
pub(super) struct Loss {
    /// The last-sent chunk among those that have arrived (RACK.xmit_ts and RACK.end_seq).
    newest: Sent,
    /// Its round trip (RACK.rtt).
    rtt: Duration,
    /// Chunks before this that were sent once are lost or settled.
    cursor: u64,
    /// Retransmitted chunks in order of time. May include settled ones and ones retransmitted again.
    pub(super) resent: VecDeque<Sent>,
    /// When the next chunk counts as lost.
    pub(super) reorder_at: Time,
    /// A chunk has arrived that had been overtaken by later ones.
    reordering: bool,
    /// The reordering window in quarters of a round trip.
    factor: u32,
    /// Recoveries until the factor returns to 1.
    persist: u32,
    /// Duplicates count again from this number: once per round trip.
    duplicates_from: u64,
    /// The same for losses that did not reduce cwnd.
    counted_from: u64,
    /// The number after the highest that has arrived.
    highest: u64,
    /// When cwnd was last reduced. Chunks sent earlier give no new information.
    pub(super) recovery_start: Time,
    /// The number of the next new chunk at that time.
    recovery_end: u64,
    /// The tail loss probe in flight.
    probe: Option<Probe>,
    /// Bytes found lost since the last SACK that acknowledged something, except in outages.
    pub(super) newly_lost: usize,
    outage: Outage,
    /// Rate reduction while losses are repaired.
    pub(super) pace: Option<Pace>,
}

/// A tail loss probe.
#[derive(Debug)]
struct Probe {
    seq: u64,
    /// A retransmission, not new data.
    is_retransmission: bool,
}

/// RACK's verdict on a chunk.
enum Verdict {
    Lost,
    /// Lost unless it arrives by then.
    LostAt(Time),
    /// Nothing sent later has arrived.
    InTime,
}

impl Loss {
    pub(super) fn new() -> Self {
        Self {
            newest: (Time::START, 0),
            rtt: Duration::ZERO,
            cursor: 0,
            resent: VecDeque::new(),
            reorder_at: Time::NEVER,
            reordering: false,
            factor: 1,
            persist: 0,
            duplicates_from: 0,
            counted_from: 0,
            highest: 0,
            recovery_start: Time::START,
            recovery_end: 0,
            probe: None,
            newly_lost: 0,
            outage: Outage::none(),
            pace: None,
        }
    }

    /// Handles a SACK (RFC 8985 section 6.2, steps 1 to 4). `highest` is the number after the highest that it
    /// reports, `base` the one after the highest cumulatively acknowledged.
    pub(super) fn on_sack(
        &mut self,
        now: Time,
        acked: &Acked,
        highest: u64,
        base: u64,
        next: u64,
        rtt: (Duration, usize),
    ) {
        let (lowest_rtt, duplicates) = rtt;
        // Step 3: it was sent once, and a higher number arrived before it.
        self.reordering |= acked.lowest_clean < self.highest;
        self.highest = self.highest.max(highest);
        if let Some((newest, again)) = acked.newest {
            let rtt = now.since(newest.0);
            // Step 2: too fast to answer the last transmission.
            if newest > self.newest && !(again && rtt < lowest_rtt) {
                (self.newest, self.rtt) = (newest, rtt);
            }
        }
        if duplicates > 0 && base >= self.duplicates_from {
            self.factor = (self.factor + 1).min(PERSIST);
            self.persist = PERSIST;
            self.duplicates_from = next;
        }
    }

    /// cwnd was reduced.
    pub(super) fn enter_recovery(&mut self, now: Time, next: u64) {
        (self.recovery_start, self.recovery_end) = (now, next);
        self.count_recovery();
    }

    /// A loss did not reduce cwnd: for the reordering window it is a recovery too.
    fn count_loss(&mut self, base: u64, next: u64) {
        if base >= self.counted_from {
            self.counted_from = next;
            self.count_recovery();
        }
    }

    fn count_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.factor = 1;
        }
    }

    /// It was sent so long before what has arrived that it is no longer in transit.
    pub(super) fn is_late(&self, sent: Sent, window: Duration, now: Time) -> bool {
        matches!(self.verdict(sent, window, now), Verdict::Lost)
    }

    fn verdict(&self, sent: Sent, window: Duration, now: Time) -> Verdict {
        if sent >= self.newest {
            return Verdict::InTime;
        }
        match sent.0.after(self.rtt).after(window) {
            late if late <= now => Verdict::Lost,
            late => Verdict::LostAt(late),
        }
    }
}

impl Outbound {
    /// Whether losses from before the last reduction are still being repaired.
    fn is_in_recovery(&self) -> bool {
        self.flight.base() < self.loss.recovery_end
    }

    /// RFC 8985 section 6.2, step 4.
    fn reorder_window(&self) -> Duration {
        let smoothed = self.rtt.smoothed().unwrap_or_default();
        let overtaken = self.flight.gap_bytes() > OVERTAKEN_PACKETS * self.packet_bytes;
        if !self.loss.reordering && (overtaken || self.is_in_recovery()) {
            return Duration::ZERO;
        }
        (smoothed / 4 * self.loss.factor).min(smoothed).max(MIN_REORDER_WINDOW)
    }

    /// Detects lost chunks (step 5) after `delivered` bytes were acknowledged. Returns whether cwnd was
    /// reduced.
    pub(super) fn detect_losses(&mut self, now: Time, delivered: usize) -> bool {
        self.loss.reorder_at = Time::NEVER;
        if !self.flight.has_settled() && self.loss.resent.is_empty() {
            // Nothing has been overtaken.
            self.loss.cursor = self.loss.cursor.max(self.flight.base());
            return false;
        }
        let window = self.reorder_window();
        let lost = self.lose_resent(window, now) + self.lose_originals(window, now);
        self.pass_untold(window, now);
        self.respond(lost, now, delivered)
    }

    /// Handles lost bytes that were sent since the last reduction. Returns whether cwnd was reduced for them.
    fn respond(&mut self, lost_bytes: usize, now: Time, delivered: usize) -> bool {
        if lost_bytes == 0 {
            return false;
        }
        if !self.congestion.judges_losses() {
            self.reduce(now, delivered);
            return true;
        }
        // More may be lost than was reported, and fill the window: sending a packet will show it.
        self.credit = true;
        self.loss.count_loss(self.flight.base(), self.flight.next());
        false
    }

    /// Detects lost retransmissions. Returns the bytes lost that were sent since the last reduction.
    fn lose_resent(&mut self, window: Duration, now: Time) -> usize {
        let mut lost = 0;
        while let Some(&sent) = self.loss.resent.front() {
            let (sent_at, seq) = sent;
            let is_current = self.flight.is_outstanding(seq) && self.flight.chunk(seq).sent_at == sent_at;
            if is_current {
                let Some(bytes) = self.judge(sent, window, now) else { break };
                lost += bytes;
            }
            self.loss.resent.pop_front();
        }
        lost
    }

    /// Detects lost first transmissions. Returns the bytes lost that were sent since the last reduction.
    fn lose_originals(&mut self, window: Duration, now: Time) -> usize {
        let mut lost = 0;
        while let Some(seq) = self.flight.first_outstanding(self.loss.cursor) {
            self.loss.cursor = seq;
            if seq >= self.untold.from {
                break;
            }
            let chunk = self.flight.chunk(seq);
            if chunk.transmits == 1 {
                let Some(bytes) = self.judge((chunk.sent_at, seq), window, now) else { break };
                lost += bytes;
                let in_outage = self.loss.outage.add((chunk.sent_at, seq), self.flight.chunk_bytes(seq));
                self.loss.newly_lost = self.loss.newly_lost.saturating_sub(in_outage);
            }
            self.loss.cursor = seq + 1;
        }
        lost
    }

    /// Whether this chunk is lost, and therefore possibly those sent after it: returns its bytes, or 0 if a
    /// reduction already covers it. If it is not lost, records when it will be.
    fn judge(&mut self, sent: Sent, window: Duration, now: Time) -> Option<usize> {
        match self.loss.verdict(sent, window, now) {
            Verdict::Lost => {
                let (sent_at, seq) = sent;
                let bytes = self.flight.chunk_bytes(seq);
                self.lose(seq, now);
                return Some(if sent_at > self.loss.recovery_start { bytes } else { 0 });
            }
            Verdict::LostAt(late) => self.loss.reorder_at = self.loss.reorder_at.min(late),
            Verdict::InTime => {}
        }
        None
    }

    /// Marks an outstanding chunk as lost: it is retransmitted, or its message is abandoned.
    pub(super) fn lose(&mut self, seq: u64, now: Time) {
        self.loss.newly_lost += self.flight.chunk_bytes(seq);
        let chunk = self.flight.chunk(seq);
        let limit = chunk.limit;
        if limit.is_limited() && self.limits.is_exhausted(limit, chunk.transmits, now) {
            self.abandon(limit);
        } else {
            self.flight.lose(seq);
        }
    }

    /// Bytes have arrived: updates what may be sent during a recovery.
    pub(super) fn pace(&mut self, delivered: usize, is_safe: bool) {
        if !self.is_in_recovery() {
            self.loss.pace = None;
        }
        let in_flight = self.in_flight_bytes();
        if let Some(pace) = &mut self.loss.pace {
            let grace = if is_safe { self.packet_bytes } else { 0 };
            pace.on_delivery(delivered, in_flight, self.congestion.window_bytes(), grace);
        }
    }

    /// Reduces cwnd, and lets one lost packet be sent regardless of cwnd (RFC 9260 section 7.2.4 step 3).
    fn reduce(&mut self, now: Time, delivered: usize) {
        let flight_before = self.flight.bytes() + self.flight.lost_bytes() + delivered;
        self.loss.pace = Some(Pace::new(flight_before));
        self.congestion.on_loss();
        self.loss.enter_recovery(now, self.flight.next());
        self.credit = true;
    }

    // -- tail loss probes (RFC 8985 section 7) --

    /// When a probe is due if no SACK arrives until then.
    pub(super) fn probe_deadline(&self, now: Time) -> Time {
        let Some(smoothed) = self.rtt.smoothed() else { return Time::NEVER };
        if self.loss.probe.is_some()
            || self.is_window_probe_out
            || self.flight.has_lost()
            || self.is_in_recovery()
            || self.flight.outstanding() == 0
        {
            return Time::NEVER;
        }
        // Without the I bit on the last chunk the peer may delay its SACK.
        let wait = if self.immediate_end == self.flight.next() { Duration::ZERO } else { self.sack_delay };
        now.after((smoothed * 2).max(MIN_PROBE_DELAY) + wait)
    }

    /// Sends a chunk to elicit a SACK: new data if available, else the last chunk again.
    pub(super) fn send_probe(&mut self, now: Time) {
        if self.probe_deadline(now) == Time::NEVER {
            return;
        }
        if self.new_payload_bytes().is_some() {
            self.loss.probe = Some(Probe { seq: self.flight.next(), is_retransmission: false });
        } else {
            let Some(seq) = self.flight.last_outstanding() else { return };
            let chunk = self.flight.chunk(seq);
            // A chunk that may not be retransmitted is left to the timeout.
            if chunk.limit.is_limited() && self.limits.is_exhausted(chunk.limit, chunk.transmits, now) {
                return;
            }
            self.flight.lose(seq);
            self.loss.probe = Some(Probe { seq, is_retransmission: true });
        }
        self.credit = true;
        self.restart_timer(now);
    }

    /// Evaluates the answer to the probe (section 7.4). Returns whether cwnd was reduced.
    pub(super) fn judge_probe(&mut self, now: Time, duplicates: usize, delivered: usize) -> bool {
        let Some(&Probe { seq, is_retransmission }) = self.loss.probe.as_ref() else { return false };
        if seq >= self.flight.next() || !self.flight.is_settled(seq) {
            return false;
        }
        self.loss.probe = None;
        // It was no duplicate: the chunk had been lost, and only the probe repaired it.
        if !is_retransmission || duplicates > 0 || self.is_in_recovery() {
            return false;
        }
        // One packet, whatever was reported about the chunk since.
        self.respond(self.packet_bytes, now, delivered)
    }

    // -- the timeout (RFC 9260 section 6.3.3) --

    /// T3-rtx expired: everything outstanding is lost.
    pub(super) fn lose_everything(&mut self, now: Time) {
        if !self.is_window_probe_out {
            self.congestion.on_timeout(self.timeouts_in_a_row > 1);
            self.loss.enter_recovery(now, self.flight.next());
        }
        self.flight.forget_gaps();
        // Most of it may have arrived; how much was lost is unknown.
        let newly_lost = self.loss.newly_lost;
        let mut from = 0;
        while let Some(seq) = self.flight.first_outstanding(from) {
            from = seq + 1;
            self.lose(seq, now);
        }
        self.loss.newly_lost = newly_lost;
        self.loss.pace = None;
        self.untold = Untold::nothing();
        self.loss.resent.clear();
        self.loss.cursor = self.flight.next();
        self.loss.probe = None;
        self.loss.reorder_at = Time::NEVER;
    }

    /// Handles a SACK for data sent before a timeout: the timer expired too early, for example because other
    /// flows increased the round trip many times within one flight. RFC 3522 detects this by timestamps,
    /// which SCTP lacks. Actual losses are detected by chunks sent later.
    pub(super) fn judge_timeout(&mut self, now: Time, acked: &Acked) {
        let (timeout, lowest) = (self.loss.recovery_start, self.rtt.lowest());
        let is_early =
            self.is_in_recovery() && lowest < Duration::MAX && acked.is_of_before(timeout, now, lowest);
        if is_early && self.congestion.on_early_timeout() {
            self.flight.find_lost();
            self.loss.cursor = self.flight.base();
            self.loss.recovery_end = self.flight.base();
        }
    }
}
