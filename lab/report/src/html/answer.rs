//! The answer in a sentence, and what it rests on. It says no more than the intervals do: who cannot be told apart is named together.

use serde::Serialize;

use super::super::table::{self, interval, verdict_of};
use netdyno_lab_analysis::report::format::{self, ratio};
use netdyno_lab_analysis::report::{Cell, Report};
use netdyno_lab_manifest::{Better, Metric};
use netdyno_lab_store::CellStatus;
use netdyno_lab_store::{Verdict, VerdictKind};

/// Names in a sentence; the others are counted.
const NAMED_MAX: usize = 3;

/// A piece of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Part {
    /// It is a name.
    pub(super) strong: bool,
    pub(super) text: String,
}

/// A figure to be seen at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Tile {
    pub(super) value: String,
    pub(super) about: String,
    /// `better`, `worse`, `bad`, or nothing.
    pub(super) class: &'static str,
}

/// What the cells of one setting say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Answer {
    pub(super) sentence: Vec<Part>,
    /// Further sentences.
    pub(super) more: Vec<String>,
    pub(super) tiles: Vec<Tile>,
    /// Who leads alone, if one does.
    #[serde(skip)]
    pub(super) leader: Option<String>,
}

/// The cells of one setting, and by what they are ranked.
pub(super) struct Field<'a> {
    pub(super) report: &'a Report,
    pub(super) metric: &'a Metric,
    pub(super) cells: &'a [&'a Cell],
}

impl<'a> Field<'a> {
    /// The answer of these cells.
    pub(super) fn answer(&self) -> Answer {
        let ranked = self.ranked();
        let baseline = self.baseline();
        let (sentence, leader) = match (&ranked[..], baseline) {
            ([], _) => (self.nobody(), None),
            ([one], None) => (self.alone(one), None),
            (all, None) => (undecided(self.metric, all.len()), None),
            (all, Some(baseline)) => self.compared(all, baseline),
        };
        let more = [self.counts(baseline), self.without_figures()];
        Answer {
            sentence,
            more: more.into_iter().flatten().collect(),
            tiles: self.tiles(ranked.first().copied()),
            leader,
        }
    }

