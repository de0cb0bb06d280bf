//! Resource costs and shares of the ceiling: one panel per metric, one bar per contender in the order of the
//! ranking.

use super::canvas::{BOLD_LETTER, Canvas, LETTER, Picture, SMALL_LETTER, fitted};
use super::ink::LINE_COLOURS;
use super::{PlotError, Plots, ROWS_MAX, Result, captions, direction};
use netdyno_lab_analysis::report::{Cell, MetricValue, Report};
use netdyno_lab_manifest::{Metric, Source, Workload};

/// Below this width, panels are stacked in one column.
const TWO_COLUMNS_LEAST: f64 = 640.0;
const GAP: f64 = 32.0;
const ROW: f64 = 23.0;
const HEAD: f64 = 44.0;
/// Additional height of the legend of the roles.
const PARTS: f64 = 10.0;
const BAR: f64 = 11.0;
/// Maximum share of a panel's width for names.
const NAMES_MOST: f64 = 0.42;

/// Data of a panel.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Name of the metric and direction of improvement.
    pub(crate) title: String,
    /// Roles that bars are split by. May be empty.
    parts: Vec<String>,
    /// One bar per contender.
    pub(crate) rows: Vec<Bar>,
    /// Value of a reference line.
    line: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) label: String,
    value: Option<f64>,
    /// Value with unit, or "not measured".
    pub(crate) text: String,
    /// Parts of the value, by role.
    parts: Vec<f64>,
    /// Ends of the interval.
    range: Option<(f64, f64)>,
    is_ceiling: bool,
}

/// Metrics of resource costs: CPU time, memory, wire traffic.
pub(crate) fn costs(workload: &Workload) -> impl Iterator<Item = &Metric> {
    let is_cost = |m: &&Metric| {
        use Source::{CpuPer, Meter, MeterGrowth, MeterPer, Wire, WirePer};
        matches!(
            m.from,
            CpuPer { .. }
                | MeterPer { .. }
                | Meter { .. }
                | MeterGrowth { .. }
                | Wire { .. }
                | WirePer { .. }
        )
    };
    workload.metrics.iter().filter(is_cost)
}

impl Plots<'_> {
    /// A panel for each cost metric with a value above 0.
    pub fn cost(&self) -> Result<Vec<Bars>> {
        let panels = costs(self.workload).map(|metric| self.bars(&metric.name));
        let panels: Vec<Bars> =
            panels.filter(|panel| !matches!(panel, Err(PlotError::Empty))).collect::<Result<_>>()?;
        if panels.is_empty() { Err(PlotError::Empty) } else { Ok(panels) }
    }

    /// The panel of a metric.
    pub fn bars(&self, metric: &str) -> Result<Bars> {
        let metric = self.workload.metric(metric)?;
        let cells = self.of_one_setting()?;
        let figures: Vec<(&Cell, &MetricValue)> =
            cells.iter().filter_map(|c| Some((*c, c.metrics.get(&metric.name)?))).collect();
        // If all values are 0, no bar has a length.
        if !figures.iter().any(|(_, m)| m.value.is_some_and(|v| v > 0.0)) {
            return Err(PlotError::Empty);
        }
        let all_have_parts = figures.iter().all(|(_, m)| m.value.is_none() || m.per_role.len() > 1);
        let roles: Vec<String> = self.report.run.roles.iter().filter(|_| all_have_parts).cloned().collect();
        let row = |(cell, m): &(&Cell, &MetricValue)| Bar {
            label: cell.label.clone(),
            value: m.value,
            text: cell.value_text(&metric.name),
            parts: roles.iter().map(|r| m.per_role.get(r).copied().unwrap_or(0.0)).collect(),
            range: None,
            is_ceiling: cell.ceiling,
        };
        let title = format!("{}, {}", metric.label, direction(metric));
        finish(Bars { title, rows: figures.iter().map(row).collect(), parts: roles, line: None })
    }

    /// Shares of the ceiling in the primary metric.
    pub fn shares(&self) -> Result<Bars> {
        let metric = self.workload.metric(&self.report.run.primary)?;
        let row = |cell: &Cell| {
            let m = cell.metrics.get(&metric.name)?;
            let share = 100.0 * m.of_ceiling?;
            let range = m.of_ceiling_low.zip(m.of_ceiling_high).map(|(a, b)| (100.0 * a, 100.0 * b));
            let (label, text) = (cell.label.clone(), format!("{share:.1} %"));
            Some(Bar { label, value: Some(share), text, parts: Vec::new(), range, is_ceiling: false })
        };
        let cells = self.of_one_setting()?.into_iter().filter(|c| !c.ceiling);
        let title = format!("{}, share of the ceiling", metric.label);
        finish(Bars { title, rows: cells.filter_map(row).collect(), parts: Vec::new(), line: Some(100.0) })
    }
}

