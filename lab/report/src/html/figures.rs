//! The pictures of a page, each in a wide and a narrow version and with an accessible table of its figures.

use serde::Serialize;

use super::super::plot::{self, Picture, PlotError, Selection};
use super::super::table;
use super::limits::SWEEPS_DRAWN_MAX;
use netdyno_lab_analysis::report::format;
use netdyno_lab_analysis::report::{Cell, CurvePoint, Report};
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
    pub(super) report: &'a Report,
    pub(super) workload: &'a Workload,
    pub(super) selection: Selection,
    pub(super) cells: &'a [&'a Cell],
}

impl Drawing<'_> {
    /// Ranking relative to the baseline. Its figures are in the main table.
    pub(super) fn ranking(&self) -> Figure {
        match plot::ranking(self.report, self.workload, &self.report.run.primary, &self.selection) {
            Ok(ranking) => responsive(|width| plot::ranking_svg(&ranking, width), ranking.legend.clone()),
            Err(error) => missing(&error),
        }
    }

    /// Latency curves; none if the workload has no histograms.
    pub(super) fn latency(&self) -> Option<Figure> {
        let name = plot::main_curve(self.report, self.workload).ok()?;
        let curves = match plot::curves(self.report, self.workload, &name, &self.selection) {
            Ok(curves) => curves,
            Err(PlotError::NoCurve { .. } | PlotError::Empty) => return None,
            Err(error) => return Some(missing(&error)),
        };
        const SHARES: [(f64, &str); 5] =
            [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (1.0, "maximum")];
        let row = |cell: &&Cell| {
            let points = cell.curves.get(&name).filter(|points| !points.is_empty())?;
            let value = |q: f64| {
                at(points, q).map_or_else(|| "not measured".to_owned(), |v| format::value(v, &curves.unit))
            };
            Some([cell.label.clone()].into_iter().chain(SHARES.iter().map(|(q, _)| value(*q))).collect())
        };
        let table = DataTable {
            caption: format!("{name}, quantiles"),
            head: [""].into_iter().chain(SHARES.iter().map(|(_, text)| *text)).map(str::to_owned).collect(),
            rows: self.measured().iter().filter_map(row).collect(),
        };
        let caption = "Each line merges the values of all valid trials. At the 90 % tick, nine of ten values are at or below the line.";
        let figure = responsive(|width| plot::lines_svg(&curves, width), caption.to_owned());
        Some(Figure { table: Some(table), ..figure })
    }

    /// Resource costs: one panel per metric, those with a column in the tables first, and the share of the
    /// ceiling.
    pub(super) fn costs(&self) -> Costs {
        let share = plot::shares(self.report, self.workload, &self.selection).ok();
        let metrics: Vec<(&Metric, plot::Bars)> = plot::costs(self.workload)
            .filter_map(|m| Some((m, plot::bars(self.report, self.workload, &m.name, &self.selection).ok()?)))
            .collect();
        let row = |cell: &&Cell| {
            let share = cell.metrics.get(&self.report.run.primary).and_then(|m| m.of_ceiling);
            let share = share.map_or(String::new(), |s| format!("{:.1} %", 100.0 * s));
            let figures = metrics.iter().map(|(m, _)| cell.value_text(&m.name));
            [cell.label.clone()].into_iter().chain(figures).chain([share]).collect()
        };
        let heads = metrics.iter().map(|(m, _)| m.label.clone());
        let table = DataTable {
            caption: "Resource costs".to_owned(),
            head: [String::new()].into_iter().chain(heads).chain(["of ceiling".to_owned()]).collect(),
            rows: self.measured().iter().map(row).collect(),
        };
        let panel = |bars: plot::Bars| plot::bars_svg(self.report, &[bars], PANEL).inline();
        let (first, more): (Vec<_>, Vec<_>) = metrics.into_iter().partition(|(m, _)| m.column);
        let [first, more] = [first, more].map(|all| all.into_iter().map(|(_, bars)| panel(bars)));
        Costs { panels: share.map(panel).into_iter().chain(first).collect(), more: more.collect(), table }
    }

    /// Heat map of all pairs of contenders; none if the run is not a matrix.
    pub(super) fn matrix(&self) -> Option<Figure> {
        let matrix = match plot::matrix(self.report, self.workload, &self.report.run.primary, &self.selection)
        {
            Ok(matrix) => matrix,
            Err(PlotError::NoMatrix | PlotError::Empty) => return None,
            Err(error) => return Some(missing(&error)),
        };
        let text = |square: &Option<plot::Square>| square.as_ref().map_or(String::new(), |s| s.text.clone());
        let row = |(name, squares): (&String, &Vec<Option<plot::Square>>)| {
            [name.clone()].into_iter().chain(squares.iter().map(text)).collect()
        };
        let [down, across] = &matrix.roles;
        let table = DataTable {
            caption: format!("{}, in {}; rows: {down}, columns: {across}", matrix.title, matrix.unit),
            head: [String::new()].into_iter().chain(matrix.columns.iter().cloned()).collect(),
            rows: matrix.rows.iter().zip(&matrix.squares).map(row).collect(),
        };
        let caption = format!(
            "One row per {down}, one column per {across}. A stronger colour is better; the scale is logarithmic."
        );
        let wide = plot::matrix_svg(&matrix, WIDE).inline();
        Some(Figure { wide, narrow: String::new(), caption, table: Some(table) })
    }

    fn measured(&self) -> Vec<&Cell> {
        let mut cells: Vec<&Cell> =
            self.cells.iter().copied().filter(|c| c.status == CellStatus::Ok).collect();
        if let Some(primary) = self.workload.primary() {
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
            let selection = Selection { only, contenders: Vec::new() };
            for metric in metrics() {
                // Cells that cannot be plotted against this parameter are shown per setting.
                let Ok(lines) = plot::against(report, workload, x, &metric.name, &selection) else {
                    continue;
                };
                if figures.len() == SWEEPS_DRAWN_MAX {
                    omitted += 1;
                    continue;
                }
                let ticks = lines.x_ticks.iter().map(|(_, text)| text.clone());
                let row = |s: &plot::Series| {
                    let at = |x: &(f64, String)| {
                        let point = s.points.iter().find(|p| p.x == x.0);
                        point.map_or(String::new(), |p| format::value(p.y, &lines.unit))
                    };
                    [s.name.clone()].into_iter().chain(lines.x_ticks.iter().map(at)).collect()
                };
                let table = DataTable {
                    caption: format!("{} by {}", lines.title, lines.x_label),
                    head: [lines.x_label.clone()].into_iter().chain(ticks).collect(),
                    rows: lines.series.iter().map(row).collect(),
                };
                let figure = responsive(|width| plot::lines_svg(&lines, width), lines.title.clone());
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
    let mut settings: Vec<(Params, Vec<&serde_json::Value>)> = Vec::new();
    for cell in cells {
        let only: Params = others
            .iter()
            .filter_map(|name| Some(((*name).clone(), typed(cell.params.get(*name)?))))
            .collect();
        let Some(value) = cell.params.get(x) else { continue };
        match settings.iter_mut().find(|(setting, _)| *setting == only) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => settings.push((only, vec![value])),
        }
    }
    settings.into_iter().filter(|(_, values)| values.len() > 1).map(|(only, _)| only).collect()
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
