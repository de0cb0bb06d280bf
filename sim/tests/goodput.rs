//! What one association carries by round trip and loss, about what theory says; and how two share a path.
#![allow(missing_docs)]

use std::time::Duration;

use netdyno_sctp::Congestion::{Bbr, Cubic, NewReno};
use netdyno_sim::sctp::goodput::{Path, Sender, bottleneck_mbit_per_s, measure, theory_mbit_per_s};

/// Most that a flow may carry, as a share of what theory says.
const SHARE_MAX: f64 = 2.5;

/// Measures a path of 50 Mbit/s for so many seconds, and compares with the smaller one of bottleneck and theory.
fn check(sender: Sender, rtt_ms: u64, loss: f64, seconds: u64, share_min: f64) -> Result<(), String> {
    let path = Path::new(Duration::from_millis(rtt_ms), loss, 50_000_000);
    let goodput =
        &measure(path, &[sender], Duration::from_secs(seconds), 1).map_err(|failure| failure.to_string())?[0];
    let possible = bottleneck_mbit_per_s(path).min(theory_mbit_per_s(path, sender));
    let share = goodput.mbit_per_s / possible;
    let text = format!(
        "{sender:?}, {rtt_ms} ms, {loss}: {share:.2} of {possible:.2} Mbit/s, {:.2} % sent again, {} timeouts",
        goodput.retransmitted_percent, goodput.timeouts
    );
    println!("{text}");
    // Far more than one flow's share would be unfair to the others. The start counts in: it may well be faster.
    if (share_min..=SHARE_MAX).contains(&share) {
        Ok(())
    } else {
        Err(format!("{text}; {share_min} to {SHARE_MAX} expected"))
    }
}

#[test]
fn goodput_is_near_what_theory_says() {
    let mut wrong = Vec::new();
    for congestion in [Cubic, NewReno] {
        let sender = Sender { congestion, tolerated_loss_percent: 0 };
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
            wrong.extend(check(sender, rtt_ms, loss, seconds, share_min).err());
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn loss_that_is_tolerated_leaves_most_of_the_path() {
    let mut wrong = Vec::new();
    for (rtt_ms, loss, share_min) in [(1, 0.01, 0.9), (20, 0.01, 0.8), (100, 0.001, 0.7), (100, 0.01, 0.6)] {
        wrong.extend(check(Sender::default(), rtt_ms, loss, 20, share_min).err());
    }
    // More is congestion.
    let more = Path::new(Duration::from_millis(100), 0.04, 50_000_000);
    let goodput = measure(more, &[Sender::default()], Duration::from_secs(20), 1).unwrap()[0].mbit_per_s;
    assert!(goodput < 0.1 * bottleneck_mbit_per_s(more), "{goodput} Mbit/s");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const BBR: Sender = Sender { congestion: Bbr, tolerated_loss_percent: 0 };

/// Of what the path carries of it. The start counts in.
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
        (2, 100, 1.0, 0.05, 0.85),
        (2, 300, 1.0, 0.1, 0.75),
        (100, 20, 1.0, 0.05, 0.85),
    ] {
        let mut path = Path::new(Duration::from_millis(rtt_ms), loss, mbit_per_s * 1_000_000);
        path.queue_bytes = (path.bits_per_s as f64 / 8.0 * path.rtt.as_secs_f64() * queue) as usize;
        path.queue_bytes = path.queue_bytes.max(3000);
        let goodput = measure(path, &[BBR], Duration::from_secs(20), 1).unwrap()[0];
        let share = goodput.mbit_per_s / bottleneck_mbit_per_s(path) / (1.0 - loss);
        println!("{path:?}: {share:.2}, a queue of {:?}", goodput.queueing);
        if share < share_min || goodput.queueing > path.rtt.max(Duration::from_millis(5)) {
            wrong.push(format!("{path:?}: {share:.2}, {goodput:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn bbr_leaves_others_their_part() {
    let standard = Sender { tolerated_loss_percent: 0, ..Sender::default() };
    for (rtt_ms, queue) in [(10, 1.0), (40, 1.0), (100, 1.0), (40, 4.0)] {
        let mut path = Path::new(Duration::from_millis(rtt_ms), 0.0, 20_000_000);
        path.queue_bytes = (20e6 / 8.0 * path.rtt.as_secs_f64() * queue) as usize;
        for (other, name) in [(standard, "cubic"), (BBR, "bbr")] {
            let both = measure(path, &[BBR, other], Duration::from_secs(40), 1).unwrap();
            let [ours, theirs] = [0, 1].map(|flow: usize| both[flow].mbit_per_s);
            println!("{rtt_ms} ms, a queue of {queue} round trips: {ours:.2}, {name} {theirs:.2} Mbit/s");
            assert!(
                ours < 3.0 * theirs && theirs < 3.0 * ours && ours + theirs > 14.0,
                "{rtt_ms} ms, {queue}, {name}: {ours} and {theirs}"
            );
        }
    }
}

/// A flow that tolerates loss is no worse a neighbour to one that does not, unless there is next to no queue.
#[test]
fn two_flows_share_a_path() {
    let standard = Sender { tolerated_loss_percent: 0, ..Sender::default() };
    for (rtt_ms, queue) in [(10, 1.0), (40, 1.0), (40, 0.25), (40, 0.1), (100, 0.25), (100, 0.1)] {
        let mut path = Path::new(Duration::from_millis(rtt_ms), 0.0, 20_000_000);
        path.queue_bytes = (20e6 / 8.0 * path.rtt.as_secs_f64() * queue) as usize;
        let both = measure(path, &[Sender::default(), standard], Duration::from_secs(40), 1).unwrap();
        let [tolerant, standard] = [0, 1].map(|flow: usize| both[flow].mbit_per_s);
        println!("{rtt_ms} ms, a queue of {queue} round trips: {tolerant:.2} and {standard:.2} Mbit/s");
        assert!(
            tolerant < 2.0 * standard && standard < 2.0 * tolerant && tolerant + standard > 12.0,
            "{rtt_ms} ms, {queue}: {tolerant} and {standard}"
        );
    }
}
