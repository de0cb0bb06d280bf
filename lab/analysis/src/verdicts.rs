//! Who is better than the baseline, from a stored run.
//!
//! Contenders are compared as the log of the ratio to the baseline, within a session of a duel ([`crate::duels`]) or within a
//! block, at the same parameters: the machine's drift cancels. The same function decides when a run may stop and what is
//! printed.

use std::collections::{BTreeMap, BTreeSet};

use crate::duels::Duels;
use crate::generator;
use crate::load;
use crate::metrics;
use netdyno_lab_manifest::{Better, Metric, Params, Workload};
use netdyno_lab_store::{CellStatus, Outcome, Run, TrialRecord};
use netdyno_stats::{Claim, Comparison, Direction, Judgement, Loss, Rules, Unit, judge};

/// The verdicts of one metric over the cells that share their parameters.
#[derive(Debug, Clone)]
pub struct Verdicts {
    /// The metric.
    pub metric: String,
    /// Index of the baseline's cell.
    pub baseline: usize,
    /// Judgement of every other ranked cell, by its index; and of the ceiling, which is not ranked.
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

/// A run, with what is the same for every metric.
#[derive(Debug)]
pub struct Judge<'a> {
    run: &'a Run,
    /// The cells that did not do the load that was asked for: what they show is a queue, whose length is the window's. And those
    /// whose generator was the limit.
    unranked: BTreeSet<usize>,
    /// Its duels, as far as is known by now.
    pub duels: Duels<'a>,
}

impl<'a> Judge<'a> {
    /// The judge of this run.
    #[must_use]
    pub fn of(run: &'a Run, workload: &'a Workload) -> Judge<'a> {
        Judge { run, unranked: unranked(run, workload), duels: Duels::of(run, workload) }
    }

    /// Judges one metric in every group of the run.
    #[must_use]
    pub fn verdicts(&self, metric: &Metric) -> Vec<Verdicts> {
        let groups = groups(self.run);
        // Bonferroni over the groups of a sweep, Holm within each: the promise is of the whole run.
        let rules = rules(self.run);
        let rules = Rules { alpha: rules.alpha / groups.len().max(1) as f64, ..rules };
        groups.iter().filter_map(|(_, members)| self.group(metric, members, &rules)).collect()
    }

    fn group(&self, metric: &Metric, members: &[usize], rules: &Rules) -> Option<Verdicts> {
        let run = self.run;
        let ranked: Vec<usize> =
            members.iter().copied().filter(|&i| is_ranked(run, i) && !self.unranked.contains(&i)).collect();
        let baseline = baseline_of(run, &ranked)?;
        // One that failed halfway stays in the correction for many comparisons, and out of the ranking. The ceiling stays in
        // where it is compared like the others.
        let entered = |i: usize| {
            run.cells[i].status != CellStatus::Skipped
                && (!run.cells[i].ceiling || self.duels.pace(i, baseline).is_some())
        };
        let rivals: Vec<usize> = members.iter().copied().filter(|&i| i != baseline && entered(i)).collect();
        let comparisons: Vec<Comparison> =
            rivals.iter().map(|&i| self.comparison(metric, i, baseline)).collect();
        let judgements = judge(&comparisons, direction(metric), rules);
        let shown =
            |i: usize| ranked.contains(&i) || (run.cells[i].ceiling && run.cells[i].status == CellStatus::Ok);
        let judgements = rivals.into_iter().zip(judgements).filter(|(i, _)| shown(*i)).collect();
        Some(Verdicts { metric: metric.name.clone(), baseline, judgements })
    }

    /// The logs of a metric of cells that share their parameters: a row a cell, a column a block or a session, in order. By duels they
    /// are those of the ratio to the baseline; by blocks of the figure itself, in the blocks that all of them have.
    #[must_use]
    pub fn logs(&self, metric: &Metric, cells: &[usize], baseline: usize) -> (Unit, Vec<Vec<f64>>) {
        if cells.iter().all(|&i| i == baseline || self.duels.pace(i, baseline).is_some()) {
            // Sessions of different pairs have nothing in common but that each is one draw: the n-th stands beside the n-th.
            let rows: Vec<_> = cells.iter().map(|&i| self.duels.log_ratios(metric, i, baseline)).collect();
            let count = rows.iter().flatten().map(Vec::len).min().unwrap_or(0);
            let row = |row: Option<Vec<f64>>| row.map_or(vec![0.0; count], |row| row[..count].to_vec());
            return (Unit::Session, rows.into_iter().map(row).collect());
        }
        let values: Vec<_> = cells.iter().map(|&i| by_block(self.run, metric, i)).collect();
        let blocks = values.first().into_iter().flat_map(BTreeMap::keys);
        let common: Vec<u32> = blocks.filter(|b| values.iter().all(|v| v.contains_key(b))).copied().collect();
        (Unit::Block, values.iter().map(|v| common.iter().map(|b| v[b].ln()).collect()).collect())
    }

    fn comparison(&self, metric: &Metric, cell: usize, baseline: usize) -> Comparison {
        let contender = self.run.cells[cell].contenders.values().cloned().collect::<Vec<_>>().join("/");
        if let Some(log_ratios) = self.duels.log_ratios(metric, cell, baseline) {
            return Comparison { contender, unit: Unit::Session, log_ratios };
        }
        let (values, base) = (by_block(self.run, metric, cell), by_block(self.run, metric, baseline));
        let log_ratios = base.iter().filter_map(|(block, b)| Some((values.get(block)? / b).ln())).collect();
        Comparison { contender, unit: Unit::Block, log_ratios }
    }
}

