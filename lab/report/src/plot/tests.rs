//! Plots of a synthetic run.

use super::*;
use netdyno_lab_manifest::ParamValue;
use netdyno_lab_store::fixture::{CannedContender, run};

const WIDTH: f64 = 880.0;

/// The plots of all cells.
fn all<'a>(report: &'a Report, workload: &'a Workload) -> Plots<'a> {
    Plots { report, workload, only: Vec::new(), contenders: Vec::new() }
}

fn synthetic() -> (Report, Workload) {
    let contender =
        |name, rates| CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 };
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
    let mut workload = netdyno_lab_manifest::dummy::workload();
    workload.params["streams"].zero = Some("flat out".to_owned());
    (netdyno_lab_analysis::report::build(&run).unwrap(), workload)
}

#[test]
fn each_contender_has_a_line_and_no_limit_sorts_last() {
    let (report, workload) = synthetic();
    let plot = all(&report, &workload).against("streams", "throughput").unwrap();
    assert_eq!(plot.x_ticks, [(0.0, "4".to_owned()), (1.0, "flat out".to_owned())]);
    assert_eq!(plot.series.len(), 2);
    let base = &plot.series[0];
    assert_eq!((base.name.as_str(), base.points.len()), ("base", 2));
    assert_eq!(base.points[0], Point { x: 0.0, y: 1000.0, range: (900.0, 1100.0), held: true });
    let text = lines_svg(&plot, WIDTH).file();
    assert!(text.starts_with("<svg") && text.contains("flat out") && text.contains("rival"), "{text}");
    let texts = texts(&text);
    assert!(texts.contains(&report.host.headline()), "{texts:?}");
    assert!(texts.contains("run 20260101-120000-0007 · 2026-01-01 · netdyno 0.0.0"), "{texts:?}");
}

/// All text of a picture. Panics if it is not XML.
fn texts(svg: &str) -> String {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{e}: {svg}"));
    let nodes = document.descendants().filter(|n| n.has_tag_name("text") || n.has_tag_name("title"));
    let text = |n: roxmltree::Node<'_, '_>| {
        let parts: Vec<&str> =
            n.descendants().filter(roxmltree::Node::is_text).filter_map(|t| t.text()).collect();
        parts.concat()
    };
    nodes.map(text).collect::<Vec<_>>().join("\n")
}

fn ranked(contenders: &[(&'static str, &'static [u64])], ceiling: Option<&str>) -> (Report, Workload) {
    let contender = |(name, rates): &(&'static str, &'static [u64])| CannedContender {
        name,
        status: CellStatus::Ok,
        rates,
        sink_cpu_percent: 50,
    };
    let contenders: Vec<_> = contenders.iter().map(contender).collect();
    (
        netdyno_lab_analysis::report::build(&run(&contenders, ceiling)).unwrap(),
        netdyno_lab_manifest::dummy::workload(),
    )
}

#[test]
fn an_impossible_plot_is_an_error() {
    let (report, workload) = synthetic();
    let fails = |x: &str, y: &str, only: &[(&str, &str)], names: &[&str]| {
        let plots = Plots {
            report: &report,
            workload: &workload,
            only: only.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect(),
            contenders: names.iter().map(|n| (*n).to_owned()).collect(),
        };
        plots.against(x, y).unwrap_err().to_string()
    };
    for (x, y, only, names, part) in [
        ("stream", "throughput", &[][..], &[][..], "did you mean \"streams\"?"),
        ("streams", "throughputs", &[], &[], "did you mean \"throughput\"?"),
        ("message_bytes", "throughput", &[], &[], "--where streams=VALUE"),
        ("streams", "throughput", &[("streams", "9")], &[], "no selected cell"),
        ("streams", "throughput", &[], &["bas"], "did you mean \"base\"?"),
    ] {
        let error = fails(x, y, only, names);
        assert!(error.contains(part), "{x} {y}: {error}");
    }
    let plots = Plots { only: vec![("streams".into(), "4".into())], ..all(&report, &workload) };
    let error = plots.curves("ping.latency").unwrap_err();
    assert!(error.to_string().contains("no cell has the curve ping.latency"), "{error}");
}

