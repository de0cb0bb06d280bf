//! Goodput of associations at full load, in virtual time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use netdyno_sctp::{Association, Config, Congestion, Ppid, SendError, SendOptions, State, StreamId};

use super::SctpCore;
use super::describe::describe;
use crate::core::{Core, Outgoing};
use crate::failure::Failure;
use crate::network::{Network, Side};
use crate::profile::{Direction, Partition, Profile, Rate, Reorder, Stalls, UDP_OVERHEAD_BYTES};
use crate::random::{Purpose, generator, seed_bytes};
use crate::stage::Stage;

/// Bytes that DTLS 1.2 with AES-GCM adds to each packet; they count towards the rate.
const DTLS_OVERHEAD_BYTES: usize = 37;
/// Bytes of each message.
const MESSAGE_BYTES: usize = 1024;
/// Sampling interval of the RTT.
const LOOK: Duration = Duration::from_millis(10);
/// Port of the first association, on both sides.
const FIRST_PORT: u16 = 5000;

/// A path and its load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// RTT without queueing delay.
    pub rtt: Duration,
    /// Probability of loss for each packet, in both directions.
    pub loss: f64,
    /// Rate of the bottleneck in bit/s, headers of DTLS, UDP and IP included.
    pub bits_per_s: u64,
    /// Capacity of the bottleneck's queue in bytes.
    pub queue_bytes: usize,
    /// The disturbance.
    pub trouble: Trouble,
    /// When the first sender starts.
    pub arrival: Arrival,
}

/// When the first sender starts; the others start at once. Measurement starts with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Together with the others.
    AtOnce,
    /// Later by this time: it never observes the path without the others' queue.
    ConnectsAfter(Duration),
    /// It connects with the others and sends one message, which shows the empty path; the rest follows later
    /// by this time.
    SendsAfter(Duration),
}

impl Arrival {
    /// When it connects, and when it sends.
    fn times(self) -> [Duration; 2] {
        match self {
            Self::AtOnce => [Duration::ZERO; 2],
            Self::ConnectsAfter(time) => [time; 2],
            Self::SendsAfter(time) => [Duration::ZERO, time],
        }
    }
}

/// A disturbance of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// None: the rate is constant, losses are independent.
    None,
    /// Repeated outages of this length; `Path::loss` is their share of the time.
    Outages(Duration),
    /// One packet in a hundred is held back, by up to half a round trip.
    Reordering,
    /// The rate alternates between half and full, for this time each.
    Steps(Duration),
    /// Maximum additional delay of each packet, in both directions; the order is kept.
    Jitter(Duration),
    /// For a fifth of the time nothing arrives, for this time each, and then everything at once.
    Stalls(Duration),
    /// A policer: there is no queue; packets beyond the rate and a bucket of `queue_bytes` are lost.
    Policer,
}

impl Path {
    /// A path whose queue holds one BDP, and at least 64 packets.
    pub fn new(rtt: Duration, loss: f64, bits_per_s: u64) -> Self {
        let under_way = (bits_per_s as f64 / 8.0 * rtt.as_secs_f64()) as usize;
        Self {
            rtt,
            loss,
            bits_per_s,
            queue_bytes: under_way.max(64 * 1228),
            trouble: Trouble::None,
            arrival: Arrival::AtOnce,
        }
    }

    /// The same with a queue of this many BDP, and at least two packets.
    pub fn with_queue(self, round_trips: f64) -> Self {
        let under_way = self.bits_per_s as f64 / 8.0 * self.rtt.as_secs_f64();
        Self { queue_bytes: ((round_trips * under_way) as usize).max(2 * 1300), ..self }
    }

    /// Outages in the first minutes; no measurement is longer.
    fn outages(&self) -> Vec<Partition> {
        let Trouble::Outages(length) = self.trouble else { return Vec::new() };
        let cycle = length.div_f64(self.loss);
        let ends = std::iter::successors(Some(cycle), |end| Some(*end + cycle));
        let outage = |until| Partition { from: until - length, until, way: Direction::Both };
        ends.take_while(|end| *end < Duration::from_secs(200)).map(outage).collect()
    }