/// Which way a metric is better.
#[must_use]
pub fn direction(metric: &Metric) -> Direction {
    match metric.better {
        Better::Higher => Direction::Higher,
        Better::Lower => Direction::Lower,
    }
}

/// How much worse than the baseline it is.
fn loss(metric: &Metric, judged: &Judgement) -> Loss {
    Loss::of((judged.ratio, judged.low, judged.high), direction(metric))
}

/// The cells of which enough is known: the primary metric has a verdict, or a claim where a regression is looked for (of the
/// ceiling nothing is claimed), and the
/// interval of each metric that decides is as narrow as was asked for.
#[must_use]
pub fn settled(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let (judge, rules) = (Judge::of(run, workload), rules(run));
    let mut settled: BTreeSet<usize> = (0..run.cells.len()).collect();
    for metric in workload.metrics.iter().filter(|m| m.primary || m.decides) {
        let verdicts = judge.verdicts(metric);
        let enough = |(cell, j): &&(usize, Judgement)| {
            let decided = match run.header.settings.regression {
                Some(limit) => loss(metric, j).claim(limit) != Claim::Undecided,
                None => j.is_decided(),
            };
            let claimed = decided || !metric.primary || run.cells[*cell].ceiling;
            claimed && j.is_precise(&rules) && j.blocks as usize >= j.unit.first()
        };
        let open = verdicts.iter().flat_map(|v| &v.judgements).filter(|j| !enough(j)).map(|(cell, _)| cell);
        open.for_each(|cell| {
            settled.remove(cell);
        });
    }
    settled
}

fn unranked(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let says_nothing = |index: &usize| {
        let trials: Vec<&TrialRecord> = run.trials.iter().filter(|t| t.cell == *index).collect();
        let load = load::of_cell(workload, &run.cells[*index].params, &trials);
        load.is_some_and(|l| l.is_missed()) || generator::limit(workload, load.as_ref(), &trials).is_some()
    };
    (0..run.cells.len()).filter(says_nothing).collect()
}

/// Index of the baseline among these cells, as far as is known by now: none where nothing can be ranked.
#[must_use]
pub fn baseline_among(run: &Run, members: &[usize]) -> Option<usize> {
    let ranked: Vec<usize> = members.iter().copied().filter(|&i| is_ranked(run, i)).collect();
    baseline_of(run, &ranked)
}

/// A cell that may stand in a ranking: a contender, all of whose trials were good.
fn is_ranked(run: &Run, index: usize) -> bool {
    let cell = &run.cells[index];
    !cell.ceiling && matches!(cell.status, CellStatus::Ok | CellStatus::Planned)
}

/// The baseline asked for, in all roles; where it does not run so, the first ranked cell by name, of those where it plays one of them if
/// there are any. The choice never depends on the figures.
fn baseline_of(run: &Run, ranked: &[usize]) -> Option<usize> {
    let wanted = run.header.settings.baseline.as_deref();
    let asked = ranked.iter().find(|&&i| wanted.is_some() && run.cells[i].contender() == wanted);
    let by_name = |&&i: &&usize| {
        let names: Vec<&String> = run.cells[i].contenders.values().collect();
        (!names.iter().any(|name| Some(name.as_str()) == wanted), names)
    };
    asked.or_else(|| ranked.iter().min_by_key(by_name)).copied()
}

