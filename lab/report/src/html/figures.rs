//! The pictures of a page, each in a wide and a narrow version and with an accessible table of its figures.

use serde::Serialize;

use super::super::plot::{self, Picture, PlotError, Plots};
use super::super::table;
use super::limits::SWEEPS_DRAWN_MAX;
use netdyno_lab_analysis::report::{Cell, CurvePoint, Report, format};
use netdyno_lab_analysis::{distinct, grouped};
use netdyno_lab_manifest::{Metric, Workload};
use netdyno_lab_store::CellStatus;

/// Widths of pictures in px, for desktop and mobile.
const WIDE: f64 = 880.0;
const NARROW: f64 = 350.0;
/// Width of a panel. Panels are placed side by side.
const PANEL: f64 = 420.0;

/// A table of formatted values.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct DataTable {
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A picture with caption and table.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Figure {
    /// SVG.
    pub(super) wide: String,
    /// SVG for mobile; empty if `wide` is used everywhere.
    pub(super) narrow: String,
    /// Legend, or the reason why there is no picture.
    pub(super) caption: String,
    pub(super) table: Option<DataTable>,
}

/// Resource costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Costs {
    /// SVG.
    panels: Vec<String>,
    /// Panels in the collapsed section.
    more: Vec<String>,
    table: DataTable,
}

/// Draws the pictures of one setting of a run.
pub(super) struct Drawing<'a> {
    pub(super) plots: Plots<'a>,
    pub(super) cells: &'a [&'a Cell],
}

impl DataTable {
    /// A table whose first column has the names of the rows.
    fn new<'a>(
        caption: String,
        corner: &'a str,
        heads: impl IntoIterator<Item = &'a str>,
        rows: impl IntoIterator<Item = (&'a String, Vec<String>)>,
    ) -> DataTable {
        let head = [corner].into_iter().chain(heads).map(str::to_owned).collect();
        let row = |(name, cells): (&String, Vec<String>)| [vec![name.clone()], cells].concat();
        DataTable { caption, head, rows: rows.into_iter().map(row).collect() }
    }
}

impl Drawing<'_> {
    /// Ranking relative to the baseline. Its figures are in the main table.
    pub(super) fn ranking(&self) -> Figure {
        match self.plots.ranking(&self.plots.report.run.primary) {
            Ok(ranking) => responsive(|width| plot::ranking_svg(&ranking, width), ranking.legend.clone()),
            Err(error) => missing(&error),
        }
    }

    /// Latency curves; none if the workload has no histograms.
    pub(super) fn latency(&self) -> Option<Figure> {
        const SHARES: [(f64, &str); 5] =
            [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (1.0, "maximum")];
        let name = self.plots.main_curve().ok()?;
        let curves = match self.plots.curves(&name) {
            Ok(curves) => curves,
            Err(PlotError::NoCurve { .. } | PlotError::Empty) => return None,
            Err(error) => return Some(missing(&error)),
        };
        let cells = self.measured();
        let rows = cells.iter().filter_map(|cell| {
            let points = cell.curves.get(&name).filter(|points| !points.is_empty())?;
            let value = |(q, _): (f64, &str)| format::value_or_not(at(points, q), &curves.unit);
            Some((&cell.label, SHARES.map(value).to_vec()))
        });
        let table = DataTable::new(format!("{name}, quantiles"), "", SHARES.map(|(_, text)| text), rows);
        let caption = "Each line merges the values of all valid trials. At the 90 % tick, nine of ten values are at or below the line.";
        let figure = responsive(|width| plot::lines_svg(&curves, width), caption.to_owned());
        Some(Figure { table: Some(table), ..figure })
    }

    /// Resource costs: one panel per metric, those with a column in the tables first, and the share of the
    /// ceiling.
    pub(super) fn costs(&self) -> Costs {
        let share = self.plots.shares().ok();
        let costs = plot::costs(self.plots.workload);
        let metrics: Vec<(&Metric, plot::Bars)> =
            costs.filter_map(|m| Some((m, self.plots.bars(&m.name).ok()?))).collect();
        let cells = self.measured();
        let row = |cell: &&Cell| {
            let figures = metrics.iter().map(|(m, _)| cell.value_text(&m.name));
            figures.chain([table::of_ceiling(cell, &self.plots.report.run.primary)]).collect()
        };
        let heads = metrics.iter().map(|(m, _)| m.label.as_str()).chain(["of ceiling"]);
        let rows = cells.iter().map(|cell| (&cell.label, row(cell)));
        let table = DataTable::new("Resource costs".to_owned(), "", heads, rows);
        let panel = |bars: plot::Bars| plot::bars_svg(self.plots.report, &[bars], PANEL).inline();
        let (first, more): (Vec<_>, Vec<_>) = metrics.into_iter().partition(|(m, _)| m.column);
        let [first, more] = [first, more].map(|all| all.into_iter().map(|(_, bars)| panel(bars)));
        Costs { panels: share.map(panel).into_iter().chain(first).collect(), more: more.collect(), table }
    }

    /// Heat map of all pairs of contenders; none if the run is not a matrix.
    pub(super) fn matrix(&self) -> Option<Figure> {
        let matrix = match self.plots.matrix(&self.plots.report.run.primary) {
            Ok(matrix) => matrix,
            Err(PlotError::NoMatrix | PlotError::Empty) => return None,
            Err(error) => return Some(missing(&error)),
        };
        let text = |square: &Option<plot::Square>| square.as_ref().map_or(String::new(), |s| s.text.clone());
        let squares = matrix.squares.iter().map(|squares| squares.iter().map(text).collect());
        let [down, across] = &matrix.roles;
        let caption =
            format!("{}, in {}; rows: {down}, columns: {across}", matrix.captions.title, matrix.unit);
        let heads = matrix.columns.iter().map(String::as_str);
        let table = DataTable::new(caption, "", heads, matrix.rows.iter().zip(squares));
        let caption = format!(
            "One row per {down}, one column per {across}. A stronger colour is better; the scale is logarithmic."
        );
        let wide = plot::matrix_svg(&matrix, WIDE).inline();
        Some(Figure { wide, narrow: String::new(), caption, table: Some(table) })
    }

    fn measured(&self) -> Vec<&Cell> {
        let mut cells: Vec<&Cell> =
            self.cells.iter().copied().filter(|c| c.status == CellStatus::Ok).collect();
        if let Some(primary) = self.plots.workload.primary() {
            table::sort(&mut cells, primary);
        }
        cells
    }
}

