//! Outputs of the model: pacing rate, burst size and congestion window.

use std::time::Duration;

use super::{Bbr, Others, PROBE_RTT_GAIN, Phase, UP_GAIN};
use crate::outbound::congestion::{Ack, INITIAL_WINDOW_PACKETS};

/// [StartupPacingGain]: 4 ln 2.
const STARTUP_GAIN: f64 = 2.77;
/// [DrainPacingGain].
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
/// cwnd in BDP: a queue of less than half a BDP leaves other flows their share ...
const WINDOW_GAIN: f64 = 1.5;
/// ... unless others keep a deep queue: a share of the rate then requires a share of the queue.
/// [DefaultCwndGain] is 2 in all cases.
const DEEP_WINDOW_GAIN: f64 = 2.25;
/// [StartupCwndGain].
const STARTUP_WINDOW_GAIN: f64 = 2.0;
/// Added while probing for bandwidth.
const UP_WINDOW_GAIN: f64 = 0.25;
/// [PacingMarginPercent]: slightly below the model, so that a queue drains.
const MARGIN: f64 = 0.99;
/// cwnd gain while probing the minimum RTT, where others keep a deep queue. Less would not empty that queue
/// either.
const DEEP_PROBE_RTT_GAIN: f64 = 0.25;
/// [Headroom]: left for other flows.
const HEADROOM: f64 = 0.15;

/// Startup doubles cwnd up to this many packets and then grows by half per round. It loses as much as it
/// grows in its last round, and a SACK can report only a few hundred losses, so repairing that many takes a
/// round trip ...
const SLOW_FROM_PACKETS: usize = 2048;
/// ... unless others keep a deep queue.
const SLOW_GROWTH: f64 = 0.5;

/// A burst is what the rate carries in this time ...
const BURST_TIME: Duration = Duration::from_millis(1);
/// ... or in a quarter of the minimum RTT, since a path of few packets would otherwise hold a single burst.
/// But not in less than the timer resolution; on a path with a shorter RTT both ends are on one machine,
/// where a short queue does no harm ...
const BURST_TIME_MIN: Duration = Duration::from_micros(250);
/// ... nor at such a high rate: a millisecond of queue is little there, and more system calls cost throughput
/// ...
const FAST: f64 = 64e6;
/// ... up to a megabyte.
const BURST_BYTES_MAX: f64 = 1_048_576.0;

impl Bbr {
    pub(super) fn with_headroom(&self) -> f64 {
        if self.in_flight_long.is_infinite() {
            return self.in_flight_long;
        }
        let left = (HEADROOM * self.in_flight_long).max(self.packet_bytes as f64);
        (self.in_flight_long - left).max(self.least_window())
    }

    pub(super) fn set_rate(&mut self) {
        let gain = match self.phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Drain => DRAIN_GAIN,
            Phase::Down => DOWN_GAIN,
            Phase::Up => UP_GAIN,
            Phase::Cruise | Phase::Refill | Phase::ProbeRtt => 1.0,
        };
        let known = gain * self.model_rate() * MARGIN;
        let rate = if self.is_full { known } else { known.max(gain * self.first_rate()) };
        if known > 0.0 && (self.is_full || self.rate.is_none_or(|before| rate > before)) {
            self.rate = Some(rate);
            let is_near = self.shortest() < BURST_TIME_MIN;
            let time = if known < FAST && !is_near { self.shortest() / 4 } else { BURST_TIME };
            let bytes = known * time.clamp(BURST_TIME_MIN, BURST_TIME).as_secs_f64();
            self.burst_bytes = bytes.clamp(self.packet_bytes as f64, BURST_BYTES_MAX);
        }
    }

    /// [BBRInitPacingRate]: rate of the first packets. A single small message says nothing about the path.
    fn first_rate(&self) -> f64 {
        let Some((rtt, _)) = self.min_rtt else { return 0.0 };
        (INITIAL_WINDOW_PACKETS * self.packet_bytes) as f64 / rtt.max(BURST_TIME).as_secs_f64()
    }

    fn window_gain(&self, ack: &Ack) -> f64 {
        let gain = WINDOW_GAIN + self.depth(ack) * (DEEP_WINDOW_GAIN - WINDOW_GAIN);
        match self.phase {
            Phase::Startup | Phase::Drain => STARTUP_WINDOW_GAIN,
            Phase::Up => gain + UP_WINDOW_GAIN,
            _ => gain,
        }
    }

    /// cwnd that keeps our rate where others keep a deep queue: an RTT then includes their queue. Scheduling
    /// delays on a single machine are not a queue.
    fn competing_window(&self, ack: &Ack) -> f64 {
        if self.is_near() {
            return 0.0;
        }
        let gain = match self.phase {
            Phase::Startup => STARTUP_WINDOW_GAIN,
            Phase::Up => UP_GAIN,
            _ => 1.0,
        };
        self.depth(ack) * gain * self.model_rate() * self.won_rtt.as_secs_f64()
    }

    /// cwnd growth per byte delivered.
    fn growth(&self, ack: &Ack) -> f64 {
        let is_long = self.window > (SLOW_FROM_PACKETS * self.packet_bytes) as f64;
        if self.phase == Phase::Startup && is_long && self.depth(ack) == 0.0 { SLOW_GROWTH } else { 1.0 }
    }

    pub(super) fn set_window(&mut self, ack: &Ack) {
        // Queued data of others keeps the path full while acknowledgements are aggregated. With few
        // packets the allowance for aggregation would dominate.
        let part = if self.others == Others::Always { self.depth(ack) } else { 1.0 };
        let most = self.target(self.window_gain(ack)).max(self.competing_window(ack))
            + part * self.extra[0].max(self.extra[1]);
        let grown = self.window + self.growth(ack) * ack.delivered as f64;
        // Startup never reduces cwnd.
        let least = if self.is_full { 0.0 } else { self.window };
        self.window = grown.min(most).max(least);
        let long = match self.phase {
            Phase::Startup | Phase::Drain => f64::INFINITY,
            Phase::Cruise | Phase::ProbeRtt => self.with_headroom(),
            Phase::Down | Phase::Refill | Phase::Up => self.in_flight_long,
        };
        let mut cap = long.min(self.in_flight_short);
        if self.phase == Phase::ProbeRtt {
            cap = cap.min(self.probe_rtt_bytes(ack));
        }
        self.resize(self.window.min(cap).max(self.least_window()));
    }

    /// Bytes in flight while probing the minimum RTT.
    pub(super) fn probe_rtt_bytes(&self, ack: &Ack) -> f64 {
        self.target(PROBE_RTT_GAIN).max(self.depth(ack) * DEEP_PROBE_RTT_GAIN * self.window_before)
    }

    pub(super) fn resize(&mut self, window: f64) {
        // The conversion saturates.
        (self.window, self.window_bytes) = (window, window as usize);
    }
}
