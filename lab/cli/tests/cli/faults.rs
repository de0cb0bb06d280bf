//! Every protocol violation is a named failure; the run continues, and has the matching exit code.

use crate::bench::{Bench, cell, skip};

/// The fault, whether it is a skip, and a part of the expected reason.
type Named = (&'static str, &'static str, &'static str);
/// Immediate faults.
const LOUD: [Named; 13] = [
    ("misdirect", "failed", "signal to the unknown role \"sunk\""),
    ("crash", "failed", "SIGABRT"),
    ("chatter", "failed", "`connected`"),
    ("few-setups", "failed", "1 setup times for 2"),
    ("slow-clock", "failed", "does not count nanoseconds"),
    ("fewer", "failed", "messages received in verify"),
    ("flood", "failed", "1048576"),
    ("garbage", "failed", "bad line"),
    ("orphan", "failed", "leaving 1 process"),
    ("overclaim", "failed", "sent only 0"),
    ("quit", "failed", "exited with code 3"),
    ("wrong-digest", "failed", "wrong digest"),
    ("unsupported", "skipped", "no role"),
];
/// Faults that appear when a time limit expires.
const SILENT: [Named; 3] = [
    ("hang", "failed", "no `counters`"),
    ("linger", "failed", "no `exit`"),
    (
        "lost",
        "failed",
        "no `verified` within 15 s; the source counts 4503599627370496; 1 of 2 messages have arrived",
    ),
];

#[test]
fn every_fault_is_named_and_the_run_continues() {
    named_and_the_run_goes_on(&LOUD, true, &[]);
}

#[test]
fn every_timeout_names_the_missing_message() {
    // Alone, because a busy machine could exceed the short limits too.
    let quick = ["--time-limits", "0.25", "--set", "streams=1", "--set", "verify_messages=2"];
    named_and_the_run_goes_on(&SILENT, false, &quick);
}

fn named_and_the_run_goes_on(faults: &[Named], with_good: bool, more: &[&str]) {
    let mut contenders: Vec<(&str, Option<&str>)> = faults.iter().map(|(f, _, _)| (*f, Some(*f))).collect();
    contenders.extend(with_good.then_some(("good", None)));
    let bench = Bench::new(&contenders);
    let seen = bench.netdyno(&[&["run", "dummy", "--max-blocks", "1"], more].concat());
    assert_eq!(seen.code, 3, "{seen:?}");
    let report = bench.last();
    for (fault, status, part) in faults {
        let cell = cell(&report, fault);
        assert_eq!(cell["status"], *status, "{fault}: {cell}");
        let reason = cell["reason"].as_str().unwrap();
        assert!(reason.contains(part), "{fault}: {reason}");
        assert!(cell["metrics"]["throughput"]["value"].is_null(), "no figure of a failed cell: {cell}");
        assert!(seen.stdout.contains(fault), "{fault} is shown: {}", seen.stdout);
    }
    if faults.iter().any(|(fault, _, _)| *fault == "crash") {
        let crash = cell(&report, "crash");
        assert_eq!(crash["stderr"], "dummy: crashes as requested\n");
        assert!(crash["reason"].as_str().unwrap().ends_with("\n      dummy: crashes as requested"));
    }
    if with_good {
        assert_eq!(cell(&report, "good")["status"], "ok");
        assert!(cell(&report, "good")["metrics"]["throughput"]["value"].as_f64().unwrap() > 0.0);
    }
}

#[test]
fn a_role_that_exhausts_memory_is_ended_by_its_limit() {
    let bench = Bench::new(&[("memory", Some("memory"))]);
    // A window whose end it never reaches, on any machine.
    let window = ["--memory-limit", "256MiB", "--set", "seconds=60"];
    let seen = bench.netdyno(&[&["run", "dummy", "--max-blocks", "1"][..], &window].concat());
    let report = bench.last();
    let reason = cell(&report, "memory")["reason"].as_str().unwrap();
    if reason.contains("not enforced") {
        return skip("a writable memory cgroup");
    }
    assert!(reason.contains("memory limit of 256 MiB"), "{reason}");
    assert_eq!(seen.code, 3);
}

#[test]
fn a_failure_names_the_contender_of_each_role() {
    let bench = Bench::new(&[("good", None), ("liar", Some("wrong-digest"))]);
    let seen = bench.netdyno(&["run", "dummy", "--matrix", "--max-blocks", "1"]);
    // The fault is the sink's, the second role: in the workload's order, not the alphabet's.
    assert!(seen.stderr.contains("good > liar failed: the sink"), "{seen:?}");
    assert!(!seen.stderr.contains("liar > good failed"), "{seen:?}");
}

#[test]
fn check_passes_correct_contenders_and_fails_faulty_ones() {
    let bench = Bench::new(&[("good", None), ("liar", Some("wrong-digest"))]);
    let good = bench.netdyno(&["check", "good"]);
    assert_eq!(good.code, 0, "{good:?}");
    let both = bench.netdyno(&["check", "--all"]);
    assert_eq!(both.code, 3, "{both:?}");
    assert!(both.stdout.contains("wrong digest") && both.stdout.contains("1 passed, 1 failed"), "{both:?}");
}

#[test]
fn check_uses_swept_values_if_the_default_is_unsupported() {
    let bench = Bench::new(&[("picky", Some("picky"))]);
    let seen = bench.netdyno(&["check", "picky"]);
    assert_eq!(seen.code, 3, "{seen:?}");
    assert!(seen.stdout.contains("the sink replied `unsupported`: message_bytes=64"), "{seen:?}");
    let swept = "budget_seconds = 60.0\nsweep = [{ message_bytes = [64, 65] }]\n";
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &manifest.replace("budget_seconds = 60.0\n", swept));
    let seen = bench.netdyno(&["check", "picky"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(seen.stdout.matches("unsupported: message_bytes=64").count(), 1, "{seen:?}");
}

#[test]
fn check_prints_the_reason_of_a_failed_start_once() {
    let bench = Bench::new(&[]);
    bench.add("broken", None);
    bench.write("broken.sh", "echo 'ImportError: no such thing' >&2\nexit 1\n");
    let manifest = "contenders/dummy/broken/contender.toml";
    let text = std::fs::read_to_string(bench.path(manifest)).unwrap();
    let run = format!("[\"/bin/sh\", \"{}\"]", bench.path("broken.sh").display());
    bench.write(manifest, &text.replace("[\"netdyno\", \"dummy\"]", &run));
    let seen = bench.netdyno(&["check", "broken"]);
    assert_eq!(seen.code, 3, "{seen:?}");
    assert_eq!(seen.stdout.matches("ImportError").count(), 1, "{}", seen.stdout);
    // Either of the two may end first.
    assert!(seen.stdout.contains(": ended early") && seen.stdout.contains("the sink"), "{}", seen.stdout);
    assert!(seen.stdout.contains("skip  invalid messages: the s"), "{}", seen.stdout);
}
