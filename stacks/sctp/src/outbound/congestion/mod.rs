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

mod cubic;
mod hystart;
mod newreno;

use std::time::Duration;

use super::time::Time;
use crate::config::Congestion;

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
    /// Packets are this long from now on.
    fn set_packet_bytes(&mut self, bytes: usize);
}

/// The algorithm of an association. An enum, not a trait object: it is asked for every packet.
#[derive(Debug)]
pub(super) enum Controller {
    Cubic(Cubic),
    NewReno(NewReno),
}

impl Controller {
    pub(super) fn new(kind: Congestion, packet_bytes: usize) -> Self {
        match kind {
            Congestion::Cubic => Self::Cubic(Cubic::new(packet_bytes)),
            Congestion::NewReno => Self::NewReno(NewReno::new(packet_bytes)),
        }
    }
}

impl CongestionControl for Controller {
    fn window_bytes(&self) -> usize {
        match self {
            Self::Cubic(cubic) => cubic.window_bytes(),
            Self::NewReno(reno) => reno.window_bytes(),
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        match self {
            Self::Cubic(cubic) => cubic.on_ack(ack),
            Self::NewReno(reno) => reno.on_ack(ack),
        }
    }

    fn on_loss(&mut self) {
        match self {
            Self::Cubic(cubic) => cubic.on_loss(),
            Self::NewReno(reno) => reno.on_loss(),
        }
    }

    fn on_timeout(&mut self, again: bool) {
        match self {
            Self::Cubic(cubic) => cubic.on_timeout(again),
            Self::NewReno(reno) => reno.on_timeout(again),
        }
    }

    fn set_packet_bytes(&mut self, bytes: usize) {
        match self {
            Self::Cubic(cubic) => cubic.set_packet_bytes(bytes),
            Self::NewReno(reno) => reno.set_packet_bytes(bytes),
        }
    }
}

#[cfg(test)]
mod tests;
