//! Verdicts on the contenders of a stored run, relative to the baseline.
//!
//! Contenders are compared by the log of their ratio to the baseline within a session of a duel ([`crate::duels`]) or within a
//! block, at equal parameters, so that drift of the machine cancels. The same function decides when a run may stop and what
//! is printed.

use std::collections::{BTreeMap, BTreeSet};

use crate::duels::{self, Duels};
use crate::{generator, grouped, load};
use netdyno_lab_manifest::{Better, Metric, Params, Workload};
use netdyno_lab_store::{CellStatus, Run, TrialRecord, VerdictKind};
use netdyno_stats::{Direction, Judgement, Loss, PairedRatios, RegressionClaim, Rules, Unit, judge};

/// Verdicts of one metric on the cells of one parameter setting.
#[derive(Debug, Clone)]
pub struct Verdicts {
    /// The metric.
    pub metric: String,
    /// Index of the baseline's cell.
    pub baseline: usize,
    /// Judgement of every other ranked cell, by its index, and of the ceiling, which is not ranked.
    pub judgements: Vec<(usize, Judgement)>,
}

/// The rules of a run.
pub fn rules(run: &Run) -> Rules {
    let s = &run.header.settings;
    Rules { alpha: s.alpha, margin: s.margin, precision: s.precision }
}

/// Indices of the cells by parameter setting.
pub fn groups(run: &Run) -> Vec<(Params, Vec<usize>)> {
    grouped(run.cells.iter().enumerate().map(|(index, cell)| (cell.params.clone(), index)))
}

/// Judges the metrics of a run.
#[derive(Debug)]
pub struct Judge<'a> {
    run: &'a Run,
    /// Cells that did not sustain the offered load, whose latencies depend on the length of the window, and cells that were
    /// limited by their load generator.
    unranked: BTreeSet<usize>,
    /// The duels of the run so far.
    pub duels: Duels<'a>,
}

impl<'a> Judge<'a> {
    /// The judge of a run.
    pub fn new(run: &'a Run, workload: &'a Workload) -> Judge<'a> {
        Judge { run, unranked: unranked(run, workload), duels: Duels::new(run, workload) }
    }

    /// Judges one metric at every parameter setting of the run.
    pub fn verdicts(&self, metric: &Metric) -> Vec<Verdicts> {
        let groups = groups(self.run);
        // Bonferroni over the settings of a sweep, Holm within each: the error level is that of the whole run.
        let rules = rules(self.run);
        let rules = Rules { alpha: rules.alpha / groups.len().max(1) as f64, ..rules };
        groups.iter().filter_map(|(_, members)| self.group(metric, members, &rules)).collect()
    }

    fn group(&self, metric: &Metric, members: &[usize], rules: &Rules) -> Option<Verdicts> {
        let run = self.run;
        let ranked: Vec<usize> =
            members.iter().copied().filter(|&i| is_ranked(run, i) && !self.unranked.contains(&i)).collect();
        let baseline = baseline_of(run, &ranked)?;
        // A cell that failed halfway still counts in the correction for multiple comparisons, but is not ranked. The ceiling
        // counts if it is compared in duels like the others.
        let is_compared = |i: usize| {
            run.cells[i].status != CellStatus::Skipped
                && (!run.cells[i].ceiling || self.duels.pace(i, baseline).is_some())
        };
        let rivals: Vec<usize> =
            members.iter().copied().filter(|&i| i != baseline && is_compared(i)).collect();
        let comparisons: Vec<PairedRatios> =
            rivals.iter().map(|&i| self.comparison(metric, i, baseline)).collect();
        let judgements = judge(&comparisons, direction(metric), rules);
        let is_shown =
            |i: usize| ranked.contains(&i) || (run.cells[i].ceiling && run.cells[i].status == CellStatus::Ok);
        let judgements = rivals.into_iter().zip(judgements).filter(|(i, _)| is_shown(*i)).collect();
        Some(Verdicts { metric: metric.name.clone(), baseline, judgements })
    }

    /// Logs of a metric of cells of one parameter setting: one row per cell, one column per block or session. In duels, logs of
    /// the ratios to the baseline; in blocks, logs of the values, for the blocks that all cells have.
    pub fn logs(&self, metric: &Metric, cells: &[usize], baseline: usize) -> (Unit, Vec<Vec<f64>>) {
        if cells.iter().all(|&i| i == baseline || self.duels.pace(i, baseline).is_some()) {
            // Sessions of different pairs are independent: any order is valid.
            let rows: Vec<_> = cells.iter().map(|&i| self.duels.log_ratios(metric, i, baseline)).collect();
            let count = rows.iter().flatten().map(Vec::len).min().unwrap_or(0);
            let row = |row: Option<Vec<f64>>| row.map_or(vec![0.0; count], |row| row[..count].to_vec());
            return (Unit::Session, rows.into_iter().map(row).collect());
        }
        let values: Vec<_> = cells.iter().map(|&i| by_block(self.run, metric, i)).collect();
        let blocks = values.first().into_iter().flat_map(BTreeMap::keys);
        let common: Vec<_> = blocks.filter(|b| values.iter().all(|v| v.contains_key(b))).copied().collect();
        (Unit::Block, values.iter().map(|v| common.iter().map(|b| v[b].ln()).collect()).collect())
    }

    fn comparison(&self, metric: &Metric, cell: usize, baseline: usize) -> PairedRatios {
        if let Some(log_ratios) = self.duels.log_ratios(metric, cell, baseline) {
            return PairedRatios { unit: Unit::Session, log_ratios };
        }
        let [values, base] = [cell, baseline].map(|i| by_block(self.run, metric, i));
        let log_ratios = duels::log_ratios(&values, &base).into_values().collect();
        PairedRatios { unit: Unit::Block, log_ratios }
    }
}

