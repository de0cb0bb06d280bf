//! `replicate`: claims about dummies, measured, judged again from the store, and written into a document.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use netdyno_lab_store::Store;
use serde_json::Value;

use crate::bench::{Bench, Seen};

/// The memory use of two dummies is equal on every machine.
const CLAIMS: &str = r#"
id = "X"
title = "One or two"
about = "memory of one and two"
[methods.article]
about = "all cores shared"
run = "dummy one two --placement shared --max-blocks 3"
seconds = 30
[methods.fair]
about = "a core each"
run = "dummy one two --max-blocks 3"
seconds = 30
[[claims]]
id = "same"
statement = "one needs what two needs"
metric = "peak_rss"
a = { contender = "one" }
b = { contender = "two" }
published = { ratio = 1.0, kind = "estimated" }
claim = { is = "about", within = 20.0 }
[[claims]]
id = "tenfold"
statement = "one needs a thousand times as much"
metric = "peak_rss"
a = { contender = "one" }
b = { contender = "two" }
published = { a = 1000, b = 1, unit = "MB", kind = "quoted" }
claim = { is = "about", within = 5.0 }
[[claims]]
id = "unseen"
statement = "two is prettier"
untested = "nobody measures that"
"#;

fn bench() -> Bench {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    bench.write("claims/x.toml", CLAIMS);
    bench
}