    /// Contenders with a value, best first; not the bound, nor who is not ranked.
    fn ranked(&self) -> Vec<&'a Cell> {
        let has = |c: &&Cell| c.status == CellStatus::Ok && !c.ceiling && self.value(c).is_some();
        let mut ranked: Vec<&Cell> = self.cells.iter().copied().filter(has).collect();
        let baseline = self.baseline();
        // Where some are compared, the others are not ranked.
        ranked.retain(|c| baseline.is_none_or(|b| c.label == b || self.verdict(c).is_some()));
        table::sort(&mut ranked, self.metric);
        ranked
    }

    fn value(&self, cell: &Cell) -> Option<f64> {
        cell.metrics.get(&self.metric.name)?.value
    }

    fn verdict(&self, cell: &Cell) -> Option<&'a Verdict> {
        verdict_of(self.report, cell, &self.metric.name)
    }

    fn baseline(&self) -> Option<&'a str> {
        self.cells.iter().find_map(|c| self.verdict(c)).map(|v| v.baseline.as_str())
    }

    /// The interval of a cell's ratio; the baseline's is 1. None: unbounded.
    fn interval(&self, cell: &Cell, baseline: &str) -> Option<(f64, f64)> {
        match self.verdict(cell) {
            Some(v) => v.low.zip(v.high),
            None => (cell.label == baseline).then_some((1.0, 1.0)),
        }
    }

    fn nobody(&self) -> Vec<Part> {
        let of = |status| self.cells.iter().filter(|c| c.status == status).count();
        let measured: Vec<&&Cell> = self.cells.iter().filter(|c| c.status == CellStatus::Ok).collect();
        if measured.iter().any(|c| !c.ceiling) {
            return vec![said("Nobody can be ranked: the table says what held each of them back.")];
        }
        let of_status = [
            (of(CellStatus::Failed), "failed"),
            (of(CellStatus::Skipped), "skipped"),
            (of(CellStatus::Planned), "not measured yet"),
        ];
        let counts: Vec<String> =
            of_status.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
        let counts = counts.join(", ");
        let text = match (measured.is_empty(), counts.is_empty()) {
            (false, true) => "Only the ceiling was measured.".to_owned(),
            (false, false) => format!("Only the ceiling was measured: {counts}."),
            (true, _) => format!("Nothing was measured: {counts}."),
        };
        vec![said(text)]
    }

    fn alone(&self, cell: &Cell) -> Vec<Part> {
        let value = self.value(cell).unwrap_or_default();
        let figure = format!(
            ": {} {}, with nobody to compare it with.",
            self.metric.label,
            format::value(value, &self.metric.unit)
        );
        vec![name(&cell.label), said(figure)]
    }

    fn compared(&self, ranked: &[&'a Cell], baseline: &str) -> (Vec<Part>, Option<String>) {
        let metric = &self.metric.label;
        let first = ranked[0];
        let same = |cell: &&&Cell| match (self.interval(first, baseline), self.interval(cell, baseline)) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            _ => true,
        };
        let is_better = |c: &&Cell| self.verdict(c).is_some_and(|v| v.verdict == VerdictKind::Better);
        let mut ahead: Vec<&Cell> = ranked.iter().filter(same).copied().collect();
        if is_better(&first) {
            ahead.retain(|c| c.label != baseline);
        }
        let verdicts = || ranked.iter().filter_map(|c| self.verdict(c));
        let kinds = |kind| verdicts().all(|v| v.verdict == kind);
        let all = ahead.len() == ranked.len() && ranked.len() > 1;
        if ranked.len() == 1 {
            return (self.alone(first), None);
        }
        if kinds(VerdictKind::NoDifference) {
            let margin = 100.0 * self.report.run.margin;
            let text = format!(" by more than {margin:.0} % in {metric}.");
            return (vec![said("Nobody differs from "), name(baseline), said(text)], None);
        }
        if all && kinds(VerdictKind::Undecided) {
            return (undecided(self.metric, ranked.len()), None);
        }
        if ahead.len() > 1 && is_better(&first) && !ahead.iter().all(is_better) {
            return (self.better_than(first, baseline, &ahead[1..]), None);
        }
        if ahead.len() > 1 {
            let mut parts = names(&ahead);
            parts.push(said(format!(" are ahead in {metric}; which of them is first is not decided.")));
            return (parts, None);
        }
        let superlative = match self.metric.better {
            Better::Higher => "highest",
            Better::Lower => "lowest",
        };
        let mut parts = vec![name(&first.label), said(format!(" has the {superlative} {metric}"))];
        let (other, other_name) =
            if first.label == baseline { (ranked[1], &ranked[1].label) } else { (first, &first.label) };
        let v = self.verdict(other).and_then(|v| Some((v.ratio?, interval(v))));
        match v {
            Some((r, bounds)) if first.label == baseline => {
                parts.extend([
                    said("; next is "),
                    name(other_name),
                    said(format!(" with {} times that {bounds}.", ratio(r))),
                ]);
            }
            Some((r, bounds)) => {
                parts.extend([
                    said(format!(": {} times that of ", ratio(r))),
                    name(baseline),
                    said(format!(" {bounds}.")),
                ]);
            }
            None => parts.push(said(".")),
        }
        (parts, Some(first.label.clone()))
    }

    /// Who is surely better than the baseline, and of whom else that is not known.
    fn better_than(&self, first: &Cell, baseline: &str, open: &[&Cell]) -> Vec<Part> {
        let more_or_less = match self.metric.better {
            Better::Higher => "more",
            Better::Lower => "less",
        };
        let ratio =
            self.verdict(first).and_then(|v| Some(format!(", {} times {}", ratio(v.ratio?), interval(v))));
        let mut parts = vec![
            name(&first.label),
            said(format!(" has {more_or_less} {} than ", self.metric.label)),
            name(baseline),
            said(format!("{}; whether it is also ahead of ", ratio.unwrap_or_default())),
        ];
        parts.extend(names(open));
        parts.push(said(" is not decided."));
        parts
    }

    /// `Compared with x: 3 better, 8 worse.`
    fn counts(&self, baseline: Option<&str>) -> Option<String> {
        let baseline = baseline?;
        let verdicts: Vec<&Verdict> = self.cells.iter().filter_map(|c| self.verdict(c)).collect();
        let kinds = [
            (VerdictKind::Better, "better"),
            (VerdictKind::Worse, "worse"),
            (VerdictKind::NoDifference, "without a difference"),
            (VerdictKind::Undecided, "undecided"),
        ];
        let count = |kind| verdicts.iter().filter(|v| v.verdict == kind).count();
        let told = kinds.iter().map(|(kind, word)| (count(*kind), word)).filter(|(n, _)| *n > 0);
        let told: Vec<String> = told.map(|(n, word)| format!("{n} {word}")).collect();
        Some(format!("Compared with {baseline}: {}.", told.join(", ")))
    }

    fn without_figures(&self) -> Option<String> {
        let measured = self.cells.iter().any(|c| c.status == CellStatus::Ok);
        let missing = self.cells.iter().filter(|c| c.status != CellStatus::Ok).count();
        (measured && missing > 0).then(|| format!("{missing} without figures."))
    }

    fn tiles(&self, first: Option<&Cell>) -> Vec<Tile> {
        let Some((first, value)) = first.and_then(|c| Some((c, self.value(c)?))) else { return Vec::new() };
        let metric = &first.metrics[&self.metric.name];
        let tile = |value: String, about: String, class| Tile { value, about, class };
        let mut tiles = vec![tile(
            format::value(value, &metric.unit),
            format!("{}, {}", self.metric.label, first.label),
            "",
        )];
        if let Some((r, v)) = self.verdict(first).and_then(|v| Some((v.ratio?, v))) {
            let class = match v.verdict {
                VerdictKind::Better => "better",
                VerdictKind::Worse => "worse",
                _ => "",
            };
            tiles.push(tile(format!("{}x", ratio(r)), format!("of {} {}", v.baseline, interval(v)), class));
        }
        if let Some(share) = metric.of_ceiling {
            tiles.push(tile(format!("{:.0} %", 100.0 * share), about_ceiling(share).to_owned(), ""));
        }
        let verdicts: Vec<&Verdict> = self.cells.iter().filter_map(|c| self.verdict(c)).collect();
        if verdicts.len() > 1 {
            let decided = verdicts.iter().filter(|v| v.verdict != VerdictKind::Undecided).count();
            tiles.push(tile(
                format!("{decided} of {}", verdicts.len()),
                "comparisons decided".to_owned(),
                "",
            ));
        }
        let failed = self.cells.iter().filter(|c| c.status == CellStatus::Failed).count();
        if failed > 0 {
            tiles.push(tile(failed.to_string(), "failed".to_owned(), "bad"));
        }
        tiles
    }
}

