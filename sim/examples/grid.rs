//! The share of what a path can carry that one association reaches, over a grid of paths, in virtual time:
//! `cargo run --release -p netdyno-sim --example grid [cubic|bbr|troubles|share] [seconds]`.

use std::time::Duration;

use netdyno_sctp::Congestion::{self, Bbr, Cubic};
use netdyno_sim::sctp::goodput::{Path, Trouble, bottleneck_mbit_per_s, measure};

const LOSSES: [f64; 9] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10];
const RTTS_MS: [u64; 4] = [1, 20, 100, 300];
const RATES: [u64; 3] = [2_000_000, 20_000_000, 100_000_000];
/// Queues, in what is under way in a round trip.
const QUEUES: [f64; 3] = [0.1, 1.0, 4.0];

fn main() -> Result<(), netdyno_sim::Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = |name: &str| arguments.first().is_none_or(|first| first == name);
    let seconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(30);
    for (name, congestion) in [("cubic", Cubic), ("bbr", Bbr)] {
        if wanted(name) {
            table(name, congestion, Duration::from_secs(seconds))?;
        }
    }
    if wanted("troubles") {
        troubles(Duration::from_secs(seconds))?;
    }
    if wanted("share") {
        share(Duration::from_secs(2 * seconds))?;
    }
    Ok(())
}

/// Paths that are not even, with BBR and with CUBIC.
fn troubles(time: Duration) -> Result<(), netdyno_sim::Failure> {
    println!("percent of rate x (1 - loss), bbr / cubic, {} s, by trouble", time.as_secs());
    let ms = Duration::from_millis;
    // what, trouble, loss, queue
    let rows = [
        ("1 % in outages of 10 ms", Trouble::Outages(ms(10)), 0.01, 1.0),
        ("5 % in outages of 10 ms", Trouble::Outages(ms(10)), 0.05, 1.0),
        ("5 % in outages of 50 ms", Trouble::Outages(ms(50)), 0.05, 1.0),
        ("10 % in outages of 200 ms", Trouble::Outages(ms(200)), 0.10, 1.0),
        ("reordering", Trouble::Reordering, 0.0, 1.0),
        ("reordering, 1 % loss", Trouble::Reordering, 0.01, 1.0),
        ("rate halves, doubles: 5 s", Trouble::Steps(ms(5000)), 0.0, 1.0),
        ("rate halves, doubles: 1 s", Trouble::Steps(ms(1000)), 0.0, 1.0),
        ("rate halves: 5 s, 1 % loss", Trouble::Steps(ms(5000)), 0.01, 1.0),
        ("policer, a bucket of 1", Trouble::Policer, 0.0, 1.0),
        ("policer, a bucket of 0.1", Trouble::Policer, 0.0, 0.1),
    ];
    let paths: Vec<(u64, u64)> =
        RATES.into_iter().flat_map(|rate| [20, 100].map(|rtt| (rate, rtt))).collect();
    let head: Vec<String> =
        paths.iter().map(|(rate, rtt)| format!("{} Mbit/s, {rtt} ms", rate / 1_000_000)).collect();
    println!("| | {} |", head.join(" | "));
    println!("|--|{}", "--:|".repeat(head.len()));
    for (what, trouble, loss, queue) in rows {
        let cell = |&(bits_per_s, rtt_ms): &(u64, u64)| {
            let path = Path {
                trouble,
                ..Path::new(Duration::from_millis(rtt_ms), loss, bits_per_s).with_queue(queue)
            };
            let share = |congestion: Congestion| {
                let goodput = measure(path, &[congestion], time, 1)?[0].mbit_per_s;
                Ok(format!("{:.0}", 100.0 * goodput / bottleneck_mbit_per_s(path) / (1.0 - loss)))
            };
            Ok(format!("{} / {}", share(Bbr)?, share(Cubic)?))
        };
        let cells = paths.iter().map(cell).collect::<Result<Vec<_>, netdyno_sim::Failure>>()?;
        println!("| {what} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Beside one flow of CUBIC, and two of itself.
fn share(time: Duration) -> Result<(), netdyno_sim::Failure> {
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
                let path = Path::new(Duration::from_millis(rtt_ms), 0.0, bits_per_s).with_queue(queue);
                let of = |senders: &[Congestion]| {
                    let flows = measure(path, senders, time, 1)?;
                    let all: f64 = flows.iter().map(|flow| flow.mbit_per_s).sum();
                    Ok((100.0 * flows[0].mbit_per_s / all, all, flows[0].queueing))
                };
                let (beside_cubic, all, _) = of(&[Bbr, Cubic])?;
                let (beside_itself, ..) = of(&[Bbr, Bbr])?;
                let (.., queueing) = of(&[Bbr])?;
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

fn table(name: &str, congestion: Congestion, time: Duration) -> Result<(), netdyno_sim::Failure> {
    println!("{name}, {} s: percent of rate x (1 - loss), by loss", time.as_secs());
    let head = LOSSES.map(|loss| format!("{:.1} %", 100.0 * loss)).join(" | ");
    println!("| Mbit/s | round trip | queue | {head} |");
    println!("|--:|--:|--:|{}", "--:|".repeat(LOSSES.len()));
    for bits_per_s in RATES {
        for rtt_ms in RTTS_MS {
            for queue in QUEUES {
                let share = |loss: f64| {
                    let path = Path::new(Duration::from_millis(rtt_ms), loss, bits_per_s).with_queue(queue);
                    let goodput = measure(path, &[congestion], time, 1)?[0].mbit_per_s;
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
