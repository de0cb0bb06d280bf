//! Draws a [`Plot`]: lines over a logarithmic y axis. In wide pictures, names are at the ends of the lines,
//! else below.

use super::canvas::{Canvas, LETTER, Picture, SMALL_LETTER, fitted};
use super::ink::LINE_COLOURS;
use super::scale::{Scale, decades, even};
use super::{Plot, Point, Series};
use netdyno_lab_analysis::report::format;

/// Below this width, names are below the plot.
const WIDE_MIN: f64 = 640.0;
/// Width of the names on the right.
const NAMES_WIDTH: f64 = 240.0;
/// Minimum vertical distance between names.
const NAME_STEP: f64 = 17.0;
/// Height of the plotting area, wide and narrow.
const FIELD: [f64; 2] = [380.0, 260.0];
/// Horizontal padding, in units of the x axis.
const PADDING: f64 = 0.2;
/// Points closer than this to the line between their neighbours are omitted, in px.
const TOLERANCE: f64 = 0.4;
const RADIUS: f64 = 4.0;
const TOP: f64 = 34.0;

/// The plotting area and the ranges of its axes.
struct Field {
    left: f64,
    right: f64,
    bottom: f64,
    x: (f64, f64),
    y: Scale,
}

impl Field {
    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let across = (x - self.x.0) / (self.x.1 - self.x.0);
        (self.left + across * (self.right - self.left), self.y.at(y))
    }
}

/// Draws a plot with the given width.
pub fn lines_svg(plot: &Plot, width: f64) -> Picture {
    let is_wide = width >= WIDE_MIN;
    let (first, last) = (plot.x_ticks.first().map_or(0.0, |t| t.0), plot.x_ticks.last().map_or(1.0, |t| t.0));
    let bottom = TOP + FIELD[usize::from(!is_wide)];
    let (low, high) = y_range(plot);
    let field = Field {
        left: if is_wide { 84.0 } else { 60.0 },
        right: if is_wide { width - NAMES_WIDTH } else { width - 8.0 },
        bottom,
        x: (first - PADDING, last + PADDING),
        y: Scale { low, high, begin: bottom, end: TOP },
    };
    let mut canvas = Canvas::default();
    axes(&mut canvas, plot, &field, is_wide);
    for (i, series) in plot.series.iter().enumerate() {
        draw(&mut canvas, series, i, &field);
    }
    let mut bottom = bottom + 44.0;
    if is_wide {
        names_at_ends(&mut canvas, plot, &field, width);
    } else {
        for (i, series) in plot.series.iter().enumerate() {
            bottom += NAME_STEP;
            key(&mut canvas, i, 4.0, bottom - 4.0);
            canvas.text("small", 34.0, bottom, &fitted(&series.name, width - 36.0, SMALL_LETTER));
        }
        bottom += 8.0;
    }
    canvas.finish(width, bottom, plot.captions.clone())
}

fn axes(canvas: &mut Canvas, plot: &Plot, field: &Field, is_wide: bool) {
    canvas.text(
        "small",
        if is_wide { 16.0 } else { 0.0 },
        16.0,
        &format!("{}, logarithmic scale", plot.y_label),
    );
    // A small range has equal steps instead of 1, 2 and 5.
    let Scale { low, high, .. } = field.y;
    let values = if high / low < 5.0 { even(low, high) } else { decades(low, high) };
    for value in values {
        let (_, y) = field.at(0.0, value);
        canvas.line("grid", (field.left, y), (field.right, y));
        canvas.text("small end", field.left - 6.0, y + 4.0, &format::value(value, &plot.unit));
    }
    // Labels that would overlap the previous one are omitted.
    let mut free = f64::NEG_INFINITY;
    for (value, label) in &plot.x_ticks {
        let (x, half) = (field.at(*value, low).0, SMALL_LETTER * label.chars().count() as f64 / 2.0);
        canvas.line("grid", (x, field.bottom), (x, field.bottom + 4.0));
        if x - half >= free {
            canvas.text("small middle", x, field.bottom + 18.0, label);
            free = x + half + 4.0;
        }
    }
    canvas.text("small middle", f64::midpoint(field.left, field.right), field.bottom + 38.0, &plot.x_label);
}

fn draw(canvas: &mut Canvas, series: &Series, index: usize, field: &Field) {
    let stroke = stroke(index);
    let places: Vec<(f64, f64)> = series.points.iter().map(|p| field.at(p.x, p.y)).collect();
    let line = if series.marked { places.clone() } else { simplified(&places) };
    canvas.joined(&format!("curve {stroke}"), &line);
    for (point, at) in series.points.iter().zip(places).filter(|_| series.marked) {
        mark(canvas, point, at, index, field);
    }
}

