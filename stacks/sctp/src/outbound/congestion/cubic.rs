//! CUBIC (RFC 9438), with HyStart++ (RFC 9406) on the first slow start.

use super::hystart::{Growth, HyStart};
use super::{Ack, CongestionControl, INITIAL_WINDOW_PACKETS};
use crate::outbound::time::Time;

/// C, in packets per cubic second (section 5).
const C: f64 = 0.4;
/// beta_cubic: factor applied to cwnd after a loss (section 4.6).
const BETA: f64 = 0.7;
/// alpha_cubic: packets per round trip in the Reno-friendly region (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);
/// Smallest cwnd after a loss, in packets.
const MIN_WINDOW_PACKETS: f64 = 2.0;

/// Grows along a cubic curve around the cwnd at which loss occurred, independent of the round trip; at least
/// as fast as Reno.
#[derive(Debug)]
pub(in crate::outbound) struct Cubic {
    /// cwnd in bytes. A real number: it grows by fractions of a byte.
    window: f64,
    /// ssthresh in bytes.
    threshold: f64,
    /// W_max in bytes; 0 if unknown.
    most: f64,
    /// cwnd_prior in bytes.
    prior: f64,
    /// The current epoch of congestion avoidance, since the last reduction.
    epoch: Option<Epoch>,
    /// Present until the first loss.
    hystart: Option<HyStart>,
    /// When bytes were last acknowledged.
    acked_at: Time,
    packet_bytes: f64,
}

/// An epoch of congestion avoidance.
#[derive(Debug)]
struct Epoch {
    start: Time,
    /// K in seconds.
    k: f64,
    /// W_est in bytes.
    reno: f64,
}

impl Cubic {
    pub(super) fn new(packet_bytes: usize) -> Self {
        Self {
            window: (INITIAL_WINDOW_PACKETS * packet_bytes) as f64,
            threshold: f64::INFINITY,
            most: 0.0,
            prior: 0.0,
            epoch: None,
            hystart: Some(HyStart::default()),
            acked_at: Time::START,
            packet_bytes: packet_bytes as f64,
        }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let growth = match &mut self.hystart {
            Some(hystart) => hystart.on_ack(ack.bytes, ack.rtt, ack.acked_end, ack.next),
            None => Growth::By(ack.bytes),
        };
        match growth {
            Growth::By(bytes) => self.window = (self.window + bytes as f64).min(self.threshold),
            Growth::Over => {
                self.threshold = self.window;
                self.hystart = None;
            }
        }
    }

    fn avoid(&mut self, ack: &Ack) {
        let (window, packet) = (self.window, self.packet_bytes);
        let epoch = self.epoch.get_or_insert_with(|| {
            // Section 4.2; section 4.8 for the first epoch after slow start, where W_max is unknown.
            let k = if window < self.most { cube_root((self.most - window) / packet / C) } else { 0.0 };
            self.most = self.most.max(window);
            Epoch { start: ack.now, k, reno: window }
        });
        let bytes = ack.bytes as f64;
        // Section 4.3.
        let alpha = if epoch.reno >= self.prior { 1.0 } else { ALPHA };
        epoch.reno += alpha * bytes * packet / window;
        let elapsed = ack.now.since(epoch.start).as_secs_f64();
        let cubic = |t: f64| C * (t - epoch.k).powi(3) * packet + self.most;
        if cubic(elapsed) < epoch.reno {
            self.window = window.max(epoch.reno);
        } else {
            // Sections 4.4 and 4.5.
            let target = cubic(elapsed + ack.smoothed_rtt.as_secs_f64()).clamp(window, 1.5 * window);
            self.window += (target - window) / window * bytes;
        }
    }

    /// Section 4.6, and section 4.7 (fast convergence).
    fn reduce(&mut self) {
        self.prior = self.window;
        self.most = if self.window < self.most { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.threshold = (self.window * BETA).max(MIN_WINDOW_PACKETS * self.packet_bytes);
        self.epoch = None;
        self.hystart = None;
    }
}

impl CongestionControl for Cubic {
    fn window_bytes(&self) -> usize {
        // Saturates.
        self.window as usize
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.bytes == 0 {
            return;
        }
        let pause = ack.now.since(self.acked_at);
        self.acked_at = ack.now;
        if !ack.limited {
            // Section 5.8: time in which cwnd was not fully used does not count.
            if let Some(epoch) = &mut self.epoch {
                epoch.start = epoch.start.after(pause).min(ack.now);
            }
        } else if self.window < self.threshold {
            self.slow_start(ack);
        } else {
            self.avoid(ack);
        }
    }

    fn on_loss(&mut self) {
        self.reduce();
        self.window = self.threshold;
    }

    fn on_timeout(&mut self, repeated: bool) {
        // A window already reduced by a timeout says nothing about the path (RFC 5681 section 3.1).
        if !repeated {
            self.reduce();
        }
        // Section 4.8: the epoch after the following slow start begins with K = 0.
        self.most = 0.0;
        self.epoch = None;
        self.window = self.packet_bytes;
    }

    fn on_path_change(&mut self) {
        *self = Self::new(self.packet_bytes as usize);
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        self.packet_bytes = bytes as f64;
        self.window = self.window.max(self.packet_bytes);
    }
}

/// Cube root of a non-negative number by Newton's method: `f64::cbrt` may differ between platforms.
fn cube_root(x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    // From above, the iteration decreases monotonically; each step removes at least a third initially.
    let mut root = x.max(1.0);
    for _ in 0..100 {
        let next = (2.0 * root + x / (root * root)) / 3.0;
        if next >= root {
            break;
        }
        root = next;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots() {
        for x in [0.0, 1e-9, 0.001, 0.5, 1.0, 2.0, 27.0, 1e6, 1e12] {
            let root = cube_root(x);
            assert!((root * root * root - x).abs() <= 1e-12 * x.max(1e-300), "{x}: {root}");
        }
    }
}
