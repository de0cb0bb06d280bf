//! A ratio over runs or blocks: dots with intervals, mean levels, and changes.

use super::canvas::{Canvas, Captions, Picture};
use super::scale::Scale;
use crate::history::{Dot, Within};

/// A change of the level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Position of the first dot after the change.
    pub(crate) at: usize,
    /// Whether it is an improvement.
    pub(crate) better: bool,
}

/// Data of the picture.
#[derive(Debug, Default)]
pub(crate) struct RatioChart {
    pub(crate) title: String,
    /// Number of positions, with and without a dot.
    pub(crate) places: usize,
    /// The dots, by ascending position.
    pub(crate) dots: Vec<Dot>,
    /// Levels: first position, last position, ratio.
    pub(crate) levels: Vec<(usize, usize, f64)>,
    pub(crate) marks: Vec<Mark>,
}

const WIDTH: f64 = 420.0;
const HEIGHT: f64 = 132.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = WIDTH - 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = HEIGHT - 12.0;
/// Intervals widen the axis by at most this factor beyond the outermost dots.
const REACH_MOST: f64 = 1.5;
/// The axis spans at least this factor, so that noise is not magnified.
const SPAN_LEAST: f64 = 1.1;

/// Draws the picture, for embedding into a page.
pub(crate) fn ratio_chart_svg(course: &RatioChart) -> Picture {
    let mut canvas = Canvas::default();
    let axis = Axis::new(course);
    let Scale { low, high, .. } = axis.ratios;
    for value in [high, (low * high).sqrt(), low] {
        let y = axis.y(value);
        canvas.line("grid", (LEFT, y), (RIGHT, y));
        canvas.text("small tiny end", LEFT - 6.0, y + 4.0, &label(value));
    }
    if low < 1.0 && 1.0 < high {
        canvas.line("one", (LEFT, axis.y(1.0)), (RIGHT, axis.y(1.0)));
    }
    for mark in &course.marks {
        // Between the last dot before the change and the first after it.
        let x = axis.x(mark.at as f64 - 0.5);
        let class = if mark.better { "range better" } else { "range worse" };
        canvas.line(class, (x, TOP - 6.0), (x, BOTTOM + 6.0));
    }
    for (from, to, ratio) in &course.levels {
        let y = axis.y(*ratio);
        canvas.line("range bound", (axis.x(*from as f64 - 0.35), y), (axis.x(*to as f64 + 0.35), y));
    }
    for Dot { at, within: Within { ratio, low, high } } in &course.dots {
        let x = axis.x(*at as f64);
        if low.is_some() || high.is_some() {
            let end = |end: &Option<f64>, at: f64| end.map_or(at, |v| axis.y(v));
            canvas.line("whisker", (x, end(low, BOTTOM)), (x, end(high, TOP)));
        }
        canvas.circle("dot base", (x, axis.y(*ratio)), (90.0 / axis.places).clamp(1.5, 3.5));
    }
    canvas.finish(WIDTH, HEIGHT, Captions { title: course.title.clone(), ..Captions::default() })
}

/// Formats a value with three significant digits, enough for the minimum span.
fn label(value: f64) -> String {
    let decimals = (2.0 - value.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

struct Axis {
    ratios: Scale,
    places: f64,
}

impl Axis {
    fn new(course: &RatioChart) -> Axis {
        let ratios = || course.dots.iter().map(|d| d.within.ratio).filter(|r| *r > 0.0 && r.is_finite());
        let (least, most) = (ratios().fold(f64::MAX, f64::min), ratios().fold(f64::MIN_POSITIVE, f64::max));
        let (least, most) = if least <= most { (least, most) } else { (1.0, 1.0) };
        let ends = |end: fn(&Within) -> Option<f64>| course.dots.iter().filter_map(move |d| end(&d.within));
        let low = ends(|d| d.low).fold(least, f64::min).max(least / REACH_MOST);
        let high = ends(|d| d.high).fold(most, f64::max).min(most * REACH_MOST);
        let wider = (SPAN_LEAST / (high / low)).max(1.0).sqrt();
        let ratios = Scale { low: low / wider, high: high * wider, begin: BOTTOM, end: TOP };
        Axis { ratios, places: course.places.max(1) as f64 }
    }

    fn x(&self, place: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * (place + 0.5) / self.places
    }

    fn y(&self, ratio: f64) -> f64 {
        self.ratios.at(ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(at: usize, ratio: f64, low: Option<f64>, high: Option<f64>) -> Dot {
        Dot { at, within: Within { ratio, low, high } }
    }

    fn numbers(svg: &str) -> Vec<f64> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let values = document.descendants().flat_map(|n| n.attributes().collect::<Vec<_>>());
        let places = values.filter(|a| ["x", "y", "x1", "x2", "y1", "y2", "cx", "cy"].contains(&a.name()));
        places.map(|a| a.value().parse().unwrap()).collect()
    }

    #[test]
    fn axis_labels_are_distinct() {
        for (value, labels) in
            [(0.0105, ["0.0100", "0.0105", "0.0110"]), (0.105, ["0.100", "0.105", "0.110"])]
        {
            let dots = vec![dot(0, value, None, None)];
            let course =
                RatioChart { title: String::new(), places: 1, dots, levels: Vec::new(), marks: Vec::new() };
            let svg = ratio_chart_svg(&course).inline();
            assert!(labels.iter().all(|label| svg.contains(&format!(">{label}<"))), "{svg}");
        }
        assert_eq!([13.14, 131.4, 1314.0].map(label), ["13.1", "131", "1314"]);
    }

    #[test]
    fn everything_stays_inside_for_extreme_values() {
        for (places, dots) in [
            (0, vec![]),
            (1, vec![dot(0, 1.0, None, None)]),
            (3, vec![dot(0, 1.0, Some(0.9), Some(1.1)), dot(2, 2.0, Some(1e-9), None)]),
            (2, vec![dot(0, 0.0, None, Some(1.0)), dot(1, f64::INFINITY, None, None)]),
            (200, (0..200).map(|at| dot(at, 1.0 + at as f64 * 1e-6, None, None)).collect()),
        ] {
            let marks = vec![Mark { at: places / 2, better: true }];
            let levels = vec![(0, places.max(1) - 1, 1.0)];
            let title = "</svg><script>\"&".to_owned();
            let svg = ratio_chart_svg(&RatioChart { title, places, dots, levels, marks }).inline();
            let inside = |v: &f64| v.is_finite() && (-1.0..=WIDTH + 1.0).contains(v);
            assert!(numbers(&svg).iter().all(inside), "{svg}");
            assert!(!svg.contains("<script"), "{svg}");
        }
    }

    #[test]
    fn a_greater_ratio_is_drawn_higher() {
        let dots = [2.0, 1.0].map(|ratio| dot(0, ratio, None, None)).to_vec();
        let axis = Axis::new(&RatioChart { places: 1, dots, ..RatioChart::default() });
        assert!(axis.y(2.0) < axis.y(1.0));
        assert!((axis.y(1.0) - BOTTOM).abs() < 1e-9 && (axis.y(2.0) - TOP).abs() < 1e-9);
    }
}
