//! BBR, version 3 (draft-ietf-ccwg-bbr): models the path by its delivery rate and minimum RTT, and derives
//! the pacing rate and cwnd. Names from the draft are given in brackets.
//!
//! Deviations from the draft:
//!
//! - **Loss is measured relative to the path's own loss rate.** The draft treats 2 % of loss as a full path
//!   (BBR.LossThresh), whatever its cause. Radio links lose more at any sending rate. Loss in rounds that
//!   show no queue and no probe is attributed to the path and its rate is estimated. Only loss beyond that
//!   rate and beyond chance counts ([`Bbr::is_beyond`]).
//! - Gains and the end of a probe differ: see below, and docs/CONGESTION.md for the reasons.
//! - **No packet conservation in recovery.** Pacing replaces it; lost chunks are resent at the model's rate.
//! - **Samples are taken per SACK, not per packet**: from the newly acknowledged chunk that was sent last. A
//!   SACK answers a whole batch of packets.

mod control;
mod phases;
mod rate;
mod rounds;

use std::time::Duration;

use super::{Ack, CongestionControl, INITIAL_WINDOW_PACKETS, Pacing};
use crate::outbound::rtt::LowestRtt;
use crate::outbound::time::Time;
use rate::Rates;

const UP_GAIN: f64 = 1.25;
/// The queue counts as deep between these multiples of the lowest RTT: the gain rises in between.
const DEEP_FROM: f64 = 2.0;
const DEEP_TO: f64 = 3.5;
/// [ProbeRTTCwndGain].
const PROBE_RTT_GAIN: f64 = 0.5;
/// [LossThresh]: loss beyond the path's own rate.
const LOSS_MAX: f64 = 0.02;
/// Prior of the loss estimate: as if this many packets had been seen, none of them lost.
const OWN_PACKETS_BEFORE: f64 = 40.0;
/// Standard deviations by which chance may exceed the path's own loss.
const LOSS_CHANCE: f64 = 2.0;
/// [Beta]: factor applied to a bound after loss.
const BETA: f64 = 0.7;
/// Rounds without growth after which the path is full.
const FULL_ROUNDS: u32 = 3;
/// [ProbeRTTInterval].
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// [MinPipeCwnd], packets.
const MIN_WINDOW_PACKETS: usize = 4;
/// Longest time between bandwidth probes, plus a random part.
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// The RTT shows a queue if it exceeds the minimum by this fraction and by more than noise ...
const QUEUE_PART: f64 = 1.0 / 16.0;
const QUEUE_MIN: Duration = Duration::from_millis(2);
/// ... where noise is less than this fraction of an RTT, and less than the time of this many packets sent
/// together ...
const NOISE_PART: f64 = 0.5;
const NOISE_PACKETS: f64 = 2.0;
/// ... unless the RTT is so short that scheduling delays are as long.
const NEAR: Duration = Duration::from_micros(500);

/// Phase of BBR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Doubles cwnd until the path is full.
    Startup,
    /// Drains the queue of Startup.
    Drain,
    /// Drains the queue of a probe, and leaves headroom.
    Down,
    /// Sends at the model's rate.
    Cruise,
    /// Fills the path for a round, so that later losses can be attributed to the probe.
    Refill,
    /// Probes for more bandwidth.
    Up,
    /// Empties the path to measure the minimum RTT.
    ProbeRtt,
}

/// Whether other flows use the path, judged by the queue in the round before a probe: at the model's rate
/// this flow causes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    /// No queue.
    None,
    /// Some RTTs exceeded the minimum.
    Some,
    /// All did: the queue was never empty.
    Always,
}

