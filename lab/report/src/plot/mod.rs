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
pub(crate) mod ratio_chart;
mod scale;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::table;
use netdyno_lab_analysis::distinct;
use netdyno_lab_analysis::report::{Cell, CurvePoint, Report};
use netdyno_lab_manifest::{Better, ManifestError, Metric, ParamSpec, Source, Workload};
use netdyno_lab_store::CellStatus;

pub(crate) use bars::costs;
pub use bars::{Bars, bars_svg};
pub(crate) use canvas::escaped;
pub use canvas::{Captions, Picture};
pub use lines_svg::lines_svg;
pub(crate) use matrix::Square;
pub use matrix::{Matrix, matrix_svg};
#[cfg(feature = "png")]
pub use png::png;
pub use ranking::Ranking;
pub(crate) use ranking::{Kind, RankingRow, bounds};
pub use ranking_svg::ranking_svg;

/// Default width of plots, in px.
pub const WIDTH: f64 = 880.0;
/// Maximum number of lines, limited by the space for their names.
const SERIES_MAX: usize = 24;
/// Maximum number of rows.
const ROWS_MAX: usize = 64;

/// The plots of a run.
#[derive(Debug, Clone)]
pub struct Plots<'a> {
    /// Its report.
    pub report: &'a Report,
    /// Its workload.
    pub workload: &'a Workload,
    /// Required parameter values of the plotted cells, as on the command line.
    pub only: Vec<(String, String)>,
    /// Plotted contenders. Empty means all.
    pub contenders: Vec<String>,
}

type Result<T> = std::result::Result<T, PlotError>;

/// Data of a line plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Plot {
    pub(crate) captions: Captions,
    pub(crate) x_label: String,
    /// Ticks of the x axis: position and label.
    pub(crate) x_ticks: Vec<(f64, String)>,
    pub(crate) y_label: String,
    /// Unit of the y values.
    pub(crate) unit: String,
    /// One series per contender.
    pub(crate) series: Vec<Series>,
}

/// The points of one contender, by ascending x.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<Point>,
    /// Whether points have markers in addition to the line.
    pub(crate) marked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Minimum and maximum of the trials.
    pub(crate) range: (f64, f64),
    /// Whether the requested load was achieved. If not, the point is hollow.
    pub(crate) held: bool,
}

/// A plot cannot be made from the selection.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages document the variants")]
pub enum PlotError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error("cells differ in {0}: select one value with --where {0}=VALUE, or plot against it with --x {0}")]
    Several(String),
    #[error(
        "no selected cell has a measured value above 0: choose another metric, or select more cells with --where"
    )]
    Empty,
    #[error("a contender was measured twice with the same parameters: select one with --where seconds=VALUE")]
    Twice,
    #[error("{0} contenders are too many for one plot: name at most {1}")]
    TooMany(usize, usize),
    #[error("a matrix needs two roles, each with several contenders: netdyno run WORKLOAD --matrix")]
    NoMatrix,
    #[error("cells differ in {0}: choose the parameter of the x axis with --x PARAM")]
    NoAxis(String),
    #[error("no cell has a latency curve: the workload records no histograms, or nothing was measured")]
    NoCurves,
    #[error("no cell has the curve {wanted}; known: {known}")]
    NoCurve { wanted: String, known: String },
}

