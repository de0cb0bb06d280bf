//! Who is how far from the baseline: a row a contender, best first. What is drawn where is [`super::ranking_svg`]'s.

use super::{PlotError, ROWS_MAX, Selection, at_one_place, direction, footer, held};
use crate::table::{self, verdict_of};
use netdyno_lab_analysis::report::format;
use netdyno_lab_analysis::report::{Cell, Report};
use netdyno_lab_manifest::{Metric, Workload};
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::{Verdict, VerdictKind};

/// A bound that would make the axis more than this many times as long is not on it.
const AXIS_MOST: f64 = 2.5;
/// Longer names of a baseline do not fit above their column.
const HEAD_CHARS_MAX: usize = 32;
/// Bounds further apart than this are not worth their digits.
const INTERVAL_MOST: f64 = 1e4;

/// A ranking, before it is drawn. All places are above 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Its headline.
    pub title: String,
    /// What was run.
    pub subtitle: String,
    /// The metric's name, above the values.
    pub metric: String,
    /// Above the ratios; empty where there is nothing to compare with.
    pub versus: String,
    /// Below the axis.
    pub axis: String,
    /// How to read the marks.
    pub legend: String,
    /// The metric's unit, where places are values; none where they are ratios.
    pub unit: Option<String>,
    /// Best first, the bound last.
    pub rows: Vec<Row>,
    /// Where the bound lies, if it was measured and leaves room for the others.
    pub ceiling: Option<f64>,
    /// What has no figures, and the machine.
    pub footer: Vec<String>,
}

/// One contender.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its label.
    pub label: String,
    /// Its version, and whether it is tuned.
    pub more: String,
    /// Its value, with the unit.
    pub value: String,
    /// The ratio and its interval, or the range of the trials.
    pub detail: String,
    /// How it stands, in a word or two.
    pub word: &'static str,
    /// The same, for the mark.
    pub kind: Kind,
    /// Its place on the axis, if it has one.
    pub at: Option<f64>,
    /// The ends of its interval; none: unbounded.
    pub range: Option<(Option<f64>, Option<f64>)>,
}

/// How a row stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Better than the baseline.
    Better,
    /// Worse.
    Worse,
    /// Neither; or there is nothing to compare with.
    Same,
    /// Not decided.
    Open,
    /// The baseline.
    Baseline,
    /// The bound.
    Bound,
}

/// The contenders by a metric, as ratios to the baseline, or as values where there is none.
///
/// # Errors
/// [`PlotError`].
pub fn ranking(
    report: &Report,
    workload: &Workload,
    metric: &str,
    selection: &Selection,
) -> Result<Ranking, PlotError> {
    let metric = workload.metric(metric)?;
    let value = |c: &Cell| c.metrics.get(&metric.name).and_then(|m| m.value).filter(|v| *v > 0.0);
    let mut cells = at_one_place(report, workload, selection)?;
    cells.retain(|c| value(c).is_some());
    match cells.iter().filter(|c| !c.ceiling).count() {
        0 => return Err(PlotError::Empty),
        n if n > ROWS_MAX => return Err(PlotError::TooMany(n, ROWS_MAX)),
        _ => {}
    }
    table::sort(&mut cells, metric);
    let baseline = cells.iter().find_map(|c| verdict_of(report, c, &metric.name));
    let baseline = baseline.map(|v| v.baseline.as_str());
    let base = report.cells.iter().find(|c| Some(c.label.as_str()) == baseline && same_place(c, cells[0]));
    let bound = cells.iter().find(|c| c.ceiling).and_then(|c| value(c));
    let ceiling = match base.map(value) {
        Some(base) => bound.zip(base).map(|(bound, base)| bound / base),
        None => bound,
    };
    // Of any other metric the least program is no bound.
    let ceiling = ceiling.filter(|_| metric.primary);
    let axis = match baseline {
        Some(baseline) => format!("{} as a multiple of {baseline}'s", metric.label),
        None => metric.label.clone(),
    };
    let rows: Vec<Row> = cells.iter().map(|cell| row(report, cell, metric, baseline, ceiling)).collect();
    let on_axis = ceiling.filter(|c| leaves_room(*c, &rows));
    Ok(Ranking {
        title: format!("{}: {}, {}", report.run.title, metric.label, direction(metric)),
        subtitle: report.run.headline.clone(),
        metric: metric.label.clone(),
        versus: match baseline {
            Some(baseline) if baseline.chars().count() <= HEAD_CHARS_MAX => format!("vs {baseline}"),
            Some(_) => "vs the baseline".to_owned(),
            None => String::new(),
        },
        axis: format!("{axis}, logarithmic scale"),
        legend: legend(report, baseline.is_some(), ceiling.is_some(), on_axis.is_some()),
        unit: baseline.is_none().then(|| metric.unit.clone()),
        rows,
        ceiling: on_axis,
        footer: missing(report, cells[0]).into_iter().chain(footer(report)).collect(),
    })
}

