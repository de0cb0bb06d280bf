//! The pictures of a page, each wide and narrow, with its figures as a table for those who do not see it.

use serde::Serialize;

use super::super::plot::{self, Picture, PlotError, Selection};
use super::super::table;
use super::limits::SWEEPS_DRAWN_MAX;
use netdyno_lab_analysis::report::format;
use netdyno_lab_analysis::report::{Cell, CurvePoint, Report};
use netdyno_lab_manifest::{Metric, Workload};
use netdyno_lab_store::CellStatus;

/// Widths of pictures, in px: on a desk and on a phone.
const WIDE: f64 = 880.0;
const NARROW: f64 = 350.0;
/// Of a panel: several stand beside each other.
const PANEL: f64 = 420.0;

/// A table of texts.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Texts {
    pub(super) caption: String,
    pub(super) head: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

/// A picture with its words.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Figure {
    /// SVG.
    pub(super) wide: String,
    /// The same for a phone; empty: one serves both.
    pub(super) narrow: String,
    /// How to read it, or why it is missing.
    pub(super) caption: String,
    pub(super) table: Option<Texts>,
}

/// What the work cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Costs {
    /// SVG.
    panels: Vec<String>,
    /// Those behind a fold.
    more: Vec<String>,
    table: Texts,
}

/// What pictures are drawn of: a run's cells of one setting.
pub(super) struct Drawing<'a> {
    pub(super) report: &'a Report,
    pub(super) workload: &'a Workload,
    pub(super) selection: Selection,
    pub(super) cells: &'a [&'a Cell],
}

