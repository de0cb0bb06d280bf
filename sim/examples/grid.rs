//! The share of what a path can carry that one association reaches, over a grid of paths, in virtual time:
//! `cargo run --release -p netdyno-sim --example grid [cubic|bbr] [seconds]`.

use std::time::Duration;

use netdyno_sctp::Congestion;
use netdyno_sim::sctp::goodput::{Path, Sender, bottleneck_mbit_per_s, measure};

const LOSSES: [f64; 9] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10];
const RTTS_MS: [u64; 4] = [1, 20, 100, 300];
const RATES: [u64; 3] = [2_000_000, 20_000_000, 100_000_000];
/// Queues, in what is under way in a round trip.
const QUEUES: [f64; 3] = [0.1, 1.0, 4.0];

fn main() -> Result<(), netdyno_sim::Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| arguments.first().is_none_or(|first| first == name);
    let seconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(30);
    for (name, congestion) in [("cubic", Congestion::Cubic), ("bbr", Congestion::Bbr)] {
        if wanted(name) {
            let sender = Sender { congestion, ..Sender::default() };
            table(name, sender, Duration::from_secs(seconds))?;
        }
    }
    if wanted("share") {
        share(Duration::from_secs(2 * seconds))?;
    }
    Ok(())
}

/// Beside one flow of standard CUBIC, and two of itself.
fn share(time: Duration) -> Result<(), netdyno_sim::Failure> {
    let bbr = Sender { congestion: Congestion::Bbr, ..Sender::default() };
    let cubic = Sender { tolerated_loss_percent: 0, ..Sender::default() };
    println!(
        "bbr beside another, {} s: its percent of both; median of the queue alone, in round trips",
        time.as_secs()
    );
    println!(
        "| Mbit/s | round trip | queue | beside cubic | beside itself | both of the link | queue alone |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for bits_per_s in RATES {
        for rtt_ms in RTTS_MS {
            for queue in [0.1, 1.0, 2.0, 4.0] {
                let mut path = Path::new(Duration::from_millis(rtt_ms), 0.0, bits_per_s);
                path.queue_bytes =
                    ((queue * bits_per_s as f64 / 8.0 * path.rtt.as_secs_f64()) as usize).max(2 * 1300);
                let of = |senders: &[Sender]| {
                    let flows = measure(path, senders, time, 1)?;
                    let all: f64 = flows.iter().map(|flow| flow.mbit_per_s).sum();
                    Ok((100.0 * flows[0].mbit_per_s / all, all, flows[0].queueing))
                };
                let (beside_cubic, all, _) = of(&[bbr, cubic])?;
                let (beside_itself, ..) = of(&[bbr, bbr])?;
                let (.., queueing) = of(&[bbr])?;
                println!(
                    "| {} | {rtt_ms} ms | {queue} | {beside_cubic:.0} | {beside_itself:.0} | {:.0} % | {:.2} |",
                    bits_per_s / 1_000_000,
                    100.0 * all / bottleneck_mbit_per_s(path),
                    queueing.as_secs_f64() / path.rtt.as_secs_f64(),
                );
            }
        }
    }
    Ok(())
}

fn table(name: &str, sender: Sender, time: Duration) -> Result<(), netdyno_sim::Failure> {
    println!("{name}, {} s: percent of rate x (1 - loss), by loss", time.as_secs());
    let head = LOSSES.map(|loss| format!("{:.1} %", 100.0 * loss)).join(" | ");
    println!("| Mbit/s | round trip | queue | {head} |");
    println!("|--:|--:|--:|{}", "--:|".repeat(LOSSES.len()));
    for bits_per_s in RATES {
        for rtt_ms in RTTS_MS {
            for queue in QUEUES {
                let share = |loss: f64| {
                    let mut path = Path::new(Duration::from_millis(rtt_ms), loss, bits_per_s);
                    let under_way = bits_per_s as f64 / 8.0 * path.rtt.as_secs_f64();
                    // Two packets fit into any queue.
                    path.queue_bytes = ((queue * under_way) as usize).max(2 * 1300);
                    let goodput = measure(path, &[sender], time, 1)?[0].mbit_per_s;
                    let most = bottleneck_mbit_per_s(path) * (1.0 - loss);
                    Ok(format!("{:.0}", 100.0 * goodput / most))
                };
                let cells =
                    LOSSES.into_iter().map(share).collect::<Result<Vec<_>, netdyno_sim::Failure>>()?;
                println!("| {} | {rtt_ms} ms | {queue} | {} |", bits_per_s / 1_000_000, cells.join(" | "));
            }
        }
    }
    Ok(())
}
