//! The plan of a run: settings, network, workload and end, all drawn from the seed.

use std::time::Duration;

use netdyno_sctp::{Config, Congestion, Reliability, Schedule, SendOptions, StreamId};
use rand::RngExt;

use crate::network::Side;
use crate::profile::{BlackHole, Profile};
use crate::random::{Purpose, Random, duration_between, generator, magnitude_between};

/// The largest message of any plan.
pub(super) const MESSAGE_BYTES_MAX: usize = 262_144;
/// The maximum number of streams of one side.
const STREAMS_MAX: usize = 6;

/// The events of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The network profiles from A to B, and from B to A.
    pub profiles: [Profile; 2],
    /// Settings of A and B.
    pub configs: [Config; 2],
    /// When each side connects; at least one does.
    pub connect: [Option<Duration>; 2],
    /// The actions of the applications, in order of time.
    pub actions: Vec<(Duration, Side, Action)>,
    /// When the disturbances end.
    pub heals_at: Duration,
    /// Turns begin only at multiples of this, as if the driver overslept; zero: at once.
    pub granularity: Duration,
    /// Whether `handle_timeout` is also called when no timer is due.
    pub early_wakes: bool,
    /// Whether the associations are observed while they are idle.
    pub idles: bool,
    /// How the run ends.
    pub end: End,
}

/// An action of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Sends a message.
    Send(Planned),
    /// Resets outgoing streams.
    Reset(Vec<StreamId>),
    /// Stops reading.
    Pause,
    /// Resumes reading.
    Resume,
    /// Sets a buffered-amount threshold.
    Threshold(StreamId, usize),
    /// Sets a priority.
    Priority(StreamId, u16),
    /// Ends the association once all data has been delivered.
    Shutdown,
}

/// A message to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The stream.
    pub stream: StreamId,
    /// Length.
    pub bytes: usize,
    /// Its options.
    pub options: SendOptions,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// One side, or both at once, shut down when all data was delivered.
    Shutdown(Option<Side>),
    /// One side shuts down among its other actions.
    EarlyShutdown,
    /// One side aborts when all data was delivered.
    Abort(Side),
}

impl Plan {
    /// The plan of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut profile_random = generator(seed, Purpose::Profile);
        let random = &mut generator(seed, Purpose::Plan);
        let length = duration_between(random, Duration::from_millis(20), Duration::from_secs(10));
        let heals_at = length.mul_f64(random.random_range(1.0..2.0));
        let mut configs = draw_configs(random);
        let profiles = draw_profiles(&mut profile_random, heals_at, &mut configs);
        let connect = match random.random_range(0..3) {
            0 => [Some(Duration::ZERO), None],
            1 => [None, Some(length.mul_f64(0.2 * random.random::<f64>()))],
            _ => [Duration::ZERO, length.mul_f64(0.1 * random.random::<f64>())].map(Some),
        };
        let end = match random.random_range(0..8) {
            0 => End::EarlyShutdown,
            1 => End::Abort(Side::BOTH[random.random_range(0..2)]),
            2 => End::Shutdown(None),
            _ => End::Shutdown(Some(Side::BOTH[random.random_range(0..2)])),
        };
        let mut actions = Vec::new();
        for side in Side::BOTH {
            if random.random_bool(0.85) {
                draw_workload(random, side, length, &configs[0], &mut actions);
            }
            draw_pauses(random, side, length, &mut actions);
        }
        if end == End::EarlyShutdown {
            let at = length.mul_f64(random.random_range(0.2..1.0));
            actions.push((at, Side::BOTH[random.random_range(0..2)], Action::Shutdown));
        }
        actions.sort_by_key(|(at, ..)| *at);
        let granularity = match random.random_range(0..4) {
            0 => duration_between(random, Duration::from_micros(10), Duration::from_millis(10)),
            _ => Duration::ZERO,
        };
        let (early_wakes, idles) = (random.random_bool(0.2), random.random_bool(0.2));
        Self { profiles, configs, connect, actions, heals_at, granularity, early_wakes, idles, end }
    }

    /// The streams that a side uses.
    pub fn streams(&self, side: Side) -> Vec<StreamId> {
        let mine = self.actions.iter().filter(|(_, of, _)| *of == side);
        let mut streams: Vec<StreamId> = mine
            .filter_map(|(.., action)| match action {
                Action::Send(planned) => Some(planned.stream),
                _ => None,
            })
            .collect();
        streams.sort_unstable();
        streams.dedup();
        streams
    }
}

