//! BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path, made of the rate at which it delivers and its shortest round trip. It
//! decides how fast we send, and how much may be in flight. Names of the draft stand in brackets.
//!
//! What is otherwise than in the draft:
//!
//! - **Loss is measured against the path's own.** The draft takes 2 % of loss for a full path (BBR.LossThresh), whoever loses. Radio
//!   loses more than that however slowly one sends. While the round trip shows no queue, and we do not probe, what is lost is the
//!   path's: its share is estimated then, and only what is lost beyond it, and beyond chance, counts ([`Bbr::is_beyond`]).
//! - **No packet conservation in recovery.** Pacing does that; chunks that are lost go out again at the rate of the model.
//! - **Samples are of SACKs, not of packets**: of the chunk among the newly acknowledged that was sent last. A SACK answers a whole
//!   batch of packets.

mod rate;

use std::time::Duration;

use super::{Ack, CongestionControl, INITIAL_WINDOW_PACKETS};
use crate::outbound::pacer::burst_bytes;
use crate::outbound::time::Time;
use rate::{Rates, Sample};

/// [StartupPacingGain]: 4 ln 2.
const STARTUP_GAIN: f64 = 2.77;
/// [DrainPacingGain].
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
/// [DefaultCwndGain], and while we probe for more.
const WINDOW_GAIN: f64 = 2.0;
const UP_WINDOW_GAIN: f64 = 2.25;
/// [ProbeRTTCwndGain].
const PROBE_RTT_GAIN: f64 = 0.5;
/// [PacingMarginPercent]: a little below the model, so that a queue drains.
const MARGIN: f64 = 0.99;
/// [LossThresh]: lost beyond what the path loses by itself.
const LOSS_MAX: f64 = 0.02;
/// The share that a path may lose by itself. What loses more is taken for full.
const OWN_LOSS_MAX: f64 = 0.15;
/// Standard deviations by which chance may exceed the path's own loss.
const LOSS_CHANCE: f64 = 2.0;
/// [Beta]: what is left of a bound after loss.
const BETA: f64 = 0.7;
/// [Headroom]: left to others.
const HEADROOM: f64 = 0.15;
/// Growth of the rate by which a round shows that there is more.
const FULL_GROWTH: f64 = 1.25;
/// Rounds without it after which the path is full.
const FULL_ROUNDS: u32 = 3;
/// Packets lost in a round that may end the start.
const STARTUP_LOSSES: u64 = 6;
/// [MinRTTFilterLen]
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// [ProbeRTTInterval]
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// [ProbeRTTDuration]
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// [MinPipeCwnd], packets.
const MIN_WINDOW_PACKETS: usize = 4;
/// Rounds after which we probe for more at the latest: a flow of Reno would have won that many packets.
const PROBE_ROUNDS_MAX: f64 = 63.0;
/// Rounds after which a probe's queue must be gone, if it was one.
const DOWN_ROUNDS_MAX: u64 = 3;
/// Time after which we do at the latest, and how much it is varied.
const PROBE_WAIT: Duration = Duration::from_secs(2);
const PROBE_WAIT_SPAN_MS: u64 = 1000;
/// Rounds for which a burst of acknowledgements is remembered, in two halves.
const EXTRA_ROUNDS: u64 = 5;
/// The round trip shows a queue when it is longer than the shortest by this part, and not by noise.
const QUEUE_PART: f64 = 1.0 / 16.0;
const QUEUE_MIN: Duration = Duration::from_millis(2);

/// Where BBR stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Doubles until the path is full.
    Startup,
    /// Empties the queue of that.
    Drain,
    /// Empties the queue of a probe, and leaves room.
    Down,
    /// At the rate of the model.
    Cruise,
    /// Fills the path for a round, so that what is lost then tells of the probe.
    Refill,
    /// Probes for more.
    Up,
    /// Empties the path, to see its shortest round trip.
    ProbeRtt,
}

