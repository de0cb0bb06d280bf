//! Data of a ranking: one row per contender, best first. [`super::ranking_svg`] draws it.

use super::{Captions, Plots, ROWS_MAX, Result, captions, check_count, direction, is_load_held};
use crate::table::{self, verdict_of};
use netdyno_lab_analysis::report::{Cell, Report, format};
use netdyno_lab_manifest::Metric;
use netdyno_lab_store::{CellStatus, Verdict, VerdictKind};

/// The ceiling is off the axis if it would lengthen the axis by more than this factor.
const AXIS_MOST: f64 = 2.5;
/// Maximum length of the baseline's name in the column head.
const HEAD_CHARS_MAX: usize = 32;

/// Data of a ranking. All positions are above 0.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// Below are the cells without results, and the machine.
    pub(crate) captions: Captions,
    /// Head of the values: the metric's name.
    pub(crate) metric: String,
    /// Head of the ratios; empty without a baseline.
    pub(crate) versus: String,
    pub(crate) axis: String,
    pub(crate) legend: String,
    /// Unit of the positions if they are values; none if they are ratios.
    pub(crate) unit: Option<String>,
    /// Rows, best first, the ceiling last.
    pub(crate) rows: Vec<RankingRow>,
    /// Position of the ceiling, if it was measured and is on the axis.
    pub(crate) ceiling: Option<f64>,
}

/// The row of a contender.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RankingRow {
    pub(crate) label: String,
    /// Version, and "(tuned)" or "(local)".
    pub(crate) more: String,
    pub(crate) value: String,
    /// Ratio with interval, or range of the trials.
    pub(crate) detail: String,
    /// Verdict, in words.
    pub(crate) word: &'static str,
    /// Verdict, for the style of the mark.
    pub(crate) kind: Kind,
    /// Position on the axis, if any.
    pub(crate) at: Option<f64>,
    /// Ends of the interval; an end is none if unbounded.
    pub(crate) range: Option<(Option<f64>, Option<f64>)>,
    /// Position of a published value, if any.
    pub(crate) reference: Option<f64>,
}

/// Verdict of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Better,
    Worse,
    /// No difference, or no baseline.
    Same,
    /// Undecided.
    Open,
    Baseline,
    Ceiling,
}

impl Plots<'_> {
    /// Ranks contenders by a metric, as ratios to the baseline, or as values without a baseline.
    pub fn ranking(&self, metric: &str) -> Result<Ranking> {
        let (report, metric) = (self.report, self.workload.metric(metric)?);
        let value = |c: &Cell| c.value(&metric.name).filter(|v| *v > 0.0);
        let mut cells = self.of_one_setting()?;
        cells.retain(|c| value(c).is_some());
        check_count(cells.iter().filter(|c| !c.ceiling).count(), ROWS_MAX)?;
        table::sort(&mut cells, metric);
        let in_setting: Vec<&Cell> = report.cells.iter().filter(|c| c.params == cells[0].params).collect();
        let baseline = cells.iter().find_map(|c| verdict_of(report, c, &metric.name));
        let baseline = baseline.map(|v| v.baseline.as_str());
        let base = in_setting.iter().find(|c| Some(c.label.as_str()) == baseline).map(|c| value(c));
        let bound = cells.iter().find(|c| c.ceiling).and_then(|c| value(c));
        let ceiling = base.map_or(bound, |base| Some(bound? / base?));
        // The ceiling bounds only the primary metric.
        let ceiling = ceiling.filter(|_| metric.primary);
        let rows: Vec<RankingRow> =
            cells.iter().map(|cell| row(report, cell, metric, baseline, ceiling)).collect();
        let on_axis = ceiling.filter(|c| leaves_room(*c, &rows));
        let relative = baseline.map_or(String::new(), |baseline| format!(" relative to {baseline}"));
        let title = format!("{}: {}, {}", report.run.title, metric.label, direction(metric));
        Ok(Ranking {
            captions: captions(report, title, missing(&in_setting)),
            metric: metric.label.clone(),
            versus: match baseline {
                Some(baseline) if baseline.chars().count() <= HEAD_CHARS_MAX => format!("vs {baseline}"),
                Some(_) => "vs the baseline".to_owned(),
                None => String::new(),
            },
            axis: format!("{}{relative}, logarithmic scale", metric.label),
            legend: legend(report, baseline.is_some(), ceiling.is_some(), on_axis.is_some()),
            unit: baseline.is_none().then(|| metric.unit.clone()),
            rows,
            ceiling: on_axis,
        })
    }
}

