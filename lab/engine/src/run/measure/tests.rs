//! Tests of what is measured next.

use super::*;
use netdyno_lab_store::fixture::{self, CannedContender};

#[test]
fn who_loses_time_loses_it_in_each_turn_and_the_other_pays_for_a_freeze_too() {
    let contender = |name| CannedContender { name, status: CellStatus::Ok, rates: &[], sink_cpu_percent: 1 };
    let mut run = fixture::run(&["x", "y"].map(contender), None);
    let workload = netdyno_lab_manifest::dummy::workload();
    let spec = TurnsSpec {
        turn_ms: 200,
        lead_ms: 30,
        turns_max: 4,
        stretch_ms: 500,
        stretch_every: 4,
        together: 2,
        under_way: Vec::new(),
        only: indexmap::IndexMap::new(),
    };
    let stalled = |run: &Run| turn_plan(run, &workload, &spec, (&[1, 0], Pace::Short), (0, 0)).stalled;
    assert!(stalled(&run).is_empty(), "nobody is frozen where nothing is lost");
    run.cells[1].stalled = 5;
    assert_eq!(stalled(&run), [Duration::from_millis(1), Duration::ZERO]);
}

#[test]
fn a_contender_without_rivals_is_measured_to_the_end() {
    let contender = |name| CannedContender { name, status: CellStatus::Ok, rates: &[], sink_cpu_percent: 1 };
    let mut run = fixture::run(&["x", "y", "top"].map(contender), Some("top"));
    assert!(lone(&run).is_empty());
    run.cells[1].status = CellStatus::Failed;
    assert_eq!(lone(&run), [0, 1, 2].into());
    // Two values of a swept parameter are not rivals of each other.
    run.cells[1].status = CellStatus::Ok;
    run.cells[1].params.0.insert("streams".to_owned(), ParamValue::Integer(9));
    assert_eq!(lone(&run), [0, 1, 2].into());
}

#[test]
fn sessions_are_few_and_about_equally_large() {
    let rivals: Vec<usize> = (0..11).collect();
    // (rivals, together) -> rivals of each session
    let rows: [(usize, usize, &[usize]); 6] = [
        (0, 3, &[]),
        (1, 3, &[1]),
        (3, 2, &[1, 1, 1]),
        (4, 4, &[2, 2]),
        (10, 4, &[2, 3, 2, 3]),
        (11, 3, &[1, 2, 2, 2, 2, 2]),
    ];
    for (count, together, sizes) in rows {
        let planned: Vec<&[usize]> = sessions(&rivals[..count], together).collect();
        assert_eq!(planned.iter().map(|s| s.len()).collect::<Vec<_>>(), sizes, "{count} {together}");
        assert_eq!(planned.concat(), rivals[..count]);
    }
}