/// Draws a marker with the range of the trials. It is hollow if the load was not sustained.
fn mark(canvas: &mut Canvas, point: &Point, at: (f64, f64), index: usize, field: &Field) {
    let colour = index % LINE_COLOURS;
    // A logarithmic axis has no 0: the bar of a trial of 0 ends at the bottom.
    let [low, high] = [point.range.0, point.range.1].map(|v| field.at(point.x, v));
    canvas.line(&format!("spread s{colour}"), low, high);
    let fill = if point.held { format!("f{colour}") } else { "hollow".to_owned() };
    canvas.circle(&format!("point s{colour} {fill}"), at, RADIUS);
}

/// Draws names on the right, near the ends of their lines and without overlap.
fn names_at_ends(canvas: &mut Canvas, plot: &Plot, field: &Field, width: f64) {
    let ends = plot.series.iter().enumerate();
    let mut ends: Vec<_> =
        ends.filter_map(|(i, s)| s.points.last().map(|p| (field.at(p.x, p.y), i, &s.name))).collect();
    ends.sort_by(|a, b| a.0.1.total_cmp(&b.0.1));
    let column = field.right + 22.0;
    for (y, (end, i, name)) in
        spread(ends.iter().map(|e| e.0.1).collect(), field.bottom).into_iter().zip(&ends)
    {
        canvas.line(&format!("lead s{}", i % LINE_COLOURS), *end, (column - 3.0, y));
        key(canvas, *i, column, y);
        canvas.text("word", column + 26.0, y + 4.5, &fitted(name, width - column - 28.0, LETTER));
    }
}

/// Draws a sample of a line next to its name.
fn key(canvas: &mut Canvas, index: usize, x: f64, y: f64) {
    canvas.line(&format!("curve {}", stroke(index)), (x, y), (x + 20.0, y));
}

/// Classes for colour and dashes of a line.
fn stroke(index: usize) -> String {
    const DASHES: [&str; 3] = ["", " later", " last"];
    format!("s{}{}", index % LINE_COLOURS, DASHES[index / LINE_COLOURS % DASHES.len()])
}

/// Moves ascending heights apart to at least [`NAME_STEP`], above `bottom`.
fn spread(mut heights: Vec<f64>, bottom: f64) -> Vec<f64> {
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + NAME_STEP);
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = height.min(most);
        most = *height - NAME_STEP;
    }
    heights
}

/// A line without the points that are on the line between their neighbours.
fn simplified(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    let mut skipped: Vec<(f64, f64)> = Vec::new();
    for (i, &next) in points.iter().enumerate() {
        let Some(&from) = kept.last() else {
            kept.push(next);
            continue;
        };
        let implied = |p: &(f64, f64)| {
            let run = next.0 - from.0;
            // Vertical segments are kept: they are the steps of the line.
            run > 0.0 && (from.1 + (next.1 - from.1) * (p.0 - from.0) / run - p.1).abs() <= TOLERANCE
        };
        if !skipped.iter().all(implied) {
            kept.push(points[i - 1]);
            skipped.clear();
        }
        skipped.push(next);
    }
    kept.extend(skipped.last());
    kept
}

/// Range of the y axis, slightly larger than that of the values. Values are above 0; ranges may include 0.
fn y_range(plot: &Plot) -> (f64, f64) {
    let points = || plot.series.iter().flat_map(|s| &s.points);
    let lows = points().flat_map(|p| [p.range.0, p.y]).filter(|v| *v > 0.0);
    let low = lows.fold(f64::INFINITY, f64::min);
    let high = points().map(|p| p.range.1).fold(0.0, f64::max);
    (low / 1.15, (high * 1.15).max(low * 1.5))
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_do_not_overlap_and_stay_inside() {
        for (heights, wanted) in [
            (vec![100.0, 101.0, 300.0], vec![100.0, 117.0, 300.0]),
            (vec![495.0, 499.0, 500.0], vec![466.0, 483.0, 500.0]),
            (vec![], vec![]),
        ] {
            assert_eq!(super::spread(heights.clone(), 500.0), wanted, "{heights:?}");
        }
    }

    #[test]
    fn a_simplified_line_keeps_its_corners() {
        let straight: Vec<(f64, f64)> = (0..100).map(|i| (f64::from(i), 2.0 * f64::from(i))).collect();
        assert_eq!(super::simplified(&straight), [(0.0, 0.0), (99.0, 198.0)]);
        let up = [(0.0, 0.0), (5.0, 0.0), (5.0, 9.0), (5.0, 20.0)];
        assert_eq!(super::simplified(&up), [(0.0, 0.0), (5.0, 0.0), (5.0, 9.0), (5.0, 20.0)]);
        assert_eq!(super::simplified(&[(1.0, 1.0)]), [(1.0, 1.0)]);
        assert!(super::simplified(&[]).is_empty());
    }
}
