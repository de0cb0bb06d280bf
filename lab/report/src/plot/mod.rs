//! Plots of a stored run, as SVG and PNG: rankings, a metric against a parameter, latency curves, resource
//! costs, shares of the ceiling, and matrices. Plots show only values of the report.

mod bars;
mod canvas;
pub(crate) mod ink;
mod lines_svg;
mod matrix;
#[cfg(feature = "png")]
mod png;
mod ranking;
mod ranking_svg;
pub mod ratio_chart;
mod scale;

use std::collections::BTreeMap;

use serde_json::Value;

use super::table;
use netdyno_lab_analysis::report::{Cell, CurvePoint, Report};
use netdyno_lab_manifest::{Better, ManifestError, Metric, ParamSpec, Source, Workload};
use netdyno_lab_store::CellStatus;

pub use bars::{Bar, Bars, bars, bars_svg, cost, costs, shares};
pub use canvas::Picture;
pub(crate) use canvas::escaped;
pub use lines_svg::lines_svg;
pub use matrix::{Matrix, Square, matrix, matrix_svg};
#[cfg(feature = "png")]
pub use png::png;
pub use ranking::{Kind, Ranking, RankingRow, ranking};
pub use ranking_svg::ranking_svg;

/// Default width of plots, in px.
pub const WIDTH: f64 = 880.0;
/// Maximum number of lines, limited by the space for their names.
pub const SERIES_MAX: usize = 24;
/// Maximum number of rows.
pub const ROWS_MAX: usize = 64;

/// Cells to plot.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Required parameter values, as on the command line.
    pub only: Vec<(String, String)>,
    /// Contenders. Empty means all.
    pub contenders: Vec<String>,
}

/// Data of a line plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    /// Headline.
    pub title: String,
    /// Conditions of the run.
    pub subtitle: String,
    /// Label of the x axis.
    pub x_label: String,
    /// Ticks of the x axis: position and label.
    pub x_ticks: Vec<(f64, String)>,
    /// Label of the y axis.
    pub y_label: String,
    /// Unit of the y values.
    pub unit: String,
    /// One series per contender.
    pub series: Vec<Series>,
    /// Legend, machine, run and date.
    pub footer: Vec<String>,
}

/// The points of one contender, by ascending x.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Label of the contender.
    pub name: String,
    /// The points.
    pub points: Vec<Point>,
    /// Whether points have markers in addition to the line.
    pub marked: bool,
}

/// One point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// The value.
    pub y: f64,
    /// Minimum and maximum of the trials.
    pub range: (f64, f64),
    /// Whether the requested load was achieved. If not, the point is hollow.
    pub held: bool,
}

/// A plot cannot be made from the selection.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlotError {
    /// A parameter, metric or contender is unknown, or a value is out of range.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// Cells of a contender differ in a parameter that is not on the axis.
    #[error("cells differ in {0}: select one value with --where {0}=VALUE, or plot against it with --x {0}")]
    Several(String),
    /// No selected cell has a value.
    #[error(
        "no selected cell has a measured value above 0: choose another metric, or select more cells with --where"
    )]
    Empty,
    /// Cells of a contender differ only in the duration of measurement.
    #[error("a contender was measured twice with the same parameters: select one with --where seconds=VALUE")]
    Twice,
    /// More contenders than the plot can show.
    #[error("{0} contenders are too many for one plot: name at most {1}")]
    TooMany(usize, usize),
    /// The run is not a matrix.
    #[error("a matrix needs two roles, each with several contenders: netdyno run WORKLOAD --matrix")]
    NoMatrix,
    /// There is not exactly one parameter for the x axis.
    #[error("cells differ in {0}: choose the parameter of the x axis with --x PARAM")]
    NoAxis(String),
    /// No cell has a latency curve.
    #[error("no cell has a latency curve: the workload records no histograms, or nothing was measured")]
    NoCurves,
    /// No cell has the requested curve.
    #[error("no cell has the curve {wanted}; known: {known}")]
    NoCurve {
        /// The requested curve.
        wanted: String,
        /// The existing curves.
        known: String,
    },
}

/// A metric against a parameter, one line per contender.
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
    check_parameters(&cells, Some(x))?;
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
        let range = figure.range_with(value);
        let points = series.entry(&cell.label).or_default();
        let x = i as f64;
        if points.iter().any(|p| p.x == x) {
            return Err(PlotError::Twice);
        }
        points.push(Point { x, y: value, range, held: is_load_held(cell) });
    }
    let unit = spec.unit.as_ref().filter(|u| *u != x).map_or(String::new(), |u| format!(" ({u})"));
    let mut lines = vec![
        "Point: median of the trials; bar: minimum to maximum; hollow: the requested load was not achieved."
            .to_owned(),
    ];
    lines.extend(footer(report));
    finish(Plot {
        title: title(report, &format!("{}, {}", metric.label, direction(metric)), selection),
        subtitle: report.run.headline.clone(),
        x_label: format!("{x}{unit}"),
        x_ticks: places.iter().enumerate().map(|(i, v)| (i as f64, tick_label(spec, v))).collect(),
        y_label: metric.label.clone(),
        unit: metric.unit.clone(),
        series: series_by_name(series, true),
        footer: lines,
    })
}

/// Latency curves: one line per contender over the quantiles, with nines on the x axis.
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
    check_parameters(&cells, None)?;
    let mut series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
    for cell in &cells {
        let points = curve(cell.curves.get(name).map_or(&[], Vec::as_slice), is_load_held(cell));
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
        title: title(report, &format!("{name}, lower is better"), selection),
        subtitle: report.run.headline.clone(),
        x_label: "quantile".to_owned(),
        x_ticks: ticks.iter().filter(|t| t.0 <= most).map(|(x, text)| (*x, (*text).to_owned())).collect(),
        y_label: name.to_owned(),
        unit: unit_of_histogram(workload, name),
        series: series_by_name(series, false),
        footer: footer(report),
    })
}

