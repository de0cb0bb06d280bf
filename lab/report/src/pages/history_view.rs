//! Histories as pictures with summaries.

use serde::Serialize;

use crate::history::{Conditions, MetricHistory, History, Line, RatioSeries, Shift};
use crate::plot::ratio_chart::{self, Dot, Mark, ratio_chart_svg};
use netdyno_lab_analysis::report::ratio;

/// Conditions with pictures, latest first. Others are only listed.
const CONDITIONS_DRAWN_MAX: usize = 12;

/// Values of the page of a history.
#[derive(Serialize)]
pub(super) struct HistoryPage<'a> {
    pub(super) workload: &'a str,
    pub(super) sections: Vec<Section<'a>>,
    pub(super) others: Vec<&'a str>,
    pub(super) unreadable: &'a [String],
}

/// Runs under the same conditions.
#[derive(Serialize)]
pub(super) struct Section<'a> {
    title: &'a str,
    baseline: Option<&'a str>,
    all: Vec<(&'a str, &'a str)>,
    runs: Vec<(&'a str, Option<String>)>,
    metrics: Vec<MetricView<'a>>,
}

#[derive(Serialize)]
struct MetricView<'a> {
    label: &'a str,
    primary: bool,
    lines: Vec<LineView<'a>>,
    changes: usize,
}

#[derive(Serialize)]
struct LineView<'a> {
    label: &'a str,
    series: Vec<SeriesView>,
}

#[derive(Serialize)]
struct SeriesView {
    name: String,
    svg: String,
    summary: String,
    shifts: Vec<ShiftView>,
    /// Run, ratio, interval.
    rows: Vec<(String, String, String)>,
}

#[derive(Serialize)]
struct ShiftView {
    class: &'static str,
    text: String,
    run: String,
    link: Option<String>,
    significant_at: String,
    meanwhile: Vec<String>,
}

/// Builds the page of a history. `link` returns the address of a run's page, if it has one.
pub(super) fn history(history: &History, link: impl Fn(&str) -> Option<String>) -> HistoryPage<'_> {
    let drawn = history.conditions.iter().take(CONDITIONS_DRAWN_MAX);
    HistoryPage {
        workload: &history.workload,
        sections: drawn.map(|c| section(c, &link)).collect(),
        others: history.conditions.iter().skip(CONDITIONS_DRAWN_MAX).map(|c| c.title.as_str()).collect(),
        unreadable: &history.unreadable,
    }
}

fn section<'a>(conditions: &'a Conditions, link: &impl Fn(&str) -> Option<String>) -> Section<'a> {
    Section {
        title: &conditions.title,
        baseline: conditions.baseline.as_deref(),
        all: conditions
            .all
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .filter(|(_, v)| !v.is_empty())
            .collect(),
        runs: conditions.runs.iter().map(|id| (id.as_str(), link(id))).collect(),
        metrics: conditions.courses.iter().map(|c| metric(conditions, c, link)).collect(),
    }
}

fn metric<'a>(
    conditions: &'a Conditions,
    course: &'a MetricHistory,
    link: &impl Fn(&str) -> Option<String>,
) -> MetricView<'a> {
    let lines: Vec<LineView<'_>> = course.lines.iter().map(|l| line(conditions, course, l, link)).collect();
    let changes = lines.iter().flat_map(|l| &l.series).map(|s| s.shifts.len()).sum();
    MetricView { label: &course.metric.label, primary: course.metric.primary, lines, changes }
}

fn line<'a>(
    conditions: &'a Conditions,
    course: &MetricHistory,
    line: &'a Line,
    link: &impl Fn(&str) -> Option<String>,
) -> LineView<'a> {
    let versus = conditions.baseline.as_deref().map(|b| format!("{} relative to {b}", course.metric.label));
    let candidates =
        [(versus.unwrap_or_default(), &line.versus), ("share of the ceiling".to_owned(), &line.of_ceiling)];
    let present = candidates.into_iter().filter(|(_, series)| !series.points.is_empty());
    let series = present.map(|(name, series)| view(conditions, &line.label, name, series, link));
    LineView { label: &line.label, series: series.collect() }
}

fn view(
    conditions: &Conditions,
    label: &str,
    name: String,
    series: &RatioSeries,
    link: &impl Fn(&str) -> Option<String>,
) -> SeriesView {
    let run = |point: usize| series.points[point].run;
    let dots = series.points.iter().map(|p| Dot {
        at: p.run,
        ratio: p.within.ratio,
        low: p.within.low,
        high: p.within.high,
    });
    let levels = series.levels();
    let picture = ratio_chart::RatioChart {
        title: format!("{label}: {name}, {}", counted(series.points.len(), "run")),
        places: conditions.runs.len(),
        dots: dots.collect(),
        levels: levels.iter().map(|(from, to, level)| (run(*from), run(*to - 1), *level)).collect(),
        marks: series.shifts.iter().map(|s| Mark { at: run(s.at), better: s.better }).collect(),
    };
    let shift = |s: &Shift| {
        let id = &conditions.runs[run(s.at)];
        ShiftView {
            class: if s.better { "better" } else { "worse" },
            text: factor(s),
            run: id.clone(),
            link: link(id),
            significant_at: conditions.runs[run(s.sure_at)].clone(),
            meanwhile: s.meanwhile.clone(),
        }
    };
    let ends = |low: Option<f64>, high: Option<f64>| {
        low.zip(high).map_or(String::new(), |(low, high)| format!("{} - {}", ratio(low), ratio(high)))
    };
    let rows = series.points.iter().map(|p| {
        let within = &p.within;
        (conditions.runs[p.run].clone(), ratio(within.ratio), ends(within.low, within.high))
    });
    SeriesView {
        summary: summary(series, &levels),
        name,
        svg: ratio_chart_svg(&picture).inline(),
        shifts: series.shifts.iter().map(shift).collect(),
        rows: rows.collect(),
    }
}

/// `1.10x the previous ratio (1.07 - 1.13)`.
fn factor(shift: &Shift) -> String {
    let (factor, low, high) = shift.factor;
    let interval = if low > 0.0 && high.is_finite() {
        format!(" ({} - {})", ratio(low), ratio(high))
    } else {
        String::new()
    };
    format!("{}x the previous ratio{interval}", ratio(factor))
}

fn summary(series: &RatioSeries, levels: &[(usize, usize, f64)]) -> String {
    let runs = counted(series.points.len(), "run");
    let level = levels.last().map_or(String::new(), |(_, _, last)| ratio(*last));
    match series.shifts.len() {
        0 if series.points.len() < 2 * netdyno_stats::changes::LEAST => {
            format!("{runs}: too few to detect changes")
        }
        0 => format!("mean {level} over {runs}, no change"),
        n => format!("{level} since the last of {}; {runs}", counted(n, "change")),
    }
}

pub(super) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
