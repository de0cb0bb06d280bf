//! What one association carries over paths of 100 Mbit/s, by round trip and loss, in virtual time:
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
                let goodput = measure(path, sender, TIME, 1)?;
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
    Ok(())
}
