//! The answer of a run as a sentence and key figures. Contenders whose intervals overlap are not ranked among
//! each other.

use serde::Serialize;

use super::super::table::{self, interval, verdict_of};
use netdyno_lab_analysis::grouped;
use netdyno_lab_analysis::report::format::{self, ratio};
use netdyno_lab_analysis::report::{Cell, Report, plain};
use netdyno_lab_manifest::{Better, Metric};
use netdyno_lab_store::{CellStatus, Verdict, VerdictKind};

/// Names in a sentence; the rest are counted.
const NAMED_MAX: usize = 3;

/// Encloses each name in a sentence, for emphasis. Text cannot contain it, because control characters are removed.
const NAME: char = '\u{2}';

/// A key figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tile {
    pub(super) value: String,
    pub(super) about: String,
    /// `better`, `worse`, `bad`, or empty.
    pub(super) class: &'static str,
}

/// The answer of one setting, or of a whole run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    /// With names between [`NAME`]s.
    pub(super) sentence: String,
    /// Further sentences.
    pub(super) more: Vec<String>,
    pub(super) tiles: Vec<Tile>,
    /// The only contender in the lead, if there is one.
    #[serde(skip)]
    pub(super) leader: Option<String>,
}

impl Answer {
    /// The sentence without markup.
    pub(super) fn text(&self) -> String {
        plain(&self.sentence)
    }
}

/// The cells of one setting, and the metric that ranks them.
pub(super) struct Ranking<'a> {
    pub(super) report: &'a Report,
    pub(super) metric: &'a Metric,
    pub(super) cells: &'a [&'a Cell],
}

impl<'a> Ranking<'a> {
    /// Answer for these cells.
    pub(super) fn answer(&self) -> Answer {
        let ranked = self.ranked();
        let baseline = self.baseline();
        let (sentence, leader) = match (&ranked[..], baseline) {
            ([], _) => (self.unranked(), None),
            ([cell], None) => (self.single(cell), None),
            (all, None) => (undecided(self.metric, all.len()), None),
            (all, Some(baseline)) => self.compared(all, baseline),
        };
        let more = [self.counts(baseline), self.missing()];
        Answer {
            sentence,
            more: more.into_iter().flatten().collect(),
            tiles: self.tiles(ranked.first().copied()),
            leader,
        }
    }

