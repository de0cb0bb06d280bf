//! Partners: which contenders are compared, how that is reported, and what is measured of a single role.

use crate::bench::{Bench, Seen, cell};
use crate::duels::TURNS;

const METRICS: &str = r#"
[[metrics]]
name = "empty"
label = "empty RSS"
unit = "B"
better = "lower"
from = { meter = { field = "rss_bytes", of = "sink", at = "connected" } }

[[metrics]]
name = "growth"
label = "memory/message"
unit = "B"
better = "lower"
from = { meter_growth = { field = "rss_bytes", of = "sink", each = [["streams", "verify_messages"]], least = 1000000 } }
"#;

/// The standard source and another one; and sinks, which are compared.
fn bench() -> Bench {
    let bench = Bench::new(&[]);
    for (name, role) in [("feeder", "source"), ("other", "source"), ("one", "sink"), ("two", "sink")] {
        bench.add_in(name, None, &[role]);
    }
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("{manifest}{METRICS}\n[partners]\nsource = \"feeder\"\n"));
    bench
}

fn run(bench: &Bench, more: &[&str]) -> Seen {
    let arguments = ["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.2"];
    bench.netdyno(&[&arguments[..], more].concat())
}

fn labels(report: &serde_json::Value) -> Vec<&str> {
    report["cells"].as_array().unwrap().iter().map(|c| c["label"].as_str().unwrap()).collect()
}

#[test]
fn contenders_of_the_other_role_are_compared() {
    let bench = bench();
    let seen = run(&bench, &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("source of every cell: feeder "), "{seen:?}");
    let report = bench.last();
    assert_eq!(labels(&report), ["one", "two"]);
    assert_eq!(report["run"]["partners"]["source"], "feeder");
    let one = cell(&report, "one");
    assert_eq!((&one["roles"]["source"], &one["partners"][0]), (&"feeder".into(), &"source".into()));
    assert!(one["builds"]["other"].is_null() && !one["builds"]["feeder"].is_null(), "{one}");
    // Of the sink only, and before it started working.
    let (empty, both) = (&one["metrics"]["empty"], &one["metrics"]["peak_rss"]);
    assert!(empty["value"].as_f64() > Some(0.0) && empty["value"].as_f64() < both["value"].as_f64(), "{one}");
    assert_eq!(empty["per_role"].as_object().unwrap().keys().collect::<Vec<_>>(), ["sink"]);
    let growth = &one["metrics"]["growth"];
    assert!(growth["value"].is_null() && growth["source"].as_str().unwrap().contains("at least 1000000"));
    assert!(!seen.stdout.contains("memory/message") && seen.stdout.contains("empty RSS"), "{seen:?}");
}

