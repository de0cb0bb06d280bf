//! The network follows its profile.

use std::time::{Duration, Instant};

use super::{Delivery, LinkStats, Network, Side};
use crate::profile::{BlackHole, Burst, Direction, Duplicate, Partition, Profile, Rate, Reorder, Stalls};

const MS: Duration = Duration::from_millis(1);

/// Sends `count` datagrams of `bytes` bytes from A to B at intervals of `interval`; returns the arrivals and
/// their times.
fn run(
    profile: Profile,
    count: u32,
    bytes: usize,
    interval: Duration,
) -> (Vec<(Duration, Delivery)>, LinkStats, u64) {
    let start = Instant::now();
    let mut network = Network::new(7, start, profile);
    let mut arrived = Vec::new();
    let mut drain = |network: &mut Network, until: Option<Instant>| {
        while let Some(at) = network.next_delivery().filter(|at| until.is_none_or(|until| *at <= until)) {
            if let Some(delivery) = network.poll_delivery(at) {
                arrived.push((at.duration_since(start), delivery));
            }
        }
    };
    for number in 0..count {
        let now = start + interval * number;
        drain(&mut network, Some(now));
        let mut datagram = vec![0; bytes.max(4)];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        network.send(now, Side::A, Side::B.address(), &datagram);
    }
    drain(&mut network, None);
    (arrived, network.stats(Side::A), network.trace())
}

fn copies(probability: f64) -> Option<Duplicate> {
    Some(Duplicate { probability, delay: MS })
}

fn numbers(arrived: &[(Duration, Delivery)]) -> Vec<u32> {
    arrived
        .iter()
        .map(|(_, d)| u32::from_be_bytes([d.bytes[0], d.bytes[1], d.bytes[2], d.bytes[3]]))
        .collect()
}

#[test]
fn a_perfect_network_delivers_everything_at_once_and_in_order() {
    let (arrived, stats, _) = run(Profile::default(), 1000, 100, MS);
    assert_eq!(numbers(&arrived), (0..1000).collect::<Vec<_>>());
    assert!(arrived.iter().zip(0..).all(|((at, _), number)| *at == MS * number));
    assert_eq!(stats, LinkStats { sent: 1000, delivered: 1000, ..LinkStats::default() });
}

#[test]
fn the_delay_is_exact_and_jitter_keeps_the_order() {
    let delay = 20 * MS;
    let (arrived, ..) = run(Profile { delay, ..Profile::default() }, 100, 100, MS);
    assert!(arrived.iter().zip(0..).all(|((at, _), number)| *at == MS * number + delay));

    let (arrived, ..) = run(Profile { delay, jitter: 10 * MS, ..Profile::default() }, 1000, 100, MS);
    assert_eq!(numbers(&arrived), (0..1000).collect::<Vec<_>>());
    let times = arrived.iter().zip(0..).map(|((at, _), number)| *at - MS * number);
    assert!(times.clone().all(|time| (delay..delay + 10 * MS).contains(&time)));
    assert!(times.clone().max().unwrap() - times.min().unwrap() > 8 * MS);
}

#[test]
fn a_stall_delays_arrivals_to_its_end() {
    let stalls = Some(Stalls { every: 50 * MS, length: 10 * MS });
    let (arrived, ..) = run(Profile { delay: 20 * MS, stalls, ..Profile::default() }, 100, 100, MS);
    assert_eq!(numbers(&arrived), (0..100).collect::<Vec<_>>());
    for (number, (at, _)) in (0..).zip(&arrived) {
        // Sent a millisecond apart, 20 of them in flight: the first stall is over by then.
        let due = number + 20;
        let expected = if due % 50 < 10 { due / 50 * 50 + 10 } else { due };
        assert_eq!(*at, MS * expected, "number {number}");
    }
}

#[test]
fn the_loss_rate_is_as_configured() {
    for loss in [0.001, 0.01, 0.1, 0.5, 1.0] {
        let (_, stats, _) = run(Profile { loss, ..Profile::default() }, 100_000, 4, MS / 1000);
        let rate = stats.lost as f64 / stats.sent as f64;
        // Four standard deviations.
        let tolerance = 4.0 * (loss * (1.0 - loss) / 100_000.0).sqrt();
        assert!((rate - loss).abs() <= tolerance, "configured {loss}, measured {rate}");
        assert_eq!(stats.lost + stats.delivered, stats.sent);
    }
}

#[test]
fn bursts_lose_consecutive_datagrams() {
    let burst = Some(Burst { begin: 0.01, end: 0.25, loss: 1.0 });
    let (arrived, stats, _) = run(Profile { burst, ..Profile::default() }, 100_000, 4, MS / 1000);
    // The share of the bad state is begin / (begin + end), and its mean duration 1 / end.
    let rate = stats.lost as f64 / 100_000.0;
    assert!((rate - 0.01 / 0.26).abs() < 0.006, "{rate}");
    let gaps = numbers(&arrived).windows(2).filter(|pair| pair[1] - pair[0] > 1).count();
    let length = stats.lost as f64 / gaps as f64;
    assert!((3.5..4.5).contains(&length), "{length}");
}