/// The points of a curve. The maximum has no finite number of nines: it is drawn at the last finite position.
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

/// Unit of the metric that reads a histogram; "1" if there is none.
fn unit_of_histogram(workload: &Workload, name: &str) -> String {
    let reads = |metric: &&Metric| match &metric.from {
        Source::HistogramQuantile { role, histogram, .. } => format!("{role}.{histogram}") == name,
        _ => false,
    };
    workload.metrics.iter().find(reads).map_or("1".to_owned(), |m| m.unit.clone())
}

/// Workload, content and selection: `rtt: latency p50, transport=udp`.
fn title(report: &Report, content: &str, selection: &Selection) -> String {
    let chosen = selection.only.iter().map(|(name, value)| format!(", {name}={value}"));
    format!("{}: {content}{}", report.run.workload, chosen.collect::<String>())
}

/// Machine, run, date and version.
fn footer(report: &Report) -> Vec<String> {
    let run = &report.run;
    let date = run.started_at.get(..10).unwrap_or(&run.started_at);
    vec![report.host.headline(), format!("run {} · {date} · netdyno {}", run.id, run.lab_version)]
}

fn is_load_held(cell: &Cell) -> bool {
    !cell.load.is_some_and(|load| load.is_missed())
}

fn finish(plot: Plot) -> Result<Plot, PlotError> {
    match plot.series.len() {
        0 => Err(PlotError::Empty),
        n if n > SERIES_MAX => Err(PlotError::TooMany(n, SERIES_MAX)),
        _ => Ok(plot),
    }
}

fn series_by_name(series: BTreeMap<&str, Vec<Point>>, marked: bool) -> Vec<Series> {
    let series_of = |(name, mut points): (&str, Vec<Point>)| {
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Series { name: name.to_owned(), points, marked }
    };
    series.into_iter().map(series_of).collect()
}

/// Direction of improvement, in words.
fn direction(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Higher => "higher is better",
        Better::Lower => "lower is better",
    }
}

/// Default parameter of the x axis: the only one that cells differ in.
///
/// # Errors
/// [`PlotError`], if there is not exactly one.
pub fn axis(report: &Report, workload: &Workload, selection: &Selection) -> Result<String, PlotError> {
    let cells = selected(report, workload, selection)?;
    match &differing(&cells)[..] {
        [name] => Ok(name.clone()),
        [] => Err(PlotError::NoAxis("no parameter".to_owned())),
        several => Err(PlotError::NoAxis(several.join(" and "))),
    }
}

/// Default curve: that of the primary metric, else that of the first metric with a curve.
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

/// The measured cells of a selection.
fn selected<'a>(
    report: &'a Report,
    workload: &Workload,
    selection: &Selection,
) -> Result<Vec<&'a Cell>, PlotError> {
    let mut cells = chosen(report, workload, selection)?;
    cells.retain(|c| c.status == CellStatus::Ok);
    if cells.is_empty() { Err(PlotError::Empty) } else { Ok(cells) }
}

/// The measured cells of a selection with equal parameters, best first.
fn of_one_setting<'a>(
    report: &'a Report,
    workload: &Workload,
    selection: &Selection,
) -> Result<Vec<&'a Cell>, PlotError> {
    let mut cells = selected(report, workload, selection)?;
    check_parameters(&cells, None)?;
    let is_repeated = |(i, cell): (usize, &&Cell)| cells[..i].iter().any(|c| c.label == cell.label);
    if cells.iter().enumerate().any(is_repeated) {
        return Err(PlotError::Twice);
    }
    if let Some(primary) = workload.primary() {
        table::sort(&mut cells, primary);
    }
    Ok(cells)
}

/// The cells of a selection, measured or not.
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

/// Checks that cells differ only in `x` and in the duration of measurement.
fn check_parameters(cells: &[&Cell], x: Option<&str>) -> Result<(), PlotError> {
    if cells.is_empty() {
        return Err(PlotError::Empty);
    }
    let other = differing(cells).into_iter().find(|name| Some(name.as_str()) != x);
    other.map_or(Ok(()), |name| Err(PlotError::Several(name)))
}

/// Parameters that cells differ in, except for the duration of measurement.
pub(super) fn differing(cells: &[&Cell]) -> Vec<String> {
    const EFFORT: [&str; 3] = ["seconds", "warmup_seconds", "verify_messages"];
    let Some(first) = cells.first() else { return Vec::new() };
    let differs = |(name, value): &(&String, &Value)| {
        !EFFORT.contains(&name.as_str()) && cells.iter().any(|c| c.params.get(*name) != Some(*value))
    };
    first.params.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

/// Sort key of a parameter value. A zero that means "no limit" sorts last.
fn rank(spec: &ParamSpec, value: &Value) -> f64 {
    match value.as_f64() {
        Some(0.0) if spec.zero.is_some() => f64::INFINITY,
        Some(number) => number,
        None => 0.0,
    }
}

fn tick_label(spec: &ParamSpec, value: &Value) -> String {
    match (value, value.as_f64(), &spec.zero) {
        (_, Some(0.0), Some(zero)) => zero.clone(),
        (Value::String(text), ..) => text.clone(),
        (other, ..) => other.to_string(),
    }
}

/// Number of nines of a quantile: 1 for 0.9, 2 for 0.99.
fn nines(quantile: f64) -> f64 {
    const MOST: f64 = 5.0;
    (-(1.0 - quantile).log10()).clamp(0.0, MOST)
}

#[cfg(test)]
mod tests;
