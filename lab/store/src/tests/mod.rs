//! The store, by round trips, kills and damage.

use super::fixture::{CannedContender, run, write};
use super::*;
use crate::code_lines::{CodeLines, LineCount};

fn made_up() -> Run {
    let status = CellStatus::Ok;
    run(
        &[
            CannedContender { name: "base", status, rates: &[1000, 1010, 990], sink_cpu_percent: 99 },
            CannedContender { name: "rival", status, rates: &[2000, 2010, 1990], sink_cpu_percent: 40 },
        ],
        None,
    )
}

#[test]
fn stored_runs_are_loaded_unchanged() {
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
fn stalled_cells_are_labelled_and_older_stores_have_none() {
    let mut cell = made_up().cells.remove(1);
    let roles = netdyno_lab_manifest::dummy::workload().roles;
    let older = serde_json::to_value(&cell).unwrap();
    assert!(older.get("stalled").is_none(), "{older}");
    assert_eq!(serde_json::from_value::<CellRecord>(older).unwrap(), cell);
    for (again, stalled, label) in [
        (false, 0, "rival"),
        (true, 0, "rival (again)"),
        (true, 5, "rival (0.5 % stalled)"),
        (true, 20, "rival (2 % stalled)"),
    ] {
        (cell.again, cell.stalled) = (again, stalled);
        assert_eq!(cell.label(&roles), label);
        assert_eq!(serde_json::from_value::<CellRecord>(serde_json::to_value(&cell).unwrap()).unwrap(), cell);
    }
}

#[test]
fn runs_are_found_by_a_prefix_of_their_id() {
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
    store.set_status(first, RunStatus::Interrupted, StopReason::Interrupted).unwrap();
    assert_eq!(store.find_unfinished().unwrap(), first, "not the newest, which is finished");
    let claim = store.claim(first).unwrap();
    assert!(matches!(store.claim(first), Err(StoreError::Busy(_))));
    drop(claim);
    store.claim(first).unwrap();
    assert!(matches!(store.find("%"), Err(StoreError::NoRun(_))), "no pattern");
    assert_eq!(store.runs(10).unwrap().len(), 2);
    assert_eq!(store.runs(1).unwrap()[0].header.id, run.header.id);
    assert_eq!(store.runs(1).unwrap()[0].cells.len(), run.cells.len());
    let mut foreign = run.clone();
    foreign.header.id = "20270101-000000-0001".to_owned();
    foreign.header.started_at = "2027-01-01T00:00:00Z".parse().unwrap();
    foreign.status = RunStatus::Interrupted;
    store.import(&foreign, "[]").unwrap();
    assert_eq!(store.find_unfinished().unwrap(), first, "not an imported one, which cannot be resumed");
}

#[test]
fn errors_name_cause_and_remedy() {
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

/// A counter would be a wrong guess.
#[test]
fn an_unknown_sample_kind_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    let run = made_up();
    write(&mut store, &run);
    store.connection.execute("UPDATE samples SET kind = 'gauge' WHERE rowid = 1", []).unwrap();
    let error = store.load(&run.header.id).unwrap_err().to_string();
    assert!(error.contains("damaged") && error.contains("gauge"), "{error}");
}

#[test]
fn an_id_is_taken_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    let run = made_up();
    store.begin_run(&run.header, &run.cells).unwrap();
    let again = store.begin_run(&run.header, &run.cells);
    assert!(matches!(&again, Err(StoreError::Taken(id)) if *id == run.header.id), "{again:?}");
    assert!(!store.is_imported(&run.header.id).unwrap());
}

#[test]
fn a_trial_is_stored_completely_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let run = made_up();
    let mut store = Store::open(&path).unwrap();
    store.begin_run(&run.header, &run.cells).unwrap();
    store.add_trial(&run.header.id, &run.trials[0]).unwrap();
    // No space for the next: SQLite's own limit replaces a full disk.
    let pages: i64 = store.connection.pragma_query_value(None, "page_count", |r| r.get(0)).unwrap();
    store.connection.pragma_update(None, "max_page_count", pages).unwrap();
    let mut large = run.trials[1].clone();
    large.samples[0].source = "x".repeat(1 << 20);
    let error = store.add_trial(&run.header.id, &large).unwrap_err().to_string();
    assert!(error.contains("disk is full: free some space") && !error.contains("--resume"), "{error}");
    assert_eq!(store.load(&run.header.id).unwrap().trials, run.trials[..1]);
}

#[test]
fn lines_of_code_are_stored_and_older_runs_have_none() {
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

    // As written by an older netdyno.
    let mut older = serde_json::to_value(&run.cells[0]).unwrap();
    older["builds"]["base"].as_object_mut().unwrap().remove("lines").unwrap();
    let update = "UPDATE cells SET record = ?1 WHERE idx = 0";
    store.connection.execute(update, [older.to_string()]).unwrap();
    let lines = store.load(&run.header.id).unwrap().cells[0].builds["base"].lines.clone();
    for (kind, count) in lines.parts() {
        assert_eq!((count.lines, count.source.contains("predates")), (None, true), "{kind}");
    }
}

/// A store with this many runs, alternately of two workloads.
fn with_runs(folder: &Path, count: u32) -> Store {
    let mut store = Store::open(&folder.join("runs.db")).unwrap();
    let mut run = made_up();
    run.trials.clear();
    let begun = run.header.started_at;
    for i in 0..count {
        run.header.id = format!("20260101-{i:06}-0007");
        run.header.started_at = begun + jiff::Span::new().seconds(i);
        run.header.workload = if i % 2 == 0 { "even" } else { "odd" }.to_owned();
        write(&mut store, &run);
    }
    store
}