/// The model, and what follows from it.
#[derive(Debug)]
pub(in crate::outbound) struct Bbr {
    rates: Rates,
    packet_bytes: usize,
    phase: Phase,
    /// Bytes a second: the most of this cycle of probing, and of the one before [max_bw].
    most: [f64; 2],
    /// [bw_shortterm] and [inflight_shortterm]: after loss, until the next probe.
    rate_short: f64,
    in_flight_short: f64,
    /// [inflight_longterm]: what the path was seen to bear.
    in_flight_long: f64,
    /// [min_rtt], and when it was seen.
    min_rtt: Option<(Duration, Time)>,
    /// The shortest of late [probe_rtt_min_delay].
    recent_rtt: Option<(Duration, Time)>,
    /// A round is over when this is delivered.
    round_end: u64,
    rounds: u64,
    /// Delivered and lost when the round began.
    round_from: (u64, u64),
    /// The round has shown a queue, or more in flight than the model wants.
    round_queued: bool,
    /// The most in this round [bw_latest], [inflight_latest].
    latest: (f64, f64),
    /// The most at which we sent in this round and the one before. What arrives was sent a round ago, and no faster.
    sent_rate: [f64; 2],
    /// The rate to be exceeded, rounds without that, and whether the path was ever full.
    full_rate: f64,
    full_rounds: u32,
    is_full: bool,
    /// Share that the path loses by itself.
    own_loss: f64,
    phase_at: Time,
    phase_round: u64,
    /// When we probe next at the latest.
    probe_wait: Duration,
    /// Rounds of this probe in which the long bound was raised.
    raises: u32,
    /// Acknowledged beyond what the rate explains: since when, how much, and the most of late.
    extra_from: Time,
    extra_bytes: f64,
    extra: [f64; 2],
    extra_round: u64,
    /// Until when the path is kept empty.
    probe_rtt_until: Option<Time>,
    window: f64,
    /// The window before a timeout.
    window_before: f64,
    /// After a timeout all is sent again, also what had arrived: rates say nothing until this number, which the first SACK gives.
    after_timeout: Option<Option<u64>>,
    /// Bytes a second; none before anything is known.
    rate: Option<f64>,
    random: u64,
}

impl Bbr {
    /// `random` varies the time between probes.
    pub(super) fn new(packet_bytes: usize, random: u64) -> Self {
        Self {
            rates: Rates::new(),
            packet_bytes,
            phase: Phase::Startup,
            most: [0.0; 2],
            rate_short: f64::INFINITY,
            in_flight_short: f64::INFINITY,
            in_flight_long: f64::INFINITY,
            min_rtt: None,
            recent_rtt: None,
            round_end: 0,
            rounds: 0,
            round_from: (0, 0),
            round_queued: false,
            latest: (0.0, 0.0),
            sent_rate: [f64::INFINITY; 2],
            full_rate: 0.0,
            full_rounds: 0,
            is_full: false,
            own_loss: 0.0,
            phase_at: Time::START,
            phase_round: 0,
            probe_wait: PROBE_WAIT,
            raises: 0,
            extra_from: Time::START,
            extra_bytes: 0.0,
            extra: [0.0; 2],
            extra_round: 0,
            probe_rtt_until: None,
            window: (INITIAL_WINDOW_PACKETS * packet_bytes) as f64,
            window_before: 0.0,
            after_timeout: None,
            rate: None,
            random: random | 1,
        }
    }

    // -- the model --

    fn max_rate(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// [bw]
    fn model_rate(&self) -> f64 {
        self.max_rate().min(self.rate_short)
    }

    fn shortest(&self) -> Duration {
        self.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt)
    }

    /// Bytes that fill the path, by the rate of the model.
    fn path_bytes(&self, rate: f64) -> f64 {
        rate * self.shortest().as_secs_f64()
    }

    /// [inflight] for a gain.
    fn target(&self, gain: f64) -> f64 {
        let bytes = gain * self.path_bytes(self.model_rate());
        let burst = burst_bytes(self.rate.unwrap_or(0.0), self.packet_bytes);
        // [QuantizationBudget]: one burst that is sent, one that is under way, one that is answered.
        bytes.max(3.0 * burst).max(self.least_window())
    }

