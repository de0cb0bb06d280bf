//! Histories of synthetic runs: comparability of runs, and detection of changes.

use std::collections::BTreeMap;

use super::digest::{Figures, Group, MetricInfo, RatioFigure};
use super::*;
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::fixture::{CannedContender, run, write};

/// A run in which "rival" has about this ratio to the baseline, and the ceiling three times the baseline's
/// rate.
fn synthetic(number: u32, ratio: f64, version: &str) -> Run {
    let wobble = u64::from(number * 7 % 3);
    let base = [10_000, 10_020, 9_990];
    let rival = base.map(|rate| (rate as f64 * ratio) as u64 + 5 * wobble);
    let bound = base.map(|rate| 3 * rate);
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    let mut run = run(
        &[contender("base", &base), contender("rival", &rival), contender("bound", &bound)],
        Some("bound"),
    );
    run.header.id = format!("20260101-{number:06}-0007");
    run.header.started_at += jiff::Span::new().seconds(i64::from(number));
    let lines = netdyno_lab_store::code_lines::CodeLines::not_measured("made up");
    let record = netdyno_lab_store::BuildRecord {
        key: format!("{version}00000000"),
        toolchain: "made up".into(),
        flags: Vec::new(),
        lock_hash: String::new(),
        version: version.to_owned(),
        tuning: "defaults".into(),
        local: None,
        caveat: None,
        lines,
    };
    run.cells[1].builds.insert("rival".into(), record);
    run
}

fn stored(runs: &[Run]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("runs.db")).unwrap();
    for run in runs {
        write(&mut store, run);
    }
    (folder, store)
}

fn line<'a>(history: &'a History, label: &str) -> &'a Line {
    history.conditions[0].courses[0].lines.iter().find(|l| l.label == label).unwrap()
}

#[test]
fn a_change_of_ten_percent_is_reported_with_other_changes() {
    let runs: Vec<Run> =
        (0..16).map(|n| if n < 8 { synthetic(n, 2.0, "1.0") } else { synthetic(n, 2.2, "1.1") }).collect();
    let (_folder, store) = stored(&runs);
    let history = load(&store, "dummy").unwrap().unwrap();
    assert_eq!((history.conditions.len(), history.conditions[0].runs.len()), (1, 16));
    assert_eq!(history.conditions[0].courses[0].metric.name, "throughput");
    let rival = line(&history, "rival");
    for series in [&rival.versus, &rival.of_ceiling] {
        let [shift] = &series.shifts[..] else { panic!("{:?}", series.shifts) };
        assert_eq!((shift.at, shift.better), (8, true));
        assert!((shift.factor.0 - 1.1).abs() < 0.005, "{shift:?}");
        assert!(shift.sure_at < 14, "{shift:?}");
        let [fact] = &shift.meanwhile[..] else { panic!("{shift:?}") };
        assert!(
            fact.starts_with("rival: 1.0 (made up, build 1.0") && fact.contains(", then 1.1 ("),
            "{fact}"
        );
        assert_eq!(series.levels().len(), 2);
    }
    let base = line(&history, "base");
    assert!(base.versus.points.is_empty() && base.of_ceiling.shifts.is_empty());
    assert_eq!(base.of_ceiling.points.len(), 16);
    assert!(history.conditions[0].courses[0].lines.iter().all(|l| l.label != "bound"));
}

#[test]
fn drift_of_the_machine_is_not_a_change() {
    // From the ninth run on, everything is half as fast.
    let mut runs: Vec<Run> = (0..16).map(|n| synthetic(n, 2.0, "1.0")).collect();
    for sample in runs[8..].iter_mut().flat_map(|r| &mut r.trials).flat_map(|t| &mut t.samples) {
        if sample.name == "messages" {
            sample.value = sample.value.map(|v| if sample.mark == 0 { v } else { 100 + (v - 100) / 2 });
        }
    }
    let (_folder, store) = stored(&runs);
    let history = load(&store, "dummy").unwrap().unwrap();
    let shifts = history.conditions[0].courses.iter().flat_map(|c| &c.lines);
    assert!(shifts.into_iter().all(|l| l.versus.shifts.is_empty() && l.of_ceiling.shifts.is_empty()));
}