/// Whether the contenders remain distinguishable on an axis that includes the ceiling.
fn leaves_room(ceiling: f64, rows: &[RankingRow]) -> bool {
    const LEAST_SPAN: f64 = 3.0;
    let places = rows.iter().filter(|r| r.kind != Kind::Ceiling).filter_map(|r| r.at);
    let (low, high) = places.fold((f64::INFINITY, 0.0), |(a, b), v| (v.min(a), v.max(b)));
    let span = (high / low).max(LEAST_SPAN).ln();
    (high.max(ceiling) / low.min(ceiling)).ln() <= AXIS_MOST * span
}

fn legend(report: &Report, ratios: bool, ceiling: bool, on_axis: bool) -> String {
    let bound = match (ceiling, on_axis) {
        (true, true) => "; dashed: ceiling (not ranked)",
        (true, false) => "; the ceiling is off the axis",
        (false, _) => "",
    };
    if !ratios {
        return format!("Dot: median of the trials; line: minimum to maximum{bound}.");
    }
    let level = 100.0 * (1.0 - report.run.alpha);
    format!(
        "Dot: ratio; line: confidence interval ({level:.0} %, for all rows together); hollow: undecided{bound}."
    )
}

/// The names of the cells without results.
fn missing(cells: &[&Cell]) -> Option<String> {
    let without = cells.iter().filter(|c| c.status != CellStatus::Ok);
    let names: Vec<String> = without.map(|c| format!("{} ({})", c.label, table::status(c.status))).collect();
    (!names.is_empty()).then(|| format!("Without results: {}", names.join(", ")))
}

fn row(
    report: &Report,
    cell: &Cell,
    metric: &Metric,
    baseline: Option<&str>,
    ceiling: Option<f64>,
) -> RankingRow {
    let figure = &cell.metrics[&metric.name];
    let value = figure.value.unwrap_or_default();
    let verdict = verdict_of(report, cell, &metric.name);
    let is_baseline = baseline == Some(cell.label.as_str());
    let (kind, word) = match verdict {
        _ if cell.ceiling => (Kind::Ceiling, "ceiling"),
        _ if is_baseline => (Kind::Baseline, "baseline"),
        Some(v) => (kind_of(v.verdict), v.verdict.word()),
        None if !is_load_held(cell) => (Kind::Same, "load not sustained"),
        None => (Kind::Same, ""),
    };
    let trials = figure.range_with(value);
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
        (Some(_), Some(v)) => (v.ratio.filter(|r| *r > 0.0), bounds(v.low, v.high), detail(v)),
        (Some(_), None) => (None, None, String::new()),
    };
    let name = table::name(cell);
    RankingRow {
        label: cell.label.clone(),
        more: name.strip_prefix(cell.label.as_str()).unwrap_or_default().trim().to_owned(),
        value: format::value(value, &figure.unit),
        detail,
        word,
        kind,
        at,
        range,
        reference: None,
    }
}

fn kind_of(verdict: VerdictKind) -> Kind {
    match verdict {
        VerdictKind::Better => Kind::Better,
        VerdictKind::Worse => Kind::Worse,
        VerdictKind::NoDifference => Kind::Same,
        VerdictKind::Undecided => Kind::Open,
    }
}

/// The ends of an interval, if it has any.
pub(crate) fn bounds(low: Option<f64>, high: Option<f64>) -> Option<(Option<f64>, Option<f64>)> {
    (low.is_some() || high.is_some()).then_some((low, high))
}

/// The ratio, with its interval unless that is too wide.
fn detail(v: &Verdict) -> String {
    let Some(ratio) = v.ratio else { return String::new() };
    let is_narrow = v.low.zip(v.high).is_some_and(|(low, high)| high <= table::INTERVAL_FACTOR_MAX * low);
    let interval = if is_narrow { format!(" {}", table::interval(v)) } else { String::new() };
    format!("{}x{interval}", format::ratio(ratio))
}