    fn least_window(&self) -> f64 {
        (MIN_WINDOW_PACKETS * self.packet_bytes) as f64
    }

    /// Whether so much loss, of so much in flight, is beyond what the path loses by itself and by chance.
    fn is_beyond(&self, lost: u64, of: u64) -> bool {
        if lost == 0 || of == 0 {
            return false;
        }
        let (lost, of) = (lost as f64, of as f64);
        let packets = of / self.packet_bytes as f64;
        let chance = LOSS_CHANCE * (self.own_loss * (1.0 - self.own_loss) / packets.max(1.0)).sqrt();
        lost / of > LOSS_MAX + self.own_loss + chance
    }

    fn shows_queue(&self, rtt: Duration) -> bool {
        let shortest = self.shortest();
        rtt > shortest + shortest.mul_f64(QUEUE_PART).max(QUEUE_MIN)
    }

    // -- what a SACK says --

    fn update_round(&mut self, ack: &Ack, sample: &Sample) -> bool {
        self.round_queued |= ack.rtt.is_some_and(|rtt| self.shows_queue(rtt));
        let starts = sample.prior_delivered >= self.round_end;
        if starts {
            self.round_end = self.rates.delivered;
            self.rounds += 1;
        }
        starts
    }

    fn is_after_timeout(&mut self, ack: &Ack) -> bool {
        let Some(end) = &mut self.after_timeout else { return false };
        let is_before = ack.acked_end < *end.get_or_insert(ack.next);
        if !is_before {
            self.after_timeout = None;
        }
        is_before
    }

    fn update_rate(&mut self, sample: &Sample) {
        let delivered = (self.rates.delivered - sample.prior_delivered) as f64;
        self.latest.1 = self.latest.1.max(delivered);
        let Some(rate) = sample.rate else { return };
        // A SACK has room for some hundred blocks: after many losses it tells late, and at once, of what came long before.
        let [_, sent] = self.sent_rate;
        let rate = if self.is_full { rate.min(sent) } else { rate };
        self.latest.0 = self.latest.0.max(rate);
        if !sample.app_limited || rate >= self.max_rate() {
            self.most[0] = self.most[0].max(rate);
        }
    }

    /// A round is over: what was lost in it, and what that says.
    fn end_round(&mut self, ack: &Ack, sample: &Sample) {
        let (delivered, lost) =
            (self.rates.delivered - self.round_from.0, self.rates.lost - self.round_from.1);
        let all = delivered + lost;
        let grows = self.max_rate() >= self.full_rate * FULL_GROWTH;
        let calm = match self.phase {
            Phase::Cruise | Phase::Down | Phase::Refill => !self.round_queued,
            // As long as the rate doubles what is lost is the path's.
            Phase::Startup => !self.round_queued && grows,
            Phase::Drain | Phase::Up | Phase::ProbeRtt => false,
        };
        let beyond = self.is_beyond(lost, all);
        if calm && all > 0 {
            let packets = all as f64 / self.packet_bytes as f64;
            // A round of few packets says little.
            let weight = (packets / 400.0).clamp(0.005, 0.25);
            self.own_loss += weight * (lost as f64 / all as f64 - self.own_loss);
            self.own_loss = self.own_loss.min(OWN_LOSS_MAX);
        }
        let probes = matches!(self.phase, Phase::Startup | Phase::Refill | Phase::Up);
        if beyond && !probes && self.round_queued {
            let (rate, in_flight) = self.latest;
            let before = if self.rate_short.is_finite() { self.rate_short } else { self.max_rate() };
            self.rate_short = rate.max(BETA * before);
            let before = if self.in_flight_short.is_finite() { self.in_flight_short } else { self.window };
            self.in_flight_short = in_flight.max(BETA * before);
        }
        if self.phase == Phase::Startup {
            let many = lost >= STARTUP_LOSSES * self.packet_bytes as u64;
            if beyond && many && self.round_queued {
                self.is_full = true;
                self.in_flight_long = self.path_bytes(self.max_rate()).max(self.latest.1);
            }
        }
        // Where more is in flight than fills the path, it was not the application that kept the rate down.
        let is_filled = ack.in_flight as f64 > FULL_GROWTH * self.path_bytes(self.max_rate());
        if grows {
            (self.full_rate, self.full_rounds) = (self.max_rate(), 0);
        } else if !sample.app_limited || is_filled {
            self.full_rounds += 1;
        }
        self.is_full |= self.phase == Phase::Startup && self.full_rounds >= FULL_ROUNDS;
        self.round_from = (self.rates.delivered, self.rates.lost);
        self.sent_rate = [self.rate.unwrap_or(f64::INFINITY), self.sent_rate[0]];
        self.round_queued = false;
        self.latest = (0.0, 0.0);
    }

