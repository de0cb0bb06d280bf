//! A made-up run in every format.

use super::*;
use crate::manifest::Metric;
use crate::store::fixture::{Contender, run};
use crate::store::{BuildRecord, CellStatus, Run};

fn made_up() -> Run {
    let ok = CellStatus::Ok;
    run(
        &[
            Contender { name: "base", status: ok, rates: &[1000, 1010, 990, 1000], sink_cpu_percent: 99 },
            Contender { name: "rival", status: ok, rates: &[2000, 2010, 1990, 2005], sink_cpu_percent: 40 },
            Contender { name: "equal", status: ok, rates: &[1000, 1010, 990, 1001], sink_cpu_percent: 95 },
            Contender { name: "liar", status: CellStatus::Failed, rates: &[], sink_cpu_percent: 0 },
            Contender { name: "absent", status: CellStatus::Skipped, rates: &[], sink_cpu_percent: 0 },
            Contender { name: "top", status: ok, rates: &[8000, 8080, 7920, 8000], sink_cpu_percent: 100 },
        ],
        Some("top"),
    )
}

fn metrics() -> Vec<Metric> {
    crate::dummy::workload().metrics
}

#[test]
fn the_report_says_what_the_samples_say() {
    let report = build(&made_up()).unwrap();
    let verdict = |name: &str| {
        report.verdicts.iter().find(|v| v.metric == "throughput" && v.contender == name).unwrap()
    };
    assert_eq!(verdict("rival").verdict, VerdictKind::Better);
    assert!((verdict("rival").ratio.unwrap() - 2.0).abs() < 0.01);
    assert_eq!(verdict("equal").verdict, VerdictKind::NoDifference);
    assert_eq!(verdict("rival").baseline, "base");
    assert!(
        !report.verdicts.iter().any(|v| ["top", "liar", "absent", "base"].contains(&v.contender.as_str()))
    );
    let cell = |name: &str| report.cells.iter().find(|c| c.label == name).unwrap();
    assert_eq!(cell("rival").metrics["throughput"].value, Some(2002.5));
    assert_eq!(cell("rival").metrics["throughput"].of_ceiling, Some(2002.5 / 8000.0));
    assert_eq!(cell("base").bottleneck, "sink CPU");
    assert_eq!(cell("rival").bottleneck, "waiting (source 50 %, sink 40 %)");
    // (0.5 + 0.4) CPU seconds a second over 2002.5 messages a second.
    let cost = cell("rival").metrics["cpu_per_message"].value.unwrap();
    assert!((cost - 0.9e9 / 2002.5).abs() < 2000.0, "{cost}");
    assert_eq!(cell("liar").metrics["throughput"].value, None);
    assert_eq!(report.run.blocks, 4);
}

#[test]
fn a_failed_cell_is_shown_with_its_reason() {
    let report = build(&made_up()).unwrap();
    for text in [terminal(&report, &metrics()), markdown(&report, &metrics())] {
        assert!(text.contains("liar") && text.contains("wrong digest"), "{text}");
        assert!(text.contains("absent") && text.contains("apt-get install it"), "{text}");
        assert!(text.contains("this run is made up"), "{text}");
    }
}

#[test]
fn the_table_is_in_order_and_aligned() {
    let report = build(&made_up()).unwrap();
    let text = anstream::adapter::strip_str(&terminal(&report, &metrics())).to_string();
    let line = |name: &str| text.lines().position(|l| l.trim_start().starts_with(name)).unwrap();
    assert!(line("rival") < line("base") && line("base") < line("top"), "{text}");
    assert!(text.contains("rival: better, counted 2.00x that of base (1."), "{text}");
    assert!(text.contains("equal: no difference to base beyond 2 %"), "{text}");
    assert!(text.contains("25.0 %"), "share of the ceiling: {text}");
    assert!(text.contains("6.00 MB (3.00 + 3.00)"), "{text}");
}

#[test]
fn json_keeps_its_schema() {
    let report = build(&made_up()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let validator = jsonschema::validator_for(schema().as_value()).unwrap();
    let faults: Vec<String> = validator.iter_errors(&value).map(|e| e.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
    for field in ["host", "cells", "verdicts"] {
        assert!(value.get(field).is_some(), "{field}");
    }
    let metric = &value["cells"][0]["metrics"]["throughput"];
    assert!(metric["value"].is_number() && metric["unit"] == "1/s" && metric["source"].is_string());
    assert_eq!(serde_json::from_value::<Report>(value).unwrap(), report);
}

#[test]
fn a_contender_cannot_write_into_the_page() {
    let mut made_up = made_up();
    made_up.cells[3].reason = "<script>|`x`\u{1b}[2J".to_owned();
    let report = build(&made_up).unwrap();
    let text = markdown(&report, &metrics());
    assert!(!text.contains("<script>") && text.contains("&lt;script>\\|\\`x\\`"), "{text}");
    let text = terminal(&report, &metrics());
    assert!(!text.contains("\u{1b}[2J"), "{text}");
}

#[test]
fn what_is_no_release_is_marked_as_local() {
    let mut run = made_up();
    let build = BuildRecord {
        key: String::new(),
        toolchain: String::new(),
        flags: Vec::new(),
        lock_hash: String::new(),
        version: "1.2".to_owned(),
        tuning: "defaults".to_owned(),
        local: Some("/home/me/lib (git 0123456789ab dirty)".to_owned()),
    };
    let rival = run.cells.iter_mut().find(|c| c.contender() == Some("rival")).unwrap();
    rival.builds.insert("rival".to_owned(), build);
    let report = super::build(&run).unwrap();
    for text in [terminal(&report, &metrics()), markdown(&report, &metrics())] {
        assert_eq!(text.matches("(local)").count(), 1, "{text}");
        assert!(
            text.contains("rival is local, not the release 1.2: /home/me/lib (git 0123456789ab dirty)"),
            "{text}"
        );
    }
}
