//! A [`Plot`] as SVG. The drawing is plotters'; here is only what goes where.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Plot, Point, Series};
use crate::report::{format, plain};

/// Size of the whole, in px.
const SIZE: (u32, u32) = (960, 560);
/// Room for the footer, and the height of its lines.
const FOOTER_HEIGHT: i32 = 40;
const FOOTER_LINE: i32 = 15;
/// Room for the names at the right.
const NAMES_WIDTH: u32 = 210;
/// Least distance of two names, in px.
const NAME_STEP: i32 = 17;
const POINT_RADIUS: i32 = 4;
/// Colours that differ for most eyes (after Okabe and Ito), then some more.
const COLOURS: [RGBColor; 10] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(60, 60, 60),
    RGBColor(140, 86, 75),
    RGBColor(127, 60, 190),
    RGBColor(120, 140, 20),
];

type Failed = DrawingAreaErrorKind<std::io::Error>;

/// Draws it, with a logarithmic y axis.
///
/// # Errors
/// In words; a plot of finite values above 0 can be drawn.
pub fn svg(plot: &Plot) -> Result<String, String> {
    let mut text = String::new();
    draw(plot, SVGBackend::with_string(&mut text, SIZE).into_drawing_area()).map_err(|e| e.to_string())?;
    Ok(text)
}

fn draw(plot: &Plot, root: DrawingArea<SVGBackend<'_>, plotters::coord::Shift>) -> Result<(), Failed> {
    root.fill(&WHITE)?;
    let title = ("sans-serif", 17).into_font();
    root.draw(&Text::new(plot.title.clone(), (14, 12), title))?;
    let foot = ("sans-serif", 11).into_font().color(&RGBColor(90, 90, 90));
    for (i, text) in (0..).zip(&plot.footer) {
        let y = SIZE.1 as i32 - FOOTER_HEIGHT + 4 + i * FOOTER_LINE;
        root.draw(&Text::new(plain(text), (14, y), foot.clone()))?;
    }
    let (low, high) = y_range(plot);
    let (first, last) = (plot.x_ticks.first().map_or(0.0, |t| t.0), plot.x_ticks.last().map_or(1.0, |t| t.0));
    let mut chart = ChartBuilder::on(&root)
        .margin_top(44)
        .margin_left(10)
        .margin_right(NAMES_WIDTH)
        .margin_bottom(10 + FOOTER_HEIGHT)
        .x_label_area_size(46)
        .y_label_area_size(78)
        .build_cartesian_2d(first - 0.2..last + 0.2, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .disable_x_axis()
        .disable_y_mesh()
        .y_labels(0)
        .y_label_formatter(&|_| String::new())
        .y_desc(plot.y_label.as_str())
        .axis_desc_style(("sans-serif", 14))
        .draw()?;
    let beside = ("sans-serif", 13).into_font().color(&BLACK).pos(Pos::new(HPos::Right, VPos::Center));
    for value in ticks(low, high) {
        let ends = [first - 0.2, last + 0.2].map(|x| chart.backend_coord(&(x, value)));
        root.draw(&PathElement::new(ends.to_vec(), RGBColor(225, 225, 225).stroke_width(1)))?;
        let label = format::value(value, &plot.unit);
        root.draw(&Text::new(label, (ends[0].0 - 6, ends[0].1), beside.clone()))?;
    }
    let below = Pos::new(HPos::Center, VPos::Top);
    let small = ("sans-serif", 13).into_font().color(&BLACK).pos(below);
    let mut foot = 0;
    for (x, label) in &plot.x_ticks {
        let (px, py) = chart.backend_coord(&(*x, low));
        foot = py;
        root.draw(&Text::new(label.clone(), (px, py + 8), small.clone()))?;
    }
    let middle = chart.backend_coord(&(f64::midpoint(first, last), low)).0;
    root.draw(&Text::new(plot.x_label.clone(), (middle, foot + 28), small.clone()))?;
    let mut names = Vec::new();
    for (index, series) in plot.series.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let line = LineSeries::new(series.points.iter().map(|p| (p.x, p.y)), colour.stroke_width(2));
        chart.draw_series(line)?;
        if series.marked {
            for point in &series.points {
                let (x, y) = chart.backend_coord(&(point.x, point.y));
                // A trial of 0 has no place on this axis: its bar ends at the foot.
                let ends =
                    [point.range.0, point.range.1].map(|v| chart.backend_coord(&(point.x, v.max(low))));
                mark(&root, (x, y), ends, point, colour)?;
            }
        }
        if let Some(last) = series.points.last() {
            names.push((chart.backend_coord(&(last.x, last.y)), series, colour));
        }
    }
    draw_names(&root, names)
}