impl Drawing<'_> {
    /// Who is how far from the baseline. Its figures are the main table.
    pub(super) fn ranking(&self) -> Figure {
        match plot::ranking(self.report, self.workload, &self.report.run.primary, &self.selection) {
            Ok(ranking) => both(|width| plot::ranking_svg(&ranking, width), ranking.legend.clone()),
            Err(why) => missing(&why),
        }
    }

    /// Latency curves; none where the workload has no histograms.
    pub(super) fn latency(&self) -> Option<Figure> {
        let name = plot::main_curve(self.report, self.workload).ok()?;
        let curves = match plot::curves(self.report, self.workload, &name, &self.selection) {
            Ok(curves) => curves,
            Err(PlotError::NoCurve { .. } | PlotError::Empty) => return None,
            Err(why) => return Some(missing(&why)),
        };
        const SHARES: [(f64, &str); 5] =
            [(0.5, "50 %"), (0.9, "90 %"), (0.99, "99 %"), (0.999, "99.9 %"), (1.0, "greatest")];
        let row = |cell: &&Cell| {
            let points = cell.curves.get(&name).filter(|points| !points.is_empty())?;
            let value = |q: f64| {
                at(points, q).map_or_else(|| "not measured".to_owned(), |v| format::value(v, &curves.unit))
            };
            Some([cell.label.clone()].into_iter().chain(SHARES.iter().map(|(q, _)| value(*q))).collect())
        };
        let table = Texts {
            caption: format!("{name}, by the share of values that are not above it"),
            head: [""].into_iter().chain(SHARES.iter().map(|(_, text)| *text)).map(str::to_owned).collect(),
            rows: self.measured().iter().filter_map(row).collect(),
        };
        let caption = "Each line: all values of the trials that count, merged. To the right the rarer ones: nine of ten are not above the line at 90 %.";
        let figure = both(|width| plot::lines_svg(&curves, width), caption.to_owned());
        Some(Figure { table: Some(table), ..figure })
    }

    /// What the work cost: a panel a metric, those first that have a column in the tables; and the share of the bound.
    pub(super) fn costs(&self) -> Costs {
        let share = plot::shares(self.report, self.workload, &self.selection).ok();
        let metrics: Vec<(&Metric, plot::Bars)> = plot::costs(self.workload)
            .filter_map(|m| Some((m, plot::bars(self.report, self.workload, &m.name, &self.selection).ok()?)))
            .collect();
        let row = |cell: &&Cell| {
            let share = cell.metrics.get(&self.report.run.primary).and_then(|m| m.of_ceiling);
            let share = share.map_or(String::new(), |s| format!("{:.1} %", 100.0 * s));
            let figures = metrics.iter().map(|(m, _)| figure_of(cell, &m.name));
            [cell.label.clone()].into_iter().chain(figures).chain([share]).collect()
        };
        let heads = metrics.iter().map(|(m, _)| m.label.clone());
        let table = Texts {
            caption: "What the work cost".to_owned(),
            head: [String::new()].into_iter().chain(heads).chain(["of ceiling".to_owned()]).collect(),
            rows: self.measured().iter().map(row).collect(),
        };
        let panel = |bars: plot::Bars| plot::bars_svg(self.report, &[bars], PANEL).inline();
        let (first, more): (Vec<_>, Vec<_>) = metrics.into_iter().partition(|(m, _)| m.column);
        let [first, more] = [first, more].map(|all| all.into_iter().map(|(_, bars)| panel(bars)));
        Costs { panels: share.map(panel).into_iter().chain(first).collect(), more: more.collect(), table }
    }

    /// Every contender of one role with every one of the other; none where the run is no matrix.
    pub(super) fn matrix(&self) -> Option<Figure> {
        let matrix = match plot::matrix(self.report, self.workload, &self.report.run.primary, &self.selection)
        {
            Ok(matrix) => matrix,
            Err(PlotError::NoMatrix | PlotError::Empty) => return None,
            Err(why) => return Some(missing(&why)),
        };
        let text = |square: &Option<plot::Square>| square.as_ref().map_or(String::new(), |s| s.text.clone());
        let row = |(name, squares): (&String, &Vec<Option<plot::Square>>)| {
            [name.clone()].into_iter().chain(squares.iter().map(text)).collect()
        };
        let [down, across] = &matrix.roles;
        let table = Texts {
            caption: format!("{}, in {}; rows: {down}, columns: {across}", matrix.title, matrix.unit),
            head: [String::new()].into_iter().chain(matrix.columns.iter().cloned()).collect(),
            rows: matrix.rows.iter().zip(&matrix.squares).map(row).collect(),
        };
        let caption = format!(
            "Each row one {down}, each column one {across}. The stronger the colour, the better, by logarithms."
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

/// The primary metric and the headline ones along each parameter that is swept over, and how many pictures that left out.
pub(super) fn sweeps(report: &Report, workload: &Workload) -> (Vec<Figure>, usize) {
    let measured: Vec<&Cell> = report.cells.iter().filter(|c| c.status == CellStatus::Ok).collect();
    let names = plot::differing(&measured);
    let metrics = || workload.metrics.iter().filter(|m| m.primary || m.headline);
    let (mut figures, mut left_out) = (Vec::new(), 0);
    for x in &names {
        let others: Vec<&String> = names.iter().filter(|n| *n != x).collect();
        for only in combinations(&measured, x, &others) {
            let selection = Selection { only, contenders: Vec::new() };
            for metric in metrics() {
                // What cannot stand along this axis has its place below.
                let Ok(lines) = plot::against(report, workload, x, &metric.name, &selection) else {
                    continue;
                };
                if figures.len() == SWEEPS_DRAWN_MAX {
                    left_out += 1;
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
                let table = Texts {
                    caption: format!("{} by {}", lines.title, lines.x_label),
                    head: [lines.x_label.clone()].into_iter().chain(ticks).collect(),
                    rows: lines.series.iter().map(row).collect(),
                };
                let figure = both(|width| plot::lines_svg(&lines, width), lines.title.clone());
                figures.push(Figure { table: Some(table), ..figure });
            }
        }
    }
    (figures, left_out)
}

/// Parameters, as they are typed.
type Typed = Vec<(String, String)>;

/// The values of the other parameters at which a parameter has at least two.
fn combinations(cells: &[&Cell], x: &str, others: &[&String]) -> Vec<Typed> {
    let mut found: Vec<(Typed, Vec<&serde_json::Value>)> = Vec::new();
    for cell in cells {
        let only: Typed = others
            .iter()
            .filter_map(|name| Some(((*name).clone(), typed(cell.params.get(*name)?))))
            .collect();
        let Some(value) = cell.params.get(x) else { continue };
        match found.iter_mut().find(|(known, _)| *known == only) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => found.push((only, vec![value])),
        }
    }
    found.into_iter().filter(|(_, values)| values.len() > 1).map(|(only, _)| only).collect()
}

/// A value as one would type it.
pub(super) fn typed(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A figure of a cell, or that there is none.
pub(super) fn figure_of(cell: &Cell, metric: &str) -> String {
    let Some(m) = cell.metrics.get(metric) else { return String::new() };
    m.value.map_or_else(|| "not measured".to_owned(), |v| format::value(v, &m.unit))
}

fn both(draw: impl Fn(f64) -> Picture, caption: String) -> Figure {
    Figure { wide: draw(WIDE).inline(), narrow: draw(NARROW).inline(), caption, table: None }
}

fn missing(why: &PlotError) -> Figure {
    Figure { caption: format!("Not drawn: {why}."), ..Figure::default() }
}

/// The least value that this share of all is not above.
fn at(points: &[CurvePoint], quantile: f64) -> Option<f64> {
    points.iter().find(|p| p.quantile >= quantile).map(|p| p.value as f64)
}