    /// The network profile at this time.
    fn profile(&self, elapsed: Duration) -> Profile {
        let halves = match self.trouble {
            Trouble::Steps(length) => (elapsed.as_nanos() / length.as_nanos()).is_multiple_of(2),
            _ => false,
        };
        let is_out = matches!(self.trouble, Trouble::Outages(_));
        let reorder = Reorder { probability: 0.01, delay: self.rtt / 2 };
        Profile {
            delay: self.rtt / 2,
            jitter: if let Trouble::Jitter(most) = self.trouble { most } else { Duration::ZERO },
            stalls: match self.trouble {
                Trouble::Stalls(length) => Some(Stalls { every: 5 * length, length }),
                _ => None,
            },
            loss: if is_out { 0.0 } else { self.loss },
            reorder: (self.trouble == Trouble::Reordering).then_some(reorder),
            partitions: self.outages(),
            rate: Some(Rate {
                bits_per_s: if halves { self.bits_per_s / 2 } else { self.bits_per_s },
                queue_bytes: self.queue_bytes,
                polices: self.trouble == Trouble::Policer,
            }),
            overhead_bytes: UDP_OVERHEAD_BYTES + DTLS_OVERHEAD_BYTES,
            ..Profile::default()
        }
    }
}

/// The result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// Goodput in Mbit/s.
    pub mbit_per_s: f64,
    /// Retransmitted chunks per hundred packets sent.
    pub retransmitted_percent: f64,
    /// T3-rtx expiries.
    pub timeouts: u64,
    /// Median queueing delay: the sender's RTT minus the path's.
    pub queueing: Duration,
}

/// The associations of one side, distinguished by their ports.
struct Flows {
    cores: Vec<SctpCore>,
    /// Index of the next association to send.
    turn: usize,
}

