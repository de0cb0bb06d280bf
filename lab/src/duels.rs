//! Duels, from a stored run: where they are held, what their sessions say, and whether turns disturb who takes them.
//!
//! A duel compares one contender with the baseline in sessions; each gives one log ratio, of sums over its turns. What is
//! within a session is correlated, and two processes of one program differ, so that a session is one observation. Several
//! contenders may share a session, and its baseline: their ratios are correlated with each other, which the correction for
//! many comparisons (Holm, Bonferroni) allows.

use std::collections::BTreeMap;

use crate::arena::Net;
use crate::manifest::{Metric, Params, Source, TurnsSpec, Workload};
use crate::metrics;
use crate::stats::{Interval, Unit, confidence_sequence};
use crate::store::{Outcome, Run, Settings, TrialRecord};

/// The turns of a workload with these parameters.
///
/// # Errors
/// In words: why contenders are compared by blocks instead.
pub fn turns<'a>(
    settings: &Settings,
    workload: &'a Workload,
    params: &Params,
) -> Result<&'a TurnsSpec, String> {
    let Some(turns) = &workload.turns else {
        return Err("the workload does not say that its work can be cut into turns".to_owned());
    };
    if settings.blocks {
        return Err("asked for".to_owned());
    }
    if let Net::Veth(link) = &settings.net
        && (link.is_emulated() || link.rate_bits_per_s.is_some())
    {
        return Err("packets on the link go on while their ends stand still".to_owned());
    }
    turns.refuses(params).map_or(Ok(turns), Err)
}

/// The log ratios of one metric, contender by baseline, in the order of the sessions.
#[must_use]
pub fn log_ratios(run: &Run, metric: &Metric, contender: usize, baseline: usize) -> Vec<f64> {
    let of = |cell: usize| -> BTreeMap<(u32, u32), f64> {
        let in_turns = |t: &&TrialRecord| t.cell == cell && t.turns.is_some() && t.outcome == Outcome::Ok;
        let value = |t: &TrialRecord| Some(((t.block, t.position), metrics::of_trial(metric, t).value?));
        run.trials.iter().filter(in_turns).filter_map(value).collect()
    };
    let base = of(baseline);
    of(contender).into_iter().filter_map(|(session, v)| Some((v / base.get(&session)?).ln())).collect()
}

/// What turns do to a contender: its rate in turns by its rate undisturbed, in the same sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Disturbance {
    /// In logarithms, at the level of the run over all its cells. Unbounded where it has too few stretches.
    pub interval: Interval,
    /// Sessions with a stretch.
    pub sessions: usize,
    /// The whole interval is beyond the margin: what turns show of this contender is not what it does.
    pub beyond_margin: bool,
}

/// The disturbance of a cell, where a session of it had a stretch.
#[must_use]
pub fn disturbance(run: &Run, workload: &Workload, cell: usize) -> Option<Disturbance> {
    let metric = rate_of(workload)?;
    let log =
        |t: &TrialRecord| Some((metrics::of_trial(metric, t).value? / metrics::undisturbed(metric, t)?).ln());
    let good = run.trials.iter().filter(|t| t.cell == cell && t.outcome == Outcome::Ok);
    let logs: Vec<f64> = good.filter_map(log).collect();
    let settings = &run.header.settings;
    let alpha = settings.alpha / run.cells.len().max(1) as f64;
    let unbounded = |estimate| Interval { estimate, low: f64::NEG_INFINITY, high: f64::INFINITY };
    let first = *logs.first()?;
    let interval = confidence_sequence(&logs, Unit::Session, alpha).unwrap_or(unbounded(first));
    let margin = settings.margin.ln_1p();
    let beyond_margin = interval.low > margin || interval.high < -margin;
    Some(Disturbance { interval, sessions: logs.len(), beyond_margin })
}

/// The rate that turns and stretches are compared by: the primary metric, or the first that is one.
fn rate_of(workload: &Workload) -> Option<&Metric> {
    let is_rate = |m: &&Metric| matches!(m.from, Source::Rate { .. });
    workload.primary().filter(is_rate).or_else(|| workload.metrics.iter().find(is_rate))
}

/// Which cells of a run may be compared by duels: their work can be cut into turns, and turns do not disturb them.
#[derive(Debug)]
pub struct Duellists {
    /// By the cell's index.
    fit: Vec<bool>,
}

impl Duellists {
    /// As far as is known by now.
    #[must_use]
    pub fn of(run: &Run, workload: &Workload) -> Duellists {
        let fit = (0..run.cells.len()).map(|cell| {
            turns(&run.header.settings, workload, &run.cells[cell].params).is_ok()
                && disturbance(run, workload, cell).is_none_or(|d| !d.beyond_margin)
        });
        Duellists { fit: fit.collect() }
    }

    /// Whether these two are compared by duels.
    #[must_use]
    pub fn may_meet(&self, contender: usize, baseline: usize) -> bool {
        contender != baseline && self.fit[contender] && self.fit[baseline]
    }
}
