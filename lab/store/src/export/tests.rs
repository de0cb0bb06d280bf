//! Runs by round trip, and rejected files.

use std::io::Read;

use flate2::read::GzDecoder;

use super::*;
use crate::fixture::{self, CannedContender};
use crate::{CellStatus, Imported, Outcome, Printed, Store, StoreError, Turns, Verdict, VerdictKind};

fn exported() -> Exported {
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    let mut run =
        fixture::run(&[contender("base", &[1000, 1010, 990]), contender("rival", &[2000, 2010, 1990])], None);
    let turns = Turns {
        freezer: "cgroup v2".into(),
        turn_ns: 1,
        lead_ns: 2,
        count: 3,
        stretch: true,
        under_way: Some(4),
    };
    run.trials[0].turns = Some(turns);
    run.trials[0].histograms.push(("sink".into(), "latency".into(), "AAAA".into()));
    run.trials[1].outcome =
        Outcome::Failed { role: "sink".into(), reason: "died".into(), stderr: "line\nline \u{1b}[1m".into() };
    run.trials[2].samples[0].value = None;
    // Without exact parsing, this value changes in its last digit.
    run.trials[3].seconds = 1.235_940_000_000_000_3;
    let verdict = Verdict {
        metric: "throughput".into(),
        contender: "rival".into(),
        baseline: "base".into(),
        cell: 1,
        ratio: Some(2.000_000_1),
        low: Some(1.9),
        high: None,
        unit: "block".into(),
        blocks: 3,
        p_adjusted: 0.012_345_678_9,
        verdict: VerdictKind::Better,
        needs_blocks: None,
    };
    let printed = Printed::of(&[verdict]);
    Exported { run, printed }
}

fn lines(exported: &Exported) -> String {
    let mut text = Vec::new();
    write_lines(exported, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn refused(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn a_written_run_is_read_unchanged() {
    let exported = exported();
    let mut file = Vec::new();
    write(&exported, &mut file).unwrap();
    let back = read(file.as_slice()).unwrap();
    assert_eq!(back, exported);
    let mut text = String::new();
    GzDecoder::new(file.as_slice()).read_to_string(&mut text).unwrap();
    let validator = jsonschema::validator_for(&serde_json::to_value(schema()).unwrap()).unwrap();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(validator.is_valid(&line), "{:?}", validator.iter_errors(&line).next());
    }
}

#[test]
fn a_store_imports_completely_and_never_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let exported = exported();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    let printed = exported.printed.to_json();
    assert_eq!(store.import(&exported.run, &printed).unwrap(), Imported::Added);
    assert_eq!(store.load(&exported.run.header.id).unwrap(), exported.run);
    assert_eq!(store.printed(&exported.run.header.id).unwrap(), Some(printed.clone()));
    assert_eq!(store.import(&exported.run, &printed).unwrap(), Imported::AlreadyThere);
    assert!(store.is_imported(&exported.run.header.id).unwrap());
    let mut other = exported.run.clone();
    other.trials.pop();
    assert!(matches!(store.import(&other, &printed), Err(StoreError::Taken(_))));
    assert_eq!(store.load(&exported.run.header.id).unwrap(), exported.run);
    store.remove(&exported.run.header.id).unwrap();
    assert_eq!(store.printed(&exported.run.header.id).unwrap(), None);
    assert!(!store.is_imported(&exported.run.header.id).unwrap());
}

#[test]
fn damaged_and_unrelated_files_are_named() {
    let text = lines(&exported());
    let all: Vec<&str> = text.lines().collect();
    let without_end = all[..all.len() - 1].join("\n");
    let whole = packed(text.as_bytes());
    assert!(refused(b"").contains("is not an exported run"));
    assert!(refused(b"{\"run\": 1}\n").contains("is not an exported run (it is not compressed"));
    assert!(refused(&packed(b"")).contains("it is empty"));
    assert!(refused(&packed(b"hello\n")).contains("is not an exported run (line 1"));
    assert!(refused(&packed(without_end.as_bytes())).contains("is truncated"));
    assert!(refused(&packed(&text.as_bytes()[..text.len() / 2])).contains("is truncated"));
    for length in [0, 1, 9, 10, 11, 40, whole.len() / 2, whole.len() - 9, whole.len() - 1] {
        let error = refused(&whole[..length]);
        assert!(
            error.contains("is truncated") || error.contains("is not an exported run"),
            "{length}: {error}"
        );
    }
    // One digit of a sample.
    let changed = text.replacen("\"messages\",1100,", "\"messages\",1200,", 1);
    assert_ne!(changed, text);
    assert!(refused(&packed(changed.as_bytes())).contains("not those that were written"));
    assert!(refused(&packed(format!("{text}more\n").as_bytes())).contains("comes after the last"));
    let mut flipped = whole.clone();
    let last = flipped.len() - 8;
    flipped[last] ^= 1;
    assert!(refused(&flipped).contains("is damaged"));
    let swapped = [&all[..1], &all[3..4], &all[1..3]].concat().join("\n");
    assert!(refused(&packed(&sealed(swapped.as_bytes()))).contains("is unexpected here"));
    let fewer = [&all[..3], &all[4..all.len() - 1]].concat().join("\n");
    assert!(refused(&packed(&sealed(fewer.as_bytes()))).contains("0 cells and 1 trials are missing"));
}

#[test]
fn a_newer_format_is_named() {
    let text = "{\"begin\":{\"format\":2,\"netdyno\":\"9.1.0\",\"other\":true}}\n";
    let error = refused(&packed(text.as_bytes()));
    assert!(
        error.contains("has format 2, this netdyno reads up to 1: use the newer netdyno 9.1.0"),
        "{error}"
    );
}

#[test]
fn oversized_files_are_rejected_early() {
    let with = |change: &dyn Fn(&mut Exported)| {
        let mut exported = exported();
        change(&mut exported);
        let text = lines(&exported);
        refused(&packed(text.as_bytes()))
    };
    assert!(with(&|e| e.run.header.id = "../../x".into()).contains("its id"));
    assert!(with(&|e| e.run.header.id.clear()).contains("its id"));
    assert!(with(&|e| e.run.header.workload = "other".into()).contains("must be the file's name"));
    assert!(with(&|e| e.run.header.manifest = "x".into()).contains("dummy.toml"));
    assert!(with(&|e| e.run.trials[1].cell = 2).contains("belongs to cell 2, but there are 2"));
    assert!(
        with(&|e| e.run.trials[0].turns.as_mut().unwrap().count = u32::MAX).contains("more than 1000 turns")
    );
    assert!(with(&|e| drop(e.run.cells[0].contenders.pop_first())).contains("one contender for each role"));
    let text = lines(&exported()).replacen("\"cells\":2", "\"cells\":20000", 1);
    assert!(refused(&packed(text.as_bytes())).contains("more than 2000 cells"));
    // Endless blanks, compressed to a few kilobytes.
    let mut bomb = GzEncoder::new(Vec::new(), Compression::best());
    let first = text.lines().next().unwrap().replacen("\"cells\":20000", "\"cells\":2", 1);
    bomb.write_all(format!("{first}\n").as_bytes()).unwrap();
    for _ in 0..=limits::LINE_BYTES_MAX >> 20 {
        bomb.write_all(&vec![b' '; 1 << 20]).unwrap();
    }
    assert!(refused(&bomb.finish().unwrap()).contains("has more than 32 MiB in line 2"));
}
