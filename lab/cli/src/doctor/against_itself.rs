//! A against A: how often a contender that is compared with itself in duels comes out better or worse.
//!
//! Each duel is a run of the ordinary engine, of one contender in two cells and of a fixed number of sessions, judged by the
//! ordinary verdicts. It may be wrong in [`SHARE_MOST`] of the cases, by what the verdicts promise.

use statrs::distribution::{Binomial, DiscreteCDF};

use netdyno_lab_analysis::duels::{self, Duels};
use netdyno_lab_analysis::metrics::median;
use netdyno_lab_analysis::verdicts::Judge;
use netdyno_lab_engine::plan::Casting;
use netdyno_lab_engine::run::{Request, Resolved, RunError};
use netdyno_lab_manifest::{Catalog, Workload};
use netdyno_lab_store::PlannedCell;
use netdyno_lab_store::{CellRecord, Run, RunStatus, StoreError};
use netdyno_stats::{Judgement, Unit, Verdict};

/// Sessions of a duel: as many as a verdict needs.
pub const SESSIONS: u32 = 6;
/// Share of duels that may come out better or worse: the level of the verdicts.
pub const SHARE_MOST: f64 = 0.05;
/// The chance that a lab that keeps that share is said not to.
const LEVEL: f64 = 0.01;
/// Preset of the duels, where the workload has it.
const PRESET: &str = "quick";

/// How a contender meets itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Thousandths of its time that the second one loses.
    pub stalled: u32,
    /// Sessions at the most, and at the least, if there is time.
    pub sessions: u32,
    /// Seconds of measuring at the most.
    pub budget_s: f64,
}

impl Terms {
    /// As equals, for a verdict: no duel comes near an hour.
    pub const EQUAL: Terms = Terms { stalled: 0, sessions: SESSIONS, budget_s: 3600.0 };
}

/// A run that is one duel of a contender with itself.
///
/// # Errors
/// The caller's: an unknown name, or a workload without turns.
pub fn duel(
    catalog: &Catalog,
    workload: &Workload,
    contender: &str,
    terms: Terms,
) -> Result<Resolved, RunError> {
    let request = Request {
        workload: workload.name.clone(),
        contenders: vec![contender.to_owned()],
        preset: workload.presets.contains_key(PRESET).then(|| PRESET.to_owned()),
        casting: Casting::Itself { stalled: terms.stalled },
        budget_seconds: Some(terms.budget_s),
        max_blocks: Some(terms.sessions),
        no_ceiling: true,
        time_limits: 1.0,
        command: crate::cmd::command_line(),
        ..Request::default()
    };
    let resolved = request.resolve(catalog)?;
    let turns = |cell: &PlannedCell| duels::turns(&resolved.settings, workload, &cell.params).err();
    match resolved.cells.iter().find_map(turns) {
        Some(why) => Err(RunError::NoTurns(why)),
        None if resolved.cells.is_empty() => Err(RunError::NoTurns(format!("{contender} is the bound"))),
        None => Ok(resolved),
    }
}

/// Whether a stored run is a finished duel like this one, by the same file of the workload.
#[must_use]
pub fn is_done(run: &Run, duel: &Resolved) -> bool {
    run.status == RunStatus::Finished
        && run.header.parsed_workload().is_ok_and(|w| w == duel.workload)
        && run.header.settings.max_blocks == duel.settings.max_blocks
        && run.cells.iter().map(CellRecord::planned).eq(duel.cells.iter().cloned())
}

/// What one duel of a contender with itself came to.
#[derive(Debug, Clone, Copy)]
pub struct Duel {
    /// The claim.
    pub verdict: Verdict,
    /// The second by the first.
    pub ratio: f64,
    /// Its interval.
    pub low: f64,
    /// Unbounded: infinite.
    pub high: f64,
    /// Sessions that it had.
    pub sessions: usize,
    /// Variance of the log ratio between its sessions.
    variance: f64,
}

