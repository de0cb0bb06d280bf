//! Duels of dummies from outside: they are run, stored, shown again, and replaced by blocks on request.

use std::process::Stdio;
use std::time::{Duration, Instant};

use netdyno_lab_store::{Run, Store};

use crate::bench::{Bench, Seen, cell};

pub(crate) const TURNS: &str =
    "\n[turns]\nturn_ms = 20\nlead_ms = 5\nturns_max = 5\nstretch_ms = 50\nstretch_every = 1\ntogether = 3\n";

fn bench() -> Bench {
    bench_with(TURNS)
}

/// Two dummies with these turns.
pub(crate) fn bench_with(turns: &str) -> Bench {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("{manifest}{turns}"));
    bench
}

#[test]
fn contenders_alternate_and_the_report_says_so() {
    let bench = bench();
    let run =
        bench.netdyno(&["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.2", "--format", "json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report, bench.last(), "what is shown again is the same");
    assert_eq!(report["run"]["compared_by"], "duels");
    // `turns_max` of them, not the ten that fit into 0.2 s.
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
fn blocks_are_used_on_request() {
    let bench = bench();
    let arguments = ["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.2", "--blocks"];
    assert_eq!(bench.netdyno(&arguments).code, 0);
    let report = bench.last();
    assert_eq!(
        (&report["run"]["compared_by"], &report["run"]["no_duels"][0]),
        (&"blocks".into(), &"requested by --blocks".into())
    );
}

#[test]
fn a_faulty_side_of_a_duel_is_named_and_the_other_is_not() {
    let bench = bench();
    bench.add("crash", Some("crash"));
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.1"]);
    assert_eq!(seen.code, 3, "{seen:?}");
    let report = bench.last();
    assert_eq!(cell(&report, "crash")["status"], "failed");
    assert!(cell(&report, "crash")["reason"].as_str().unwrap().contains("SIGABRT"), "{report}");
    // All three were in one session, which was repeated without the faulty one.
    for name in ["one", "two"] {
        assert_eq!(cell(&report, name)["turns"]["sessions"], 1, "{report}");
    }
}

#[test]
fn rivals_share_sessions_and_their_baseline() {
    let bench = bench();
    bench.add("three", None);
    bench.add("four", None);
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.04"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let report = bench.last();
    // Three rivals of "four", which is the first by name; at most two in a session.
    for (name, sessions) in [("four", 4), ("one", 2), ("two", 2), ("three", 2)] {
        assert_eq!(cell(&report, name)["turns"]["sessions"], sessions, "{name}: {report}");
    }
    assert!(report["verdicts"].as_array().unwrap().iter().all(|v| v["blocks"] == 2), "{report}");
}

/// Duels of a contender with itself: interrupted ones do not count, and stored ones are not repeated.
#[test]
fn duels_of_a_contender_with_itself_are_counted_and_continued() {
    let bench = bench();
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    let quick = "\n[presets.quick]\nabout = \"short\"\nparams = { seconds = 0.04 }\nmin_blocks = 1\nmax_blocks = 9\n\
                 budget_seconds = 60\n";
    bench.write(
        "workloads/dummy.toml",
        &format!("{manifest}{quick}").replace("stretch_every = 1", "stretch_every = 9"),
    );
    let row = |seen: &Seen| {
        let row = seen.stdout.lines().find(|line| line.starts_with(" one ")).map(str::to_owned);
        let row = row.unwrap_or_else(|| panic!("no row: {seen:?}"));
        row.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let runs = || bench.netdyno(&["history"]).stdout.lines().count() - 1;

    // Two processes in each of the six sessions of the first duel; the second one waits for the signal.
    bench.add_held("one");
    bench.allow(12);
    let mut held = bench.command(&["doctor", "--against-itself", "2", "dummy", "one"]);
    let child = held.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while !bench.netdyno(&["history"]).stdout.contains("finished") {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let seen = Seen::of(&child.wait_with_output().unwrap());
    assert_eq!((seen.code, &row(&seen)[1][..]), (130, "1"), "{seen:?}");
    bench.release();

    let again = |duels| bench.netdyno(&["doctor", "--against-itself", duels, "dummy", "one"]);
    let seen = again("2");
    // Whether a duel is significant depends on the machine, so the exit code is not checked.
    let held = row(&seen);
    assert_eq!(
        (&held[1][..], &held[5][..], seen.stderr.matches("duel 2 of 2").count()),
        ("2", "0", 1),
        "{seen:?}"
    );
    let before = runs();
    let seen = again("2");
    assert_eq!((row(&seen), runs()), (held, before), "{seen:?}");
    // Warnings of a duel are stored with it, and printed below the table again.
    let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
    let mut run = store.load(bench.last()["run"]["id"].as_str().unwrap()).unwrap();
    run.header.warnings = vec!["noise: made up".to_owned()];
    store.update_header(&run.header).unwrap();
    drop(store);
    let told = again("2").stdout;
    assert!(told.contains(" warning: one, duel ") && told.contains(": noise: made up\n"), "{told}");
    // A duel on another machine does not count, and neither does an imported one, whatever its machine is.
    let imports: [fn(&mut Store, &mut Run); 2] = [
        |store, run| {
            run.header.host.cpu = "a CPU of another machine".to_owned();
            store.update_header(&run.header).unwrap();
        },
        |store, run| {
            store.remove(&run.header.id).unwrap();
            store.import(run, "[]").unwrap();
        },
    ];
    for foreign in imports {
        let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
        let mut run = store.load(bench.last()["run"]["id"].as_str().unwrap()).unwrap();
        foreign(&mut store, &mut run);
        drop(store);
        let seen = again("2");
        assert_eq!(seen.stderr.matches("duel 2 of 2").count(), 1, "{seen:?}");
    }
    let cells = bench.last()["cells"].clone();
    assert_eq!((&cells[0]["label"], &cells[1]["label"]), (&"one".into(), &"one (again)".into()));
}

#[test]
fn duels_with_itself_need_turns() {
    let bench = Bench::new(&[("one", None)]);
    let seen = bench.netdyno(&["doctor", "--against-itself", "2", "dummy"]);
    assert!(seen.code == 2 && seen.stderr.contains("does not support turns"), "{seen:?}");
}
