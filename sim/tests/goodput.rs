//! Goodput of one association by RTT and loss, compared with theory; and fairness between two.
#![allow(missing_docs)]

use std::time::Duration;

use netdyno_sctp::Congestion::{self, Bbr, Cubic, NewReno};
use netdyno_sim::sctp::goodput::{Arrival, Path, Trouble, bottleneck_mbit_per_s, measure, theory_mbit_per_s};

/// The maximum goodput of a flow, as a ratio of the theoretical one.
const SHARE_MAX: f64 = 2.5;

/// Measures a path of 50 Mbit/s for this many seconds, and compares with the smaller one of bottleneck and
/// theory.
fn check(congestion: Congestion, rtt_ms: u64, loss: f64, seconds: u64, share_min: f64) -> Result<(), String> {
    let path = Path::new(Duration::from_millis(rtt_ms), loss, 50_000_000);
    let goodput = &measure(path, &[congestion], Duration::from_secs(seconds), 1)
        .map_err(|failure| failure.to_string())?[0];
    let possible = bottleneck_mbit_per_s(path).min(theory_mbit_per_s(path, congestion));
    let share = goodput.mbit_per_s / possible;
    let text = format!(
        "{congestion:?}, {rtt_ms} ms, {loss}: {share:.2} of {possible:.2} Mbit/s, {:.2} % sent again, {} timeouts",
        goodput.retransmitted_percent, goodput.timeouts
    );
    println!("{text}");
    // Far more than one flow's share would be unfair to others. The start is included and may be faster.
    if (share_min..=SHARE_MAX).contains(&share) {
        Ok(())
    } else {
        Err(format!("{text}; {share_min} to {SHARE_MAX} expected"))
    }
}

