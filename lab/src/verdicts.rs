//! Who is better than the baseline, from a stored run.
//!
//! Contenders are compared within a block, as the log of the ratio to the baseline of the same block and the same
//! parameters: the machine's drift cancels. The same function decides when a run may stop and what is printed.

use std::collections::BTreeMap;

use crate::manifest::{Better, Metric, Params};
use crate::metrics;
use crate::stats::{Direction, Judgement, Rules, decided, judge};
use crate::store::{CellStatus, Outcome, Run};

/// The verdicts of one metric over the cells that share their parameters.
#[derive(Debug, Clone)]
pub struct Verdicts {
    /// The metric.
    pub metric: String,
    /// Index of the baseline's cell.
    pub baseline: usize,
    /// Judgement of every other ranked cell, by its index.
    pub judgements: Vec<(usize, Judgement)>,
}

/// The rules that a run is judged by.
#[must_use]
pub fn rules(run: &Run) -> Rules {
    let s = &run.header.settings;
    Rules { alpha: s.alpha, margin: s.margin, precision: s.precision }
}

/// Indices of the cells, in groups that share their parameters.
#[must_use]
pub fn groups(run: &Run) -> Vec<(Params, Vec<usize>)> {
    let mut groups: Vec<(Params, Vec<usize>)> = Vec::new();
    for (index, cell) in run.cells.iter().enumerate() {
        match groups.iter_mut().find(|(params, _)| *params == cell.params) {
            Some((_, members)) => members.push(index),
            None => groups.push((cell.params.clone(), vec![index])),
        }
    }
    groups
}

/// Judges one metric in every group of the run.
#[must_use]
pub fn of_run(run: &Run, metric: &Metric) -> Vec<Verdicts> {
    groups(run).iter().filter_map(|(_, members)| of_group(run, metric, members)).collect()
}

/// May the run stop: the primary metric is decided in every group.
#[must_use]
pub fn is_decided(run: &Run, primary: &Metric) -> bool {
    let verdicts = of_run(run, primary);
    let rules = rules(run);
    verdicts.iter().all(|v| {
        let judgements: Vec<Judgement> = v.judgements.iter().map(|(_, j)| j.clone()).collect();
        decided(&judgements, &rules)
    })
}

fn of_group(run: &Run, metric: &Metric, members: &[usize]) -> Option<Verdicts> {
    let ranked: Vec<usize> = members.iter().copied().filter(|&i| is_ranked(run, i)).collect();
    let baseline = baseline_of(run, &ranked)?;
    let base = by_block(run, metric, baseline);
    let rivals: Vec<usize> = ranked.into_iter().filter(|&i| i != baseline).collect();
    let comparisons: Vec<(String, Vec<f64>)> = rivals
        .iter()
        .map(|&i| {
            let values = by_block(run, metric, i);
            let logs = base.iter().filter_map(|(block, b)| Some((values.get(block)? / b).ln())).collect();
            (run.cells[i].contenders.values().cloned().collect::<Vec<_>>().join("/"), logs)
        })
        .collect();
    let better = match metric.better {
        Better::Higher => Direction::Higher,
        Better::Lower => Direction::Lower,
    };
    let judgements = judge(&comparisons, better, &rules(run));
    Some(Verdicts { metric: metric.name.clone(), baseline, judgements: rivals.into_iter().zip(judgements).collect() })
}

/// A cell that may stand in a ranking: a contender, all of whose trials were good.
fn is_ranked(run: &Run, index: usize) -> bool {
    let cell = &run.cells[index];
    !cell.ceiling && matches!(cell.status, CellStatus::Ok | CellStatus::Planned)
}

/// The baseline asked for, in all roles; where it does not run, the first ranked cell by name, so that the choice
/// never depends on the figures.
fn baseline_of(run: &Run, ranked: &[usize]) -> Option<usize> {
    let wanted = run.header.settings.baseline.as_deref();
    let asked = ranked.iter().find(|&&i| wanted.is_some() && run.cells[i].contender() == wanted);
    asked.or_else(|| ranked.iter().min_by_key(|&&i| run.cells[i].contenders.values().collect::<Vec<_>>())).copied()
}

/// A metric's positive, finite values by block.
fn by_block(run: &Run, metric: &Metric, cell: usize) -> BTreeMap<u32, f64> {
    run.trials
        .iter()
        .filter(|t| t.cell == cell && t.outcome == Outcome::Ok)
        .filter_map(|t| Some((t.block, metrics::of_trial(metric, t).value?)))
        .filter(|(_, v)| v.is_finite() && *v > 0.0)
        .collect()
}