/// The answer of several settings: who leads in how many of them.
pub(super) fn of_several(metric: &Metric, answers: &[(String, Answer)]) -> Answer {
    let mut led: Vec<(&str, usize)> = Vec::new();
    for leader in answers.iter().filter_map(|(_, a)| a.leader.as_deref()) {
        match led.iter_mut().find(|(name, _)| *name == leader) {
            Some((_, n)) => *n += 1,
            None => led.push((leader, 1)),
        }
    }
    led.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let superlative = match metric.better {
        Better::Higher => "highest",
        Better::Lower => "lowest",
    };
    let all = answers.len();
    let open = all - led.iter().map(|(_, n)| n).sum::<usize>();
    let mut sentence = Vec::new();
    for (i, (who, n)) in led.iter().take(NAMED_MAX).enumerate() {
        let at = if *n == all { format!("all {all}") } else { format!("{n} of {all}") };
        let text = match i {
            0 => format!(" has the {superlative} {} at {at} settings", metric.label),
            _ => format!(" at {n}"),
        };
        sentence.extend([said(if i == 0 { "" } else { ", " }), name(*who), said(text)]);
    }
    match (led.is_empty(), open) {
        (true, _) => sentence.push(said(format!(
            "Nobody leads alone at any of {all} settings; each has its own answer below."
        ))),
        (false, 0) => sentence.push(said(".")),
        (false, _) => sentence.push(said(format!("; nobody leads alone at {open}."))),
    }
    Answer { sentence, more: Vec::new(), tiles: Vec::new(), leader: None }
}

fn undecided(metric: &Metric, of: usize) -> Vec<Part> {
    vec![said(format!("Undecided: of {of} nobody is surely ahead in {}.", metric.label))]
}

/// `a, b and 2 more`.
fn names(cells: &[&Cell]) -> Vec<Part> {
    let shown = if cells.len() <= NAMED_MAX + 1 { cells.len() } else { NAMED_MAX };
    let mut parts = Vec::new();
    for (i, cell) in cells[..shown].iter().enumerate() {
        let last = i + 1 == shown && shown == cells.len();
        parts.push(said(if i == 0 {
            ""
        } else if last {
            " and "
        } else {
            ", "
        }));
        parts.push(name(&cell.label));
    }
    if cells.len() > shown {
        parts.push(said(format!(" and {} more", cells.len() - shown)));
    }
    parts
}

fn name(text: impl Into<String>) -> Part {
    Part { strong: true, text: text.into() }
}

fn said(text: impl Into<String>) -> Part {
    Part { strong: false, text: text.into() }
}

/// What a share of the ceiling means. A ceiling is the least program for the job in one way: who has found a better one, such as longer datagrams,
/// passes it by more than figures vary.
pub(super) fn about_ceiling(share: f64) -> &'static str {
    if share > 1.02 {
        "of the ceiling, which works in another way"
    } else {
        "of the ceiling, what the machine allows"
    }
}
