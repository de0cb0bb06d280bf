//! Deadlines: retransmission, tail loss probe, reordering, lifetimes, and releasing memory.

use std::time::{Duration, Instant};

use super::Outbound;
use super::congestion::CongestionControl;
use super::pacer::Pacer;
use super::time::Time;

/// Idle time after which memory is released.
const IDLE: Duration = Duration::from_secs(1);

/// Deadlines not kept elsewhere.
#[derive(Debug)]
pub(super) struct Timers {
    /// T3-rtx; also for FORWARD-TSN and for a closed window.
    retransmit: Time,
    /// Tail loss probe.
    pub(super) probe: Time,
    /// Releasing memory.
    idle: Time,
}

impl Timers {
    pub(super) fn new() -> Self {
        Self { retransmit: Time::NEVER, probe: Time::NEVER, idle: Time::NEVER }
    }
}

impl Outbound {
    /// The deadline of `handle_timeout`: retransmission, tail loss probe, reordering, lifetimes.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let timers = &self.timers;
        let first = timers.retransmit.min(timers.probe).min(timers.idle);
        let first = first.min(self.paced_until());
        self.clock.instant(first.min(self.loss.reorder_at).min(self.limits.next_expiry()))
    }

    /// Handles expired deadlines.
    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        let now = self.clock.read(now);
        self.expire(now);
        if self.loss.reorder_at <= now {
            self.detect_losses(now, 0);
        }
        if self.timers.retransmit <= now {
            self.time_out(now);
        } else if self.timers.probe <= now {
            self.timers.probe = Time::NEVER;
            self.send_probe(now);
        }
        self.pass_abandoned();
        if self.timers.idle <= now {
            self.timers.idle = Time::NEVER;
            self.shrink();
        }
        self.arm(now);
    }

    /// Data takes another path from now on. RFC 9000 section 9.4: "an endpoint MUST immediately reset the
    /// congestion controller and round-trip time estimator for the new path to initial values".
    pub(crate) fn handle_path_changed(&mut self, now: Instant, rto_initial: Duration) {
        let now = self.clock.read(now);
        self.path_from = now;
        self.rtt.reset(rto_initial);
        self.congestion.on_path_change();
        (self.pacer, self.loss.pace) = (Pacer::new(), None);
        if !self.flight.is_empty() {
            self.restart_timer(now);
        }
        self.timers.probe = Time::NEVER;
        self.arm(now);
    }

    /// The path was unavailable for a while: data in flight is lost, and the timeouts of that period are
    /// ignored.
    pub(crate) fn handle_path_restored(&mut self, now: Instant) {
        let now = self.clock.read(now);
        (self.timeouts_in_a_row, self.stalled_timeouts) = (0, 0);
        self.rtt.forgive();
        if !self.flight.is_empty() {
            self.lose_everything(now);
        }
        self.timers.probe = Time::NEVER;
        self.window_probe |= self.is_window_blocked();
        self.restart_timer(now);
        self.arm(now);
    }

    /// RFC 9260 section 6.3.2 R3: the timer restarts.
    pub(super) fn restart_timer(&mut self, now: Time) {
        self.timers.retransmit = now.after(self.rtt.rto());
    }

    /// Sets the timers according to what is pending (section 6.3.2 R1 and R2).
    pub(super) fn arm(&mut self, now: Time) {
        if !self.flight.is_empty() || self.lags() || self.is_window_blocked() {
            if self.timers.retransmit == Time::NEVER {
                self.restart_timer(now);
            }
            self.timers.idle = Time::NEVER;
            return;
        }
        self.timers.retransmit = Time::NEVER;
        self.timers.probe = Time::NEVER;
        if self.unsent > 0 {
            self.timers.idle = Time::NEVER;
        } else if self.timers.idle == Time::NEVER && self.has_memory {
            self.timers.idle = now.after(IDLE);
        }
    }

    /// T3-rtx has expired (section 6.3.3).
    fn time_out(&mut self, now: Time) {
        self.rtt.back_off();
        self.timers.probe = Time::NEVER;
        if self.is_window_blocked() {
            self.window_probe = true;
        } else {
            self.timeouts_in_a_row = self.timeouts_in_a_row.saturating_add(1);
            self.stalled_timeouts = self.stalled_timeouts.saturating_add(1);
            self.stats.retransmission_timeouts += 1;
            if !self.flight.is_empty() {
                self.lose_everything(now);
            }
            self.forward.is_due |= self.lags();
        }
        self.restart_timer(now);
    }

    /// Abandons expired messages that have an unsent part or wait for retransmission. What is in flight may
    /// still arrive.
    fn expire(&mut self, now: Time) {
        while let Some(id) = self.limits.pop_expired(now) {
            let limit = self.limits.get(id);
            let (mut seq, mut waits) = (limit.first, limit.is_queued);
            for _ in 0..limit.chunks {
                waits |= !self.flight.is_settled(seq) && !self.flight.is_outstanding(seq);
                seq += u64::from(self.flight.chunk(seq).next_fragment);
            }
            if waits {
                self.abandon(id);
            }
        }
        self.limits.tidy();
    }

    /// Releases memory.
    fn shrink(&mut self) {
        self.has_memory = false;
        self.store.shrink();
        self.streams.shrink();
        self.scheduler.shrink();
        self.flight.shrink();
        self.limits.shrink();
        self.loss.resent = std::collections::VecDeque::new();
        self.events.shrink();
    }
}