#[test]
fn lists_agree_with_the_runs() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = with_runs(folder.path(), 5);
    let ids = |listing: Listing<'_>| {
        store.list(listing).unwrap().into_iter().map(|run| run.id[13..15].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(Listing::newest(2)), ["04", "03"]);
    assert_eq!(ids(Listing { workload: None, skip: 3, most: 9 }), ["01", "00"]);
    assert_eq!(ids(Listing { workload: Some("odd"), skip: 0, most: 9 }), ["03", "01"]);
    assert_eq!(ids(Listing { workload: Some("' OR 1"), skip: 0, most: 9 }), [""; 0]);
    assert_eq!(store.workloads().unwrap(), [("even".to_owned(), 3), ("odd".to_owned(), 2)]);
    let listed = store.list(Listing::newest(1)).unwrap().remove(0);
    assert_eq!(
        (listed.contenders, listed.command),
        (vec!["base".into(), "rival".into()], vec!["netdyno".into()])
    );
    assert_eq!((listed.status, listed.stopped_because.as_str()), (RunStatus::Finished, "decided"));

    assert_eq!((listed.outcome, store.digest(&listed.id, 1).unwrap()), (None, None));
    store.keep_digest(&listed.id, 1, "all is well", "{}").unwrap();
    let outcome = |store: &Store| store.list(Listing::newest(1)).unwrap().remove(0).outcome;
    assert_eq!(
        (outcome(&store).as_deref(), store.digest(&listed.id, 1).unwrap().as_deref()),
        (Some("all is well"), Some("{}"))
    );
    assert_eq!(store.digest(&listed.id, 2).unwrap(), None, "made by another version");
    store.set_status(&listed.id, RunStatus::Running, StopReason::Running).unwrap();
    assert_eq!((outcome(&store), store.digest(&listed.id, 1).unwrap()), (None, None), "it goes on");
    store.remove(&listed.id).unwrap();
    assert_eq!(store.list(Listing::newest(9)).unwrap().len(), 4);
}

/// Speed is measured in steps of SQLite's virtual machine: headers and cells must not be read.
#[test]
fn a_list_of_a_thousand_runs_takes_a_few_steps_each() {
    let folder = tempfile::tempdir().unwrap();
    let store = with_runs(folder.path(), 1000);
    let steps = |workload: Option<&str>, most: usize| {
        let only = if workload.is_some() { "WHERE r.workload = ?3" } else { "WHERE ?3 IS NULL" };
        let mut query = store.connection.prepare(&overview::list_sql(only)).unwrap();
        let rows = query.query_map(params![most, 0, workload], |_| Ok(())).unwrap().count();
        (rows, query.get_status(rusqlite::StatementStatus::VmStep))
    };
    let (rows, all) = steps(None, 1000);
    assert!(rows == 1000 && all < 40_000, "{all} steps");
    let (rows, newest) = steps(None, 20);
    assert!(rows == 20 && newest < 1_000, "{newest} steps: it sorts, or reads what it does not show");
}

#[test]
fn a_store_of_an_older_format_is_upgraded_without_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let (mut store, first) = (Store::open(&path).unwrap(), made_up());
    write(&mut store, &first);
    let mut run = first.clone();
    run.header.id = "damaged".into();
    run.trials.clear();
    write(&mut store, &run);
    let back = |format: i64| {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("DROP INDEX runs_newest; DROP TABLE overviews;").unwrap();
        connection.execute("UPDATE runs SET header = '{' WHERE id = 'damaged'", []).unwrap();
        if format == 1 {
            connection.execute_batch("ALTER TABLE trials DROP COLUMN turns;").unwrap();
        }
        connection.pragma_update(None, "user_version", format).unwrap();
    };
    drop(store);
    for format in [2, 1] {
        back(format);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.load(&first.header.id).unwrap(), first);
        let listed = store.list(Listing::newest(9)).unwrap();
        let named = |id: &str| listed.iter().find(|run| run.id == id).unwrap().contenders.join(" ");
        assert_eq!(named(&first.header.id), "base rival");
        assert_eq!(named("damaged"), "", "listed all the same");
        // And again, with two processes that open it at the same time.
        drop(Store::open(&path).unwrap());
    }
}

#[test]
fn a_growing_run_is_loaded_incrementally() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let (run, mut writer) = (made_up(), Store::open(&path).unwrap());
    let id = run.header.id.clone();
    writer.begin_run(&run.header, &run.cells).unwrap();
    let reader = Store::open(&path).unwrap();
    let mut grown = reader.load_head(&id).unwrap();
    assert_eq!((grown.status, grown.trials.len()), (RunStatus::Running, 0));
    let (mut last, mut changes) = (0, reader.changes().unwrap());
    for trial in &run.trials {
        writer.add_trial(&id, trial).unwrap();
        last = reader.load_more(&mut grown, last).unwrap();
        let now = reader.changes().unwrap();
        assert_ne!(std::mem::replace(&mut changes, now), now);
    }
    assert_eq!(grown.trials, run.trials);
    assert_eq!(reader.load_more(&mut grown, last).unwrap(), last);
    assert_eq!(grown.trials.len(), run.trials.len());
    assert_eq!(reader.changes().unwrap(), changes);

    assert!(!reader.is_measured(&id));
    let claim = writer.claim(&id).unwrap();
    assert!(reader.is_measured(&id));
    drop(claim);
    assert!(!reader.is_measured(&id));
}

/// SQLite itself does not wait here.
#[test]
fn creating_a_store_waits_for_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let other = Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| Store::open(&path).map(drop));
        std::thread::sleep(std::time::Duration::from_millis(200));
        other.execute_batch("COMMIT").unwrap();
        opened.join().unwrap().unwrap();
    });
}
