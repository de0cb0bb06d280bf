//! Draws a [`Ranking`]. In wide pictures, text and marks of a row share a line; in narrow ones, text is above
//! the marks.

use super::canvas::{BOLD_LETTER, Canvas, LETTER, Picture, SMALL_LETTER, fitted};
use super::ranking::{Kind, Ranking, RankingRow};
use super::scale::Scale;
use netdyno_lab_analysis::report::format;

/// Below this width, the text of a row is above its marks.
const WIDE_MIN: f64 = 640.0;
const NAMES_LEAST: f64 = 120.0;
const NAMES_MOST: f64 = 340.0;
/// Distances from the end of the marks to the end of the values, to the ratios, to the verdicts, and to the
/// edge.
const VALUES: f64 = 78.0;
const DETAILS: f64 = 92.0;
const VERDICTS: f64 = 242.0;
const REST: f64 = 342.0;

/// Positions of the parts of a row.
struct Layout {
    height: f64,
    /// Height above the first row.
    head: f64,
    /// Horizontal range of the marks.
    left: f64,
    right: f64,
    /// Vertical position of the marks within a row.
    marks: f64,
    pad: f64,
    is_wide: bool,
}

impl Layout {
    fn new(ranking: &Ranking, width: f64) -> Layout {
        if width < WIDE_MIN {
            let (left, right) = (8.0, width - 8.0);
            return Layout { height: 58.0, head: 20.0, left, right, marks: 46.0, pad: 2.0, is_wide: false };
        }
        let names = ranking.rows.iter().map(width_of).fold(NAMES_LEAST, f64::max).min(NAMES_MOST);
        let (left, right) = (16.0 + names + 14.0, width - REST);
        Layout { height: 27.0, head: 32.0, left, right, marks: 13.5, pad: 16.0, is_wide: true }
    }
}

/// Draws a ranking with the given width.
pub fn ranking_svg(ranking: &Ranking, width: f64) -> Picture {
    let layout = Layout::new(ranking, width);
    let scale = Scale::new(ranking, layout.left, layout.right);
    let mut canvas = Canvas::default();
    let top = layout.head;
    let bottom = top + layout.height * ranking.rows.len() as f64;
    axes(&mut canvas, ranking, &scale, &layout, width, bottom);
    for (i, row) in ranking.rows.iter().enumerate() {
        let y = top + layout.height * i as f64;
        row_text(&mut canvas, row, &layout, width, y);
        marks(&mut canvas, row, &scale, y + layout.marks);
    }
    let mut captions = ranking.captions.clone();
    captions.footer.insert(0, ranking.legend.clone());
    canvas.finish(width, bottom + 40.0, captions)
}

/// Draws column heads, rules, ticks, and the lines of the baseline and the ceiling.
fn axes(canvas: &mut Canvas, ranking: &Ranking, scale: &Scale, layout: &Layout, width: f64, bottom: f64) {
    let (top, pad) = (layout.head, layout.pad);
    if layout.is_wide {
        canvas.text("small end", layout.right + VALUES, top - 8.0, &ranking.metric);
        canvas.text("small", layout.right + DETAILS, top - 8.0, &ranking.versus);
    }
    for i in 1..=ranking.rows.len() {
        let y = top + layout.height * i as f64;
        canvas.line("rule", (pad, y), (width - pad, y));
    }
    for tick in scale.ticks() {
        let x = scale.at(tick);
        vertical_line(canvas, "grid", x, layout, ranking.rows.len());
        let text = match &ranking.unit {
            Some(unit) => format::value(tick, unit),
            None => format!("{}x", (tick * 1e6).round() / 1e6),
        };
        canvas.text("small middle", x, bottom + 16.0, &text);
    }
    let middle = f64::midpoint(layout.left, layout.right);
    let axis = fitted(&ranking.axis, 2.0 * middle.min(width - middle), SMALL_LETTER);
    canvas.text("small middle", middle, bottom + 34.0, &axis);
    if ranking.unit.is_none() {
        vertical_line(canvas, "one", scale.at(1.0), layout, ranking.rows.len());
    }
    if let Some(bound) = ranking.ceiling {
        let x = scale.at(bound);
        vertical_line(canvas, "ceiling", x, layout, ranking.rows.len());
        // The label extends away from the nearer column head.
        let anchor = if x > f64::midpoint(layout.left, layout.right) { "end" } else { "start" };
        canvas.text(&format!("small bound {anchor}"), x, top - 8.0, "ceiling");
    }
}