#[test]
fn a_trial_of_zero_does_not_stretch_the_axis() {
    let (report, workload) = synthetic();
    let mut plot = all(&report, &workload).against("streams", "throughput").unwrap();
    plot.series.truncate(1);
    plot.series[0].points.truncate(1);
    plot.series[0].points[0].range = (0.0, 5000.0);
    let text = lines_svg(&plot, WIDTH).file();
    assert!(text.contains("2.00 k") && text.contains("5.00 k"), "{text}");
}

#[test]
fn overlapping_points_are_an_error() {
    let (mut report, workload) = synthetic();
    report.cells[1].params = report.cells[0].params.clone();
    report.cells[1].params.insert("seconds".into(), serde_json::json!(9.0));
    report.cells[0].params.insert("seconds".into(), serde_json::json!(1.0));
    let error = all(&report, &workload).against("streams", "throughput").unwrap_err();
    assert_eq!(error, PlotError::Twice);
}

#[test]
fn a_curve_is_drawn_for_the_cells_that_have_it() {
    let (mut report, workload) = synthetic();
    let point = |quantile, value| CurvePoint { quantile, value };
    report.cells[0]
        .curves
        .insert("sink.latency".into(), vec![point(0.5, 1000), point(0.99, 5000), point(1.0, 9000)]);
    let plots = Plots { only: vec![("streams".into(), "4".into())], ..all(&report, &workload) };
    let plot = plots.curves("sink.latency").unwrap();
    assert_eq!(plot.series.len(), 1);
    let places: Vec<(f64, f64)> = plot.series[0].points.iter().map(|p| (p.x.round(), p.y)).collect();
    assert_eq!(places, [(0.0, 1000.0), (2.0, 5000.0), (2.0, 9000.0)]);
    assert!(lines_svg(&plot, WIDTH).file().contains("99 %"));
    let error = plots.curves("sink.latenc").unwrap_err();
    assert!(error.to_string().contains("known: sink.latency"), "{error}");
}

#[test]
fn quantiles_become_nines() {
    for (quantile, place) in [(0.0, 0.0), (0.9, 1.0), (0.999, 3.0), (0.999_999_99, 5.0)] {
        assert!((nines(quantile) - place).abs() < 1e-9, "{quantile}");
    }
}

#[test]
fn a_ranking_has_a_row_per_contender_with_its_verdict() {
    let (report, workload) = ranked(
        &[
            ("base", &[1000, 1010, 990, 1000]),
            ("rival", &[2000, 2010, 1990, 2005]),
            ("equal", &[1000, 1010, 990, 1001]),
            ("slow", &[101, 99, 100, 100]),
            ("wild", &[3000, 90, 5000, 700]),
            ("top", &[8000, 8080, 7920, 8000]),
        ],
        Some("top"),
    );
    let mut report = report;
    report.cells[4].label = "<b>&\u{1b}\"wild".to_owned();
    report.verdicts.iter_mut().filter(|v| v.cell == 4).for_each(|v| v.contender = "x".to_owned());
    let ranking = all(&report, &workload).ranking("throughput").unwrap();
    let rows: Vec<(&str, &str)> = ranking.rows.iter().map(|r| (r.label.as_str(), r.word)).collect();
    assert_eq!(
        rows,
        [
            ("rival", "better"),
            ("<b>&\u{1b}\"wild", "undecided"),
            ("equal", "no difference"),
            ("base", "baseline"),
            ("slow", "worse"),
            ("top", "ceiling")
        ]
    );
    assert_eq!(ranking.ceiling, Some(8.0));
    assert_eq!(ranking.rows[3].at, Some(1.0));
    let svg = ranking_svg(&ranking, WIDTH).file();
    assert_eq!(svg, ranking_svg(&ranking, WIDTH).file());
    let texts = texts(&svg);
    for part in [
        "The lab itself: counted, higher is better",
        "vs base",
        "logarithmic scale",
        "2.00 k/s",
        "2.00x (",
        "<b>&\"wild",
        "ceiling",
        "run 20260101-120000-0007",
        "95 %, for all rows together",
        "0.1x",
        "1x",
    ] {
        assert!(texts.contains(part), "{part}: {texts}");
    }
    assert!(svg.contains("@media (prefers-color-scheme:dark)") && !svg.contains("<b>"), "{svg}");
    // Marks stay between the names and the values.
    let document = roxmltree::Document::parse(&svg).unwrap();
    let number = |n: roxmltree::Node<'_, '_>, name: &str| n.attribute(name)?.parse::<f64>().ok();
    let marks = document.descendants().filter(|n| n.has_tag_name("circle") || n.has_tag_name("line"));
    for x in marks
        .filter(|n| n.attribute("class") != Some("rule"))
        .flat_map(|n| ["x1", "x2", "cx"].map(|a| number(n, a)))
    {
        assert!(x.is_none_or(|x| (100.0..540.0).contains(&x)), "{x:?}");
    }
}

