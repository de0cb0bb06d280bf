//! Remarks of a report on duels: how contenders were compared, with how many observations, and the effect of freezing.

use std::collections::{BTreeMap, BTreeSet};

use super::format;
use super::model::{InTurns, Report};
use crate::duels::{self, Duels};
use crate::verdicts::{self, Verdicts};
use netdyno_lab_manifest::Workload;
use netdyno_lab_store::{CellStatus, Outcome, Run, TrialRecord};
use netdyno_stats::Unit;

/// How the contenders of a run were compared.
pub(super) struct Compared {
    /// Cells that are compared in duels.
    by_duels: Vec<usize>,
    /// Cells that are compared in blocks.
    by_blocks: Vec<usize>,
    /// Reasons for blocks.
    pub(super) no_duels: Vec<String>,
}

impl Compared {
    pub(super) fn new(run: &Run, workload: &Workload, duels: &Duels<'_>) -> Compared {
        let mut compared = Compared { by_duels: Vec::new(), by_blocks: Vec::new(), no_duels: Vec::new() };
        for (params, members) in verdicts::groups(run) {
            let reason = duels::turns(&run.header.settings, workload, &params).err();
            compared.no_duels.extend(reason.filter(|reason| !compared.no_duels.contains(reason)));
            let alive: Vec<usize> =
                members.into_iter().filter(|&i| run.cells[i].status == CellStatus::Ok).collect();
            let baseline = verdicts::baseline_among(run, &alive);
            for i in alive.into_iter().filter(|i| Some(*i) != baseline || baseline.is_none()) {
                match baseline.is_some_and(|b| duels.pace(i, b).is_some()) {
                    true => compared.by_duels.push(i),
                    false => compared.by_blocks.push(i),
                }
            }
        }
        compared
    }

    /// `duels`, `blocks`, or both.
    pub(super) fn method(&self) -> &'static str {
        match (self.by_duels.is_empty(), self.by_blocks.is_empty()) {
            (false, true) => "duels",
            (false, false) => "duels and blocks",
            (true, _) => "blocks",
        }
    }

    /// Minimum number of observations of the cells without failure.
    pub(super) fn fewest(&self, run: &Run) -> u32 {
        let counts = self.by_duels.iter().map(|&i| good(run, i, true));
        let counts = counts.chain(self.by_blocks.iter().map(|&i| good(run, i, false)));
        // A single contender is not compared.
        counts.min().unwrap_or_else(|| (0..run.cells.len()).map(|i| good(run, i, false)).max().unwrap_or(0))
    }

    /// `6 to 9 sessions of 7 turns of 100 ms`, `4 blocks`.
    pub(super) fn effort(&self, run: &Run) -> String {
        let mut parts = Vec::new();
        for (cells, in_turns) in [(&self.by_duels, true), (&self.by_blocks, false)] {
            let counts: Vec<u32> = cells.iter().map(|&i| good(run, i, in_turns)).collect();
            let (Some(&least), Some(&most)) = (counts.iter().min(), counts.iter().max()) else { continue };
            let count =
                if least == most || !in_turns { least.to_string() } else { format!("{least} to {most}") };
            let unit = if in_turns { Unit::Session } else { Unit::Block };
            parts.push(format!("{count} {}", unit.noun(most)));
        }
        if parts.is_empty() {
            let blocks = self.fewest(run);
            parts.push(format!("{blocks} {}", Unit::Block.noun(blocks)));
        }
        let turns = run.trials.iter().find_map(|t| t.turns.as_ref());
        if let Some(turns) = turns.filter(|_| !self.by_duels.is_empty()) {
            let length = format::value(turns.turn_ns as f64, "ns");
            parts[0] = format!("duels, {} of {} turns of {length}", parts[0], turns.count);
        }
        parts.join(" and ")
    }
}

/// Successful trials of a cell, in turns or not.
fn good(run: &Run, cell: usize, in_turns: bool) -> u32 {
    let is_counted =
        |t: &&TrialRecord| t.cell == cell && t.turns.is_some() == in_turns && t.outcome == Outcome::Ok;
    u32::try_from(run.trials.iter().filter(is_counted).count()).unwrap_or(u32::MAX)
}