fn verdicts(seen: &Seen) -> Vec<(String, String)> {
    let replication: Value = serde_json::from_str(&seen.stdout).unwrap_or_else(|e| panic!("{e}: {seen:?}"));
    let claims = replication["articles"][0]["claims"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    claims.iter().map(|c| (text(&c["id"]), text(&c["verdict"]))).collect()
}

#[test]
fn claims_are_measured_judged_again_and_documented() {
    let bench = bench();
    let seen = bench.netdyno(&["replicate", "X", "--budget", "60s", "--format", "json"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let expected = [("X.same", "holds"), ("X.tenfold", "does_not_hold"), ("X.unseen", "not_tested")];
    let expected = expected.map(|(id, verdict)| (id.to_owned(), verdict.to_owned()));
    assert_eq!(verdicts(&seen), expected);
    let told =
        "X fair: up to 3 rounds of netdyno run dummy one two --max-blocks 3; 60 s of measuring time left";
    assert!(seen.stderr.contains(told), "{seen:?}");
    let (_, runs) = seen.stderr.split_once("netdyno replicate X --from ").unwrap();
    let runs: Vec<&str> = runs.split_whitespace().collect();
    assert_eq!(runs.len(), 2);

    let (document, picture) = (bench.path("study.md"), bench.path("study.svg"));
    bench.write("study.md", "# A study\n<!-- claims:begin -->\n<!-- claims:end -->\nThe end.\n");
    let mut again = vec!["replicate", "X", "--format", "json", "--into", document.to_str().unwrap()];
    again.extend(["--picture", picture.to_str().unwrap(), "--from"]);
    again.extend(&runs);
    let again = bench.netdyno(&again);
    assert_eq!((again.code, verdicts(&again)), (0, expected.to_vec()), "{again:?}");
    assert_eq!(again.stdout, seen.stdout, "the same runs say the same");
    let text = std::fs::read_to_string(&document).unwrap();
    assert!(text.contains("one needs what two needs") && text.ends_with("The end.\n"), "{text}");
    assert!(text.contains("![Published and measured ratios of X](study.svg)"), "{text}");
    assert!(std::fs::read_to_string(&picture).unwrap().contains("X.tenfold"));

    let one = bench.netdyno(&["replicate", "X.same", "--from", runs[1]]);
    assert_eq!(one.code, 3, "{one:?}");
    assert!(one.stdout.contains("no run of the method"), "{one:?}");
    let foreign = bench.netdyno(&["run", "dummy", "one", "--max-blocks", "1", "--format", "json"]);
    let report: Value = serde_json::from_str(&foreign.stdout).unwrap();
    let misfit = bench.netdyno(&["replicate", "X", "--from", report["run"]["id"].as_str().unwrap()]);
    assert_eq!(misfit.code, 2, "{misfit:?}");
    assert!(
        misfit.stderr.contains("matches no method") && misfit.stderr.contains("--placement"),
        "{misfit:?}"
    );
}

/// Only requested claims are measured, decided ones get no more time, and a second replication continues the first.
#[test]
fn time_is_spent_on_open_claims_and_accumulates() {
    let bench = Bench::new(&[("one", None), ("two", None), ("idle", None)]);
    // The second claim, exact equality, cannot be decided by any number of blocks.
    let claims =
        CLAIMS.replace("dummy one two", "dummy one two idle").replace("--max-blocks 3", "--max-blocks 9");
    let claims = claims.replacen("b = { contender = \"two\" }", "b = { contender = \"one\" }", 1);
    bench.write("claims/x.toml", &claims.replacen("within = 20.0", "within = 1.0000001", 1));
    let rounds = |seen: &Seen| -> Vec<(String, usize)> {
        assert_eq!(seen.code, 0, "{seen:?}");
        let (_, runs) = seen.stderr.split_once("--from ").unwrap();
        let one = |id: &str| {
            let shown = bench.netdyno(&["show", id, "--format", "json"]);
            let report: Value = serde_json::from_str(&shown.stdout).unwrap();
            let cells = report["cells"].as_array().unwrap();
            assert_eq!(cells.len(), 2, "idle is not asked for: {shown:?}");
            (id.to_owned(), cells[0]["trials"].as_u64().unwrap() as usize)
        };
        runs.split_whitespace().map(one).collect()
    };
    let sure = bench.netdyno(&["replicate", "X.tenfold", "--budget", "60s"]);
    let before = rounds(&sure);
    assert!(before.iter().all(|(_, count)| *count == 3), "{sure:?}");
    let again = bench.netdyno(&["replicate", "X.tenfold", "--budget", "60s", "--resume"]);
    assert_eq!(rounds(&again), before, "nothing is open");
    assert!(!again.stderr.contains("rounds"), "{again:?}");
    let open = bench.netdyno(&["replicate", "X", "--budget", "2m", "--resume"]);
    let after = rounds(&open);
    assert!(before.iter().zip(&after).all(|(b, a)| b.0 == a.0 && a.1 > b.1), "{before:?} {after:?} {open:?}");
}

/// Trials of an imported run are from another machine, or other builds.
#[test]
fn an_imported_run_is_not_continued() {
    let bench = bench();
    let runs = |seen: &Seen| -> Vec<String> {
        assert_eq!(seen.code, 0, "{seen:?}");
        let (_, runs) = seen.stderr.split_once("--from ").unwrap();
        runs.split_whitespace().map(str::to_owned).collect()
    };
    let before = runs(&bench.netdyno(&["replicate", "X.tenfold", "--budget", "60s"]));
    let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
    for id in &before {
        let run = store.load(id).unwrap();
        store.remove(id).unwrap();
        store.import(&run, "[]").unwrap();
    }
    drop(store);
    let after = runs(&bench.netdyno(&["replicate", "X.tenfold", "--budget", "60s", "--resume"]));
    assert!(before.len() == 2 && after.len() == 2, "{before:?} {after:?}");
    assert!(after.iter().all(|id| !before.contains(id)), "{before:?} {after:?}");
}

#[test]
fn claims_are_listed_and_invalid_ones_are_named() {
    let bench = bench();
    let env = "about = \"a core each\"\nenv = { CARGO_PROFILE_RELEASE_OPT_LEVEL = \"3\" }";
    bench.write("claims/x.toml", &CLAIMS.replace("about = \"a core each\"", env));
    let list = bench.netdyno(&["replicate", "--list"]);
    assert_eq!(list.code, 0, "{list:?}");
    for part in
        ["X.same", "CARGO_PROFILE_RELEASE_OPT_LEVEL=3 netdyno run dummy one two", "nobody measures that"]
    {
        assert!(list.stdout.contains(part), "{part}: {list:?}");
    }
    let file = bench.path("claims/x.toml").display().to_string();
    for (arguments, part) in [
        (&["replicate", "Y"][..], "unknown article \"Y\""),
        (&["replicate", "X.smae"], "did you mean \"same\"?"),
        (&["replicate", "nowhere.toml"], "nowhere.toml: cannot be read"),
        (&["replicate", "X", "--from", "1999"], "1999"),
        (&["replicate", "X", "--from", "1999", "--budget", "1m"], "cannot be used with"),
    ] {
        let seen = bench.netdyno(arguments);
        assert!(seen.code == 2 && seen.stderr.contains(part), "{arguments:?}: {seen:?}");
    }
    for (from, to, part) in [
        (
            "dummy one two --max",
            "dummy one tow --max",
            "methods.fair.run: unknown contender \"tow\"; did you mean \"two\"?",
        ),
        (
            "dummy one two --max",
            "dummy one two --budget 3s --max",
            "--budget, --resume and --format are not allowed here",
        ),
        ("dummy one two --max", "dummy one two --mxa", "methods.fair.run"),
        (
            "b = { contender = \"two\" }",
            "b = { contender = \"tow\" }",
            "claims[0].b: tow matches no cell of the method article (did you mean two?)",
        ),
        ("metric = \"peak_rss\"", "metric = \"peak_rsss\"", "claims[0].metric: unknown metric \"peak_rsss\""),
    ] {
        bench.write("claims/x.toml", &CLAIMS.replacen(from, to, 1));
        let seen = bench.netdyno(&["replicate", &file]);
        assert!(seen.code == 2 && seen.stderr.contains(part), "{to}: {seen:?}");
    }
}

/// A signal to this process only, and Ctrl-C on a terminal, which is a signal to its process group: each ends the run in
/// order, and the existing results are judged.
#[test]
fn an_interrupted_replication_leaves_no_process() {
    for (signal, to_group) in [(Signal::SIGTERM, false), (Signal::SIGINT, true)] {
        let bench = bench();
        bench.write("claims/x.toml", &CLAIMS.replace("--max-blocks 3", "--max-blocks 9 --set seconds=60"));
        let mut command = bench.command(&["replicate", "X"]);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        let has_begun = || bench.netdyno(&["history"]).stdout.contains("dummy");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !has_begun() {
            assert!(Instant::now() < deadline, "it never began");
            std::thread::sleep(Duration::from_millis(100));
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
        if to_group {
            killpg(pid, signal).unwrap()
        } else {
            kill(pid, signal).unwrap()
        }
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let history = bench.netdyno(&["history"]);
        assert!(history.stdout.contains("interrupted"), "{signal}: {history:?}");
    }
}
