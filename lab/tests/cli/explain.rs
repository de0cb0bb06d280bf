//! `explain` finds costs that were put in, and names them.

use serde_json::Value;

use crate::bench::{Bench, skip};

/// A bench with a plain dummy, and one that also pays this for each message.
fn bench(cost: &str) -> Bench {
    let bench = Bench::new(&[("plain", None), (cost, None)]);
    let manifest = format!("contenders/dummy/{cost}/contender.toml");
    let text = std::fs::read_to_string(bench.path(&manifest)).unwrap();
    let (head, sink) = text.split_once("[roles.sink]").unwrap();
    let sink =
        sink.replace("[\"netdyno\", \"dummy\"]", &format!("[\"netdyno\", \"dummy\", \"--cost={cost}\"]"));
    bench.write(&manifest, &format!("{head}[roles.sink]{sink}"));
    bench
}

/// The explanation of such a pair, measured in short windows, and the picture where there is one.
fn explanation(cost: &str) -> (Value, Option<String>) {
    let bench = bench(cost);
    let picture = bench.path("picture.svg").display().to_string();
    let short = ["--set", "seconds=0.3", "--set", "warmup_seconds=0", "--budget", "1s"];
    let mut arguments = vec!["explain", "dummy", "plain", cost, "--format", "json", "-o", &picture];
    arguments.extend(short);
    let seen = bench.netdyno(&arguments);
    assert_eq!(seen.code, 0, "{seen:?}");
    let explained: Value = serde_json::from_str(&seen.stdout).unwrap();
    let has_profile = looked(&explained, "profile").is_none();
    assert_eq!(std::fs::exists(&picture).unwrap(), has_profile, "{seen:?}");
    // Said again from the store, it looks at nothing.
    let again =
        bench.netdyno(&["explain", "last", "plain", cost, "--no-look", "--format", "json", "-o", &picture]);
    assert_eq!(serde_json::from_str::<Value>(&again.stdout).unwrap(), explained, "{again:?}");
    let table = bench.netdyno(&["explain", "last", "plain", cost, "-o", &picture]);
    assert!(table.code == 0 && table.stdout.contains("What the difference consists of"), "{table:?}");
    assert!(!table.stderr.contains("looking at"), "what is known is not looked at again: {table:?}");
    (explained, std::fs::read_to_string(&picture).ok())
}

/// Why there is no look of this kind at the sink, if there is none.
fn looked(explained: &Value, kind: &str) -> Option<String> {
    let looks = explained["looks"].as_array().unwrap();
    let of_kind: Vec<&Value> = looks.iter().filter(|l| l["kind"] == kind && l["role"] == "sink").collect();
    assert_eq!(of_kind.len(), 2, "{looks:?}");
    of_kind.iter().find_map(|l| l["problem"].as_str()).map(str::to_owned)
}

/// The part of the difference with this name, of the sink where it is a role's.
fn cause<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let causes = explained["causes"].as_array().unwrap();
    let found = causes.iter().find(|c| c["name"] == name && c["role"] != "source");
    found.unwrap_or_else(|| panic!("no {name}: {explained:#}"))
}

