//! What one association carries over paths of 100 Mbit/s, by round trip and loss, and how two share one, in virtual time:
//! `cargo run --release -p netdyno-sim --example goodput`.

use std::time::Duration;

use netdyno_sctp::Congestion;
use netdyno_sim::sctp::goodput::{Path, Sender, bottleneck_mbit_per_s, measure, theory_mbit_per_s};

const BITS_PER_S: u64 = 100_000_000;
const TIME: Duration = Duration::from_secs(60);

fn main() -> Result<(), netdyno_sim::Failure> {
    println!(
        "100 Mbit/s, a queue of one round trip, {} s, 1 KiB messages; Mbit/s of payload",
        TIME.as_secs()
    );
    println!(
        "| congestion control | loss tolerated | round trip | loss | goodput | bottleneck | one flow in theory | sent again | timeouts |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (congestion, tolerated_loss_percent) in
        [(Congestion::Cubic, 2), (Congestion::Cubic, 0), (Congestion::NewReno, 0)]
    {
        let sender = Sender { congestion, tolerated_loss_percent };
        for rtt_ms in [1, 20, 100] {
            for loss in [0.0, 0.001, 0.01, 0.03] {
                let path = Path::new(Duration::from_millis(rtt_ms), loss, BITS_PER_S);
                let goodput = &measure(path, &[sender], TIME, 1)?[0];
                let theory = theory_mbit_per_s(path, sender);
                let theory = if theory.is_finite() { format!("{theory:.2}") } else { "no limit".to_owned() };
                println!(
                    "| {congestion:?} | {tolerated_loss_percent} % | {rtt_ms} ms | {:.1} % | {:.2} | {:.1} | {theory} | {:.2} % | {} |",
                    loss * 100.0,
                    goodput.mbit_per_s,
                    bottleneck_mbit_per_s(path),
                    goodput.retransmitted_percent,
                    goodput.timeouts,
                );
            }
        }
    }
    share()
}

/// One that tolerates loss beside one that does not.
fn share() -> Result<(), netdyno_sim::Failure> {
    println!("\nTwo flows of CUBIC, 20 Mbit/s, {} s; Mbit/s of payload", TIME.as_secs());
    println!("| round trip | queue | 2 % tolerated | 0 % | sent again |");
    println!("|--:|--:|--:|--:|--:|");
    let standard = Sender { tolerated_loss_percent: 0, ..Sender::default() };
    for rtt_ms in [10, 40, 100] {
        for (name, share) in [("a round trip", 1.0), ("a quarter", 0.25), ("a tenth", 0.1)] {
            let mut path = Path::new(Duration::from_millis(rtt_ms), 0.0, 20_000_000);
            path.queue_bytes = (20e6 / 8.0 * path.rtt.as_secs_f64() * share) as usize;
            let both = measure(path, &[Sender::default(), standard], TIME, 1)?;
            println!(
                "| {rtt_ms} ms | {name}, {} kB | {:.2} | {:.2} | {:.2} %, {:.2} % |",
                path.queue_bytes / 1000,
                both[0].mbit_per_s,
                both[1].mbit_per_s,
                both[0].retransmitted_percent,
                both[1].retransmitted_percent,
            );
        }
    }
    Ok(())
}
