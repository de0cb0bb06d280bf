//! Time series of ratios from the digests of runs, with change detection. Pure functions.

use std::collections::BTreeMap;

use super::digest::{Digest, Figures, Group, MetricInfo, Within};
use netdyno_lab_analysis::{distinct, grouped};
use netdyno_lab_store::Listed;
use netdyno_stats::{Rules, changes};

/// A workload over time.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) workload: String,
    /// Comparable runs, latest first.
    pub(crate) conditions: Vec<Conditions>,
    /// Unreadable runs, each with the reason.
    pub(crate) unreadable: Vec<String>,
}

/// Comparable runs and their ratios.
#[derive(Debug)]
pub(crate) struct Conditions {
    /// The most important conditions, for display.
    pub(crate) title: String,
    /// All conditions, by name.
    pub(crate) all: BTreeMap<String, String>,
    pub(crate) baseline: Option<String>,
    /// Ids of the runs, oldest first.
    pub(crate) runs: Vec<String>,
    /// Ratios by metric, the primary metric first.
    pub(crate) courses: Vec<MetricHistory>,
}

/// Ratios of one metric over the runs.
#[derive(Debug)]
pub(crate) struct MetricHistory {
    pub(crate) metric: MetricInfo,
    /// One line per contender.
    pub(crate) lines: Vec<Line>,
}

/// Ratios of one contender.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// Ratios to the baseline; empty for the baseline.
    pub(crate) versus: RatioSeries,
    /// Shares of the ceiling; empty without a ceiling, and for metrics other than the primary one.
    pub(crate) of_ceiling: RatioSeries,
}

/// Ratios over time.
#[derive(Debug)]
pub(crate) struct RatioSeries {
    /// Points in order of the runs. Runs without the figure have none.
    pub(crate) points: Vec<Dot>,
    pub(crate) shifts: Vec<Shift>,
}

/// A ratio at a position in a series of runs or blocks, from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dot {
    pub(crate) at: usize,
    pub(crate) within: Within,
}

/// A lasting change of the ratio.
#[derive(Debug)]
pub(crate) struct Shift {
    /// Index of the first point after the change.
    pub(crate) at: usize,
    /// Index of the point at which the change became significant.
    pub(crate) sure_at: usize,
    /// Factor of the change, and the ends of its interval. Unbounded ends are 0 and infinity.
    pub(crate) factor: (f64, f64, f64),
    /// Whether it is an improvement.
    pub(crate) better: bool,
    /// Other differences between the last run before the change and the first after it.
    pub(crate) meanwhile: Vec<String>,
}

impl RatioSeries {
    /// Mean ratio of each segment between changes, with the range of its points (end exclusive).
    pub(crate) fn levels(&self) -> Vec<(usize, usize, f64)> {
        let begins: Vec<usize> = std::iter::once(0).chain(self.shifts.iter().map(|s| s.at)).collect();
        let ends = begins.iter().copied().skip(1).chain([self.points.len()]);
        let level = |(begin, end): (usize, usize)| {
            let logs = self.points[begin..end].iter().map(|p| p.within.ratio.ln());
            (begin, end, (logs.sum::<f64>() / (end - begin) as f64).exp())
        };
        begins.iter().copied().zip(ends).filter(|(begin, end)| begin < end).map(level).collect()
    }
}

/// Computes the history of runs, given oldest first.
pub(super) fn history(workload: &str, runs: &[(Listed, Digest)], unreadable: Vec<String>) -> History {
    let all = runs.iter().flat_map(|(run, digest)| digest.groups.iter().map(move |g| (run, digest, g)));
    let mut groups = grouped(all.map(|member| (&member.2.conditions, member)));
    // Latest group first, by its last run.
    groups.sort_by(|(_, a), (_, b)| b[b.len() - 1].0.id.cmp(&a[a.len() - 1].0.id));
    let conditions = groups.iter().map(|(_, members)| conditions(members)).collect();
    History { workload: workload.to_owned(), conditions, unreadable }
}