/// The range of the trials, and the value: filled where the load was held, hollow where not.
fn mark(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    at: (i32, i32),
    ends: [(i32, i32); 2],
    point: &Point,
    colour: RGBColor,
) -> Result<(), Failed> {
    root.draw(&PathElement::new(ends.to_vec(), colour.mix(0.6).stroke_width(1)))?;
    let fill = if point.held { colour } else { WHITE };
    root.draw(&Circle::new(at, POINT_RADIUS, fill.filled()))?;
    root.draw(&Circle::new(at, POINT_RADIUS, colour.stroke_width(2)))
}

/// Names at the right, beside the ends of their lines and apart from each other.
fn draw_names(
    root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    mut names: Vec<((i32, i32), &Series, RGBColor)>,
) -> Result<(), Failed> {
    names.sort_by_key(|((_, y), ..)| *y);
    let column = (SIZE.0 - NAMES_WIDTH) as i32 + 22;
    for (y, (end, series, colour)) in spread(names.iter().map(|n| n.0.1).collect()).into_iter().zip(&names) {
        let lead = PathElement::new(vec![*end, (column - 4, y)], colour.mix(0.35).stroke_width(1));
        root.draw(&lead)?;
        let style = ("sans-serif", 14).into_font().color(colour).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(series.name.clone(), (column, y), style))?;
    }
    Ok(())
}

/// Heights in order, moved apart to at least [`NAME_STEP`] and back into the picture.
fn spread(mut heights: Vec<i32>) -> Vec<i32> {
    let bottom = SIZE.1 as i32 - FOOTER_HEIGHT - 20;
    for i in 1..heights.len() {
        heights[i] = heights[i].max(heights[i - 1] + NAME_STEP);
    }
    let mut most = bottom;
    for height in heights.iter_mut().rev() {
        *height = (*height).min(most);
        most = *height - NAME_STEP;
    }
    heights
}

/// Whole decades would waste the picture: a little more than what is drawn. Values are above 0, ranges may reach it.
fn y_range(plot: &Plot) -> (f64, f64) {
    let points = || plot.series.iter().flat_map(|s| &s.points);
    let lows = points().flat_map(|p| [p.range.0, p.y]).filter(|v| *v > 0.0);
    let low = lows.fold(f64::INFINITY, f64::min);
    let high = points().map(|p| p.range.1).fold(0.0, f64::max);
    (low / 1.3, (high * 1.3).max(low * 2.0))
}

/// Round values within a range: 1, 2 and 5 of each decade, or powers of ten where the range has many.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    const MANY_DECADES: f64 = 4.0;
    let steps: &[f64] = if (high / low).log10() > MANY_DECADES { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let values = decades.flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)));
    values.filter(|v| (low..=high).contains(v)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn round_values_stand_beside_any_range() {
        for (low, high, wanted) in [
            (11.5, 91.0, &[20.0, 50.0][..]),
            (15.0, 40.0, &[20.0]),
            (0.9, 11.0, &[1.0, 2.0, 5.0, 10.0]),
            (1e3, 1e8, &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8]),
        ] {
            let found = super::ticks(low, high);
            assert_eq!(found.len(), wanted.len(), "{low} {high}: {found:?}");
            assert!(found.iter().zip(wanted).all(|(a, b)| (a / b - 1.0).abs() < 1e-9), "{found:?}");
        }
    }

    #[test]
    fn names_stand_apart_and_inside() {
        for (heights, wanted) in [
            (vec![100, 101, 300], vec![100, 117, 300]),
            (vec![495, 499, 500], vec![466, 483, 500]),
            (vec![], vec![]),
        ] {
            assert_eq!(super::spread(heights.clone()), wanted, "{heights:?}");
        }
    }
}
