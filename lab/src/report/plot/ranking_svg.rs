//! A [`Ranking`] as SVG that follows the reader's light or dark mode. Sizes are in px at the width of a README.

use minijinja::{AutoEscape, Environment, UndefinedBehavior, value::Serde};
use serde::Serialize;

use super::ranking::{Kind, Ranking, Row};
use super::scale::Scale;
use crate::report::format;
use crate::report::layout::{plain, wrapped};

const TEMPLATE: &str = include_str!("ranking.svg.j2");
const WIDTH: f64 = 880.0;
const PAD: f64 = 16.0;
const ROW: f64 = 27.0;
const LINE: f64 = 16.0;
/// Of a letter of a name, about.
const LETTER: f64 = 8.0;
/// Of a letter of small text.
const SMALL_LETTER: f64 = 6.1;
/// Right edge of the marks: then come value, ratio and word.
const MARKS_END: f64 = 538.0;
const VALUE_END: f64 = 616.0;
const DETAIL_AT: f64 = 630.0;
const WORD_AT: f64 = 780.0;
const NAMES_LEAST: f64 = 120.0;
const NAMES_MOST: f64 = 340.0;

#[derive(Serialize)]
struct Text {
    x: String,
    y: String,
    text: String,
}

#[derive(Serialize)]
struct Mark {
    x: String,
    y: String,
    label: String,
    more: String,
    value: String,
    detail: String,
    word: &'static str,
    class: &'static str,
    has_dot: bool,
    /// Where it is beyond the axis, and an arrow that points there.
    beyond: Option<(String, &'static str)>,
    range: Option<Range>,
    rule: String,
}

/// A line with an end at either side: a stroke where it ends, an arrow where it goes on.
#[derive(Serialize)]
struct Range {
    x1: String,
    x2: String,
    left: &'static str,
    right: &'static str,
}

#[derive(Serialize)]
struct Picture {
    width: String,
    height: String,
    title: String,
    heads: Vec<(Text, &'static str)>,
    subtitle: Vec<Text>,
    ticks: Vec<Text>,
    top: String,
    bottom: String,
    names: String,
    rules_end: String,
    value_end: String,
    detail_at: String,
    word_at: String,
    one: Option<String>,
    ceiling: Option<(Text, &'static str)>,
    axis: Text,
    rows: Vec<Mark>,
    footer: Vec<Text>,
}

/// Draws it.
///
/// # Errors
/// In words; the template is ours, and has all that it names.
pub fn ranking_svg(ranking: &Ranking) -> Result<String, String> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    let values = Serde(picture(ranking));
    let text = environment.render_str(TEMPLATE, values).map_err(|e| e.to_string())?;
    // A statement of the template leaves an empty line.
    Ok(text.lines().filter(|line| !line.trim().is_empty()).flat_map(|line| [line, "\n"]).collect())
}

fn picture(ranking: &Ranking) -> Picture {
    let names = ranking.rows.iter().map(width_of).fold(NAMES_LEAST, f64::max).min(NAMES_MOST);
    let scale = Scale::of(ranking, PAD + names + 14.0, MARKS_END);
    let mut y = 34.0;
    let subtitle = lines(&ranking.subtitle, &mut y);
    let heads_y = y + 24.0;
    let top = heads_y + 8.0;
    let rows: Vec<Mark> =
        (0..).zip(&ranking.rows).map(|(i, row)| mark(row, &scale, top, f64::from(i))).collect();
    let bottom = top + ROW * ranking.rows.len() as f64;
    let tick = |v: f64| Text {
        x: px(scale.x(v)),
        y: px(bottom + 16.0),
        text: match &ranking.unit {
            Some(unit) => format::value(v, unit),
            None => format!("{}x", (v * 1e6).round() / 1e6),
        },
    };
    let middle = f64::midpoint(scale.left, MARKS_END);
    let axis = Text { x: px(middle), y: px(bottom + 34.0), text: plain(&ranking.axis) };
    let mut y = bottom + 44.0;
    let mut footer = lines(&ranking.legend, &mut y);
    y += 4.0;
    footer.extend(ranking.footer.iter().flat_map(|text| lines(text, &mut y)));
    let head = |x: f64, text: &str| Text { x: px(x), y: px(heads_y), text: plain(text) };
    Picture {
        width: px(WIDTH),
        height: px(y + PAD),
        title: plain(&ranking.title),
        heads: vec![(head(VALUE_END, &ranking.metric), "end"), (head(DETAIL_AT, &ranking.versus), "start")],
        subtitle,
        ticks: scale.ticks().into_iter().map(tick).collect(),
        top: px(top),
        bottom: px(bottom),
        names: px(PAD),
        rules_end: px(WIDTH - PAD),
        value_end: px(VALUE_END),
        detail_at: px(DETAIL_AT),
        word_at: px(WORD_AT),
        one: (ranking.unit.is_none()).then(|| px(scale.x(1.0))),
        ceiling: ranking.ceiling.map(|c| ceiling(&scale, c, heads_y)),
        axis,
        rows,
        footer,
    }
}

/// The line of the bound, and its name where it does not run into the heads beside it.
fn ceiling(scale: &Scale, at: f64, y: f64) -> (Text, &'static str) {
    let x = scale.x(at);
    let anchor = if x > f64::midpoint(scale.left, MARKS_END) { "end" } else { "start" };
    (Text { x: px(x), y: px(y), text: "ceiling".to_owned() }, anchor)
}

fn mark(row: &Row, scale: &Scale, top: f64, index: f64) -> Mark {
    let range = row.range.map(|(low, high)| {
        let end = |end: Option<f64>, left: bool| match end {
            Some(v) if scale.has(v) => "M0-5V5",
            _ => arrow(left),
        };
        Range {
            x1: px(low.map_or(scale.left, |v| scale.x(v))),
            x2: px(high.map_or(MARKS_END, |v| scale.x(v))),
            left: end(low, true),
            right: end(high, false),
        }
    });
    Mark {
        x: px(row.at.map_or(0.0, |v| scale.x(v))),
        y: px(top + ROW * (index + 0.5)),
        label: plain(&row.label),
        more: plain(&row.more),
        value: row.value.clone(),
        detail: row.detail.clone(),
        word: row.word,
        class: match row.kind {
            Kind::Better => "better",
            Kind::Worse => "worse",
            Kind::Same => "same",
            Kind::Open => "open",
            Kind::Baseline => "base",
            Kind::Bound => "bound",
        },
        has_dot: row.at.is_some_and(|v| scale.has(v)),
        beyond: row.at.filter(|v| !scale.has(*v)).map(|v| (px(scale.x(v)), arrow(v < scale.low))),
        range,
        rule: px(top + ROW * (index + 1.0)),
    }
}

/// The path of an arrow whose point is at 0.
fn arrow(left: bool) -> &'static str {
    if left { "M5-4L0 0L5 4" } else { "M-5-4L0 0L-5 4" }
}

fn width_of(row: &Row) -> f64 {
    LETTER * row.label.chars().count() as f64 + SMALL_LETTER * (row.more.chars().count() + 1) as f64
}

/// Small text in as many lines as it needs; `y` moves on.
fn lines(text: &str, y: &mut f64) -> Vec<Text> {
    let columns = ((WIDTH - 2.0 * PAD) / SMALL_LETTER) as usize;
    let line = |text: &str| {
        *y += LINE;
        Text { x: px(PAD), y: px(*y), text: text.to_owned() }
    };
    wrapped(&plain(text), columns, "", "").lines().map(line).collect()
}

/// One digit behind the point is enough, and the same on every machine.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_one_digit_at_the_most() {
        for (value, text) in [(12.0, "12"), (12.34, "12.3"), (0.04, "0")] {
            assert_eq!(px(value), text);
        }
    }
}
