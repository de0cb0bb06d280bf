//! Heat map of all pairs of contenders of two roles. Stronger colours are better.

use super::canvas::{Canvas, LETTER, Picture, SMALL_LETTER, fitted};
use super::ink::HEAT_STEPS;
use super::{
    Captions, PlotError, Plots, ROWS_MAX, Result, captions, check_count, check_parameters, direction,
};
use crate::table;
use netdyno_lab_analysis::distinct;
use netdyno_lab_analysis::report::{Cell, format};
use netdyno_lab_manifest::Better;
use netdyno_lab_store::CellStatus;

const ROW: f64 = 34.0;
/// Minimum and maximum width of a column.
const COLUMN: [f64; 2] = [58.0, 110.0];
/// The colours span at least this factor, so that small differences do not look large.
const SPAN_LEAST: f64 = 2.0;
const NAMES_MOST: f64 = 190.0;
/// Maximum length of the slanted column names.
const HEADS_MOST: f64 = 120.0;

/// Data of a matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix {
    pub(crate) captions: Captions,
    /// Unit of the values.
    pub(crate) unit: String,
    /// Roles of the rows and of the columns.
    pub(crate) roles: [String; 2],
    pub(crate) rows: Vec<String>,
    pub(crate) columns: Vec<String>,
    /// Squares by row and column. A square is none if the pair is not part of the run.
    pub(crate) squares: Vec<Vec<Option<Square>>>,
}

/// The square of a pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Square {
    /// Value in the unit of the matrix, or the status of the cell.
    pub(crate) text: String,
    /// Colour from 0, the worst, to [`HEAT_STEPS`] - 1; none without a value.
    pub(crate) step: Option<usize>,
}

impl Plots<'_> {
    /// The matrix of a metric.
    pub fn matrix(&self, metric: &str) -> Result<Matrix> {
        let (report, metric) = (self.report, self.workload.metric(metric)?);
        let mut cells = self.chosen()?;
        cells.retain(|c| !c.ceiling);
        check_parameters(&cells, None)?;
        let varying = |role: &&String| !report.run.partners.contains_key(*role);
        let roles: Vec<&String> = report.run.roles.iter().filter(varying).collect();
        let [down, across] = roles[..] else { return Err(PlotError::NoMatrix) };
        let [rows, columns] =
            [down, across].map(|role| distinct(cells.iter().filter_map(|c| c.roles.get(role).cloned())));
        if rows.len() < 2 || columns.len() < 2 || !cells.iter().any(|c| c.contender.is_none()) {
            return Err(PlotError::NoMatrix);
        }
        check_count(rows.len().max(columns.len()), ROWS_MAX)?;
        let value = |c: &Cell| c.value(&metric.name).filter(|v| c.status == CellStatus::Ok && *v > 0.0);
        let values = cells.iter().filter_map(|c| value(c));
        let (low, high) = values.fold((f64::INFINITY, 0.0), |(a, b), v| (v.min(a), v.max(b)));
        if high <= 0.0 {
            return Err(PlotError::Empty);
        }
        // All values use the unit prefix of the geometric mean of the extremes.
        let middle = (low * high).sqrt();
        let square = |row: &String, column: &String| {
            let is_pair = |c: &&&Cell| c.roles.get(down) == Some(row) && c.roles.get(across) == Some(column);
            let cell = cells.iter().find(is_pair)?;
            let step = value(cell).map(|v| step(v, (low, high), metric.better));
            let text = match value(cell) {
                Some(v) => format::parts(&[v], &metric.unit, middle),
                None if cell.status == CellStatus::Ok => "none".to_owned(),
                None => table::status(cell.status).to_owned(),
            };
            Some(Square { text, step })
        };
        let squares = rows.iter().map(|r| columns.iter().map(|c| square(r, c)).collect()).collect();
        let unit = format::value(middle, &metric.unit);
        let title = format!("{}: {}, {}", report.run.title, metric.label, direction(metric));
        Ok(Matrix {
            captions: captions(report, title, None),
            unit: unit.split_once(' ').map_or(String::new(), |(_, unit)| unit.to_owned()),
            roles: [down.clone(), across.clone()],
            rows,
            columns,
            squares,
        })
    }
}

/// Colour of a value, by its logarithmic distance from the best.
fn step(value: f64, (low, high): (f64, f64), better: Better) -> usize {
    let behind = match better {
        Better::Higher => high / value,
        Better::Lower => value / low,
    };
    let share = 1.0 - behind.ln() / (high / low).max(SPAN_LEAST).ln();
    ((share * HEAT_STEPS as f64) as usize).min(HEAT_STEPS - 1)
}

/// Draws a matrix with the given width, or wider if its columns require it.
pub fn matrix_svg(matrix: &Matrix, width: f64) -> Picture {
    let letters = |names: &[String]| names.iter().map(|n| n.chars().count()).max().unwrap_or(0) as f64;
    let left = (LETTER * letters(&matrix.rows) + 12.0).min(NAMES_MOST);
    let slant = (SMALL_LETTER * letters(&matrix.columns)).min(HEADS_MOST);
    let across = matrix.columns.len() as f64;
    let column = ((width - left - slant) / across).clamp(COLUMN[0], COLUMN[1]);
    let head = 44.0 + 0.65 * slant;
    let mut canvas = Canvas::default();
    let [down, over] = &matrix.roles;
    canvas.text("small", 0.0, 14.0, &format!("rows: {down}; columns: {over}; in {}", matrix.unit));
    for (i, name) in matrix.columns.iter().enumerate() {
        let x = left + column * (i as f64 + 0.5) - 2.0;
        canvas.slanted("small", x, head - 6.0, &fitted(name, HEADS_MOST, SMALL_LETTER));
    }
    for (i, (name, squares)) in matrix.rows.iter().zip(&matrix.squares).enumerate() {
        let y = head + ROW * i as f64;
        canvas.text("word", 0.0, y + 22.0, &fitted(name, left - 8.0, LETTER));
        for (j, square) in squares.iter().enumerate() {
            let Some(Square { text, step }) = square else { continue };
            let x = left + column * j as f64;
            let [class, ink] = match step {
                Some(step) => [format!("h{step}"), format!("i{step}")],
                None => ["none", "tiny"].map(str::to_owned),
            };
            canvas.rect(&class, (x + 1.0, y + 1.0), (column - 2.0, ROW - 2.0));
            canvas.text(&format!("middle {ink}"), x + column / 2.0, y + 21.5, text);
        }
    }
    let mut y = head + ROW * matrix.rows.len() as f64 + 14.0;
    canvas.text("small", left, y + 11.0, "worst");
    for step in 0..HEAT_STEPS {
        canvas.rect(&format!("h{step}"), (left + 38.0 + 20.0 * step as f64, y), (20.0, 14.0));
    }
    canvas.text("small", left + 44.0 + 20.0 * HEAT_STEPS as f64, y + 11.0, "best");
    y += 26.0;
    let needed = (left + column * across + slant * 0.8).max(left + 220.0);
    canvas.finish(needed.max(width), y, matrix.captions.clone())
}
