//! The share of a path's capacity that one association uses, over a grid of paths, in virtual time: `cargo
//! run --release -p netdyno-sim --example grid [cubic|bbr|troubles|share] [seconds]` prints tables; `--
//! pictures [seconds]` draws them into docs/congestion-grid.svg and docs/congestion-share.svg.

mod picture;

use std::error::Error;
use std::time::Duration;

use netdyno_sctp::Congestion::{self, Bbr, Cubic};
use netdyno_sim::sctp::goodput::{Arrival, Path, Trouble, bottleneck_mbit_per_s, measure};

const LOSSES: [f64; 9] = [0.0, 0.001, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.10];
const RTTS_MS: [u64; 4] = [1, 20, 100, 300];
const RATES: [u64; 3] = [2_000_000, 20_000_000, 100_000_000];
/// How long CUBIC runs before the late flow starts.
const HEAD_START: Duration = Duration::from_secs(5);
/// Queue lengths, in BDP.
const QUEUES: [f64; 3] = [0.1, 1.0, 4.0];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.get(1).and_then(|text| text.parse().ok()).unwrap_or(30);
    let time = Duration::from_secs(seconds);
    if arguments.first().is_some_and(|first| first == "pictures") {
        return pictures(time);
    }
    let wanted = |name: &str| arguments.first().is_none_or(|first| first == name);
    for (name, congestion) in [("cubic", Cubic), ("bbr", Bbr)] {
        if wanted(name) {
            println!("{name}, {seconds} s: percent of rate x (1 - loss), by loss");
            table(&carried(congestion, time)?);
        }
    }
    if wanted("troubles") {
        troubles(time)?;
    }
    if wanted("share") {
        share(&shares(2 * time)?, 2 * time);
    }
    Ok(())
}

fn pictures(time: Duration) -> Result<(), Box<dyn Error>> {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
    let panels = [("BBR", carried(Bbr, time)?), ("CUBIC", carried(Cubic, time)?)];
    std::fs::write(format!("{docs}/congestion-grid.svg"), picture::grid(&panels, time))?;
    std::fs::write(format!("{docs}/congestion-share.svg"), picture::share(&shares(2 * time)?, 2 * time))?;
    Ok(())
}

/// An ideal path, as labelled in a table.
struct Place {
    bits_per_s: u64,
    rtt_ms: u64,
    /// In BDP.
    queue: f64,
}

impl Place {
    fn all(queues: &'static [f64]) -> impl Iterator<Item = Self> {
        RATES.into_iter().flat_map(move |bits_per_s| {
            RTTS_MS
                .into_iter()
                .flat_map(move |rtt_ms| queues.iter().map(move |&queue| Self { bits_per_s, rtt_ms, queue }))
        })
    }

    fn path(&self, loss: f64) -> Path {
        Path::new(Duration::from_millis(self.rtt_ms), loss, self.bits_per_s).with_queue(self.queue)
    }

    fn mbit(&self) -> u64 {
        self.bits_per_s / 1_000_000
    }
}

/// For each place, percent of rate x (1 - loss) by `LOSSES`.
type Carried = Vec<(Place, Vec<f64>)>;

fn carried(congestion: Congestion, time: Duration) -> Result<Carried, netdyno_sim::Failure> {
    let row = |place: Place| {
        let share = |loss: f64| {
            let path = place.path(loss);
            let goodput = measure(path, &[congestion], time, 1)?[0].mbit_per_s;
            Ok(100.0 * goodput / bottleneck_mbit_per_s(path) / (1.0 - loss))
        };
        let shares = LOSSES.into_iter().map(share).collect::<Result<Vec<_>, netdyno_sim::Failure>>()?;
        Ok((place, shares))
    };
    Place::all(&QUEUES).map(row).collect()
}

