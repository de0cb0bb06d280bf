//! The workload `rtt` from outside, with contenders that only need a C compiler: the gate passes over UDP and TCP, on
//! both kinds of network, and the report has the latency curve; closed loops are compared by duels. Whether a rate is
//! sustained depends on the machine and is tested on numbers, in `lab/analysis/src/load.rs`.

#![allow(clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Length of each measured window.
const SECONDS: f64 = 0.5;

/// Runs `netdyno` on this repository with its own store, and returns the report.
fn run(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_netdyno"))
        .args(["run", "rtt", "--format", "json", "--max-blocks", "1"])
        .args(["--set", &format!("seconds={SECONDS}")])
        .args(arguments)
        .env("NETDYNO_ROOT", Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("NETDYNO_STORE", folder.path().join("runs.db"))
        .output()
        .unwrap();
    let (code, stderr) = (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(code == Some(0) || code == Some(4), "{arguments:?}: {code:?} {stderr}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"))
}

fn number(cell: &Value, metric: &str) -> f64 {
    let figure = &cell["metrics"][metric];
    figure["value"].as_f64().unwrap_or_else(|| panic!("{metric}: {figure}"))
}

/// The measured cells, all of them successful. A host may lack a contender's prerequisites.
fn measured(report: &Value) -> Vec<&Value> {
    let (skipped, measured): (Vec<_>, Vec<_>) =
        report["cells"].as_array().unwrap().iter().partition(|cell| cell["status"] == "skipped");
    for cell in skipped {
        assert!(std::env::var("NETDYNO_REQUIRE").as_deref() != Ok("all"), "{}", cell["reason"]);
        println!("skipped: {}", cell["reason"]);
    }
    for cell in &measured {
        assert_eq!(cell["status"], "ok", "{}: {}", cell["label"], cell["reason"]);
    }
    measured
}

#[test]
fn closed_loops_are_compared_by_duels_and_rates_by_blocks() {
    let report = run(&[
        "c-blocking",
        "c-epoll",
        "--no-ceiling",
        "--sweep",
        "transport=udp,tcp",
        "--sweep",
        "rate=0,1000",
        "--set",
        "warmup_seconds=0.1",
    ]);
    let cells = measured(&report);
    for cell in &cells {
        let in_turns = cell["params"]["rate"] == 0;
        assert_eq!(cell["turns"].is_object(), in_turns, "{cell}");
        assert!(number(cell, "latency_p50") > 0.0 && number(cell, "latency_p99") > 0.0);
        assert_eq!(cell["metrics"]["latency_p99_9"]["value"].is_null(), in_turns, "{cell}");
    }
    if !cells.is_empty() {
        assert_eq!(report["run"]["compared_by"], "duels and blocks");
        assert_eq!(report["run"]["no_duels"][0], "the workload allows turns with rate=0 only");
    }
}

#[test]
fn the_gate_passes_and_the_curve_is_complete() {
    for arguments in [
        &["c-blocking", "--sweep", "transport=udp,tcp", "--set", "rate=1000", "--set", "tasks=10"][..],
        &[
            "c-epoll",
            "--set",
            "rate=2000",
            "--set",
            "outstanding=4",
            "--set",
            "pacing=timer",
            "--net",
            "veth",
        ][..],
    ] {
        let report = run(arguments);
        for cell in measured(&report) {
            assert!(cell["load"]["held"].is_boolean(), "{arguments:?}: {} {}", cell["label"], cell["load"]);
            let quantiles = ["latency_p50", "latency_p90", "latency_p99", "latency_p99_9", "latency_max"];
            let quantiles = quantiles.map(|q| number(cell, q));
            assert!(quantiles.is_sorted() && quantiles[0] > 0.0, "{quantiles:?}");
            // Latency starts when a request is due, service when it is sent.
            assert!(number(cell, "service_p50") <= quantiles[0] * 1.002, "{cell}");
            for name in ["ping.latency", "ping.service", "ping.lateness"] {
                let curve = cell["curves"][name].as_array().unwrap();
                let last = curve.last().unwrap();
                assert_eq!(last["quantile"], 1.0, "{name}");
            }
            if cell["params"]["tasks"] == 10 {
                // 10 tasks that wait 1 ms each: at most 10,000 runs per second, and one more of each at the ends of
                // the window.
                for role in ["ping_task_runs", "pong_task_runs"] {
                    let runs = number(cell, role);
                    assert!((1.0..=10_000.0 + 10.0 / SECONDS).contains(&runs), "{role}: {runs}");
                }
            }
        }
    }
}
