//! `doctor --resolve` from outside: slowdowns are injected and the results reported. Detection depends on the
//! machine: with one session each, none is detected.

use std::time::Duration;

use netdyno_lab_store::{RunStatus, SampleKind, Store, TrialRecord, Turns};
use serde_json::Value;

use crate::duels::{TURNS, bench_with};

#[test]
fn slowdowns_are_injected_and_reported() {
    let bench = bench_with(TURNS);
    let resolve =
        ["doctor", "--resolve", "dummy", "--contender", "two", "--budget", "0.1s", "--format", "json"];
    let seen = bench.netdyno(&resolve);
    assert_eq!(seen.code, 0, "{seen:?}");
    let told: Value = serde_json::from_str(&seen.stdout).unwrap();
    let duels = told["duels"].as_array().unwrap();
    let each: Vec<_> = duels.iter().map(|d| (d["loss"].as_f64(), d["sessions"].as_u64())).collect();
    assert_eq!(each, [0.0, 0.03, 0.1, 0.2].map(|loss| (Some(loss), Some(1))), "{told}");
    assert!(
        duels.iter().all(|d| d["low"].is_null() && d["detected"] == false && d["ratio"].is_number()),
        "{told}"
    );
    assert!(told["least_loss"].is_null() && duels.iter().all(|d| d["warnings"].is_array()), "{told}");
    assert_eq!(
        told["answer"],
        "In 0.1 s this host does not detect a loss of 20 % of counted of dummy, with two, the largest that was tried."
    );
    let last = bench.last();
    assert_eq!(last["run"]["id"], duels[3]["run"]);
    let labels: Vec<&Value> = last["cells"].as_array().unwrap().iter().map(|cell| &cell["label"]).collect();
    assert_eq!(labels, ["two", "two (20 % stalled)"]);
    assert_eq!(last["run"]["stopped_because"], "budget");
}

#[test]
fn a_stalled_side_uses_no_cpu_time() {
    const STALLED: u32 = 950;
    let turns = TURNS.replace("turn_ms = 20", "turn_ms = 200").replace("stretch_ms = 50", "stretch_ms = 250");
    let bench = bench_with(&turns.replace("turns_max = 5", "turns_max = 2"));
    assert_eq!(bench.netdyno(&["run", "dummy", "--max-blocks", "1"]).code, 0);
    let id = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    // The same again with the slowdown, in a new run.
    let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
    let mut run = store.load(&id).unwrap();
    run.header.id = format!("{id}0");
    run.cells[1].stalled = STALLED;
    store.begin_run(&run.header, &run.cells).unwrap();
    store.set_status(&run.header.id, RunStatus::Interrupted, netdyno_lab_store::StopReason::Running).unwrap();
    drop(store);
    let seen = bench.netdyno(&["run", "--resume", &run.header.id]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let run = Store::open(&bench.path("store/runs.db")).unwrap().load(&run.header.id).unwrap();
    let trial = run.trials.iter().find(|trial| trial.cell == 1).unwrap();
    let turns = trial.turns.as_ref().unwrap();
    let still = Duration::from_nanos(turns.turn_ns) * STALLED / 1000;
    // CPU time at either end may be accounted one clock tick late, and a second thread answers marks.
    let booked = Duration::from_millis(25);
    for turn in 0..turns.count {
        let marks = <[u64; 2]>::from(Turns::marks_of(turn));
        let [from, to] = marks.map(|mark| reading(trial, mark));
        let (took, worked) = (to.0 - from.0, to.1 - from.1);
        assert!(
            worked + still <= took + booked,
            "turn {turn}: {worked:?} of {took:?}, of which {still:?} stalled"
        );
    }
}

/// The time and the sink's CPU time at meter readings.
fn reading(trial: &TrialRecord, mark: u64) -> (Duration, Duration) {
    let is = |s: &&netdyno_lab_store::Sample| {
        (s.kind, &s.role[..], &s.name[..], s.mark) == (SampleKind::Meter, "sink", "cpu_ns", mark)
    };
    let sample = trial.samples.iter().find(is).unwrap_or_else(|| panic!("no reading {mark}: {trial:?}"));
    (Duration::from_nanos(sample.at_ns), Duration::from_nanos(sample.value.unwrap()))
}

#[test]
fn without_a_result_of_a_side_there_is_no_answer() {
    let bench = bench_with(TURNS);
    bench.add("crash", Some("crash"));
    let seen = bench.netdyno(&["doctor", "--resolve", "dummy", "--contender", "crash", "--budget", "0.1s"]);
    assert!(seen.code == 3 && seen.stdout.contains("No answer: a duel failed"), "{seen:?}");
}

#[test]
fn a_workload_without_rate_is_rejected_with_alternatives() {
    let bench = bench_with(TURNS);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    let (paced, turns) = manifest.split_once("[turns]").unwrap();
    bench.write("workloads/paced.toml", &paced.replacen("name = \"dummy\"", "name = \"paced\"", 1));
    let seen = bench.netdyno(&["doctor", "--resolve", "paced"]);
    assert!(seen.code == 2 && seen.stderr.contains("workloads with one: dummy"), "{seen:?}");
    bench.write("workloads/dummy.toml", &format!("{paced}[turns]{turns}only = {{ streams = 1 }}\n"));
    let seen = bench.netdyno(&["doctor", "--resolve", "dummy"]);
    assert!(seen.code == 2 && seen.stderr.contains("duels are not possible"), "{seen:?}");
}