/// The network in both directions, and the packet lengths.
fn draw_profiles(random: &mut Random, heals_at: Duration, configs: &mut [Config; 2]) -> [Profile; 2] {
    let mut forward = Profile::random(random, heals_at);
    let base = configs[0].packet_bytes.max(configs[1].packet_bytes);
    let longest = configs[0].max_packet_bytes.max(configs[1].max_packet_bytes);
    if longest > base {
        forward.mtu_bytes = random.random_range(base..=longest + 100);
        if random.random_bool(0.4) {
            let from = heals_at.mul_f64(random.random::<f64>());
            forward.black_hole = Some(BlackHole { from, mtu_bytes: random.random_range(base..=longest) });
        }
    }
    // A queue shorter than a packet would block the path entirely.
    if let Some(rate) = &mut forward.rate {
        rate.queue_bytes = rate.queue_bytes.max(2 * (longest + forward.overhead_bytes));
    }
    // Without a checksum, corruption would go unnoticed here; DTLS would detect it.
    if !configs.iter().any(|config| config.zero_checksum) && random.random_bool(0.5) {
        forward.corrupt = magnitude_between(random, 0.001, 0.2);
    }
    let mut backward = forward.clone();
    if random.random_bool(0.3) {
        // Different directions: losses on one of them only.
        let other = Profile::random(random, heals_at);
        (backward.loss, backward.burst, backward.reorder) = (other.loss, other.burst, other.reorder);
        (backward.delay, backward.jitter) = (other.delay, other.jitter);
    }
    [forward, backward]
}

fn draw_configs(random: &mut Random) -> [Config; 2] {
    let packet_bytes = match random.random_range(0..3) {
        0 => random.random_range(508..=1163),
        _ => Config::default().packet_bytes,
    };
    let max_packet_bytes = match random.random_range(0..3) {
        0 => random.random_range(packet_bytes..=16_384),
        _ => packet_bytes,
    };
    let mostly = random.random_bool(0.5);
    let mut configs = [Config::default(), Config::default()];
    for config in &mut configs {
        config.packet_bytes = packet_bytes;
        config.max_packet_bytes = max_packet_bytes;
        config.interleaving = mostly ^ random.random_bool(0.1);
        config.zero_checksum = mostly ^ random.random_bool(0.2);
        config.congestion =
            [Congestion::Cubic, Congestion::NewReno, Congestion::Bbr][random.random_range(0..3)];
        config.schedule = [Schedule::RoundRobin, Schedule::WeightedFair][random.random_range(0..2)];
        config.sack_delay = Duration::from_millis([0, 20, 200][random.random_range(0..3)]);
        if random.random_bool(0.4) {
            config.limits.receive_window_bytes =
                magnitude_between(random, 2.0, 8.0) as usize * MESSAGE_BYTES_MAX;
            // Partial messages cannot be read: there is room for one of the maximum length on each stream.
            config.limits.max_receive_window_bytes = (STREAMS_MAX + 2) * MESSAGE_BYTES_MAX;
        }
        if random.random_bool(0.3) {
            config.limits.send_buffer_bytes = 2 * MESSAGE_BYTES_MAX;
        }
        if random.random_bool(0.2) {
            config.limits.max_held_chunks = random.random_range(64..1024);
            config.limits.max_in_flight_chunks = random.random_range(16..1024);
            config.limits.max_waiting_messages = random.random_range(2..64);
            config.limits.max_gap_blocks = random.random_range(1..64);
            config.limits.max_partial_messages = random.random_range(8..64);
        }
    }
    configs
}