/// The model and the values derived from it.
#[derive(Debug)]
pub(in crate::outbound) struct Bbr {
    rates: Rates,
    packet_bytes: usize,
    phase: Phase,
    /// Bytes per second: maximum of the current probing cycle and of the previous one [max_bw].
    most: [f64; 2],
    /// [bw_shortterm] and [inflight_shortterm]: bounds from loss, until the next probe.
    rate_short: f64,
    in_flight_short: f64,
    /// [inflight_longterm]: bytes in flight that the path has sustained.
    in_flight_long: f64,
    /// [min_rtt] and when it was measured.
    min_rtt: Option<(Duration, Time)>,
    /// The lowest RTT of several minutes: others may keep a queue for so long that `min_rtt` includes part of
    /// it.
    lowest_rtt: LowestRtt,
    /// The minimum RTT of the last round in which probing raised the rate, or of a later round if lower. RTTs
    /// above it indicate a queue kept by others, since our own queue would not have raised the rate.
    won_rtt: Duration,
    /// The recent minimum [probe_rtt_min_delay].
    recent_rtt: Option<(Duration, Time)>,
    /// No RTT as low was measured for a long time [probe_rtt_expired].
    probe_rtt_due: bool,
    /// The next acknowledgement is for data sent when nothing was in flight [idle_restart].
    after_idle: bool,
    /// The round ends when this much has been delivered.
    round_end: u64,
    rounds: u64,
    /// Bytes delivered and lost at the start of the round.
    round_from: (u64, u64),
    /// The round has shown a queue.
    round_queued: bool,
    /// Consecutive rounds without a queue and without loss beyond the path's own.
    calm_rounds: u32,
    /// The minimum RTT of this round.
    round_rtt: Option<Duration>,
    others: Others,
    /// The maxima in this round [bw_latest], [inflight_latest].
    latest: (f64, f64),
    /// Our pacing rate at the start of this round and of the previous one. Data that arrives was sent a round
    /// ago, and no faster.
    sent_rate: [f64; 2],
    /// The rate to exceed, rounds without exceeding it, and whether the path was ever full.
    full_rate: f64,
    full_rounds: u32,
    is_full: bool,
    /// Estimated loss rate of the path itself.
    own_loss: f64,
    /// Number of packets in that estimate.
    own_packets: f64,
    /// Lost and total bytes in recent rounds with a queue or a probe.
    busy: (u64, u64),
    busy_from: Time,
    phase_at: Time,
    phase_round: u64,
    /// Latest time of the next bandwidth probe.
    probe_wait: Duration,
    /// Rounds of this probe in which the long-term bound was raised.
    raises: u32,
    /// Bytes acknowledged beyond the rate: start of the interval, amount, and recent maxima.
    extra_from: Time,
    extra_bytes: f64,
    extra: [f64; 2],
    extra_round: u64,
    /// End of the minimum RTT measurement.
    probe_rtt_until: Option<Time>,
    window: f64,
    /// The window as an integer, since every message needs it.
    window_bytes: usize,
    /// The window before a timeout.
    window_before: f64,
    /// After a timeout everything is resent, including data that had arrived: rate samples are invalid until
    /// this number, which the first SACK sets.
    after_timeout: Option<Option<u64>>,
    /// Bytes per second; `None` before anything is known.
    rate: Option<f64>,
    /// Most bytes sent at once.
    burst_bytes: f64,
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
            lowest_rtt: LowestRtt::new(),
            won_rtt: Duration::ZERO,
            recent_rtt: None,
            probe_rtt_due: false,
            after_idle: false,
            round_end: 0,
            rounds: 0,
            round_from: (0, 0),
            round_queued: false,
            calm_rounds: 0,
            round_rtt: None,
            others: Others::None,
            latest: (0.0, 0.0),
            sent_rate: [f64::INFINITY; 2],
            full_rate: 0.0,
            full_rounds: 0,
            is_full: false,
            own_loss: 0.0,
            own_packets: OWN_PACKETS_BEFORE,
            busy: (0, 0),
            busy_from: Time::START,
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
            window_bytes: INITIAL_WINDOW_PACKETS * packet_bytes,
            window_before: 0.0,
            after_timeout: None,
            rate: None,
            burst_bytes: packet_bytes as f64,
            random: random | 1,
        }
    }

    fn max_rate(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// [bw].
    fn model_rate(&self) -> f64 {
        self.max_rate().min(self.rate_short)
    }

    fn shortest(&self) -> Duration {
        self.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt)
    }

    /// The BDP at the given rate.
    fn path_bytes(&self, rate: f64) -> f64 {
        rate * self.shortest().as_secs_f64()
    }

    /// [inflight] for a gain.
    fn target(&self, gain: f64) -> f64 {
        let bytes = gain * self.path_bytes(self.model_rate());
        // [QuantizationBudget]: one burst being sent, one in transit, one being acknowledged.
        bytes.max(3.0 * self.burst_bytes).max(self.least_window())
    }

    fn least_window(&self) -> f64 {
        (MIN_WINDOW_PACKETS * self.packet_bytes) as f64
    }

    /// Whether `lost` of `of` bytes exceeds the path's own loss and chance.
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
        let mut noise = QUEUE_MIN.as_secs_f64();
        if !self.is_near() {
            let own = NOISE_PACKETS * self.packet_bytes as f64 / self.model_rate();
            noise = noise.min(own.max(NOISE_PART * shortest.as_secs_f64()));
        }
        rtt > shortest + shortest.mul_f64(QUEUE_PART).max(Duration::from_secs_f64(noise))
    }

    fn is_near(&self) -> bool {
        self.shortest() < NEAR
    }

    /// How deep a queue others keep, from 0 to 1.
    fn depth(&self, ack: &Ack) -> f64 {
        let round_trips = ack.smoothed_rtt.as_secs_f64() / self.lowest_rtt.get().as_secs_f64();
        ((round_trips - DEEP_FROM) / (DEEP_TO - DEEP_FROM)).clamp(0.0, 1.0)
    }
}

impl CongestionControl for Bbr {
    fn window_bytes(&self) -> usize {
        self.window_bytes
    }

    fn pacing(&self) -> Option<Pacing> {
        self.rate.map(|rate| Pacing { rate, burst_bytes: self.burst_bytes })
    }

    fn judges_losses(&self) -> bool {
        true
    }

    fn on_sent(&mut self, now: Time, in_flight: usize, after_idle: bool) {
        self.rates.on_sent(now, in_flight, after_idle);
        self.after_idle |= after_idle;
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
            let others = self.others();
            if starts {
                self.end_round(ack, &sample);
            }
            self.update_extra(ack);
            self.advance(ack, &sample, starts, others);
        }
        if self.window_before > 0.0 && self.phase != Phase::ProbeRtt {
            self.window = self.window.max(self.window_before);
            self.window_before = 0.0;
        }
        self.set_rate();
        self.set_window(ack);
    }

    fn on_loss(&mut self) {}

    fn on_timeout(&mut self, repeated: bool) {
        // A window already reduced by a timeout says nothing about the path.
        self.window_before = if repeated { 0.0 } else { self.window };
        self.after_timeout = Some(None);
        self.resize(self.packet_bytes as f64);
    }

    fn on_early_timeout(&mut self) -> bool {
        // The next SACK restores the window, as after any timeout.
        self.after_timeout = None;
        true
    }

    fn on_path_change(&mut self) {
        *self = Self::new(self.packet_bytes, self.random);
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes;
        self.resize(self.window.max(bytes as f64));
    }
}

#[cfg(test)]
mod tests;