/// Direction in which a metric improves.
pub fn direction(metric: &Metric) -> Direction {
    match metric.better {
        Better::Higher => Direction::Higher,
        Better::Lower => Direction::Lower,
    }
}

/// Loss relative to the baseline.
fn loss(metric: &Metric, judged: &Judgement) -> Loss {
    Loss::new((judged.ratio, judged.low, judged.high), direction(metric))
}

/// The cells that need no more measurements: the primary metric has a verdict, or a claim if a regression is tested (not for
/// the ceiling), and the interval of each deciding metric has the requested precision.
pub fn settled(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let (judge, rules) = (Judge::new(run, workload), rules(run));
    let mut settled: BTreeSet<usize> = (0..run.cells.len()).collect();
    for metric in workload.metrics.iter().filter(|m| m.primary || m.decides) {
        for (cell, j) in judge.verdicts(metric).iter().flat_map(|v| &v.judgements) {
            let is_decided = match run.header.settings.regression {
                Some(limit) => loss(metric, j).claim(limit) != RegressionClaim::Undecided,
                None => j.verdict != VerdictKind::Undecided,
            };
            let is_claimed = is_decided || !metric.primary || run.cells[*cell].ceiling;
            if !(is_claimed && j.is_precise(&rules) && j.blocks as usize >= j.unit.first()) {
                settled.remove(cell);
            }
        }
    }
    settled
}

fn unranked(run: &Run, workload: &Workload) -> BTreeSet<usize> {
    let is_unranked = |index: &usize| {
        let trials: Vec<&TrialRecord> = run.trials.iter().filter(|t| t.cell == *index).collect();
        let load = load::of_cell(workload, &run.cells[*index].params, &trials);
        load.is_some_and(|l| l.is_missed()) || generator::limit(workload, load.as_ref(), &trials).is_some()
    };
    (0..run.cells.len()).filter(is_unranked).collect()
}

/// Index of the baseline among these cells so far; `None` if no cell can be ranked.
pub fn baseline_among(run: &Run, members: &[usize]) -> Option<usize> {
    let ranked: Vec<usize> = members.iter().copied().filter(|&i| is_ranked(run, i)).collect();
    baseline_of(run, &ranked)
}

