//! Invalid requests and host problems are reported with a remedy.

use crate::bench::Bench;

fn check(bench: &Bench, arguments: &[&str], code: i32, part: &str) {
    let seen = bench.netdyno(arguments);
    assert_eq!(seen.code, code, "{arguments:?}: {seen:?}");
    let all = format!("{}{}", seen.stdout, seen.stderr);
    assert!(all.contains(part), "{arguments:?}: want {part:?} in {all}");
}

#[test]
fn names_and_values() {
    let bench = Bench::new(&[("good", None)]);
    for (arguments, part) in [
        (&["run", "dumy"][..], "did you mean \"dummy\"?"),
        (&["run", "good"], "a contender of dummy; use `dummy good`"),
        (&["run", "dummy", "god"], "did you mean \"good\"?"),
        (&["run", "dummy", "--set", "stream=1"], "did you mean \"streams\"?"),
        (&["run", "dummy", "--set", "streams=x"], "not a whole number"),
        (&["run", "dummy", "--preset", "standrd"], "did you mean \"standard\"?"),
        (&["run", "dummy", "--baseline", "godo"], "did you mean \"good\"?"),
        (&["run", "dummy", "--net", "veth,loss=x"], "5%"),
        (&["run", "dummy", "--net", "veth,jitter=1ms"], "delay="),
        (&["run", "dummy", "--budget", "soon"], "15m"),
        (&["run", "dummy", "--net", "veth,delay=soon"], "50ms"),
        (&["history", "-n", "0"], "0 is not in 1.."),
        (&["run"], "WORKLOAD"),
        (&["run", "--resume", "2031"], "no run"),
        (&["check", "bad"], "unknown contender"),
        (&["show"], "no run"),
        (&["plot", "last", "--x", "streams"], "no run"),
        (&["plot", "last", "-o", "x.gif"], "name it x.svg"),
        (&["list", "--format", "html"], "possible values: table, json, markdown"),
        (&["run", "dummy", "--memory-limit", "10"], "write 10MiB or 10GiB"),
        (&["run", "dummy", "--against", "god"], "did you mean \"good\"?"),
        (&["new", "--workload", "dummy", "--language", "cobol", "x"], "unknown language"),
    ] {
        check(&bench, arguments, 2, part);
    }
}

/// Contenders of two workloads may have the same name.
#[test]
fn a_known_name_is_listed_once() {
    let bench = Bench::new(&[("good", None)]);
    let rename = |text: &str| text.replacen("\"dummy\"", "\"other\"", 1);
    for (from, to) in [
        ("workloads/dummy.toml", "workloads/other.toml"),
        ("contenders/dummy/good/contender.toml", "contenders/other/good/contender.toml"),
    ] {
        let text = std::fs::read_to_string(bench.path(from)).unwrap();
        bench.write(to, &rename(&text));
    }
    check(&bench, &["check", "other/good"], 0, "good");
    check(&bench, &["check", "nobody"], 2, "known: good\n");
}

#[test]
fn nothing_that_can_run() {
    let bench = Bench::new(&[("absent", Some("unsupported"))]);
    check(&bench, &["run", "dummy"], 4, "no role");
    let text = std::fs::read_to_string(bench.path("contenders/dummy/absent/contender.toml")).unwrap();
    bench.write(
        "contenders/dummy/absent/contender.toml",
        &text.replace("program = \"netdyno\"", "program = \"no-such-thing\""),
    );
    check(&bench, &["run", "dummy"], 4, "apt-get install netdyno");
    check(&bench, &["list"], 0, "no-such-thing not found");
    bench.write(
        "contenders/dummy/other/contender.toml",
        &text
            .replace("\"absent\"", "\"other\"")
            .replace("program = \"netdyno\", apt = \"netdyno\"", "program = \"no-such\", apt = \"other\""),
    );
    let both = "apt-get install netdyno other\n";
    check(&bench, &["run", "dummy"], 4, &format!("to measure the skipped contenders too:\n  {both}"));
    check(&bench, &["doctor"], 0, "to install everything missing: apt-get install ");
}

#[test]
fn a_broken_manifest_does_not_hide_others() {
    let bench = Bench::new(&[("good", None)]);
    bench.write("contenders/dummy/broken/contender.toml", "name = 3\n");
    let seen = bench.netdyno(&["run", "dummy", "--max-blocks", "1"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stderr.contains("contenders/dummy/broken/contender.toml"), "{seen:?}");
    check(&bench, &["doctor"], 2, "contenders/dummy/broken/contender.toml");
    for arguments in [&["run", "dummy", "broken"][..], &["check", "broken"], &["check", "dummy/broken"]] {
        let seen = bench.netdyno(arguments);
        assert_eq!(seen.code, 2, "{seen:?}");
        let told = seen.stderr.matches("contenders/dummy/broken/contender.toml").count();
        assert!(told == 1 && !seen.stderr.contains("known"), "{arguments:?}: {seen:?}");
    }
}

#[test]
fn an_unwritable_store_or_cache() {
    let bench = Bench::new(&[("good", None)]);
    bench.write("file", "");
    for (variable, part) in [("NETDYNO_STORE", "set NETDYNO_STORE"), ("NETDYNO_CACHE", "set NETDYNO_CACHE")] {
        let mut command = bench.command(&["run", "dummy"]);
        let output = command.env(variable, bench.path("file/inside")).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert_eq!(output.status.code(), Some(2), "{variable}: {stderr}");
        assert!(stderr.contains(&part.to_lowercase()), "{variable}: {stderr}");
    }
}

#[test]
fn help_has_examples_and_completions_are_scripts() {
    let bench = Bench::new(&[]);
    for verb in [
        "run", "list", "doctor", "check", "new", "show", "plot", "prune", "compare", "export", "import",
        "replay",
    ] {
        check(&bench, &[verb, "--help"], 0, "Example");
    }
    check(&bench, &["completions", "bash"], 0, "_netdyno");
    check(&bench, &["--help"], 0, "Exit codes");
}
