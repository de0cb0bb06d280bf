//! A first look from outside: shown before a long build, part of the run, and omitted if nothing is built.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::bench::{Bench, Seen, cell};
use crate::duels::TURNS;

/// Two contenders that build immediately, and `slow`, whose expected build time is a minute.
fn bench() -> Bench {
    let bench = Bench::new(&[("one", None), ("two", None), ("slow", None)]);
    edit(&bench, "contenders/dummy/slow/contender.toml", |text| {
        text.replace("[build]", "[build]\nseconds = 60")
    });
    bench
}

fn edit(bench: &Bench, file: &str, change: impl Fn(&str) -> String) {
    let text = std::fs::read_to_string(bench.path(file)).unwrap();
    bench.write(file, &change(&text));
}

fn has_cc() -> bool {
    let has = ["cc", "pkg-config"].iter().all(|program| which::which(program).is_ok());
    if !has {
        crate::bench::skip("cc and pkg-config");
    }
    has
}

const RUN: [&str; 7] = ["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.1", "--format=json"];

#[test]
fn a_first_look_names_the_built_contenders_and_the_final_table_has_all() {
    let bench = bench();
    let seen = bench.netdyno(&RUN);
    assert_eq!(seen.code, 0, "{seen:?}");
    let (before, after) =
        seen.stderr.split_once("First look: 2 of 3 contenders; 1 more is being built\n").unwrap();
    assert!(before.contains("block 2 of at most 2: 2 trials"), "{seen:?}");
    let (look, after) = after.split_once("build 3 of 3: slow").unwrap();
    assert!(look.contains("2 blocks so far") && look.contains("not measured yet: slow"), "{look}");
    assert!(after.contains("block 2 of at most 2: 3 trials"), "{after}");
    let report: Value = serde_json::from_str(&seen.stdout).unwrap();
    // The blocks of the first look are separate from those of the run, which have all contenders.
    for (name, trials) in [("one", 4), ("two", 4), ("slow", 2)] {
        assert_eq!(
            (&cell(&report, name)["status"], &cell(&report, name)["trials"]),
            (&"ok".into(), &trials.into())
        );
    }
    let again = bench.netdyno(&RUN);
    assert!(again.code == 0 && !again.stderr.contains("First look"), "all is in the cache: {again:?}");
}

#[test]
fn sessions_of_a_first_look_are_sessions_of_the_run() {
    let bench = bench();
    edit(&bench, "workloads/dummy.toml", |text| format!("{text}{TURNS}"));
    let seen = bench.netdyno(&RUN);
    assert_eq!(seen.code, 0, "{seen:?}");
    let (_, look) = seen.stderr.split_once("First look: 2 of 3 contenders").unwrap();
    assert!(look.contains("duels, 2 sessions of 5 turns"), "{look}");
    let report: Value = serde_json::from_str(&seen.stdout).unwrap();
    for (name, sessions) in [("one", 4), ("two", 2), ("slow", 2)] {
        assert_eq!(cell(&report, name)["turns"]["sessions"], sessions, "{name}: {report}");
    }
    assert!(report["verdicts"].as_array().unwrap().iter().all(|v| v["blocks"] == 2), "{report}");
}

#[test]
fn without_the_baseline_there_is_no_first_look() {
    if !has_cc() {
        return;
    }
    let bench = bench();
    edit(&bench, "contenders/dummy/one/contender.toml", |text| text.replace("\"system\"", "\"cc\""));
    bench.write("contenders/dummy/one/main.c", "no C\n");
    let seen = bench.netdyno(&[&RUN[..], &["--baseline", "one"]].concat());
    assert!(seen.code == 3 && !seen.stderr.contains("First look"), "{seen:?}");
    assert_eq!(cell(&bench.last(), "slow")["status"], "ok");
}

/// A compiler waits for data from this pipe.
fn wait_for_a_pipe(bench: &Bench, contenders: &[&str]) -> std::path::PathBuf {
    let pipe = bench.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let source = format!("#include \"{}\"\nint main(void) {{ return 0; }}\n", pipe.display());
    for name in contenders {
        let manifest = format!("contenders/dummy/{name}/contender.toml");
        edit(bench, &manifest, |text| text.replace("\"system\"", "\"cc\""));
        bench.write(&format!("contenders/dummy/{name}/main.c"), &source);
    }
    pipe
}

#[test]
fn two_contenders_are_built_at_a_time() {
    if !has_cc() {
        return;
    }
    let bench = Bench::new(&[("one", None), ("two", None), ("three", None)]);
    let pipe = wait_for_a_pipe(&bench, &["two", "three"]);
    let mut run = bench.command(&RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    // Both wait for the pipe, so both are repeated after a silence.
    let told = lines.find(|line| line.starts_with("still building")).unwrap();
    assert!(["three and two", "two and three"].iter().any(|both| told.contains(both)), "{told}");
    std::fs::write(pipe, "").unwrap();
    let told: Vec<String> = lines.collect();
    let status = run.wait().unwrap();
    assert!(status.success() && told.iter().any(|line| line.contains("two: built in ")), "{told:?}");
}

#[test]
fn a_run_interrupted_after_the_first_look_continues_without_another() {
    if !has_cc() {
        return;
    }
    let bench = bench();
    let pipe = wait_for_a_pipe(&bench, &["slow"]);
    let mut run = bench.command(&RUN).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(run.stderr.take().unwrap()).lines().map(Result::unwrap);
    let told: Vec<String> = lines.take_while(|line| !line.ends_with("build 3 of 3: slow")).collect();
    assert!(told.iter().any(|line| line.starts_with("First look: 2 of 3")), "{told:?}");
    kill(Pid::from_raw(i32::try_from(run.id()).unwrap()), Signal::SIGINT).unwrap();
    let seen = Seen::of(&run.wait_with_output().unwrap());
    let report: Value = serde_json::from_str(&seen.stdout).unwrap();
    assert_eq!((seen.code, &report["run"]["status"]), (130, &"interrupted".into()), "{seen:?}");
    assert_eq!(cell(&report, "two")["trials"], 2);

    std::fs::remove_file(&pipe).unwrap();
    bench.write("pipe", "");
    let resumed = bench.netdyno(&["run", "--resume", "--format=json"]);
    assert!(resumed.code == 0 && !resumed.stderr.contains("First look"), "{resumed:?}");
    let report: Value = serde_json::from_str(&resumed.stdout).unwrap();
    for (name, trials) in [("one", 4), ("two", 4), ("slow", 2)] {
        assert_eq!(cell(&report, name)["trials"], trials, "{name}: {report}");
    }
}
