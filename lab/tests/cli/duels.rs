//! Duels of dummies from outside: sessions are held, stored, shown again, and given up for blocks on request.

use crate::bench::{Bench, cell};

const TURNS: &str =
    "\n[turns]\nturn_ms = 20\nlead_ms = 5\nstretch_ms = 50\nstretch_every = 1\ntogether = 3\n";

fn bench() -> Bench {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("{manifest}{TURNS}"));
    bench
}

#[test]
fn contenders_take_turns_and_the_report_says_so() {
    let bench = bench();
    let run =
        bench.netdyno(&["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.1", "--format", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report, bench.last(), "what is shown again is the same");
    assert_eq!(report["run"]["compared_by"], "duels");
    assert!(report["run"]["headline"].as_str().unwrap().contains("2 sessions of 5 turns"), "{report}");
    for name in ["one", "two"] {
        let turns = &cell(&report, name)["turns"];
        assert_eq!((turns["sessions"].as_u64(), turns["stretches"].as_u64()), (Some(2), Some(2)), "{turns}");
        assert!(!turns["freezer"].as_str().unwrap().is_empty());
        assert!(cell(&report, name)["metrics"]["cpu_per_message"]["value"].as_f64().unwrap() > 0.0);
    }
    let verdict = &report["verdicts"][0];
    assert_eq!((&verdict["unit"], &verdict["blocks"]), (&"session".into(), &2.into()), "{verdict}");
}

#[test]
fn blocks_are_had_on_request() {
    let bench = bench();
    let arguments = ["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.2", "--blocks"];
    assert_eq!(bench.netdyno(&arguments).code, 0);
    let report = bench.last();
    assert_eq!(
        (&report["run"]["compared_by"], &report["run"]["no_duels"][0]),
        (&"blocks".into(), &"asked for".into())
    );
}

#[test]
fn one_that_breaks_the_contract_in_a_duel_is_named_and_the_other_is_not() {
    let bench = bench();
    bench.add("crash", Some("crash"));
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.1"]);
    assert_eq!(seen.code, 3, "{seen:?}");
    let report = bench.last();
    assert_eq!(cell(&report, "crash")["status"], "failed");
    assert!(cell(&report, "crash")["reason"].as_str().unwrap().contains("SIGABRT"), "{report}");
}