impl<'a> Plots<'a> {
    /// A metric against a parameter, one line per contender.
    pub fn against(&self, x: &str, y: &str) -> Result<Plot> {
        let spec = self.workload.param(x)?;
        let metric = self.workload.metric(y)?;
        let cells = self.selected()?;
        check_parameters(&cells, Some(x))?;
        let mut places = distinct(cells.iter().filter_map(|c| c.params.get(x)));
        places.sort_by(|a, b| rank(spec, a).total_cmp(&rank(spec, b)));
        let mut series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
        for cell in &cells {
            let place = places.iter().position(|p| Some(*p) == cell.params.get(x));
            let Some((place, figure)) = place.zip(cell.metrics.get(y)) else { continue };
            let Some(y) = figure.value.filter(|v| *v > 0.0) else { continue };
            let (x, points) = (place as f64, series.entry(&cell.label).or_default());
            if points.iter().any(|p| p.x == x) {
                return Err(PlotError::Twice);
            }
            points.push(Point { x, y, range: figure.range_with(y), held: is_load_held(cell) });
        }
        let unit = spec.unit.as_ref().filter(|u| *u != x).map_or(String::new(), |u| format!(" ({u})"));
        let legend = "Point: median of the trials; bar: minimum to maximum; hollow: the requested load was not achieved.";
        finish(Plot {
            captions: self.captions(&format!("{}, {}", metric.label, direction(metric)), Some(legend)),
            x_label: format!("{x}{unit}"),
            x_ticks: places.iter().enumerate().map(|(i, v)| (i as f64, tick_label(spec, v))).collect(),
            y_label: metric.label.clone(),
            unit: metric.unit.clone(),
            series: series_by_name(series, true),
        })
    }

    /// Latency curves: one line per contender over the quantiles, with nines on the x axis.
    pub fn curves(&self, name: &str) -> Result<Plot> {
        const TICKS: [&str; 6] = ["0", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"];
        let cells = self.selected()?;
        check_parameters(&cells, None)?;
        let mut series: BTreeMap<&str, Vec<Point>> = BTreeMap::new();
        for cell in &cells {
            let points = curve(cell.curves.get(name).map_or(&[], Vec::as_slice), is_load_held(cell));
            if !points.is_empty() && series.insert(&cell.label, points).is_some() {
                return Err(PlotError::Twice);
            }
        }
        if series.is_empty() {
            let known: BTreeSet<&str> =
                cells.iter().flat_map(|c| c.curves.keys()).map(String::as_str).collect();
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(PlotError::NoCurve { wanted: name.to_owned(), known });
        }
        let reads = |metric: &&Metric| histogram_of(metric).as_deref() == Some(name);
        let unit = self.workload.metrics.iter().find(reads).map_or("1", |m| &m.unit);
        let most = series.values().flatten().map(|p| p.x).fold(1.0, f64::max).ceil() as usize;
        let ticks = TICKS.iter().enumerate().take(most + 1);
        finish(Plot {
            captions: self.captions(&format!("{name}, lower is better"), None),
            x_label: "quantile".to_owned(),
            x_ticks: ticks.map(|(x, text)| (x as f64, (*text).to_owned())).collect(),
            y_label: name.to_owned(),
            unit: unit.to_owned(),
            series: series_by_name(series, false),
        })
    }

    /// Default parameter of the x axis: the only one that cells differ in.
    pub fn axis(&self) -> Result<String> {
        match &differing(&self.selected()?)[..] {
            [name] => Ok(name.clone()),
            [] => Err(PlotError::NoAxis("no parameter".to_owned())),
            several => Err(PlotError::NoAxis(several.join(" and "))),
        }
    }

    /// Default curve: that of the primary metric, else that of the first metric with a curve.
    pub fn main_curve(&self) -> Result<String> {
        let known = |name: &String| self.report.cells.iter().any(|c| c.curves.contains_key(name));
        let metrics = self.workload.primary().into_iter().chain(&self.workload.metrics);
        let any = || self.report.cells.iter().flat_map(|c| c.curves.keys()).next().cloned();
        metrics.filter_map(histogram_of).find(known).or_else(any).ok_or(PlotError::NoCurves)
    }

    /// Captions with workload, content and selection as title: `rtt: latency p50, transport=udp`.
    fn captions(&self, content: &str, legend: Option<&str>) -> Captions {
        let chosen: String = self.only.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let title = format!("{}: {content}{chosen}", self.report.run.workload);
        captions(self.report, title, legend.map(str::to_owned))
    }

    /// The selected cells, measured or not.
    fn chosen(&self) -> Result<Vec<&'a Cell>> {
        let mut wanted = Vec::new();
        for (name, text) in &self.only {
            wanted.push((name, serde_json::json!(self.workload.parse_param(name, text)?)));
        }
        let labels = || self.report.cells.iter().map(|c| &c.label);
        if let Some(name) = self.contenders.iter().find(|name| !labels().any(|label| label == *name)) {
            return Err(ManifestError::unknown("contender of this run", name, labels()).into());
        }
        let fits = |c: &&Cell| {
            wanted.iter().all(|(name, value)| c.params.get(*name) == Some(value))
                && (self.contenders.is_empty() || self.contenders.contains(&c.label))
        };
        let cells: Vec<&Cell> = self.report.cells.iter().filter(fits).collect();
        if cells.is_empty() { Err(PlotError::Empty) } else { Ok(cells) }
    }

