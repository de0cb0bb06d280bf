//! Runs that end, are killed, are interrupted and resumed.

use std::process::Stdio;

use netdyno_lab_store::{RunStatus, StopReason, Store};

use crate::bench::{Bench, Seen, cell};

fn two() -> Bench {
    Bench::new(&[("one", None), ("two", None)])
}

#[test]
fn a_run_is_printed_in_every_format_and_again_from_the_store() {
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
    assert!(history.stdout.contains("one, two"), "{history:?}");
    for columns in ["80", "120", ""] {
        for arguments in [&["show", "last"][..], &["history"], &["list", "dummy"], &["list"]] {
            // Without COLUMNS, output to a pipe has 100 columns.
            let output = bench.command(arguments).env("COLUMNS", columns).output().unwrap();
            let (text, width) = (String::from_utf8(output.stdout).unwrap(), columns.parse().unwrap_or(100));
            let longest = text.lines().map(|l| l.chars().count()).max();
            assert!(longest <= Some(width), "{columns} {arguments:?}: {text}");
        }
    }
    let file = bench.path("ranking.svg");
    let plot = bench.netdyno(&["plot", "last", "-o", file.to_str().unwrap()]);
    assert_eq!(plot.code, 0, "{plot:?}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("vs one"));
    let validator = {
        let schema = bench.netdyno(&["schema", "report"]);
        jsonschema::validator_for(&serde_json::from_str(&schema.stdout).unwrap()).unwrap()
    };
    assert!(validator.is_valid(&report));
}

#[test]
fn without_a_terminal_each_build_and_block_has_a_line() {
    let seen = two().netdyno(&["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.2"]);
    let at = |part: &str| seen.stderr.find(part).unwrap_or_else(|| panic!("no {part}: {seen:?}"));
    // Both are built at the same time.
    for build in ["build 1 of 2: one", "build 2 of 2: two"] {
        let places = [
            at(&format!("{build}\n")),
            at(&format!("{build}: built in ")),
            at("block 1 of at most 2: 2 trials, at most "),
            at("block 2 of at most 2: 2 trials, at most "),
        ];
        assert!(places.is_sorted(), "{seen:?}");
    }
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
fn against_one_contender_each_other_plays_each_role() {
    let bench = two();
    let arguments = ["run", "dummy", "--against", "two", "--max-blocks", "1", "--set", "seconds=0.2"];
    let seen = bench.netdyno(&arguments);
    assert_eq!(seen.code, 0, "{seen:?}");
    let report = bench.last();
    let labels: Vec<&str> =
        report["cells"].as_array().unwrap().iter().map(|c| c["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["two", "one", "one > two", "two > one"]);
    let baselines: Vec<&str> =
        report["verdicts"].as_array().unwrap().iter().map(|v| v["baseline"].as_str().unwrap()).collect();
    assert!(!baselines.is_empty() && baselines.iter().all(|b| *b == "two"), "{baselines:?}");
}

#[test]
fn a_preset_can_sweep_and_be_restricted_by_set() {
    let bench = two();
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    let preset = "[presets.curve]\nabout = \"two streams, then sizes\"\nmin_blocks = 1\nmax_blocks = 1\n\
                  budget_seconds = 60\nparams = { seconds = 0.2 }\n\
                  sweep = [{ streams = [1, 2] }, { streams = [2], message_bytes = [64, 128] }]\n";
    bench.write("workloads/dummy.toml", &format!("{manifest}\n{preset}"));
    let cells = |more: &[&str]| {
        let mut arguments = vec!["run", "dummy", "one", "--preset", "curve"];
        arguments.extend(more);
        let seen = bench.netdyno(&arguments);
        assert_eq!(seen.code, 0, "{seen:?}");
        let report = bench.last();
        let pair = |c: &serde_json::Value| {
            (c["params"]["streams"].as_i64().unwrap(), c["params"]["message_bytes"].as_i64().unwrap())
        };
        report["cells"].as_array().unwrap().iter().map(pair).collect::<Vec<_>>()
    };
    // Combinations in both tables are measured once.
    assert_eq!(cells(&[]), [(1, 64), (2, 64), (2, 128)]);
    assert_eq!(cells(&["--set", "streams=3"]), [(3, 64), (3, 128)]);
    assert_eq!(cells(&["--sweep", "streams=4,5"]), [(4, 64), (5, 64)]);
}

#[test]
fn an_unsustained_load_is_reported_and_drawn() {
    let bench = two();
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    // More than any machine can count.
    let offered = "[params.rate]\nkind = \"integer\"\ndefault = 1000000000000\nabout = \"load\"\n\
                   [offered]\nparam = \"rate\"\nrole = \"sink\"\ncounter = \"messages\"\n";
    bench.write("workloads/dummy.toml", &format!("{manifest}\n{offered}"));
    let arguments = ["run", "dummy", "--sweep", "rate=0,1000000000000", "--max-blocks", "1"];
    let seen = bench.netdyno(&arguments);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("rate not sustained: "), "{seen:?}");
    let report = bench.last();
    let held: Vec<_> = report["cells"].as_array().unwrap().iter().map(|c| &c["load"]["held"]).collect();
    assert_eq!(
        held,
        [
            &serde_json::json!(null),
            &serde_json::json!(null),
            &serde_json::json!(false),
            &serde_json::json!(false)
        ]
    );
    let file = bench.path("plot.svg");
    let seen = bench.netdyno(&["plot", "last", "--x", "rate", "-o", file.to_str().unwrap()]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let svg = std::fs::read_to_string(&file).unwrap();
    // The rate was not sustained.
    assert!(svg.starts_with("<svg") && svg.contains("<circle class=\"point s0 hollow\""), "{svg}");
    let seen = bench.netdyno(&["plot", "last", "--x", "rat"]);
    assert!(seen.code == 2 && seen.stderr.contains("did you mean \"rate\"?"), "{seen:?}");
}

#[test]
fn one_cpu_for_both_roles_is_reported() {
    let bench = two();
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("{manifest}\n[one_cpu_max]\nstreams = 2\n"));
    let arguments = ["run", "dummy", "one", "--sweep", "streams=2,3", "--max-blocks", "1"];
    let command = bench.command(&arguments);
    let mut pinned = std::process::Command::new("taskset");
    pinned.args(["-c", "0"]).arg(command.get_program()).args(command.get_args());
    for (key, value) in command.get_envs() {
        pinned.env(key, value.unwrap_or_default());
    }
    if which::which("taskset").is_err() {
        crate::bench::skip("taskset(1)");
        return;
    }
    let seen = Seen::of(&pinned.output().unwrap());
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("streams=3 with both roles on one CPU"), "{seen:?}");
    assert!(seen.stdout.contains("--set streams=2"), "{seen:?}");
}

#[test]
fn a_killed_run_keeps_its_trials_and_is_resumed() {
    let bench = Bench::new(&[("one", None)]);
    bench.add_held("two");
    // On the host's network, as without privileges: that does not prevent resuming. No verdict is possible before the
    // third block.
    let arguments = ["run", "dummy", "--max-blocks", "3", "--net", "host", "--time-limits", "10"];
    let mut child = bench.command(&arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    bench.wait_for_trials(&mut child, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    bench.release();
    let before = bench.last();
    assert_eq!(before["run"]["status"], "running");
    let resumed = bench.netdyno(&["run", "--resume"]);
    assert_eq!(resumed.code, 0, "{resumed:?}");
    let after = bench.last();
    assert_eq!(after["run"]["id"], before["run"]["id"]);
    assert_eq!(after["run"]["blocks"], 3);
    for name in ["one", "two"] {
        let samples =
            |report: &serde_json::Value| cell(report, name)["metrics"]["throughput"]["samples"].clone();
        let (old, new) = (samples(&before), samples(&after));
        let (old, new) = (old.as_array().unwrap(), new.as_array().unwrap());
        assert_eq!(new.len(), 3);
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
fn a_run_of_another_machine_is_not_resumed() {
    let bench = two();
    let first = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--format", "json"]);
    assert_eq!(first.code, 0, "{first:?}");
    let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
    let mut run = store.load(bench.last()["run"]["id"].as_str().unwrap()).unwrap();
    run.header.id.push('0');
    run.header.host.cpu = "a CPU of another machine".to_owned();
    store.begin_run(&run.header, &run.cells).unwrap();
    store.set_status(&run.header.id, RunStatus::Interrupted, StopReason::Running).unwrap();
    drop(store);
    let seen = bench.netdyno(&["run", "--resume", &run.header.id]);
    assert_eq!(seen.code, 2, "{seen:?}");
    for part in ["another machine", "a CPU of another machine", "start a new run"] {
        assert!(seen.stderr.contains(part), "{part}: {seen:?}");
    }
}

#[test]
fn ctrl_c_ends_the_run_in_order() {
    let bench = Bench::new(&[("one", None)]);
    bench.add_held("two");
    let mut run = bench.command(&["run", "dummy", "--max-blocks", "20", "--time-limits", "10"]);
    let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bench.wait_for_trials(&mut child, 1);
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let seen = Seen::of(&child.wait_with_output().unwrap());
    assert_eq!(seen.code, 130, "{seen:?}");
    assert!(seen.stderr.contains("run --resume"), "{seen:?}");
    assert_eq!(bench.last()["run"]["status"], "interrupted");
}

/// No verdict is possible without a rival, so nothing can be decided before the last block.
#[test]
fn a_contender_without_rivals_gets_all_blocks() {
    let bench = Bench::new(&[("one", None)]);
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "5", "--set", "seconds=0.05"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let run = &bench.last()["run"];
    assert_eq!((&run["blocks"], &run["stopped_because"]), (&5.into(), &"block limit".into()), "{run}");
}

/// A run's id consists of the second of its start and of the seed.
#[test]
fn runs_of_one_second_and_seed_have_different_ids() {
    let bench = Bench::new(&[("one", None)]);
    let run =
        ["run", "dummy", "--max-blocks", "1", "--seed", "5", "--set", "seconds=0.05", "--format", "json"];
    let id = || {
        let seen = bench.netdyno(&run);
        assert_eq!(seen.code, 0, "{seen:?}");
        let report: serde_json::Value = serde_json::from_str(&seen.stdout).unwrap();
        report["run"]["id"].as_str().unwrap().to_owned()
    };
    let first = id();
    assert!(first.ends_with("-0005"), "{first}");
    // The ids of the next ten minutes are taken.
    let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
    let mut taken = store.load(&first).unwrap();
    let now = jiff::Timestamp::now();
    for seconds in 0..600 {
        let at = now + std::time::Duration::from_secs(seconds);
        taken.header.id = format!("{}-0005", at.strftime("%Y%m%d-%H%M%S"));
        // One of them may be the id of the first run.
        let _ = store.begin_run(&taken.header, &taken.cells);
    }
    drop(store);
    let second = id();
    assert!(second.ends_with("-0006"), "{second}");
}

#[test]
fn two_concurrent_runs_detect_each_other() {
    let (bench, other) = (Bench::new(&[("one", None)]), Bench::new(&[("one", None)]));
    bench.add_held("two");
    let mut run = bench.command(&["run", "dummy", "--max-blocks", "2", "--time-limits", "10"]);
    let mut first = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It is measuring, and continues to.
    bench.wait_for_trials(&mut first, 1);
    let second = other.netdyno(&["run", "dummy", "--max-blocks", "1"]);
    assert_eq!(second.code, 0, "{second:?}");
    bench.release();
    let first = Seen::of(&first.wait_with_output().unwrap());
    assert_eq!(first.code, 0, "{first:?}");
    let (id, other_id) = (bench.last()["run"]["id"].clone(), other.last()["run"]["id"].clone());
    for (report, seen, neighbour) in [(bench.last(), first, other_id), (other.last(), second, id)] {
        let neighbour = neighbour.as_str().unwrap();
        let warnings = report["warnings"].to_string();
        assert!(warnings.contains("another netdyno") && warnings.contains(neighbour), "{warnings}");
        assert!(seen.stderr.contains(neighbour), "{seen:?}");
    }
}

#[test]
fn the_first_named_contender_is_the_baseline_with_a_warning() {
    let bench = two();
    let seen = bench.netdyno(&["run", "dummy", "two", "one", "--max-blocks", "1"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("ratios are relative to two, the first one named"), "{seen:?}");
    let report = bench.last();
    let baselines: Vec<_> = report["verdicts"].as_array().unwrap().iter().map(|v| &v["baseline"]).collect();
    assert!(!baselines.is_empty() && baselines.iter().all(|b| **b == "two"), "{baselines:?}");
}

#[test]
fn prune_removes_only_outdated_builds() {
    let bench = Bench::new(&[("one", None)]);
    let run = ["run", "dummy", "--max-blocks", "1"];
    assert_eq!(bench.netdyno(&run).code, 0);
    let first = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    let builds = || std::fs::read_dir(bench.path("cache/builds")).unwrap().count();
    bench.write("contenders/dummy/one/source.c", "int changed;\n");
    assert_eq!(bench.netdyno(&run).code, 0);
    let second = bench.last()["run"]["id"].as_str().unwrap().to_owned();
    assert_eq!(builds(), 2);

    let seen = bench.netdyno(&["prune", "--keep", "1", "--dry-run"]);
    assert!(
        seen.stdout.contains("would remove build one-")
            && seen.stdout.contains("would remove 1 builds and inputs, "),
        "{seen:?}"
    );
    assert!(seen.stdout.contains(&format!("would remove run {first}")), "{seen:?}");
    assert_eq!(builds(), 2);
    let seen = bench.netdyno(&["prune", "--keep", "1", "--older-than", "1d"]);
    assert!(seen.code == 0 && seen.stdout.contains("removed 0 runs, "), "both are young: {seen:?}");
    assert_eq!(builds(), 1);
    let seen = bench.netdyno(&["prune", "--keep", "1"]);
    assert!(
        seen.stdout.contains("removed 0 builds and inputs, ")
            && seen.stdout.contains(&format!("removed run {first}")),
        "{seen:?}"
    );

    assert_eq!(bench.netdyno(&["show", &first]).code, 2);
    assert_eq!(bench.last()["run"]["id"], second.as_str());
    assert_eq!(bench.netdyno(&run).code, 0);
    assert_eq!(builds(), 1, "the current build was kept and serves");
}
