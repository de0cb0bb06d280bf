//! `explain` finds injected costs and identifies them.

use netdyno_lab_store::Store;
use serde_json::Value;

use crate::bench::{Bench, skip};

/// A bench with a plain dummy and one with these costs per message.
fn bench(costs: &[&str]) -> Bench {
    let bench = Bench::new(&[("plain", None), ("costly", None)]);
    let manifest = "contenders/dummy/costly/contender.toml";
    let text = std::fs::read_to_string(bench.path(manifest)).unwrap();
    let (head, sink) = text.split_once("[roles.sink]").unwrap();
    let costs: String = costs.iter().map(|cost| format!(", \"--cost={cost}\"")).collect();
    let sink = sink.replace("[\"netdyno\", \"dummy\"]", &format!("[\"netdyno\", \"dummy\"{costs}]"));
    bench.write(manifest, &format!("{head}[roles.sink]{sink}"));
    bench
}

/// Why there is no probe of this kind for the sink, if so.
fn looked(explained: &Value, kind: &str) -> Option<String> {
    let looks = explained["looks"].as_array().unwrap();
    let of_kind: Vec<&Value> = looks.iter().filter(|l| l["kind"] == kind && l["role"] == "sink").collect();
    assert_eq!(of_kind.len(), 2, "{looks:?}");
    of_kind.iter().find_map(|l| l["problem"].as_str()).map(str::to_owned)
}

/// The part of the difference with this name; the sink's if there are several roles.
fn cause<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let causes = explained["causes"].as_array().unwrap();
    let found = causes.iter().find(|c| c["name"] == name && c["role"] != "source");
    found.unwrap_or_else(|| panic!("no {name}: {explained:#}"))
}