impl Duel {
    /// A duel, judged.
    #[must_use]
    pub fn new(judgement: &Judgement, log_ratios: &[f64]) -> Duel {
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

    /// The duel that a run was; none where a side failed.
    ///
    /// # Errors
    /// When the manifest stored with the run cannot be read.
    pub fn of(run: &Run) -> Result<Option<Duel>, StoreError> {
        let workload = run.header.parsed_workload()?;
        let Some(primary) = workload.primary() else { return Ok(None) };
        let duels = Duels::of(run, &workload);
        let verdicts = Judge::of(run, &workload).verdicts(primary);
        let judged = verdicts.iter().find_map(|v| {
            let (cell, j) =
                v.judgements.iter().find(|(_, j)| j.unit == Unit::Session && j.ratio.is_finite())?;
            Some(Duel::new(j, &duels.log_ratios(primary, *cell, v.baseline)?))
        });
        Ok(judged)
    }

    /// Whether the interval holds this ratio.
    #[must_use]
    pub fn holds(&self, ratio: f64) -> bool {
        self.low <= ratio && ratio <= self.high
    }

    /// Said of one against itself, it is wrong.
    #[must_use]
    pub fn is_wrong(&self) -> bool {
        matches!(self.verdict, Verdict::Better | Verdict::Worse)
    }
}

/// Duels, counted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tally {
    /// All that have a verdict.
    pub duels: usize,
    /// Of these: better.
    pub better: usize,
    /// Of these: worse.
    pub worse: usize,
    /// Those in which a side failed: they have no verdict.
    pub failed: usize,
    /// Median of the ratios.
    pub ratio: Option<f64>,
    /// Standard deviation of the log ratio between the sessions of a duel, over all duels.
    pub deviation: Option<f64>,
    /// Duels whose interval holds 1.
    pub hold_one: usize,
}

impl Tally {
    /// Counts.
    #[must_use]
    pub fn of(all: &[Option<Duel>]) -> Tally {
        let duels: Vec<&Duel> = all.iter().flatten().collect();
        let count = |is: &dyn Fn(&Duel) -> bool| duels.iter().filter(|d| is(d)).count();
        let ratios: Vec<f64> = duels.iter().map(|d| d.ratio).collect();
        let variance = duels.iter().map(|d| d.variance).sum::<f64>() / duels.len() as f64;
        Tally {
            duels: duels.len(),
            better: count(&|d| d.verdict == Verdict::Better),
            worse: count(&|d| d.verdict == Verdict::Worse),
            failed: all.len() - duels.len(),
            ratio: median(&ratios),
            deviation: variance.is_finite().then(|| variance.sqrt()),
            hold_one: count(&|d| d.holds(1.0)),
        }
    }

    /// Whether so many wrong verdicts, or more, are what chance may do where [`SHARE_MOST`] are wrong: a one-sided binomial
    /// test, at its share of the level where there are several `tests`.
    #[must_use]
    pub fn is_kept(&self, tests: usize) -> bool {
        let Some(below) = (self.better + self.worse).checked_sub(1) else { return true };
        let chance = Binomial::new(SHARE_MOST, self.duels as u64).map_or(1.0, |b| b.sf(below as u64));
        chance > LEVEL / tests.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duel(verdict: Verdict, ratio: f64) -> Option<Duel> {
        let width = if verdict == Verdict::NoDifference { 0.015 } else { 0.01 };
        let (low, high) = (ratio - width, ratio + width);
        Some(Duel { verdict, ratio, low, high, sessions: 6, variance: 0.0004 })
    }

    #[test]
    fn duels_are_counted() {
        let all = [
            duel(Verdict::Better, 1.1),
            None,
            duel(Verdict::NoDifference, 1.0),
            duel(Verdict::Worse, 0.8),
            duel(Verdict::NoDifference, 1.01),
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