#[test]
fn without_a_baseline_a_ranking_shows_values() {
    let (report, workload) = ranked(&[("base", &[1000, 1300, 900, 1000]), ("top", &[8000; 4])], Some("top"));
    let ranking = all(&report, &workload).ranking("throughput").unwrap();
    let row = &ranking.rows[0];
    assert_eq!((row.at, row.range), (Some(1000.0), Some((Some(900.0), Some(1300.0)))));
    assert_eq!(row.detail, "0.90 - 1.30 k/s");
    let texts = texts(&ranking_svg(&ranking, WIDTH).file());
    assert!(
        texts.contains("2.00 k/s") && texts.contains("minimum to maximum") && !texts.contains("vs "),
        "{texts}"
    );
}

#[test]
fn an_impossible_ranking_is_an_error_and_missing_cells_are_named() {
    let (report, workload) = synthetic();
    let fails = |metric: &str, only: &[(&str, &str)]| {
        let only = only.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        Plots { only, ..all(&report, &workload) }.ranking(metric).map(|r| r.rows.len())
    };
    let error = fails("throughput", &[]).unwrap_err().to_string();
    assert!(error.contains("--x streams") && error.contains("--where streams=VALUE"), "{error}");
    assert!(fails("throughputs", &[]).unwrap_err().to_string().contains("did you mean \"throughput\"?"));
    assert_eq!(fails("cpu_per_message", &[("streams", "4")]), Ok(2));
    let (mut report, workload) = ranked(&[("base", &[1000; 3]), ("liar", &[2000; 3])], None);
    report.cells[1].status = CellStatus::Failed;
    let ranking = all(&report, &workload).ranking("throughput").unwrap();
    assert!(ranking.captions.footer[0].contains("liar (failed)"), "{:?}", ranking.captions);
}

#[test]
fn a_distant_ceiling_or_a_single_contender_leaves_the_axis_legible() {
    let (report, workload) =
        ranked(&[("base", &[1000; 4]), ("rival", &[1500; 4]), ("top", &[90_000; 4])], Some("top"));
    let every = all(&report, &workload).ranking("throughput").unwrap();
    assert_eq!((every.ceiling, every.rows[2].at), (None, Some(90.0)));
    let svg = ranking_svg(&every, WIDTH).file();
    assert!(
        texts(&svg).contains("the ceiling is off the axis") && svg.contains("d=\"M-5-4L0 0L-5 4\""),
        "{svg}"
    );
    assert!(!svg.contains("class=\"dot bound\""), "{svg}");
    // The baseline has no row, but its line is drawn.
    let plots = Plots { contenders: vec!["rival".to_owned()], ..all(&report, &workload) };
    let one = plots.ranking("throughput").unwrap();
    let texts = texts(&ranking_svg(&one, WIDTH).file());
    assert!(texts.contains("\n1x\n") && texts.contains("vs base"), "{texts}");
}