#[test]
fn goodput_matches_theory() {
    let mut wrong = Vec::new();
    for congestion in [Cubic, NewReno] {
        for (rtt_ms, loss, seconds, share_min) in [
            (1, 0.0, 2, 0.95),
            (1, 0.001, 2, 0.9),
            (1, 0.01, 2, 0.6),
            (20, 0.0, 5, 0.85),
            (20, 0.001, 10, 0.6),
            (20, 0.01, 10, 0.7),
            (100, 0.0, 10, 0.7),
            (100, 0.001, 40, 0.7),
            (100, 0.01, 40, 0.7),
        ] {
            wrong.extend(check(congestion, rtt_ms, loss, seconds, share_min).err());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Relative to the capacity of the path. The start is included.
#[test]
fn bbr_fills_paths_that_lose_packets() {
    let mut wrong = Vec::new();
    for (mbit_per_s, rtt_ms, queue, loss, share_min) in [
        (20, 1, 1.0, 0.0, 0.9),
        (20, 20, 0.1, 0.0, 0.9),
        (20, 20, 1.0, 0.0, 0.9),
        (20, 20, 4.0, 0.0, 0.9),
        (20, 20, 1.0, 0.01, 0.9),
        (20, 20, 1.0, 0.05, 0.85),
        (20, 20, 1.0, 0.1, 0.8),
        (20, 100, 1.0, 0.03, 0.75),
        (2, 100, 0.1, 0.05, 0.85),
        (2, 100, 1.0, 0.05, 0.85),
        (2, 300, 1.0, 0.1, 0.75),
        (100, 20, 1.0, 0.05, 0.85),
        (100, 300, 0.1, 0.02, 0.62),
    ] {
        let path = Path { loss, ..path(mbit_per_s, rtt_ms, queue) };
        let goodput = measure(path, &[Bbr], Duration::from_secs(20), 1).unwrap()[0];
        let share = goodput.mbit_per_s / bottleneck_mbit_per_s(path) / (1.0 - loss);
        println!("{path:?}: {share:.2}, a queue of {:?}", goodput.queueing);
        if share < share_min || goodput.queueing > path.rtt.max(Duration::from_millis(5)) {
            wrong.push(format!("{path:?}: {share:.2}, {goodput:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// If the queue holds one BDP, and at least four packets.
#[test]
fn bbr_is_fair_to_cubic() {
    let mut wrong = Vec::new();
    for (mbit_per_s, rtt_ms) in
        [(2, 20), (2, 100), (2, 300), (20, 20), (20, 100), (20, 300), (100, 1), (100, 20), (100, 100)]
    {
        let path = path(mbit_per_s, rtt_ms, 1.0);
        for (other, name) in [(Cubic, "cubic"), (Bbr, "bbr")] {
            let both = measure(path, &[Bbr, other], Duration::from_secs(60), 1).unwrap();
            let [ours, theirs] = [0, 1].map(|flow: usize| both[flow].mbit_per_s);
            let share = 100.0 * ours / (ours + theirs);
            let text = format!(
                "{mbit_per_s} Mbit/s, {rtt_ms} ms: {share:.0} % beside {name}, {ours:.2} and {theirs:.2}"
            );
            println!("{text}");
            let fills = ours + theirs > 0.9 * bottleneck_mbit_per_s(path);
            if !(35.0..=65.0).contains(&share) || !fills {
                wrong.push(text);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A flow that starts 5 s after CUBIC has filled the queue never observes the empty path.
#[test]
fn bbr_gets_a_share_when_cubic_starts_first() {
    let mut wrong = Vec::new();
    for (mbit_per_s, rtt_ms, queue, share_min) in [
        (2, 100, 1.0, 35.0),
        (20, 20, 2.0, 35.0),
        (20, 100, 1.0, 35.0),
        (20, 100, 4.0, 35.0),
        (2, 300, 4.0, 35.0),
        (20, 300, 1.0, 35.0),
        (20, 300, 4.0, 35.0),
    ] {
        let late = Path {
            arrival: Arrival::ConnectsAfter(Duration::from_secs(5)),
            ..path(mbit_per_s, rtt_ms, queue)
        };
        let share = beside_cubic(late).unwrap();
        let text = format!("{mbit_per_s} Mbit/s, {rtt_ms} ms, {queue}: {share:.0} %");
        println!("{text}");
        if !(share_min..=65.0).contains(&share) {
            wrong.push(text);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The flow has observed the empty path, and starts sending when CUBIC has filled the queue. The first
/// estimate must not limit it.
#[test]
fn bbr_gets_a_share_after_silence() {
    for (mbit_per_s, rtt_ms, queue, share_min, share_max) in [
        // Misses the target of 65: docs/CONGESTION.md.
        (2, 100, 4.0, 45.0, 75.0),
        (20, 20, 4.0, 30.0, 65.0),
        (20, 100, 1.0, 35.0, 65.0),
        (20, 100, 2.0, 30.0, 65.0),
        (20, 100, 4.0, 35.0, 65.0),
        (20, 300, 2.0, 35.0, 65.0),
        (20, 300, 4.0, 35.0, 65.0),
    ] {
        let arrival = Arrival::SendsAfter(Duration::from_secs(5));
        let path = Path { arrival, ..path(mbit_per_s, rtt_ms, queue) };
        let share = beside_cubic(path).unwrap();
        println!("{mbit_per_s} Mbit/s, {rtt_ms} ms, {queue}: {share:.0} %");
        assert!((share_min..=share_max).contains(&share), "{path:?}: {share:.0} %");
    }
}

/// One message was sent after connecting, as on each data channel. Its rate must not count as the path's.
#[test]
fn bbr_starts_as_fast_after_one_message() {
    let path = path(20, 300, 1.0);
    let carries =
        |arrival| measure(Path { arrival, ..path }, &[Bbr], Duration::from_secs(3), 1).unwrap()[0].mbit_per_s;
    let [at_once, later] = [Arrival::AtOnce, Arrival::SendsAfter(Duration::from_secs(1))].map(carries);
    println!("{at_once:.2} Mbit/s at once, {later:.2} after a word");
    assert!(later > 0.9 * at_once);
}

/// A single flow keeps the queueing delay below one round trip, whatever the queue's capacity, also after the
/// queue has overflowed at the start.
#[test]
fn bbr_keeps_the_queue_short() {
    for (mbit_per_s, rtt_ms, queue) in
        [(20, 20, 4.0), (20, 100, 4.0), (100, 40, 2.0), (100, 100, 2.0), (100, 300, 4.0)]
    {
        let path = path(mbit_per_s, rtt_ms, queue);
        let alone = measure(path, &[Bbr], Duration::from_secs(30), 1).unwrap()[0];
        println!("{mbit_per_s} Mbit/s, {rtt_ms} ms, {queue}: {:?}", alone.queueing);
        assert!(alone.queueing < path.rtt / 4, "{path:?}: {alone:?}");
    }
}

/// It follows a changing rate, and tolerates outages, reordering and policers.
#[test]
fn bbr_tolerates_disturbances() {
    let ms = Duration::from_millis;
    let mut wrong = Vec::new();
    for (trouble, loss, share_min) in [
        (Trouble::Outages(ms(10)), 0.05, 0.9),
        (Trouble::Outages(ms(50)), 0.05, 0.85),
        (Trouble::Outages(ms(200)), 0.1, 0.8),
        (Trouble::Reordering, 0.01, 0.9),
        (Trouble::Steps(ms(1000)), 0.0, 0.8),
        (Trouble::Steps(ms(5000)), 0.0, 0.85),
        (Trouble::Policer, 0.0, 0.9),
    ] {
        for rtt_ms in [20, 100] {
            let path = Path { trouble, loss, ..path(20, rtt_ms, 1.0) };
            let goodput = measure(path, &[Bbr], Duration::from_secs(30), 1).unwrap()[0];
            let share = goodput.mbit_per_s / bottleneck_mbit_per_s(path) / (1.0 - loss);
            println!("{trouble:?}, {rtt_ms} ms: {share:.2}");
            if share < share_min {
                wrong.push(format!("{path:?}: {share:.2}, {goodput:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// BBR's share of the goodput of both in a minute, in percent.
fn beside_cubic(path: Path) -> Result<f64, netdyno_sim::Failure> {
    let both = measure(path, &[Bbr, Cubic], Duration::from_secs(60), 1)?;
    let [ours, theirs] = [0, 1].map(|flow: usize| both[flow].mbit_per_s);
    Ok(100.0 * ours / (ours + theirs))
}

fn path(mbit_per_s: u64, rtt_ms: u64, queue: f64) -> Path {
    Path::new(Duration::from_millis(rtt_ms), 0.0, mbit_per_s * 1_000_000).with_queue(queue)
}
