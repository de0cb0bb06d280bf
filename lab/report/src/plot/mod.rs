//! Pictures of a stored run, as SVG and PNG: who is how far from the baseline, a metric against a parameter, latency curves, what the
//! work cost, the share of the bound, and the matrix. Nothing is drawn that the report does not hold.

mod bars;
mod canvas;
pub mod course;
pub(crate) mod ink;
mod lines_svg;
mod matrix;
mod png;
mod ranking;
mod ranking_svg;
mod scale;

use std::collections::BTreeMap;

use serde_json::Value;

use super::table;
use netdyno_lab_analysis::report::{Cell, CurvePoint, Report};
use netdyno_lab_manifest::{Better, ManifestError, Metric, ParamSpec, Source, Workload};
use netdyno_lab_store::CellStatus;

pub use bars::{Bar, Bars, bars, bars_svg, cost, costs, shares};
pub use canvas::Picture;
pub use lines_svg::lines_svg;
pub use matrix::{Matrix, Square, matrix, matrix_svg};
pub use png::png;
pub use ranking::{Kind, Ranking, Row, ranking};
pub use ranking_svg::ranking_svg;

/// Width of pictures, in px.
pub const WIDTH: f64 = 880.0;
/// Lines of one picture at the most: as many names as stand beside it.
pub const SERIES_MAX: usize = 24;
/// Rows of one picture at the most.
pub const ROWS_MAX: usize = 64;

/// What to plot of a run.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Parameters that cells must have, as typed.
    pub only: Vec<(String, String)>,
    /// Contenders; none: all.
    pub contenders: Vec<String>,
}

/// A plot, before it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Its headline.
    pub title: String,
    /// What was run.
    pub subtitle: String,
    /// Below the x axis.
    pub x_label: String,
    /// Places on the x axis, and what stands below them.
    pub x_ticks: Vec<(f64, String)>,
    /// Beside the y axis.
    pub y_label: String,
    /// Unit of the values.
    pub unit: String,
    /// One a contender.
    pub series: Vec<Series>,
    /// How to read the points, the machine, the run and its date.
    pub footer: Vec<String>,
}

/// The points of one contender, in rising x.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its points.
    pub points: Vec<Point>,
    /// Whether points are marked, or only joined.
    pub marked: bool,
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where on the x axis.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// The least and the greatest of the trials.
    pub range: (f64, f64),
    /// False where a load that was asked for was not held: drawn hollow.
    pub held: bool,
}

/// Why there is nothing to plot. The caller's.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// An unknown parameter, metric or contender, or a value out of range.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Several cells of a contender would stand at one place.
    #[error("cells differ in {0} too: choose one with --where {0}=VALUE")]
    Ambiguous(String),
    /// One row a contender is not enough.
    #[error("cells differ in {0}: draw it along the axis with --x {0}, or choose one with --where {0}=VALUE")]
    Several(String),
    /// Nothing is left.
    #[error("no measured cell has a value above 0 here: choose another metric, or less with --where")]
    Empty,
    /// Cells that differ only in how long was measured would be drawn over each other.
    #[error("a contender was measured twice at one place: choose with --where seconds=VALUE")]
    Twice,
    /// More lines than can be told apart, or more rows than a picture has.
    #[error("{0} contenders are too many for one picture: name at most {1}")]
    TooMany(usize, usize),
    /// The run has no matrix.
    #[error("a matrix takes two roles that several contenders play: netdyno run WORKLOAD --matrix")]
    NoMatrix,
    /// Nothing that could stand along the axis.
    #[error("cells differ in {0}: choose what stands along the axis with --x PARAM")]
    NoAxis(String),
    /// No cell has a latency curve.
    #[error("no cell has a latency curve: the workload takes no histograms, or nothing was measured")]
    NoCurves,
    /// No cell has this curve.
    #[error("no cell has the curve {wanted}; known: {known}")]
    NoCurve {
        /// What was asked for.
        wanted: String,
        /// What there is.
        known: String,
    },
}