/// Pictures of the primary and headline metrics against each swept parameter, and the number of omitted
/// pictures.
pub(super) fn sweeps(report: &Report, workload: &Workload) -> (Vec<Figure>, usize) {
    let measured: Vec<&Cell> = report.cells.iter().filter(|c| c.status == CellStatus::Ok).collect();
    let names = plot::differing(&measured);
    let metrics = || workload.metrics.iter().filter(|m| m.primary || m.headline);
    let (mut figures, mut omitted) = (Vec::new(), 0);
    for x in &names {
        let others: Vec<&String> = names.iter().filter(|n| *n != x).collect();
        for only in combinations(&measured, x, &others) {
            let plots = Plots { report, workload, only, contenders: Vec::new() };
            // Cells that cannot be plotted against this parameter are shown per setting.
            for lines in metrics().filter_map(|metric| plots.against(x, &metric.name).ok()) {
                if figures.len() == SWEEPS_DRAWN_MAX {
                    omitted += 1;
                    continue;
                }
                let row = |s: &plot::Series| {
                    let at = |(x, _): &(f64, String)| {
                        let point = s.points.iter().find(|p| p.x == *x);
                        point.map_or(String::new(), |p| format::value(p.y, &lines.unit))
                    };
                    lines.x_ticks.iter().map(at).collect()
                };
                let rows = lines.series.iter().map(|s| (&s.name, row(s)));
                let caption = format!("{} by {}", lines.captions.title, lines.x_label);
                let ticks = lines.x_ticks.iter().map(|(_, text)| text.as_str());
                let table = DataTable::new(caption, &lines.x_label, ticks, rows);
                let figure = responsive(|width| plot::lines_svg(&lines, width), lines.captions.title.clone());
                figures.push(Figure { table: Some(table), ..figure });
            }
        }
    }
    (figures, omitted)
}

/// Parameter names and values, as on the command line.
type Params = Vec<(String, String)>;

/// Settings of the `others` for which the parameter `x` has at least two values.
fn combinations(cells: &[&Cell], x: &str, others: &[&String]) -> Vec<Params> {
    let setting = |cell: &&Cell| {
        let param = |name: &&String| Some(((*name).clone(), typed(cell.params.get(*name)?)));
        others.iter().filter_map(param).collect()
    };
    let values = cells.iter().filter_map(|cell| Some((setting(cell), cell.params.get(x)?)));
    let settings = grouped(values).into_iter().filter(|(_, values)| distinct(values).len() > 1);
    settings.map(|(only, _)| only).collect()
}

/// A value as on the command line.
pub(super) fn typed(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn responsive(draw: impl Fn(f64) -> Picture, caption: String) -> Figure {
    Figure { wide: draw(WIDE).inline(), narrow: draw(NARROW).inline(), caption, table: None }
}

fn missing(error: &PlotError) -> Figure {
    Figure { caption: format!("Not drawn: {error}."), ..Figure::default() }
}

/// Value of a quantile.
fn at(points: &[CurvePoint], quantile: f64) -> Option<f64> {
    points.iter().find(|p| p.quantile >= quantile).map(|p| p.value as f64)
}
