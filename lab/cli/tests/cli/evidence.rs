//! `--fail-on` where evidence is missing: each way has its own exit code or is named, and none is a silent success. Ways that
//! depend on the speed of the machine are tested with stored runs (`cmd/fail_conditions_tests.rs`).

use std::process::Command;

use crate::authors::{commit, git, in_one_line, repository};
use crate::bench::{Bench, Seen, skip};

const SHORT: [&str; 6] = ["--set", "seconds=0.04", "--set", "warmup_seconds=0", "--fail-on", "regression=3%"];
/// Enough for one session, which decides nothing.
const LITTLE: [&str; 2] = ["--budget", "10ms"];
/// The parameter of an offered load.
const LOAD: &str = "[params.rate]\nkind = \"integer\"\ndefault = 0\nabout = \"load\"\n\
                    [offered]\nparam = \"rate\"\nrole = \"sink\"\ncounter = \"messages\"\n";
/// Sleeps in each message, so that no machine handles 20,000 of them in a second; the steps take less time.
const SLOW: &str = "\"--steps=1\", \"--cost=sleep\"";
const FAST: &str = "\"--steps=1\"";
const RATE: [&str; 2] = ["--set", "rate=40000"];

/// A name, the sink's arguments on both sides, further arguments of `netdyno`, the exit code, and parts of the output.
type Row<'a> = (&'a str, [&'a str; 2], &'a [&'a str], i32, &'a [&'a str]);

/// Adds a contender whose sink has these arguments.
fn add(bench: &Bench, name: &str, arguments: &str) {
    bench.add(name, None);
    let file = format!("contenders/dummy/{name}/contender.toml");
    let text = std::fs::read_to_string(bench.path(&file)).unwrap();
    let (head, sink) = text.split_once("[roles.sink]").unwrap();
    let comma = if arguments.is_empty() { "" } else { ", " };
    let sink = sink.replace("\"dummy\"]", &format!("\"dummy\"{comma}{arguments}]"));
    bench.write(&file, &format!("{head}[roles.sink]{sink}"));
}

/// A repository in which the contender's sink has these arguments at `HEAD~1` and at `HEAD`.
fn revisions(from: &str, to: &str) -> Bench {
    let bench = repository();
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    let (head, turns) = manifest.split_once("[turns]").unwrap();
    bench.write("workloads/dummy.toml", &format!("{head}{LOAD}\n[turns]{turns}"));
    for (text, arguments) in [("1", from), ("2", to)] {
        add(&bench, "one", arguments);
        bench.write("contenders/dummy/one/source.c", text);
        commit(&bench);
    }
    bench
}

/// The arguments that compare them.
fn compare<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let revisions = ["compare", "dummy", "one", "--rev", "HEAD~1", "--rev", "HEAD", "--format", "markdown"];
    [&revisions[..], &SHORT, more].concat()
}

fn check(what: &str, seen: &Seen, code: i32, parts: &[&str]) {
    let all = in_one_line(&format!("{}{}", seen.stdout, seen.stderr));
    assert_eq!(seen.code, code, "{what}: {seen:?}");
    for part in parts {
        assert!(all.contains(part), "{what}: want {part:?} in {seen:?}");
    }
}

#[test]
fn a_comparison_without_evidence_fails_or_says_so() {
    const UNSUPPORTED: &str = "\"--fault=unsupported\"";
    const CRASH: &str = "\"--fault=crash\"";
    let undecided = [&LITTLE[..], &["--fail-on", "undecided"]].concat();
    let loaded = [&RATE[..], &LITTLE].concat();
    let rows: [Row<'_>; 10] = [
        ("crash", ["", CRASH], &LITTLE, 3, &["**Regression**", "failed: the sink", "SIGABRT"]),
        ("crash of the base", [CRASH, ""], &LITTLE, 3, &["**Not compared**", "SIGABRT"]),
        ("unsupported", ["", UNSUPPORTED], &LITTLE, 5, &["**Regression**", "cannot run: the sink: no role"]),
        (
            "supported now",
            [UNSUPPORTED, ""],
            &LITTLE,
            0,
            &["**No regression**", "cannot run: the sink: no role"],
        ),
        ("unsupported by both", [UNSUPPORTED; 2], &LITTLE, 4, &["**Not compared**", "no role"]),
        (
            "load missed",
            [FAST, SLOW],
            &loaded,
            5,
            &["**Regression**", "offered load was not sustained, unlike"],
        ),
        ("load held now", [SLOW, FAST], &loaded, 0, &["**No regression**", "offered load was not sustained"]),
        (
            "load missed by both",
            [SLOW; 2],
            &loaded,
            6,
            &["**Not compared**", "offered load was not sustained"],
        ),
        ("little budget", ["", ""], &LITTLE, 0, &["**Undecided**", "(no interval yet)"]),
        ("undecided", ["", ""], &undecided, 5, &["**Undecided**", "(no interval yet)"]),
    ];
    for (what, [from, to], more, code, parts) in rows {
        let seen = revisions(from, to).netdyno(&compare(more));
        check(what, &seen, code, parts);
    }
}

/// A build of only one side also has a comment, which replaces an earlier one.
#[test]
fn a_revision_that_cannot_be_built_is_named_in_the_comment() {
    let bench = revisions("", "");
    let file = "contenders/dummy/one/contender.toml";
    let text = std::fs::read_to_string(bench.path(file)).unwrap();
    let needs = text.replace(
        "{ program = \"netdyno\", apt = \"netdyno\" }",
        "{ program = \"absent\", apt = \"absent\" }",
    );
    bench.write(file, &needs);
    commit(&bench);
    let parts =
        ["### dummy: one@HEAD against one@HEAD~1", "**Not compared**", "absent not found on the PATH"];
    check("head", &bench.netdyno(&compare(&[])), 3, &parts);
    git(&bench, &["revert", "--no-edit", "HEAD"]);
    check("base", &bench.netdyno(&compare(&[])), 3, &parts);
}

#[test]
fn a_run_without_evidence_fails() {
    let undecided = ["--fail-on", "undecided"];
    let rows: [Row<'_>; 6] = [
        ("crash", ["", "\"--fault=crash\""], &[], 3, &["SIGABRT", "failed: the sink"]),
        ("crash of the baseline", ["\"--fault=crash\"", ""], &[], 3, &["SIGABRT", "could not be compared"]),
        ("unsupported", ["", "\"--fault=unsupported\""], &[], 5, &["cannot run: the sink: no role"]),
        (
            "baseline unsupported",
            ["\"--fault=unsupported\"", ""],
            &[],
            6,
            &["could not be compared", "no role"],
        ),
        (
            "unsupported by both",
            ["\"--fault=unsupported\""; 2],
            &[],
            4,
            &["could not be compared", "no role"],
        ),
        ("one block", ["", ""], &undecided, 5, &["(no interval yet): undecided"]),
    ];
    for (what, [base, head], more, code, parts) in rows {
        let bench = Bench::new(&[]);
        add(&bench, "base", base);
        add(&bench, "head", head);
        let run = ["run", "dummy", "--baseline", "base", "--max-blocks", "1"];
        check(what, &bench.netdyno(&[&run[..], &SHORT, more].concat()), code, parts);
    }
    // Only the baseline is left.
    let bench = Bench::new(&[]);
    add(&bench, "base", "");
    let run = ["run", "dummy", "base", "--max-blocks", "1"];
    check(
        "alone",
        &bench.netdyno(&[&run[..], &SHORT].concat()),
        6,
        &["no contender was compared with a baseline"],
    );
}

/// Without the privilege for network namespaces, the roles share the host's network, which the comment says; a workload that
/// needs a link cannot run.
#[test]
fn a_missing_network_namespace_is_named() {
    let bench = revisions("", "");
    for (more, code, part) in [
        (&LITTLE[..], 0, "no privilege for network namespaces"),
        (&["--net", "veth"], 2, "network namespaces"),
    ] {
        let netdyno = bench.command(&compare(more));
        let mut command = Command::new("unshare");
        command
            .args(["-Ur", "sh", "-c", "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$0\" \"$@\""])
            .arg(netdyno.get_program())
            .args(netdyno.get_args());
        for (key, value) in netdyno.get_envs() {
            command.env(key, value.unwrap_or_default());
        }
        let seen = match command.output() {
            Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("unshare: ") => Seen::of(&output),
            _ => return skip("unshare(1) and user namespaces"),
        };
        check(part, &seen, code, &[part]);
    }
}
