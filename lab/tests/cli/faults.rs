//! Every way to break the contract is a named failure; the run goes on, and the exit code says so.

use crate::bench::{Bench, cell, skip};

/// The fault, whether it is a skip, and a part of the reason that the user must be given.
const FAULTS: [(&str, &str, &str); 14] = [
    ("crash", "failed", "SIGABRT"),
    ("chatter", "failed", "`connected`"),
    ("few-setups", "failed", "1 setup times for 2"),
    ("slow-clock", "failed", "does not count nanoseconds"),
    ("fewer", "failed", "messages received in verify"),
    ("flood", "failed", "1048576"),
    ("garbage", "failed", "bad line"),
    ("hang", "failed", "no `counters`"),
    ("linger", "failed", "no `exit`"),
    ("orphan", "failed", "leaving 1 process"),
    ("overclaim", "failed", "sent only 0"),
    ("quit", "failed", "exited with code 3"),
    ("wrong-digest", "failed", "wrong digest"),
    ("unsupported", "skipped", "no role"),
];

#[test]
fn every_fault_is_named_and_the_run_goes_on() {
    let mut contenders: Vec<(&str, Option<&str>)> = FAULTS.iter().map(|(f, _, _)| (*f, Some(*f))).collect();
    contenders.push(("good", None));
    let bench = Bench::new(&contenders);
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--time-limits", "0.3"]);
    assert_eq!(seen.code, 3, "{seen:?}");
    let report = bench.last();
    for (fault, status, part) in FAULTS {
        let cell = cell(&report, fault);
        assert_eq!(cell["status"], status, "{fault}: {cell}");
        let reason = cell["reason"].as_str().unwrap();
        assert!(reason.contains(part), "{fault}: {reason}");
        assert!(cell["metrics"]["throughput"]["value"].is_null(), "no figure of a failed cell: {cell}");
        assert!(seen.stdout.contains(fault), "{fault} is shown: {}", seen.stdout);
    }
    assert_eq!(cell(&report, "good")["status"], "ok");
    assert!(cell(&report, "good")["metrics"]["throughput"]["value"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_role_that_fills_memory_is_ended_by_its_limit() {
    let bench = Bench::new(&[("memory", Some("memory")), ("good", None)]);
    let seen = bench.netdyno(&[
        "run",
        "dummy",
        "--max-blocks",
        "1",
        "--memory-limit",
        "256MiB",
        "--set",
        "seconds=5",
    ]);
    let report = bench.last();
    let reason = cell(&report, "memory")["reason"].as_str().unwrap();
    if reason.contains("not in force") {
        return skip("a writable memory cgroup");
    }
    assert!(reason.contains("memory limit of 256 MiB"), "{reason}");
    assert_eq!(seen.code, 3);
    assert_eq!(cell(&report, "good")["status"], "ok");
}

#[test]
fn a_failure_names_who_played_which_role() {
    let bench = Bench::new(&[("good", None), ("liar", Some("wrong-digest"))]);
    let seen = bench.netdyno(&["run", "dummy", "--matrix", "--max-blocks", "1"]);
    // The lie is the sink's, the second role: in the order of the workload, not of the alphabet.
    assert!(seen.stderr.contains("good > liar failed: the sink"), "{seen:?}");
    assert!(!seen.stderr.contains("liar > good failed"), "{seen:?}");
}

#[test]
fn check_passes_the_good_and_tells_the_bad() {
    let bench = Bench::new(&[("good", None), ("liar", Some("wrong-digest"))]);
    let good = bench.netdyno(&["check", "good"]);
    assert_eq!(good.code, 0, "{good:?}");
    let both = bench.netdyno(&["check", "--all"]);
    assert_eq!(both.code, 3, "{both:?}");
    assert!(both.stdout.contains("wrong digest") && both.stdout.contains("1 passed, 1 failed"), "{both:?}");
}
