//! What follows from the model: how fast packets go out, in which bursts, and how much may be in flight.

use std::time::Duration;

use super::{Bbr, Others, PROBE_RTT_GAIN, Phase, UP_GAIN};
use crate::outbound::congestion::{Ack, INITIAL_WINDOW_PACKETS};

/// [StartupPacingGain]: 4 ln 2.
const STARTUP_GAIN: f64 = 2.77;
/// [DrainPacingGain].
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
/// The window, in what fills the path: a queue of less than half of that leaves another flow its part ...
const WINDOW_GAIN: f64 = 1.5;
/// ... unless others keep a deep one: of that a part is needed to have a part of the rate. [DefaultCwndGain] is 2, whatever the queue.
const DEEP_WINDOW_GAIN: f64 = 2.25;
/// [StartupCwndGain]
const STARTUP_WINDOW_GAIN: f64 = 2.0;
/// Added while we probe for more.
const UP_WINDOW_GAIN: f64 = 0.25;
/// [PacingMarginPercent]: a little below the model, so that a queue drains.
const MARGIN: f64 = 0.99;
/// While the shortest round trip is looked for: of the window before, where others keep a deep queue. Less would not empty that either.
const DEEP_PROBE_RTT_GAIN: f64 = 0.25;
/// [Headroom]: left to others.
const HEADROOM: f64 = 0.15;

/// The start doubles until the window has so many packets, and then grows by half a round: it loses what it grows by in its last round, and
/// a SACK can tell of a few hundred losses only, so that it takes a round trip to repair as many ...
const SLOW_FROM_PACKETS: usize = 2048;
/// ... unless others keep a deep queue.
const SLOW_GROWTH: f64 = 0.5;

/// A burst is what the rate carries in this time ...
const BURST_TIME: Duration = Duration::from_millis(1);
/// ... or in a quarter of the shortest round trip: a path of few packets would hold nothing else. But not in less than timers can tell;
/// a round trip that is shorter itself is one on the same machine, or nearly so, and what little may wait there is no harm ...
const BURST_TIME_MIN: Duration = Duration::from_micros(250);
/// ... nor where the rate is so high: a millisecond of queue is little there, and more calls of the system cost a part of the rate ...
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

    /// [BBRInitPacingRate]: that of the first packets. A word that was alone says nothing of the path.
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

    /// Bytes that keep our rate where others keep a deep queue: a round trip takes what theirs makes it take. Programs that take turns on
    /// one machine are no queue.
    fn beside_others(&self, ack: &Ack) -> f64 {
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

    /// By how much the window grows for each byte that is delivered.
    fn growth(&self, ack: &Ack) -> f64 {
        let is_long = self.window > (SLOW_FROM_PACKETS * self.packet_bytes) as f64;
        if self.phase == Phase::Startup && is_long && self.depth(ack) == 0.0 { SLOW_GROWTH } else { 1.0 }
    }

    pub(super) fn set_window(&mut self, ack: &Ack) {
        // What others keep waiting fills the path while acknowledgements are gathered. Of few packets that extra would be the most.
        let part = if self.others == Others::Always { self.depth(ack) } else { 1.0 };
        let most = self.target(self.window_gain(ack)).max(self.beside_others(ack))
            + part * self.extra[0].max(self.extra[1]);
        let grown = self.window + self.growth(ack) * ack.delivered as f64;
        // The start never takes back what it had.
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

    /// What is in flight while the shortest round trip is looked for.
    pub(super) fn probe_rtt_bytes(&self, ack: &Ack) -> f64 {
        self.target(PROBE_RTT_GAIN).max(self.depth(ack) * DEEP_PROBE_RTT_GAIN * self.window_before)
    }

    pub(super) fn resize(&mut self, window: f64) {
        // The conversion saturates.
        (self.window, self.window_bytes) = (window, window as usize);
    }
}