#[test]
fn a_matrix_varies_the_partner_too() {
    let bench = bench();
    let seen = run(&bench, &["--matrix"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(labels(&bench.last()), ["one", "two", "other > one", "other > two"]);
    assert!(seen.stdout.contains("source unless a cell names another: feeder"), "{seen:?}");
    let of = |baseline: &str| {
        let seen = run(&bench, &["--matrix", "other", "one", "two", "--baseline", baseline]);
        (seen.code, bench.last()["verdicts"][0]["baseline"].clone())
    };
    assert_eq!((of("one"), of("two")), ((0, "other > one".into()), (0, "other > two".into())));
    let seen = run(&bench, &["--matrix", "other", "two"]);
    assert_eq!((seen.code, labels(&bench.last())), (0, vec!["other > two"]), "{seen:?}");
}

#[test]
fn each_side_of_a_duel_has_its_own_partner() {
    let bench = bench();
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    let turns =
        TURNS.replace("together = 3\n", "together = 3\nunder_way = [\"streams\", \"verify_messages\"]\n");
    bench.write("workloads/dummy.toml", &format!("{manifest}{turns}"));
    let seen = run(&bench, &[]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let report = bench.last();
    assert_eq!(report["run"]["compared_by"], "duels");
    assert_eq!(report["verdicts"][0]["baseline"], "one");
}

#[test]
fn a_contender_that_is_not_compared_is_named_with_the_remedy() {
    let bench = bench();
    for (more, part) in [
        (&["other", "one"][..], "other plays only the source, as feeder does for all others: --matrix"),
        (&["feeder"], "feeder plays the source for all others: leave it out"),
        (&["--baseline", "other"], "--matrix varies it"),
        (&["--against", "one"], "feeder plays the source for all here: --matrix"),
    ] {
        let seen = run(&bench, more);
        assert_eq!(seen.code, 2, "{seen:?}");
        assert!(seen.stderr.contains(part), "{more:?}: {seen:?}");
    }
    let listed = bench.netdyno(&["list", "dummy"]);
    for part in [
        "other (source only)",
        "feeder (partner: source)",
        "feeder plays the source for all contenders, unless --matrix is given",
    ] {
        assert!(listed.stdout.contains(part), "{listed:?}");
    }
}

#[test]
fn check_finds_contenders_for_the_other_roles() {
    let bench = bench();
    let seen = bench.netdyno(&["check", "one"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("feeder plays the source"), "{seen:?}");
    assert!(seen.stdout.contains("(the sink)"), "{seen:?}");
    // No partner is named for the sink: the baseline would be used.
    let seen = bench.netdyno(&["check", "other"]);
    assert!(seen.stdout.contains("skipped: does not play the role sink"), "{seen:?}");
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("baseline = \"two\"\n{manifest}"));
    let seen = bench.netdyno(&["check", "other"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("two plays the sink") && seen.stdout.contains("(the source)"), "{seen:?}");
}

/// A contender with both roles, one that interoperates only with itself, and a sink.
fn bench_of_stand_ins() -> Bench {
    let bench = Bench::new(&[("full", None), ("odd", None)]);
    bench.add_in("one", None, &["sink"]);
    let manifest = std::fs::read_to_string(bench.path("workloads/dummy.toml")).unwrap();
    bench.write("workloads/dummy.toml", &format!("{manifest}\n[stand_ins]\nsource = \"full\"\n"));
    let odd = std::fs::read_to_string(bench.path("contenders/dummy/odd/contender.toml")).unwrap();
    let odd = odd.replace("[implementation]", "alone = \"its own framing\"\n[implementation]");
    bench.write("contenders/dummy/odd/contender.toml", &odd);
    bench
}

#[test]
fn one_role_is_compared_with_the_same_partner_for_all() {
    let bench = bench_of_stand_ins();
    let seen = run(&bench, &["--role", "sink"]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stdout.contains("source of every cell: full "), "{seen:?}");
    let report = bench.last();
    assert_eq!(labels(&report), ["full", "one"], "nobody understands odd");
    assert_eq!(cell(&report, "one")["roles"]["source"], "full");
    assert_eq!(report["run"]["partners"]["source"], "full", "also when it is shown again");
    for (arguments, told) in [
        (
            &["--role", "sink", "odd", "one"][..],
            "odd works only with itself (its own framing), and here full plays the source",
        ),
        (&["--role", "source"], "no contender is given that plays the sink for all"),
        (&["--role", "sin"], "did you mean \"sink\"?"),
    ] {
        let seen = run(&bench, arguments);
        assert!(seen.code == 2 && seen.stderr.contains(told), "{arguments:?}: {seen:?}");
    }
}

#[test]
fn contenders_that_interoperate_only_with_themselves_are_not_mixed() {
    let bench = bench_of_stand_ins();
    assert_eq!((run(&bench, &[]).code, labels(&bench.last())), (0, vec!["full", "odd", "full > one"]));
    assert_eq!(run(&bench, &["--matrix"]).code, 0);
    assert_eq!(labels(&bench.last()), ["full", "full > one", "odd"]);
    // A contender without one of the roles cannot play alone.
    let path = "contenders/dummy/one/contender.toml";
    let one = std::fs::read_to_string(bench.path(path)).unwrap();
    bench.write(path, &one.replace("[implementation]", "alone = \"no\"\n[implementation]"));
    let seen = run(&bench, &["one"]);
    assert!(seen.code == 2 && seen.stderr.contains("must play all roles"), "{seen:?}");
}
