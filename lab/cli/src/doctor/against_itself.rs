//! Duels of contenders with themselves: how often equal programs compare as different. Each duel is an ordinary run
//! of one contender in two cells with a fixed number of sessions. The verdicts promise that at most [`SHARE_MOST`] of
//! them are wrong.

use std::time::Duration;

use statrs::distribution::{Binomial, DiscreteCDF};

use crate::cli::RunArgs;
use crate::cmd::fail_conditions::FailConditions;
use netdyno_lab_analysis::duels::{self, Duels};
use netdyno_lab_analysis::metrics::median;
use netdyno_lab_analysis::verdicts::Judge;
use netdyno_lab_engine::run::{Resolved, RunError};
use netdyno_lab_manifest::{Catalog, Workload};
use netdyno_lab_store::{CellRecord, Run, RunStatus, StoreError};
use netdyno_stats::{Judgement, Unit, VerdictKind};

/// Sessions of a duel: the least number for a verdict.
pub(crate) const SESSIONS: u32 = 6;
/// Tolerated share of duels that are better or worse: the error level of the verdicts.
pub(crate) const SHARE_MOST: f64 = 0.05;
/// Probability of a false alarm about that share.
const LEVEL: f64 = 0.01;
/// Preset of the duels, if the workload has it.
const PRESET: &str = "quick";

/// The conditions of a duel of a contender with itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Terms {
    /// Slowdown of the second copy, in thousandths.
    pub(crate) stalled: u32,
    /// Number of sessions, if the budget permits.
    pub(crate) sessions: u32,
    /// Budget of measuring time, in seconds.
    pub(crate) budget_s: f64,
}

impl Terms {
    /// Without slowdown, and with an ample budget.
    pub(crate) const EQUAL: Terms = Terms { stalled: 0, sessions: SESSIONS, budget_s: 3600.0 };
}

/// A run that is one duel of a contender with itself.
pub(crate) fn resolved(
    catalog: &Catalog,
    workload: &Workload,
    contender: &str,
    terms: Terms,
) -> Result<Resolved, RunError> {
    let args = RunArgs {
        workload: Some(workload.name.clone()),
        contenders: vec![contender.to_owned()],
        preset: workload.presets.contains_key(PRESET).then(|| PRESET.to_owned()),
        itself: Some(terms.stalled),
        budget: Some(Duration::from_secs_f64(terms.budget_s)),
        max_blocks: Some(terms.sessions),
        no_ceiling: true,
        ..RunArgs::default()
    };
    let resolved = args.resolve(&FailConditions::default(), catalog)?;
    let turns = |cell: &CellRecord| duels::turns(&resolved.settings, workload, &cell.params).err();
    match resolved.cells.iter().find_map(turns) {
        Some(why) => Err(RunError::NoTurns(why)),
        None if resolved.cells.is_empty() => Err(RunError::NoTurns(format!("{contender} is the bound"))),
        None => Ok(resolved),
    }
}

/// Whether a stored run is a finished duel like this one, with the same workload manifest.
pub(crate) fn is_done(run: &Run, duel: &Resolved) -> bool {
    run.status == RunStatus::Finished
        && run.header.parsed_workload().is_ok_and(|w| w == duel.workload)
        && run.header.settings.max_blocks == duel.settings.max_blocks
        && run.cells.iter().map(CellRecord::planned).eq(duel.cells.iter().cloned())
}

/// The result of a duel of a contender with itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Duel {
    pub(crate) verdict: VerdictKind,
    /// Ratio of the second copy to the first.
    pub(crate) ratio: f64,
    pub(crate) low: f64,
    /// Upper end; infinite if unbounded.
    pub(crate) high: f64,
    pub(crate) sessions: usize,
    /// Variance of the log ratio between sessions.
    variance: f64,
}

impl Duel {
    pub(crate) fn new(judgement: &Judgement, log_ratios: &[f64]) -> Duel {
        let n = log_ratios.len() as f64;
        let mean = log_ratios.iter().sum::<f64>() / n;
        let squares: f64 = log_ratios.iter().map(|x| (x - mean).powi(2)).sum();
        Duel {
            verdict: judgement.verdict,
            ratio: judgement.ratio,
            low: judgement.low,
            high: judgement.high,
            sessions: log_ratios.len(),
            variance: squares / (n - 1.0),
        }
    }