impl Core for Flows {
    fn handle_datagram(&mut self, now: Instant, from: SocketAddr, datagram: &mut [u8]) {
        // The destination port (RFC 9260 section 3.1).
        let Some(&[high, low]) = datagram.get(2..4).and_then(|bytes| bytes.first_chunk()) else { return };
        let number = usize::from(u16::from_be_bytes([high, low]).wrapping_sub(FIRST_PORT));
        if let Some(core) = self.cores.get_mut(number) {
            core.handle_datagram(now, from, datagram);
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.cores.iter_mut().for_each(|core| core.handle_timeout(now));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.cores.iter().filter_map(Core::next_deadline).min()
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Outgoing) -> bool {
        let count = self.cores.len();
        let sends = (0..count)
            .map(|step| (self.turn + step) % count)
            .find(|&at| self.cores[at].poll_transmit(now, out));
        if let Some(at) = sends {
            self.turn = at + 1;
        }
        sends.is_some()
    }
}

/// Sends messages of 1 KiB on one reliable, ordered stream from A to B for this much virtual time and counts
/// what B's application reads: one association for each of `senders`, all over the same path.
pub fn measure(
    path: Path,
    senders: &[Congestion],
    time: Duration,
    seed: u64,
) -> Result<Vec<Goodput>, Failure> {
    let start = Instant::now();
    let network = Network::new(seed, start, path.profile(Duration::ZERO));
    let mut seeds = generator(seed, Purpose::Cores);
    let mut flows = || {
        let cores = senders.iter().zip(FIRST_PORT..).map(|(sender, port)| {
            let mut config = Config::default();
            (config.local_port, config.remote_port) = (port, port);
            config.congestion = *sender;
            let max_packet_bytes = config.max_packet_bytes;
            let association = Association::new(config.into(), seed_bytes(&mut seeds), start)
                .map_err(|error| Failure::new(Duration::ZERO, error.to_string()))?;
            Ok(SctpCore { association, max_packet_bytes })
        });
        Ok(Flows { cores: cores.collect::<Result<_, _>>()?, turn: 0 })
    };
    let mut stage = Stage::new(start, network, [flows()?, flows()?], describe);
    let (mut received, mut begin, mut has_spoken) = (vec![0; senders.len()], None, false);
    let (mut round_trips, mut look_at) = (vec![Vec::new(); senders.len()], start);
    while begin.is_none_or(|begin: Instant| stage.now() < begin + time) {
        while let Some(delivery) = stage.poll_delivery() {
            stage.deliver(delivery);
        }
        let now = stage.now();
        if now >= look_at {
            look_at = now + LOOK;
            if matches!(path.trouble, Trouble::Steps(_)) {
                stage.network.set_profile(Side::A, path.profile(now - start));
            }
            for (core, seen) in stage.core(Side::A).cores.iter().zip(&mut round_trips) {
                seen.extend(core.association.stats().smoothed_rtt);
            }
        }
        for (number, core) in stage.core_mut(Side::A).cores.iter_mut().enumerate() {
            let [connects_at, sends_at] = path.arrival.times().map(|time| start + time);
            let is_before = |time: Instant| number == 0 && now < time;
            if core.association.state() == State::Closed && !is_before(connects_at) {
                core.association.connect(now);
            }
            while core.association.poll_event().is_some() {}
            if core.association.state() != State::Established {
                continue;
            }
            if !is_before(sends_at) {
                fill(&mut core.association, now)?;
                begin = begin.or((number == 0).then_some(now));
            } else if !std::mem::replace(&mut has_spoken, true) {
                say(&mut core.association, now, &[0])?;
            }
        }
        stage.settle(Side::A)?;
        for (core, received) in stage.core_mut(Side::B).cores.iter_mut().zip(&mut received) {
            while core.association.poll_event().is_some() {}
            while let Some(message) = core.association.recv() {
                *received += if begin.is_some() { message.data.len() } else { 0 };
            }
        }
        stage.settle(Side::B)?;
        stage.advance(None, [].into_iter())?;
    }
    let cores = stage.core(Side::A).cores.iter();
    let outcomes = cores.zip(received).zip(round_trips).map(|((core, received), mut seen)| {
        seen.sort_unstable();
        let median = seen.get(seen.len() / 2).copied().unwrap_or_default();
        let stats = core.association.stats();
        Goodput {
            mbit_per_s: received as f64 * 8e-6 / time.as_secs_f64(),
            retransmitted_percent: 100.0 * stats.chunks_retransmitted as f64
                / stats.packets_sent.max(1) as f64,
            timeouts: stats.retransmission_timeouts,
            queueing: median.saturating_sub(path.rtt),
        }
    });
    Ok(outcomes.collect())
}

/// Sends until the association returns `WouldBlock`.
fn fill(association: &mut Association, now: Instant) -> Result<(), Failure> {
    while say(association, now, &[0x5A; MESSAGE_BYTES])? {}
    Ok(())
}

/// Sends one message, unless the association returns `WouldBlock`.
fn say(association: &mut Association, now: Instant, message: &[u8]) -> Result<bool, Failure> {
    match association.send(now, StreamId(0), Ppid::BINARY, message, SendOptions::default()) {
        Ok(()) => Ok(true),
        Err(SendError::WouldBlock) => Ok(false),
        Err(error) => Err(Failure::new(Duration::ZERO, error.to_string())),
    }
}

/// The theoretical goodput of one flow with this loss and RTT in Mbit/s: for NewReno the square-root law
/// (Mathis et al., 1997), for CUBIC RFC 9438 section 5.1, both without the limit of the bottleneck. Infinite
/// without loss.
pub fn theory_mbit_per_s(path: Path, congestion: Congestion) -> f64 {
    let (p, rtt) = (path.loss, path.rtt.as_secs_f64());
    if p == 0.0 {
        return f64::INFINITY;
    }
    // The average window in packets of one message each, for AIMD(1, 0.5); AIMD with CUBIC's decrease of 0.7
    // and its matching increase gives the same result.
    let reno = (1.5 / p).sqrt();
    let packets = match congestion {
        Congestion::NewReno => reno,
        // There is no formula for its response to loss.
        Congestion::Bbr => return f64::INFINITY,
        Congestion::Cubic => {
            let (c, beta) = (0.4_f64, 0.7_f64);
            let cubic = (c * (3.0 + beta) / (4.0 * (1.0 - beta))).powf(0.25) * (rtt / p).powf(0.75);
            cubic.max(reno)
        }
    };
    packets * MESSAGE_BYTES as f64 * 8e-6 / rtt
}

/// The average capacity of the bottleneck, as goodput in Mbit/s.
pub fn bottleneck_mbit_per_s(path: Path) -> f64 {
    // The common header and the header of an I-DATA chunk.
    const SCTP_OVERHEAD_BYTES: usize = 12 + 20;
    let packet = MESSAGE_BYTES + SCTP_OVERHEAD_BYTES + DTLS_OVERHEAD_BYTES + UDP_OVERHEAD_BYTES;
    let steps = if matches!(path.trouble, Trouble::Steps(_)) { 0.75 } else { 1.0 };
    steps * path.bits_per_s as f64 * 1e-6 * MESSAGE_BYTES as f64 / packet as f64
}
