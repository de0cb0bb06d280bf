//! Congestion control: how much may be in flight.
//!
//! What all algorithms share here, with reasons:
//!
//! - The initial window is 10 packets, as of RFC 6928. RFC 9260 section 7.2.1 has 4 at the most, from a time before
//!   that; WebRTC's other traffic, and QUIC (RFC 9002 section 7.2), begin with 10 too.
//! - There is no limit on bursts (RFC 9260 section 6.1 D has one as a SHOULD, of 4 packets). Segmentation offload sends
//!   dozens of packets with one call; with round trips of 50 microseconds such a limit would halve the rate.
//! - Byte counting has no limit L: a SACK may answer a whole batch of packets, so a limit for each SACK would make the
//!   growth depend on how the peer batches. ACK splitting gains nothing, since bytes are counted, not SACKs.
//! - The window is kept when the association idles. RFC 9260 section 7.2.1 halves it every RTO, as a SHOULD; a data
//!   channel that sends a file now and then would begin anew each time. It grows only while it is the limit, so that it
//!   is never larger than what the path has carried.

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

/// What a SACK says to congestion control.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ack {
    pub(super) now: Time,
    /// Newly acknowledged bytes of chunks that were sent after the last reduction.
    pub(super) bytes: usize,
    /// Newly acknowledged bytes.
    pub(super) delivered: usize,
    /// Bytes lost since the SACK before, but for those of outages.
    pub(super) lost: usize,
    /// Bytes in flight now.
    pub(super) in_flight: usize,
    /// The SACK had no room for all that may have arrived: of losses it tells before it does of what came through.
    pub(super) told_short: bool,
    /// When the chunk was sent that was sent last among the newly acknowledged.
    pub(super) sent_at: Time,
    /// A round trip, if this SACK gave one.
    pub(super) rtt: Option<Duration>,
    /// SRTT.
    pub(super) smoothed_rtt: Duration,
    /// The window was what held us back when these bytes were sent.
    pub(super) limited: bool,
    /// The number after the highest chunk that is acknowledged.
    pub(super) acked_end: u64,
    /// The number of the next new chunk.
    pub(super) next: u64,
}

/// How packets go out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pacing {
    /// Bytes a second.
    pub(super) rate: f64,
    /// Bytes that may go out at once.
    pub(super) burst_bytes: f64,
}

/// An algorithm. All lengths are in bytes, chunk headers included.
pub(super) trait CongestionControl {
    /// The congestion window.
    fn window_bytes(&self) -> usize;
    /// Something was acknowledged.
    fn on_ack(&mut self, ack: &Ack);
    /// Loss, for the first time since the last reduction has taken effect.
    fn on_loss(&mut self);
    /// The retransmission timer went off; `again` if it did before, and nothing was acknowledged since.
    fn on_timeout(&mut self, again: bool);
    /// What was sent before the timeout is answered: it came too early. Gives whether it is as if there had been none.
    fn on_early_timeout(&mut self) -> bool {
        false
    }
    /// Packets are this long from now on.
    fn set_packet_bytes(&mut self, bytes: usize);

    /// How packets go out; none: as fast as the window lets them.
    fn pacing(&self) -> Option<Pacing> {
        None
    }
    /// Each loss is told by `Ack::lost`, and what of it is congestion is for the algorithm to say: there is no `on_loss`.
    fn judges_losses(&self) -> bool {
        false
    }
    /// A packet was sent; so much is in flight with it. `_after_idle`: there was nothing before that is not acknowledged.
    fn on_sent(&mut self, _now: Time, _in_flight: usize, _after_idle: bool) {}
    /// There is nothing more to send, though the window would let more out.
    fn on_app_limited(&mut self, _in_flight: usize) {}
}

/// The algorithm of an association. An enum, not a trait object: it is asked for every packet.
#[derive(Debug)]
pub(super) enum Controller {
    Cubic(Cubic),
    NewReno(NewReno),
    /// Large, and not everybody's.
    Bbr(Box<Bbr>),
}

/// The same call, whichever it is.
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
    /// `random` differs from association to association.
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

    fn on_timeout(&mut self, again: bool) {
        each!(self, algorithm => algorithm.on_timeout(again));
    }

    fn on_early_timeout(&mut self) -> bool {
        each!(self, algorithm => algorithm.on_early_timeout())
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
