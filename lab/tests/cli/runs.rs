//! Runs that end, that are killed, that are interrupted and resumed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::bench::{Bench, Seen, cell};

fn two() -> Bench {
    Bench::new(&[("one", None), ("two", None)])
}

/// Waits until the newest run has this many good trials.
fn wait_for_trials(bench: &Bench, trials: u64) {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let seen = bench.netdyno(&["show", "last", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap_or_default();
        let cells = report["cells"].as_array().cloned().unwrap_or_default();
        if cells.iter().filter_map(|c| c["trials"].as_u64()).sum::<u64>() >= trials {
            return;
        }
        assert!(Instant::now() < deadline, "no {trials} trials: {}", seen.stderr);
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_run_in_every_format_and_again_from_the_store() {
    let bench = two();
    let run = bench.netdyno(&["run", "dummy", "--max-blocks", "2", "--seed", "5", "--format", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report, bench.last(), "what is shown again is the same");
    assert_eq!(report["run"]["seed"], 5);
    assert_eq!(report["run"]["blocks"], 2);
    assert_eq!(
        report["verdicts"].as_array().unwrap().iter().filter(|v| v["metric"] == "throughput").count(),
        1
    );
    for field in ["value", "unit", "source"] {
        assert!(!cell(&report, "one")["metrics"]["peak_rss"][field].is_null(), "{field}");
    }
    let table = bench.netdyno(&["show", "last"]);
    assert!(table.stdout.contains("2 blocks") && table.stdout.contains("baseline"), "{table:?}");
    assert!(!table.stdout.contains('\u{1b}'), "no colour into a pipe");
    let history = bench.netdyno(&["history"]);
    assert!(history.stdout.contains(report["run"]["id"].as_str().unwrap()), "{history:?}");
    let validator = {
        let schema = bench.netdyno(&["schema", "report"]);
        jsonschema::validator_for(&serde_json::from_str(&schema.stdout).unwrap()).unwrap()
    };
    assert!(validator.is_valid(&report));
}

#[test]
fn a_matrix_and_a_sweep_have_all_cells() {
    let bench = two();
    let arguments =
        ["run", "dummy", "--matrix", "--sweep", "streams=1,2", "--max-blocks", "1", "--set", "seconds=0.2"];
    let seen = bench.netdyno(&arguments);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(bench.last()["cells"].as_array().unwrap().len(), 8);
    assert!(seen.stdout.contains("one > two") && seen.stdout.contains("streams=2"), "{seen:?}");
}

#[test]
fn a_killed_run_keeps_its_trials_and_goes_on() {
    let bench = two();
    // On the host's network, as where a private one is not permitted: it is not in the way of going on.
    let mut run = bench.command(&["run", "dummy", "--max-blocks", "4", "--net", "host"]);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_trials(&bench, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    let before = bench.last();
    assert_eq!(before["run"]["status"], "running");
    let resumed = bench.netdyno(&["run", "--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let after = bench.last();
    assert_eq!(after["run"]["id"], before["run"]["id"]);
    assert_eq!(after["run"]["blocks"], 4);
    for name in ["one", "two"] {
        let samples =
            |report: &serde_json::Value| cell(report, name)["metrics"]["throughput"]["samples"].clone();
        let (old, new) = (samples(&before), samples(&after));
        let (old, new) = (old.as_array().unwrap(), new.as_array().unwrap());
        assert_eq!(new.len(), 4);
        assert_eq!(new[..old.len()], old[..], "what was measured stays");
    }
    let again = bench.netdyno(&["run", "--resume"]);
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("no unfinished run"), "{again:?}");
    let id = after["run"]["id"].as_str().unwrap();
    let again = bench.netdyno(&["run", "--resume", id]);
    assert!(again.code == 2 && again.stderr.contains("is finished"), "{again:?}");
}

#[test]
fn ctrl_c_ends_the_run_in_order() {
    let bench = two();
    let mut run = bench.command(&["run", "dummy", "--max-blocks", "20"]);
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for_trials(&bench, 1);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let seen = Seen::of(&child.wait_with_output().unwrap());
    assert_eq!(seen.code, 130, "{seen:?}");
    assert!(seen.stderr.contains("run --resume"), "{seen:?}");
    assert_eq!(bench.last()["run"]["status"], "interrupted");
}