/// A metric against a parameter, a line a contender.
///
/// # Errors
/// [`PlotError`].
pub fn against(
    report: &Report,
    workload: &Workload,
    x: &str,
    y: &str,
    selection: &Selection,
) -> Result<Plot, PlotError> {
    let spec = workload.param(x)?;
    let metric = workload.metric(y)?;
    let cells = selected(report, workload, selection)?;
    no_other_difference(&cells, Some(x))?;
    let mut places: Vec<&Value> = Vec::new();
    for value in cells.iter().filter_map(|c| c.params.get(x)) {
        if !places.contains(&value) {
            places.push(value);
        }
    }
    places.sort_by(|a, b| rank(spec, a).total_cmp(&rank(spec, b)));
    let place = |cell: &Cell| places.iter().position(|p| Some(*p) == cell.params.get(x));
    let mut series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for cell in &cells {
        let Some((i, figure)) = place(cell).zip(cell.metrics.get(y)) else { continue };
        let Some(value) = figure.value.filter(|v| *v > 0.0) else { continue };
        let range = figure.samples.iter().fold((value, value), |(a, b), s| (a.min(*s), b.max(*s)));
        let points = series.entry(&cell.label).or_default();
        let x = i as f64;
        if points.iter().any(|p| p.x == x) {
            return Err(PlotError::Twice);
        }
        points.push(Point { x, y: value, range, held: held(cell) });
    }
    let unit = spec.unit.as_ref().filter(|u| *u != x).map_or(String::new(), |u| format!(" ({u})"));
    let mut words = vec![
        "Point: the median of the trials; bar: least to greatest; hollow: the load was not held.".to_owned(),
    ];
    words.extend(footer(report));
    finish(Plot {
        title: title(report, &format!("{}, {}", metric.label, direction(metric)), selection),
        subtitle: report.run.headline.clone(),
        x_label: format!("{x}{unit}"),
        x_ticks: places.iter().enumerate().map(|(i, v)| (i as f64, shown(spec, v))).collect(),
        y_label: metric.label.clone(),
        unit: metric.unit.clone(),
        series: in_order(series, true),
        footer: words,
    })
}

/// Latency curves: the share of values on the x axis, in nines, and a line a contender.
///
/// # Errors
/// [`PlotError`].
pub fn curves(
    report: &Report,
    workload: &Workload,
    name: &str,
    selection: &Selection,
) -> Result<Plot, PlotError> {
    let cells = selected(report, workload, selection)?;
    no_other_difference(&cells, None)?;
    let mut series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for cell in &cells {
        let points = curve(cell.curves.get(name).map_or(&[], Vec::as_slice), held(cell));
        if !points.is_empty() && series.insert(&cell.label, points).is_some() {
            return Err(PlotError::Twice);
        }
    }
    if series.is_empty() {
        let mut known: Vec<&str> = cells.iter().flat_map(|c| c.curves.keys()).map(String::as_str).collect();
        known.sort_unstable();
        known.dedup();
        return Err(PlotError::NoCurve { wanted: name.to_owned(), known: known.join(", ") });
    }
    let ticks =
        [(0.0, "0"), (1.0, "90 %"), (2.0, "99 %"), (3.0, "99.9 %"), (4.0, "99.99 %"), (5.0, "99.999 %")];
    let most = series.values().flatten().map(|p| p.x).fold(1.0, f64::max).ceil();
    finish(Plot {
        title: title(report, &format!("{name}, less is better"), selection),
        subtitle: report.run.headline.clone(),
        x_label: "share of the values".to_owned(),
        x_ticks: ticks.iter().filter(|t| t.0 <= most).map(|(x, text)| (*x, (*text).to_owned())).collect(),
        y_label: name.to_owned(),
        unit: unit_of_histogram(workload, name),
        series: in_order(series, false),
        footer: footer(report),
    })
}