/// A figure of the sink, on both sides.
fn row(explained: &Value, name: &str) -> (f64, f64) {
    let rows = explained["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["role"] == "sink" && r["name"] == name);
    let row = row.unwrap_or_else(|| panic!("no {name}: {rows:?}"));
    (row["a"].as_f64().unwrap(), row["b"].as_f64().unwrap())
}

/// Prints missing requirements of probes of this kind. Returns whether there are any.
fn has_looks(explained: &Value, kind: &str) -> bool {
    let why_not = looked(explained, kind);
    why_not.iter().for_each(|why| skip(&format!("{kind}: {why}")));
    why_not.is_none()
}

/// All costs at once, since every probe takes time and identifies one of them.
#[test]
fn injected_costs_are_found_and_identified() {
    let bench = bench(&["calls", "cpu", "allocations"]);
    let picture = bench.path("picture.svg").display().to_string();
    let explain = |more: &[&str]| {
        let usual = ["--format", "json", "-o", &picture];
        let seen = bench.netdyno(&[&["explain"], more, &usual].concat());
        assert_eq!(seen.code, 0, "{seen:?}");
        serde_json::from_str::<Value>(&seen.stdout).unwrap()
    };
    let short = ["--set", "seconds=0.3", "--set", "warmup_seconds=0", "--budget", "1s"];
    let explained = explain(&[&["dummy", "plain", "costly"][..], &short].concat());
    let summary = explained["summary"].to_string();

    if has_looks(&explained, "syscalls") {
        let (before, after) = row(&explained, "  getppid");
        // Probes start and end slightly outside the marks.
        assert!(before == 0.0 && (0.8..1.2).contains(&after), "{after}: {explained:#}");
        assert!(summary.contains("getppid"), "{explained:#}");
    }
    if has_looks(&explained, "allocations") {
        let (count_before, count) = row(&explained, "allocations");
        let (_, bytes) = row(&explained, "allocated");
        assert!(count_before < 0.1 && (2.4..3.6).contains(&count), "{count_before} {count}");
        assert!((480.0..720.0).contains(&bytes), "{bytes}");
        assert!(summary.contains("allocations of the sink"), "{explained:#}");
    }
    let has_profile = has_looks(&explained, "profile");
    assert_eq!(std::fs::exists(&picture).unwrap(), has_profile);
    if has_profile {
        let own = cause(&explained, "own code");
        assert!(own["b_ns"].as_f64() > own["a_ns"].as_f64().map(|ns| 2.0 * ns), "{explained:#}");
        // In a debug build, callees may have the arithmetic; the picture shows both.
        let picture = std::fs::read_to_string(&picture).unwrap();
        assert!(picture.contains("planted_arithmetic: plain 0.0 ns"), "{picture}");
    }

    // A repetition uses the stored probes.
    assert_eq!(explain(&["last", "plain", "costly", "--no-look"]), explained);
    let table = bench.netdyno(&["explain", "last", "plain", "costly", "-o", &picture]);
    assert!(table.code == 0 && table.stdout.contains("Breakdown of the difference"), "{table:?}");
    assert!(!table.stderr.contains("profiling"), "what is known is not looked at again: {table:?}");
}

#[test]
fn a_sleep_is_waiting() {
    // The run itself shows it.
    let arguments =
        ["explain", "dummy", "plain", "costly", "--no-look", "--format", "json", "--budget", "1s"];
    let seen = bench(&["sleep"]).netdyno(&arguments);
    assert_eq!(seen.code, 0, "{seen:?}");
    let explained: Value = serde_json::from_str(&seen.stdout).unwrap();
    let (before, after) = row(&explained, "waiting");
    assert!(after - before > 40_000.0, "{before} {after}");
    assert!(cause(&explained, "waiting")["share"].as_f64().unwrap() > 0.5, "{explained:#}");
}

#[test]
fn an_unknown_contender_is_rejected_with_the_known_ones() {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let seen = bench.netdyno(&["explain", "nowhere", "one", "two"]);
    assert!(seen.code == 2 && seen.stderr.contains("nowhere"), "{seen:?}");
    let run = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.2"]);
    assert_eq!(run.code, 0, "{run:?}");
    let seen = bench.netdyno(&["explain", "last", "one", "three", "--no-look"]);
    assert!(seen.code == 2 && seen.stderr.contains("known: one, two"), "{seen:?}");
    let seen = bench.netdyno(&["explain", "last", "one", "two", "--no-look"]);
    assert!(seen.code == 0 && seen.stdout.contains("sink: on CPU"), "{seen:?}");
}

/// Figures of one machine do not explain those of another.
#[test]
fn a_run_of_another_machine_is_not_profiled() {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let run = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.1"]);
    assert_eq!(run.code, 0, "{run:?}");
    let mut store = Store::open(&bench.path("store/runs.db")).unwrap();
    let mut run = store.load(bench.last()["run"]["id"].as_str().unwrap()).unwrap();
    run.header.host.cpu = "a CPU of another machine".to_owned();
    store.update_header(&run.header).unwrap();
    drop(store);
    let picture = bench.path("picture.svg").display().to_string();
    let seen = bench.netdyno(&["explain", "last", "one", "two", "--format", "json", "-o", &picture]);
    assert_eq!(seen.code, 0, "{seen:?}");
    let explained: Value = serde_json::from_str(&seen.stdout).unwrap();
    let warnings = explained["warnings"].to_string();
    assert!(warnings.contains("not profiled: ") && warnings.contains("another machine"), "{warnings}");
    assert_eq!(explained["looks"].as_array().map(Vec::len), Some(0), "{explained:#}");
}

/// An equalised property is measured, or the reason why it cannot be is printed.
#[test]
fn an_equalised_property_is_verified_before_it_is_measured() {
    let bench = bench(&["allocations"]);
    let arguments =
        ["--equalise", "rcvbuf,gso,allocator", "--set", "seconds=0.2", "--budget", "1s", "--format", "json"];
    let picture = bench.path("picture.svg").display().to_string();
    let seen = bench
        .netdyno(&[&["explain", "dummy", "plain", "costly", "-o", &picture][..], &arguments[..]].concat());
    assert_eq!(seen.code, 0, "{seen:?}");
    let explained: Value = serde_json::from_str(&seen.stdout).unwrap();
    let all = explained["equalised"].as_array().unwrap();
    let how: Vec<&str> = all.iter().filter_map(|e| e["how"].as_str()).collect();
    let [rcvbuf, gso, allocator] = how[..] else { panic!("{all:?}") };
    assert!(
        rcvbuf.contains("no contender sets a receive buffer") || rcvbuf.contains("apt-get install"),
        "{rcvbuf}"
    );
    // A dummy sends nothing.
    assert!(
        gso.contains("no contender uses segmentation offload") || gso.contains("no private network"),
        "{gso}"
    );
    if allocator.contains("apt-get install") {
        return skip(&format!("the allocator: {allocator}"));
    }
    assert!(allocator.contains("every process of both sides"), "{allocator}");
    assert!(all[2]["before"]["value"].is_number() && all[2]["after"]["value"].is_number(), "{all:?}");
    assert_eq!(all[2]["runs"].as_array().unwrap().len(), 2);
    // The report of the equalised run has a warning.
    assert!(bench.last()["warnings"].to_string().contains("allocator was equalised"), "{:#}", bench.last());
}