    /// The selected cells that were measured.
    fn selected(&self) -> Result<Vec<&'a Cell>> {
        let mut cells = self.chosen()?;
        cells.retain(|c| c.status == CellStatus::Ok);
        if cells.is_empty() { Err(PlotError::Empty) } else { Ok(cells) }
    }

    /// The selected cells that were measured, with equal parameters, best first.
    fn of_one_setting(&self) -> Result<Vec<&'a Cell>> {
        let mut cells = self.selected()?;
        check_parameters(&cells, None)?;
        if distinct(cells.iter().map(|c| &c.label)).len() < cells.len() {
            return Err(PlotError::Twice);
        }
        if let Some(primary) = self.workload.primary() {
            table::sort(&mut cells, primary);
        }
        Ok(cells)
    }
}

/// The points of a curve. The maximum has no finite number of nines: it is drawn at the last finite position.
fn curve(points: &[CurvePoint], held: bool) -> Vec<Point> {
    let mut x = 0.0;
    let point = |p: &CurvePoint| {
        if p.quantile < 1.0 {
            x = nines(p.quantile);
        }
        let y = p.value as f64;
        Point { x, y, range: (y, y), held }
    };
    points.iter().filter(|p| p.value > 0).map(point).collect()
}

/// Name of the curve of the histogram that a metric reads.
fn histogram_of(metric: &Metric) -> Option<String> {
    match &metric.from {
        Source::HistogramQuantile { role, histogram, .. } => Some(format!("{role}.{histogram}")),
        _ => None,
    }
}

/// Captions of a picture of a run. Below the legend are machine, run, date and version.
fn captions(report: &Report, title: String, legend: Option<String>) -> Captions {
    let run = &report.run;
    let date = run.started_at.get(..10).unwrap_or(&run.started_at);
    let origin = format!("run {} · {date} · netdyno {}", run.id, run.lab_version);
    let footer = legend.into_iter().chain([report.host.headline(), origin]).collect();
    Captions { title, subtitle: run.headline.clone(), footer }
}

fn is_load_held(cell: &Cell) -> bool {
    !cell.load.is_some_and(|load| load.is_missed())
}

fn finish(plot: Plot) -> Result<Plot> {
    check_count(plot.series.len(), SERIES_MAX)?;
    Ok(plot)
}

fn check_count(count: usize, most: usize) -> Result<()> {
    match count {
        0 => Err(PlotError::Empty),
        n if n > most => Err(PlotError::TooMany(n, most)),
        _ => Ok(()),
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

/// Checks that cells differ only in `x` and in the duration of measurement.
fn check_parameters(cells: &[&Cell], x: Option<&str>) -> Result<()> {
    if cells.is_empty() {
        return Err(PlotError::Empty);
    }
    let other = differing(cells).into_iter().find(|name| Some(name.as_str()) != x);
    other.map_or(Ok(()), |name| Err(PlotError::Several(name)))
}

/// Parameters that cells differ in, except for the duration of measurement.
pub(crate) fn differing(cells: &[&Cell]) -> Vec<String> {
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
