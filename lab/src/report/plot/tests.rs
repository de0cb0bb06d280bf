//! Plots of a made-up run.

use super::*;
use crate::manifest::ParamValue;
use crate::store::fixture::{Contender, run};

fn made_up() -> (Report, Workload) {
    let contender = |name, rates| Contender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
    let mut run = run(
        &[
            contender("base", &[1000, 1100, 900]),
            contender("base", &[2000, 2000, 2000]),
            contender("rival", &[500, 500, 500]),
            contender("rival", &[700, 600, 800]),
        ],
        None,
    );
    for (cell, streams) in run.cells.iter_mut().zip([4, 0, 4, 0]) {
        cell.params.0.insert("streams".to_owned(), ParamValue::Integer(streams));
    }
    let mut workload = crate::dummy::workload();
    workload.params["streams"].zero = Some("flat out".to_owned());
    (super::super::build(&run).unwrap(), workload)
}

#[test]
fn a_line_a_contender_and_what_has_no_limit_at_the_end() {
    let (report, workload) = made_up();
    let plot = against(&report, &workload, "streams", "throughput", &Selection::default()).unwrap();
    assert_eq!(plot.x_ticks, [(0.0, "4".to_owned()), (1.0, "flat out".to_owned())]);
    assert_eq!(plot.series.len(), 2);
    let base = &plot.series[0];
    assert_eq!((base.name.as_str(), base.points.len()), ("base", 2));
    assert_eq!(base.points[0], Point { x: 0.0, y: 1000.0, range: (900.0, 1100.0), held: true });
    let text = svg(&plot).unwrap();
    assert!(text.starts_with("<svg") && text.contains("flat out") && text.contains("rival"), "{text}");
}

#[test]
fn what_cannot_be_plotted_says_why() {
    let (report, workload) = made_up();
    let fails = |x: &str, y: &str, only: &[(&str, &str)], names: &[&str]| {
        let selection = Selection {
            only: only.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            contenders: names.iter().map(|n| (*n).to_owned()).collect(),
        };
        against(&report, &workload, x, y, &selection).unwrap_err().to_string()
    };
    for (x, y, only, names, part) in [
        ("stream", "throughput", &[][..], &[][..], "did you mean \"streams\"?"),
        ("streams", "throughputs", &[], &[], "did you mean \"throughput\"?"),
        ("message_bytes", "throughput", &[], &[], "--where streams=VALUE"),
        ("streams", "throughput", &[("streams", "9")], &[], "no measured cell"),
        ("streams", "throughput", &[], &["bas"], "did you mean \"base\"?"),
    ] {
        let error = fails(x, y, only, names);
        assert!(error.contains(part), "{x} {y}: {error}");
    }
    let selection = Selection { only: vec![("streams".into(), "4".into())], contenders: Vec::new() };
    let error = curves(&report, &workload, "ping.latency", &selection).unwrap_err();
    assert!(error.to_string().contains("no cell has the curve ping.latency"), "{error}");
}

#[test]
fn a_trial_of_nothing_does_not_stretch_the_axis_without_end() {
    let (report, workload) = made_up();
    let mut plot = against(&report, &workload, "streams", "throughput", &Selection::default()).unwrap();
    plot.series.truncate(1);
    plot.series[0].points.truncate(1);
    plot.series[0].points[0].range = (0.0, 5000.0);
    let text = svg(&plot).unwrap();
    assert!(text.contains("2.00 k") && text.contains("5.00 k"), "{text}");
}

#[test]
fn what_would_be_drawn_over_each_other_is_refused() {
    let (mut report, workload) = made_up();
    report.cells[1].params = report.cells[0].params.clone();
    report.cells[1].params.insert("seconds".into(), serde_json::json!(9.0));
    report.cells[0].params.insert("seconds".into(), serde_json::json!(1.0));
    let error = against(&report, &workload, "streams", "throughput", &Selection::default()).unwrap_err();
    assert_eq!(error, PlotError::Twice);
}

#[test]
fn a_curve_is_drawn_of_the_cells_that_have_it() {
    let (mut report, workload) = made_up();
    let point = |quantile, value| CurvePoint { quantile, value };
    report.cells[0]
        .curves
        .insert("sink.latency".into(), vec![point(0.5, 1000), point(0.99, 5000), point(1.0, 9000)]);
    let selection = Selection { only: vec![("streams".into(), "4".into())], contenders: Vec::new() };
    let plot = curves(&report, &workload, "sink.latency", &selection).unwrap();
    assert_eq!(plot.series.len(), 1);
    let places: Vec<(f64, f64)> = plot.series[0].points.iter().map(|p| (p.x.round(), p.y)).collect();
    assert_eq!(places, [(0.0, 1000.0), (2.0, 5000.0), (2.0, 9000.0)]);
    assert!(svg(&plot).unwrap().contains("99.9 %"));
    let error = curves(&report, &workload, "sink.latenc", &selection).unwrap_err();
    assert!(error.to_string().contains("known: sink.latency"), "{error}");
}

#[test]
fn shares_become_nines() {
    for (quantile, place) in [(0.0, 0.0), (0.9, 1.0), (0.999, 3.0), (0.999_999_99, 5.0)] {
        assert!((nines(quantile) - place).abs() < 1e-9, "{quantile}");
    }
}
