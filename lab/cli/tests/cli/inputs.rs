//! Inputs of a trial's roles: generated once per parameters, complete or absent, with errors reported.

use std::path::PathBuf;

use crate::bench::{Bench, Seen, cell, skip};

/// Parameters that determine the input, and one that does not.
const INPUT: &str = r#"
[inputs.words]
about = "what the sink is to say"
params = ["count", "mode"]

[inputs.words.build]
tool = "cc"

[params.count]
kind = "integer"
default = 3
about = "messages described by the input"

[params.mode]
kind = "text"
default = "good"
choices = ["good", "other", "silent", "lying", "failing", "nothing"]
about = "what the program does"
"#;

/// Writes the printed line, and records the call in the parent folder.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <string.h>

static void tell(FILE *to, const char *count, char digit) {
    fputs("{\"digest\":\"", to);
    for (int i = 0; i < 64; i++)
        fputc(digit, to);
    fprintf(to, "\",\"messages\":%s,\"bytes\":7}\n", count);
}

int main(int argc, char **argv) {
    const char *count = strchr(argv[2], '=') + 1, *mode = strchr(argv[3], '=') + 1;
    FILE *ran = fopen("../ran", "a"), *file = strcmp(mode, "nothing") ? fopen(argv[1], "w") : NULL;
    fprintf(ran, "%s %s %d\n", count, mode, argc);
    fclose(ran);
    if (file)
        tell(file, count, 'a');
    if (strcmp(mode, "failing") == 0) {
        fputs("out of words\n", stderr);
        return 1;
    }
    if (strcmp(mode, "silent"))
        tell(stdout, count, strcmp(mode, "lying") ? 'a' : 'b');
    return 0;
}
"#;

/// A workload whose gate expects the result of an input; none without a C compiler.
fn bench() -> Option<Bench> {
    if std::process::Command::new("cc").arg("--version").output().is_err() {
        skip("cc");
        return None;
    }
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    let told = "messages = \"verify_messages\"\nmessage_bytes = \"message_bytes\"\n";
    assert!(manifest.contains(told));
    bench.write("workloads/dummy.toml", &(manifest.replace(told, "input = \"words\"\n") + INPUT));
    bench.write("workloads/dummy/words/main.c", PROGRAM);
    Some(bench)
}

fn run(bench: &Bench, more: &[&str]) -> Seen {
    let arguments = ["run", "dummy", "--max-blocks", "2", "--set", "seconds=0.2"];
    bench.netdyno(&[&arguments[..], more].concat())
}

/// The calls of the program: its arguments and their number.
fn ran(bench: &Bench) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path("cache/inputs/ran")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn entries(bench: &Bench) -> Vec<PathBuf> {
    let all = std::fs::read_dir(bench.path("cache/inputs")).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.is_dir()).collect()
}

#[test]
fn an_input_is_generated_once_for_its_parameters() {
    let Some(bench) = bench() else { return };
    let seen = run(&bench, &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(ran(&bench), ["3 good 4"], "one program for both contenders and blocks");
    let report = bench.last();
    assert_eq!(cell(&report, "one")["inputs"]["words"]["messages"], 3, "{report}");
    assert_eq!(run(&bench, &["--set", "streams=1"]).code, 0);
    assert_eq!(ran(&bench).len(), 1, "streams decides nothing");
    assert_eq!(run(&bench, &["--sweep", "count=3,4"]).code, 0);
    assert_eq!(ran(&bench), ["3 good 4", "4 good 4"]);
    let checked = bench.netdyno(&["check", "one"]);
    assert!(checked.code == 0 && checked.stdout.contains("1 passed"), "{checked:?}");
    assert_eq!(ran(&bench).len(), 2);
    let listed = bench.netdyno(&["list", "dummy"]).stdout;
    assert!(listed.contains("what the sink is to say"), "{listed}");
}

#[test]
fn an_incomplete_input_is_generated_again() {
    let Some(bench) = bench() else { return };
    assert_eq!(run(&bench, &[]).code, 0);
    let [entry] = &entries(&bench)[..] else { panic!("one input") };
    // The state after a kill: no record yet, and the file not moved into place.
    std::fs::remove_file(entry.join("input.json")).unwrap();
    std::fs::rename(entry.join("file"), entry.join("file.partial")).unwrap();
    assert_eq!(run(&bench, &[]).code, 0);
    assert_eq!(ran(&bench).len(), 2);
    assert!(!entry.join("file.partial").exists());
    // A file whose length differs from its record.
    std::fs::write(entry.join("file"), "{").unwrap();
    assert_eq!(run(&bench, &[]).code, 0);
    assert_eq!(ran(&bench).len(), 3);
}

#[test]
fn errors_of_the_program_are_reported() {
    let Some(bench) = bench() else { return };
    for (mode, told) in [
        ("failing", "out of words"),
        ("silent", "did not print a line {\"digest\""),
        ("nothing", "did not write the requested file"),
        ("lying", "gate: wrong digest"),
    ] {
        let seen = run(&bench, &["one", "--set", &format!("mode={mode}")]);
        assert_eq!(seen.code, 3, "{mode}: {seen:?}");
        assert!(seen.stdout.contains(told) || seen.stderr.contains(told), "{mode}: {seen:?}");
    }
    let finished = |entry: &PathBuf| entry.join("input.json").exists();
    assert_eq!(entries(&bench).iter().filter(|entry| finished(entry)).count(), 1, "the lying one's alone");
}

#[test]
fn prune_removes_inputs_of_another_program() {
    let Some(bench) = bench() else { return };
    assert_eq!(run(&bench, &[]).code, 0);
    let current = bench.netdyno(&["prune"]);
    assert!(current.stdout.contains("removed 0 builds and inputs, "), "{current:?}");
    bench.write("workloads/dummy/words/main.c", &format!("{PROGRAM}\nint changed;\n"));
    let seen = bench.netdyno(&["prune", "--dry-run"]);
    assert!(seen.stdout.contains("would remove input words-"), "{seen:?}");
    let seen = bench.netdyno(&["prune"]);
    assert!(
        seen.stdout.contains("removed build words-") && seen.stdout.contains("removed input words-"),
        "{seen:?}"
    );
    assert_eq!(entries(&bench).len(), 0);
    assert_eq!(run(&bench, &[]).code, 0);
}

#[test]
fn an_invalid_input_is_rejected() {
    let bench = Bench::new(&[("one", None)]);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap() + INPUT;
    for (from, to, told) in [
        ("params = [\"count\"", "params = [\"coun\"", "inputs.words.params[0]: unknown parameter \"coun\""),
        ("tool = \"cc\"", "tool = \"pip\"", "pip builds no program"),
        (
            "messages = \"verify_messages\"",
            "input = \"words\"\nmessages = 1",
            "gate.messages: the input provides it",
        ),
        ("messages = \"verify_messages\"", "", "gate.messages: missing"),
        ("messages = \"verify_messages\"", "input = \"word\"", "gate.input: unknown input \"word\""),
    ] {
        assert!(manifest.contains(from));
        bench.write("workloads/dummy.toml", &manifest.replace(from, to));
        let seen = bench.netdyno(&["run", "dummy"]);
        assert!(seen.code == 2 && seen.stderr.contains(told), "{told}: {seen:?}");
    }
}
