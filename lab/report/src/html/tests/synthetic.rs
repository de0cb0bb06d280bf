//! Synthetic runs.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use netdyno_lab_analysis::report::{Report, build};
use netdyno_lab_manifest::{ParamValue, Workload};
use netdyno_lab_store::fixture::{CannedContender, run};
use netdyno_lab_store::{CellStatus, Outcome, Run, Turns};

/// Additions to the dummy workload: turns and latency metrics.
const MORE_METRICS: &str = r#"
[turns]
turn_ms = 100
lead_ms = 30
stretch_ms = 500
stretch_every = 8
together = 12

[[metrics]]
name = "latency_p50"
label = "latency p50"
unit = "ns"
better = "lower"
headline = true
from = { histogram_quantile = { role = "sink", histogram = "latency", quantile = 0.5 } }

[[metrics]]
name = "latency_p99"
label = "p99"
unit = "ns"
better = "lower"
from = { histogram_quantile = { role = "sink", histogram = "latency", quantile = 0.99 } }
"#;

pub(super) fn contender<'a>(name: &'a str, rates: &'a [u64]) -> CannedContender<'a> {
    CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 }
}

pub(super) fn report_of(run: &Run) -> (Report, Workload) {
    (build(run).unwrap(), run.header.parsed_workload().unwrap())
}

/// Report of [`large_run`], built once.
pub(super) fn large() -> &'static (Report, Workload) {
    static LARGE: OnceLock<(Report, Workload)> = OnceLock::new();
    LARGE.get_or_init(|| report_of(&large_run()))
}

/// Twelve contenders, including the ceiling and one that fails with a long log; six settings, forty sessions
/// each.
pub(super) fn large_run() -> Run {
    const NAMES: [&str; 12] = [
        "base",
        "swift-stack",
        "steady",
        "rust-native-2",
        "go-plain",
        "node-streams",
        "python-asyncio",
        "java-nio-selector",
        "c-epoll",
        "c-io-uring",
        "fails-late",
        "bound",
    ];
    const SETTINGS: [u64; 6] = [1, 2, 4, 8, 16, 32];
    const SESSIONS: u64 = 40;
    let rate = |contender: u64, setting: u64, session: u64| {
        1000 * (contender + 1) * setting + (session * 7919 + contender * 104_729) % (60 * setting)
    };
    let rates: Vec<Vec<u64>> = (0..SETTINGS.len() * NAMES.len())
        .map(|i| (i as u64 % 12, SETTINGS[i / 12]))
        .map(|(contender, setting)| (0..SESSIONS).map(|s| rate(contender, setting, s)).collect())
        .collect();
    let contenders: Vec<CannedContender<'_>> =
        rates.iter().enumerate().map(|(i, rates)| contender(NAMES[i % 12], rates)).collect();
    let mut run = run(&contenders, Some("bound"));
    run.header.manifest += MORE_METRICS;
    for (i, cell) in run.cells.iter_mut().enumerate() {
        let streams = i64::try_from(SETTINGS[i / 12]).unwrap();
        cell.params.0.insert("streams".to_owned(), ParamValue::Integer(streams));
        if i % 12 == 10 {
            cell.status = CellStatus::Failed;
            cell.reason =
                "the sink: ended early: exited with code 101\n      thread 'main' panicked".to_owned();
        }
    }
    let latencies: Vec<String> = (0..12).map(latencies).collect();
    for trial in &mut run.trials {
        let (contender, setting) = (trial.cell % 12, trial.cell / 12);
        trial.position = u32::try_from(setting).unwrap();
        trial.histograms.push(("sink".to_owned(), "latency".to_owned(), latencies[contender].clone().into()));
        let freezer = "cgroup v2 freezer".to_owned();
        let (turn_ns, lead_ns) = (100_000_000, 30_000_000);
        trial.turns = Some(Turns { freezer, turn_ns, lead_ns, count: 1, stretch: false, under_way: None });
        if contender == 10 {
            let stderr = "a line of a log that has no end\n".repeat(2048);
            let (role, reason) = ("sink".to_owned(), "exited with code 101".to_owned());
            trial.outcome = Outcome::Failed { role, reason, stderr };
        }
    }
    run
}

/// A histogram with a long tail, encoded as a contender sends it.
fn latencies(contender: u64) -> String {
    let mut counts = Histogram::<u64>::new(2).unwrap();
    for i in 1..20_000u64 {
        counts.record((contender + 2) * 1000 + i % 977 * 11 + 400_000_000 / (20_000 - i)).unwrap();
    }
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&counts, &mut bytes).unwrap();
    STANDARD.encode(bytes)
}

/// A matrix of three contenders in both roles; one pair fails.
pub(super) fn matrix() -> Run {
    let names = ["left", "middle", "right"];
    let rates: Vec<Vec<u64>> = (1..=9u64).map(|i| vec![1000 * i, 1010 * i, 990 * i, 1000 * i]).collect();
    let contenders: Vec<CannedContender<'_>> =
        rates.iter().enumerate().map(|(i, rates)| contender(names[i / 3], rates)).collect();
    let mut run = run(&contenders, None);
    for (i, cell) in run.cells.iter_mut().enumerate() {
        cell.contenders.insert("source".to_owned(), names[i / 3].to_owned());
        cell.contenders.insert("sink".to_owned(), names[i % 3].to_owned());
    }
    run.cells[5].status = CellStatus::Failed;
    run.cells[5].reason = "the sink: wrong digest".to_owned();
    run
}
