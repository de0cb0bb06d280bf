//! Evaluation of SACKs: rounds, rates, losses, round trips and acknowledgement aggregation.

use std::time::Duration;

use super::rate::Sample;
use super::{BETA, Bbr, DEEP_FROM, FULL_ROUNDS, Others, PROBE_RTT_INTERVAL, Phase};
use crate::outbound::congestion::Ack;
use crate::outbound::time::Time;

/// Highest loss rate attributed to the path itself. Higher rates count as a full path.
const OWN_LOSS_MAX: f64 = 0.15;
/// Number of packets over which that rate is averaged.
const OWN_PACKETS: f64 = 400.0;
/// Rounds with a queue or a probe are combined for this long: some paths lose nothing for a second, and then
/// a burst.
const BUSY_TIME: Duration = Duration::from_secs(5);
/// Highest weight of a round in the average.
const OWN_WEIGHT_MAX: f64 = 0.25;
/// Growth of the rate in a round that shows spare capacity.
const FULL_GROWTH: f64 = 1.25;
/// The same while probing at 1.25 times the rate, which bounds the growth. The draft uses one value for both,
/// and so probes for at most three rounds.
const UP_GROWTH: f64 = 1.1;
/// Rounds in which loss is ignored: the first packets are sent at once, because no rate is known yet, and a
/// short queue has no space for them.
const BURST_ROUNDS: u64 = 2;
/// Packets lost in a round that may end Startup.
const STARTUP_LOSSES: u64 = 6;
/// If the queue of other flows overflows, the lost share is below 1 in this number.
const OTHERS_LOSS_PART: u64 = 8;
/// [MinRTTFilterLen].
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// Rounds for which acknowledgement aggregation is remembered, in two halves.
const EXTRA_ROUNDS: u64 = 5;