fn finish(bars: Bars) -> Result<Bars> {
    match bars.rows.len() {
        0 => Err(PlotError::Empty),
        // One row may be the ceiling.
        n if n > ROWS_MAX + 1 => Err(PlotError::TooMany(n, ROWS_MAX)),
        _ => Ok(bars),
    }
}

/// Draws panels, in two columns if the width allows.
pub fn bars_svg(report: &Report, panels: &[Bars], width: f64) -> Picture {
    let two = width >= TWO_COLUMNS_LEAST && panels.len() > 1;
    let pad = if width >= TWO_COLUMNS_LEAST { 16.0 } else { 0.0 };
    let each = if two { (width - 2.0 * pad - GAP) / 2.0 } else { width - 2.0 * pad };
    let mut canvas = Canvas::default();
    let mut y = 0.0;
    for row in panels.chunks(if two { 2 } else { 1 }) {
        for (i, bars) in row.iter().enumerate() {
            let x = pad + i as f64 * (each + GAP);
            canvas.place(&panel(bars, each), (x, y));
        }
        y += row.iter().map(height).fold(0.0, f64::max) + 14.0;
    }
    let content = match panels {
        [panel] => &panel.title,
        _ => "resource costs",
    };
    let title = format!("{}: {content}", report.run.title);
    let has_line = panels.iter().any(|b| b.rows.iter().any(|r| r.range.is_some()));
    let legend = has_line.then(|| "Line: confidence interval of the share.".to_owned());
    canvas.finish(width, y, captions(report, title, legend))
}

/// Height above the first row.
fn head(bars: &Bars) -> f64 {
    if bars.parts.is_empty() { HEAD } else { HEAD + PARTS }
}

fn height(bars: &Bars) -> f64 {
    head(bars) + ROW * bars.rows.len() as f64
}

fn panel(bars: &Bars, width: f64) -> Canvas {
    let mut canvas = Canvas::default();
    canvas.text("label", 0.0, 15.0, &fitted(&bars.title, width, BOLD_LETTER));
    let mut x = 0.0;
    for (i, role) in bars.parts.iter().enumerate() {
        canvas.rect(&format!("f{}", colour(i)), (x, 24.0), (10.0, 10.0));
        canvas.text("small", x + 15.0, 33.0, role);
        x += 30.0 + SMALL_LETTER * role.chars().count() as f64;
    }
    let longest = |text: fn(&Bar) -> &String| {
        bars.rows.iter().map(|r| LETTER * text(r).chars().count() as f64).fold(0.0, f64::max)
    };
    let left = (longest(|r| &r.label) + 8.0).min(NAMES_MOST * width);
    let right = width - longest(|r| &r.text) - 8.0;
    let ends = bars.rows.iter().filter_map(|r| Some(r.range?.1).or(r.value));
    let values = bars.rows.iter().filter_map(|r| r.value);
    let most = ends.chain(values).chain(bars.line).fold(0.0, f64::max);
    let at = |value: f64| left + (value / most).clamp(0.0, 1.0) * (right - left);
    for (i, row) in bars.rows.iter().enumerate() {
        let y = head(bars) - 4.0 + ROW * i as f64;
        let class = if row.is_ceiling { "bound" } else { "word" };
        canvas.text(class, 0.0, y + 10.0, &fitted(&row.label, left - 4.0, LETTER));
        canvas.rect("track", (left, y), (right - left, BAR));
        canvas.text("end", width, y + 10.0, &row.text);
        let Some(value) = row.value else { continue };
        let sum: f64 = row.parts.iter().sum();
        let mut from = 0.0;
        // The median of sums is not the sum of medians: parts are drawn as shares.
        let parts = row.parts.iter().map(|p| if sum > 0.0 { p / sum * value } else { 0.0 });
        let parts: Vec<f64> = if row.parts.is_empty() { vec![value] } else { parts.collect() };
        for (i, part) in parts.into_iter().enumerate() {
            let (a, b) = (at(from), at(from + part));
            canvas.rect(&format!("f{}", colour(i)), (a, y), ((b - a).max(0.5), BAR));
            from += part;
        }
        if let Some((low, high)) = row.range {
            let y = y + BAR / 2.0;
            canvas.line("whisker", (at(low), y), (at(high), y));
            for end in [low, high] {
                canvas.mark("whisker", (at(end), y), "M0-4V4");
            }
        }
    }
    if let Some(line) = bars.line {
        canvas.line("ceiling", (at(line), head(bars) - 10.0), (at(line), height(bars)));
    }
    canvas
}

/// Colour of a role. Adjacent ones also differ in lightness.
fn colour(part: usize) -> usize {
    [0, 5, 4, 3][part % 4] % LINE_COLOURS
}