#[test]
fn only_runs_under_the_same_conditions_are_compared() {
    let mut runs: Vec<Run> = (0..4).map(|n| synthetic(n, 2.0, "1.0")).collect();
    runs[1].header.settings.awake = true;
    for cell in &mut runs[2].cells {
        cell.params.0.insert("streams".into(), netdyno_lab_manifest::ParamValue::Integer(9));
    }
    let (_folder, store) = stored(&runs);
    let history = load(&store, "dummy").unwrap().unwrap();
    let runs: Vec<usize> = history.conditions.iter().map(|c| c.runs.len()).collect();
    assert_eq!(runs, [2, 1, 1], "the latest first");
    assert!(history.conditions[2].title.contains("CPUs kept awake"), "{}", history.conditions[2].title);
    assert!(load(&store, "none").unwrap().is_none());
}

#[test]
fn a_digest_is_cached_and_recomputed_for_another_version() {
    let (_folder, store) = stored(&[synthetic(0, 2.0, "1.0")]);
    let id = synthetic(0, 2.0, "1.0").header.id;
    let digest = digest_of(&store, &id).unwrap();
    let outcome = store.list(Listing::newest(1)).unwrap()[0].outcome.clone().unwrap();
    assert!(
        outcome.starts_with("rival has the highest counted: 2.00 times that of base (")
            && !outcome.contains("failed"),
        "{outcome}"
    );
    // The stored digest is returned.
    let stored = Digest { groups: Vec::new(), ..digest.clone() };
    store.keep_digest(&id, VERSION, "x", &serde_json::to_string(&stored).unwrap()).unwrap();
    assert_eq!(digest_of(&store, &id).unwrap(), stored);
    for (version, text) in [(VERSION + 1, "{}"), (VERSION, "no JSON")] {
        store.keep_digest(&id, version, "x", text).unwrap();
        assert_eq!(digest_of(&store, &id).unwrap(), digest);
    }
}

#[test]
fn ratios_without_interval_are_skipped_and_damaged_runs_are_reported() {
    let mut runs: Vec<Run> = (0..3).map(|n| synthetic(n, 2.0, "1.0")).collect();
    // Two blocks: the interval is unbounded.
    runs[1].trials.retain(|t| t.block < 2);
    runs[2].header.manifest = "no manifest".to_owned();
    let (_folder, store) = stored(&runs);
    let history = load(&store, "dummy").unwrap().unwrap();
    assert_eq!(line(&history, "rival").versus.points.len(), 1);
    assert_eq!(history.unreadable.len(), 1);
    assert!(history.unreadable[0].starts_with(&runs[2].header.id), "{:?}", history.unreadable);
}

#[test]
fn invalid_ratios_in_digests_are_skipped() {
    let within = |ratio| Some(Within { ratio, low: Some(ratio), high: Some(ratio) });
    let digest = |ratio: f64| Digest {
        metrics: vec![MetricInfo { name: "m".into(), label: "m".into(), higher: true, primary: true }],
        groups: vec![Group {
            title: String::new(),
            conditions: BTreeMap::new(),
            baseline: None,
            facts: BTreeMap::new(),
            cells: vec![Figures {
                label: "a".into(),
                ceiling: false,
                facts: BTreeMap::new(),
                metrics: [("m".to_owned(), RatioFigure { versus: within(ratio), of_ceiling: within(ratio) })]
                    .into(),
            }],
        }],
    };
    let (_folder, store) = stored(&[synthetic(0, 2.0, "1.0")]);
    let listed = store.list(Listing::newest(1)).unwrap().remove(0);
    let runs: Vec<_> =
        [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0].map(|ratio| (listed.clone(), digest(ratio))).into();
    let history = history("w", &runs, Vec::new());
    assert_eq!(line(&history, "a").versus.points.len(), 1);
    assert!(super::history("w", &[], Vec::new()).conditions.is_empty());
}