    /// How many bytes come in bursts beyond the rate: receivers gather packets before they answer.
    fn update_extra(&mut self, ack: &Ack) {
        let explained = self.model_rate() * ack.now.since(self.extra_from).as_secs_f64();
        let explained = if self.extra_bytes <= explained {
            (self.extra_from, self.extra_bytes) = (ack.now, 0.0);
            0.0
        } else {
            explained
        };
        self.extra_bytes += ack.delivered as f64;
        let extra = (self.extra_bytes - explained).min(self.window);
        if self.rounds >= self.extra_round + if self.is_full { EXTRA_ROUNDS } else { 1 } {
            (self.extra, self.extra_round) = ([0.0, self.extra[0]], self.rounds);
        }
        self.extra[0] = self.extra[0].max(extra);
    }

    fn update_rtt(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        let is_old = |seen: Option<(Duration, Time)>, age: Duration| {
            seen.is_none_or(|(_, at)| ack.now.since(at) > age)
        };
        if is_old(self.recent_rtt, PROBE_RTT_INTERVAL) || self.recent_rtt.is_some_and(|(seen, _)| rtt <= seen)
        {
            self.recent_rtt = Some((rtt, ack.now));
        }
        if let Some((recent, at)) = self.recent_rtt
            && (is_old(self.min_rtt, MIN_RTT_AGE) || self.shortest() >= recent)
        {
            self.min_rtt = Some((recent, at));
        }
    }

    // -- phases --

    fn enter(&mut self, phase: Phase, now: Time) {
        (self.phase, self.phase_at, self.phase_round) = (phase, now, self.rounds);
    }

    fn enter_down(&mut self, now: Time) {
        self.enter(Phase::Down, now);
        // xorshift64: it only has to differ from flow to flow.
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.probe_wait = PROBE_WAIT + Duration::from_millis(self.random % PROBE_WAIT_SPAN_MS);
    }

    fn advance(&mut self, ack: &Ack, sample: &Sample, starts: bool) {
        let now = ack.now;
        let in_flight = ack.in_flight as f64;
        match self.phase {
            Phase::Startup if self.is_full => self.enter(Phase::Drain, now),
            Phase::Startup => {}
            Phase::Drain if in_flight <= self.target(1.0) => self.enter_down(now),
            Phase::Drain => {}
            Phase::Down | Phase::Cruise if self.should_probe(now) => {
                self.rate_short = f64::INFINITY;
                self.in_flight_short = f64::INFINITY;
                self.most = [0.0, self.max_rate()];
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
            }
            Phase::Refill => {}
            Phase::Up => self.probe_up(ack, sample, starts),
            Phase::ProbeRtt => self.probe_rtt(ack, starts),
        }
        let expired = self.recent_rtt.is_some_and(|(_, at)| now.since(at) > PROBE_RTT_INTERVAL);
        if expired && self.phase != Phase::ProbeRtt && self.phase != Phase::Startup {
            self.enter(Phase::ProbeRtt, now);
            (self.probe_rtt_until, self.window_before) = (None, self.window);
        }
    }

