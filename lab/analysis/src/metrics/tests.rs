//! On made-up trials.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2Serializer};

use super::*;
use netdyno_lab_store::fixture::{self, CannedContender};
use netdyno_lab_store::{CellStatus, Turns};

#[test]
fn a_stall_names_the_window_and_the_remedy() {
    let reading = |mark, at_ns| Sample {
        role: "answerer".to_owned(),
        kind: SampleKind::Counter,
        mark,
        at_ns,
        name: "bytes".to_owned(),
        value: Some(5),
        source: "contender".to_owned(),
    };
    let samples = [reading(0, 1), reading(1, 700_000_001)];
    let figure = rate(&Window::new(&samples, None), "answerer", "bytes", 1);
    assert_eq!(figure.value, None);
    assert!(
        figure.source.contains("bytes of the answerer did not change in the window of 0.7 s"),
        "{figure:?}"
    );
    assert!(figure.source.contains("--set seconds=3"), "{figure:?}");
}

/// The marks of the stretch have the greatest numbers, at any position among the turns.
#[test]
fn totals_use_the_latest_reading_not_the_greatest_mark() {
    let reading = |kind, mark, name: &str, value| Sample {
        role: "answerer".to_owned(),
        kind,
        mark,
        at_ns: value,
        name: name.to_owned(),
        value: Some(value),
        source: "contender".to_owned(),
    };
    // Marks in chronological order: two turns and the stretch (4, 5).
    for marks in [[0, 1, 2, 3, 4, 5], [0, 1, 4, 5, 2, 3]] {
        let readings = marks.iter().zip(1..);
        let samples: Vec<Sample> = readings
            .flat_map(|(&mark, n)| {
                [
                    reading(SampleKind::Counter, mark, "bytes", 100 * n),
                    reading(SampleKind::Meter, mark, "wire_bytes", 110 * n),
                ]
            })
            .collect();
        assert_eq!(counter_total(&samples, "answerer", "bytes"), Some(600), "{marks:?}");
        assert_eq!(wire_total(&samples), Some(660), "{marks:?}");
    }
    assert_eq!(wire_total(&[]), None);
}

#[test]
fn a_quantile_between_two_groups_is_detected() {
    let only = CannedContender { name: "x", status: CellStatus::Ok, rates: &[1], sink_cpu_percent: 1 };
    let mut trial = fixture::run(&[only], None).trials.remove(0);
    let mut metric = netdyno_lab_manifest::dummy::workload().metrics.remove(0);
    metric.from =
        Source::HistogramQuantile { role: "sink".into(), histogram: "latency".into(), quantile: 0.5 };
    // (values at 8,000, at 17,000) -> detected
    for (fast, slow, seen) in
        [(48, 52, true), (53, 47, true), (60, 40, false), (40, 60, false), (100, 0, false)]
    {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(8000, fast).unwrap();
        histogram.record_n(17_000, slow).unwrap();
        trial.histograms = vec![("sink".into(), "latency".into(), encoded(&histogram).into())];
        assert_eq!(Pool::new(&[&trial]).between_groups(&metric).is_some(), seen, "{fast} {slow}");
    }
}

fn encoded(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(histogram, &mut bytes).unwrap();
    STANDARD.encode(bytes)
}

#[test]
fn quantiles_in_turns_need_few_interrupted_echoes() {
    let only = CannedContender { name: "x", status: CellStatus::Ok, rates: &[1], sink_cpu_percent: 1 };
    let mut trial = fixture::run(&[only], None).trials.remove(0);
    let value_of = |trial: &TrialRecord, q| pool::of_trial_quantile(trial, "sink", "latency", q).value;
    // One connection, frozen five times: half of the 1 % of 1,000 echoes beyond p99.
    let turns = Turns {
        freezer: "synthetic".to_owned(),
        turn_ns: 10,
        lead_ns: 2,
        count: 3,
        stretch: true,
        under_way: None,
    };
    for (echoes, p99_in_turns) in [(1000, true), (900, false)] {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(10, echoes).unwrap();
        trial.histograms = vec![("sink".into(), "latency".into(), encoded(&histogram).into())];
        trial.turns = None;
        assert_eq!([0.5, 0.99, 0.999].map(|q| value_of(&trial, q).is_some()), [true; 3]);
        trial.turns = Some(turns.clone());
        let in_turns = [0.5, 0.99, 0.999].map(|q| value_of(&trial, q).is_some());
        assert_eq!(in_turns, [true, p99_in_turns, false], "{echoes}");
    }
    // The same number of echoes, with ten in flight at each freeze.
    if let Some(turns) = &mut trial.turns {
        turns.under_way = Some(10);
    }
    for (echoes, p99) in [(10_000, true), (9_000, false)] {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n(10, echoes).unwrap();
        trial.histograms = vec![("sink".into(), "latency".into(), encoded(&histogram).into())];
        assert_eq!(value_of(&trial, 0.99).is_some(), p99, "{echoes}");
    }
}

