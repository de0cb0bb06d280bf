//! The phases and their transitions.

use std::time::Duration;

use super::rate::Sample;
use super::{BETA, Bbr, FULL_ROUNDS, Others, PROBE_WAIT, Phase, UP_GAIN};
use crate::outbound::congestion::Ack;
use crate::outbound::time::Time;

/// [ProbeRTTDuration].
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// Most rounds between bandwidth probes: a Reno flow would have gained that many packets.
const PROBE_ROUNDS_MAX: f64 = 63.0;
/// Fraction by which the first round of a probe raises the long-term bound; at least by a packet, as in the
/// draft. With thousands of packets per RTT, a single packet would take a dozen rounds to matter.
const RAISE_PART: f64 = 1.0 / 256.0;
/// Upper limit of that in packets: about as many losses as a SACK can report.
const RAISE_PACKETS_MAX: f64 = 256.0;
/// The same where others keep a queue: they determine the RTT, and their next overflow ends the probe.
const OTHERS_RAISE_PART: f64 = 1.0 / 16.0;
/// If loss has reduced the rate below this fraction of the model's, a probe follows after this many rounds
/// without a queue: the path may have become faster again.
const LOW_PART: f64 = 0.75;
const LOW_ROUNDS: u32 = 2;
/// Rounds after which the queue of a probe must have drained, if it caused one.
const DOWN_ROUNDS_MAX: u64 = 3;
/// Random variation of the time between probes.
const PROBE_WAIT_SPAN_MS: u64 = 1000;

impl Bbr {
    pub(super) fn enter(&mut self, phase: Phase, now: Time) {
        (self.phase, self.phase_at, self.phase_round) = (phase, now, self.rounds);
    }

    pub(super) fn enter_down(&mut self, now: Time) {
        self.enter(Phase::Down, now);
        // xorshift64: only needs to differ between flows.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.probe_wait = PROBE_WAIT + Duration::from_millis(self.random % PROBE_WAIT_SPAN_MS);
    }

    /// `others`: as judged by the round that has ended, if this SACK `starts` one.
    pub(super) fn advance(&mut self, ack: &Ack, sample: &Sample, starts: bool, others: Others) {
        let now = ack.now;
        let in_flight = ack.in_flight as f64;
        match self.phase {
            Phase::Startup if self.is_full => self.enter(Phase::Drain, now),
            Phase::Startup => {}
            Phase::Drain if in_flight <= self.target(1.0) => self.enter_down(now),
            Phase::Drain => {}
            Phase::Down | Phase::Cruise if self.should_probe(now) => {
                self.forget_short_bounds();
                self.forget_oldest_rate();
                self.enter(Phase::Refill, now);
                // A round from here.
                self.round_end = self.rates.delivered;
            }
            Phase::Down
                if in_flight <= self.target(1.0).min(self.with_headroom())
                    || self.rounds >= self.phase_round + DOWN_ROUNDS_MAX =>
            {
                self.enter(Phase::Cruise, now);
            }
            Phase::Down | Phase::Cruise => {}
            Phase::Refill if starts && self.rounds > self.phase_round => {
                self.enter(Phase::Up, now);
                (self.full_rate, self.full_rounds) = (self.max_rate(), 0);
                self.raises = 0;
                self.others = others;
            }
            Phase::Refill => {}
            Phase::Up => self.probe_up(ack, sample, starts),
            Phase::ProbeRtt => self.probe_rtt(ack, starts),
        }
        // An idle path was empty.
        let due = self.probe_rtt_due & !std::mem::take(&mut self.after_idle);
        // A bandwidth probe is not interrupted: with an RTT of a second none would ever finish.
        let waits = due && matches!(self.phase, Phase::Refill | Phase::Up);
        self.probe_rtt_due = waits;
        if due && !waits && self.phase != Phase::ProbeRtt && self.phase != Phase::Startup {
            self.enter(Phase::ProbeRtt, now);
            (self.probe_rtt_until, self.window_before) = (None, self.window);
        }
    }

    pub(super) fn should_probe(&self, now: Time) -> bool {
        let rounds = (self.path_bytes(self.model_rate()) / self.packet_bytes as f64).min(PROBE_ROUNDS_MAX);
        let waited = (self.rounds - self.phase_round) as f64;
        // The rate was reduced a lot for a queue that is gone.
        let is_low = self.rate_short < LOW_PART * self.max_rate() && self.calm_rounds >= LOW_ROUNDS;
        is_low
            || now.since(self.phase_at) > self.probe_wait
            || self.phase == Phase::Cruise && waited >= rounds.max(1.0)
    }

    pub(super) fn probe_up(&mut self, ack: &Ack, sample: &Sample, starts: bool) {
        if self.is_beyond(sample.lost, sample.sent_in_flight) {
            // [HandleInflightTooHigh].
            let bears = (sample.sent_in_flight as f64).max(BETA * self.target(1.0));
            if !sample.app_limited {
                self.in_flight_long = bears;
            }
            return self.enter_down(ack.now);
        }
        if self.in_flight_long.is_finite() {
            self.in_flight_long = self.in_flight_long.max(sample.sent_in_flight as f64);
            if ack.limited && self.window >= self.in_flight_long - self.packet_bytes as f64 {
                // The bound limits the rate: raise it twice as fast each round.
                self.full_rounds = 0;
                let (part, packets_max) = match self.others {
                    Others::None => (RAISE_PART, RAISE_PACKETS_MAX),
                    Others::Some | Others::Always => (OTHERS_RAISE_PART, f64::INFINITY),
                };
                let packet = self.packet_bytes as f64;
                let first = (self.in_flight_long * part).max(packet);
                let step =
                    (first * (1u64 << self.raises.min(20)) as f64).min(packets_max * packet).max(first);
                self.in_flight_long += step * ack.delivered as f64 / self.window;
            }
        }
        self.raises += u32::from(starts);
        let filled = ack.in_flight as f64 >= UP_GAIN * self.path_bytes(self.max_rate());
        let stalls = self.full_rounds >= FULL_ROUNDS || self.full_rounds >= 2 && filled;
        if self.rounds > self.phase_round && stalls {
            self.enter_down(ack.now);
        }
    }

    /// [BBRAdvanceMaxBwFilter]; a cycle without samples does not count.
    pub(super) fn forget_oldest_rate(&mut self) {
        if self.most[0] > 0.0 {
            self.most = [0.0, self.most[0]];
        }
    }

    fn forget_short_bounds(&mut self) {
        (self.rate_short, self.in_flight_short) = (f64::INFINITY, f64::INFINITY);
    }

    pub(super) fn probe_rtt(&mut self, ack: &Ack, starts: bool) {
        self.rates.on_app_limited(ack.in_flight);
        match self.probe_rtt_until {
            None if ack.in_flight as f64 <= self.probe_rtt_bytes(ack) => {
                self.probe_rtt_until = Some(ack.now.after(PROBE_RTT_TIME));
                self.phase_round = self.rounds;
            }
            Some(until) if ack.now >= until && (starts || self.rounds > self.phase_round) => {
                self.recent_rtt = self.recent_rtt.map(|(rtt, _)| (rtt, ack.now));
                self.forget_short_bounds();
                self.enter_down(ack.now);
                self.phase = Phase::Cruise;
            }
            _ => {}
        }
    }
}