    /// The duel of a run; none if a side failed.
    pub(crate) fn of(run: &Run) -> Result<Option<Duel>, StoreError> {
        let workload = run.header.parsed_workload()?;
        let Some(primary) = workload.primary() else { return Ok(None) };
        let duels = Duels::new(run, &workload);
        let verdicts = Judge::new(run, &workload).verdicts(primary);
        let judged = verdicts.iter().find_map(|v| {
            let (cell, j) =
                v.judgements.iter().find(|(_, j)| j.unit == Unit::Session && j.ratio.is_finite())?;
            Some(Duel::new(j, &duels.log_ratios(primary, *cell, v.baseline)?))
        });
        Ok(judged)
    }

    /// Whether the interval contains this ratio.
    pub(crate) fn holds(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tally {
    /// Duels with a verdict.
    pub(crate) duels: usize,
    pub(crate) better: usize,
    pub(crate) worse: usize,
    /// Duels without verdict because a side failed.
    pub(crate) failed: usize,
    pub(crate) ratio: Option<f64>,
    /// Pooled standard deviation of the log ratio between sessions.
    pub(crate) deviation: Option<f64>,
    /// Duels whose interval contains 1.
    pub(crate) hold_one: usize,
}

impl Tally {
    pub(crate) fn of(all: &[Option<Duel>]) -> Tally {
        let duels: Vec<&Duel> = all.iter().flatten().collect();
        let count = |is: &dyn Fn(&Duel) -> bool| duels.iter().filter(|d| is(d)).count();
        let ratios: Vec<f64> = duels.iter().map(|d| d.ratio).collect();
        let variance = duels.iter().map(|d| d.variance).sum::<f64>() / duels.len() as f64;
        Tally {
            duels: duels.len(),
            better: count(&|d| d.verdict == VerdictKind::Better),
            worse: count(&|d| d.verdict == VerdictKind::Worse),
            failed: all.len() - duels.len(),
            ratio: median(&ratios),
            deviation: variance.is_finite().then(|| variance.sqrt()),
            hold_one: count(&|d| d.holds(1.0)),
        }
    }

    /// Whether this number of wrong verdicts is consistent with a rate of [`SHARE_MOST`]: a one-sided binomial test,
    /// with the level divided by the number of `tests`.
    pub(crate) fn is_kept(&self, tests: usize) -> bool {
        let Some(below) = (self.better + self.worse).checked_sub(1) else { return true };
        let chance = Binomial::new(SHARE_MOST, self.duels as u64).map_or(1.0, |b| b.sf(below as u64));
        chance > LEVEL / tests.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duel(verdict: VerdictKind, ratio: f64) -> Option<Duel> {
        let width = if verdict == VerdictKind::NoDifference { 0.015 } else { 0.01 };
        let (low, high) = (ratio - width, ratio + width);
        Some(Duel { verdict, ratio, low, high, sessions: 6, variance: 0.0004 })
    }

    #[test]
    fn duels_are_counted() {
        let all = [
            duel(VerdictKind::Better, 1.1),
            None,
            duel(VerdictKind::NoDifference, 1.0),
            duel(VerdictKind::Worse, 0.8),
            duel(VerdictKind::NoDifference, 1.01),
        ];
        let tally = Tally::of(&all);
        assert_eq!((tally.duels, tally.better, tally.worse, tally.failed, tally.hold_one), (4, 1, 1, 1, 2));
        assert!(
            (tally.ratio.unwrap() - 1.005).abs() < 1e-9 && (tally.deviation.unwrap() - 0.02).abs() < 1e-9
        );
        let none = Tally::of(&[]);
        assert!(none.ratio.is_none() && none.deviation.is_none() && none.is_kept(1));
    }

    /// P(5 or more of 20) is 0.26 %, P(4 or more) is 1.6 %; P(9 or more of 60) is 0.3 %.
    #[test]
    fn more_than_chance_is_told_from_chance() {
        for (wrong, duels, tests, kept) in [
            (0, 20, 1, true),
            (4, 20, 1, true),
            (5, 20, 1, false),
            (5, 20, 5, true),
            (7, 60, 1, true),
            (9, 60, 1, false),
            (1, 1, 1, true),
        ] {
            let tally = Tally { duels, worse: wrong, ..Tally::of(&[]) };
            assert_eq!(tally.is_kept(tests), kept, "{wrong} of {duels}, {tests} tests");
        }
    }
}
