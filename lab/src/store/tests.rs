//! The store by round trip, by kill, and by damage.

use super::fixture::{Contender, run};
use super::*;
use crate::lines::{CodeLines, LineCount};

fn made_up() -> Run {
    let status = CellStatus::Ok;
    run(
        &[
            Contender { name: "base", status, rates: &[1000, 1010, 990], sink_cpu_percent: 99 },
            Contender { name: "rival", status, rates: &[2000, 2010, 1990], sink_cpu_percent: 40 },
        ],
        None,
    )
}

fn write(store: &mut Store, run: &Run) {
    store.begin_run(&run.header, &run.cells).unwrap();
    for trial in &run.trials {
        store.add_trial(&run.header.id, trial).unwrap();
    }
    store.set_status(&run.header.id, run.status, &run.stopped_because).unwrap();
}

#[test]
fn what_is_stored_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deep/runs.db");
    let mut run = made_up();
    run.trials[0].histograms.push(("sink".into(), "latency".into(), "AAAA".into()));
    run.trials[1].outcome =
        Outcome::Failed { role: "sink".into(), reason: "died".into(), stderr: "oh".into() };
    run.trials[2].samples[0].value = None;
    let mut store = Store::open(&path).unwrap();
    write(&mut store, &run);
    run.cells[1].reason = "updated".into();
    store.update_cell(&run.header.id, 1, &run.cells[1]).unwrap();
    drop(store);
    let store = Store::open(&path).unwrap();
    assert_eq!(store.load(&run.header.id).unwrap(), run);
}

#[test]
fn runs_are_found_by_the_start_of_their_id() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    let mut run = made_up();
    write(&mut store, &run);
    run.header.id = "20260102-120000-0008".into();
    run.header.started_at = "2026-01-02T12:00:00Z".parse().unwrap();
    write(&mut store, &run);
    assert_eq!(store.find("last").unwrap(), run.header.id);
    assert_eq!(store.find("20260102").unwrap(), run.header.id);
    assert!(matches!(store.find("2026"), Err(StoreError::Ambiguous(_))));
    assert!(matches!(store.find("2027"), Err(StoreError::NoRun(_))));
    assert!(matches!(store.find_unfinished(), Err(StoreError::NoneUnfinished)));
    let first = "20260101-120000-0007";
    store.set_status(first, RunStatus::Interrupted, "").unwrap();
    assert_eq!(store.find_unfinished().unwrap(), first, "not the newest, which is finished");
    let claim = store.claim(first).unwrap();
    assert!(matches!(store.claim(first), Err(StoreError::Busy(_))));
    drop(claim);
    store.claim(first).unwrap();
    assert!(matches!(store.find("%"), Err(StoreError::NoRun(_))), "no pattern");
    assert_eq!(store.runs(10).unwrap().len(), 2);
    assert_eq!(store.runs(1).unwrap()[0].header.id, run.header.id);
    assert_eq!(store.runs(1).unwrap()[0].cells.len(), run.cells.len());
}

#[test]
fn faults_name_cause_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path, part: &str| {
        let error = Store::open(path).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let garbage = folder.path().join("garbage.db");
    std::fs::write(&garbage, "this is no database, and long enough to be looked at as one").unwrap();
    check(&garbage, "not a netdyno store");
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    check(&file.join("runs.db"), "NETDYNO_STORE");
    let newer = folder.path().join("newer.db");
    drop(Store::open(&newer).unwrap());
    Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    check(&newer, "format 99");
    assert!(matches!(Store::open(&folder.path().join("x.db")).unwrap().load("x"), Err(StoreError::NoRun(_))));
}

#[test]
fn a_trial_is_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let run = made_up();
    let mut store = Store::open(&path).unwrap();
    store.begin_run(&run.header, &run.cells).unwrap();
    store.add_trial(&run.header.id, &run.trials[0]).unwrap();
    // No room for the next: SQLite's own limit stands in for a full disk.
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |r| r.get(0)).unwrap();
    store.connection.pragma_update(None, "max_page_count", pages).unwrap();
    let mut large = run.trials[1].clone();
    large.samples[0].source = "x".repeat(1 << 20);
    let error = store.add_trial(&run.header.id, &large).unwrap_err().to_string();
    assert!(error.contains("disk is full") && error.contains("--resume"), "{error}");
    assert_eq!(store.load(&run.header.id).unwrap().trials, run.trials[..1]);
}

#[test]
fn lines_of_code_are_kept_and_older_runs_say_that_they_have_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    let mut run = made_up();
    let mut library = LineCount::of(73_120, "tokei, of lib 1.2 and 1 more package of its owner");
    library.parts = [("lib 1.2".to_owned(), 73_000), ("part 1.0".to_owned(), 120)].into();
    let adapter = LineCount::of(0, "tokei");
    let lines = CodeLines { library, adapter, generated: LineCount::not_measured("nobody looked") };
    let record = BuildRecord {
        key: "00".into(),
        toolchain: "made up".into(),
        flags: vec!["-O2".into()],
        lock_hash: String::new(),
        version: "1.2".into(),
        tuning: "defaults".into(),
        local: None,
        caveat: None,
        lines,
    };
    run.cells[0].builds.insert("base".into(), record);
    write(&mut store, &run);
    assert_eq!(store.load(&run.header.id).unwrap(), run);

    // As an older netdyno wrote it.
    let mut older = serde_json::to_value(&run.cells[0]).unwrap();
    older["builds"]["base"].as_object_mut().unwrap().remove("lines").unwrap();
    let update = "UPDATE cells SET record = ?1 WHERE idx = 0";
    store.connection.execute(update, [older.to_string()]).unwrap();
    let lines = store.load(&run.header.id).unwrap().cells[0].builds["base"].lines.clone();
    for (kind, count) in lines.parts() {
        assert_eq!((count.lines, count.source.contains("older")), (None, true), "{kind}");
    }
}