    fn should_probe(&self, now: Time) -> bool {
        let rounds = (self.path_bytes(self.model_rate()) / self.packet_bytes as f64).min(PROBE_ROUNDS_MAX);
        let waited = (self.rounds - self.phase_round) as f64;
        now.since(self.phase_at) > self.probe_wait || self.phase == Phase::Cruise && waited >= rounds.max(1.0)
    }

    fn probe_up(&mut self, ack: &Ack, sample: &Sample, starts: bool) {
        if self.is_beyond(sample.lost, sample.sent_in_flight) {
            // [HandleInflightTooHigh]
            let bears = (sample.sent_in_flight as f64).max(BETA * self.target(1.0));
            if !sample.app_limited {
                self.in_flight_long = bears;
            }
            return self.enter_down(ack.now);
        }
        if self.in_flight_long.is_finite() {
            self.in_flight_long = self.in_flight_long.max(sample.sent_in_flight as f64);
            if ack.limited && self.window >= self.in_flight_long - self.packet_bytes as f64 {
                // It is this bound that keeps the rate down. Twice as fast each round.
                self.full_rounds = 0;
                let step = self.packet_bytes as f64 * (1u64 << self.raises.min(20)) as f64;
                self.in_flight_long += step * ack.delivered as f64 / self.window;
            }
        }
        self.raises += u32::from(starts);
        let filled = ack.in_flight as f64 >= UP_GAIN * self.path_bytes(self.max_rate());
        let stalls = self.full_rounds >= FULL_ROUNDS || self.full_rounds >= 1 && filled;
        if self.rounds > self.phase_round && stalls {
            self.enter_down(ack.now);
        }
    }

    fn probe_rtt(&mut self, ack: &Ack, starts: bool) {
        self.rates.on_app_limited(ack.in_flight);
        match self.probe_rtt_until {
            None if ack.in_flight as f64 <= self.target(PROBE_RTT_GAIN) => {
                self.probe_rtt_until = Some(ack.now.after(PROBE_RTT_TIME));
                self.phase_round = self.rounds;
            }
            Some(until) if ack.now >= until && (starts || self.rounds > self.phase_round) => {
                self.recent_rtt = self.recent_rtt.map(|(rtt, _)| (rtt, ack.now));
                self.window = self.window.max(self.window_before);
                self.rate_short = f64::INFINITY;
                self.in_flight_short = f64::INFINITY;
                self.enter_down(ack.now);
                self.phase = Phase::Cruise;
            }
            _ => {}
        }
    }

    // -- what follows --

    fn with_headroom(&self) -> f64 {
        if self.in_flight_long.is_infinite() {
            return self.in_flight_long;
        }
        let left = (HEADROOM * self.in_flight_long).max(self.packet_bytes as f64);
        (self.in_flight_long - left).max(self.least_window())
    }

    fn set_rate(&mut self) {
        let gain = match self.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::Down => DOWN_GAIN,
            Phase::Up => UP_GAIN,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
        };
        let rate = gain * self.model_rate() * MARGIN;
        if rate > 0.0 && (self.is_full || self.rate.is_none_or(|before| rate > before)) {
            self.rate = Some(rate);
            self.sent_rate[0] = self.sent_rate[0].max(rate);
        }
    }

    fn set_window(&mut self, ack: &Ack) {
        let gain = if self.phase == Phase::Up { UP_WINDOW_GAIN } else { WINDOW_GAIN };
        let most = self.target(gain) + self.extra[0].max(self.extra[1]);
        let grown = self.window + ack.delivered as f64;
        self.window = if self.is_full { grown.min(most) } else { grown.max(self.window) };
        let long = match self.phase {
            Phase::Startup | Phase::Drain => f64::INFINITY,
            Phase::Cruise | Phase::ProbeRtt => self.with_headroom(),
            Phase::Down | Phase::Refill | Phase::Up => self.in_flight_long,
        };
        let mut cap = long.min(self.in_flight_short);
        if self.phase == Phase::ProbeRtt {
            cap = cap.min(self.target(PROBE_RTT_GAIN));
        }
        self.window = self.window.min(cap).max(self.least_window());
    }
}

