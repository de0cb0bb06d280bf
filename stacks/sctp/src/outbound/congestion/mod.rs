//! Congestion control: how many bytes may be in flight.
//!
//! Choices common to all algorithms:
//!
//! - The initial window is 10 packets, as in RFC 6928. RFC 9260 section 7.2.1 allows at most 4, an older
//!   value; WebRTC's media and QUIC (RFC 9002 section 7.2) also start with 10.
//! - Bursts are not limited (RFC 9260 section 6.1 D recommends a limit of 4 packets). Segmentation offload
//!   sends dozens of packets per call; with short round trips such a limit would reduce the rate.
//! - Byte counting has no limit L: a SACK may answer a whole batch of packets, so a limit per SACK would make
//!   growth depend on the peer's batching. ACK splitting gains nothing, since bytes are counted, not SACKs.
//! - cwnd is kept while the association is idle. RFC 9260 section 7.2.1 recommends halving it every RTO; a
//!   data channel that sends a file now and then would start over each time. cwnd grows only while it is the
//!   limit, so it never exceeds what the path has carried.

mod bbr;
mod cubic;
mod hystart;
mod newreno;

use std::time::Duration;

use super::time::Time;
use crate::config::Congestion;

use bbr::Bbr;
use cubic::Cubic;
use newreno::NewReno;

/// Packets in the initial window.
const INITIAL_WINDOW_PACKETS: usize = 10;

/// A SACK's input to congestion control.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    pub(super) now: Time,
    /// Newly acknowledged bytes of chunks sent after the last reduction.
    pub(super) bytes: usize,
    /// Newly acknowledged bytes.
    pub(super) delivered: usize,
    /// Bytes lost since the previous SACK, except in outages.
    pub(super) lost: usize,
    /// Current bytes in flight.
    pub(super) in_flight: usize,
    /// The SACK had no space for everything that may have arrived: it shows losses before it shows what
    /// arrived.
    pub(super) told_short: bool,
    /// When the last-sent newly acknowledged chunk was sent.
    pub(super) sent_at: Time,
    /// The round-trip sample of this SACK, if any.
    pub(super) rtt: Option<Duration>,
    /// SRTT.
    pub(super) smoothed_rtt: Duration,
    /// cwnd was the limit when these bytes were sent.
    pub(super) limited: bool,
    /// The number after the highest acknowledged chunk.
    pub(super) acked_end: u64,
    /// The number of the next new chunk.
    pub(super) next: u64,
}

/// Pacing parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pacing {
    /// Bytes per second.
    pub(super) rate: f64,
    /// Most bytes sent at once.
    pub(super) burst_bytes: f64,
}

/// A congestion control algorithm. All lengths are in bytes, including chunk headers.
pub(super) trait CongestionControl {
    /// The congestion window.
    fn window_bytes(&self) -> usize;
    /// Something was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// Loss was detected for the first time since the last reduction took effect.
    fn on_loss(&mut self);
    /// The retransmission timer has expired; `repeated` if it also did before and without an acknowledgement in between.
    fn on_timeout(&mut self, repeated: bool);
    /// Data sent before the timeout was acknowledged: the timeout was spurious. Returns whether its effects
    /// were undone.
    fn on_early_timeout(&mut self) -> bool {
        false
    }
    /// Another path is used: everything starts anew (RFC 9000 section 9.4).
    fn on_path_change(&mut self);
    /// Sets the packet length.
    fn set_packet_bytes(&mut self, bytes: usize);

    /// The pacing parameters; `None`: send as fast as cwnd allows.
    fn pacing(&self) -> Option<Pacing> {
        None
    }
    /// Whether the algorithm evaluates `Ack::lost` itself, and `on_loss` is not called.
    fn judges_losses(&self) -> bool {
        false
    }
    /// A packet was sent; `in_flight` includes it. `_after_idle`: everything sent before is acknowledged.
    fn on_sent(&mut self, _now: Time, _in_flight: usize, _after_idle: bool) {}
    /// There is nothing more to send although cwnd allows it.
    fn on_app_limited(&mut self, _in_flight: usize) {}
}

/// The algorithm of an association. An enum, not a trait object: it is called for every packet.
#[derive(Debug)]
pub(super) enum Controller {
    Cubic(Cubic),
    NewReno(NewReno),
    /// Boxed because it is large and not always used.
    Bbr(Box<Bbr>),
}

/// Dispatches a call to the algorithm.
macro_rules! each {
    ($controller:expr, $algorithm:ident => $call:expr) => {
        match $controller {
            Controller::Cubic($algorithm) => $call,
            Controller::NewReno($algorithm) => $call,
            Controller::Bbr($algorithm) => $call,
        }
    };
}

impl Controller {
    /// `random` differs between associations.
    pub(super) fn new(kind: Congestion, packet_bytes: usize, random: u64) -> Self {
        match kind {
            Congestion::Cubic => Self::Cubic(Cubic::new(packet_bytes)),
            Congestion::NewReno => Self::NewReno(NewReno::new(packet_bytes)),
            Congestion::Bbr => Self::Bbr(Box::new(Bbr::new(packet_bytes, random))),
        }
    }
}

impl CongestionControl for Controller {
    fn window_bytes(&self) -> usize {
        each!(self, algorithm => algorithm.window_bytes())
    }

    fn on_ack(&mut self, ack: &Ack) {
        each!(self, algorithm => algorithm.on_ack(ack));
    }

    fn on_loss(&mut self) {
        each!(self, algorithm => algorithm.on_loss());
    }

    fn on_timeout(&mut self, repeated: bool) {
        each!(self, algorithm => algorithm.on_timeout(repeated));
    }

    fn on_early_timeout(&mut self) -> bool {
        each!(self, algorithm => algorithm.on_early_timeout())
    }

    fn on_path_change(&mut self) {
        each!(self, algorithm => algorithm.on_path_change());
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        each!(self, algorithm => algorithm.set_packet_bytes(bytes));
    }

    fn pacing(&self) -> Option<Pacing> {
        each!(self, algorithm => algorithm.pacing())
    }

    fn judges_losses(&self) -> bool {
        each!(self, algorithm => algorithm.judges_losses())
    }

    fn on_sent(&mut self, now: Time, in_flight: usize, after_idle: bool) {
        each!(self, algorithm => algorithm.on_sent(now, in_flight, after_idle));
    }

    fn on_app_limited(&mut self, in_flight: usize) {
        each!(self, algorithm => algorithm.on_app_limited(in_flight));
    }
}

#[cfg(test)]
mod tests;
