//! Who is better than the baseline, from a stored run.
//!
//! Contenders are compared within a block, as the log of the ratio to the baseline of the same block and the same
//! parameters: the machine's drift cancels. The same function decides when a run may stop and what is printed.

use std::collections::{BTreeMap, BTreeSet};

use crate::load;
use crate::manifest::{Better, Metric, Params, Workload};
use crate::metrics;
use crate::stats::{Direction, Judgement, Rules, decided, judge};
use crate::store::{CellStatus, Outcome, Run, TrialRecord};

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

/// Judges one metric in every group of the run; `missed` are its [`missed_loads`], the same for every metric.
#[must_use]
pub fn of_run(run: &Run, metric: &Metric, missed: &BTreeSet<usize>) -> Vec<Verdicts> {
    let groups = groups(run);
    // Bonferroni over the groups of a sweep, Holm within each: the promise is of the whole run.
    let rules = rules(run);
    let rules = Rules { alpha: rules.alpha / groups.len().max(1) as f64, ..rules };
    groups.iter().filter_map(|(_, members)| of_group(run, metric, members, missed, &rules)).collect()
}

/// May the run stop: the primary metric is decided in every group.
#[must_use]
pub fn is_decided(run: &Run, primary: &Metric, missed: &BTreeSet<usize>) -> bool {
    let verdicts = of_run(run, primary, missed);
    let rules = rules(run);
    verdicts.iter().all(|v| {
        let judgements: Vec<Judgement> = v.judgements.iter().map(|(_, j)| j.clone()).collect();
        decided(&judgements, &rules)
    })
}

/// The cells that did not do the load that was asked for: what they show is a queue, whose length is the window's.
#[must_use]
pub fn missed_loads(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let missed = |index: &usize| {
        let trials: Vec<&TrialRecord> = run.trials.iter().filter(|t| t.cell == *index).collect();
        load::of_cell(workload, &run.cells[*index].params, &trials).is_some_and(|l| l.is_missed())
    };
    (0..run.cells.len()).filter(missed).collect()
}

fn of_group(
    run: &Run,
    metric: &Metric,
    members: &[usize],
    missed: &BTreeSet<usize>,
    rules: &Rules,
) -> Option<Verdicts> {
    let ranked: Vec<usize> =
        members.iter().copied().filter(|&i| is_ranked(run, i) && !missed.contains(&i)).collect();
    let baseline = baseline_of(run, &ranked)?;
    let base = by_block(run, metric, baseline);
    // One that failed halfway stays in the correction for many comparisons, and out of the ranking.
    let entered = |i: usize| !run.cells[i].ceiling && run.cells[i].status != CellStatus::Skipped;
    let rivals: Vec<usize> = members.iter().copied().filter(|&i| i != baseline && entered(i)).collect();
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
    let judgements = judge(&comparisons, better, rules);
    let judgements = rivals.into_iter().zip(judgements).filter(|(i, _)| ranked.contains(i)).collect();
    Some(Verdicts { metric: metric.name.clone(), baseline, judgements })
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
    asked
        .or_else(|| ranked.iter().min_by_key(|&&i| run.cells[i].contenders.values().collect::<Vec<_>>()))
        .copied()
}

/// A metric's values by block. Zeros stay in: a ratio to them is not finite, and its verdict undecided.
fn by_block(run: &Run, metric: &Metric, cell: usize) -> BTreeMap<u32, f64> {
    run.trials
        .iter()
        .filter(|t| t.cell == cell && t.outcome == Outcome::Ok)
        .filter_map(|t| Some((t.block, metrics::of_trial(metric, t).value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{Contender, run};

    fn primary() -> Metric {
        let workload =
            Workload::parse(std::path::Path::new("dummy.toml"), crate::cmd::dummy::WORKLOAD).unwrap();
        workload.primary().unwrap().clone()
    }

    fn contender<'a>(name: &'a str, rates: &'a [u64]) -> Contender<'a> {
        Contender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 }
    }

    #[test]
    fn drift_of_the_machine_cancels() {
        // Both halve from block to block: their ratio stays.
        let run =
            run(&[contender("base", &[8000, 4000, 2000]), contender("rival", &[12000, 6000, 3000])], None);
        assert!(is_decided(&run, &primary(), &BTreeSet::new()));
        let verdicts = of_run(&run, &primary(), &BTreeSet::new());
        assert!((verdicts[0].judgements[0].1.ratio - 1.5).abs() < 1e-9);
    }

    #[test]
    fn only_common_blocks_are_compared() {
        let run = run(&[contender("base", &[1000, 1000]), contender("rival", &[2000, 2000, 9, 9, 9])], None);
        let verdicts = of_run(&run, &primary(), &BTreeSet::new());
        assert_eq!(verdicts[0].judgements[0].1.blocks, 2);
        assert!(!is_decided(&run, &primary(), &BTreeSet::new()));
    }

    #[test]
    fn without_the_baseline_the_first_by_name_is_one() {
        let mut run = run(&[contender("b", &[1000; 3]), contender("a", &[2000; 3])], None);
        assert_eq!(of_run(&run, &primary(), &BTreeSet::new())[0].baseline, 1);
        run.cells[1].status = CellStatus::Failed;
        let verdicts = of_run(&run, &primary(), &BTreeSet::new());
        assert_eq!((verdicts[0].baseline, verdicts[0].judgements.len()), (0, 0));
    }

    #[test]
    fn a_load_that_was_missed_is_not_ranked() {
        let mut workload = crate::doctor::self_test::workload();
        let (param, role, counter) = ("rate".to_owned(), "sink".to_owned(), "messages".to_owned());
        workload.offered = Some(crate::manifest::Offered { param, role, counter });
        let mut run = run(
            &[contender("base", &[1000; 3]), contender("slow", &[500; 3]), contender("rival", &[1000; 3])],
            None,
        );
        for cell in &mut run.cells {
            cell.params.0.insert("rate".into(), crate::manifest::ParamValue::Integer(1000));
        }
        let missed = missed_loads(&run, &workload);
        assert_eq!(missed, BTreeSet::from([1]));
        let judged: Vec<usize> =
            of_run(&run, &primary(), &missed)[0].judgements.iter().map(|(i, _)| *i).collect();
        assert_eq!(judged, [2]);
    }

    #[test]
    fn parameters_are_never_compared_across() {
        let mut run = run(&[contender("base", &[1000; 3]), contender("base", &[9000; 3])], None);
        run.cells[1].params.0.insert("streams".into(), crate::manifest::ParamValue::Integer(3));
        let verdicts = of_run(&run, &primary(), &BTreeSet::new());
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts.iter().all(|v| v.judgements.is_empty()));
    }
}
