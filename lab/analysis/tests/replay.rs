//! Verdicts recomputed from stored and exported runs, against those that were printed.
#![allow(clippy::unwrap_used, missing_docs)]

use netdyno_lab_analysis::report;
use netdyno_lab_store::fixture::{CannedContender, run};
use netdyno_lab_store::{CellStatus, Printed, Run, VerdictKind, export};

fn made_up() -> Run {
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    run(&[contender("base", &[1000, 1010, 990]), contender("rival", &[2000, 2010, 1990])], None)
}

#[test]
fn what_is_not_as_printed_is_named() {
    let mut run = made_up();
    let report = report::build(&run).unwrap();
    let printed = Printed::of(&report.verdicts);
    let stored: Printed = serde_json::from_str(&printed.to_json()).unwrap();
    assert_eq!(stored.differences(&report.verdicts), [""; 0]);

    // A sample that was changed: no figure of its metric is what it was.
    let sample = run.trials[3]
        .samples
        .iter_mut()
        .find(|s| s.role == "sink" && s.name == "messages" && s.mark == 1)
        .unwrap();
    sample.value = sample.value.map(|v| v + 1);
    let differences = printed.differences(&report::build(&run).unwrap().verdicts);
    assert!(
        differences.iter().any(|d| d.starts_with("throughput of rival against base: printed better")),
        "{differences:?}"
    );

    let mut claimed = printed.clone();
    claimed.verdicts[0].verdict = VerdictKind::Worse;
    assert_eq!(claimed.differences(&report.verdicts).len(), 1);
    claimed.verdicts.clear();
    assert_eq!(claimed.differences(&report.verdicts).len(), report.verdicts.len());
    let mut fewer = report.clone();
    fewer.verdicts.clear();
    assert!(printed.differences(&fewer.verdicts)[0].ends_with("now none"));
    let mut last_digits = report.clone();
    last_digits.verdicts[0].ratio = report.verdicts[0].ratio.map(|r| r * (1.0 + 1e-12));
    assert_eq!(printed.differences(&last_digits.verdicts), [""; 0]);
}

#[test]
fn an_exported_run_still_has_the_verdicts_that_were_printed() {
    let run = made_up();
    let printed = Printed::of(&report::build(&run).unwrap().verdicts);
    let mut file = Vec::new();
    export::write(&export::Exported { run, printed }, &mut file).unwrap();
    let back = export::read(file.as_slice()).unwrap();
    assert_eq!(back.printed.differences(&report::build(&back.run).unwrap().verdicts), [""; 0]);
}