fn table(rows: &Carried) {
    let head = LOSSES.map(|loss| format!("{:.1} %", 100.0 * loss)).join(" | ");
    println!("| Mbit/s | round trip | queue | {head} |");
    println!("|--:|--:|--:|{}", "--:|".repeat(LOSSES.len()));
    for (place, shares) in rows {
        let cells: Vec<String> = shares.iter().map(|share| format!("{share:.0}")).collect();
        println!("| {} | {} ms | {} | {} |", place.mbit(), place.rtt_ms, place.queue, cells.join(" | "));
    }
}

/// Paths with disturbances, with BBR and with CUBIC.
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
        ("jitter of 5 ms", Trouble::Jitter(ms(5)), 0.0, 1.0),
        ("jitter of 30 ms", Trouble::Jitter(ms(30)), 0.0, 1.0),
        ("jitter of 30 ms, 1 % loss", Trouble::Jitter(ms(30)), 0.01, 1.0),
        ("stalls of 10 ms", Trouble::Stalls(ms(10)), 0.0, 1.0),
        ("stalls of 10 ms, 3 % loss", Trouble::Stalls(ms(10)), 0.03, 1.0),
        ("stalls of 50 ms", Trouble::Stalls(ms(50)), 0.0, 1.0),
        ("stalls of 50 ms, 3 % loss", Trouble::Stalls(ms(50)), 0.03, 1.0),
        ("stalls of 200 ms, 1 % loss", Trouble::Stalls(ms(200)), 0.01, 1.0),
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

/// The share of BBR against other flows, in percent.
struct Share {
    place: Place,
    beside_cubic: f64,
    /// The same if it starts when CUBIC already uses the link.
    late: f64,
    /// The same if it is connected by then, and has measured the empty path.
    silent: f64,
    beside_itself: f64,
    /// Of the link, both flows together.
    both: f64,
    /// Median queueing delay of a single flow, in round trips.
    queue_alone: f64,
}

/// Against one flow of CUBIC, and against another BBR flow.
fn shares(time: Duration) -> Result<Vec<Share>, netdyno_sim::Failure> {
    let row = |place: Place| {
        let path = place.path(0.0);
        let of = |path: Path, senders: &[Congestion]| {
            let flows = measure(path, senders, time, 1)?;
            let all: f64 = flows.iter().map(|flow| flow.mbit_per_s).sum();
            Ok((100.0 * flows[0].mbit_per_s / all, all, flows[0].queueing))
        };
        let (beside_cubic, all, _) = of(path, &[Bbr, Cubic])?;
        let (late, ..) = of(Path { arrival: Arrival::ConnectsAfter(HEAD_START), ..path }, &[Bbr, Cubic])?;
        let (silent, ..) = of(Path { arrival: Arrival::SendsAfter(HEAD_START), ..path }, &[Bbr, Cubic])?;
        let (beside_itself, ..) = of(path, &[Bbr, Bbr])?;
        let (.., queueing) = of(path, &[Bbr])?;
        let both = 100.0 * all / bottleneck_mbit_per_s(path);
        let queue_alone = queueing.as_secs_f64() / path.rtt.as_secs_f64();
        Ok(Share { place, beside_cubic, late, silent, beside_itself, both, queue_alone })
    };
    Place::all(&[0.1, 1.0, 2.0, 4.0]).map(row).collect()
}

fn share(rows: &[Share], time: Duration) {
    let seconds = time.as_secs();
    println!(
        "bbr against another flow, {seconds} s: its percent of both; median queueing delay of a single flow, in round trips"
    );
    println!(
        "| Mbit/s | round trip | queue | against cubic | against cubic, 5 s late | silent for 5 s | against itself | both of the link | single flow's queue |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    for row in rows {
        println!(
            "| {} | {} ms | {} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} % | {:.2} |",
            row.place.mbit(),
            row.place.rtt_ms,
            row.place.queue,
            row.beside_cubic,
            row.late,
            row.silent,
            row.beside_itself,
            row.both,
            row.queue_alone,
        );
    }
}