fn conditions(runs: &[(&Listed, &Digest, &Group)]) -> Conditions {
    let (_, newest, group) = runs[runs.len() - 1];
    let groups: Vec<&Group> = runs.iter().map(|(_, _, group)| *group).collect();
    let mut metrics: Vec<&MetricInfo> = newest.metrics.iter().collect();
    metrics.sort_by_key(|m| !m.primary);
    let courses = metrics.into_iter().map(|m| course(m, &groups)).filter(|c| !c.lines.is_empty());
    Conditions {
        title: group.title.clone(),
        all: group.conditions.clone(),
        baseline: group.baseline.clone(),
        runs: runs.iter().map(|(run, ..)| run.id.clone()).collect(),
        courses: courses.collect(),
    }
}

fn course(metric: &MetricInfo, groups: &[&Group]) -> MetricHistory {
    let cells = groups.iter().flat_map(|g| &g.cells).filter(|c| !c.ceiling);
    let labels = distinct(cells.map(|c| c.label.as_str()));
    let points = |label: &str, ratio: &dyn Fn(&Figures) -> Option<Within>| -> Vec<Dot> {
        let point = |(at, group): (usize, &&Group)| {
            let cell = group.cells.iter().find(|cell| cell.label == label && !cell.ceiling)?;
            Some(Dot { at, within: ratio(cell).filter(|w| w.ratio > 0.0 && w.ratio.is_finite())? })
        };
        groups.iter().enumerate().filter_map(point).collect()
    };
    let figure = |cell: &Figures| cell.metrics.get(&metric.name).copied().unwrap_or_default();
    // An unbounded interval means that there were too few blocks.
    let versus = |cell: &Figures| figure(cell).versus.filter(|w| w.low.is_some() && w.high.is_some());
    let of_ceiling = |cell: &Figures| figure(cell).of_ceiling;
    let lines: Vec<(&str, Vec<Dot>, Vec<Dot>)> =
        labels.iter().map(|l| (*l, points(l, &versus), points(l, &of_ceiling))).collect();
    let count = lines.iter().flat_map(|(_, a, b)| [a, b]).filter(|p| !p.is_empty()).count();
    let rules = Rules::default();
    // Bonferroni correction over all series of the course.
    let alpha = rules.alpha / count.max(1) as f64;
    let lines = lines.into_iter().map(|(label, versus, of_ceiling)| {
        let series = |points: Vec<Dot>, higher: bool| {
            let shifts = shifts(&points, groups, label, higher, (alpha, rules.margin.ln_1p()));
            RatioSeries { points, shifts }
        };
        // A higher share of the ceiling is always better.
        let (versus, of_ceiling) = (series(versus, metric.higher), series(of_ceiling, true));
        Line { label: label.to_owned(), versus, of_ceiling }
    });
    let lines = lines.filter(|l| !(l.versus.points.is_empty() && l.of_ceiling.points.is_empty()));
    MetricHistory { metric: metric.clone(), lines: lines.collect() }
}

fn shifts(
    points: &[Dot],
    groups: &[&Group],
    label: &str,
    higher: bool,
    (alpha, margin): (f64, f64),
) -> Vec<Shift> {
    let logs: Vec<f64> = points.iter().map(|p| p.within.ratio.ln()).collect();
    let shift = |change: netdyno_stats::Change| Shift {
        at: change.at,
        sure_at: change.sure_after - 1,
        factor: (change.step.estimate.exp(), change.step.low.exp(), change.step.high.exp()),
        better: (change.step.estimate > 0.0) == higher,
        meanwhile: meanwhile(groups[points[change.at - 1].at], groups[points[change.at].at], label),
    };
    changes(&logs, alpha, margin).into_iter().map(shift).collect()
}

/// Differences between two runs in the facts that a contender's ratios depend on.
fn meanwhile(before: &Group, after: &Group, label: &str) -> Vec<String> {
    let facts = |group: &Group| {
        let counts = |cell: &&Figures| {
            cell.ceiling || cell.label == label || group.baseline.as_ref() == Some(&cell.label)
        };
        let of_cells = group.cells.iter().filter(counts).flat_map(|cell| cell.facts.clone());
        of_cells.chain(group.facts.clone()).collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (facts(before), facts(after));
    let difference = |(name, now): (&String, &String)| {
        let previous = before.get(name)?;
        (previous != now).then(|| format!("{name}: {previous}, then {now}"))
    };
    after.iter().filter_map(difference).collect()
}