/// Draws a vertical line through all rows, or only next to the marks in a narrow picture.
fn vertical_line(canvas: &mut Canvas, class: &str, x: f64, layout: &Layout, rows: usize) {
    if layout.is_wide {
        return canvas.line(class, (x, layout.head), (x, layout.head + layout.height * rows as f64));
    }
    for i in 0..rows {
        let y = layout.head + layout.height * i as f64 + layout.marks;
        canvas.line(class, (x, y - 8.0), (x, y + 8.0));
    }
}

fn row_text(canvas: &mut Canvas, row: &RankingRow, layout: &Layout, width: f64, y: f64) {
    let class = class(row.kind);
    if layout.is_wide {
        let (y, available) = (y + 18.0, layout.left - 30.0);
        let label = fitted(&row.label, available, BOLD_LETTER);
        let more = fitted(&row.more, available - BOLD_LETTER * label.chars().count() as f64, SMALL_LETTER);
        let whole = more.chars().count() == row.more.chars().count();
        canvas.label(layout.pad, y, &label, if whole { &more } else { "" });
        canvas.text("end", layout.right + VALUES, y, &row.value);
        canvas.text("small", layout.right + DETAILS, y, &row.detail);
        canvas.text(class, layout.right + VERDICTS, y, row.word);
        return;
    }
    let available = width - 12.0 - LETTER * row.value.chars().count() as f64;
    canvas.label(layout.pad, y + 17.0, &fitted(&row.label, available, BOLD_LETTER), "");
    canvas.text("end", width - layout.pad, y + 17.0, &row.value);
    let detail = [row.detail.as_str(), row.word].join(" ");
    let available = width - 12.0 - SMALL_LETTER * detail.chars().count() as f64;
    canvas.text("small", layout.pad, y + 33.0, &fitted(&row.more, available, SMALL_LETTER));
    canvas.text(&format!("small end {class}"), width - layout.pad, y + 33.0, detail.trim());
}

fn marks(canvas: &mut Canvas, row: &RankingRow, scale: &Scale, y: f64) {
    let class = class(row.kind);
    if let Some((low, high)) = row.range {
        let ends = [low.map_or(scale.begin, |v| scale.at(v)), high.map_or(scale.end, |v| scale.at(v))];
        canvas.line(&format!("range {class}"), (ends[0], y), (ends[1], y));
        for ((end, x), left) in [low, high].into_iter().zip(ends).zip([true, false]) {
            // A stroke at an end, an arrow if the interval extends beyond the axis.
            let d = if end.is_some_and(|v| scale.contains(v)) { "M0-5V5" } else { arrow(left) };
            canvas.mark(&format!("range {class}"), (x, y), d);
        }
    }
    if let Some(reference) = row.reference {
        canvas.mark("reference", (scale.at(reference), y), "M0-9V9");
    }
    match row.at {
        Some(at) if scale.contains(at) => canvas.circle(&format!("dot {class}"), (scale.at(at), y), 4.5),
        Some(at) => canvas.mark(&format!("range {class}"), (scale.at(at), y), arrow(at < scale.low)),
        None => {}
    }
}

fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Better => "better",
        Kind::Worse => "worse",
        Kind::Same => "same",
        Kind::Open => "open",
        Kind::Baseline => "base",
        Kind::Ceiling => "bound",
    }
}

/// Path of an arrow with its tip at the origin.
fn arrow(left: bool) -> &'static str {
    if left { "M5-4L0 0L5 4" } else { "M-5-4L0 0L-5 4" }
}

fn width_of(row: &RankingRow) -> f64 {
    BOLD_LETTER * row.label.chars().count() as f64 + SMALL_LETTER * (row.more.chars().count() + 1) as f64
}
