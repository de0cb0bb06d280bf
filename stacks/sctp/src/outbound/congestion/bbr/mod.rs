//! BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path, made of the rate at which it delivers and its shortest round trip. It
//! decides how fast we send, and how much may be in flight. Names of the draft stand in brackets.
//!
//! What is otherwise than in the draft:
//!
//! - **Loss is measured against the path's own.** The draft takes 2 % of loss for a full path (BBR.LossThresh), whoever loses. Radio
//!   loses more than that however slowly one sends. While the round trip shows no queue, and we do not probe, what is lost is the
//!   path's: its share is estimated then, and only what is lost beyond it, and beyond chance, counts ([`Bbr::is_beyond`]).
//! - The gains, and when a probe ends, are others: see below, and docs/CONGESTION.md for why.
//! - **No packet conservation in recovery.** Pacing does that; chunks that are lost go out again at the rate of the model.
//! - **Samples are of SACKs, not of packets**: of the chunk among the newly acknowledged that was sent last. A SACK answers a whole
//!   batch of packets.

mod control;
mod phases;
mod rate;
mod rounds;

use std::time::Duration;

use super::{Ack, CongestionControl, INITIAL_WINDOW_PACKETS, Pacing};
use crate::outbound::time::Time;
use rate::Rates;

const UP_GAIN: f64 = 1.25;
/// The queue is deep between these round trips, in the shortest ever seen: the gain rises meanwhile.
const DEEP_FROM: f64 = 2.0;
const DEEP_TO: f64 = 3.5;
/// [ProbeRTTCwndGain].
const PROBE_RTT_GAIN: f64 = 0.5;
/// [LossThresh]: lost beyond what the path loses by itself.
const LOSS_MAX: f64 = 0.02;
/// As if so many packets had been seen already, and none lost.
const OWN_PACKETS_BEFORE: f64 = 40.0;
/// Standard deviations by which chance may exceed the path's own loss.
const LOSS_CHANCE: f64 = 2.0;
/// [Beta]: what is left of a bound after loss.
const BETA: f64 = 0.7;
/// Rounds without it after which the path is full.
const FULL_ROUNDS: u32 = 3;
/// [ProbeRTTInterval]
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// [MinPipeCwnd], packets.
const MIN_WINDOW_PACKETS: usize = 4;
/// Time after which we probe for more at the latest; more than that by chance.
const PROBE_WAIT: Duration = Duration::from_secs(2);
/// The round trip shows a queue when it is longer than the shortest by this part, and not by noise ...
const QUEUE_PART: f64 = 1.0 / 16.0;
const QUEUE_MIN: Duration = Duration::from_millis(2);
/// ... of which there is less than this part of a round trip, or than so many packets take that go out together ...
const NOISE_PART: f64 = 0.5;
const NOISE_PACKETS: f64 = 2.0;
/// ... unless that is so short that the turns of programs take as long.
const NEAR: Duration = Duration::from_micros(500);

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

/// Whether others send over the path, by the queue that the round before a probe has shown: at the rate of the model we cause none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    /// There was none.
    None,
    /// Some round trips were longer than the shortest.
    Some,
    /// All were: the queue never was empty.
    Always,
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
    /// The shortest ever: others may keep a queue for so long that `min_rtt` has some of it.
    lowest_rtt: Duration,
    /// The shortest round trip of the last round in which probing won more of the rate, or of a round since, if that was shorter: what is
    /// longer in it than in the shortest is a queue that others keep. One of our own would have won us nothing.
    won_rtt: Duration,
    /// The shortest of late [probe_rtt_min_delay].
    recent_rtt: Option<(Duration, Time)>,
    /// None so short was seen for long [probe_rtt_expired].
    probe_rtt_due: bool,
    /// What is acknowledged next was sent when nothing was in flight [idle_restart].
    after_idle: bool,
    /// A round is over when this is delivered.
    round_end: u64,
    rounds: u64,
    /// Delivered and lost when the round began.
    round_from: (u64, u64),
    /// The round has shown a queue.
    round_queued: bool,
    /// Rounds without a queue, and without loss beyond the path's own, since the last one with them.
    calm_rounds: u32,
    /// The shortest round trip of this round.
    round_rtt: Option<Duration>,
    others: Others,
    /// The most in this round [bw_latest], [inflight_latest].
    latest: (f64, f64),
    /// The rate at which we sent when this round began, and the one before. What arrives was sent a round ago, and no faster.
    sent_rate: [f64; 2],
    /// The rate to be exceeded, rounds without that, and whether the path was ever full.
    full_rate: f64,
    full_rounds: u32,
    is_full: bool,
    /// Share that the path loses by itself.
    own_loss: f64,
    /// Packets that this is the average of.
    own_packets: f64,
    /// Lost, and all, in rounds that were not calm, of late.
    busy: (u64, u64),
    busy_from: Time,
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
    /// The same, as it is asked for with every message.
    window_bytes: usize,
    /// The window before a timeout.
    window_before: f64,
    /// After a timeout all is sent again, also what had arrived: rates say nothing until this number, which the first SACK gives.
    after_timeout: Option<Option<u64>>,
    /// Bytes a second; none before anything is known.
    rate: Option<f64>,
    /// Bytes that may go out at once.
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
            lowest_rtt: Duration::MAX,
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
        // [QuantizationBudget]: one burst that is sent, one that is under way, one that is answered.
        bytes.max(3.0 * self.burst_bytes).max(self.least_window())
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

    /// From 0 to 1: how deep a queue others keep.
    fn depth(&self, ack: &Ack) -> f64 {
        let round_trips = ack.smoothed_rtt.as_secs_f64() / self.lowest_rtt.as_secs_f64();
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

    fn on_timeout(&mut self, again: bool) {
        // A window that a timeout has shrunk already says nothing about the path.
        self.window_before = if again { 0.0 } else { self.window };
        self.after_timeout = Some(None);
        self.resize(self.packet_bytes as f64);
    }

    fn on_early_timeout(&mut self) -> bool {
        // The SACK that follows restores the window, as after any timeout.
        self.after_timeout = None;
        true
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes;
        self.resize(self.window.max(bytes as f64));
    }
}

#[cfg(test)]
mod tests;
