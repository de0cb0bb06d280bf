//! The plan of a run: settings, network, channels, messages and the end, all drawn from the seed.

use std::time::Duration;

use netdyno_rtc_core::{ChannelOptions, Kind, Reliability};
use rand::RngExt;

use crate::network::Side;
use crate::profile::Profile;
use crate::random::{Purpose, Random, duration_between, generator, magnitude_between};

/// The largest message of any plan.
pub(super) const MESSAGE_BYTES_MAX: usize = 65_536;
/// Shorter messages carry no number.
pub(super) const NUMBER_BYTES: usize = 8;

/// Range of an outage: from the time in which consent expires to the time for which a failed connection is
/// kept, less an offer and its answer.
const OUTAGE: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(80));

/// The events of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The network until it heals.
    pub profile: Profile,
    /// Probability of flipped bits in each datagram on an open connection. The handshake is spared: it is not
    /// authenticated before its end.
    pub corrupt: f64,
    /// The side that makes the offer.
    pub offerer: Side,
    /// Time that a description or candidate takes to reach the other side.
    pub signaling_delay: Duration,
    /// Candidates are sent separately, after the descriptions.
    pub trickle: bool,
    /// B is ICE-lite.
    pub lite: bool,
    /// Upper limit of path MTU discovery.
    pub max_datagram_bytes: usize,
    /// The channels, of both sides.
    pub channels: Vec<PlannedChannel>,
    /// The actions of the applications, in order of time.
    pub actions: Vec<(Duration, Side, Action)>,
    /// When the disturbances end.
    pub heals_at: Duration,
    /// Turns begin only at multiples of this; zero: at once.
    pub granularity: Duration,
    /// Whether the connection is observed while it is idle.
    pub idles: bool,
    /// The side that closes.
    pub closer: Side,
    /// Both sides make an offer at the same time.
    pub both_offer: bool,
    /// The side that withdraws its offer when both have made one.
    pub polite: Side,
    /// An outage after all data was delivered, and the sides that then restart ICE.
    pub outage: Option<(Duration, Vec<Side>)>,
}

/// A channel to make. Its label is its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedChannel {
    /// The side that creates it; both sides if it is negotiated.
    pub maker: Side,
    /// Its options.
    pub options: ChannelOptions,
}

impl PlannedChannel {
    /// Whether each message arrives, and in order.
    pub fn is_strict(&self) -> bool {
        self.options.ordered && self.is_reliable()
    }

    /// Whether each message is delivered.
    pub fn is_reliable(&self) -> bool {
        self.options.reliability == Reliability::Reliable
    }
}

/// An action of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Creates a channel, by its number.
    Create(usize),
    /// Sends a message on a channel, once that is open.
    Send(usize, Kind, usize),
    /// Closes a channel once the earlier messages were accepted.
    CloseChannel(usize),
    /// Stops reading.
    Pause,
    /// Resumes reading.
    Resume,
    /// Restarts ICE.
    Restart,
}