/// Whether a cell may be ranked: a contender without a failed trial.
fn is_ranked(run: &Run, index: usize) -> bool {
    let cell = &run.cells[index];
    !cell.ceiling && matches!(cell.status, CellStatus::Ok | CellStatus::Planned)
}

/// The requested baseline in all roles, else the first ranked cell by name, preferably one with the requested baseline in some
/// role. The choice never depends on measured values.
fn baseline_of(run: &Run, ranked: &[usize]) -> Option<usize> {
    let wanted = run.header.settings.baseline.as_deref();
    let requested = ranked.iter().find(|&&i| wanted.is_some() && run.cells[i].contender() == wanted);
    let by_name = |&&i: &&usize| {
        let names: Vec<&String> = run.cells[i].contenders.values().collect();
        (!names.iter().any(|name| Some(name.as_str()) == wanted), names)
    };
    requested.or_else(|| ranked.iter().min_by_key(by_name)).copied()
}

/// Values of a metric by block. Zeros are kept: a ratio to zero is not finite and leaves the verdict undecided.
fn by_block(run: &Run, metric: &Metric, cell: usize) -> duels::Values {
    duels::values(run, metric, cell, run.trials.iter().filter(|t| t.turns.is_none()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use netdyno_lab_store::fixture::{CannedContender, run};

    fn judged(run: &Run) -> Vec<Verdicts> {
        let workload = netdyno_lab_manifest::dummy::workload();
        Judge::new(run, &workload).verdicts(workload.primary().unwrap())
    }

    fn is_settled(run: &Run, cell: usize) -> bool {
        settled(run, &netdyno_lab_manifest::dummy::workload()).contains(&cell)
    }

    fn contender<'a>(name: &'a str, rates: &'a [u64]) -> CannedContender<'a> {
        CannedContender { name, status: CellStatus::Ok, rates, sink_cpu_percent: 50 }
    }

    #[test]
    fn drift_of_the_machine_cancels() {
        // Both rates halve from block to block; their ratio is constant.
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
    fn without_a_baseline_the_first_by_name_is_used() {
        let mut run = run(&[contender("b", &[1000; 3]), contender("a", &[2000; 3])], None);
        assert_eq!(judged(&run)[0].baseline, 1);
        run.cells[1].status = CellStatus::Failed;
        let verdicts = judged(&run);
        assert_eq!((verdicts[0].baseline, verdicts[0].judgements.len()), (0, 0));
    }

    #[test]
    fn a_cell_that_missed_its_load_is_not_ranked() {
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
        let verdicts = Judge::new(&run, &workload).verdicts(workload.primary().unwrap());
        let judged: Vec<usize> = verdicts[0].judgements.iter().map(|(i, _)| *i).collect();
        assert_eq!(judged, [2]);
    }

    #[test]
    fn a_cell_limited_by_its_generator_is_not_ranked() {
        let mut workload = netdyno_lab_manifest::dummy::workload();
        workload.partners.insert("sink".to_owned(), "base".to_owned());
        let with =
            |name, sink_cpu_percent| CannedContender { sink_cpu_percent, ..contender(name, &[1000; 3]) };
        let run = run(&[with("base", 50), with("quick", 99), with("rival", 60)], None);
        assert_eq!(unranked(&run, &workload), BTreeSet::from([1]));
        let verdicts = Judge::new(&run, &workload).verdicts(workload.primary().unwrap());
        assert_eq!(verdicts[0].judgements.iter().map(|(i, _)| *i).collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn cells_with_different_parameters_are_not_compared() {
        let mut run = run(&[contender("base", &[1000; 3]), contender("base", &[9000; 3])], None);
        run.cells[1].params.0.insert("streams".into(), netdyno_lab_manifest::ParamValue::Integer(3));
        let verdicts = judged(&run);
        assert_eq!(verdicts.len(), 2);
        assert!(verdicts.iter().all(|v| v.judgements.is_empty()));
    }
}