impl CongestionControl for Bbr {
    fn window_bytes(&self) -> usize {
        // Saturates.
        self.window as usize
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }

    fn judges_losses(&self) -> bool {
        true
    }

    fn on_sent(&mut self, now: Time, in_flight: usize, after_idle: bool) {
        self.rates.on_sent(now, in_flight, after_idle);
    }

    fn on_app_limited(&mut self, in_flight: usize) {
        self.rates.on_app_limited(in_flight);
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.update_rtt(ack);
        let min_interval = self.shortest();
        let sample = self.rates.on_ack(ack.now, ack.delivered, ack.lost, ack.sent_at, min_interval);
        if let Some(mut sample) = sample {
            if self.is_after_timeout(ack) {
                sample.rate = None;
            }
            let starts = self.update_round(ack, &sample);
            self.update_rate(&sample);
            if starts {
                self.end_round(ack, &sample);
            }
            self.update_extra(ack);
            self.advance(ack, &sample, starts);
        }
        if self.window_before > 0.0 && self.phase != Phase::ProbeRtt {
            self.window = self.window.max(self.window_before);
            self.window_before = 0.0;
        }
        self.set_rate();
        self.set_window(ack);
    }

    fn on_loss(&mut self) {}

    fn on_timeout(&mut self, again: bool) {
        // A window that a timeout has shrunk already says nothing about the path.
        self.window_before = if again { 0.0 } else { self.window };
        self.after_timeout = Some(None);
        self.window = self.packet_bytes as f64;
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes;
        self.window = self.window.max(bytes as f64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PACKET: usize = 1000;

    #[test]
    fn loss_counts_beyond_what_the_path_loses_by_itself() {
        // own loss; lost of a hundred packets, of a thousand -> beyond
        for (own, of_hundred, of_thousand) in [(0.0, 3, 21), (0.05, 12, 85), (0.1, 19, 140)] {
            let mut bbr = Bbr::new(PACKET, 1);
            bbr.own_loss = own;
            let is_beyond =
                |packets: u64, of: u64| bbr.is_beyond(packets * PACKET as u64, of * PACKET as u64);
            assert!(is_beyond(of_hundred, 100) && !is_beyond(of_hundred - 1, 100), "{own}");
            assert!(is_beyond(of_thousand, 1000) && !is_beyond(of_thousand - 2, 1000), "{own}");
            assert!(!is_beyond(0, 0));
        }
    }

    proptest! {
        /// Whatever SACKs say, there is a window of some packets, and a rate that is a number.
        #[test]
        fn no_history_stops_it(
            steps: Vec<(u16, u32, u32, u32, bool, u8)>,
        ) {
            let mut bbr = Bbr::new(PACKET, 7);
            let (mut now, mut acked) = (Time::START, 0);
            for (wait, delivered, lost, in_flight, limited, what) in steps {
                let sent_at = now;
                bbr.on_sent(now, in_flight as usize, what % 7 == 0);
                now = now.after(Duration::from_micros(wait.into()));
                acked += 1;
                bbr.on_ack(&Ack {
                    now,
                    bytes: delivered as usize,
                    delivered: delivered as usize,
                    lost: lost as usize,
                    in_flight: in_flight as usize,
                    sent_at,
                    rtt: (what % 3 != 0).then(|| Duration::from_micros(wait.into())),
                    smoothed_rtt: Duration::from_micros(wait.into()),
                    limited,
                    acked_end: acked,
                    next: acked + 10,
                });
                prop_assert!(bbr.window_bytes() >= MIN_WINDOW_PACKETS * PACKET);
                prop_assert!(bbr.pacing_rate().is_none_or(|rate| rate > 0.0 && rate.is_finite()));
                match what % 11 {
                    0 => bbr.on_timeout(what > 100),
                    1 => bbr.on_app_limited(in_flight as usize),
                    _ => {}
                }
            }
        }
    }
}