impl Plan {
    /// The plan of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut profile_random = generator(seed, Purpose::Profile);
        let random = &mut generator(seed, Purpose::Plan);
        let length = duration_between(random, Duration::from_millis(300), Duration::from_secs(10));
        let heals_at = length.mul_f64(random.random_range(1.0..1.5));
        let mut profile = Profile::random(&mut profile_random, heals_at);
        // Each flight of the handshake has several datagrams and few retransmissions.
        profile.loss = profile.loss.min(0.1);
        let max_datagram_bytes = if random.random_bool(0.3) { random.random_range(1200..9000) } else { 1200 };
        profile.mtu_bytes = random.random_range(1200..=9000);
        if let Some(rate) = &mut profile.rate {
            rate.queue_bytes = rate.queue_bytes.max(20_000);
        }
        if random.random_bool(0.4) {
            let rebinds = (0..random.random_range(0..=2)).map(|_| length.mul_f64(random.random::<f64>()));
            let mut rebinds: Vec<Duration> = rebinds.collect();
            rebinds.sort_unstable();
            profile.rebinds = Some(rebinds);
        }
        let side = |random: &mut Random| Side::BOTH[random.random_range(0..2)];
        let mut plan = Self {
            profile,
            corrupt: if random.random_bool(0.3) { magnitude_between(random, 0.001, 0.1) } else { 0.0 },
            offerer: side(random),
            signaling_delay: duration_between(random, Duration::from_micros(1), Duration::from_millis(300)),
            trickle: random.random_bool(0.5),
            lite: random.random_bool(0.15),
            max_datagram_bytes,
            channels: Vec::new(),
            actions: Vec::new(),
            heals_at,
            granularity: Duration::ZERO,
            idles: random.random_bool(0.2),
            closer: side(random),
            both_offer: false,
            polite: Side::A,
            outage: None,
        };
        if random.random_bool(0.25) {
            plan.granularity = duration_between(random, Duration::from_micros(10), Duration::from_millis(10));
        }
        plan.draw_channels(random, length);
        plan.draw_rest(random, length);
        plan.draw_restarts(random, length);
        plan.actions.sort_by_key(|(at, ..)| *at);
        plan
    }

    /// Channels, and the messages on each.
    fn draw_channels(&mut self, random: &mut Random, length: Duration) {
        for number in 0..random.random_range(1..=6) {
            let options = draw_options(random, number);
            let maker = Side::BOTH[random.random_range(0..2)];
            let created =
                if random.random_bool(0.5) { Duration::ZERO } else { length.mul_f64(random.random()) };
            let makers: &[Side] = if options.negotiated.is_some() { &Side::BOTH } else { &[maker] };
            self.actions.extend(makers.iter().map(|maker| (created, *maker, Action::Create(number.into()))));
            let channel = PlannedChannel { maker, options };
            for side in Side::BOTH {
                self.draw_messages(random, side, number.into(), &channel, created, length);
            }
            if random.random_bool(0.3) {
                let side = Side::BOTH[random.random_range(0..2)];
                let at = created + (length - created).mul_f64(random.random());
                self.actions.push((at, side, Action::CloseChannel(number.into())));
            }
            self.channels.push(channel);
        }
    }

    fn draw_messages(
        &mut self,
        random: &mut Random,
        side: Side,
        number: usize,
        channel: &PlannedChannel,
        created: Duration,
        length: Duration,
    ) {
        if random.random_bool(0.3) {
            return;
        }
        let bytes_in_all = magnitude_between(random, 100.0, 150_000.0) as usize;
        let mut bytes = 0;
        while bytes < bytes_in_all {
            let shortest = if channel.is_strict() { 0 } else { NUMBER_BYTES };
            let size = match random.random_range(0..10) {
                0 => shortest,
                1..7 => random.random_range(shortest..=1200),
                _ => magnitude_between(random, NUMBER_BYTES as f64, bytes_in_all as f64) as usize,
            };
            let size = size.clamp(shortest, MESSAGE_BYTES_MAX);
            bytes += size + 64;
            let kind = [Kind::Text, Kind::Binary][random.random_range(0..2)];
            let at = created + (length - created).mul_f64(random.random());
            self.actions.push((at, side, Action::Send(number, kind, size)));
        }
    }

    fn draw_rest(&mut self, random: &mut Random, length: Duration) {
        for side in Side::BOTH {
            if random.random_bool(0.3) {
                let from = length.mul_f64(random.random());
                let pause = duration_between(random, Duration::from_millis(1), Duration::from_secs(10));
                self.actions.push((from, side, Action::Pause));
                self.actions.push((from + pause, side, Action::Resume));
            }
        }
    }

    /// Offers: restarts of ICE, and simultaneous offers of both sides.
    fn draw_restarts(&mut self, random: &mut Random, length: Duration) {
        let some = |random: &mut Random| match random.random_range(0..3) {
            0 => Side::BOTH.to_vec(),
            one => vec![Side::BOTH[one - 1]],
        };
        self.both_offer = random.random_bool(0.2);
        self.polite = Side::BOTH[random.random_range(0..2)];
        if random.random_bool(0.3) {
            let at = length.mul_f64(random.random());
            for side in some(random) {
                // Before, or just after, the other side's offer arrives.
                let later = self.signaling_delay.mul_f64(random.random_range(0.0..1.2));
                self.actions.push((at + later, side, Action::Restart));
            }
        }
        if random.random_bool(0.2) {
            let time = duration_between(random, OUTAGE.0, OUTAGE.1);
            self.outage = Some((time, some(random)));
        }
    }
}

fn draw_options(random: &mut Random, number: u16) -> ChannelOptions {
    let reliability = match random.random_range(0..5) {
        0 => Reliability::MaxRetransmits([0, 1, 10][random.random_range(0..3)]),
        1 => Reliability::MaxLifetime(Duration::from_millis(random.random_range(1..3000))),
        _ => Reliability::Reliable,
    };
    ChannelOptions {
        ordered: random.random_bool(0.6),
        reliability,
        protocol: ["", "p"][random.random_range(0..2)].to_owned(),
        // Far from the ids that are assigned automatically.
        negotiated: random.random_bool(0.2).then_some(1000 + number),
        priority: [128, 256, 512, 1024][random.random_range(0..4)],
    }
}