/// Messages and resets of one side.
fn draw_workload(
    random: &mut Random,
    side: Side,
    length: Duration,
    config: &Config,
    actions: &mut Vec<(Duration, Side, Action)>,
) {
    let streams: Vec<(StreamId, SendOptions)> = (0..random.random_range(1..=STREAMS_MAX as u16))
        .map(|number| {
            let far = config.limits.max_streams == 65_535 && random.random_bool(0.05);
            let stream = StreamId(if far { 65_534 - number } else { number });
            (stream, draw_options(random))
        })
        .collect();
    let at = |random: &mut Random| length.mul_f64(random.random::<f64>());
    // Some runs have messages of the maximum length, a few of these so many that every stream has one in
    // flight: together they exceed the receive window.
    let large = random.random_bool(0.08);
    let many = large && random.random_bool(0.25);
    let bytes_in_all =
        magnitude_between(random, 1_000.0, if many { 6_000_000.0 } else { 600_000.0 }) as usize;
    let largest = if large { MESSAGE_BYTES_MAX } else { bytes_in_all.min(65_536) };
    let bursts = random.random_bool(0.5).then(|| random.random_range(1..5));
    let mut bytes = 0;
    while bytes < bytes_in_all {
        let (stream, usual) = streams[random.random_range(0..streams.len())];
        let options = if random.random_bool(0.05) { draw_options(random) } else { usual };
        let planned = Planned { stream, bytes: draw_length(random, largest), options };
        bytes += planned.bytes + 64;
        let mut time = at(random);
        if let Some(bursts) = bursts {
            let step = length / bursts;
            time = step * (time.as_nanos() / step.as_nanos().max(1)) as u32;
        }
        actions.push((time, side, Action::Send(planned)));
    }
    for (stream, _) in &streams {
        if random.random_bool(0.25) {
            for _ in 0..random.random_range(1..=3) {
                let all = random.random_bool(0.2);
                let reset =
                    if all { streams.iter().map(|(stream, _)| *stream).collect() } else { vec![*stream] };
                actions.push((at(random), side, Action::Reset(reset)));
            }
        }
        if random.random_bool(0.3) {
            let threshold = random.random_range(0..50_000);
            actions.push((at(random), side, Action::Threshold(*stream, threshold)));
        }
        if random.random_bool(0.3) {
            let priority = [128, 256, 512, 1024][random.random_range(0..4)];
            actions.push((at(random), side, Action::Priority(*stream, priority)));
        }
    }
}

fn draw_options(random: &mut Random) -> SendOptions {
    let reliability = match random.random_range(0..5) {
        0 => Reliability::MaxRetransmits([0, 1, 2, 10][random.random_range(0..4)]),
        1 => Reliability::MaxLifetime(duration_between(
            random,
            Duration::from_millis(1),
            Duration::from_secs(3),
        )),
        _ => Reliability::Reliable,
    };
    SendOptions { unordered: random.random_bool(0.4), reliability }
}

fn draw_length(random: &mut Random, largest: usize) -> usize {
    match random.random_range(0..20) {
        0..2 => 1,
        2..12 if largest < MESSAGE_BYTES_MAX => random.random_range(1..=1200),
        2..19 => magnitude_between(random, 1.0, largest as f64) as usize,
        _ => largest,
    }
}

/// Periods in which one side does not read.
fn draw_pauses(
    random: &mut Random,
    side: Side,
    length: Duration,
    actions: &mut Vec<(Duration, Side, Action)>,
) {
    if random.random_bool(0.6) {
        return;
    }
    for _ in 0..random.random_range(1..=4) {
        let from = length.mul_f64(random.random::<f64>());
        let pause = duration_between(random, Duration::from_millis(1), Duration::from_secs(60));
        actions.push((from, side, Action::Pause));
        actions.push((from + pause, side, Action::Resume));
    }
}