#[test]
fn held_back_datagrams_are_overtaken() {
    let reorder = Some(Reorder { probability: 0.1, delay: 10 * MS });
    let (arrived, stats, _) = run(Profile { reorder, ..Profile::default() }, 10_000, 4, MS);
    let order = numbers(&arrived);
    let overtaken = order.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert!((900..1100).contains(&stats.held_back), "{stats:?}");
    assert!((500..1100).contains(&overtaken), "{overtaken}");
    let mut sorted = order;
    sorted.sort_unstable();
    assert_eq!(sorted, (0..10_000).collect::<Vec<_>>());
}

#[test]
fn copies_and_flipped_bits() {
    let (arrived, stats, _) = run(Profile { duplicate: copies(0.2), ..Profile::default() }, 10_000, 4, MS);
    assert!((1800..2200).contains(&stats.duplicated), "{stats:?}");
    assert_eq!(arrived.len() as u64, 10_000 + stats.duplicated);

    let (arrived, stats, _) = run(Profile { corrupt: 0.2, ..Profile::default() }, 10_000, 40, MS);
    let changed = arrived.iter().zip(0_u32..).filter(|((_, delivery), number)| {
        delivery.bytes[..4] != number.to_be_bytes() || delivery.bytes[4..].iter().any(|byte| *byte != 0)
    });
    assert_eq!(changed.count() as u64, stats.corrupted);
    assert!((1800..2200).contains(&stats.corrupted), "{stats:?}");
}

#[test]
fn the_bottleneck_limits_the_rate_and_its_queue_overflows() {
    // 1,000 bytes with headers take 1 ms.
    let rate = Some(Rate { bits_per_s: 8_000_000, queue_bytes: 10_000, polices: false });
    let profile = Profile { rate, ..Profile::default() };
    let (arrived, stats, _) = run(profile.clone(), 100, 972, Duration::ZERO);
    assert_eq!((arrived.len(), stats.queue_drops), (10, 90));
    assert!(arrived.iter().zip(1..).all(|((at, _), number)| *at == MS * number));

    let (arrived, stats, _) = run(profile, 1000, 972, MS);
    assert_eq!((arrived.len(), stats.queue_drops), (1000, 0));
}

#[test]
fn long_datagrams_are_lost_once_the_mtu_shrinks() {
    let black_hole = Some(BlackHole { from: 50 * MS, mtu_bytes: 600 });
    let profile = Profile { mtu_bytes: 1200, black_hole, ..Profile::default() };
    for (bytes, delivered) in [(600, 100), (601, 50), (1200, 50), (1201, 0)] {
        let (arrived, stats, _) = run(profile.clone(), 100, bytes, MS);
        assert_eq!((arrived.len(), stats.too_long), (delivered, 100 - delivered as u64), "{bytes} bytes");
    }
    assert_eq!(profile.healed().mtu_bytes, 600);
}

#[test]
fn partitions_affect_the_selected_direction() {
    for (way, delivered) in [(Direction::Forward, 70), (Direction::Both, 70), (Direction::Backward, 100)] {
        let partitions = vec![Partition { from: 10 * MS, until: 40 * MS, way }];
        let (arrived, stats, _) = run(Profile { partitions, ..Profile::default() }, 100, 4, MS);
        assert_eq!((arrived.len(), stats.cut_off), (delivered, 100 - delivered as u64), "{way:?}");
    }
}

#[test]
fn a_nat_changes_the_address_at_each_rebind() {
    let start = Instant::now();
    let profile = Profile { rebinds: Some(vec![10 * MS]), ..Profile::default() };
    let mut network = Network::new(1, start, profile);
    let mut source_at = |now: Instant| {
        network.send(now, Side::A, Side::B.address(), b"a");
        network.poll_delivery(now).unwrap().source
    };
    let (before, after) = (source_at(start), source_at(start + 10 * MS));
    assert!(before != after && before != Side::A.address());

    let now = start + 20 * MS;
    for (to, arrives) in [(before, false), (Side::A.address(), false), (after, true)] {
        network.send(now, Side::B, to, b"b");
        assert_eq!(network.poll_delivery(now).is_some(), arrives, "{to}");
    }
    assert_eq!(network.stats(Side::B).unknown_address, 2);
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for (name, profile) in Profile::table() {
        let trace = run(profile.clone(), 2000, 1000, MS / 10).2;
        assert_eq!(run(profile.clone(), 2000, 1000, MS / 10).2, trace, "{name}");
        assert_ne!(run(profile, 2000, 1001, MS / 10).2, trace, "{name}");
    }
}

#[test]
fn removing_a_disturbance_leaves_the_others_unchanged() {
    let with = Profile { loss: 0.1, duplicate: copies(0.1), jitter: MS, ..Profile::default() };
    let without = Profile { duplicate: None, ..with.clone() };
    let lost = |profile| {
        let arrived = numbers(&run(profile, 5000, 4, 10 * MS).0);
        (0..5000).filter(|number| !arrived.contains(number)).collect::<Vec<_>>()
    };
    assert_eq!(lost(with), lost(without));
}

#[test]
fn a_healed_network_has_no_disturbances() {
    let start = Instant::now();
    let mut random = crate::random::generator(3, crate::random::Purpose::Profile);
    for _ in 0..100 {
        let mut network = Network::new(9, start, Profile::random(&mut random, 100 * MS));
        network.heal();
        for number in 0..100 {
            network.send(start + Duration::from_secs(number), Side::B, Side::A.address(), &[0; 900]);
        }
        let mut delivered = 0;
        while let Some(at) = network.next_delivery() {
            delivered += usize::from(network.poll_delivery(at).is_some());
        }
        assert_eq!(delivered, 100);
    }
}