/// A figure of the sink on both sides.
fn row(explained: &Value, name: &str) -> (f64, f64) {
    let rows = explained["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["role"] == "sink" && r["name"] == name);
    let row = row.unwrap_or_else(|| panic!("no {name}: {rows:?}"));
    (row["a"].as_f64().unwrap(), row["b"].as_f64().unwrap())
}

#[test]
fn an_extra_system_call_a_message_is_found_and_counted() {
    let (explained, _) = explanation("calls");
    if let Some(why) = looked(&explained, "syscalls") {
        return skip(&format!("perf or strace that may look: {why}"));
    }
    let (before, after) = row(&explained, "  getppid");
    // What looks begins and ends a little beside the marks.
    assert!(before == 0.0 && (0.8..1.2).contains(&after), "{after}: {explained:#}");
    assert!(explained["summary"].to_string().contains("getppid"), "{explained:#}");
}

#[test]
fn extra_arithmetic_is_found_in_its_function() {
    let (explained, picture) = explanation("cpu");
    if let Some(why) = looked(&explained, "profile") {
        return skip(&format!("perf that may look: {why}"));
    }
    let own = cause(&explained, "own code");
    assert!(own["b_ns"].as_f64() > own["a_ns"].as_f64().map(|ns| 2.0 * ns), "{explained:#}");
    // Of a debug build the arithmetic may be in what it calls; the picture has both.
    let picture = picture.unwrap();
    assert!(picture.contains("planted_arithmetic: plain 0.0 ns"), "{picture}");
}

#[test]
fn allocations_are_counted() {
    let (explained, _) = explanation("allocations");
    if let Some(why) = looked(&explained, "allocations") {
        return skip(&format!("a C compiler: {why}"));
    }
    let ((count_before, count), (_, bytes)) = (row(&explained, "allocations"), row(&explained, "allocated"));
    assert!(count_before < 0.1 && (2.4..3.6).contains(&count), "{count_before} {count}");
    assert!((480.0..720.0).contains(&bytes), "{bytes}");
    assert!(explained["summary"].to_string().contains("allocations of the sink"), "{explained:#}");
}

#[test]
fn a_sleep_is_waiting() {
    let (explained, _) = explanation("sleep");
    let (before, after) = row(&explained, "waiting");
    assert!(after - before > 40_000.0, "{before} {after}");
    assert!(cause(&explained, "waiting")["share"].as_f64().unwrap() > 0.5, "{explained:#}");
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let bench = Bench::new(&[("one", None), ("two", None)]);
    let seen = bench.netdyno(&["explain", "nowhere", "one", "two"]);
    assert!(seen.code == 2 && seen.stderr.contains("nowhere"), "{seen:?}");
    let run = bench.netdyno(&["run", "dummy", "--max-blocks", "1", "--set", "seconds=0.2"]);
    assert_eq!(run.code, 0, "{run:?}");
    let seen = bench.netdyno(&["explain", "last", "one", "three", "--no-look"]);
    assert!(seen.code == 2 && seen.stderr.contains("it has one, two"), "{seen:?}");
    let seen = bench.netdyno(&["explain", "last", "one", "two", "--no-look"]);
    assert!(seen.code == 0 && seen.stdout.contains("sink: on CPU"), "{seen:?}");
}

/// What is made equal is measured, or it is told why it cannot be.
#[test]
fn what_is_made_equal_is_seen_to_act_first() {
    let bench = bench("allocations");
    let arguments =
        ["--equalise", "rcvbuf,gso,allocator", "--set", "seconds=0.2", "--budget", "1s", "--format", "json"];
    let picture = bench.path("picture.svg").display().to_string();
    let seen = bench.netdyno(
        &[&["explain", "dummy", "plain", "allocations", "-o", &picture][..], &arguments[..]].concat(),
    );
    assert_eq!(seen.code, 0, "{seen:?}");
    let explained: Value = serde_json::from_str(&seen.stdout).unwrap();
    let all = explained["equalised"].as_array().unwrap();
    let how: Vec<&str> = all.iter().filter_map(|e| e["how"].as_str()).collect();
    let [rcvbuf, gso, allocator] = how[..] else { panic!("{all:?}") };
    assert!(
        rcvbuf.contains("nobody sets a receive buffer") || rcvbuf.contains("apt-get install"),
        "{rcvbuf}"
    );
    // A dummy sends nothing.
    assert!(gso.contains("nobody sends segments") || gso.contains("no network of their own"), "{gso}");
    if allocator.contains("apt-get install") {
        return skip(&format!("the allocator: {allocator}"));
    }
    assert!(allocator.contains("every process of both had"), "{allocator}");
    assert!(all[2]["before"]["value"].is_number() && all[2]["after"]["value"].is_number(), "{all:?}");
    assert_eq!(all[2]["runs"].as_array().unwrap().len(), 2);
    // The run with it equal says so to whoever looks at it.
    assert!(bench.last()["warnings"].to_string().contains("allocator was made equal"), "{:#}", bench.last());
}