/// Turns of a cell, if it was in a duel. Their length is that of the trials that its values are based on.
pub(super) fn of_cell(
    run: &Run,
    workload: &Workload,
    cell: usize,
    trials: &[&TrialRecord],
) -> Option<InTurns> {
    let turns = trials.iter().find_map(|t| t.turns.as_ref())?;
    let disturbance = duels::disturbance(run, workload, cell);
    let ratios = disturbance.map(|d| d.interval.ratios());
    Some(InTurns {
        sessions: good(run, cell, true),
        turns: turns.count,
        turn_ns: turns.turn_ns,
        lead_ns: turns.lead_ns,
        freezer: turns.freezer.clone(),
        of_undisturbed: ratios.map(|r| r.0),
        low: ratios.and_then(|r| r.1),
        high: ratios.and_then(|r| r.2),
        stretches: disturbance.map_or(0, |d| u32::try_from(d.sessions).unwrap_or(u32::MAX)),
        disturbed: disturbance.is_some_and(|d| d.beyond_margin),
    })
}

/// Lines below the tables: the freezer, the effect of freezing, and the reasons for blocks if the workload has turns.
pub fn lines(report: &Report) -> Vec<String> {
    let mut freezers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut disturbed: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut undisturbed = Vec::new();
    for (cell, turns) in report.cells.iter().filter_map(|c| Some((c, c.turns.as_ref()?))) {
        freezers.entry(&turns.freezer).or_default().insert(&cell.label);
        match turns.of_undisturbed {
            Some(share) if turns.disturbed => disturbed.entry(&cell.label).or_default().push(share),
            Some(share) if turns.low.is_some() && turns.high.is_some() => undisturbed.push(share),
            _ => {}
        }
    }
    freezers.remove("");
    let is_single = freezers.len() == 1;
    let freezers = freezers.into_iter().map(|(freezer, labels)| match is_single {
        true => freezer.to_owned(),
        false => format!("{freezer} ({})", labels.into_iter().collect::<Vec<_>>().join(", ")),
    });
    let freezers: Vec<String> = freezers.collect();
    let mut lines = Vec::new();
    if !freezers.is_empty() {
        let contenders = if disturbed.is_empty() { "the" } else { "the other" };
        let effect = shares(&undisturbed).map_or(String::new(), |s| {
            format!(". Freezing had no significant effect on {contenders} contenders ({s} of the undisturbed rate)")
        });
        lines.push(format!("Duels: frozen by {}{effect}", freezers.join(", ")));
    }
    lines.extend(disturbed.iter().filter_map(|(label, ratios)| {
        let shares = shares(ratios)?;
        Some(format!("{label}: {shares} of the undisturbed rate in turns; compared in long turns"))
    }));
    let reasons = report.run.no_duels.iter().filter(|reason| *reason != duels::NO_TURNS);
    lines.extend(reasons.map(|reason| format!("Compared in blocks instead of duels: {reason}")));
    lines
}

/// `0.80`, `0.98 - 1.01`.
fn shares(all: &[f64]) -> Option<String> {
    let least = format::ratio(all.iter().copied().reduce(f64::min)?);
    let most = format::ratio(all.iter().copied().reduce(f64::max)?);
    Some(if least == most { least } else { format!("{least} - {most}") })
}

/// A share and the ends of its interval.
type Share = (f64, Option<f64>, Option<f64>);

/// Share of the ceiling of a cell, if both were compared with the baseline in duels. The ends combine both intervals, which are
/// simultaneous.
pub(super) fn share(verdicts: &Verdicts, cell: usize, ceiling: usize, higher: bool) -> Option<Share> {
    let ratio = |cell: usize| {
        if cell == verdicts.baseline {
            return Some((1.0, 1.0, 1.0));
        }
        let (_, j) = verdicts.judgements.iter().find(|(i, j)| *i == cell && j.unit == Unit::Session)?;
        j.ratio.is_finite().then_some((j.low, j.ratio, j.high))
    };
    let (contender, bound) = (ratio(cell)?, ratio(ceiling)?);
    if cell == ceiling {
        return Some((1.0, Some(1.0), Some(1.0)));
    }
    let (over, under) = if higher { (contender, bound) } else { (bound, contender) };
    let end = |share: f64| (share.is_finite() && share > 0.0).then_some(share);
    Some((over.1 / under.1, end(over.0 / under.2), end(over.2 / under.0)))
}
