//! Histories as pictures with summaries: values of the template.

use minijinja::value::Serde;
use minijinja::{Value, context};

use crate::history::{Conditions, History, Line, MetricHistory, RatioSeries, Shift, Within};
use crate::plot::ratio_chart::{Mark, RatioChart, ratio_chart_svg};
use crate::table::counted;
use netdyno_lab_analysis::report::format::{ratio, ratio_range};

/// Conditions with pictures, latest first. Others are only listed.
const CONDITIONS_DRAWN_MAX: usize = 12;

/// Returns the address of a run's page, if it has one.
type Link<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Builds the page of a history.
pub(super) fn history(history: &History, link: &Link<'_>) -> Value {
    let (drawn, others) = history.conditions.split_at(history.conditions.len().min(CONDITIONS_DRAWN_MAX));
    context! {
        workload => history.workload.as_str(),
        sections => drawn.iter().map(|c| section(c, link)).collect::<Vec<_>>(),
        others => Serde(others.iter().map(|c| &c.title).collect::<Vec<_>>()),
        unreadable => Serde(&history.unreadable),
    }
}

/// Runs under the same conditions.
fn section(conditions: &Conditions, link: &Link<'_>) -> Value {
    let all = conditions.all.iter().filter(|(_, value)| !value.is_empty()).collect::<Vec<_>>();
    let runs = conditions.runs.iter().map(|id| (id, link(id))).collect::<Vec<_>>();
    let metric = |course: &MetricHistory| {
        let lines = course.lines.iter().map(|l| line(conditions, course, l, link)).collect::<Vec<_>>();
        let shifts = |l: &Line| l.versus.shifts.len() + l.of_ceiling.shifts.len();
        let changes: usize = course.lines.iter().map(shifts).sum();
        context! { label => course.metric.label.as_str(), primary => course.metric.primary, lines, changes }
    };
    context! {
        title => conditions.title.as_str(),
        baseline => Serde(&conditions.baseline),
        all => Serde(all),
        runs => Serde(runs),
        metrics => conditions.courses.iter().map(metric).collect::<Vec<_>>(),
    }
}

/// The series of a contender.
fn line(conditions: &Conditions, course: &MetricHistory, line: &Line, link: &Link<'_>) -> Value {
    let versus = conditions.baseline.as_deref().map(|b| format!("{} relative to {b}", course.metric.label));
    let candidates =
        [(versus.unwrap_or_default(), &line.versus), ("share of the ceiling".to_owned(), &line.of_ceiling)];
    let present = candidates.into_iter().filter(|(_, series)| !series.points.is_empty());
    let series = present.map(|(name, s)| series(conditions, &line.label, (&name, s), link));
    context! { label => line.label.as_str(), series => series.collect::<Vec<_>>() }
}

fn series(
    conditions: &Conditions,
    label: &str,
    (name, series): (&str, &RatioSeries),
    link: &Link<'_>,
) -> Value {
    let run = |point: usize| series.points[point].at;
    let levels = series.levels();
    let picture = RatioChart {
        title: format!("{label}: {name}, {}", counted(series.points.len(), "run")),
        places: conditions.runs.len(),
        dots: series.points.clone(),
        levels: levels.iter().map(|(from, to, level)| (run(*from), run(*to - 1), *level)).collect(),
        marks: series.shifts.iter().map(|s| Mark { at: run(s.at), better: s.better }).collect(),
    };
    let shift = |s: &Shift| {
        let id = conditions.runs[run(s.at)].as_str();
        context! {
            class => if s.better { "better" } else { "worse" },
            text => factor(s),
            run => id,
            link => Serde(link(id)),
            significant_at => conditions.runs[run(s.sure_at)].as_str(),
            meanwhile => Serde(&s.meanwhile),
        }
    };
    let rows = series.points.iter().map(|p| {
        let Within { ratio: value, low, high } = p.within;
        (&conditions.runs[p.at], ratio(value), low.zip(high).map_or(String::new(), ratio_range))
    });
    context! {
        name,
        summary => summary(series, &levels),
        svg => ratio_chart_svg(&picture).inline(),
        shifts => series.shifts.iter().map(shift).collect::<Vec<_>>(),
        rows => Serde(rows.collect::<Vec<_>>()),
    }
}

/// `1.10x the previous ratio (1.07 - 1.13)`.
fn factor(shift: &Shift) -> String {
    let (factor, low, high) = shift.factor;
    let is_bounded = low > 0.0 && high.is_finite();
    let interval = if is_bounded { format!(" ({})", ratio_range((low, high))) } else { String::new() };
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