/// Whether the others can still be told apart on an axis that reaches to the bound.
fn leaves_room(ceiling: f64, rows: &[Row]) -> bool {
    const LEAST_SPAN: f64 = 3.0;
    let places = rows.iter().filter(|r| r.kind != Kind::Bound).filter_map(|r| r.at);
    let (low, high) = places.fold((f64::INFINITY, 0.0), |(a, b), v| (v.min(a), v.max(b)));
    let span = (high / low).max(LEAST_SPAN).ln();
    (high.max(ceiling) / low.min(ceiling)).ln() <= AXIS_MOST * span
}

fn legend(report: &Report, ratios: bool, ceiling: bool, on_axis: bool) -> String {
    let bound = match (ceiling, on_axis) {
        (true, true) => "; dashed: the ceiling, a bound and no rival",
        (true, false) => "; the ceiling lies beyond the axis",
        (false, _) => "",
    };
    if !ratios {
        return format!("Dot: median of the trials; line: least to greatest trial{bound}.");
    }
    let sure = 100.0 * (1.0 - report.run.alpha);
    format!(
        "Dot: ratio; line: its interval (all are right in {sure:.0} % of runs); hollow: not decided{bound}."
    )
}

fn same_place(a: &Cell, b: &Cell) -> bool {
    a.params == b.params
}

/// A failed cell is shown, if only by name.
fn missing(report: &Report, place: &Cell) -> Option<String> {
    let without = report.cells.iter().filter(|c| same_place(c, place) && c.status != CellStatus::Ok);
    let named = without.map(|c| format!("{} ({})", c.label, format!("{:?}", c.status).to_lowercase()));
    let names: Vec<String> = named.collect();
    (!names.is_empty()).then(|| format!("Without figures: {}", names.join(", ")))
}

fn row(report: &Report, cell: &Cell, metric: &Metric, baseline: Option<&str>, ceiling: Option<f64>) -> Row {
    let figure = &cell.metrics[&metric.name];
    let value = figure.value.unwrap_or_default();
    let verdict = verdict_of(report, cell, &metric.name);
    let is_baseline = baseline == Some(cell.label.as_str());
    let (kind, word) = match verdict {
        _ if cell.ceiling => (Kind::Bound, "the bound"),
        _ if is_baseline => (Kind::Baseline, "baseline"),
        Some(v) => kind_of(v.verdict),
        None if !held(cell) => (Kind::Same, "rate not held"),
        None => (Kind::Same, ""),
    };
    let trials = figure.samples.iter().fold((value, value), |(a, b), s| (a.min(*s), b.max(*s)));
    let (at, range, detail) = match (baseline, verdict) {
        (None, _) => (
            Some(value),
            (!cell.ceiling).then_some((Some(trials.0).filter(|v| *v > 0.0), Some(trials.1))),
            format::range(trials.0, trials.1, &figure.unit),
        ),
        (Some(_), _) if cell.ceiling => {
            (ceiling, None, ceiling.map_or(String::new(), |c| format!("{}x", format::ratio(c))))
        }
        (Some(_), _) if is_baseline => (Some(1.0), None, "1x".to_owned()),
        (Some(_), Some(v)) => (v.ratio.filter(|r| *r > 0.0), bounds(v), detail(v)),
        (Some(_), None) => (None, None, String::new()),
    };
    let full = table::name(cell);
    let more = full.strip_prefix(cell.label.as_str()).unwrap_or_default().trim().to_owned();
    Row {
        label: cell.label.clone(),
        more,
        value: format::value(value, &figure.unit),
        detail,
        word,
        kind,
        at,
        range,
    }
}

fn kind_of(verdict: VerdictKind) -> (Kind, &'static str) {
    match verdict {
        VerdictKind::Better => (Kind::Better, "better"),
        VerdictKind::Worse => (Kind::Worse, "worse"),
        VerdictKind::NoDifference => (Kind::Same, "no difference"),
        VerdictKind::Undecided => (Kind::Open, "undecided"),
    }
}

fn bounds(v: &Verdict) -> Option<(Option<f64>, Option<f64>)> {
    (v.low.is_some() || v.high.is_some()).then_some((v.low, v.high))
}

/// The ratio with its interval, where that says something.
fn detail(v: &Verdict) -> String {
    let Some(ratio) = v.ratio else { return String::new() };
    match v.low.zip(v.high).filter(|(low, high)| *high <= INTERVAL_MOST * low) {
        Some((low, high)) => {
            format!("{}x ({} - {})", format::ratio(ratio), format::ratio(low), format::ratio(high))
        }
        None => format!("{}x", format::ratio(ratio)),
    }
}