/// The points of a curve. The greatest value of all has no share in nines: the line goes up to it where it has come to.
fn curve(points: &[CurvePoint], held: bool) -> Vec<Point> {
    let mut last = 0.0;
    let mut place = |quantile: f64| {
        if quantile < 1.0 {
            last = nines(quantile);
        }
        last
    };
    let point = |p: &CurvePoint| {
        let y = p.value as f64;
        Point { x: place(p.quantile), y, range: (y, y), held }
    };
    points.iter().filter(|p| p.value > 0).map(point).collect()
}

/// The unit of the metric that reads this histogram; a bare number where none does.
fn unit_of_histogram(workload: &Workload, name: &str) -> String {
    let reads = |metric: &&Metric| match &metric.from {
        Source::HistogramQuantile { role, histogram, .. } => format!("{role}.{histogram}") == name,
        _ => false,
    };
    workload.metrics.iter().find(reads).map_or("1".to_owned(), |m| m.unit.clone())
}

/// The workload, what is drawn, and what was chosen of the run: `rtt: latency p50, transport=udp`.
fn title(report: &Report, what: &str, selection: &Selection) -> String {
    let chosen = selection.only.iter().map(|(name, value)| format!(", {name}={value}"));
    format!("{}: {what}{}", report.run.workload, chosen.collect::<String>())
}

/// Without these a picture is worth nothing a month later.
fn footer(report: &Report) -> Vec<String> {
    let run = &report.run;
    let date = run.started_at.get(..10).unwrap_or(&run.started_at);
    vec![report.host.headline(), format!("run {} · {date} · netdyno {}", run.id, run.lab_version)]
}

fn held(cell: &Cell) -> bool {
    !cell.load.is_some_and(|load| load.is_missed())
}

fn finish(plot: Plot) -> Result<Plot, PlotError> {
    match plot.series.len() {
        0 => Err(PlotError::Empty),
        n if n > SERIES_MAX => Err(PlotError::TooMany(n, SERIES_MAX)),
        _ => Ok(plot),
    }
}

fn in_order(series: BTreeMap<&str, Vec<Point>>, marked: bool) -> Vec<Series> {
    let one = |(name, mut points): (&str, Vec<Point>)| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: name.to_owned(), points, marked }
    };
    series.into_iter().map(one).collect()
}

/// Which way is better, in words.
fn direction(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    }
}

/// The parameter that stands along the axis unless another is named: the one that cells differ in.
///
/// # Errors
/// [`PlotError`], when there is none or are several.
pub fn axis(report: &Report, workload: &Workload, selection: &Selection) -> Result<String, PlotError> {
    let cells = selected(report, workload, selection)?;
    match &differing(&cells)[..] {
        [one] => Ok(one.clone()),
        [] => Err(PlotError::NoAxis("no parameter".to_owned())),
        several => Err(PlotError::NoAxis(several.join(" and "))),
    }
}

/// The curve that is drawn unless another is named: the one that the primary metric reads, else the first metric's that reads one.
///
/// # Errors
/// [`PlotError::NoCurves`].
pub fn main_curve(report: &Report, workload: &Workload) -> Result<String, PlotError> {
    let known = |name: &String| report.cells.iter().any(|c| c.curves.contains_key(name));
    let read = |metric: &Metric| match &metric.from {
        Source::HistogramQuantile { role, histogram, .. } => Some(format!("{role}.{histogram}")),
        _ => None,
    };
    let first = workload.primary().into_iter().chain(&workload.metrics).filter_map(read).find(known);
    let any = || report.cells.iter().flat_map(|c| c.curves.keys()).next().cloned();
    first.or_else(any).ok_or(PlotError::NoCurves)
}

/// The measured cells that have what is asked for.
fn selected<'a>(
    report: &'a Report,
    workload: &Workload,
    selection: &Selection,
) -> Result<Vec<&'a Cell>, PlotError> {
    let mut cells = chosen(report, workload, selection)?;
    cells.retain(|c| c.status == CellStatus::Ok);
    if cells.is_empty() { Err(PlotError::Empty) } else { Ok(cells) }
}