/// A metric's values by block. Zeros stay in: a ratio to them is not finite, and its verdict undecided.
fn by_block(run: &Run, metric: &Metric, cell: usize) -> BTreeMap<u32, f64> {
    run.trials
        .iter()
        .filter(|t| t.cell == cell && t.turns.is_none() && t.outcome == Outcome::Ok)
        .filter_map(|t| Some((t.block, metrics::of_trial(metric, &run.cells[cell].params, t).value?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::fixture::{Contender, run};

    fn judged(run: &Run) -> Vec<Verdicts> {
        let workload = netdyno_lab_manifest::dummy::workload();
        Judge::of(run, &workload).verdicts(workload.primary().unwrap())
    }

    fn is_settled(run: &Run, cell: usize) -> bool {
        settled(run, &netdyno_lab_manifest::dummy::workload()).contains(&cell)
    }

    fn contender<'a>(name: &'a str, rates: &'a [u64]) -> Contender<'a> {
        Contender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 }
    }

    #[test]
    fn drift_of_the_machine_cancels() {
        // Both halve from block to block: their ratio stays.
        let run =
            run(&[contender("base", &[8000, 4000, 2000]), contender("rival", &[12000, 6000, 3000])], None);
        assert!(is_settled(&run, 1));
        let verdicts = judged(&run);
        assert!((verdicts[0].judgements[0].1.ratio - 1.5).abs() < 1e-9);
    }

    #[test]
    fn only_common_blocks_are_compared() {
        let run = run(&[contender("base", &[1000, 1000]), contender("rival", &[2000, 2000, 9, 9, 9])], None);
        let verdicts = judged(&run);
        assert_eq!(verdicts[0].judgements[0].1.blocks, 2);
        assert!(!is_settled(&run, 1));
    }

    #[test]
    fn without_the_baseline_the_first_by_name_is_one() {
        let mut run = run(&[contender("b", &[1000; 3]), contender("a", &[2000; 3])], None);
        assert_eq!(judged(&run)[0].baseline, 1);
        run.cells[1].status = CellStatus::Failed;
        let verdicts = judged(&run);
        assert_eq!((verdicts[0].baseline, verdicts[0].judgements.len()), (0, 0));
    }

    #[test]
    fn a_load_that_was_missed_is_not_ranked() {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        let (param, role, counter) = ("rate".to_owned(), "sink".to_owned(), "messages".to_owned());
        workload.offered = Some(netdyno_lab_manifest::Offered { param, role, counter });
        let mut run = run(
            &[contender("base", &[1000; 3]), contender("slow", &[500; 3]), contender("rival", &[1000; 3])],
            None,
        );
        for cell in &mut run.cells {
            cell.params.0.insert("rate".into(), netdyno_lab_manifest::ParamValue::Integer(1000));
        }
        assert_eq!(unranked(&run, &workload), BTreeSet::from([1]));
        let verdicts = Judge::of(&run, &workload).verdicts(workload.primary().unwrap());
        let judged: Vec<usize> = verdicts[0].judgements.iter().map(|(i, _)| *i).collect();
        assert_eq!(judged, [2]);
    }

    #[test]
    fn one_whose_generator_was_the_limit_is_not_ranked() {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.partners.insert("sink".to_owned(), "base".to_owned());
        let with = |name, sink_cpu_percent| Contender { sink_cpu_percent, ..contender(name, &[1000; 3]) };
        let run = run(&[with("base", 50), with("quick", 99), with("rival", 60)], None);
        assert_eq!(unranked(&run, &workload), BTreeSet::from([1]));
        let verdicts = Judge::of(&run, &workload).verdicts(workload.primary().unwrap());
        assert_eq!(verdicts[0].judgements.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn parameters_are_never_compared_across() {
        let mut run = run(&[contender("base", &[1000; 3]), contender("base", &[9000; 3])], None);
        run.cells[1].params.0.insert("streams".into(), netdyno_lab_manifest::ParamValue::Integer(3));
        let verdicts = judged(&run);
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts.iter().all(|v| v.judgements.is_empty()));
    }
}
