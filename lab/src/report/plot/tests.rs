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
    let mut workload = crate::doctor::self_test::workload();
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
fn shares_become_nines() {
    for (quantile, place) in [(0.0, 0.0), (0.9, 1.0), (0.999, 3.0), (1.0, 5.0), (0.999_999_99, 5.0)] {
        assert!((nines(quantile) - place).abs() < 1e-9, "{quantile}");
    }
}