/// The measured cells that share their parameters, best first.
fn at_one_place<'a>(
    report: &'a Report,
    workload: &Workload,
    selection: &Selection,
) -> Result<Vec<&'a Cell>, PlotError> {
    let mut cells = selected(report, workload, selection)?;
    several_at_one_place(&cells)?;
    if let Some(primary) = workload.primary() {
        table::sort(&mut cells, primary);
    }
    Ok(cells)
}

/// The cells that have what is asked for, whatever became of them.
fn chosen<'a>(
    report: &'a Report,
    workload: &Workload,
    selection: &Selection,
) -> Result<Vec<&'a Cell>, PlotError> {
    let mut wanted = Vec::new();
    for (name, text) in &selection.only {
        wanted.push((name, serde_json::json!(workload.parse_param(name, text)?)));
    }
    for name in &selection.contenders {
        if !report.cells.iter().any(|c| c.label == *name) {
            let known = report.cells.iter().map(|c| &c.label);
            return Err(ManifestError::unknown("contender of this run", name, known).into());
        }
    }
    let fits = |c: &&Cell| {
        wanted.iter().all(|(name, value)| c.params.get(*name) == Some(value))
            && (selection.contenders.is_empty() || selection.contenders.contains(&c.label))
    };
    let cells: Vec<&Cell> = report.cells.iter().filter(fits).collect();
    if cells.is_empty() { Err(PlotError::Empty) } else { Ok(cells) }
}

/// Two cells of a contender may differ in `x` alone, and in how long was measured.
fn no_other_difference(cells: &[&Cell], x: Option<&str>) -> Result<(), PlotError> {
    other_difference(cells, x)?.map_or(Ok(()), |name| Err(PlotError::Ambiguous(name)))
}

/// Cells that share their place, each contender once.
fn several_at_one_place(cells: &[&Cell]) -> Result<(), PlotError> {
    if let Some(name) = other_difference(cells, None)? {
        return Err(PlotError::Several(name));
    }
    let twice = |(i, cell): (usize, &&Cell)| cells[..i].iter().any(|c| c.label == cell.label);
    if cells.iter().enumerate().any(twice) { Err(PlotError::Twice) } else { Ok(()) }
}

fn other_difference(cells: &[&Cell], x: Option<&str>) -> Result<Option<String>, PlotError> {
    if cells.is_empty() {
        return Err(PlotError::Empty);
    }
    Ok(differing(cells).into_iter().find(|name| Some(name.as_str()) != x))
}

/// The parameters that cells differ in, but for how long was measured.
pub(super) fn differing(cells: &[&Cell]) -> Vec<String> {
    const EFFORT: [&str; 3] = ["seconds", "warmup_seconds", "verify_messages"];
    let Some(first) = cells.first() else { return Vec::new() };
    let differs = |(name, value): &(&String, &Value)| {
        !EFFORT.contains(&name.as_str()) && cells.iter().any(|c| c.params.get(*name) != Some(*value))
    };
    first.params.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

/// Where a value stands among the others. What means "no limit" stands above all.
fn rank(spec: &ParamSpec, value: &Value) -> f64 {
    match value.as_f64() {
        Some(0.0) if spec.zero.is_some() => f64::INFINITY,
        Some(number) => number,
        None => 0.0,
    }
}

fn shown(spec: &ParamSpec, value: &Value) -> String {
    match (value, value.as_f64(), &spec.zero) {
        (_, Some(0.0), Some(zero)) => zero.clone(),
        (Value::String(text), ..) => text.clone(),
        (other, ..) => other.to_string(),
    }
}

/// 0.9 is one nine, 0.99 two.
fn nines(quantile: f64) -> f64 {
    const MOST: f64 = 5.0;
    (-(1.0 - quantile).log10()).clamp(0.0, MOST)
}

#[cfg(test)]
mod tests;
