//! From the digests of runs to courses over time, with the places where they changed. Pure functions.

use std::collections::BTreeMap;

use super::digest::{Digest, Figures, Group, MetricInfo, Within};
use netdyno_lab_store::Listed;
use netdyno_stats::{Rules, changes};

/// A workload over time.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// Its name.
    pub workload: String,
    /// What was run under the same conditions, the latest first.
    pub conditions: Vec<Conditions>,
    /// Runs that cannot be read, each with the reason.
    pub unreadable: Vec<String>,
}

/// Runs that can be compared with each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Conditions {
    /// What matters most of them, for people.
    pub title: String,
    /// All of them, by name.
    pub all: BTreeMap<String, String>,
    /// Label of the baseline.
    pub baseline: Option<String>,
    /// The ids of the runs, the oldest first.
    pub runs: Vec<String>,
    /// What was measured, the primary metric first.
    pub courses: Vec<Course>,
}

/// One metric over these runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// The metric.
    pub metric: MetricInfo,
    /// A contender each.
    pub lines: Vec<Line>,
}

/// One contender.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Its label.
    pub label: String,
    /// By the baseline's; empty for the baseline.
    pub versus: Series,
    /// By the ceiling's; empty where there is none, and for metrics that are not the primary one.
    pub of_ceiling: Series,
}

/// Ratios over time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Series {
    /// In order of the runs. A run without the figure has none.
    pub points: Vec<Point>,
    /// Where it changed.
    pub shifts: Vec<Shift>,
}

/// The ratio of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Index of the run.
    pub run: usize,
    /// The ratio, with its interval.
    pub within: Within,
}

/// A change: the ratio is another from some run on.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// Index of the first point after it.
    pub at: usize,
    /// Index of the point from which it was sure.
    pub sure_at: usize,
    /// By what the ratio was multiplied, with an interval; unbounded ends are infinite, or 0.
    pub factor: (f64, f64, f64),
    /// Whether that is for the better.
    pub better: bool,
    /// What else was other in the first run after it than in the last before it.
    pub meanwhile: Vec<String>,
}

impl Series {
    /// The mean of each stretch between changes: index of its first point and of the one past its last, and the ratio.
    #[must_use]
    pub fn levels(&self) -> Vec<(usize, usize, f64)> {
        let begins: Vec<usize> = std::iter::once(0).chain(self.shifts.iter().map(|s| s.at)).collect();
        let ends = begins.iter().copied().skip(1).chain([self.points.len()]);
        let level = |(begin, end): (usize, usize)| {
            let logs = self.points[begin..end].iter().map(|p| p.within.ratio.ln());
            (begin, end, (logs.sum::<f64>() / (end - begin) as f64).exp())
        };
        begins.iter().copied().zip(ends).filter(|(begin, end)| begin < end).map(level).collect()
    }
}

/// The history of these runs, the oldest first.
#[must_use]
pub fn history(workload: &str, runs: &[(Listed, Digest)], unreadable: Vec<String>) -> History {
    let mut together: Vec<Vec<(&Listed, &Digest, &Group)>> = Vec::new();
    for (run, digest) in runs {
        for group in &digest.groups {
            match together.iter_mut().find(|same| same[0].2.conditions == group.conditions) {
                Some(same) => same.push((run, digest, group)),
                None => together.push(vec![(run, digest, group)]),
            }
        }
    }
    // By the last run of each.
    together.sort_by(|a, b| b[b.len() - 1].0.id.cmp(&a[a.len() - 1].0.id));
    let conditions = together.iter().map(|same| conditions(same)).collect();
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

fn course(metric: &MetricInfo, groups: &[&Group]) -> Course {
    let mut labels: Vec<&str> = Vec::new();
    for cell in groups.iter().flat_map(|g| &g.cells).filter(|c| !c.ceiling) {
        if !labels.contains(&cell.label.as_str()) {
            labels.push(&cell.label);
        }
    }
    let points = |label: &str, of: &dyn Fn(&Figures) -> Option<Within>| -> Vec<Point> {
        let of_run = |(run, group): (usize, &&Group)| {
            let cell = group.cells.iter().find(|cell| cell.label == label && !cell.ceiling)?;
            Some(Point { run, within: of(cell).filter(|w| w.ratio > 0.0 && w.ratio.is_finite())? })
        };
        groups.iter().enumerate().filter_map(of_run).collect()
    };
    let figure = |cell: &Figures| cell.metrics.get(&metric.name).copied().unwrap_or_default();
    // An interval without an end is of too few blocks to say anything.
    let versus = |cell: &Figures| figure(cell).versus.filter(|w| w.low.is_some() && w.high.is_some());
    let of_ceiling = |cell: &Figures| figure(cell).of_ceiling;
    let plain: Vec<(&str, Vec<Point>, Vec<Point>)> =
        labels.iter().map(|l| (*l, points(l, &versus), points(l, &of_ceiling))).collect();
    let count = plain.iter().flat_map(|(_, a, b)| [a, b]).filter(|p| !p.is_empty()).count();
    let rules = Rules::default();
    // Bonferroni over all that is looked at together.
    let alpha = rules.alpha / count.max(1) as f64;
    let lines = plain.into_iter().map(|(label, versus, of_ceiling)| {
        let series = |points: Vec<Point>, higher: bool| {
            let shifts = shifts(&points, groups, label, higher, (alpha, rules.margin.ln_1p()));
            Series { points, shifts }
        };
        // More of the ceiling is always better.
        let (versus, of_ceiling) = (series(versus, metric.higher), series(of_ceiling, true));
        Line { label: label.to_owned(), versus, of_ceiling }
    });
    let lines = lines.filter(|l| !(l.versus.points.is_empty() && l.of_ceiling.points.is_empty()));
    Course { metric: metric.clone(), lines: lines.collect() }
}

fn shifts(
    points: &[Point],
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
        meanwhile: meanwhile(groups[points[change.at - 1].run], groups[points[change.at].run], label),
    };
    changes(&logs, alpha, margin).into_iter().map(shift).collect()
}

/// What is other in one run than in another, of all that this contender's ratios depend on.
fn meanwhile(before: &Group, after: &Group, label: &str) -> Vec<String> {
    let facts = |group: &Group| {
        let counts = |cell: &&Figures| {
            cell.ceiling || cell.label == label || group.baseline.as_ref() == Some(&cell.label)
        };
        let of_cells = group.cells.iter().filter(counts).flat_map(|cell| cell.facts.clone());
        of_cells.chain(group.facts.clone()).collect::<BTreeMap<_, _>>()
    };
    let (before, after) = (facts(before), facts(after));
    let told = |(name, now): (&String, &String)| {
        let then = before.get(name)?;
        (then != now).then(|| format!("{name}: {then}, then {now}"))
    };
    after.iter().filter_map(told).collect()
}