/// Curves end at the same quantile as tables.
#[test]
fn a_curve_in_turns_ends_at_the_first_affected_quantile() {
    let only = CannedContender { name: "x", status: CellStatus::Ok, rates: &[1], sink_cpu_percent: 1 };
    let mut trial = fixture::run(&[only], None).trials.remove(0);
    let mut histogram = Histogram::<u64>::new(3).unwrap();
    (1..=1000).for_each(|value| histogram.record(value).unwrap());
    histogram.record_n(1_000_000, 5).unwrap();
    trial.histograms = vec![("sink".into(), "latency".into(), encoded(&histogram).into())];
    let last = |trial: &TrialRecord| {
        let all = Pool::new(&[trial]).curves();
        *all[&("sink".to_owned(), "latency".to_owned())].last().unwrap()
    };
    trial.turns = None;
    assert_eq!(last(&trial).0, 1.0);
    assert!(last(&trial).1 >= 1_000_000);
    let freezer = "synthetic".to_owned();
    trial.turns = Some(Turns { freezer, turn_ns: 10, lead_ns: 2, count: 3, stretch: true, under_way: None });
    let (quantile, value) = last(&trial);
    assert!((0.95..=0.99).contains(&quantile) && value < 1000, "{quantile} {value}");
}

#[test]
fn meter_readings_at_a_moment_and_growth() {
    let only = CannedContender { name: "x", status: CellStatus::Ok, rates: &[1], sink_cpu_percent: 1 };
    let mut trial = fixture::run(&[only], None).trials.remove(0);
    let reading = |role: &str, mark, value| Sample {
        role: role.to_owned(),
        kind: SampleKind::Meter,
        mark,
        at_ns: 1,
        name: "rss_bytes".to_owned(),
        value,
        source: "synthetic".to_owned(),
    };
    trial.samples = vec![
        reading("sink", METER_CONNECTED, Some(1000)),
        reading("sink", METER_VERIFIED, Some(5000)),
        reading("sink", METER_BEGIN, Some(7000)),
        reading("source", METER_CONNECTED, Some(50)),
        reading("source", METER_VERIFIED, None),
    ];
    let mut metric = netdyno_lab_manifest::dummy::workload().metrics.remove(0);
    let mut params = Params::default();
    params.0.insert("keys".into(), netdyno_lab_manifest::ParamValue::Integer(40));
    let mut value_of = |from: Source| {
        metric.from = from;
        of_trial(&metric, &params, &trial)
    };
    let field = || "rss_bytes".to_owned();
    let of = |role: &str| Some(role.to_owned());
    let at = Some(Moment::Connected);
    assert_eq!(value_of(Source::Meter { field: field(), of: None, at }).value, Some(1050.0));
    assert_eq!(value_of(Source::Meter { field: field(), of: of("sink"), at }).value, Some(1000.0));
    assert_eq!(value_of(Source::Meter { field: field(), of: of("sink"), at: None }).value, Some(7000.0));
    let unread = value_of(Source::Meter { field: field(), of: of("source"), at: Some(Moment::Verified) });
    assert_eq!((unread.value, unread.source.as_str()), (None, "synthetic"));
    let each = || vec![vec!["keys".to_owned()], vec!["keys".to_owned(), "none".to_owned()]];
    let growth =
        |of: &str, least| Source::MeterGrowth { field: field(), of: of.to_owned(), each: each(), least };
    assert_eq!(value_of(growth("sink", 40)).value, Some(100.0));
    assert!(value_of(growth("sink", 41)).source.contains("growth by 40 cannot be measured"));
    assert_eq!(value_of(growth("source", 1)).value, None);
}

#[test]
fn a_unit_can_have_several_increments() {
    let only = CannedContender { name: "x", status: CellStatus::Ok, rates: &[1200], sink_cpu_percent: 10 };
    let mut trial = fixture::run(&[only], None).trials.remove(0);
    let parts = trial.samples.iter().filter(|s| s.role == "sink" && s.name == "cpu_ns");
    let parts: Vec<Sample> = parts.map(|s| Sample { name: "cpu_user_ns".to_owned(), ..s.clone() }).collect();
    trial.samples.extend(parts);
    let mut metric = netdyno_lab_manifest::dummy::workload().metrics.remove(0);
    let (role, counter, of) = (|| "sink".to_owned(), || "messages".to_owned(), || Some("sink".to_owned()));
    let mut value_of = |from: Source| {
        metric.from = from;
        of_trial(&metric, &Params::default(), &trial)
    };
    for (increments, rate, cpu_ns) in [(1, 1200.0, 0.1e9 / 1200.0), (12, 100.0, 1e6)] {
        let figure = value_of(Source::Rate { role: role(), counter: counter(), increments });
        assert_eq!(figure.value, Some(rate));
        assert_eq!(figure.source.contains("in units of 12"), increments == 12, "{}", figure.source);
        let each = value_of(Source::CpuPer { role: role(), counter: counter(), increments, of: of() });
        assert!((each.value.unwrap() - cpu_ns).abs() < 1.0, "{each:?}");
        let field = || "cpu_user_ns".to_owned();
        let user =
            Source::MeterPer { field: field(), role: role(), counter: counter(), increments, of: of() };
        assert_eq!(value_of(user).value, each.value);
    }
}