impl Bbr {
    pub(super) fn update_round(&mut self, ack: &Ack, sample: &Sample) -> bool {
        if let Some(rtt) = ack.rtt {
            self.round_queued |= self.shows_queue(rtt);
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let starts = sample.prior_delivered >= self.round_end;
        if starts {
            self.round_end = self.rates.delivered;
            self.rounds += 1;
        }
        starts
    }

    pub(super) fn is_after_timeout(&mut self, ack: &Ack) -> bool {
        let Some(end) = &mut self.after_timeout else { return false };
        let is_before = ack.acked_end < *end.get_or_insert(ack.next);
        if !is_before {
            self.after_timeout = None;
        }
        is_before
    }

    pub(super) fn update_rate(&mut self, sample: &Sample) {
        let delivered = (self.rates.delivered - sample.prior_delivered) as f64;
        self.latest.1 = self.latest.1.max(delivered);
        // Data retransmitted before any round trip was known may be acknowledged at once, in answer to its
        // first transmission.
        let Some(rate) = sample.rate.filter(|_| self.min_rtt.is_some()) else { return };
        // A SACK has space for a few hundred blocks: after many losses it reports late, and at once, what
        // arrived long before.
        let [_, sent] = self.sent_rate;
        let rate = if self.is_full { rate.min(sent) } else { rate };
        self.latest.0 = self.latest.0.max(rate);
        if !sample.app_limited || rate >= self.max_rate() {
            self.most[0] = self.most[0].max(rate);
        }
    }

    /// Ends a round and evaluates its loss.
    pub(super) fn end_round(&mut self, ack: &Ack, sample: &Sample) {
        let (delivered, lost) =
            (self.rates.delivered - self.round_from.0, self.rates.lost - self.round_from.1);
        let all = delivered + lost;
        let growth = if self.phase == Phase::Up { UP_GROWTH } else { FULL_GROWTH };
        let grows = self.max_rate() >= self.full_rate * growth;
        let calm = match self.phase {
            Phase::Cruise | Phase::Down | Phase::Refill => !self.round_queued,
            // While the rate doubles, loss is attributed to the path.
            Phase::Startup => !self.round_queued && grows,
            Phase::Drain | Phase::Up | Phase::ProbeRtt => false,
        };
        let beyond = self.is_beyond(lost, all);
        self.calm_rounds = if beyond || self.round_queued { 0 } else { self.calm_rounds + 1 };
        let is_burst = self.rounds <= BURST_ROUNDS;
        if !ack.told_short && !is_burst {
            self.update_own_loss(ack.now, lost, all, calm);
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
            // If everything acknowledged was retransmitted there is no RTT sample: the smoothed one
            // counts.
            let queued = self.round_queued || self.round_rtt.is_none() && self.shows_queue(ack.smoothed_rtt);
            // The queue of other flows overflows now and then. Startup continues while it grows, unless it
            // loses as much as a flow that fills the path; nor would filling the path make the RTT that long.
            let is_ours = (!grows || lost > all / OTHERS_LOSS_PART)
                && self.round_rtt.is_none_or(|least| least <= self.lowest_rtt.get().mul_f64(DEEP_FROM));
            if beyond && many && queued && !is_burst && is_ours {
                self.is_full = true;
                self.in_flight_long = self.path_bytes(self.max_rate()).max(self.latest.1);
            }
        }
        if let Some(least) = self.round_rtt {
            let won = grows && matches!(self.phase, Phase::Startup | Phase::Up);
            self.won_rtt = if won { least } else { self.won_rtt.min(least) };
        }
        // With more in flight than the BDP, the application did not limit the rate.
        let is_filled = ack.in_flight as f64 > FULL_GROWTH * self.path_bytes(self.max_rate());
        if grows {
            (self.full_rate, self.full_rounds) = (self.max_rate(), 0);
        } else if (!sample.app_limited || is_filled) && self.after_timeout.is_none() {
            self.full_rounds += 1;
        }
        self.is_full |= self.phase == Phase::Startup && self.full_rounds >= FULL_ROUNDS;
        self.round_from = (self.rates.delivered, self.rates.lost);
        self.sent_rate = [self.rate.unwrap_or(f64::INFINITY), self.sent_rate[0]];
        (self.round_queued, self.round_rtt) = (false, None);
        self.latest = (0.0, 0.0);
    }

    /// The path's own loss rate is the loss in calm rounds. If there are none for a long time, because others
    /// keep a queue, it is at most the overall loss rate: too high an estimate would attribute the loss of
    /// all flows to the path.
    pub(super) fn update_own_loss(&mut self, now: Time, lost: u64, all: u64, calm: bool) {
        let packets = all as f64 / self.packet_bytes as f64;
        if calm && all > 0 {
            self.own_packets = (self.own_packets + packets).min(OWN_PACKETS);
            let weight = (packets / self.own_packets).min(OWN_WEIGHT_MAX);
            self.own_loss += weight * (lost as f64 / all as f64 - self.own_loss);
            self.own_loss = self.own_loss.min(OWN_LOSS_MAX);
            return;
        }
        let (lost, all) = (self.busy.0 + lost, self.busy.1 + all);
        self.busy = (lost, all);
        let is_long = now.since(self.busy_from) > BUSY_TIME;
        if is_long && all as f64 >= OWN_PACKETS * self.packet_bytes as f64 {
            self.own_loss = self.own_loss.min(lost as f64 / all as f64);
            (self.busy, self.busy_from) = ((0, 0), now);
        }
    }

    /// Whether other flows are present, judged by the round that ends.
    pub(super) fn others(&self) -> Others {
        match self.round_rtt {
            _ if self.is_near() || !self.round_queued => Others::None,
            Some(least) if self.shows_queue(least) => Others::Always,
            _ => Others::Some,
        }
    }

    /// How many bytes are acknowledged in bursts beyond the rate: receivers aggregate acknowledgements.
    pub(super) fn update_extra(&mut self, ack: &Ack) {
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

    pub(super) fn update_rtt(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.lowest_rtt.sample(ack.now, rtt);
        let is_old = |seen: Option<(Duration, Time)>, age: Duration| {
            seen.is_none_or(|(_, at)| ack.now.since(at) > age)
        };
        self.probe_rtt_due |= self.recent_rtt.is_some() && is_old(self.recent_rtt, PROBE_RTT_INTERVAL);
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
}