    /// Ranked contenders with a value, best first. The ceiling is never ranked.
    fn ranked(&self) -> Vec<&'a Cell> {
        let is_ranked = |c: &&Cell| c.status == CellStatus::Ok && !c.ceiling && self.value(c).is_some();
        let mut ranked: Vec<&Cell> = self.cells.iter().copied().filter(is_ranked).collect();
        let baseline = self.baseline();
        // If there is a baseline, contenders without a verdict are not ranked.
        ranked.retain(|c| baseline.is_none_or(|b| c.label == b || self.verdict(c).is_some()));
        table::sort(&mut ranked, self.metric);
        ranked
    }

    fn value(&self, cell: &Cell) -> Option<f64> {
        cell.value(&self.metric.name)
    }

    fn verdict(&self, cell: &Cell) -> Option<&'a Verdict> {
        verdict_of(self.report, cell, &self.metric.name)
    }

    fn baseline(&self) -> Option<&'a str> {
        self.cells.iter().find_map(|c| self.verdict(c)).map(|v| v.baseline.as_str())
    }

    /// Interval of a cell's ratio; 1 for the baseline, none if unbounded.
    fn interval(&self, cell: &Cell, baseline: &str) -> Option<(f64, f64)> {
        match self.verdict(cell) {
            Some(v) => v.low.zip(v.high),
            None => (cell.label == baseline).then_some((1.0, 1.0)),
        }
    }

    /// Answer if no contender is ranked.
    fn unranked(&self) -> String {
        let count = |status| self.cells.iter().filter(|c| c.status == status).count();
        let measured: Vec<&&Cell> = self.cells.iter().filter(|c| c.status == CellStatus::Ok).collect();
        if measured.iter().any(|c| !c.ceiling) {
            return "No contender can be ranked. The table gives the bottleneck of each.".to_owned();
        }
        let counts = [CellStatus::Failed, CellStatus::Skipped, CellStatus::Planned];
        let counts = join_counts(counts.map(|status| (count(status), table::status(status))));
        let what = if measured.is_empty() { "Nothing" } else { "Only the ceiling" };
        let counts = if counts.is_empty() { String::new() } else { format!(": {counts}") };
        format!("{what} was measured{counts}.")
    }

    fn single(&self, cell: &Cell) -> String {
        let value = format::value(self.value(cell).unwrap_or_default(), &self.metric.unit);
        let (name, metric) = (name(&cell.label), &self.metric.label);
        format!("{name}: {metric} {value}; there is no contender to compare it with.")
    }

    fn compared(&self, ranked: &[&'a Cell], baseline: &str) -> (String, Option<String>) {
        let metric = &self.metric.label;
        let first = ranked[0];
        let overlaps = |cell: &&&Cell| match (self.interval(first, baseline), self.interval(cell, baseline)) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            _ => true,
        };
        let is_better = |c: &&Cell| self.verdict(c).is_some_and(|v| v.verdict == VerdictKind::Better);
        let mut ahead: Vec<&Cell> = ranked.iter().filter(overlaps).copied().collect();
        if is_better(&first) {
            ahead.retain(|c| c.label != baseline);
        }
        let verdicts = || ranked.iter().filter_map(|c| self.verdict(c));
        let all_are = |kind| verdicts().all(|v| v.verdict == kind);
        let all_overlap = ahead.len() == ranked.len() && ranked.len() > 1;
        if ranked.len() == 1 {
            return (self.single(first), None);
        }
        let open = if all_are(VerdictKind::NoDifference) {
            let margin = 100.0 * self.report.run.margin;
            format!("No contender differs from {} by more than {margin:.0} % in {metric}.", name(baseline))
        } else if all_overlap && all_are(VerdictKind::Undecided) {
            undecided(self.metric, ranked.len())
        } else if ahead.len() > 1 && is_better(&first) && !ahead.iter().all(is_better) {
            self.better_than(first, baseline, &ahead[1..])
        } else if ahead.len() > 1 {
            format!("{} lead in {metric}; the order among them is undecided.", names(&ahead))
        } else {
            return (self.leads(ranked, baseline), Some(first.label.clone()));
        };
        (open, None)
    }

    /// Answer if the first cell leads.
    fn leads(&self, ranked: &[&Cell], baseline: &str) -> String {
        let first = ranked[0];
        let other = if first.label == baseline { ranked[1] } else { first };
        let v = self.verdict(other).and_then(|v| Some((ratio(v.ratio?), interval(v))));
        let rest = match v {
            Some((r, bounds)) if first.label == baseline => {
                format!("; next is {} with {r} times that {bounds}.", name(&other.label))
            }
            Some((r, bounds)) => format!(": {r} times that of {} {bounds}.", name(baseline)),
            None => ".".to_owned(),
        };
        format!("{} has the {} {}{rest}", name(&first.label), superlative(self.metric), self.metric.label)
    }

    /// Answer if `first` is better than the baseline but cannot be separated from the cells in `open`.
    fn better_than(&self, first: &Cell, baseline: &str, open: &[&Cell]) -> String {
        let ratio = self.verdict(first).and_then(|v| Some(format!(": {}x {}", ratio(v.ratio?), interval(v))));
        let (ratio, metric) = (ratio.unwrap_or_default(), &self.metric.label);
        let [first, baseline] = [first.label.as_str(), baseline].map(name);
        let others = names(open);
        format!(
            "{first} is better than {baseline} in {metric}{ratio}; whether it also leads {others} is undecided."
        )
    }

    /// `Compared with x: 3 better, 8 worse.`
    fn counts(&self, baseline: Option<&str>) -> Option<String> {
        let baseline = baseline?;
        let verdicts: Vec<&Verdict> = self.cells.iter().filter_map(|c| self.verdict(c)).collect();
        let kinds =
            [VerdictKind::Better, VerdictKind::Worse, VerdictKind::NoDifference, VerdictKind::Undecided];
        let count = |kind| verdicts.iter().filter(|v| v.verdict == kind).count();
        let counts = join_counts(kinds.map(|kind| (count(kind), kind.word())));
        Some(format!("Compared with {baseline}: {counts}."))
    }

    /// Number of cells without results.
    fn missing(&self) -> Option<String> {
        let missing = self.cells.iter().filter(|c| c.status != CellStatus::Ok).count();
        let is_partial = (1..self.cells.len()).contains(&missing);
        is_partial.then(|| format!("{} without results.", table::counted(missing, "cell")))
    }

    fn tiles(&self, first: Option<&Cell>) -> Vec<Tile> {
        let Some((first, value)) = first.and_then(|c| Some((c, self.value(c)?))) else { return Vec::new() };
        let metric = &first.metrics[&self.metric.name];
        let tile = |value: String, about: String, class| Tile { value, about, class };
        let about = format!("{}, {}", self.metric.label, first.label);
        let mut tiles = vec![tile(format::value(value, &metric.unit), about, "")];
        if let Some((r, v)) = self.verdict(first).and_then(|v| Some((v.ratio?, v))) {
            let class = table::verdict_class(Some(v));
            tiles.push(tile(format!("{}x", ratio(r)), format!("of {} {}", v.baseline, interval(v)), class));
        }
        if let Some(share) = metric.of_ceiling {
            tiles.push(tile(format!("{:.0} %", 100.0 * share), about_ceiling(share).to_owned(), ""));
        }
        let verdicts: Vec<&Verdict> = self.cells.iter().filter_map(|c| self.verdict(c)).collect();
        if verdicts.len() > 1 {
            let decided = verdicts.iter().filter(|v| v.verdict != VerdictKind::Undecided).count();
            let value = format!("{decided} of {}", verdicts.len());
            tiles.push(tile(value, "comparisons decided".to_owned(), ""));
        }
        let failed = self.cells.iter().filter(|c| c.status == CellStatus::Failed).count();
        if failed > 0 {
            tiles.push(tile(failed.to_string(), "failed".to_owned(), "bad"));
        }
        tiles
    }
}

/// Answer of several settings: the number of settings in which each contender leads.
pub(super) fn overall(metric: &Metric, answers: &[Answer]) -> Answer {
    let leaders = answers.iter().filter_map(|answer| Some((answer.leader.as_deref()?, ())));
    let mut wins: Vec<(&str, usize)> =
        grouped(leaders).into_iter().map(|(name, wins)| (name, wins.len())).collect();
    wins.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let superlative = superlative(metric);
    let all = answers.len();
    let open = all - wins.iter().map(|(_, n)| n).sum::<usize>();
    let leads = |(i, (leader, n)): (usize, &(&str, usize))| match i {
        0 => {
            let at = if *n == all { format!("all {all}") } else { format!("{n} of {all}") };
            format!("{} has the {superlative} {} at {at} settings", name(leader), metric.label)
        }
        _ => format!("{} at {n}", name(leader)),
    };
    let leads = wins.iter().take(NAMED_MAX).enumerate().map(leads).collect::<Vec<_>>().join(", ");
    let sentence = match (wins.is_empty(), open) {
        (true, _) => {
            format!(
                "No single contender leads at any of the {all} settings; each has a separate answer below."
            )
        }
        (false, 0) => format!("{leads}."),
        (false, _) => format!("{leads}; no single contender leads at {open}."),
    };
    Answer { sentence, ..Answer::default() }
}

/// `highest` or `lowest`: the best value of a metric.
pub(super) fn superlative(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Higher => "highest",
        Better::Lower => "lowest",
    }
}

/// `3 better, 8 worse`, without zero counts.
fn join_counts<const N: usize>(counts: [(usize, &str); N]) -> String {
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}"));
    counts.collect::<Vec<_>>().join(", ")
}

fn undecided(metric: &Metric, count: usize) -> String {
    format!("Undecided: none of {count} contenders is significantly ahead in {}.", metric.label)
}

/// `a, b and 2 more`.
fn names(cells: &[&Cell]) -> String {
    let named = if cells.len() <= NAMED_MAX + 1 { cells.len() } else { NAMED_MAX };
    let more = (cells.len() > named).then(|| format!("{} more", cells.len() - named));
    let mut all: Vec<String> = cells[..named].iter().map(|cell| name(&cell.label)).chain(more).collect();
    let last = all.pop().unwrap_or_default();
    if all.is_empty() { last } else { format!("{} and {last}", all.join(", ")) }
}

fn name(text: &str) -> String {
    format!("{NAME}{}{NAME}", plain(text))
}

/// Describes a share of the ceiling. A ceiling is a minimal program for one way to do the work. A contender
/// that uses a better way, such as longer datagrams, can exceed it.
pub(super) fn about_ceiling(share: f64) -> &'static str {
    if share > 1.02 {
        "of the ceiling, which uses a different method"
    } else {
        "of the ceiling, the limit of this machine"
    }
}
